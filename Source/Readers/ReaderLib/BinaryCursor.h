// Walks through a binary file of little-endian numbers. Each number is checked against the end of the file; messages
// name the file, the record and the byte, and say what was expected there and what was found.
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

    // Goes to a byte. unit, number: what begins there, for messages ("record", 3); the unit must be a literal. The byte
    // may lie behind the end: what is taken next says so.
    void Enter(const char* unit, size_t number, size_t position);
    size_t Position() const { return m_position; }
    size_t Left() const { return m_position < m_file.Size() ? m_file.Size() - m_position : 0; }

    // what: "the number of rows".
    template <class Number>
    Number Take(const char* what)
    {
        Number number;
        std::memcpy(&number, Need(sizeof number, what), sizeof number);
        return number;
    }
    // A number of type Number that must lie within [least, most].
    template <class Number>
    size_t TakeCount(const char* what, size_t least, size_t most)
    {
        const size_t position = m_position;
        const auto number = Take<Number>(what);
        if (number < 0 || size_t(number) < least || size_t(number) > most)
            FailAtByte(position, Concat("expected ", what, ", a number of ", least, " to ", most, ", found ", number));
        return size_t(number);
    }
    // Appends numbers that are stored as `Stored`.
    template <class Stored, class Number>
    void Append(std::vector<Number>& numbers, size_t count, const char* what)
    {
        // In pieces, so that a wrong count ends at the end of the file and not of the memory.
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
    // The same for values of 4 or 8 bytes, which must be finite: what others do to a model shows much later.
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

    // "'data.bin', record 3, byte 120: text"
    [[noreturn]] void FailAtByte(size_t position, const std::string& text) const;
    // What is said behind each message from now on.
    void SetHint(std::string hint) { m_hint = std::move(hint); }

private:
    static constexpr size_t c_piece = 1 << 18;

    // The next bytes of the file, of which it must have that many.
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
