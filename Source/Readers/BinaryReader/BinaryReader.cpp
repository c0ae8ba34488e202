// Sections of binary files as streams.
#include "Readers/BinaryReader/BinaryReader.h"

#include "Common/DataFile.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "Readers/ReaderLib/ReaderOptions.h"

#include <cstring>

namespace cntk
{
namespace
{

constexpr const char* c_readerName = "BinaryReader";
constexpr uint16_t c_categoryLabels = 1;
constexpr size_t c_noStream = SIZE_MAX;

struct BinaryReaderOptions
{
    std::vector<std::string> file;
    bool fullMinibatches = false;
    int traceLevel = 0;
    size_t windowSize = 0;
    size_t dim = 20;
    bool oneLinePerFile = false;
    std::string randomize;

    static OptionTable<BinaryReaderOptions> Options()
    {
        using S = BinaryReaderOptions;
        return {
            Opt("file", &S::file, "Required. The binary files; their sections must have the same number of records")
                .Required()
                .InputFile(),
            MinibatchMode(&S::fullMinibatches),
            Opt("traceLevel", &S::traceLevel, "Amount of printing: 2 shows progress marks"),
            Opt("windowSize", &S::windowSize, "").WithoutEffect(),
            Opt("dim", &S::dim, "the sections of the file decide").WithoutEffect().Here(),
            Opt("oneLinePerFile", &S::oneLinePerFile, "").WithoutEffect(),
            Opt("randomize", &S::randomize, "records come in the order of the file").WithoutEffect(),
        };
    }
};

// A block with the name of a stream, as in configs of UCIFastReader and BinaryWriter.
struct BinaryStreamOptions
{
    size_t dim = 0;
    size_t labelDim = 0;
    size_t start = 0;
    std::string labelType;
    std::string labelMappingFile;

