// Statistics of the numbers of a section.
#include "Readers/BinaryReader/BinaryStatistics.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cntk
{

const std::vector<std::string>& BinaryStatistics::Names()
{
    static const std::vector<std::string> names = {"sum",   "count",          "mean",     "max",   "min",
                                                   "range", "rootmeansquare", "variance", "stddev"};
    return names;
}

void BinaryStatistics::Add(double value)
{
    m_max = m_count == 0 ? value : std::max(m_max, value);
    m_min = m_count == 0 ? value : std::min(m_min, value);
    m_count++;
    m_sum += value;
    m_squares += value * value;
    const double before = value - m_mean;
    m_mean += before / double(m_count);
    m_differences += before * (value - m_mean);
}

double BinaryStatistics::ValueOf(std::string_view name) const
{
    const auto is = [&](const char* known) { return EqualsIgnoreCase(name, known); };
    const double variance = m_count > 1 ? m_differences / double(m_count - 1) : 0;
    if (is("sum"))
        return m_sum;
    if (is("count"))
        return double(m_count);
    if (is("mean"))
        return m_mean;
    if (is("max"))
        return m_max;
    if (is("min"))
        return m_min;
    if (is("range"))
        return m_max - m_min;
    if (is("rootmeansquare"))
        return m_count > 0 ? std::sqrt(m_squares / double(m_count)) : 0;
    if (is("variance"))
        return variance;
    if (is("stddev"))
        return std::sqrt(variance);
    Fail(ErrorKind::Internal, "there is no statistic '", name, "'");
}

std::string BinaryStatistics::Encode(const std::vector<std::string>& names) const
{
    std::string bytes;
    for (const std::string& name : names)
    {
        std::string record = ToLower(name);
        record.resize(c_nameBytes, '\0');
        const double value = ValueOf(name);
        record.append(reinterpret_cast<const char*>(&value), sizeof value);
        bytes += record;
    }
    return bytes;
}

} // namespace cntk
