// Allocates whole large pages, which no other memory shares.
#include "Readers/ReaderLib/VectorCopy.h"

#include <new>
#include <sys/mman.h>

namespace cntk
{

void* AllocateInLargePages(size_t bytes)
{
    constexpr size_t c_page = size_t(2) << 20;
    if (bytes < 4 * c_page)
        return std::malloc(bytes > 0 ? bytes : 1);
    bytes = (bytes + c_page - 1) / c_page * c_page;
    void* const memory = std::aligned_alloc(c_page, bytes);
    if (memory != nullptr)
        madvise(memory, bytes, MADV_HUGEPAGE); // a hint; the system may ignore it
    return memory;
}

template <class T>
std::unique_ptr<T[], FreeMemory> MakeInLargePages(size_t count)
{
    void* const memory = AllocateInLargePages(count * sizeof(T));
    if (memory == nullptr)
        throw std::bad_alloc();
    return std::unique_ptr<T[], FreeMemory>(static_cast<T*>(memory));
}

template std::unique_ptr<float[], FreeMemory> MakeInLargePages(size_t);
template std::unique_ptr<double[], FreeMemory> MakeInLargePages(size_t);

} // namespace cntk
