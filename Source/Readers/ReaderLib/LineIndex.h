// A mapped text file as a sequence of records, one a line; blank lines are none. Records are found as far as they are
// asked for, so that an epoch of a huge file does not read all of it. Every eighth record's place is kept.
#pragma once

#include "Common/File.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class LineIndex
{
public:
    // Fails (Data) if the file is missing or empty.
    explicit LineIndex(const std::string& path);

    // Finds records until there are `wanted` or the file ends. Returns how many are known.
    size_t Extend(size_t wanted);
    size_t Known() const { return m_known; }
    bool IsComplete() const { return m_next == m_file.Size(); }

    std::string_view Text() const { return m_file.Text(); }
    const std::string& Path() const { return m_file.Path(); }

    // Offset of the first byte of a known record.
    size_t OffsetOf(size_t record) const;
    // Offset of the first line at or after a line's start that is not blank; the file's size if there is none.
    size_t SkipBlankLines(size_t lineStart) const;
    // Offset behind the newline of the line that holds the offset.
    size_t NextLine(size_t offset) const;

    // 1-based number of the line that holds the offset; reads the file from its start, for messages.
    size_t LineNumber(size_t offset) const;

private:
    static constexpr size_t c_stride = 8;

    MappedFile m_file;
    size_t m_known = 0;
    size_t m_next = 0; // where the search goes on: the start of a record, or the end
    std::vector<uint64_t> m_offsets;
};

} // namespace cntk
