// Reads a text matrix row by row and stores it column by column.
#include "ComputationNetwork/Nodes/ParameterFile.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

namespace cntk
{

namespace
{

constexpr std::string_view c_blanks = " \t\r\v\f";

// Appends the numbers of a line and returns their count.
size_t ReadLine(std::string_view line, const std::string& path, size_t lineNumber, std::vector<double>& values)
{
    size_t count = 0;
    for (size_t start = line.find_first_not_of(c_blanks); start != std::string_view::npos;)
    {
        const size_t end = std::min(line.find_first_of(c_blanks, start), line.size());
        const std::string_view token = line.substr(start, end - start);
        const std::optional<double> number = ParseDouble(token);
        if (!number)
            Fail(ErrorKind::Data, "file '", path, "', line ", lineNumber, ", column ", start + 1, ": '", token,
                 "' is not a number");
        // Infinity is accepted, also as -1e50 in a float: it excludes rows from a softmax.
        if (std::isnan(*number))
            Fail(ErrorKind::Data, "file '", path, "', line ", lineNumber, ", column ", start + 1, ": found ", token,
                 ", expected a number");
        values.push_back(*number);
        count++;
        start = line.find_first_not_of(c_blanks, end);
    }
    return count;
}

// Reads all rows and sets the matrix' rows and columns. The text is freed afterwards.
std::vector<double> ReadRows(const std::string& path, TextMatrix& matrix)
{
    const std::string text = ReadTextFile(ResolveInputPath(path));
    std::vector<double> values;
    size_t lineNumber = 0;
    for (const std::string_view line : Split(text, '\n'))
    {
        lineNumber++;
        const size_t count = ReadLine(line, path, lineNumber, values);
        if (count == 0)
            continue;
        if (matrix.rows == 0)
            values.reserve(count * (text.size() / line.size() + 1)); // an estimate that assumes rows of equal length
        else if (count != matrix.columns)
            Fail(ErrorKind::Data, "file '", path, "', line ", lineNumber, ": ", count,
                 count == 1 ? " number" : " numbers", ", but the lines before have ", matrix.columns,
                 "; all rows of a matrix have the same length");
        matrix.columns = count;
        matrix.rows++;
    }
    return values;
}

} // namespace

TextMatrix ReadTextMatrix(const std::string& path)
{
    TextMatrix matrix;
    const std::vector<double> byRow = ReadRows(path, matrix);
    if (matrix.rows == 0)
        Fail(ErrorKind::Data, "file '", path, "' holds no numbers; expected a matrix, one row a line");
    matrix.values.resize(byRow.size());
    for (size_t i = 0; i < matrix.rows; i++)
        for (size_t j = 0; j < matrix.columns; j++)
            matrix.values[j * matrix.rows + i] = byRow[i * matrix.columns + j];
    return matrix;
}

} // namespace cntk
