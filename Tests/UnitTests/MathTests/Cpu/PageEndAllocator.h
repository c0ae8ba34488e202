// Memory that ends right before an inaccessible page: a kernel that reads a register beyond the end of its operand
// crashes the test. Sanitizers miss some of these reads.
#pragma once

#include <cstddef>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace cntk
{

template <class T>
struct PageEndAllocator
{
    using value_type = T;
    PageEndAllocator() = default;
    template <class U>
    PageEndAllocator(const PageEndAllocator<U>&)
    {
    }

    T* allocate(size_t count)
    {
        const size_t used = Whole(count * sizeof(T));
        void* const pages = ::mmap(nullptr, used + Page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED)
            throw std::bad_alloc();
        char* const end = static_cast<char*>(pages) + used;
        ::mprotect(end, Page(), PROT_NONE);
        return reinterpret_cast<T*>(end) - count;
    }
    void deallocate(T* from, size_t count)
    {
        const size_t used = Whole(count * sizeof(T));
        ::munmap(reinterpret_cast<char*>(from + count) - used, used + Page());
    }

    friend bool operator==(const PageEndAllocator&, const PageEndAllocator&) { return true; }

private:
    static size_t Page() { return size_t(::sysconf(_SC_PAGESIZE)); }
    static size_t Whole(size_t bytes) { return (bytes + Page() - 1) / Page() * Page(); }
};

} // namespace cntk
