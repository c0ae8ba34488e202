// Allocates host memory aligned to cache lines, larger pieces in large pages where the system has them.
#include "Math/Cpu/HostDevice.h"

#include "Common/FreeMemory.h"
#include "Math/Device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sys/mman.h>

namespace cntk
{

namespace
{

constexpr size_t c_lineBytes = 64;
constexpr size_t c_chunkBytes = 8 * LargePages::c_pageBytes;
// Matrices of a network are of the same few sizes, often multiples of a part of a cache in which each place is once (4
// kB of the first level, 64 kB of the second). The same place of each would then share a few lines with that of all
// others, so a piece is longer than it need be: by lines within the former part, or within the latter from some size
// on.
constexpr size_t c_distance = 17 * c_lineBytes;
constexpr size_t c_longDistance = c_distance + 4096;
constexpr size_t c_wayBytes = size_t(64) << 10;
constexpr size_t c_leastLong = size_t(512) << 10;

} // namespace

LargePages::~LargePages()
{
    for (const Chunk& chunk : m_chunks)
        std::free(chunk.memory);
}

bool LargePages::Take(Chunk& chunk, size_t bytes, Piece& piece)
{
    const auto gap =
        std::find_if(chunk.gaps.begin(), chunk.gaps.end(), [&](const auto& one) { return one.second >= bytes; });
    if (gap == chunk.gaps.end())
        return false;
    const auto [offset, size] = *gap;
    chunk.gaps.erase(gap);
    if (size > bytes)
        chunk.gaps[offset + bytes] = size - bytes;
    piece = {offset, bytes};
    return true;
}

void LargePages::GiveBack(Chunk& chunk, Piece piece)
{
    auto after = chunk.gaps.lower_bound(piece.offset);
    if (after != chunk.gaps.end() && after->first == piece.offset + piece.bytes)
    {
        piece.bytes += after->second;
        after = chunk.gaps.erase(after);
    }
    if (after != chunk.gaps.begin())
    {
        const auto before = std::prev(after);
        if (before->first + before->second == piece.offset)
        {
            before->second += piece.bytes;
            return;
        }
    }
    chunk.gaps[piece.offset] = piece.bytes;
}

void* LargePages::Allocate(size_t bytes)
{
    const std::lock_guard lock(m_mutex);
    const size_t distance = bytes < c_leastLong ? c_distance : c_longDistance;
    const size_t rounded = (bytes + c_lineBytes - 1) / c_lineBytes * c_lineBytes + distance;
    Piece piece;
    auto chunk = std::find_if(m_chunks.begin(), m_chunks.end(), [&](Chunk& one) { return Take(one, rounded, piece); });
    if (chunk == m_chunks.end())
    {
        void* const memory = std::aligned_alloc(c_pageBytes, c_chunkBytes);
        if (memory == nullptr)
            return nullptr;
        const size_t begin = m_count * c_longDistance % c_wayBytes; // as if pieces of before were in this chunk
        m_chunks.push_back({static_cast<std::byte*>(memory), begin, 0, {{begin, c_chunkBytes - begin}}});
        chunk = m_chunks.end() - 1;
        Take(*chunk, rounded, piece);
    }
    m_count++;
    // Large only where pieces lie all over the page. A system without large pages says no, which does no harm.
    const size_t used = (piece.offset + rounded) / c_pageBytes * c_pageBytes;
    if (used > chunk->large)
    {
        madvise(chunk->memory + chunk->large, used - chunk->large, MADV_HUGEPAGE);
        chunk->large = used;
    }
    void* const memory = chunk->memory + piece.offset;
    m_pieces[memory] = piece;
    return memory;
}

bool LargePages::Free(void* memory) noexcept
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_pieces.find(memory);
    if (found == m_pieces.end())
        return false;
    const Piece piece = found->second;
    m_pieces.erase(found);
    const auto chunk = std::find_if(m_chunks.begin(), m_chunks.end(),
                                    [&](const Chunk& one) { return one.memory + piece.offset == memory; });
    GiveBack(*chunk, piece);
    if (chunk->gaps.begin()->second == c_chunkBytes - chunk->first)
    {
        std::free(chunk->memory);
        m_chunks.erase(chunk);
    }
    return true;
}

namespace
{

constexpr size_t c_leastAlignment = 64; // of a cache line
constexpr size_t c_largePageBytes = LargePages::c_pageBytes;
// AddressSanitizer detects accesses behind separate allocations only.
#ifdef __SANITIZE_ADDRESS__
constexpr bool c_sharesPages = false;
#else
constexpr bool c_sharesPages = true;
#endif

} // namespace

void* HostDevice::Allocate(size_t bytes)
{
    if (c_sharesPages && bytes >= LargePages::c_leastBytes && bytes < c_largePageBytes)
        if (void* const memory = m_pages.Allocate(bytes))
            return memory;
    // Products walk through a matrix column by column; nearly each step would need another ordinary page.
    const bool isLarge = bytes >= c_largePageBytes;
    const size_t alignment = isLarge ? c_largePageBytes : c_leastAlignment;
    // std::aligned_alloc requires a multiple of the alignment.
    const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* memory = rounded >= bytes ? std::aligned_alloc(alignment, rounded > 0 ? rounded : alignment) : nullptr;
    if (!memory)
    {
        const size_t freeBytes = FreeHostMemory();
        throw OutOfMemory(Concat("out of memory: ", bytes, " bytes were asked for, ", freeBytes, " are free"),
                          freeBytes);
    }
    // Only whole large pages. A system without them refuses, which does no harm.
    if (isLarge)
        madvise(memory, bytes / c_largePageBytes * c_largePageBytes, MADV_HUGEPAGE);
    return memory;
}

void HostDevice::Free(void* memory) noexcept
{
    if (!m_pages.Free(memory))
        std::free(memory);
}

void HostDevice::CopyFromHost(void* destination, const void* host, size_t bytes)
{
    Copy(destination, host, bytes);
}

void HostDevice::CopyToHost(void* host, const void* source, size_t bytes)
{
    Copy(host, source, bytes);
}

void HostDevice::Copy(void* destination, const void* source, size_t bytes)
{
    if (bytes > 0)
        std::memmove(destination, source, bytes);
}

void HostDevice::Zero(void* destination, size_t bytes)
{
    if (bytes > 0)
        std::memset(destination, 0, bytes);
}

} // namespace cntk
