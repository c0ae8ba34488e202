// Tables as spreadsheets write them: rows of cells between delimiters, quoted cells, decimal commas, a header.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

struct TableCell
{
    std::string_view text;         // without the quotes around it and the blanks around those
    bool isQuoted = false;         // text between quotes; two quotes inside stand for one
    bool hasDoubledQuotes = false; // Unquote replaces them
    bool isOpen = false;           // the closing quote is missing, so that the cell reaches the end of the row
};

// Cells of one row. The delimiter ' ' stands for any number of blanks and tabs.
class RowCells
{
public:
    RowCells(std::string_view row, char delimiter);

    // Returns false after the last cell. A row that ends with a delimiter has an empty last cell.
    bool Next(TableCell& cell);

private:
    bool IsSpace(char c) const; // a character around cells that is no delimiter
    TableCell Quoted();

    std::string_view m_row;
    char m_delimiter;
    size_t m_at = 0;
    bool m_isDone = false;
};

// Returns the text of a cell with one quote for two.
std::string Unquote(const TableCell& cell);
std::vector<std::string> CellsOf(std::string_view row, char delimiter);

// True for an empty cell, and for NA and ? as statistics programs write it.
bool IsMissing(std::string_view cell);

// Returns the number; empty if the cell is no number. Accepts what ParseDouble accepts.
std::optional<double> NumberOf(std::string_view cell, char decimalPoint);

// Returns the delimiter of the rows, one a line: the first of tab, ';', ',' and '|' that gives each row the same number
// of cells, at least two, or nearly each row; else ' '.
char FindDelimiter(std::string_view rows);
// Returns ',' if some cells are numbers with a decimal comma and none has a decimal point, else '.'.
char FindDecimalPoint(std::string_view rows, char delimiter);

// True if none of the columns holds a number in this row, and some of them hold text. Row: a header or the first
// record.
bool IsHeader(const std::vector<std::string>& cells, const std::vector<size_t>& numberColumns, char decimalPoint);

// "blanks", "tabs" or "','": for messages.
std::string DelimiterInWords(char delimiter);

} // namespace cntk
