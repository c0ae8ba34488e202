// Memory of a GPU and the way there.
#include "Common/Error.h"
#include "Math/Gpu/GpuContext.h"
#include "Math/OutOfMemory.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cntk
{

// ---- memory ---------------------------------------------------------------------------------------------------------

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

void* GpuAllocator::Allocate(size_t bytes)
{
    const size_t rounded = Rounded(bytes);
    void* memory = nullptr;
    if (const auto kept = m_kept.find(rounded); kept != m_kept.end() && !kept->second.empty())
    {
        memory = kept->second.back();
        kept->second.pop_back();
        m_keptBytes -= rounded;
        m_usedBytes += rounded;
        return memory;
    }
    memory = rounded >= bytes ? m_runtime.Allocate(rounded) : nullptr;
    if (memory == nullptr && m_keptBytes > 0)
    {
        Trim();
        memory = m_runtime.Allocate(rounded);
    }
    if (memory == nullptr)
    {
        size_t freeBytes = 0;
        size_t totalBytes = 0;
        m_runtime.MemoryInfo(freeBytes, totalBytes);
        throw OutOfMemory(Concat(m_device, " is out of memory: ", bytes, " bytes were asked for, ", freeBytes,
                                 " are free of ", totalBytes, ", ", m_usedBytes, " are in use by this program"),
                          freeBytes);
    }
    m_sizes.emplace(memory, rounded);
    m_kept[rounded]; // so that Free need not make it
    m_usedBytes += rounded;
    return memory;
}

void GpuAllocator::Free(void* memory) noexcept
{
    if (memory == nullptr)
        return;
    const size_t bytes = m_sizes.find(memory)->second;
    m_kept.find(bytes)->second.push_back(memory);
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

// ---- from the host --------------------------------------------------------------------------------------------------

GpuStaging::GpuStaging(GpuRuntime& runtime, GpuStream stream)
    : m_runtime(runtime), m_stream(stream), m_pinned(static_cast<std::byte*>(runtime.AllocatePinned(2 * c_halfBytes)))
{
    for (GpuEvent& event : m_events)
        event = runtime.MakeEvent();
}

GpuStaging::~GpuStaging()
{
    for (const GpuEvent event : m_events)
        m_runtime.FreeEvent(event);
    m_runtime.FreePinned(m_pinned);
}

void GpuStaging::Upload(void* destination, const void* host, size_t bytes)
{
    constexpr size_t alignment = 64;
    while (bytes > 0)
    {
        if (m_used == c_halfBytes)
        {
            m_runtime.Record(m_events[m_half], m_stream);
            m_isRecorded[m_half] = true;
            m_half = 1 - m_half;
            m_used = 0;
            if (m_isRecorded[m_half])
                m_runtime.Wait(m_events[m_half]);
        }
        const size_t count = std::min(bytes, c_halfBytes - m_used);
        std::byte* const pinned = m_pinned + m_half * c_halfBytes + m_used;
        std::memcpy(pinned, host, count);
        m_runtime.CopyFromPinned(destination, pinned, count, m_stream);
        m_used = std::min(c_halfBytes, (m_used + count + alignment - 1) / alignment * alignment);
        destination = static_cast<std::byte*>(destination) + count;
        host = static_cast<const std::byte*>(host) + count;
        bytes -= count;
    }
}

// ---- all of it ------------------------------------------------------------------------------------------------------

GpuContext::GpuContext(GpuRuntime& runtime, const std::string& device, int multiprocessors)
    : m_runtime(runtime), m_owned{runtime, runtime.MakeStream()}, m_stream(m_owned.stream),
      m_multiprocessors(size_t(multiprocessors)), m_memory(runtime, device), m_staging(runtime, m_stream)
{
}

// Nothing may still be running on memory that is given back.
GpuContext::~GpuContext()
{
    try
    {
        m_runtime.Synchronize(m_stream);
    }
    catch (const Error&)
    {
        // What failed has been reported, or will never matter.
    }
}

void GpuContext::Download(void* host, const void* source, size_t bytes)
{
    m_runtime.CopyToHost(host, source, bytes, m_stream);
}

} // namespace cntk
