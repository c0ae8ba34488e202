// Base of devices that compute in host memory: aligned memory and plain copies.
#pragma once

#include "Math/Device.h"

#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cntk
{

// Host memory that medium-sized matrices share in large pages. A time step of a recurrent network touches a little of
// many matrices; with ordinary pages almost every access would miss the address cache. May be called by any thread.
class LargePages
{
public:
    // The sizes of pieces: smaller ones are not worth it, and larger ones get pages of their own.
    static constexpr size_t c_leastBytes = size_t(64) << 10;
    static constexpr size_t c_pageBytes = size_t(2) << 20;

    LargePages() = default;
    LargePages(const LargePages&) = delete;
    LargePages& operator=(const LargePages&) = delete;
    ~LargePages();

    // Returns memory aligned to a cache line, or null.
    void* Allocate(size_t bytes);
    // Returns false if the memory was not allocated here.
    bool Free(void* memory) noexcept;
    size_t Chunks() const { return m_chunks.size(); }

private:
    // Successive pages. Only pages that have been touched use memory.
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

class HostDevice : public Device
{
public:
    DeviceId Id() const override { return c_cpuDevice; }
    void* Allocate(size_t bytes) override;
    void Free(void* memory) noexcept override;
    void CopyFromHost(void* destination, const void* host, size_t bytes) override;
    void CopyToHost(void* host, const void* source, size_t bytes) override;
    void Copy(void* destination, const void* source, size_t bytes) override;
    void Zero(void* destination, size_t bytes) override;
    void Synchronize() override {}
    bool IsHostMemory() const override { return true; }

private:
    LargePages m_pages;
};

} // namespace cntk
