// Rounding leaves few sizes, so that each minibatch reuses the memory of the previous one.
#include "Common/Error.h"
#include "Math/Device.h"
#include "Math/Gpu/GpuAllocator.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace cntk
{

GpuAllocator::~GpuAllocator()
{
    Trim();
}

size_t GpuAllocator::Rounded(size_t bytes)
{
    constexpr size_t least = 512;
    const size_t step = std::max(least, std::bit_floor(std::max<size_t>(bytes, 1)) / 8);
    return std::max<size_t>((bytes + step - 1) / step, 1) * step;
}

void* GpuAllocator::TakeKept(std::map<size_t, std::vector<void*>>& kept, size_t bytes)
{
    const auto found = kept.find(bytes);
    if (found == kept.end() || found->second.empty())
        return nullptr;
    void* const memory = found->second.back();
    found->second.pop_back();
    m_keptBytes -= bytes;
    m_usedBytes += bytes;
    return memory;
}

void* GpuAllocator::Allocate(size_t bytes)
{
    const size_t rounded = Rounded(bytes);
    void* memory = m_scratch != nullptr ? TakeKept(m_scratch->kept, rounded) : nullptr;
    if (memory != nullptr)
        return memory;
    memory = TakeKept(m_kept, rounded);
    if (memory != nullptr)
    {
        if (m_scratch != nullptr)
            m_scratch->all.insert(memory);
        return memory;
    }
    memory = rounded >= bytes ? m_runtime.Allocate(rounded) : nullptr;
    if (memory == nullptr && rounded >= bytes && !m_isRecording)
        memory = AllocateAfterTrim(rounded);
    if (memory == nullptr)
    {
        size_t freeBytes = 0;
        size_t totalBytes = 0;
        m_runtime.MemoryInfo(freeBytes, totalBytes);
        throw OutOfMemory(Concat(m_device, " is out of memory: ", bytes, " bytes were asked for, ", freeBytes,
                                 " are free of ", totalBytes, ", ", m_usedBytes, " are in use by this program"),
                          freeBytes);
    }
    if (m_scratch != nullptr)
        m_scratch->all.insert(memory);
    m_sizes.emplace(memory, rounded);
    m_kept[rounded]; // so that Free does not allocate
    m_usedBytes += rounded;
    return memory;
}

void* GpuAllocator::AllocateAfterTrim(size_t rounded)
{
    void* memory = nullptr;
    if (m_keptBytes > 0)
    {
        Trim();
        memory = m_runtime.Allocate(rounded);
    }
    if (memory != nullptr || !m_freeReserve)
        return memory;
    m_freeReserve();
    if (m_keptBytes == 0)
        return nullptr;
    Trim();
    return m_runtime.Allocate(rounded);
}

void* GpuAllocator::AllocateOutsideScratch(size_t bytes)
{
    GpuScratch* const scratch = std::exchange(m_scratch, nullptr);
    try
    {
        void* const memory = Allocate(bytes);
        m_scratch = scratch;
        return memory;
    }
    catch (...)
    {
        m_scratch = scratch;
        throw;
    }
}

// Memory that the graph keeps counts as used.
void GpuAllocator::SetScratch(GpuScratch* scratch) noexcept
{
    if (m_scratch != nullptr)
    {
        for (const auto& [bytes, blocks] : m_scratch->kept)
        {
            m_keptBytes -= bytes * blocks.size();
            m_usedBytes += bytes * blocks.size();
        }
        m_scratch->kept.clear();
    }
    m_scratch = scratch;
    m_isRecording = scratch != nullptr;
}

void GpuAllocator::Free(void* memory) noexcept
{
    if (memory == nullptr)
        return;
    const size_t bytes = m_sizes.find(memory)->second;
    const bool isScratch = m_scratch != nullptr && m_scratch->all.contains(memory);
    (isScratch ? m_scratch->kept[bytes] : m_kept.find(bytes)->second).push_back(memory);
    m_usedBytes -= bytes;
    m_keptBytes += bytes;
}

void GpuAllocator::Trim()
{
    for (auto& [bytes, blocks] : m_kept)
    {
        for (void* memory : blocks)
        {
            m_sizes.erase(memory);
            m_runtime.Free(memory);
        }
        blocks.clear();
    }
    m_keptBytes = 0;
}

} // namespace cntk
