// Reading of a table with the grammar of UCIFastReader, and statistics of its columns.
#include "ActionsLib/NewConfig/NewTable.h"

#include "Common/Error.h"
#include "Common/TableText.h"
#include "Common/Text.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace cntk
{

namespace
{

std::vector<std::string_view> RowsOf(std::string_view text, size_t most)
{
    std::vector<std::string_view> rows;
    for (size_t at = 0; at < text.size() && rows.size() < most;)
    {
        const size_t end = std::min(text.find('\n', at), text.size());
        std::string_view row = text.substr(at, end - at);
        if (row.ends_with('\r'))
            row.remove_suffix(1);
        if (!Trim(row).empty())
            rows.push_back(row);
        at = end + 1;
    }
    return rows;
}

std::vector<size_t> NumberColumns(const std::vector<std::string_view>& rows, char delimiter, char decimalPoint)
{
    std::vector<bool> isNumber;
    for (size_t i = 1; i < rows.size(); ++i)
    {
        const std::vector<std::string> cells = CellsOf(rows[i], delimiter);
        isNumber.resize(std::max(isNumber.size(), cells.size()), true);
        for (size_t column = 0; column < cells.size(); ++column)
            isNumber[column] = isNumber[column] && (IsMissing(cells[column]) || NumberOf(cells[column], decimalPoint));
    }
    std::vector<size_t> columns;
    for (size_t column = 0; column < isNumber.size(); ++column)
        if (isNumber[column])
            columns.push_back(column);
    return columns;
}

size_t LineOf(std::string_view text, std::string_view row)
{
    return size_t(std::count(text.data(), row.data(), '\n')) + 1;
}

// Adds a cell to the statistics of its column. index: number of each distinct text.
void AddCell(const std::string& cell, char decimalPoint, NewColumn& column,
             std::unordered_map<std::string, size_t>& index)
{
    if (IsMissing(cell))
    {
        ++column.empty;
        return;
    }
    if (column.HasAllValues() || index.contains(cell))
    {
        const auto [found, isNew] = index.emplace(cell, column.values.size());
        if (isNew)
        {
            column.values.push_back(cell);
            column.counts.push_back(0);
        }
        ++column.counts[found->second];
    }
    const auto number = column.isNumber ? NumberOf(cell, decimalPoint) : std::nullopt;
    column.isNumber = number.has_value();
    if (!number)
        return;
    const bool isFirst = column.values.size() == 1 && column.counts[0] == 1;
    column.isWhole = column.isWhole && std::floor(*number) == *number;
    column.min = isFirst ? *number : std::min(column.min, *number);
    column.max = isFirst ? *number : std::max(column.max, *number);
}

} // namespace

bool NewTable::IsTable(std::string_view text)
{
    constexpr size_t c_rowsToInspect = 200;
    const std::vector<std::string_view> rows = RowsOf(text, c_rowsToInspect);
    if (rows.size() < 2)
        return false;
    const char delimiter = FindDelimiter(text);
    const size_t count = CellsOf(rows[0], delimiter).size();
    for (const std::string_view row : rows)
        if (CellsOf(row, delimiter).size() != count)
            return false;
    return count >= 2 && !NumberColumns(rows, delimiter, FindDecimalPoint(text, delimiter)).empty();
}

NewTable NewTable::Read(std::string_view text, const std::string& path)
{
    NewTable table;
    table.delimiter = FindDelimiter(text);
    table.decimalPoint = FindDecimalPoint(text, table.delimiter);
    table.records = RowsOf(text, std::string_view::npos);
    const std::vector<std::string_view> first(
        table.records.begin(), table.records.begin() + ptrdiff_t(std::min<size_t>(table.records.size(), 200)));
    for (const std::string_view row : first)
        if (table.delimiter == ' ' && std::count(row.begin(), row.end(), '"') % 2 != 0)
            Fail(ErrorKind::Data, path, ":", LineOf(text, row),
                 ": the quotes of a cell are not closed in this line; expected one line for each record");
    const std::vector<std::string> names = CellsOf(first[0], table.delimiter);
    table.columns.resize(names.size());
    if (IsHeader(names, NumberColumns(first, table.delimiter, table.decimalPoint), table.decimalPoint))
    {
        table.header = first[0];
        table.records.erase(table.records.begin());
        for (size_t i = 0; i < names.size(); ++i)
            table.columns[i].name = names[i];
    }
    std::vector<std::unordered_map<std::string, size_t>> indices(names.size());
    for (const std::string_view row : table.records)
    {
        const std::vector<std::string> cells = CellsOf(row, table.delimiter);
        if (cells.size() != names.size())
            Fail(ErrorKind::Data, path, ":", LineOf(text, row), ": the line has ", Counted(cells.size(), "column"),
                 ", the lines before it have ", names.size(), "; columns are separated by ",
                 DelimiterInWords(table.delimiter));
        for (size_t i = 0; i < cells.size(); ++i)
            AddCell(cells[i], table.decimalPoint, table.columns[i], indices[i]);
    }
    return table;
}

std::vector<std::string> NewTable::TextsOf(size_t column) const
{
    std::vector<std::string> texts;
    for (const std::string_view row : records)
        texts.push_back(CellsOf(row, delimiter)[column]);
    return texts;
}

} // namespace cntk
