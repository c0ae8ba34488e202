// One pass over the text finds rows, their ids, sequences and chunks.
#include "Readers/CNTKTextFormatReader/CtfIndex.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

namespace cntk
{
namespace
{

constexpr size_t c_pieceBytes = size_t(1) << 20;

} // namespace

CtfIndex::CtfIndex(const std::string& path, bool skipIds, size_t chunkBytes) : m_file(path), m_chunkBytes(chunkBytes)
{
    Scan(BeginOfText(m_file, ZeroBytes::LeftToTheParser), skipIds);
    m_sequences.shrink_to_fit();
    if (m_sequences.empty())
        Fail(ErrorKind::Data, "data file '", path, "' has no rows");
}

void CtfIndex::BeginSequence(size_t offset)
{
    if (m_isOpen)
        EndSequence(offset);
    m_isOpen = true;
    m_begin = offset;
    m_rows = 0;
}

void CtfIndex::EndSequence(size_t end)
{
    if (m_rows > UINT32_MAX)
        Fail(ErrorKind::Data, m_file.Path(), ":", LineOf(m_begin), ": a sequence of ", m_rows,
             " rows is too long; at most ", UINT32_MAX, " rows can be in one");
    const size_t bytes = end - m_begin;
    if (m_chunks.empty() || m_chunks.back().bytes + bytes > m_chunkBytes)
        m_chunks.push_back({m_begin, 0, m_sequences.size(), 0, 0});
    Chunk& chunk = m_chunks.back();
    m_sequences.push_back({uint32_t(m_begin - chunk.offset), uint32_t(m_rows)});
    chunk.bytes = end - chunk.offset;
    ++chunk.sequences;
    chunk.samples += m_rows;
    m_samples += m_rows;
}

void CtfIndex::Scan(size_t begin, bool skipIds)
{
    enum class At
    {
        Line, // at its first character
        Id,   // within its id, which may continue in the next piece
        Rest  // after the id, up to the newline
    };
    At state = At::Line;
    size_t lineStart = begin;
    bool isFirst = true;
    uint64_t id = 0;
    uint64_t lastId = 0;
    const auto buffer = std::make_unique_for_overwrite<char[]>(c_pieceBytes);
    // Adds a row when its id ends. A row begins a sequence if its id differs from the previous row's, or if ids do not
    // count, which the first row decides. A row without an id continues the sequence.
    const auto addRow = [&](std::optional<uint64_t> rowId)
    {
        if (isFirst)
            m_hasIds = rowId && !skipIds;
        const bool isNew = m_hasIds ? rowId && *rowId != lastId : true;
        if (isFirst || isNew)
            BeginSequence(isFirst ? begin : lineStart);
        if (rowId)
            lastId = *rowId;
        isFirst = false;
        ++m_rows;
    };
    for (size_t offset = begin; offset < m_file.Size();)
    {
        const size_t bytes = std::min(c_pieceBytes, m_file.Size() - offset);
        m_file.Read(offset, buffer.get(), bytes);
        const char* at = buffer.get();
        const char* const end = at + bytes;
        while (at < end)
        {
            if (state == At::Line)
            {
                lineStart = offset + size_t(at - buffer.get());
                id = 0;
                state = IsDigit(*at) ? At::Id : At::Rest;
                if (state == At::Rest)
                    addRow(std::nullopt);
            }
            if (state == At::Id)
            {
                for (; at < end && IsDigit(*at); ++at)
                {
                    const auto digit = uint64_t(*at - '0');
                    if (id > (UINT64_MAX - digit) / 10)
                        Fail(ErrorKind::Data, m_file.Path(), ":", LineOf(lineStart),
                             ": the sequence id is too large, expected a number below 2^64");
                    id = id * 10 + digit;
                }
                if (at == end)
                    break;
                addRow(id);
                state = At::Rest;
            }
            const void* newline = std::memchr(at, '\n', size_t(end - at));
            if (newline == nullptr)
                break;
            at = static_cast<const char*>(newline) + 1;
            state = At::Line;
        }
        offset += bytes;
    }
    if (state == At::Id)
        addRow(id);
    if (m_isOpen)
        EndSequence(m_file.Size());
}

size_t CtfIndex::OffsetOf(const Chunk& chunk, size_t sequence) const
{
    return m_sequences[chunk.firstSequence + sequence].offset;
}

size_t CtfIndex::BytesOf(const Chunk& chunk, size_t sequence) const
{
    const size_t end = sequence + 1 < chunk.sequences ? OffsetOf(chunk, sequence + 1) : chunk.bytes;
    return end - OffsetOf(chunk, sequence);
}

size_t CtfIndex::LineOf(size_t offset) const
{
    return m_lines.LineOf(m_file, offset);
}

} // namespace cntk
