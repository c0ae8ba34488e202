// The order of all work of a GPU, and what can be recorded of it.
#include "Common/Error.h"
#include "Math/Gpu/GpuContext.h"
#include "Math/Gpu/GpuRecorder.h"

namespace cntk
{

GpuContext::GpuContext(GpuRuntime& runtime, const std::string& device, int multiprocessors)
    : m_runtime(runtime), m_owned(runtime), m_stream(m_owned.stream), m_multiprocessors(size_t(multiprocessors)),
      m_memory(runtime, device), m_staging(runtime, m_stream), m_transfers(runtime, m_memory, m_stream)
{
    m_memory.SetReserve([this] { FreeReserve(); });
}

// Nothing may still be running on memory that is given back.
GpuContext::~GpuContext()
{
    try
    {
        m_runtime.Synchronize(m_stream);
    }
    catch (const std::exception&)
    {
        // What failed has been reported, or will never matter.
    }
    m_masks.Free(m_memory);
}

void GpuContext::Upload(void* destination, const void* host, size_t bytes)
{
    NoteObstacle("the host gives numbers for it");
    if (m_repeats || bytes == 0)
        return;
    if (bytes < GpuTransfers::c_leastBytes)
        m_staging.Upload(destination, host, bytes);
    else
        m_transfers.Upload(destination, host, bytes);
}

void GpuContext::Download(void* host, const void* source, size_t bytes)
{
    NoteObstacle("the host waits for its numbers");
    if (m_repeats)
        Fail(ErrorKind::Internal, "recorded work is asked for results while it is repeated");
    m_runtime.CopyToHost(host, source, bytes, m_stream);
}

void GpuContext::Synchronize()
{
    NoteObstacle("the host waits for it");
    m_runtime.Synchronize(m_stream);
}

void GpuContext::Copy(void* destination, const void* source, size_t bytes)
{
    if (!m_repeats && bytes > 0) // what a recording makes of nothing is not said
        m_runtime.Copy(destination, source, bytes, m_stream);
}

void GpuContext::Zero(void* destination, size_t bytes)
{
    if (!m_repeats && bytes > 0)
        m_runtime.Zero(destination, bytes, m_stream);
}

// ---- masks ----------------------------------------------------------------------------------------------------------

void GpuContext::ExpectMask(std::span<const uint8_t> mask)
{
    if (m_recording != nullptr)
        return;
    // No obstacle: recorded work brings masks of its own.
    if (GpuMasks::Mask* const added = m_masks.Expect(mask, m_memory))
        m_staging.Upload(added->there, mask.data(), mask.size());
}

const uint8_t* GpuContext::MaskThere(std::span<const uint8_t> mask)
{
    if (mask.empty() || m_repeats)
        return nullptr;
    if (IsRecording())
        return m_recording->MaskThere(mask, m_masks);
    if (m_masks.Find(mask) == nullptr)
        ExpectMask(mask);
    return m_masks.Find(mask);
}

// ---- recorded work --------------------------------------------------------------------------------------------------

void GpuContext::NoteObstacle(const char* why)
{
    if (m_repeats)
        return;
    ++m_obstacles;
    m_lastObstacle = why;
    if (IsRecording())
        Fail(ErrorKind::Device, "work of the GPU cannot be recorded: ", why);
}

const void* GpuContext::ChangingBytes(const void* numbers, size_t bytes)
{
    if (m_recording == nullptr)
        return nullptr;
    return m_recording->TakeNumbers(numbers, bytes, m_repeats);
}

void GpuContext::NoteAllocation()
{
    ++m_memoryChanges;
    if (IsRecording())
        NoteObstacle("it allocates memory");
}

// Nothing is lost: the work can be done step by step.
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
