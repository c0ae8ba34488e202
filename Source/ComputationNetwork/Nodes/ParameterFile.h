// Text files with initial values of a parameter: one matrix row a line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cntk
{

struct TextMatrix
{
    size_t rows = 0;
    size_t columns = 0;
    std::vector<double> values; // column-major
};

// Reads numbers separated by white space, including infinite ones (inf, 1#INF). Ignores empty lines. All rows must have
// the same length. Errors (Data) name the file, the line and the text found.
TextMatrix ReadTextMatrix(const std::string& path);

} // namespace cntk
