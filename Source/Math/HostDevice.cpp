// Host memory, aligned to cache lines.
#include "Math/HostDevice.h"

#include "Common/Error.h"

#include <cstdlib>
#include <cstring>

namespace cntk
{

void* HostDevice::Allocate(size_t bytes)
{
    constexpr size_t alignment = 64;
    // Sizes in whole lines: std::aligned_alloc asks for it.
    const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* memory = rounded >= bytes ? std::aligned_alloc(alignment, rounded > 0 ? rounded : alignment) : nullptr;
    if (!memory)
        Fail(ErrorKind::Device, "out of memory: ", bytes, " bytes were asked for");
    return memory;
}

void HostDevice::Free(void* memory) noexcept
{
    std::free(memory);
}

void HostDevice::CopyFromHost(void* destination, const void* host, size_t bytes)
{
    Copy(destination, host, bytes);
}

void HostDevice::CopyToHost(void* host, const void* source, size_t bytes)
{
    Copy(host, source, bytes);
}

void HostDevice::Copy(void* destination, const void* source, size_t bytes)
{
    if (bytes > 0)
        std::memmove(destination, source, bytes);
}

void HostDevice::Zero(void* destination, size_t bytes)
{
    if (bytes > 0)
        std::memset(destination, 0, bytes);
}

} // namespace cntk
