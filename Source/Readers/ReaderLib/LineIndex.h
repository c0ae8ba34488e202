// A text file as a sequence of records, one a line; blank lines are none. Records are found as far as they are asked
// for, so that an epoch of a huge file does not read all of it. Every eighth record's place is kept (one byte a
// record), and one piece of the text at a time is in memory.
#pragma once

#include "Readers/ReaderLib/DataFile.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// The first line at or after a line's start that is not blank; the text's size if there is none.
size_t SkipBlankLines(std::string_view text, size_t lineStart);
// Behind the newline of the line that holds the offset.
size_t NextLine(std::string_view text, size_t offset);

class LineIndex
{
public:
    // Bytes behind a piece that may be read: a newline and zeros where the file ends, else whatever follows.
    static constexpr size_t c_padding = 32;

    // Fails (Data) if the file is missing or empty.
    explicit LineIndex(const std::string& path);

    // Finds records until there are `wanted` or the file ends. Returns how many are known.
    size_t Extend(size_t wanted);
    size_t Known() const { return m_known; }
    bool IsComplete() const { return m_next == m_file.Size(); }

    size_t FileBytes() const { return m_file.Size(); }
    const std::string& Path() const { return m_file.Path(); }

    // Text of whole records, one a line and blank lines between and behind them.
    struct Piece
    {
        std::string_view text; // begins with the first record; valid until the next call of Extend or Read
        size_t offset = 0;     // in the file
        size_t records = 0;
    };
    // As many of the known records first .. first+count-1 as are read in one go: one at least.
    Piece Read(size_t first, size_t count);

    // 1-based number of the line that holds the offset; reads the file from its start, for messages.
    size_t LineNumber(size_t offset) const;

    // The text is not what it was when the records were found.
    [[noreturn]] void FailChanged() const { m_file.FailChanged(); }

private:
    static constexpr size_t c_stride = 8;
    static constexpr size_t c_pieceBytes = size_t(256) << 10;

    std::string_view TextFrom(size_t offset);
    void Load(size_t begin, size_t end);
    size_t SkipBlank(size_t lineStart);
    size_t FindNext(size_t recordStart);

    DataFile m_file;
    size_t m_known = 0;
    size_t m_next = 0; // where the search goes on: the start of a record, or the end
    std::vector<uint64_t> m_offsets;

    // The piece in memory: bytes [m_begin, m_end) of the file and the padding.
    std::unique_ptr<char[]> m_buffer;
    size_t m_capacity = 0;
    size_t m_begin = 0;
    size_t m_end = 0;
};

} // namespace cntk
