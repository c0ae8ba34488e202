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

// Numbers separated by white space, infinite ones (inf, 1#INF) among them, empty lines ignored, all rows of one length.
// Errors (Data) name the file, the line and what was found.
TextMatrix ReadTextMatrix(const std::string& path);

} // namespace cntk
