// A GPU in host memory that runs the kernels of Source/Math/Gpu in the emulation of CUDA.
#pragma once

#include "CudaEmulation/EmulatedStreams.h"
#include "Math/Device.h"
#include "Math/Gpu/CuDnn.h"
#include "Math/Gpu/GpuBlas.h"
#include "Math/Gpu/GpuLibrary.h"
#include "Math/Gpu/GpuRuntime.h"

#include <cstddef>
#include <map>
#include <memory>
#include <set>

namespace cntk
{

// Locked: host code that accesses device memory crashes, as with a GPU. Each kernel and copy unlocks the memory, which
// takes longer than most kernels.
enum class EmulatedMemory
{
    Locked,
    Open
};

constexpr size_t c_emulatedMemoryBytes = size_t(1) << 30;

using WorkOrder = CudaEmulation::WorkOrder;

// Device memory lies in a region of its own. Work is only ordered within its stream.
class EmulatedRuntime : public GpuRuntime
{
public:
    explicit EmulatedRuntime(EmulatedMemory memory = EmulatedMemory::Locked, size_t memoryBytes = c_emulatedMemoryBytes,
                             WorkOrder order = WorkOrder::Late);
    ~EmulatedRuntime() override;

    GpuDriver Driver() override { return {13000, 13000, 1, ""}; }
    GpuProperties Properties(int device) override;
    void Use(int) override {}
    void MemoryInfo(size_t& freeBytes, size_t& totalBytes) override;

    void* Allocate(size_t bytes) override;
    void Free(void* memory) noexcept override;
    void* AllocatePinned(size_t bytes) override;
    void FreePinned(void* memory) noexcept override;

    GpuStream MakeStream() override { return m_streams.MakeStream(); }
    void FreeStream(GpuStream stream) noexcept override;
    void Synchronize(GpuStream stream) override;

    void CopyFromPinned(void* destination, const void* pinned, size_t bytes, GpuStream stream) override;
    void CopyToHost(void* host, const void* source, size_t bytes, GpuStream stream) override;
    void Copy(void* destination, const void* source, size_t bytes, GpuStream stream) override;
    void Zero(void* destination, size_t bytes, GpuStream stream) override;

    GpuEvent MakeEvent() override { return m_streams.MakeEvent(); }
    void FreeEvent(GpuEvent event) noexcept override;
    void Record(GpuEvent event, GpuStream stream) override;
    void Wait(GpuEvent event) override;
    void WaitFor(GpuStream stream, GpuEvent event) override;

    void BeginCapture(GpuStream stream) override;
    GpuGraph EndCapture(GpuStream stream) noexcept override;
    void Launch(GpuGraph graph, GpuStream stream) override;
    void FreeGraph(GpuGraph graph) noexcept override;

    const CudaEmulation::WorkCounts& Counts() const { return m_streams.Counts(); }

private:
    struct Block
    {
        size_t first;
        size_t bytes;
        bool operator<(const Block& other) const { return first < other.first; }
    };

    void CheckPinned(const void* memory, size_t bytes) const;

    EmulatedMemory m_memory;
    CudaEmulation::Scheduler m_streams;
    std::byte* m_region = nullptr;
    size_t m_bytes;
    std::set<Block> m_used;
    std::map<const std::byte*, size_t> m_pinned;
    std::vector<void*> m_pinnedBefore; // freed, but kept: copies that still read it get wrong bytes
};

// Products as plain loops, with sums in double.
std::unique_ptr<GpuBlas> MakeEmulatedBlas();

CuDnnFunctions EmulatedCuDnn();
// The emulation of cuDNN behind the interface of the GPU backend.
std::unique_ptr<GpuDnn> MakeEmulatedDnn(GpuContext& context, GpuMatrixMath math = GpuMatrixMath::Float);

enum class EmulatedDnn
{
    There,
    Missing
};

// The device owns the runtime, which the test may inspect.
std::shared_ptr<Device> MakeEmulatedGpu(std::unique_ptr<EmulatedRuntime> runtime, const GpuRequest& request = {0},
                                        EmulatedDnn dnn = EmulatedDnn::There);
std::shared_ptr<Device> MakeEmulatedGpu(EmulatedMemory memory = EmulatedMemory::Locked,
                                        size_t memoryBytes = c_emulatedMemoryBytes, WorkOrder order = WorkOrder::Late,
                                        EmulatedDnn dnn = EmulatedDnn::There);

} // namespace cntk
