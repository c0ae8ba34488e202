// Label maps and streams of a UCI file.
#include "Readers/UCIFastReader/UciReader.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{
namespace
{

constexpr const char* c_readerName = "UCIFastReader";

// Names the parameter or file that decides the dimension of a block's stream, for messages.
std::string SourceOf(const UciConfig& config, const UciBlock& block, const LabelMap* labels)
{
    std::string deciding;
    if (!block.isCategory)
        deciding = SettingText(*block.config, block.columnNames.empty() ? "dim" : "columns", block.columns);
    else if (block.labelDim > 0 && block.labelDim >= labels->Size())
        deciding = SettingText(*block.config, "labelDim", block.labelDim);
    else
        deciding = Concat("label map '", labels->Source(), "'");
    return Concat("'", config.file, "', ", deciding);
}

} // namespace

template <class ElemType>
UciSource<ElemType>::UciSource(const UciConfig& config, Log& log)
    : m_log(log), m_lines(WithPosition(config.fileWhere, [&] { return LineIndex(config.file); }))
{
    const UciReaderOptions& options = config.reader;
    if (options.traceLevel > 0)
        log.Print("Reading UCI file %s\n", config.file.c_str());
    ReadFormat(config);
    for (const UciBlock& block : config.blocks)
    {
        StreamInfo info;
        UciColumns columns{block.name, block.start, block.columns};
        columns.columns = FindColumns(block);
        columns.missing = block.missing;
        info.name = block.name;
        info.rows = block.columns;
        info.isLabel = block.isLabel;
        info.sparse = block.isCategory;
        m_labels.push_back(nullptr);
        if (block.isCategory)
        {
            auto labels = std::make_unique<LabelMap>();
            const size_t column = columns.columns.empty() ? block.start : columns.columns[0];
            const bool made = !LoadLabelMap(block, column, *labels, options.allowMapCreation);
            if (made)
                m_newMaps.push_back({block.labelMappingFile, labels.get()});
            info.rows = CheckLabelDim(block, *labels, made);
            info.labelNames = labels->Names();
            m_labels.back() = std::move(labels);
        }
        info.source = SourceOf(config, block, m_labels.back().get());
        columns.labels = m_labels.back().get();
        m_format.streams.push_back(std::move(columns));
        m_streams.push_back(std::move(info));
    }
    m_parser = std::make_unique<UciParser<ElemType>>(m_format, m_lines);
}

template <class ElemType>
void UciSource<ElemType>::ReadFormat(const UciConfig& config)
{
    const std::string_view text = m_lines.FirstLines();
    m_format.delimiter = config.findsDelimiter ? FindDelimiter(text) : config.delimiter;
    m_format.decimalPoint = config.findsDelimiter && config.reader.customDecimalPoint.empty()
                                ? FindDecimalPoint(text, m_format.delimiter)
                                : config.decimalPoint;
    // A delimiter that is given as a character also leaves blanks as delimiters, unless cells are quoted.
    const bool hasOwnDelimiter = !IsBlank(m_format.delimiter) || config.isSpreadsheet;
    m_format.isSpreadsheet = config.isSpreadsheet || (hasOwnDelimiter && text.find('"') != std::string_view::npos);
    std::string firstLine(text.substr(0, text.find('\n')));
    if (!m_format.isSpreadsheet)
        std::replace(firstLine.begin(), firstLine.end(), m_format.delimiter, ' ');
    const std::vector<std::string> cells = CellsOf(firstLine, m_format.isSpreadsheet ? m_format.delimiter : ' ');

    bool hasHeader = config.reader.header == HeaderMode::Present;
    if (config.reader.header == HeaderMode::Auto)
    {
        m_format.header = cells;
        std::vector<size_t> numberColumns;
        for (const UciBlock& block : config.blocks)
        {
            const std::vector<size_t> named = block.isCategory ? std::vector<size_t>() : FindColumns(block);
            numberColumns.insert(numberColumns.end(), named.begin(), named.end());
            for (size_t i = 0; i < block.columns && named.empty() && !block.isCategory; ++i)
                numberColumns.push_back(block.start + i);
        }
        hasHeader = IsHeader(cells, numberColumns, m_format.decimalPoint);
        m_format.header.clear();
    }
    if (!hasHeader)
        return;
    m_format.header = cells;
    m_log.Print("%s: the first line is a header: %s\n", config.file.c_str(), Join(cells, ", ").c_str());
    m_lines.SkipHeader();
    if (m_lines.IsComplete())
        FailAt(config.fileWhere, ErrorKind::Data, "data file '", config.file, "' has a header and no record");
}

template <class ElemType>
std::vector<size_t> UciSource<ElemType>::FindColumns(const UciBlock& block) const
{
    std::vector<size_t> found;
    for (const std::string& name : block.columnNames)
    {
        const auto begin = m_format.header.begin(), end = m_format.header.end();
        auto at = std::find(begin, end, name);
        if (at == end)
            at = std::find_if(begin, end, [&](const std::string& other) { return EqualsIgnoreCase(other, name); });
        const std::optional<unsigned long long> number = ParseSize(name);
        const bool isWithinCell =
            std::any_of(begin, end, [&](const std::string& cell) { return cell.find(name) != std::string::npos; });
        if (at == end && !number)
            FailAt(block.config->WhereOf("columns"), ErrorKind::Data, "'", block.name, "' reads column '", name,
                   "', but ",
                   m_format.header.empty()
                       ? "the first line of '" + m_lines.Path() + "' is no header"
                       : "the first line of '" + m_lines.Path() + "' has no such name: " + Join(m_format.header, ", "),
                   isWithinCell && m_format.delimiter == ' '
                       ? "; columns are separated by blanks; customDelimiter=auto finds another delimiter"
                       : DidYouMean(name, m_format.header));
        found.push_back(at == end ? size_t(*number) : size_t(at - begin));
    }
    return found;
}

