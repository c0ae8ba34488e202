// The lines of a lattice file from some byte on, and the fields of a line: name=value, separated by blanks.
#pragma once

#include "Common/File.h"

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class SlfLines
{
public:
    SlfLines(const PiecewiseFile& file, size_t offset);

    // The next line that is neither blank nor a comment; false at the end. The line is without its end and valid until
    // the next call.
    bool Next(std::string_view& line);

    // In the file, of the line given last; at the end of the file, behind it.
    size_t Offset() const { return m_lineOffset; }
    // What is behind that.
    size_t BytesLeft() const { return m_file.Size() - m_lineOffset; }
    // A line is longer than any of a lattice, so that it was not read.
    bool IsTooLong() const { return m_isTooLong; }

private:
    bool Fill();
    bool NextOfAny(std::string_view& line);

    const PiecewiseFile& m_file;
    std::string m_buffer;
    size_t m_at = 0; // in the buffer
    size_t m_end;    // in the file, of the buffer
    size_t m_lineOffset;
    bool m_isTooLong = false;
};

struct SlfField
{
    std::string_view name;
    std::string_view value;
    bool hasValue = false;

    // Fields have long and short names.
    bool Is(std::string_view shortName, std::string_view longName) const
    {
        return name == shortName || name == longName;
    }
};

class SlfFields
{
public:
    // False where a quote is not closed; that field is then the last. They are valid as long as the line, and until the
    // next call.
    bool Split(std::string_view line);
    const std::vector<SlfField>& Fields() const { return m_fields; }

private:
    bool TakeQuoted(std::string_view line, size_t& at, std::string_view& value);

    std::vector<SlfField> m_fields;
    std::deque<std::string> m_texts; // values that had escapes
};

} // namespace cntk
