// The offsets of the sequences of a file in CNTK text format, found in one pass over the text. Keeps eight bytes per
// sequence; holds one piece of the text in memory.
#pragma once

#include "Common/DataFile.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cntk
{

class CtfIndex
{
public:
    struct Sequence
    {
        uint32_t offset = 0;  // of its text in its chunk
        uint32_t samples = 0; // number of its rows
    };
    // Consecutive sequences that are read and shuffled together.
    struct Chunk
    {
        size_t offset = 0; // in the file
        size_t bytes = 0;
        size_t firstSequence = 0;
        size_t sequences = 0;
        size_t samples = 0;
    };

    // Fails (Data) if the file is missing, empty, or no text of one byte a character. skipIds: every row is a sequence.
    CtfIndex(const std::string& path, bool skipIds, size_t chunkBytes);

    const std::vector<Chunk>& Chunks() const { return m_chunks; }
    const std::vector<Sequence>& Sequences() const { return m_sequences; }
    size_t Samples() const { return m_samples; }
    bool HasIds() const { return m_hasIds; }
    const PiecewiseFile& File() const { return m_file; }

    // The text of a sequence: its first byte in the chunk, and its size in bytes.
    size_t OffsetOf(const Chunk& chunk, size_t sequence) const;
    size_t BytesOf(const Chunk& chunk, size_t sequence) const;

    // Returns the 1-based line of an offset. Reads the file from the previous offset on, or from its start; for
    // messages.
    size_t LineOf(size_t offset) const;

private:
    void Scan(size_t begin, bool skipIds);
    void BeginSequence(size_t offset);
    void EndSequence(size_t end);

    DataFile m_file;
    size_t m_chunkBytes;
    bool m_hasIds = false;
    std::vector<Sequence> m_sequences;
    std::vector<Chunk> m_chunks;
    size_t m_samples = 0;

    // The sequence that is being scanned.
    bool m_isOpen = false;
    size_t m_begin = 0;
    size_t m_rows = 0;

    mutable LineCounter m_lines;
};

} // namespace cntk
