#include "Exchange/NpzFile.h"

#include "Common/Error.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"
#include "Exchange/NpyFormat.h"
#include "Exchange/NpzManifest.h"
#include "Exchange/ZipArchive.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

namespace cntk
{

namespace
{

constexpr std::string_view c_manifestName = "special:cntk.json";
constexpr std::string_view c_specialPrefix = "special:";
constexpr std::string_view c_npyEnding = ".npy";

void WriteArray(ZipWriter& zip, const std::string& name, std::string_view descr, std::span<const size_t> shape,
                const void* data, size_t bytes)
{
    const std::string header = MakeNpyHeader(descr, shape);
    zip.BeginEntry(Concat(name, c_npyEnding), header.size() + bytes);
    zip.Write(header.data(), header.size());
    zip.Write(data, bytes);
    zip.EndEntry();
}

} // namespace

void WriteNpz(const ExportedValues& values, DataType precision, const std::string& path)
{
    RequireZipArchives();
    const std::string_view descr = precision == DataType::Float32 ? "<f4" : "<f8";
    ZipWriter zip(path);
    for (const ComputationNodePtr& node : values.nodes)
    {
        const std::vector<std::byte> ordered = ValuesInCOrder(*node);
        WriteArray(zip, node->Name(), descr, node->SampleLayout().Dims(), ordered.data(), ordered.size());
    }
    const std::string manifest = MakeNpzManifest(values, precision);
    const size_t length[] = {manifest.size()};
    WriteArray(zip, std::string(c_manifestName), "|u1", length, manifest.data(), manifest.size());
    zip.Commit();
}

namespace
{

class NpzImport
{
public:
    NpzImport(ComputationNetwork& network, const std::string& path, const ImportOptions& options)
        : m_network(network), m_zip(path), m_path(path), m_options(options)
    {
    }

    ImportCounts Run()
    {
        for (size_t i = 0; i < m_zip.Entries().size(); ++i)
            ReadEntry(i);
        for (const ComputationNodePtr& node : m_network.Nodes())
            if (StoredValues(*node) != nullptr && !m_seen.contains(node.get()))
                m_counts.unchanged.push_back(node->Name());
        if (m_options.requireAll && !m_counts.unchanged.empty())
            Fail(ErrorKind::Data, "'", m_path, "' lacks ", Join(m_counts.unchanged, ", "),
                 ", and requireAll=true wants every parameter of the network");
        return std::move(m_counts);
    }

private:
    void ReadEntry(size_t index)
    {
        const ZipEntry& entry = m_zip.Entries()[index];
        const std::string what = Concat("entry '", entry.name, "' of '", m_path, "'");
        if (entry.name.starts_with(c_specialPrefix))
        {
            if (entry.name == Concat(c_manifestName, c_npyEnding))
                ReadManifest(index, what);
            return;
        }
        if (!entry.name.ends_with(c_npyEnding))
            Fail(ErrorKind::Data, what, " is no array; expected names of parameters with the ending .npy");
        const std::string name = entry.name.substr(0, entry.name.size() - c_npyEnding.size());
        const ComputationNodePtr node = FindTarget(name, what);
        const NpyHeader header = OpenArray(index, what);
        if (header.type == NpyType::Byte)
            Fail(ErrorKind::Data, what, " has elements of type '|u1'; expected <f4, <f8, >f4, >f8 or <f2");
        RequireShape(header, *node, what);
        SetValues(*node, ReadElements(header, what), header, what);
        m_counts.parameters++;
        m_counts.numbers += header.elements;
    }

    ComputationNodePtr FindTarget(const std::string& name, const std::string& what)
    {
        ComputationNodePtr node = m_network.Find(name);
        if (node == nullptr)
        {
            std::vector<std::string> names;
            for (const ComputationNodePtr& candidate : m_network.Nodes())
                if (StoredValues(*candidate) != nullptr)
                    names.push_back(candidate->Name());
            Fail(ErrorKind::Data, what, ": the network has no parameter '", name, "'", DidYouMean(name, names));
        }
        if (StoredValues(*node) == nullptr)
            Fail(ErrorKind::Data, what, ": '", node->Name(), "' of the network is a ", node->TypeName(),
                 ", which stores no values");
        if (!m_seen.insert(node.get()).second)
            Fail(ErrorKind::Data, what, ": '", node->Name(), "' comes twice in the file");
        return node;
    }

