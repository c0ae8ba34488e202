// Queues all work of a GPU in one stream, and keeps track of what can be captured.
#include "Common/Error.h"
#include "Math/Gpu/GpuContext.h"
#include "Math/Gpu/GpuRecorder.h"

#include <algorithm>
#include <cstring>

namespace cntk
{

GpuContext::GpuContext(GpuRuntime& runtime, const std::string& device, int multiprocessors)
    : m_runtime(runtime), m_owned(runtime), m_stream(m_owned.stream), m_multiprocessors(size_t(multiprocessors)),
      m_memory(runtime, device), m_staging(runtime, m_stream), m_transfers(runtime, m_memory, m_stream)
{
    m_memory.SetReserve([this] { FreeReserve(); });
}

// Waits, because queued work may still use the memory.
GpuContext::~GpuContext()
{
    try
    {
        m_runtime.Synchronize(m_stream);
    }
    catch (const std::exception&)
    {
        // The failure has been reported, or no longer matters.
    }
    m_masks.Free(m_memory);
}

void GpuContext::Upload(void* destination, const void* host, size_t bytes)
{
    NoteObstacle("the host uploads data for it");
    if (m_repeats || bytes == 0)
        return;
    if (bytes < GpuTransfers::c_leastBytes)
        m_staging.Upload(destination, host, bytes);
    else
        m_transfers.Upload(destination, host, bytes);
}

void GpuContext::Download(void* host, const void* source, size_t bytes)
{
    NoteObstacle("the host waits for its results");
    if (m_repeats)
        Fail(ErrorKind::Internal, "results are downloaded while a CUDA graph is launched again");
    m_runtime.CopyToHost(host, source, bytes, m_stream);
}

void GpuContext::Synchronize()
{
    NoteObstacle("the host waits for it");
    m_runtime.Synchronize(m_stream);
}

void GpuContext::Copy(void* destination, const void* source, size_t bytes)
{
    if (!m_repeats && bytes > 0) // CUDA does not document how it captures a copy of no bytes
        m_runtime.Copy(destination, source, bytes, m_stream);
}

void GpuContext::Zero(void* destination, size_t bytes)
{
    if (!m_repeats && bytes > 0)
        m_runtime.Zero(destination, bytes, m_stream);
}

// ---- masks ----------------------------------------------------------------------------------------------------------

bool GpuMasks::Holds(const Mask& mask, std::span<const uint8_t> part)
{
    if (part.data() < mask.host || part.data() + part.size() > mask.host + mask.copy.size())
        return false;
    return std::memcmp(part.data(), mask.copy.data() + (part.data() - mask.host), part.size()) == 0;
}

const GpuMasks::Mask* GpuMasks::FindWhole(std::span<const uint8_t> mask) const
{
    for (const Mask& known : m_masks)
        if (Holds(known, mask))
            return &known;
    return nullptr;
}

const uint8_t* GpuMasks::Find(std::span<const uint8_t> mask) const
{
    const Mask* const whole = FindWhole(mask);
    return whole != nullptr ? whole->onDevice + (mask.data() - whole->host) : nullptr;
}

GpuMasks::Mask* GpuMasks::Expect(std::span<const uint8_t> mask, GpuAllocator& memory)
{
    if (mask.empty())
        return nullptr;
    for (Mask& known : m_masks)
        if (std::ranges::equal(known.copy, mask))
        {
            known.host = mask.data();
            return nullptr;
        }
    Mask& oldest = m_masks[m_next];
    m_next = (m_next + 1) % m_masks.size();
    if (oldest.room < mask.size())
    {
        memory.Free(oldest.onDevice);
        oldest.onDevice = nullptr;
        oldest.room = 0;
        oldest.onDevice = static_cast<uint8_t*>(memory.Allocate(mask.size()));
        oldest.room = mask.size();
    }
    oldest.copy.assign(mask.begin(), mask.end());
    oldest.host = mask.data();
    return &oldest;
}

void GpuMasks::Free(GpuAllocator& memory) noexcept
{
    for (const Mask& mask : m_masks)
        memory.Free(mask.onDevice);
}

void GpuContext::ExpectMask(std::span<const uint8_t> mask)
{
    if (m_recording != nullptr)
        return;
    // Not an obstacle: graphs have masks of their own.
    if (GpuMasks::Mask* const added = m_masks.Expect(mask, m_memory))
        m_staging.Upload(added->onDevice, mask.data(), mask.size());
}

const uint8_t* GpuContext::MaskOnDevice(std::span<const uint8_t> mask)
{
    if (mask.empty() || m_repeats)
        return nullptr;
    if (IsRecording())
        return m_recording->MaskOnDevice(mask, m_masks);
    if (m_masks.Find(mask) == nullptr)
        ExpectMask(mask);
    return m_masks.Find(mask);
}

// ---- CUDA graphs ----------------------------------------------------------------------------------------------------

void GpuContext::NoteObstacle(const char* why)
{
    if (m_repeats)
        return;
    ++m_obstacles;
    m_lastObstacle = why;
    if (IsRecording())
        Fail(ErrorKind::Device, "work of the GPU cannot be recorded: ", why);
}

const void* GpuContext::ChangingBytes(const void* argument, size_t bytes)
{
    if (m_recording == nullptr)
        return nullptr;
    return m_recording->TakeArgument(argument, bytes, m_repeats);
}

void GpuContext::NoteAllocation()
{
    ++m_memoryChanges;
    if (IsRecording())
        NoteObstacle("it allocates memory");
}

// Their work can still be launched kernel by kernel.
void GpuContext::FreeReserve()
{
    if (m_reserve.empty())
        return;
    ++m_memoryChanges;
    for (GpuRecording* const recording : m_reserve)
        recording->FreeMemory();
    m_reserve.clear();
}

void GpuContext::BeginRecording(GpuRecording& recording)
{
    m_recording = &recording;
    m_memory.SetScratch(&recording.Scratch());
}

void GpuContext::EndRecording() noexcept
{
    m_memory.SetScratch(nullptr);
    m_recording = nullptr;
}

void GpuContext::BeginRepeat(GpuRecording& recording)
{
    m_recording = &recording;
    m_repeats = true;
}

void GpuContext::EndRepeat() noexcept
{
    m_recording = nullptr;
    m_repeats = false;
}

} // namespace cntk