    static OptionTable<BinaryStreamOptions> Options()
    {
        using S = BinaryStreamOptions;
        return {
            Opt("dim", &S::dim, "the section says how many elements a record has").WithoutEffect().Here(),
            Opt("labelDim", &S::labelDim, "the section says how many classes there are").WithoutEffect().Here(),
            Opt("start", &S::start, "sections have no columns").WithoutEffect().Here(),
            Opt("labelType", &S::labelType, "the section says what its labels are").WithoutEffect().Here(),
            Opt("labelMappingFile", &S::labelMappingFile, "the file has the names of the classes")
                .WithoutEffect()
                .Here(),
        };
    }
};

} // namespace

template <class ElemType>
BinarySource<ElemType>::BinarySource(const std::vector<std::string>& paths)
{
    for (const std::string& path : paths)
    {
        m_files.push_back(std::make_unique<BinaryFile>(RequireDataFile(path)));
        AddInnerSections(*m_files.back(), 0, m_files.back()->header, c_noStream);
    }
    if (m_sections.empty())
        Fail(ErrorKind::Data, "'", Join(paths, "', '"), "': there is no section of data or labels");
    if (m_records == 0)
        Fail(ErrorKind::Data, "'", Join(paths, "', '"), "': the sections have no records");
}

template <class ElemType>
void BinarySource<ElemType>::AddInnerSections(const BinaryFile& file, size_t position, const BinaryHeader& header,
                                              size_t parent)
{
    for (const uint64_t inner : header.sections)
    {
        if (inner <= position) // would read the same header again
            Fail(ErrorKind::Data, "'", file.content.Path(), "': the header at byte ", position,
                 " has a section at byte ", inner, ", expected a position after it");
        AddSection(file, size_t(inner), parent);
    }
}

template <class ElemType>
void BinarySource<ElemType>::AddSection(const BinaryFile& binary, size_t position, size_t parent)
{
    const PiecewiseFile& file = binary.content;
    Section section{&file, BinaryHeader::Read(file, position)};
    const BinaryHeader& header = section.header;
    section.data = position + header.headerBytes;
    section.records = header.Records(binary.header);
    if (header.type == BinarySectionType::LabelMap)
        AddLabelNames(section, parent);
    if (header.type != BinarySectionType::Data && header.type != BinarySectionType::Labels)
        return AddInnerSections(binary, position, header, parent);
    const bool isLabel = header.type == BinarySectionType::Labels;
    const bool isCategory = isLabel && header.element == BinaryElement::Int && header.labelKind <= c_categoryLabels;
    const bool isNumber =
        header.element == BinaryElement::Float && (header.elementBytes == 4 || header.elementBytes == 8);
    const bool isClass = isCategory && header.elementBytes == 4 && header.elementsPerRecord == 1;
    if (!isNumber && !isClass)
        Fail(ErrorKind::Data, "'", file.Path(), "': section '", header.description, "' has elements of kind ",
             unsigned(header.element), " and ", Counted(header.elementBytes, "byte"),
             "; expected numbers of 4 or 8 bytes, or one class of 4 bytes a record");
    const size_t room = file.Size() - std::min<size_t>(section.data, file.Size());
    if (header.RecordBytes() == 0 || section.records > room / header.RecordBytes())
        Fail(ErrorKind::Data, "'", file.Path(), "': section '", header.description, "' has ",
             Counted(section.records, "record"), " of ", Counted(header.RecordBytes(), "byte"), ", but the file has ",
             Counted(room, "byte"), " after its header");
    if (m_sections.empty())
        m_records = section.records;
    if (section.records != m_records)
        Fail(ErrorKind::Data, "section '", header.description, "' of '", file.Path(), "' has ",
             Counted(section.records, "record"), ", section '", m_sections[0].header.description, "' has ", m_records,
             "; they must agree");
    StreamInfo stream;
    stream.name = header.Name();
    stream.isLabel = isLabel;
    stream.sparse = isClass;
    stream.rows = isClass ? header.labelDim : header.elementsPerRecord;
    stream.source = Concat("'", file.Path(), "', section '", header.description, "'");
    for (const StreamInfo& other : m_streams)
    {
        if (EqualsIgnoreCase(other.name, stream.name))
            Fail(ErrorKind::Data, stream.source, ": the file already has a section '", other.name, "'");
    }
    m_streams.push_back(std::move(stream));
    m_sections.push_back(section);
    AddInnerSections(binary, position, header, m_streams.size() - 1);
}

// Reads zero-terminated texts in the order of their ids. They name the labels of the section that contains them, or
// else of the stream with their name.
template <class ElemType>
void BinarySource<ElemType>::AddLabelNames(const Section& section, size_t parent)
{
    const size_t headerBytes = section.header.headerBytes;
    if (section.header.bytes < headerBytes || section.data > section.file->Size() ||
        section.header.bytes - headerBytes > section.file->Size() - section.data)
        Fail(ErrorKind::Data, "'", section.file->Path(), "': section '", section.header.description, "' of ",
             section.header.bytes, " bytes goes beyond the end of the file");
    std::string text(section.header.bytes - headerBytes, '\0');
    section.file->Read(section.data, text.data(), text.size());
    for (size_t i = 0; i < m_streams.size(); ++i)
    {
        StreamInfo& stream = m_streams[i];
        if (parent == c_noStream ? !EqualsIgnoreCase(stream.name, section.header.Name()) : i != parent)
            continue;
        for (const std::string_view name : Split(text, '\0'))
        {
            if (stream.labelNames.size() < section.records && !name.empty())
                stream.labelNames.emplace_back(name);
        }
    }
}

template <class ElemType>
size_t BinarySource<ElemType>::FileBytes() const
{
    size_t bytes = 0;
    for (const auto& file : m_files)
        bytes += file->content.Size();
    return bytes;
}

template <class ElemType>
template <class Stored>
void BinarySource<ElemType>::ReadNumbers(const Section& section, size_t first, size_t count, ElemType* values)
{
    const size_t bytes = count * section.header.RecordBytes();
    const size_t position = section.data + first * section.header.RecordBytes();
    if constexpr (std::is_same_v<Stored, ElemType>)
    {
        section.file->Read(position, reinterpret_cast<char*>(values), bytes);
        return;
    }
    m_buffer.resize(bytes);
    section.file->Read(position, m_buffer.data(), bytes);
    for (size_t i = 0; i < bytes / sizeof(Stored); ++i)
    {
        Stored value;
        std::memcpy(&value, m_buffer.data() + i * sizeof(Stored), sizeof value);
        values[i] = ElemType(value);
    }
}

template <class ElemType>
void BinarySource<ElemType>::Parse(size_t first, size_t count, std::span<const RecordTarget<ElemType>> targets)
{
    for (size_t i = 0; i < m_sections.size(); ++i)
    {
        const Section& section = m_sections[i];
        if (targets[i].values != nullptr && section.header.elementBytes == sizeof(float))
            ReadNumbers<float>(section, first, count, targets[i].values);
        else if (targets[i].values != nullptr)
            ReadNumbers<double>(section, first, count, targets[i].values);
        if (targets[i].classIds == nullptr)
            continue;
        section.file->Read(section.data + first * sizeof(int32_t), reinterpret_cast<char*>(targets[i].classIds),
                           count * sizeof(int32_t));
        for (size_t k = 0; k < count; ++k)
        {
            const int32_t id = targets[i].classIds[k];
            if (id < 0 || size_t(id) >= m_streams[i].rows)
                Fail(ErrorKind::Data, m_streams[i].source, ", record ", first + k, ": class ", id,
                     ", expected one of 0 to ", ptrdiff_t(m_streams[i].rows) - 1);
        }
    }
}

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeBinaryReader(const ReaderContext& context)
{
    auto options = ReadOptions<BinaryReaderOptions>(context.config);
    for (std::string& path : options.file)
        path = ResolveInputPath(path);
    for (const std::string& name : context.config.BlockNames())
        ReadOptions<BinaryStreamOptions>(context.config.RequireBlock(name));
    std::unique_ptr<BinarySource<ElemType>> source = WithPosition(
        context.config.WhereOf("file"), [&] { return std::make_unique<BinarySource<ElemType>>(options.file); });
    FrameReaderOptions frames;
    frames.readerName = c_readerName;
    frames.walk = {0, options.fullMinibatches};
    frames.hasFreeCores = context.hasFreeCores;
    frames.traceLevel = options.traceLevel;
    return std::make_unique<FrameReader<ElemType>>(std::move(source), frames, context.log);
}

void DescribeBinaryReaderOptions(PluginDescription& description)
{
    AddOptions<BinaryReaderOptions>(description, "");
    AddOptions<BinaryStreamOptions>(description, "features");
    AddOptions<BinaryStreamOptions>(description, "labels");
}

void AddBinaryInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files)
{
    AddInputFiles<BinaryReaderOptions>(context.config, files);
}

template class BinarySource<float>;
template class BinarySource<double>;
template std::unique_ptr<IDataReader<float>> MakeBinaryReader<float>(const ReaderContext&);
template std::unique_ptr<IDataReader<double>> MakeBinaryReader<double>(const ReaderContext&);

} // namespace cntk
