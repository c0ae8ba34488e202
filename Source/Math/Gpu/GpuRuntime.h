// What the GPU backend asks of CUDA besides running kernels: devices, memory, copies, order. One implementation calls
// the CUDA runtime; the unit tests have one in host memory.
#pragma once

#include <cstddef>
#include <string>

namespace cntk
{

using GpuStream = void*; // a cudaStream_t
using GpuEvent = void*;  // a cudaEvent_t
using GpuGraph = void*;  // a cudaGraphExec_t

// Of work that is not to run.
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
    std::string uuid = {};  // of the card, or of the part of it that this device is
};

// What a driver can do, before any device is used. Versions as CUDA has them: 1000 * major + 10 * minor.
struct GpuDriver
{
    int version = 0; // 0: there is none
    int needed = 0;  // at least
    int devices = 0;
    std::string problem; // what CUDA says where there are none
};

// Functions that fail throw an Error (kind Device) with CUDA's reason. All work is in the order of its stream.
class GpuRuntime
{
public:
    virtual ~GpuRuntime() = default;

    virtual GpuDriver Driver() = 0;
    virtual GpuProperties Properties(int device) = 0;
    // Makes the device the current one; the functions below work with it.
    virtual void Use(int device) = 0;
    virtual void MemoryInfo(size_t& freeBytes, size_t& totalBytes) = 0;

    virtual void* Allocate(size_t bytes) = 0;       // null: there is not so much
    virtual void Free(void* memory) noexcept = 0;   // when all work has run
    virtual void* AllocatePinned(size_t bytes) = 0; // host memory that copies can run from beside the host
    virtual void FreePinned(void* memory) noexcept = 0;

    virtual GpuStream MakeStream() = 0;
    virtual void FreeStream(GpuStream stream) noexcept = 0;
    virtual void Synchronize(GpuStream stream) = 0;

    // From pinned memory, which must stay as it is until the copy has run.
    virtual void CopyFromPinned(void* destination, const void* pinned, size_t bytes, GpuStream stream) = 0;
    // Any host memory; has run when the function returns.
    virtual void CopyToHost(void* host, const void* source, size_t bytes, GpuStream stream) = 0;
    // There when the stream has come so far.
    virtual void CopyToPinned(void* pinned, const void* source, size_t bytes, GpuStream stream) = 0;
    virtual void Copy(void* destination, const void* source, size_t bytes, GpuStream stream) = 0;
    virtual void Zero(void* destination, size_t bytes, GpuStream stream) = 0;

    virtual GpuEvent MakeEvent() = 0;
    virtual void FreeEvent(GpuEvent event) noexcept = 0;
    virtual void Record(GpuEvent event, GpuStream stream) = 0;
    virtual void Wait(GpuEvent event) = 0;                      // the host waits
    virtual void WaitFor(GpuStream stream, GpuEvent event) = 0; // the stream's later work waits

    // What is asked of the stream until EndCapture is kept, not run; a host that waits for the stream, or frees memory,
    // breaks it. Memory may be allocated.
    virtual void BeginCapture(GpuStream stream) = 0;
    // Ends it in any case; null where it was broken, or nothing can be made of it.
    virtual GpuGraph EndCapture(GpuStream stream) noexcept = 0;
    virtual void Launch(GpuGraph graph, GpuStream stream) = 0;
    virtual void FreeGraph(GpuGraph graph) noexcept = 0; // work that was launched goes on
};

} // namespace cntk
