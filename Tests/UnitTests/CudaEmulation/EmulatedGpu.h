// A GPU in host memory, which runs the kernels of Source/Math/Gpu through the emulation of CUDA. For tests of the
// kernels' logic; nothing that passes here has run on a card.
#pragma once

#include "Math/Device.h"
#include "Math/Gpu/GpuBlas.h"
#include "Math/Gpu/GpuRuntime.h"

#include <cstddef>
#include <memory>
#include <set>

namespace cntk
{

// Locked: code that takes device memory for host memory crashes, as it would with a GPU; each kernel and copy unlocks
// it, which takes longer than most of them.
enum class EmulatedMemory
{
    Locked,
    Open
};

constexpr size_t c_emulatedMemoryBytes = size_t(1) << 30;

// Device memory lies in a region of its own. Work runs at once, so every order of streams holds.
class EmulatedRuntime : public GpuRuntime
{
public:
    explicit EmulatedRuntime(EmulatedMemory memory = EmulatedMemory::Locked,
                             size_t memoryBytes = c_emulatedMemoryBytes);
    ~EmulatedRuntime() override;

    GpuDriver Driver() override { return {13000, 13000, 1, ""}; }
    GpuProperties Properties(int device) override;
    void Use(int) override {}
    void MemoryInfo(size_t& freeBytes, size_t& totalBytes) override;

    void* Allocate(size_t bytes) override;
    void Free(void* memory) noexcept override;
    void* AllocatePinned(size_t bytes) override;
    void FreePinned(void* memory) noexcept override;

    GpuStream MakeStream() override { return this; }
    void FreeStream(GpuStream) noexcept override {}
    void Synchronize(GpuStream) override {}

    void CopyFromPinned(void* destination, const void* pinned, size_t bytes, GpuStream stream) override;
    void CopyFromHost(void* destination, const void* host, size_t bytes, GpuStream stream) override;
    void CopyToHost(void* host, const void* source, size_t bytes, GpuStream stream) override;
    void Copy(void* destination, const void* source, size_t bytes, GpuStream stream) override;
    void Zero(void* destination, size_t bytes, GpuStream stream) override;

    GpuEvent MakeEvent() override { return this; }
    void FreeEvent(GpuEvent) noexcept override {}
    void Record(GpuEvent, GpuStream) override {}
    void Wait(GpuEvent) override {}

private:
    struct Block
    {
        size_t first;
        size_t bytes;
        bool operator<(const Block& other) const { return first < other.first; }
    };

    EmulatedMemory m_memory;
    std::byte* m_region = nullptr;
    size_t m_bytes;
    std::set<Block> m_used;
};

// Products as their definition has them, with sums in double.
std::unique_ptr<GpuBlas> MakeEmulatedBlas();

std::shared_ptr<Device> MakeEmulatedGpu(EmulatedMemory memory = EmulatedMemory::Locked,
                                        size_t memoryBytes = c_emulatedMemoryBytes);

} // namespace cntk