template <class ElemType>
bool UciSource<ElemType>::LoadLabelMap(const UciBlock& block, size_t column, LabelMap& labels, bool allowCreation)
{
    const std::string path = ResolveInputPath(block.labelMappingFile);
    const SourcePos where = block.config->WhereOf("labelMappingFile");
    if (FileExists(path))
    {
        labels = WithPosition(where, [&] { return LabelMap::FromFile(path); });
        if (labels.Size() == 0)
            FailAt(where, ErrorKind::Data, "label map '", path, "' has no labels");
        return true;
    }
    if (!allowCreation)
        FailAt(where, ErrorKind::Data, "label map '", path, "' does not exist", NearFilesHint(path),
               "; the createLabelMap action makes it from the data");
    CollectLabels(block, column, labels);
    return false;
}

template <class ElemType>
size_t UciSource<ElemType>::CheckLabelDim(const UciBlock& block, const LabelMap& labels, bool made) const
{
    const size_t count = labels.Size();
    const SourcePos where = block.config->WhereOf("labelDim");
    const auto warn = [&](const auto&... parts)
    {
        m_log.Warn(Concat(where.Location(), where ? ": " : "", "labelDim=", block.labelDim, " of '", block.name,
                          "', but ", parts...));
    };
    if (block.labelDim != 0 && block.labelDim < count)
        warn(made ? std::string("the data have ") : Concat("'", labels.Source(), "' has "), Counted(count, "label"),
             "; expected labelDim=", count);
    else if (!made && block.labelDim > count)
        warn("'", labels.Source(), "' has only ", Counted(count, "label"));
    return std::max(block.labelDim, count); // as the original
}

template <class ElemType>
std::vector<std::string> UciSource<ElemType>::CreateLabelMaps()
{
    std::vector<std::string> files;
    for (const NewMap& map : m_newMaps)
    {
        map.labels->Save(map.path);
        m_log.Print("label file %s written to disk\n", map.path.c_str());
        files.push_back(map.path);
    }
    m_newMaps.clear();
    return files;
}

// All labels of the data, in the order in which they first appear.
template <class ElemType>
void UciSource<ElemType>::CollectLabels(const UciBlock& block, size_t column, LabelMap& labels)
{
    UciFormat format = m_format;
    format.streams.clear();
    UciParser<ElemType> parser(std::move(format), m_lines);
    const size_t total = m_lines.Extend(SIZE_MAX);
    for (size_t first = 0; first < total;)
    {
        const LineIndex::Piece piece = m_lines.Read(first, total - first);
        size_t at = 0;
        for (size_t i = 0; i < piece.records; ++i)
        {
            const size_t next = NextLine(piece.text, at);
            std::string_view label = parser.TextOfColumn(piece, at, column);
            if (label.empty())
                label = block.missing.empty() ? std::string_view() : block.missing[0];
            if (label.empty())
                Fail(ErrorKind::Data, m_lines.Path(), ":", m_lines.LineNumber(piece.offset + at),
                     ": the line has no column ", column, " (counted from 0), the label of '", block.name, "'");
            labels.FindOrAdd(label);
            at = SkipBlankLines(piece.text, next);
        }
        first += piece.records;
    }
}

template <class ElemType>
void UciSource<ElemType>::Parse(size_t first, size_t count, std::span<const RecordTarget<ElemType>> targets)
{
    m_targets.assign(targets.begin(), targets.end());
    for (const size_t end = first + count; first < end;)
    {
        const LineIndex::Piece piece = m_lines.Read(first, end - first);
        m_parser->Parse(piece, m_targets);
        for (size_t i = 0; i < m_targets.size(); ++i)
        {
            if (m_targets[i].values != nullptr)
                m_targets[i].values += piece.records * m_format.streams[i].count;
            if (m_targets[i].classIds != nullptr)
                m_targets[i].classIds += piece.records;
        }
        first += piece.records;
    }
}

template <class ElemType>
std::string UciSource<ElemType>::PlaceOf(size_t, size_t record)
{
    return Concat(m_lines.Path(), ":", m_lines.LineNumber(m_lines.Read(record, 1).offset));
}

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeUciReader(const ReaderContext& context)
{
    const UciConfig config = ReadUciConfig(context);
    Log& log = context.log;
    if (config.hasCacheKeys)
        log.Warn("UCIFastReader: writerType, wfile and other keys of the binary cache are not needed and not used; "
                 "parsed data "
                 "are kept in memory");
    if (!config.hasLabels && config.reader.traceLevel > 0)
        log.Warn("UCIFastReader: labels are not specified");
    FrameReaderOptions options;
    options.readerName = c_readerName;
    options.walk = {config.reader.randomize.range, config.reader.fullMinibatches};
    options.minibatchSize = config.reader.oneLinePerFile ? config.reader.parallelSequences : 0;
    options.cacheBytes = config.reader.cacheMB << 20;
    options.prefetch = config.reader.prefetch;
    options.hasFreeCores = context.hasFreeCores;
    options.traceLevel = config.reader.traceLevel;
    return std::make_unique<FrameReader<ElemType>>(std::make_unique<UciSource<ElemType>>(config, log), options, log);
}

template class UciSource<float>;
template class UciSource<double>;
template std::unique_ptr<IDataReader<float>> MakeUciReader<float>(const ReaderContext&);
template std::unique_ptr<IDataReader<double>> MakeUciReader<double>(const ReaderContext&);

} // namespace cntk
