// A text file as a sequence of records, one a line; blank lines are no records. Finds records only as far as needed, so
// that an epoch of a huge file does not read the whole file. Keeps the offset of every eighth record (one byte a
// record) and one piece of the text.
#pragma once

#include "Common/DataFile.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// Returns the start of the first line, at or after the line start, that is not blank; the size of the text if there is
// none.
size_t SkipBlankLines(std::string_view text, size_t lineStart);
// Returns the offset after the newline of the line that holds the offset.
size_t NextLine(std::string_view text, size_t offset);

class LineIndex
{
public:
    // Readable bytes after a piece: a newline and zeros at the end of the file, otherwise the following text.
    static constexpr size_t c_padding = 32;

    // Fails (Data) if the file is missing or empty.
    explicit LineIndex(const std::string& path);

    // The text of the first lines: up to one piece, from the first record on. Call before Extend.
    std::string_view FirstLines() { return TextFrom(m_next); }
    // Makes the first line no record: a header. Call before Extend.
    void SkipHeader() { m_next = FindNext(m_next); }

    // Finds records until `wanted` are known or the file ends. Returns the number of known records.
    size_t Extend(size_t wanted);
    size_t Known() const { return m_known; }
    bool IsComplete() const { return m_next == m_file.Size(); }

    size_t FileBytes() const { return m_file.Size(); }
    const std::string& Path() const { return m_file.Path(); }

    // The text of whole records, one a line, with the blank lines between and after them.
    struct Piece
    {
        std::string_view text; // begins with the first record; valid until the next call of Extend or Read
        size_t offset = 0;     // in the file
        size_t records = 0;
    };
    // Reads records from the known records first .. first+count-1: at least one, and as many as one piece holds.
    Piece Read(size_t first, size_t count);

    // Returns the 1-based number of the line that holds the offset. Reads the file from its start; for messages.
    size_t LineNumber(size_t offset) const;

    // Fails because the text differs from the text that was indexed.
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
    size_t m_next = 0; // start of the next record to index, or the end of the file
    std::vector<uint64_t> m_offsets;

    // The piece in memory: bytes [m_begin, m_end) of the file, and padding.
    std::unique_ptr<char[]> m_buffer;
    size_t m_capacity = 0;
    size_t m_begin = 0;
    size_t m_end = 0;
};

} // namespace cntk
