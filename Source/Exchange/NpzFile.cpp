#include "Exchange/NpzFile.h"

#include "Common/Error.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"
#include "Exchange/NpyFormat.h"
#include "Exchange/NpzManifest.h"
#include "Exchange/ZipArchive.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

namespace cntk
{

namespace
{

constexpr std::string_view c_manifestName = "special:cntk.json";
constexpr std::string_view c_specialPrefix = "special:";
constexpr std::string_view c_npyEnding = ".npy";

// write(): writes the `bytes` bytes of the elements.
template <class Write>
void WriteArray(ZipWriter& zip, const std::string& name, std::string_view descr, std::span<const size_t> shape,
                size_t bytes, Write&& write)
{
    const std::string header = MakeNpyHeader(descr, shape);
    zip.BeginEntry(Concat(name, c_npyEnding), header.size() + bytes);
    zip.Write(header.data(), header.size());
    write();
    zip.EndEntry();
}

// Writes the stored values of a node in C order, a slice of rows at a time.
void WriteValues(ZipWriter& zip, const ComputationNode& node)
{
    const MatrixView values = StoredValues(node)->View(); // exports load their models on the CPU
    const TensorShape& dims = node.SampleLayout();
    const size_t rows = dims[0], slice = RowsOfSlice(dims, SizeOf(values.type));
    const size_t bytesOfRow = ElementsOfRow(dims) * SizeOf(values.type);
    std::vector<std::byte> ordered(std::min(slice, rows) * bytesOfRow);
    for (size_t first = 0; first < rows; first += slice)
    {
        const size_t end = std::min(first + slice, rows);
        CopyRowsToCOrder(values.As<std::byte>(), dims, SizeOf(values.type), first, end, ordered.data());
        zip.Write(ordered.data(), (end - first) * bytesOfRow);
    }
}

} // namespace

void WriteNpz(const ExportedValues& values, DataType precision, const std::string& path)
{
    RequireZipArchives();
    const std::string_view descr = precision == DataType::Float32 ? "<f4" : "<f8";
    ZipWriter zip(path);
    for (const ComputationNodePtr& node : values.nodes)
        WriteArray(zip, node->Name(), descr, node->SampleLayout().Dims(),
                   node->SampleLayout().Elements() * SizeOf(precision), [&] { WriteValues(zip, *node); });
    const std::string manifest = MakeNpzManifest(values, precision);
    const size_t length[] = {manifest.size()};
    WriteArray(zip, std::string(c_manifestName), "|u1", length, manifest.size(),
               [&] { zip.Write(manifest.data(), manifest.size()); });
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
        if (m_network.GetDataType() == DataType::Float32)
            SetValues<float>(*node, header, what);
        else
            SetValues<double>(*node, header, what);
        m_zip.CloseEntry();
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
        m_pendingBegin = header.dataBegin;
        return header;
    }

    void ReadManifest(size_t index, const std::string& what)
    {
        constexpr uint64_t c_longest = uint64_t(1) << 26;
        if (m_zip.Entries()[index].bytes > c_longest)
            Fail(ErrorKind::Data, what, " promises ", m_zip.Entries()[index].bytes, " bytes; expected a short text");
        const NpyHeader header = OpenArray(index, what);
        RequireKnownManifest(ReadText(header, what), what);
    }

    std::string ReadText(const NpyHeader& header, const std::string& what)
    {
        std::string text(header.elements * header.ElementSize(), '\0');
        ReadBytes(reinterpret_cast<std::byte*>(text.data()), text.size(), what);
        m_zip.CloseEntry();
        return text;
    }

    void ReadBytes(std::byte* target, size_t bytes, const std::string& what)
    {
        const size_t first = std::min(bytes, m_pending.size() - m_pendingBegin);
        std::memcpy(target, m_pending.data() + m_pendingBegin, first);
        m_pendingBegin += first;
        if (m_zip.Read(target + first, bytes - first) != bytes - first)
            Fail(ErrorKind::Data, what, " ends before its data");
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

    // Reads the elements a slice of rows at a time. The caller has compared their number with the node's.
    template <class T>
    void SetValues(ComputationNode& node, const NpyHeader& header, const std::string& what)
    {
        const TensorShape& dims = node.SampleLayout();
        auto* const statistic = As<PrecomputeNode>(&node);
        std::vector<T> computed(statistic != nullptr ? dims.Elements() : 0);
        T* const values = statistic != nullptr ? computed.data()
                                               : As<LearnableParameterNode>(&node)->Values().View().template As<T>();
        // In Fortran order, the file has the elements as the engine stores them.
        const bool isOrdered = header.isFortranOrder || dims.Rank() < 2;
        const TensorShape rowsOfFile = isOrdered ? TensorShape{dims.Elements()} : dims;
        const size_t rows = rowsOfFile[0], slice = std::min(rows, RowsOfSlice(rowsOfFile, sizeof(T)));
        const size_t elementsOfRow = ElementsOfRow(rowsOfFile);
        std::vector<std::byte> bytes(slice * elementsOfRow * header.ElementSize());
        std::vector<T> converted(isOrdered ? 0 : slice * elementsOfRow);
        for (size_t first = 0; first < rows; first += slice)
        {
            const size_t end = std::min(first + slice, rows), count = (end - first) * elementsOfRow;
            ReadBytes(bytes.data(), count * header.ElementSize(), what);
            T* const target = isOrdered ? values + first : converted.data();
            const size_t finite = ConvertNpyElements(header, bytes.data(), count, target);
            if (finite < count && !m_options.allowNonFinite)
                Fail(ErrorKind::Data, what, " holds ", NpyElement(header, bytes.data(), finite),
                     sizeof(T) == sizeof(float) ? " (as a float)" : "", ", value ", first * elementsOfRow + finite + 1,
                     " of ", header.elements, " of the file; allowNonFinite=true accepts NaN and infinities");
            if (!isOrdered)
                CopyRowsFromCOrder(reinterpret_cast<const std::byte*>(converted.data()), dims, sizeof(T), first, end,
                                   reinterpret_cast<std::byte*>(values));
        }
        if (statistic != nullptr)
            statistic->SetComputed(std::vector<double>(computed.begin(), computed.end()));
    }

    ComputationNetwork& m_network;
    ZipReader m_zip;
    std::string m_path;
    ImportOptions m_options;
    std::string m_pending;     // the beginning of the open entry
    size_t m_pendingBegin = 0; // its bytes before are read
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
