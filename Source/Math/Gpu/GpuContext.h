// What the kernels of one GPU share: its stream, memory, the way from host memory, and what is recorded.
#pragma once

#include "Math/Gpu/GpuAllocator.h"
#include "Math/Gpu/GpuMasks.h"
#include "Math/Gpu/GpuRuntime.h"
#include "Math/Gpu/GpuUploads.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

class GpuRecording;

class GpuContext
{
public:
    GpuContext(GpuRuntime& runtime, const std::string& device, int multiprocessors);
    ~GpuContext();
    GpuContext(const GpuContext&) = delete;
    GpuContext& operator=(const GpuContext&) = delete;

    GpuRuntime& Runtime() { return m_runtime; }
    // Of kernels. NoStream() while recorded work is repeated: launches then do nothing, and so do the functions below.
    // Whoever hands it to a library asks Repeats() first.
    GpuStream Stream() const { return m_repeats ? NoStream() : m_stream; }
    bool Repeats() const { return m_repeats; }
    GpuAllocator& Memory() { return m_memory; }
    size_t Multiprocessors() const { return m_multiprocessors; }

    // The host memory may change as soon as this has returned. Cannot be recorded.
    void Upload(void* destination, const void* host, size_t bytes);
    // Waits for all work before. Cannot be recorded.
    void Download(void* host, const void* source, size_t bytes);
    void Synchronize();
    void Copy(void* destination, const void* source, size_t bytes);
    void Zero(void* destination, size_t bytes);

    // ---- masks ----
    void ExpectMask(std::span<const uint8_t> mask);
    // A mask of columns on the device, until the next one is asked for; null for none. It may be recorded: the layouts
    // belong to what tells recorded work apart.
    const uint8_t* MaskThere(std::span<const uint8_t> mask);

    // ---- recorded work (GpuRecorder.h) ----
    // Says that what is being done cannot be recorded. An Error of kind Device where it would be.
    void NoteObstacle(const char* why);
    uint64_t Obstacles() const { return m_obstacles; }
    const char* LastObstacle() const { return m_lastObstacle; }
    // Of numbers that change each time recorded work runs: where its kernels find them. Null where nothing is recorded:
    // kernels then take them as arguments.
    template <class T>
    const T* Changing(const T& numbers)
    {
        return static_cast<const T*>(ChangingBytes(&numbers, sizeof(T)));
    }
    // Memory that recorded work may know, which is not that of its operations.
    void NoteAllocation();
    void NoteFree() noexcept { ++m_memoryChanges; }
    uint64_t MemoryChanges() const { return m_memoryChanges; }
    // Recorded work that gives its memory back where there is none left, and is then no longer valid.
    void AddReserve(GpuRecording& recording) { m_reserve.push_back(&recording); }
    void RemoveReserve(GpuRecording& recording) noexcept { std::erase(m_reserve, &recording); }
    void BeginRecording(GpuRecording& recording);
    void EndRecording() noexcept;
    void BeginRepeat(GpuRecording& recording);
    void EndRepeat() noexcept;

private:
    const void* ChangingBytes(const void* numbers, size_t bytes);
    void FreeReserve();
    bool IsRecording() const { return m_recording != nullptr && !m_repeats; }

    GpuRuntime& m_runtime;
    GpuOwnedStream m_owned;
    GpuStream m_stream;
    size_t m_multiprocessors;
    GpuAllocator m_memory;
    GpuStaging m_staging;
    GpuTransfers m_transfers;
    GpuMasks m_masks;
    GpuRecording* m_recording = nullptr; // being recorded, or repeated
    std::vector<GpuRecording*> m_reserve;
    bool m_repeats = false;
    uint64_t m_obstacles = 0;
    const char* m_lastObstacle = "";
    uint64_t m_memoryChanges = 0;
};

// Memory for the length of one operation.
template <class T>
class GpuArray
{
public:
    GpuArray(GpuContext& context, size_t count)
        : m_context(context), m_data(static_cast<T*>(context.Memory().Allocate(count * sizeof(T))))
    {
    }
    // With a copy of host memory. Cannot be recorded.
    GpuArray(GpuContext& context, std::span<const T> host) : GpuArray(context, host.size())
    {
        context.Upload(m_data, host.data(), host.size_bytes());
    }
    ~GpuArray() { m_context.Memory().Free(m_data); }
    GpuArray(const GpuArray&) = delete;
    GpuArray& operator=(const GpuArray&) = delete;

    T* Data() const { return m_data; }

private:
    GpuContext& m_context;
    T* m_data;
};

} // namespace cntk
