// The interface to CUDA besides launching kernels: devices, memory, copies, streams, events, graphs. One implementation
// calls the CUDA runtime; the unit tests have one in host memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace cntk
{

using GpuStream = void*; // a cudaStream_t
using GpuEvent = void*;  // a cudaEvent_t
using GpuGraph = void*;  // a cudaGraphExec_t

// Work queued to this stream does not run.
inline GpuStream NoStream()
{
    static constexpr char c_noStream = 0;
    return const_cast<char*>(&c_noStream);
}

struct GpuProperties
{
    std::string name;
    int major = 0; // compute capability
    int minor = 0;
    int multiprocessors = 1;
    std::string busId = {}; // "00000000:3B:00.0"; empty: unknown
    std::string uuid = {};  // of the card, or of its MIG instance
};

// Versions are in CUDA's form: 1000 * major + 10 * minor.
struct GpuDriver
{
    int version = 0; // 0: no driver
    int needed = 0;  // the oldest version that works
    int devices = 0;
    std::string problem; // CUDA's reason if there is no device
};

// Functions that fail throw an Error (kind Device) with CUDA's reason. Work of one stream runs in its order.
class GpuRuntime
{
public:
    virtual ~GpuRuntime() = default;

    virtual GpuDriver Driver() = 0;
    virtual GpuProperties Properties(int device) = 0;
    // Makes the device current for the functions below.
    virtual void Use(int device) = 0;
    virtual void MemoryInfo(size_t& freeBytes, size_t& totalBytes) = 0;

    virtual void* Allocate(size_t bytes) = 0;       // null if memory is short
    virtual void Free(void* memory) noexcept = 0;   // waits for all work
    virtual void* AllocatePinned(size_t bytes) = 0; // host memory for asynchronous copies
    virtual void FreePinned(void* memory) noexcept = 0;

    virtual GpuStream MakeStream() = 0;
    virtual void FreeStream(GpuStream stream) noexcept = 0;
    virtual void Synchronize(GpuStream stream) = 0;

    // The pinned memory must not change until the copy has run.
    virtual void CopyFromPinned(void* destination, const void* pinned, size_t bytes, GpuStream stream) = 0;
    // To any host memory; waits for the copy.
    virtual void CopyToHost(void* host, const void* source, size_t bytes, GpuStream stream) = 0;
    virtual void Copy(void* destination, const void* source, size_t bytes, GpuStream stream) = 0;
    virtual void Zero(void* destination, size_t bytes, GpuStream stream) = 0;

    virtual GpuEvent MakeEvent() = 0;
    virtual void FreeEvent(GpuEvent event) noexcept = 0;
    virtual void Record(GpuEvent event, GpuStream stream) = 0;
    virtual void Wait(GpuEvent event) = 0;                      // the host waits
    virtual void WaitFor(GpuStream stream, GpuEvent event) = 0; // the stream's later work waits

    // Until EndCapture, work queued to the stream is captured and does not run. Waiting for the stream or freeing
    // memory breaks the capture; allocating memory does not.
    virtual void BeginCapture(GpuStream stream) = 0;
    // Null if the capture was broken or cannot become a graph.
    virtual GpuGraph EndCapture(GpuStream stream) noexcept = 0;
    virtual void Launch(GpuGraph graph, GpuStream stream) = 0;
    virtual void FreeGraph(GpuGraph graph) noexcept = 0; // does not stop launched work
};

std::unique_ptr<GpuRuntime> MakeCudaRuntime();

} // namespace cntk
