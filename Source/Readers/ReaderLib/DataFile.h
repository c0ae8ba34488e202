// The file of data that a reader's block names, and the numbers of its lines for messages.
#pragma once

#include "Common/File.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace cntk
{

constexpr std::string_view c_byteOrderMark = "\xEF\xBB\xBF";

// The path. Fails (Data) if there is no such file.
const std::string& RequireDataFile(const std::string& path);

// A file of data: opening it fails (Data) if it is missing or empty.
class DataFile final : public PiecewiseFile
{
public:
    explicit DataFile(const std::string& path);
};

// Where words may be any, zero bytes are refused: UTF-16 without a mark. A grammar of numbers finds those that matter
// by itself, and may tolerate them (maxErrors).
enum class ZeroBytes
{
    Refused,
    LeftToTheParser
};

// Where the lines of a text begin: behind a byte order mark. Fails (Data) where the file's first bytes are plainly not
// lines of ASCII or UTF-8: UTF-16, a compressed file, carriage returns alone.
size_t BeginOfText(const PiecewiseFile& file, ZeroBytes zeroBytes);

// Finds the line of an offset by counting newlines: from the place asked for last, or from the start of the file. For
// messages.
class LineCounter
{
public:
    size_t LineOf(const PiecewiseFile& file, size_t offset); // 1-based

private:
    size_t m_offset = 0; // newlines before this offset
    size_t m_newlines = 0;
};

} // namespace cntk