    // Opens the entry and reads its header. The next bytes are the elements.
    NpyHeader OpenArray(size_t index, const std::string& what)
    {
        const ZipEntry& entry = m_zip.Entries()[index];
        m_zip.OpenEntry(index);
        const auto wanted = size_t(std::min<uint64_t>(entry.bytes, c_longestNpyHeader));
        m_pending.resize(wanted);
        if (m_zip.Read(m_pending.data(), wanted) != wanted)
            Fail(ErrorKind::Data, what, " ends before its ", entry.bytes, " bytes");
        NpyHeader header = ParseNpyHeader(m_pending, entry.bytes, what);
        m_pending.erase(0, header.dataBegin);
        return header;
    }

    void ReadManifest(size_t index, const std::string& what)
    {
        constexpr uint64_t c_longest = uint64_t(1) << 26;
        if (m_zip.Entries()[index].bytes > c_longest)
            Fail(ErrorKind::Data, what, " promises ", m_zip.Entries()[index].bytes, " bytes; expected a short text");
        const NpyHeader header = OpenArray(index, what);
        const std::vector<std::byte> text = ReadBytes(header, what);
        RequireKnownManifest({reinterpret_cast<const char*>(text.data()), text.size()}, what);
    }

    // Memory is taken only here. The caller has compared the size with the network's.
    std::vector<std::byte> ReadBytes(const NpyHeader& header, const std::string& what)
    {
        std::vector<std::byte> bytes(header.elements * header.ElementSize());
        const size_t first = std::min(bytes.size(), m_pending.size());
        std::transform(m_pending.begin(), m_pending.begin() + ptrdiff_t(first), bytes.begin(),
                       [](char c) { return std::byte(c); });
        if (m_zip.Read(bytes.data() + first, bytes.size() - first) != bytes.size() - first)
            Fail(ErrorKind::Data, what, " ends before its ", bytes.size(), " bytes of data");
        m_zip.CloseEntry();
        return bytes;
    }

    void RequireShape(const NpyHeader& header, const ComputationNode& node, const std::string& what) const
    {
        const TensorShape& dims = node.SampleLayout();
        const size_t rank = std::max(dims.Rank(), header.shape.size());
        for (size_t axis = 0; axis < rank; ++axis)
            if ((axis < header.shape.size() ? header.shape[axis] : 1) != dims[axis])
                Fail(ErrorKind::Data, what, " has shape ", header.ShapeText(), ", but '", node.Name(), "' is [",
                     dims.ToString(), "] in the network");
    }

    // Returns the elements with the first dimension fastest, as the engine stores them.
    std::vector<double> ReadElements(const NpyHeader& header, const std::string& what)
    {
        const std::vector<std::byte> bytes = ReadBytes(header, what);
        std::vector<double> elements(header.elements);
        ConvertNpyElements(header, bytes.data(), elements.size(), elements.data());
        if (header.isFortranOrder || header.shape.size() < 2)
            return elements;
        TensorShape reversed;
        for (size_t axis = 0; axis < header.shape.size(); ++axis)
            reversed.SetDim(axis, size_t(header.shape[header.shape.size() - 1 - axis]));
        std::vector<double> ordered(elements.size());
        ReverseOrder(reinterpret_cast<const std::byte*>(elements.data()), reversed, sizeof(double),
                     reinterpret_cast<std::byte*>(ordered.data()));
        return ordered;
    }

    void SetValues(ComputationNode& node, const std::vector<double>& elements, const NpyHeader& header,
                   const std::string& what) const
    {
        const bool isFloat = m_network.GetDataType() == DataType::Float32;
        if (!m_options.allowNonFinite)
            for (size_t i = 0; i < elements.size(); ++i)
                if (!std::isfinite(isFloat ? double(float(elements[i])) : elements[i]))
                    Fail(ErrorKind::Data, what, " holds ", elements[i], isFloat ? " (as a float)" : "", ", value ",
                         i + 1, " of ", header.elements,
                         " in column-major order; allowNonFinite=true accepts NaN and "
                         "infinities");
        if (auto* const statistic = As<PrecomputeNode>(&node))
            statistic->SetComputed(elements);
        else
            As<LearnableParameterNode>(&node)->Values().FromHost(elements);
    }

    ComputationNetwork& m_network;
    ZipReader m_zip;
    std::string m_path;
    ImportOptions m_options;
    std::string m_pending; // bytes of the open entry that came with its header
    std::unordered_set<const ComputationNode*> m_seen;
    ImportCounts m_counts;
};

} // namespace

ImportCounts ReadNpz(ComputationNetwork& network, const std::string& path, const ImportOptions& options)
{
    RequireZipArchives();
    return NpzImport(network, path, options).Run();
}

} // namespace cntk
