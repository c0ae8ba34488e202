// The CUDA runtime. It is linked statically and opens the driver by itself.
#include "Common/Error.h"
#include "Math/Gpu/GpuRuntime.h"

#include <cuda_runtime.h>

namespace cntk
{

namespace
{

// cudaGetLastError clears the error. Otherwise a later call, or a library that checks its own launches, would report it
// again, even if the failure was handled (a refused capture, a card that is passed over).
void Check(cudaError_t status, const char* what)
{
    if (status == cudaSuccess)
        return;
    cudaGetLastError();
    Fail(ErrorKind::Device, "the GPU failed to ", what, ": ", cudaGetErrorString(status), " (CUDA error ", int(status),
         ")");
}

cudaStream_t StreamOf(GpuStream stream)
{
    return static_cast<cudaStream_t>(stream);
}

cudaEvent_t EventOf(GpuEvent event)
{
    return static_cast<cudaEvent_t>(event);
}

class CudaRuntime final : public GpuRuntime
{
public:
    GpuDriver Driver() override
    {
        GpuDriver driver;
        // A driver of the same major version suffices.
        driver.needed = CUDART_VERSION / 1000 * 1000;
        if (cudaDriverGetVersion(&driver.version) != cudaSuccess)
        {
            driver.version = 0;
            cudaGetLastError();
        }
        const cudaError_t status = cudaGetDeviceCount(&driver.devices);
        if (status != cudaSuccess)
        {
            driver.devices = 0;
            driver.problem = cudaGetErrorString(status);
            cudaGetLastError();
        }
        return driver;
    }

    GpuProperties Properties(int device) override
    {
        cudaDeviceProp found{};
        Check(cudaGetDeviceProperties(&found, device), "report its properties");
        char busId[32] = "";
        if (cudaDeviceGetPCIBusId(busId, int(sizeof busId), device) != cudaSuccess)
        {
            cudaGetLastError();
            busId[0] = '\0';
        }
        std::string uuid;
        for (const char byte : found.uuid.bytes)
        {
            constexpr const char* digits = "0123456789abcdef";
            uuid += digits[static_cast<unsigned char>(byte) / 16];
            uuid += digits[static_cast<unsigned char>(byte) % 16];
        }
        return {found.name, found.major, found.minor, found.multiProcessorCount, busId, uuid};
    }

    void Use(int device) override { Check(cudaSetDevice(device), "be chosen"); }

    void MemoryInfo(size_t& freeBytes, size_t& totalBytes) override
    {
        Check(cudaMemGetInfo(&freeBytes, &totalBytes), "report its memory");
    }

    void* Allocate(size_t bytes) override
    {
        void* memory = nullptr;
        const cudaError_t status = cudaMalloc(&memory, bytes);
        if (status == cudaErrorMemoryAllocation)
        {
            cudaGetLastError();
            return nullptr;
        }
        Check(status, "allocate memory");
        return memory;
    }

    // CUDA does not promise that cudaFree waits for work that uses the memory. Errors of that work surface in the next
    // call that may throw.
    void Free(void* memory) noexcept override
    {
        cudaDeviceSynchronize();
        cudaFree(memory);
        cudaGetLastError();
    }

    void* AllocatePinned(size_t bytes) override
    {
        void* memory = nullptr;
        Check(cudaMallocHost(&memory, bytes), "pin host memory");
        return memory;
    }

    void FreePinned(void* memory) noexcept override { cudaFreeHost(memory); }

    GpuStream MakeStream() override
    {
        cudaStream_t stream = nullptr;
        Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream");
        return stream;
    }

    void FreeStream(GpuStream stream) noexcept override { cudaStreamDestroy(StreamOf(stream)); }

    void Synchronize(GpuStream stream) override { Check(cudaStreamSynchronize(StreamOf(stream)), "finish its work"); }

    void CopyFromPinned(void* destination, const void* pinned, size_t bytes, GpuStream stream) override
    {
        Check(cudaMemcpyAsync(destination, pinned, bytes, cudaMemcpyHostToDevice, StreamOf(stream)),
              "copy from the host");
    }

    void CopyToHost(void* host, const void* source, size_t bytes, GpuStream stream) override
    {
        Check(cudaMemcpyAsync(host, source, bytes, cudaMemcpyDeviceToHost, StreamOf(stream)), "copy to the host");
        Synchronize(stream);
    }

    void Copy(void* destination, const void* source, size_t bytes, GpuStream stream) override
    {
        Check(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDeviceToDevice, StreamOf(stream)), "copy");
    }

    void Zero(void* destination, size_t bytes, GpuStream stream) override
    {
        Check(cudaMemsetAsync(destination, 0, bytes, StreamOf(stream)), "clear memory");
    }

    GpuEvent MakeEvent() override
    {
        cudaEvent_t event = nullptr;
        Check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "make an event");
        return event;
    }

    void FreeEvent(GpuEvent event) noexcept override { cudaEventDestroy(EventOf(event)); }

    void Record(GpuEvent event, GpuStream stream) override
    {
        Check(cudaEventRecord(EventOf(event), StreamOf(stream)), "record an event");
    }

    void Wait(GpuEvent event) override { Check(cudaEventSynchronize(EventOf(event)), "finish its work"); }

    void WaitFor(GpuStream stream, GpuEvent event) override
    {
        Check(cudaStreamWaitEvent(StreamOf(stream), EventOf(event), cudaEventWaitDefault), "wait for an event");
    }

    // Relaxed mode allows allocations.
    void BeginCapture(GpuStream stream) override
    {
        Check(cudaStreamBeginCapture(StreamOf(stream), cudaStreamCaptureModeRelaxed), "capture its work");
    }

    GpuGraph EndCapture(GpuStream stream) noexcept override
    {
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        if (cudaStreamEndCapture(StreamOf(stream), &graph) == cudaSuccess && graph != nullptr)
        {
            if (cudaGraphInstantiate(&executable, graph, 0) != cudaSuccess)
                executable = nullptr;
            cudaGraphDestroy(graph);
        }
        cudaGetLastError();
        return executable;
    }

    void Launch(GpuGraph graph, GpuStream stream) override
    {
        Check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), StreamOf(stream)), "launch a graph");
    }

    void FreeGraph(GpuGraph graph) noexcept override { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)); }
};

} // namespace

std::unique_ptr<GpuRuntime> MakeCudaRuntime()
{
    return std::make_unique<CudaRuntime>();
}

} // namespace cntk
