// What the kernels of one GPU share: its stream, memory that is kept and given out again, and the way from host memory.
#pragma once

#include "Math/Gpu/GpuRuntime.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace cntk
{

// Memory of a device in sizes rounded up to steps of at most an eighth. What is freed is kept and given out again, also
// to work that is queued behind that of its last owner: all work has the order of one stream. Not for several threads.
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
    // Gives what is not in use back to the device.
    void Trim();

    size_t UsedBytes() const { return m_usedBytes; }
    size_t KeptBytes() const { return m_keptBytes; } // not in use

    static size_t Rounded(size_t bytes);

private:
    GpuRuntime& m_runtime;
    std::string m_device;
    std::unordered_map<void*, size_t> m_sizes;   // of all blocks, in use or not
    std::map<size_t, std::vector<void*>> m_kept; // by size
    size_t m_usedBytes = 0;
    size_t m_keptBytes = 0;
};

// Small pieces of host memory on their way to the device: they are copied into pinned memory, so that neither the
// caller's memory need stay nor the host wait. Two halves, so that one is filled while the other is still read.
class GpuStaging
{
public:
    GpuStaging(GpuRuntime& runtime, GpuStream stream);
    ~GpuStaging();
    GpuStaging(const GpuStaging&) = delete;
    GpuStaging& operator=(const GpuStaging&) = delete;

    void Upload(void* destination, const void* host, size_t bytes);

    static constexpr size_t c_halfBytes = size_t(1) << 20;

private:
    GpuRuntime& m_runtime;
    GpuStream m_stream;
    std::byte* m_pinned = nullptr;
    GpuEvent m_events[2] = {};
    bool m_isRecorded[2] = {};
    size_t m_half = 0;
    size_t m_used = 0;
};

class GpuContext
{
public:
    GpuContext(GpuRuntime& runtime, const std::string& device, int multiprocessors);
    ~GpuContext();
    GpuContext(const GpuContext&) = delete;
    GpuContext& operator=(const GpuContext&) = delete;

    GpuRuntime& Runtime() { return m_runtime; }
    GpuStream Stream() const { return m_stream; }
    GpuAllocator& Memory() { return m_memory; }
    size_t Multiprocessors() const { return m_multiprocessors; }
    // The host memory may change as soon as this has returned.
    void Upload(void* destination, const void* host, size_t bytes) { m_staging.Upload(destination, host, bytes); }
    // Waits for all work before.
    void Download(void* host, const void* source, size_t bytes);

private:
    struct OwnedStream
    {
        GpuRuntime& runtime;
        GpuStream stream;
        ~OwnedStream() { runtime.FreeStream(stream); }
    };

    GpuRuntime& m_runtime;
    OwnedStream m_owned;
    GpuStream m_stream;
    size_t m_multiprocessors;
    GpuAllocator m_memory;
    GpuStaging m_staging;
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
    // With a copy of host memory.
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
