// A table of the user: its columns, their kinds, and the config that predicts one of them.
#pragma once

#include "ActionsLib/NewConfig/NewConfig.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

struct NewColumn
{
    std::string name;     // of the header; empty without one
    bool isNumber = true; // every cell that is not empty
    bool isWhole = true;  // every number is whole
    size_t empty = 0;     // without a value (IsMissing)
    double min = 0, max = 0;
    std::vector<std::string> values; // distinct texts, in the order of the data; at most c_mostValues
    std::vector<size_t> counts;      // of each of the values

    static constexpr size_t c_mostValues = 1000;
    bool HasAllValues() const { return values.size() < c_mostValues; }
};

struct NewTable
{
    char delimiter = ' ';
    char decimalPoint = '.';
    std::string_view header; // its line; empty: none
    std::vector<std::string_view> records;
    std::vector<NewColumn> columns;

    // True if the text has rows of one number of columns, some of which are numbers.
    static bool IsTable(std::string_view text);
    // path: for messages. The table refers to the text. Fails (Data) at a row with another number of columns.
    static NewTable Read(std::string_view text, const std::string& path);
    // Returns the texts of a column, one a record.
    std::vector<std::string> TextsOf(size_t column) const;
};

std::string WriteTableConfig(const NewConfigRequest& request, std::string_view text);

} // namespace cntk
