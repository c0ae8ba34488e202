// Parsing of UCI text, and what is said about malformed lines.
#include "Readers/UCIFastReader/UciParser.h"

#include "Common/Error.h"

#include <algorithm>

namespace cntk
{
namespace
{

constexpr size_t c_mostTextShown = 60;

std::string Shortened(std::string_view text)
{
    if (text.size() <= c_mostTextShown)
        return std::string(text);
    return std::string(text.substr(0, c_mostTextShown)) + "...";
}

// The line at the position. A newline follows each piece of the file.
std::string_view RowAt(const char* at)
{
    const char* end = at;
    while (*end != '\n')
        ++end;
    return {at, size_t(end - at)};
}

std::string ColumnRange(const UciColumns& columns)
{
    if (columns.count == 1)
        return Concat("'", columns.stream, "' is column ", columns.start);
    return Concat("'", columns.stream, "' is columns ", columns.start, " to ", columns.start + columns.count - 1);
}

} // namespace

template <class ElemType>
UciParser<ElemType>::UciParser(UciFormat format, const LineIndex& lines)
    : m_format(std::move(format)), m_lines(lines),
      m_numbers(m_format.decimalPoint,
                std::string(m_format.isSpreadsheet ? " \t\r\n\"" : " \t\r\n") + m_format.delimiter),
      m_hasDelimiter(std::string_view(" \t\r\n").find(m_format.delimiter) == std::string_view::npos)
{
    if (m_format.isSpreadsheet)
        MakeUses();
    else
        MakeSegments();
}

template <class ElemType>
void UciParser<ElemType>::MakeSegments()
{
    std::vector<size_t> borders{0};
    for (const UciColumns& columns : m_format.streams)
    {
        borders.push_back(columns.start);
        borders.push_back(columns.start + columns.count);
    }
    std::sort(borders.begin(), borders.end());
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    for (size_t i = 0; i + 1 < borders.size(); ++i)
    {
        Segment segment;
        segment.first = borders[i];
        segment.count = borders[i + 1] - borders[i];
        for (size_t stream = 0; stream < m_format.streams.size(); ++stream)
        {
            const UciColumns& columns = m_format.streams[stream];
            if (columns.start <= segment.first && segment.first < columns.start + columns.count)
                segment.streams.push_back(stream);
        }
        m_segments.push_back(std::move(segment));
    }
}

template <class ElemType>
inline const char* UciParser<ElemType>::SkipSeparators(const char* at) const
{
    const char* const begin = at;
    while (IsSeparator(*at))
        ++at;
    if (m_hasDelimiter && (at - begin > 1 || begin == m_record))
        RequireNoEmptyCell(begin, at);
    return at;
}

// Blanks and tabs separate columns in any number. Two delimiters of the user's have a column between them, which is
// empty here, as is the one before a delimiter at the beginning of the line.
template <class ElemType>
void UciParser<ElemType>::RequireNoEmptyCell(const char* begin, const char* end) const
{
    const auto allowed = begin == m_record ? 0 : 1;
    if (std::count(begin, end, m_format.delimiter) <= allowed)
        return;
    const char* cell = begin;
    for (int i = 0; i < allowed; ++i)
        cell = std::find(cell, end, m_format.delimiter) + 1;
    FailWithLine(Concat(Location(cell), ": column ", ColumnsBefore(begin), " (counted from 0) is empty: ",
                        begin == m_record ? "nothing stands before the first '" : "nothing stands between two '",
                        m_format.delimiter, "'; expected a value in each column"));
}

template <class ElemType>
size_t UciParser<ElemType>::ColumnsBefore(const char* at) const
{
    size_t columns = 0;
    for (const char* c = m_record; c < at; ++c)
        columns += !EndsToken(*c) && (c == m_record || EndsToken(c[-1])) ? 1 : 0;
    return columns;
}

template <class ElemType>
inline const char* UciParser<ElemType>::EndOfToken(const char* at) const
{
    while (!EndsToken(*at))
        ++at;
    return at;
}

template <class ElemType>
void UciParser<ElemType>::Parse(const LineIndex::Piece& piece, std::span<const RecordTarget<ElemType>> targets)
{
    static_assert(LineIndex::c_padding > NumberParser::c_readAhead);
    const std::string_view text = piece.text;
    const char* const textEnd = text.data() + text.size();
    size_t offset = 0;
    for (size_t index = 0; index < piece.records; ++index)
    {
        if (offset >= text.size())
            m_lines.FailChanged();
        m_recordOffset = piece.offset + offset;
        m_record = text.data() + offset;
        const char* end =
            m_format.isSpreadsheet ? ParseCells(m_record, index, targets) : ParseRecord(m_record, index, targets);
        if (end < textEnd && *end != '\n')
            end = text.data() + NextLine(text, size_t(end - text.data())) - 1;
        offset = end < textEnd ? SkipBlankLines(text, size_t(end - text.data()) + 1) : text.size();
    }
}

template <class ElemType>
const char* UciParser<ElemType>::ParseRecord(const char* at, size_t index,
                                             std::span<const RecordTarget<ElemType>> targets)
{
    for (const Segment& segment : m_segments)
    {
        if (segment.streams.size() > 1)
        {
            at = ParseShared(at, segment, index, targets);
            continue;
        }
        const size_t stream = segment.streams.empty() ? 0 : segment.streams[0];
        const RecordTarget<ElemType> target = segment.streams.empty() ? RecordTarget<ElemType>{} : targets[stream];
        if (target.values != nullptr)
        {
            const UciColumns& columns = m_format.streams[stream];
            at = ParseNumbers(at, segment, stream,
                              target.values + index * columns.count + segment.first - columns.start);
            continue;
        }
        for (size_t i = 0; i < segment.count; ++i)
        {
            at = SkipSeparators(at);
            const char* end = EndOfToken(at);
            if (end == at) // the line ends before columns that are wanted or passed over
            {
                if (target.classIds != nullptr)
                    FailMissing(at, segment);
                break;
            }
            if (target.classIds != nullptr)
                target.classIds[index] = ClassOf(at, end, stream);
            at = end;
        }
    }
    return at;
}

template <class ElemType>
const char* UciParser<ElemType>::ParseNumbers(const char* at, const Segment& segment, size_t stream, ElemType* values)
{
    for (size_t i = 0; i < segment.count;)
    {
        at = SkipSeparators(at);
        if (i + 4 <= segment.count && NumberParser::ParseFourDigits(at, values + i))
        {
            at += NumberParser::c_fourDigitsLength;
            i += 4;
            continue;
        }
        double value;
        const char* end = m_numbers.Parse(at, value);
        if (end == nullptr) [[unlikely]]
        {
            end = EndOfToken(at);
            if (end == at)
                FailMissing(at, segment);
            value = SlowNumber(at, end, stream, segment.first + i);
        }
        values[i++] = ElemType(value);
        at = end;
    }
    return at;
}

// Columns that more than one stream reads.
template <class ElemType>
const char* UciParser<ElemType>::ParseShared(const char* at, const Segment& segment, size_t index,
                                             std::span<const RecordTarget<ElemType>> targets)
{
    for (size_t i = 0; i < segment.count; ++i)
    {
        at = SkipSeparators(at);
        const char* end = EndOfToken(at);
        for (const size_t stream : segment.streams)
        {
            const RecordTarget<ElemType>& target = targets[stream];
            const UciColumns& columns = m_format.streams[stream];
            if (end == at && (target.values != nullptr || target.classIds != nullptr))
                FailMissing(at, segment);
            if (target.classIds != nullptr)
                target.classIds[index] = ClassOf(at, end, stream);
            if (target.values == nullptr)
                continue;
            double value;
            if (m_numbers.Parse(at, value) != end)
                value = SlowNumber(at, end, stream, segment.first + i);
            target.values[index * columns.count + segment.first + i - columns.start] = ElemType(value);
        }
        at = end;
    }
    return at;
}

template <class ElemType>
double UciParser<ElemType>::SlowNumber(const char* begin, const char* end, size_t stream, size_t column) const
{
    const std::string_view token(begin, size_t(end - begin));
    double value;
    const bool isSeparated = token.find_first_of(",;|\"") != std::string_view::npos;
    if (!NumberParser::ParseWord(token, value))
        FailWithLine(Concat(Location(begin), ": expected a number in column ", column, " (",
                            ColumnRange(m_format.streams[stream]), ", counted from 0), found '", Shortened(token), "'",
                            isSeparated ? "; columns are separated by blanks, tabs and the customDelimiter of the "
                                          "reader, and numbers have its customDecimalPoint; customDelimiter=auto finds "
                                          "both and reads quoted cells"
                                        : ""));
    return value;
}

template <class ElemType>
int32_t UciParser<ElemType>::ClassOf(const char* begin, const char* end, size_t stream) const
{
    const LabelMap& labels = *m_format.streams[stream].labels;
    const std::string_view label(begin, size_t(end - begin));
    const int32_t id = labels.Find(label);
    if (id == LabelMap::c_unknown)
        FailWithLine(Concat(Location(begin), ": ", labels.UnknownLabelMessage(Shortened(label))));
    return id;
}

template <class ElemType>
void UciParser<ElemType>::MakeUses()
{
    for (size_t stream = 0; stream < m_format.streams.size(); ++stream)
    {
        UciColumns& columns = m_format.streams[stream];
        for (size_t i = 0; columns.columns.size() < columns.count; ++i)
            columns.columns.push_back(columns.start + i);
        for (size_t element = 0; element < columns.columns.size(); ++element)
        {
            const size_t column = columns.columns[element];
            m_uses.resize(std::max(m_uses.size(), column + 1));
            m_uses[column].push_back({stream, element});
        }
    }
}

template <class ElemType>
const char* UciParser<ElemType>::ParseCells(const char* at, size_t index,
                                            std::span<const RecordTarget<ElemType>> targets)
{
    const std::string_view row = RowAt(at);
    RowCells cells(row, m_format.delimiter);
    TableCell cell;
    for (size_t column = 0; column < m_uses.size(); ++column)
    {
        if (!cells.Next(cell))
        {
            const Use& use = m_uses.back().front();
            FailWithLine(Concat(Location(row.data() + row.size()), ": the line has ", Counted(column, "column"),
                                ", but '", m_format.streams[use.stream].stream, "' reads column ",
                                ColumnInWords(m_uses.size() - 1), " (counted from 0)"));
        }
        if (cell.isOpen)
            FailWithLine(Concat(Location(cell.text.data()), ": the quotes of column ", ColumnInWords(column),
                                " are not closed in this line; a record is one line"));
        if (!m_uses[column].empty())
            TakeCell(cell, column, index, targets);
    }
    return row.data() + row.size();
}

template <class ElemType>
void UciParser<ElemType>::TakeCell(const TableCell& cell, size_t column, size_t index,
                                   std::span<const RecordTarget<ElemType>> targets)
{
    for (const Use& use : m_uses[column])
    {
        const RecordTarget<ElemType>& target = targets[use.stream];
        const UciColumns& columns = m_format.streams[use.stream];
        if (target.values == nullptr && target.classIds == nullptr)
            continue;
        if (columns.missing.empty() && (columns.labels != nullptr ? cell.text.empty() : IsMissing(cell.text)))
            FailWithLine(Concat(Location(cell.text.data()), ": column ", ColumnInWords(column), " (counted from 0) is ",
                                cell.text.empty() ? std::string("empty") : Concat("'", cell.text, "'"),
                                "; expected a value in each column, or missing=<value> in the block '", columns.stream,
                                "'"));
        if (target.classIds != nullptr)
            target.classIds[index] = ClassOfCell(cell, use, column);
        if (target.values != nullptr)
            target.values[index * columns.count + use.element] = ElemType(NumberOfCell(cell, use, column));
    }
}

template <class ElemType>
double UciParser<ElemType>::NumberOfCell(const TableCell& cell, const Use& use, size_t column) const
{
    if (IsMissing(cell.text))
    {
        const std::vector<std::string>& missing = m_format.streams[use.stream].missing;
        return *ParseDouble(missing.size() > 1 ? missing[use.element] : missing[0]);
    }
    const char* const end = cell.text.data() + cell.text.size();
    double value;
    if (m_numbers.Parse(cell.text.data(), value) == end || NumberParser::ParseWord(cell.text, value))
        return value;
    FailWithLine(Concat(Location(cell.text.data()), ": expected a number in column ", ColumnInWords(column), " of '",
                        m_format.streams[use.stream].stream, "' (counted from 0), found '", Shortened(cell.text),
                        "'; columns are separated by ", DelimiterInWords(m_format.delimiter),
                        ", and the decimal point is '", m_format.decimalPoint, "'"));
}

template <class ElemType>
int32_t UciParser<ElemType>::ClassOfCell(const TableCell& cell, const Use& use, size_t column) const
{
    const UciColumns& columns = m_format.streams[use.stream];
    const std::string unquoted = cell.hasDoubledQuotes ? Unquote(cell) : std::string();
    const std::string_view label = cell.text.empty()       ? std::string_view(columns.missing[0])
                                   : cell.hasDoubledQuotes ? std::string_view(unquoted)
                                                           : cell.text;
    const int32_t id = columns.labels->Find(label);
    if (id == LabelMap::c_unknown)
        FailWithLine(Concat(Location(cell.text.data()), ": column ", ColumnInWords(column), ": ",
                            columns.labels->UnknownLabelMessage(Shortened(label))));
    return id;
}

// "4 (species)"
template <class ElemType>
std::string UciParser<ElemType>::ColumnInWords(size_t column) const
{
    return column < m_format.header.size() ? Concat(column, " (", m_format.header[column], ")")
                                           : std::to_string(column);
}

template <class ElemType>
std::string_view UciParser<ElemType>::TextOfColumn(const LineIndex::Piece& piece, size_t offset, size_t column)
{
    m_recordOffset = piece.offset + offset;
    m_record = piece.text.data() + offset;
    if (m_format.isSpreadsheet)
    {
        RowCells cells(RowAt(m_record), m_format.delimiter);
        m_cellText.clear();
        size_t i = 0;
        for (TableCell cell; cells.Next(cell) && i <= column; ++i)
            m_cellText = i == column ? Unquote(cell) : std::string();
        return m_cellText;
    }
    const char* at = m_record;
    for (size_t i = 0;; ++i)
    {
        at = SkipSeparators(at);
        const char* const end = EndOfToken(at);
        if (i == column || end == at)
            return {at, size_t(end - at)};
        at = end;
    }
}

template <class ElemType>
std::string UciParser<ElemType>::Location(const char* at) const
{
    return Concat(m_lines.Path(), ":", m_lines.LineNumber(m_recordOffset), ":", at - m_record + 1);
}

template <class ElemType>
void UciParser<ElemType>::FailMissing(const char* at, const Segment& segment) const
{
    const size_t columns = ColumnsBefore(at);
    FailWithLine(Concat(Location(at), ": the line has ", columns, " column", columns == 1 ? "" : "s", ", but ",
                        ColumnRange(m_format.streams[segment.streams[0]]), " (counted from 0)"));
}

template <class ElemType>
void UciParser<ElemType>::FailWithLine(std::string message) const
{
    const char* end = m_record;
    while (*end != '\n')
        ++end;
    Error error(ErrorKind::Data, std::move(message));
    error.AddNote("the line is: " + Shortened({m_record, size_t(end - m_record)}));
    throw error;
}

template class UciParser<float>;
template class UciParser<double>;

} // namespace cntk
