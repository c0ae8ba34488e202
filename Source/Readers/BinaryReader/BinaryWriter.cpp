// Collects the sections in temporary files, because the size of a section precedes it in the file.
#include "Readers/BinaryReader/BinaryWriter.h"

#include "Common/Error.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"
#include "Readers/ReaderLib/LabelMap.h"
#include "Readers/ReaderLib/OutputColumns.h"
#include "Readers/ReaderLib/ReaderOptions.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace cntk
{

const std::vector<std::string>& BinaryStatistics::Names()
{
    static const std::vector<std::string> names = {"sum",   "count",          "mean",     "max",   "min",
                                                   "range", "rootmeansquare", "variance", "stddev"};
    return names;
}

void BinaryStatistics::Add(double value)
{
    m_max = m_count == 0 ? value : std::max(m_max, value);
    m_min = m_count == 0 ? value : std::min(m_min, value);
    m_count++;
    m_sum += value;
    m_squares += value * value;
    const double before = value - m_mean;
    m_mean += before / double(m_count);
    m_differences += before * (value - m_mean);
}

double BinaryStatistics::ValueOf(std::string_view name) const
{
    const auto is = [&](const char* known) { return EqualsIgnoreCase(name, known); };
    const double variance = m_count > 1 ? m_differences / double(m_count - 1) : 0;
    if (is("sum"))
        return m_sum;
    if (is("count"))
        return double(m_count);
    if (is("mean"))
        return m_mean;
    if (is("max"))
        return m_max;
    if (is("min"))
        return m_min;
    if (is("range"))
        return m_max - m_min;
    if (is("rootmeansquare"))
        return m_count > 0 ? std::sqrt(m_squares / double(m_count)) : 0;
    if (is("variance"))
        return variance;
    if (is("stddev"))
        return std::sqrt(variance);
    Fail(ErrorKind::Internal, "there is no statistic '", name, "'");
}

std::string BinaryStatistics::Encode(const std::vector<std::string>& names) const
{
    std::string bytes;
    for (const std::string& name : names)
    {
        std::string record = ToLower(name);
        record.resize(c_nameBytes, '\0');
        const double value = ValueOf(name);
        record.append(reinterpret_cast<const char*>(&value), sizeof value);
        bytes += record;
    }
    return bytes;
}

namespace
{

struct BinaryWriterOptions
{
    std::string wfile;
    size_t wsize = 0;
    size_t wrecords = 0;
    size_t windowSize = 0;

    static OptionTable<BinaryWriterOptions> Options()
    {
        using S = BinaryWriterOptions;
        return {
            Opt("wfile", &S::wfile, "Required. The binary file to write").Required(),
            Opt("wsize", &S::wsize, "the file gets the size that it needs").WithoutEffect(),
            Opt("wrecords", &S::wrecords, "records are counted").WithoutEffect(),
            Opt("windowSize", &S::windowSize, "").WithoutEffect(),
        };
    }
};

enum class SectionKind
{
    Data,
    Labels,
    LabelMapping,
    Stats,
    CategoryLabels
};

struct BinarySectionOptions
{
    SectionKind sectionType = SectionKind::Data;
    bool isCategory = true;
    std::vector<std::string> compute;
    std::string labelMappingFile;
    size_t dim = 1;
    size_t labelDim = 0;
    size_t elementSize = 0;
    size_t wrecords = 0;

    static OptionTable<BinarySectionOptions> Options()
    {
        using S = BinarySectionOptions;
        return {
            Choice("sectionType", &S::sectionType,
                   {{"data", SectionKind::Data},
                    {"labels", SectionKind::Labels},
                    {"stats", SectionKind::Stats},
                    {"labelMapping", SectionKind::LabelMapping},
                    {"categoryLabels", SectionKind::CategoryLabels}},
                   "Kind of the node's values: data or labels. In an inner block: stats, statistics of the data; "
                   "labelMapping, the names of the labels; or categoryLabels, the labels once more as columns with a 1 "
                   "in the row of the class. BinaryReader does not need these columns")
                .Here(),
            Choice("labelType", &S::isCategory, {{"category", true}, {"regression", false}},
                   "Labels. category: the row of the largest value; regression: the numbers")
                .Here(),
            Opt("compute", &S::compute,
                "Statistics: sum, count, mean, max, min, range, rootmeansquare, variance, stddev; default: all")
                .Here(),
            Opt("labelMappingFile", &S::labelMappingFile,
                "In a block with sectionType=labelMapping: file with one label a line, in the order of the rows"),
            Opt("dim", &S::dim, "the node decides the number of rows").WithoutEffect().Here(),
            Opt("labelDim", &S::labelDim, "the node decides the number of classes").WithoutEffect().Here(),
            Opt("elementSize", &S::elementSize, "precision, or the kind of the section, decides")
                .WithoutEffect()
                .Here(),
            Opt("wrecords", &S::wrecords, "records are counted").WithoutEffect().Here(),
        };
    }
};

constexpr uint16_t c_categoryKind = 1; // of labels
constexpr uint16_t c_regressionKind = 2;

size_t AlignedSize(size_t bytes)
{
    constexpr size_t alignment = BinaryHeader::c_alignment;
    return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace

template <class ElemType>
BinaryWriter<ElemType>::BinaryWriter(const ReaderContext& context)
{
    const ConfigParameters& config = context.config;
    m_path = ResolveOutputPath(ReadOptions<BinaryWriterOptions>(config).wfile);
    RequireNotReadByOthers(config, {"wfile", m_path}, config.WhereOf("wfile"));
    if (context.listed != nullptr)
        context.listed->RequireNone({"wfile", m_path}, config.WhereOf("wfile"));
    for (const std::string& name : config.BlockNames())
    {
        const ConfigParameters& block = config.RequireBlock(name);
        const auto options = ReadOptions<BinarySectionOptions>(block);
        if (options.sectionType != SectionKind::Data && options.sectionType != SectionKind::Labels)
            FailAt(block.WhereOf("sectionType"), ErrorKind::Config, "section '", name,
                   "' stands for a node; expected data or labels. A block inside a section may have stats");
        if (name.size() > BinaryHeader::c_mostNameBytes)
            FailAt(block.Where(), ErrorKind::Config, "section '", name, "' has a name of ", name.size(),
                   " bytes; a binary file can hold at most ", BinaryHeader::c_mostNameBytes);
        Section section;
        section.name = name;
        section.isLabel = options.sectionType == SectionKind::Labels;
        section.isCategory = section.isLabel && options.isCategory;
        for (const std::string& inner : block.BlockNames())
            AddInnerSection(section, block.RequireBlock(inner));
        section.data.reset(std::tmpfile());
        if (!section.data)
            Fail(ErrorKind::Device, "cannot create a temporary file for '", m_path, "': ", std::strerror(errno));
        m_sections.push_back(std::move(section));
    }
    if (m_sections.empty() || m_sections.size() > BinaryHeader::c_mostSections)
        FailAt(config.Where(), ErrorKind::Config, "the writer has ", m_sections.size(), " sections, expected 1 to ",
               BinaryHeader::c_mostSections, " blocks, each with the name of a node, such as y=[sectionType=data]");
}

// Options of a block inside a section's block.
template <class ElemType>
void BinaryWriter<ElemType>::AddInnerSection(Section& section, const ConfigParameters& block)
{
    const auto options = ReadOptions<BinarySectionOptions>(block);
    switch (options.sectionType)
    {
    case SectionKind::Stats:
        return AddStatistics(section, block);
    case SectionKind::LabelMapping:
        return AddLabelNames(section, block);
    case SectionKind::CategoryLabels:
        return AddCategoryLabels(section, block);
    default:
        FailAt(block.WhereOf("sectionType"), ErrorKind::Config, "'", block.Name(), "' in section '", section.name,
               "': expected a block with sectionType=stats, labelMapping or categoryLabels");
    }
}

template <class ElemType>
void BinaryWriter<ElemType>::AddLabelNames(Section& section, const ConfigParameters& block)
{
    const SourcePos where = block.WhereOf("sectionType");
    if (!section.isCategory || !section.labelMapBlock.empty())
        FailAt(where, ErrorKind::Config, "'", block.Name(), "' in section '", section.name,
               "': expected one block with sectionType=labelMapping in a section of category labels");
    const std::string path = ReadOptions<BinarySectionOptions>(block).labelMappingFile;
    if (path.empty())
        FailAt(where, ErrorKind::Config, "'", block.Name(), "' in section '", section.name,
               "': sectionType=labelMapping needs labelMappingFile, a file with one label a line");
    section.labelMapSource = ResolveInputPath(path);
    section.labelNames = WithPosition(block.WhereOf("labelMappingFile"),
                                      [&] { return LabelMap::FromFile(section.labelMapSource).Names(); });
    section.labelMapBlock = block.Name();
}

template <class ElemType>
void BinaryWriter<ElemType>::AddCategoryLabels(Section& section, const ConfigParameters& block)
{
    if (!section.isCategory || !section.categoryBlock.empty())
        FailAt(block.WhereOf("sectionType"), ErrorKind::Config, "'", block.Name(), "' in section '", section.name,
               "': expected one block with sectionType=categoryLabels in a section of category labels");
    section.categoryBlock = block.Name();
}

template <class ElemType>
void BinaryWriter<ElemType>::AddStatistics(Section& section, const ConfigParameters& block)
{
    const auto options = ReadOptions<BinarySectionOptions>(block);
    if (section.isCategory || !section.statisticNames.empty())
        FailAt(block.WhereOf("sectionType"), ErrorKind::Config, "'", block.Name(), "' in section '", section.name,
               "': expected one block with sectionType=stats in a section of numbers");
    for (const std::string& name : options.compute)
    {
        const std::vector<std::string>& known = BinaryStatistics::Names();
        if (std::none_of(known.begin(), known.end(), [&](const auto& one) { return EqualsIgnoreCase(one, name); }))
            FailAt(block.WhereOf("compute"), ErrorKind::Config, "there is no statistic '", name, "'; expected some of ",
                   Join(known, ", "), DidYouMean(name, known));
    }
    section.statisticNames = options.compute.empty() ? BinaryStatistics::Names() : options.compute;
    section.statisticsBlock = block.Name();
}

template <class ElemType>
std::vector<std::string> BinaryWriter<ElemType>::OutputNames() const
{
    std::vector<std::string> names;
    for (const Section& section : m_sections)
        names.push_back(section.name);
    return names;
}

template <class ElemType>
void BinaryWriter<ElemType>::Write(Section& section, const void* data, size_t bytes) const
{
    if (std::fwrite(data, 1, bytes, section.data.get()) != bytes)
        Fail(ErrorKind::Device, "a temporary file for '", m_path, "' cannot be written: ", std::strerror(errno));
}

template <class ElemType>
void BinaryWriter<ElemType>::Append(Section& section, const ElemType* column)
{
    ++section.records;
    if (!section.statisticNames.empty())
        for (size_t row = 0; row < section.rows; ++row)
            section.statistics.Add(double(column[row]));
    if (!section.isCategory)
        return Write(section, column, section.rows * sizeof(ElemType));
    const auto best = int32_t(std::max_element(column, column + section.rows) - column);
    Write(section, &best, sizeof best);
}

template <class ElemType>
void BinaryWriter<ElemType>::RequireRows(const Section& section, size_t rows)
{
    if (rows > UINT16_MAX)
        Fail(ErrorKind::Model, "node '", section.name, "' has ", Counted(rows, "row"),
             "; a binary file can hold at most ", UINT16_MAX);
    if (section.labelNames.size() > rows)
        Fail(ErrorKind::Config, "label map '", section.labelMapSource, "' of section '", section.name, "' has ",
             section.labelNames.size(), " labels, but the node has ", Counted(rows, "row"),
             "; expected at most one a row");
}

template <class ElemType>
void BinaryWriter<ElemType>::RequireFit(const std::map<std::string, size_t>& rows, size_t) const
{
    for (const Section& section : m_sections)
        if (const size_t* const rowsOfNode = FindOutput(rows, section.name))
            RequireRows(section, *rowsOfNode);
}

template <class ElemType>
void BinaryWriter<ElemType>::SaveMinibatch(const std::map<std::string, StreamBatch<ElemType>>& outputs,
                                           const std::vector<std::string>&)
{
    for (Section& section : m_sections)
    {
        const StreamBatch<ElemType>* const output = FindOutput(outputs, section.name);
        if (output == nullptr)
            Fail(ErrorKind::Config, "the writer has a section '", section.name,
                 "', but the command does not write a node of that name; expected it in outputNodeNames");
        const StreamBatch<ElemType>& batch = *output;
        RequireRows(section, batch.rows);
        section.rows = batch.rows;
        const auto append = [&](size_t column) { Append(section, batch.values.data() + column * batch.rows); };
        ForEachColumnOfSequences(batch, append, [] {});
    }
}

template <class ElemType>
typename BinaryWriter<ElemType>::InnerSection BinaryWriter<ElemType>::StatisticsOf(const Section& section)
{
    InnerSection inner;
    inner.header.type = BinarySectionType::Stats;
    inner.header.element = BinaryElement::Struct;
    inner.header.elementBytes = BinaryStatistics::c_recordBytes;
    inner.header.structure = BinaryHeader::c_statistics;
    inner.header.flags = BinaryHeader::c_auxiliary;
    inner.header.elementsPerRecord = 1;
    inner.header.elements = section.statisticNames.size();
    inner.header.description = section.statisticsBlock + ":Data Statistics";
    inner.data = section.statistics.Encode(section.statisticNames);
    return inner;
}

// Encodes zero-terminated texts in the order of their ids.
template <class ElemType>
typename BinaryWriter<ElemType>::InnerSection BinaryWriter<ElemType>::LabelMapOf(const Section& section)
{
    InnerSection inner;
    inner.header.type = BinarySectionType::LabelMap;
    inner.header.element = BinaryElement::String;
    inner.header.elementsPerRecord = 1;
    inner.header.flags = BinaryHeader::c_auxiliary | BinaryHeader::c_variableSized;
    inner.header.elements = section.labelNames.size();
    inner.header.description = section.labelMapBlock + ":Label Map";
    for (const std::string& name : section.labelNames)
        inner.data.append(name.c_str(), name.size() + 1);
    return inner;
}

// Encodes a column for each record, with a 1 in the row of its class.
template <class ElemType>
typename BinaryWriter<ElemType>::InnerSection BinaryWriter<ElemType>::CategoryLabelsOf(const Section& section)
{
    InnerSection inner;
    inner.header.type = BinarySectionType::CategoryLabels;
    inner.header.element = BinaryElement::Float;
    inner.header.elementBytes = sizeof(ElemType);
    inner.header.elementsPerRecord = uint16_t(section.rows);
    inner.header.elements = section.records * section.rows;
    inner.header.labelKind = c_categoryKind;
    inner.header.labelDim = uint16_t(section.rows);
    inner.header.description = section.categoryBlock + ":Category Labels";
    inner.data.resize(inner.header.elements * sizeof(ElemType));
    const auto one = ElemType(1);
    std::rewind(section.data.get());
    int32_t row = 0;
    for (size_t record = 0; std::fread(&row, sizeof row, 1, section.data.get()) == 1; ++record)
        std::memcpy(inner.data.data() + (record * section.rows + size_t(row)) * sizeof one, &one, sizeof one);
    return inner;
}

template <class ElemType>
std::vector<typename BinaryWriter<ElemType>::InnerSection>
BinaryWriter<ElemType>::InnerSectionsOf(const Section& section)
{
    std::vector<InnerSection> inner;
    if (!section.labelMapBlock.empty())
        inner.push_back(LabelMapOf(section));
    if (!section.categoryBlock.empty())
        inner.push_back(CategoryLabelsOf(section));
    if (!section.statisticNames.empty())
        inner.push_back(StatisticsOf(section));
    for (InnerSection& one : inner)
        one.header.bytes = one.header.bytesWithSections = BinaryHeader::c_bytes + one.data.size();
    return inner;
}

// Writes a whole section, padded to the place where the next one may begin.
template <class ElemType>
void BinaryWriter<ElemType>::WritePadded(AtomicFile& target, const BinaryHeader& header, const std::string& data)
{
    const auto encoded = header.Encode();
    std::string text(encoded.data(), encoded.size());
    text += data;
    text.resize(AlignedSize(text.size()), '\0');
    target.Write(text.data(), text.size());
}

// Returns the header of a section at this position of the file, with the positions of its inner sections.
template <class ElemType>
BinaryHeader BinaryWriter<ElemType>::HeaderOf(const Section& section, size_t position)
{
    BinaryHeader header;
    header.type = section.isLabel ? BinarySectionType::Labels : BinarySectionType::Data;
    header.element = section.isCategory ? BinaryElement::Int : BinaryElement::Float;
    header.elementBytes = section.isCategory ? sizeof(int32_t) : sizeof(ElemType);
    header.elementsPerRecord = section.isCategory ? 1 : uint16_t(section.rows);
    header.labelKind = !section.isLabel ? 0 : section.isCategory ? c_categoryKind : c_regressionKind;
    header.labelDim = section.isLabel ? uint16_t(section.rows) : 0;
    header.elements = section.records * header.elementsPerRecord;
    header.bytes = BinaryHeader::c_bytes + section.records * header.RecordBytes();
    header.bytesWithSections = header.bytes;
    header.description = section.name + (section.isLabel ? ":Labels" : ":Data Section");
    for (const InnerSection& inner : InnerSectionsOf(section))
    {
        header.bytesWithSections = AlignedSize(header.bytesWithSections);
        header.sections.push_back(position + header.bytesWithSections);
        header.bytesWithSections += AlignedSize(inner.header.bytes);
    }
    return header;
}

template <class ElemType>
void BinaryWriter<ElemType>::WriteSection(AtomicFile& target, const Section& section, const BinaryHeader& header) const
{
    const auto encoded = header.Encode();
    target.Write(encoded.data(), encoded.size());
    std::FILE* data = section.data.get();
    std::rewind(data);
    std::vector<char> buffer(BinaryHeader::c_alignment);
    size_t written = encoded.size();
    while (const size_t bytes = std::fread(buffer.data(), 1, buffer.size(), data))
    {
        target.Write(buffer.data(), bytes);
        written += bytes;
    }
    if (written != header.bytes)
        Fail(ErrorKind::Device, "a temporary file for '", m_path, "' could not be read back");
    std::fill(buffer.begin(), buffer.end(), 0);
    target.Write(buffer.data(), AlignedSize(written) - written);
    for (const InnerSection& inner : InnerSectionsOf(section))
        WritePadded(target, inner.header, inner.data);
}

template <class ElemType>
void BinaryWriter<ElemType>::Finish()
{
    BinaryHeader file;
    file.type = BinarySectionType::File;
    file.element = BinaryElement::None;
    file.description = "Binary Data File";
    file.bytes = BinaryHeader::c_alignment;
    file.elements = m_sections.front().records;
    std::vector<BinaryHeader> headers;
    size_t position = BinaryHeader::c_alignment;
    for (const Section& section : m_sections)
    {
        headers.push_back(HeaderOf(section, position));
        file.sections.push_back(position);
        position += AlignedSize(headers.back().bytesWithSections);
    }
    file.bytesWithSections = position;

    AtomicFile target(m_path);
    WritePadded(target, file, {});
    for (size_t i = 0; i < m_sections.size(); ++i)
        WriteSection(target, m_sections[i], headers[i]);
    target.Commit();
}

void DescribeBinaryWriterOptions(PluginDescription& description)
{
    AddOptions<BinaryWriterOptions>(description, "writer");
    AddOptions<BinarySectionOptions>(description, "writer:<node>");
}

template class BinaryWriter<float>;
template class BinaryWriter<double>;

} // namespace cntk
