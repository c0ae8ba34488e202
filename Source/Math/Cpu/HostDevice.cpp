// Allocates host memory aligned to cache lines, larger pieces in large pages where the system has them.
#include "Math/Cpu/HostDevice.h"

#include "Math/Device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cntk
{

namespace
{

constexpr size_t c_leastAlignment = 64; // of a cache line
constexpr size_t c_largePageBytes = LargePages::c_pageBytes;
// AddressSanitizer detects accesses behind separate allocations only.
#ifdef __SANITIZE_ADDRESS__
constexpr bool c_sharesPages = false;
#else
constexpr bool c_sharesPages = true;
#endif

// Returns the memory that is available within the limit of this process's address space (ulimit -v). 0: unknown.
size_t FreeHostMemory()
{
    size_t available = 0;
    std::ifstream system("/proc/meminfo");
    for (std::string name, rest; system >> name; std::getline(system, rest))
        if (name == "MemAvailable:" && system >> available)
            break;
    available *= 1024;
    rlimit limit{};
    size_t pages = 0;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        std::ifstream("/proc/self/statm") >> pages)
    {
        const size_t used = pages * size_t(sysconf(_SC_PAGESIZE));
        available = std::min(available, size_t(limit.rlim_cur) - std::min(used, size_t(limit.rlim_cur)));
    }
    return available;
}

} // namespace

void* HostDevice::Allocate(size_t bytes)
{
    if (c_sharesPages && bytes >= LargePages::c_leastBytes && bytes < c_largePageBytes)
        if (void* const memory = m_pages.Allocate(bytes))
            return memory;
    // Products walk through a matrix column by column; nearly each step would need another ordinary page.
    const bool isLarge = bytes >= c_largePageBytes;
    const size_t alignment = isLarge ? c_largePageBytes : c_leastAlignment;
    // std::aligned_alloc requires a multiple of the alignment.
    const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* memory = rounded >= bytes ? std::aligned_alloc(alignment, rounded > 0 ? rounded : alignment) : nullptr;
    if (!memory)
    {
        const size_t freeBytes = FreeHostMemory();
        throw OutOfMemory(Concat("out of memory: ", bytes, " bytes were asked for, ", freeBytes, " are free"),
                          freeBytes);
    }
    // Only whole large pages. A system without them refuses, which does no harm.
    if (isLarge)
        madvise(memory, bytes / c_largePageBytes * c_largePageBytes, MADV_HUGEPAGE);
    return memory;
}

void HostDevice::Free(void* memory) noexcept
{
    if (!m_pages.Free(memory))
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
