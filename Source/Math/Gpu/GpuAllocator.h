// Memory of one GPU, cached for reuse.
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

// Temporary memory of a CUDA graph. It belongs to the graph, which may run again at any time.
struct GpuScratch
{
    std::unordered_set<void*> all;
    std::map<size_t, std::vector<void*>> kept; // not used by the operation that is being captured
};

// Allocates in sizes rounded up by at most an eighth, and caches freed memory. Freed memory is given out at once, while
// work of its last owner may still be queued. So it serves one stream; other streams must wait for an event first
// (GpuTransfers). Not thread-safe.
class GpuAllocator
{
public:
    GpuAllocator(GpuRuntime& runtime, std::string device) : m_runtime(runtime), m_device(std::move(device)) {}
    ~GpuAllocator();
    GpuAllocator(const GpuAllocator&) = delete;
    GpuAllocator& operator=(const GpuAllocator&) = delete;

    // Fails (kind Device) with the requested, free and used bytes.
    void* Allocate(size_t bytes);
    void Free(void* memory) noexcept;
    // During a capture, allocates from and frees to this scratch memory. Null ends that.
    void SetScratch(GpuScratch* scratch) noexcept;
    void* AllocateOutsideScratch(size_t bytes);
    // Returns unused memory to the device.
    void Trim();
    // Called when memory runs out even after Trim, to free optional memory.
    void SetReserve(std::function<void()> freeReserve) { m_freeReserve = std::move(freeReserve); }

    size_t UsedBytes() const { return m_usedBytes; }
    size_t KeptBytes() const { return m_keptBytes; } // not in use

    static size_t Rounded(size_t bytes);

private:
    void* TakeKept(std::map<size_t, std::vector<void*>>& kept, size_t bytes);
    void* AllocateAfterTrim(size_t rounded);

    GpuRuntime& m_runtime;
    std::string m_device;
    std::unordered_map<void*, size_t> m_sizes;   // of all blocks, used and unused
    std::map<size_t, std::vector<void*>> m_kept; // by size
    size_t m_usedBytes = 0;
    size_t m_keptBytes = 0;
    std::function<void()> m_freeReserve;
    GpuScratch* m_scratch = nullptr;
    bool m_isRecording = false; // during a capture memory cannot be freed
};

} // namespace cntk
