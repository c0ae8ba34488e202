// The lines of a text file one after the other, one piece of the text in memory at a time.
#pragma once

#include "Readers/ReaderLib/DataFile.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class LineReader
{
public:
    // Fails (Data) if the file is missing or empty, or plainly no lines of ASCII or UTF-8 (BeginOfText).
    explicit LineReader(const std::string& path);

    // The next line without its end; false at the end of the file. Valid until the next call.
    bool Next(std::string_view& line);
    void Rewind();

    const std::string& Path() const { return m_file.Path(); }
    // 1-based number of the line that Next gave last.
    size_t LineNumber() const { return m_lineNumber; }
    // "train.txt:3:7", for a part of the line that Next gave last.
    std::string Location(std::string_view part) const;

private:
    DataFile m_file;
    size_t m_textBegin; // behind a byte order mark
    std::unique_ptr<char[]> m_buffer;
    size_t m_capacity = 0;
    size_t m_begin = 0; // the text not yet given: bytes [m_begin, m_end) of the buffer
    size_t m_end = 0;
    size_t m_offset = 0; // in the file, of the byte behind the buffer's
    size_t m_lineNumber = 0;
    std::string_view m_line;
};

// Tokens of a line, separated by blanks, tabs and carriage returns. tokens is cleared first.
void SplitTokens(std::string_view line, std::vector<std::string_view>& tokens);

} // namespace cntk
