// Tools for tests of binary readers: the bytes of little-endian numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

template <class Number>
std::string Bytes(Number number)
{
    std::string bytes(sizeof number, '\0');
    std::memcpy(bytes.data(), &number, sizeof number);
    return bytes;
}

inline std::string Int(int64_t number)
{
    return Bytes(int32_t(number));
}

inline std::string Long(int64_t number)
{
    return Bytes(number);
}

// Row and value of each element of a sparse column.
using SparseRow = std::vector<std::pair<int, double>>;

template <class Stored>
std::string ValuesAndRows(const SparseRow& row)
{
    std::string values, rows;
    for (const auto& [index, value] : row)
    {
        values += Bytes(Stored(value));
        rows += Int(index);
    }
    return values + rows;
}

// Encodes an int32 count, the values, the rows.
template <class Stored>
std::string SparseBytes(const SparseRow& row)
{
    return Int(int64_t(row.size())) + ValuesAndRows<Stored>(row);
}

// Returns the text with other bytes at that place.
inline std::string Changed(std::string text, size_t offset, const std::string& bytes)
{
    return text.replace(offset, bytes.size(), bytes);
}

} // namespace cntk
