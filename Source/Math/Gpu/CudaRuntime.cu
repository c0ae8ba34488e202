// The CUDA runtime, linked statically: it opens the driver on its own and says what is wrong with it.
#include "Common/Error.h"
#include "Math/Gpu/CudaRuntime.h"

#include <cuda.h>
#include <cuda_runtime.h>

namespace cntk
{

namespace
{

// CUDA keeps an error until somebody asks for it, and libraries that look for errors of their own launches would find
// it: failures that somebody gets over (a recording, the next GPU) must leave nothing behind.
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

// Nothing of this process runs on the device. Only the driver knows; false where it does not say.
bool IsStopped(int device)
{
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    if (cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &function, 12000, cudaEnableDefault, &found) !=
            cudaSuccess ||
        found != cudaDriverEntryPointSuccess)
    {
        cudaGetLastError();
        return false;
    }
    unsigned flags = 0;
    int isStarted = 1;
    // Devices of the driver have the numbers that they have here.
    const CUresult status =
        reinterpret_cast<decltype(&cuDevicePrimaryCtxGetState)>(function)(device, &flags, &isStarted);
    return status == CUDA_SUCCESS && isStarted == 0;
}

class CudaRuntime final : public GpuRuntime
{
public:
    GpuDriver Driver() override
    {
        GpuDriver driver;
        // Libraries of one major version run on its first driver already.
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
            cudaGetLastError(); // so that no later call reports it
        }
        return driver;
    }

    GpuProperties Properties(int device) override
    {
        cudaDeviceProp found{};
        Check(cudaGetDeviceProperties(&found, device), "say what it is");
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
        Check(cudaMemGetInfo(&freeBytes, &totalBytes), "say how much memory it has");
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

    // cudaFree may wait for work that still uses the memory, and does not promise it. Errors of that work come out of
    // the next call that may throw.
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

    void CopyToPinned(void* pinned, const void* source, size_t bytes, GpuStream stream) override
    {
        Check(cudaMemcpyAsync(pinned, source, bytes, cudaMemcpyDeviceToHost, StreamOf(stream)), "copy to the host");
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

    // Relaxed: memory may be allocated meanwhile.
    void BeginCapture(GpuStream stream) override
    {
        Check(cudaStreamBeginCapture(StreamOf(stream), cudaStreamCaptureModeRelaxed), "record its work");
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
        cudaGetLastError(); // so that no later call reports what went wrong
        return executable;
    }

    void Launch(GpuGraph graph, GpuStream stream) override
    {
        Check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), StreamOf(stream)), "run recorded work");
    }

    void FreeGraph(GpuGraph graph) noexcept override { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)); }
};

} // namespace

std::unique_ptr<GpuRuntime> MakeCudaRuntime()
{
    return std::make_unique<CudaRuntime>();
}

void AskForMemory(DeviceId id, size_t& freeBytes, size_t& totalBytes)
{
    const bool isStopped = IsStopped(id);
    CudaRuntime runtime;
    runtime.Use(id);
    runtime.MemoryInfo(freeBytes, totalBytes);
    if (isStopped && cudaDeviceReset() != cudaSuccess)
        cudaGetLastError();
}

} // namespace cntk
