// Host memory for matrices of some size that lies together in large pages: with ordinary ones a recurrent network,
// whose time step touches a little of many matrices, waits for the address of nearly each page.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cntk
{

// For any thread.
class LargePages
{
public:
    // The least and most bytes of a piece: smaller ones are not worth it, larger ones have pages of their own.
    static constexpr size_t c_leastBytes = size_t(64) << 10;
    static constexpr size_t c_pageBytes = size_t(2) << 20;

    LargePages() = default;
    LargePages(const LargePages&) = delete;
    LargePages& operator=(const LargePages&) = delete;
    ~LargePages();

    // At the boundary of a cache line; null where there is no memory.
    void* Allocate(size_t bytes);
    // False: not from here.
    bool Free(void* memory) noexcept;
    size_t Chunks() const { return m_chunks.size(); }

private:
    // Pages that follow one another, of which only those that were touched take memory.
    struct Chunk
    {
        std::byte* memory = nullptr;
        size_t first = 0;              // offset that pieces begin at
        size_t large = 0;              // bytes that are in large pages
        std::map<size_t, size_t> gaps; // offset and bytes
    };
    struct Piece
    {
        size_t offset = 0;
        size_t bytes = 0;
    };
    static bool Take(Chunk& chunk, size_t bytes, Piece& piece);
    static void GiveBack(Chunk& chunk, Piece piece);

    std::mutex m_mutex;
    std::vector<Chunk> m_chunks;
    std::unordered_map<const void*, Piece> m_pieces;
    size_t m_count = 0; // of pieces so far
};

} // namespace cntk
