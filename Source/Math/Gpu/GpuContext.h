// Shared by all kernels of one GPU: its stream, memory, uploads, masks and CUDA graphs.
#pragma once

#include "Math/Gpu/GpuAllocator.h"
#include "Math/Gpu/GpuRuntime.h"
#include "Math/Gpu/GpuUploads.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

class GpuRecording;

// Masks of columns on the device. Each mask is uploaded once, however many operations ask for it or a part of it. Masks
// are recognised by their address and compared, because a comparison costs less than a copy.
class GpuMasks
{
public:
    struct Mask
    {
        const uint8_t* host = nullptr; // its address on the host; never read
        std::vector<uint8_t> copy;
        uint8_t* onDevice = nullptr;
        size_t room = 0; // bytes on the device
    };

    // Null if the mask is on the device already; otherwise the entry that must be uploaded.
    Mask* Expect(std::span<const uint8_t> mask, GpuAllocator& memory);
    // The device's copy of a mask or a part of one; null if unknown.
    const uint8_t* Find(std::span<const uint8_t> mask) const;
    // The mask that contains this part; null if unknown.
    const Mask* FindWhole(std::span<const uint8_t> part) const;
    void Free(GpuAllocator& memory) noexcept;

    // True if the part lies within the mask and has the same values: its host memory may have been reused.
    static bool Holds(const Mask& mask, std::span<const uint8_t> part);

private:
    std::array<Mask, 4> m_masks; // a network has one or two layouts, rarely more
    size_t m_next = 0;           // replaced next
};

class GpuContext
{
public:
    GpuContext(GpuRuntime& runtime, const std::string& device, int multiprocessors);
    ~GpuContext();
    GpuContext(const GpuContext&) = delete;
    GpuContext& operator=(const GpuContext&) = delete;

    GpuRuntime& Runtime() { return m_runtime; }
    // The stream of all kernels. NoStream() while a graph is launched again: launches and the functions below then do
    // nothing. Code that passes the stream to a library checks Repeats() first.
    GpuStream Stream() const { return m_repeats ? NoStream() : m_stream; }
    bool Repeats() const { return m_repeats; }
    GpuAllocator& Memory() { return m_memory; }
    size_t Multiprocessors() const { return m_multiprocessors; }

    // The host memory may change as soon as this returns. Cannot be captured.
    void Upload(void* destination, const void* host, size_t bytes);
    // Waits for all queued work. Cannot be captured.
    void Download(void* host, const void* source, size_t bytes);
    void Synchronize();
    void Copy(void* destination, const void* source, size_t bytes);
    void Zero(void* destination, size_t bytes);

    // ---- masks ----
    void ExpectMask(std::span<const uint8_t> mask);
    // The device's copy of a mask, valid until the next call; null for an empty mask. Can be captured, because the key
    // of a graph contains the layouts.
    const uint8_t* MaskOnDevice(std::span<const uint8_t> mask);

    // ---- CUDA graphs (GpuRecorder.h) ----
    // Reports work that cannot be captured. Fails (kind Device) during a capture.
    void NoteObstacle(const char* why);
    uint64_t Obstacles() const { return m_obstacles; }
    const char* LastObstacle() const { return m_lastObstacle; }
    // Registers an argument that changes at each launch of a graph, and returns its address on the device. Null outside
    // of a capture: kernels then take the argument itself.
    template <class T>
    const T* ChangingArgument(const T& argument)
    {
        return static_cast<const T*>(ChangingBytes(&argument, sizeof(T)));
    }
    // Count changes of memory outside of operations, which graphs may refer to.
    void NoteAllocation();
    void NoteFree() noexcept { ++m_memoryChanges; }
    uint64_t MemoryChanges() const { return m_memoryChanges; }
    // Graphs that free their memory when memory runs out; they are invalid afterwards.
    void AddReserve(GpuRecording& recording) { m_reserve.push_back(&recording); }
    void RemoveReserve(GpuRecording& recording) noexcept { std::erase(m_reserve, &recording); }
    void BeginRecording(GpuRecording& recording);
    void EndRecording() noexcept;
    void BeginRepeat(GpuRecording& recording);
    void EndRepeat() noexcept;

private:
    const void* ChangingBytes(const void* argument, size_t bytes);
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
    GpuRecording* m_recording = nullptr; // being captured, or launched again
    std::vector<GpuRecording*> m_reserve;
    bool m_repeats = false;
    uint64_t m_obstacles = 0;
    const char* m_lastObstacle = "";
    uint64_t m_memoryChanges = 0;
};

// Device memory for the duration of one operation.
template <class T>
class GpuArray
{
public:
    GpuArray(GpuContext& context, size_t count)
        : m_context(context), m_data(static_cast<T*>(context.Memory().Allocate(count * sizeof(T))))
    {
    }
    // With a copy of host memory. Cannot be captured.
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
