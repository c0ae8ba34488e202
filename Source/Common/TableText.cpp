// The grammar of spreadsheets' text files.
#include "Common/TableText.h"

#include "Common/Text.h"

#include <algorithm>

namespace cntk
{

namespace
{

constexpr size_t c_rowsToInspect = 200;

// The non-blank rows at the begin of the text.
std::vector<std::string_view> FirstRows(std::string_view text)
{
    std::vector<std::string_view> rows;
    for (size_t at = 0; at < text.size() && rows.size() < c_rowsToInspect;)
    {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view row = text.substr(at, end - at);
        if (!Trim(row).empty())
            rows.push_back(row);
        at = end + 1;
    }
    return rows;
}

// True if the rows, but for a share of `mayDiffer`, have the number of cells of the first one, at least two.
bool SplitsAlike(const std::vector<std::string_view>& rows, char delimiter, double mayDiffer)
{
    size_t first = 0, others = 0;
    for (const std::string_view row : rows)
    {
        RowCells cells(row, delimiter);
        size_t count = 0;
        for (TableCell cell; cells.Next(cell); ++count)
            if (cell.isOpen)
                return false;
        first = first == 0 ? count : first;
        others += count != first ? 1 : 0;
    }
    return first >= 2 && double(others) <= mayDiffer * double(rows.size());
}

// True for "5", "-1,5" and "3x": a wrong number is no name.
bool BeginsAsNumber(std::string_view cell)
{
    while (!cell.empty() && (cell[0] == '-' || cell[0] == '+' || cell[0] == '.' || cell[0] == ','))
        cell.remove_prefix(1);
    return !cell.empty() && IsDigit(cell[0]);
}

} // namespace

RowCells::RowCells(std::string_view row, char delimiter) : m_row(row), m_delimiter(delimiter) {}

bool RowCells::IsSpace(char c) const
{
    return IsBlank(c) && c != m_delimiter;
}

// The cell at the quote. Text between the closing quote and the delimiter belongs to no cell and is dropped with it.
TableCell RowCells::Quoted()
{
    TableCell cell;
    cell.isQuoted = true;
    const size_t begin = ++m_at;
    for (;; m_at += 2)
    {
        m_at = std::min(m_row.find('"', m_at), m_row.size());
        if (m_at + 1 >= m_row.size() || m_row[m_at + 1] != '"')
            break;
        cell.hasDoubledQuotes = true;
    }
    cell.isOpen = m_at >= m_row.size();
    cell.text = m_row.substr(begin, m_at - begin);
    m_at = std::min(m_at + 1, m_row.size());
    return cell;
}

bool RowCells::Next(TableCell& cell)
{
    const bool isBlankDelimiter = m_delimiter == ' ';
    const auto isSpace = [&](char c) { return isBlankDelimiter ? IsBlank(c) : IsSpace(c); };
    while (m_at < m_row.size() && isSpace(m_row[m_at]))
        ++m_at;
    if (m_isDone || (isBlankDelimiter && m_at == m_row.size()))
        return false;
    cell = {};
    if (m_at < m_row.size() && m_row[m_at] == '"')
        cell = Quoted();
    const size_t begin = m_at;
    const auto isEnd = [&](char c) { return isBlankDelimiter ? IsBlank(c) : c == m_delimiter; };
    while (m_at < m_row.size() && !isEnd(m_row[m_at]))
        ++m_at;
    if (!cell.isQuoted)
    {
        size_t end = m_at;
        while (end > begin && isSpace(m_row[end - 1]))
            --end;
        cell.text = m_row.substr(begin, end - begin);
    }
    m_isDone = m_at == m_row.size();
    ++m_at;
    return true;
}

std::string Unquote(const TableCell& cell)
{
    std::string text(cell.text);
    for (size_t at = text.find("\"\""); cell.hasDoubledQuotes && at != std::string::npos;
         at = text.find("\"\"", at + 1))
        text.erase(at, 1);
    return text;
}

std::vector<std::string> CellsOf(std::string_view row, char delimiter)
{
    std::vector<std::string> texts;
    RowCells cells(row, delimiter);
    for (TableCell cell; cells.Next(cell);)
        texts.push_back(Unquote(cell));
    return texts;
}

bool IsMissing(std::string_view cell)
{
    return cell.empty() || cell == "NA" || cell == "?";
}

std::optional<double> NumberOf(std::string_view cell, char decimalPoint)
{
    if (decimalPoint == '.')
        return ParseDouble(cell);
    if (cell.find('.') != std::string_view::npos)
        return std::nullopt;
    std::string text(cell);
    std::replace(text.begin(), text.end(), decimalPoint, '.');
    return ParseDouble(text);
}

char FindDelimiter(std::string_view text)
{
    const std::vector<std::string_view> rows = FirstRows(text);
    // A few wrong rows must not hide the delimiter, but no wrong row is better.
    constexpr double c_fewRows = 0.1;
    for (const double mayDiffer : {0.0, c_fewRows})
        for (const char delimiter : {'\t', ';', ',', '|'})
            if (SplitsAlike(rows, delimiter, mayDiffer))
                return delimiter;
    return ' ';
}

char FindDecimalPoint(std::string_view text, char delimiter)
{
    size_t commas = 0;
    for (const std::string_view row : FirstRows(text))
        for (const std::string& cell : delimiter == ',' ? std::vector<std::string>() : CellsOf(row, delimiter))
        {
            if (cell.find('.') != std::string::npos && NumberOf(cell, '.'))
                return '.';
            commas += cell.find(',') != std::string::npos && NumberOf(cell, ',') ? 1 : 0;
        }
    return commas > 0 ? ',' : '.';
}

bool IsHeader(const std::vector<std::string>& cells, const std::vector<size_t>& numberColumns, char decimalPoint)
{
    bool hasText = false;
    for (const size_t column : numberColumns)
    {
        if (column >= cells.size() || BeginsAsNumber(cells[column]) || NumberOf(cells[column], decimalPoint))
            return false;
        hasText = hasText || !cells[column].empty();
    }
    return hasText;
}

std::string DelimiterInWords(char delimiter)
{
    return delimiter == ' ' ? "blanks" : delimiter == '\t' ? "tabs" : Concat("'", delimiter, "'");
}

} // namespace cntk
