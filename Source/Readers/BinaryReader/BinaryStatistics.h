// What a section of statistics holds: figures over all numbers of a section of data, each a name of 24 bytes and a
// double.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class BinaryStatistics
{
public:
    static constexpr size_t c_nameBytes = 24;
    static constexpr size_t c_recordBytes = c_nameBytes + sizeof(double);

    // "sum", "count", "mean", "max", "min", "range", "rootmeansquare", "variance", "stddev"
    static const std::vector<std::string>& Names();

    void Add(double value);
    double ValueOf(std::string_view name) const; // any case; one of the names
    // The records of a section.
    std::string Encode(const std::vector<std::string>& names) const;

private:
    size_t m_count = 0;
    double m_sum = 0;
    double m_squares = 0;
    double m_max = 0;
    double m_min = 0;
    double m_mean = 0; // brought forward with every number, as the sum of squared differences is
    double m_differences = 0;
};

} // namespace cntk
