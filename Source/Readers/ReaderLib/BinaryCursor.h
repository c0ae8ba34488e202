// Reads a binary file of little-endian numbers. Checks each number against the end of the file. Error messages name the
// file, the record and the byte, the expected value and the value found.
#pragma once

#include "Common/Error.h"
#include "Common/File.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace cntk
{

class BinaryCursor
{
public:
    explicit BinaryCursor(const PiecewiseFile& file) : m_file(file) {}

    // Moves to a byte. unit, number: the item that begins there, for messages ("record", 3); unit must be a literal.
    // The byte may lie after the end of the file; then the next read fails.
    void Enter(const char* unit, size_t number, size_t position);
    size_t Position() const { return m_position; }
    size_t Left() const { return m_position < m_file.Size() ? m_file.Size() - m_position : 0; }

    // what: the item, for messages ("the number of rows").
    template <class Number>
    Number Take(const char* what)
    {
        Number number;
        std::memcpy(&number, Need(sizeof number, what), sizeof number);
        return number;
    }
    // Reads a Number that must lie within [least, most].
    template <class Number>
    size_t TakeCount(const char* what, size_t least, size_t most)
    {
        const size_t position = m_position;
        const auto number = Take<Number>(what);
        if (number < 0 || size_t(number) < least || size_t(number) > most)
            FailAtByte(position, Concat("expected ", what, ", a number of ", least, " to ", most, ", found ", number));
        return size_t(number);
    }
    // Appends numbers that the file stores as `Stored`.
    template <class Stored, class Number>
    void Append(std::vector<Number>& numbers, size_t count, const char* what)
    {
        // Reads in pieces: a wrong count then fails at the end of the file, before it exhausts the memory.
        for (size_t done = 0; done < count;)
        {
            const size_t some = std::min(count - done, c_piece / sizeof(Stored));
            const char* bytes = Need(some * sizeof(Stored), what);
            const size_t first = numbers.size();
            numbers.resize(first + some);
            for (size_t i = 0; i < some; ++i)
            {
                Stored number;
                std::memcpy(&number, bytes + i * sizeof number, sizeof number);
                numbers[first + i] = Number(number);
            }
            done += some;
        }
    }
    // Appends values of 4 or 8 bytes. Fails at NaN and infinite values: their effect on a model would show much later.
    template <class Number>
    void AppendValues(std::vector<Number>& values, size_t count, size_t valueBytes, const char* what)
    {
        const size_t first = values.size(), position = m_position;
        if (valueBytes == sizeof(float))
            Append<float>(values, count, what);
        else
            Append<double>(values, count, what);
        for (size_t i = 0; i < count; ++i)
        {
            if (!std::isfinite(values[first + i]))
                FailAtByte(position + i * valueBytes,
                           Concat("expected ", what, ", finite numbers, found ", values[first + i]));
        }
    }
    void Skip(size_t count, size_t bytesEach, const char* what);
    std::string TakeText(size_t bytes, const char* what);

    // Fails with "'data.bin', record 3, byte 120: text".
    [[noreturn]] void FailAtByte(size_t position, const std::string& text) const;
    // Sets a hint that is appended to each later message.
    void SetHint(std::string hint) { m_hint = std::move(hint); }

private:
    static constexpr size_t c_piece = 1 << 18;

    // Returns the next bytes of the file; fails if the file has fewer.
    const char* Need(size_t bytes, const char* what);

    const PiecewiseFile& m_file;
    size_t m_position = 0;
    const char* m_unit = nullptr;
    size_t m_number = 0;
    std::string m_hint;
    std::vector<char> m_window; // bytes of the file from m_windowBegin
    size_t m_windowBegin = 0;
    size_t m_windowBytes = 0;
};

} // namespace cntk
