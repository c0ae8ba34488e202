// Data files and lists that a reader's block names: opening them, reading their lines, and line numbers for messages.
#pragma once

#include "Common/File.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

constexpr std::string_view c_byteOrderMark = "\xEF\xBB\xBF";

// Returns the path. Fails (Data) if the file does not exist. what: the kind of file, for the message.
const std::string& RequireDataFile(const std::string& path, const char* what = "data file");

// Fails (Data) if the file is missing or empty.
class DataFile final : public PiecewiseFile
{
public:
    explicit DataFile(const std::string& path);
};

// Texts of words refuse zero bytes, which show UTF-16 without a mark. A parser of numbers finds the zero bytes that
// matter by itself, and may tolerate them (maxErrors).
enum class ZeroBytes
{
    Refused,
    LeftToTheParser
};

// Returns the offset of the first line, after a byte order mark. Fails (Data) if the first bytes of the file show
// that it has no lines of ASCII or UTF-8: UTF-16, a compressed file, carriage returns without newlines.
size_t BeginOfText(const PiecewiseFile& file, ZeroBytes zeroBytes);

// Finds the line of an offset by counting newlines, from the previous offset on if that is smaller. For messages.
class LineCounter
{
public:
    size_t LineOf(const PiecewiseFile& file, size_t offset); // 1-based

private:
    size_t m_offset = 0; // newlines before this offset
    size_t m_newlines = 0;
};

// The lines of a text file in order. Holds one piece of the file in memory.
class LineReader
{
public:
    // A data file: fails (Data) if it is missing, empty, or no text (BeginOfText).
    explicit LineReader(const std::string& path);
    // A list of HTK, such as a "script file": it may be empty, and a CR alone ends a line too. what: the kind of file,
    // for messages.
    LineReader(const std::string& path, const char* what);

    // The next line without its end; false at the end of the file. Valid until the next call.
    bool Next(std::string_view& line);
    void Rewind();

    const std::string& Path() const { return m_file.Path(); }
    // 1-based number of the line that Next returned last.
    size_t LineNumber() const { return m_lineNumber; }
    // "train.txt:3"
    std::string Location() const;
    // "train.txt:3:7", for a part of the line that Next returned last.
    std::string Location(std::string_view part) const;

private:
    static constexpr size_t c_unknown = SIZE_MAX;

    void FindNewline();
    void ReadPiece();

    PiecewiseFile m_file;
    bool m_endsAtReturn; // a CR alone ends a line
    size_t m_textBegin;  // after a byte order mark
    std::unique_ptr<char[]> m_buffer;
    size_t m_capacity = 0;
    size_t m_begin = 0; // bytes [m_begin, m_end) of the buffer are the unread text
    size_t m_end = 0;
    size_t m_newline = c_unknown; // the first newline of the unread text; m_end if the file ends without one
    size_t m_offset = 0;          // of m_end in the file
    size_t m_lineNumber = 0;
    std::string_view m_line;
};

// Splits a line at blanks, tabs and carriage returns. Clears tokens first.
void SplitTokens(std::string_view line, std::vector<std::string_view>& tokens);

} // namespace cntk
