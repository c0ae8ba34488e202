// Memory of one GPU that is kept and given out again.
#pragma once

#include "Math/Gpu/GpuRuntime.h"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace cntk
{

// Memory that recorded work uses between its operations: it stays with the work, since nobody knows when it runs again.
struct GpuScratch
{
    std::unordered_set<void*> all;
    std::map<size_t, std::vector<void*>> kept; // not in use by the operation that is being recorded
};

// Memory of a device in sizes rounded up to steps of at most an eighth. What is freed is kept and given out again at
// once, to work that is queued behind that of its last owner: so it is for work of one stream, and whoever lets another
// stream at it waits for that stream's events first (GpuTransfers). Not for several threads.
class GpuAllocator
{
public:
    GpuAllocator(GpuRuntime& runtime, std::string device) : m_runtime(runtime), m_device(std::move(device)) {}
    ~GpuAllocator();
    GpuAllocator(const GpuAllocator&) = delete;
    GpuAllocator& operator=(const GpuAllocator&) = delete;

    // Fails (kind Device) with what was asked for and what there is.
    void* Allocate(size_t bytes);
    void Free(void* memory) noexcept;
    // From now on memory comes from and returns to the scratch of work that is being recorded; null: no longer.
    void SetScratch(GpuScratch* scratch) noexcept;
    void* AllocateBesideScratch(size_t bytes);
    // Gives what is not in use back to the device.
    void Trim();
    // Is asked to free what can be done without where even that is not enough.
    void SetReserve(std::function<void()> freeReserve) { m_freeReserve = std::move(freeReserve); }

    size_t UsedBytes() const { return m_usedBytes; }
    size_t KeptBytes() const { return m_keptBytes; } // not in use

    static size_t Rounded(size_t bytes);

private:
    void* TakeKept(std::map<size_t, std::vector<void*>>& kept, size_t bytes);
    void* AllocateAfterTrim(size_t rounded);

    GpuRuntime& m_runtime;
    std::string m_device;
    std::unordered_map<void*, size_t> m_sizes;   // of all blocks, in use or not
    std::map<size_t, std::vector<void*>> m_kept; // by size
    size_t m_usedBytes = 0;
    size_t m_keptBytes = 0;
    std::function<void()> m_freeReserve;
    GpuScratch* m_scratch = nullptr;
    bool m_isRecording = false; // memory cannot be given back
};

} // namespace cntk
