// Counts every call of operator new in the program, by all threads. Only one source file of a program may include this
// file.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace
{

std::atomic<size_t> s_allocations{0};

void* CountedAllocate(size_t bytes)
{
    ++s_allocations;
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes))
        return memory;
    throw std::bad_alloc();
}

void* CountedAllocate(size_t bytes, std::align_val_t alignment)
{
    ++s_allocations;
    const size_t unit = size_t(alignment);
    if (void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit))
        return memory;
    throw std::bad_alloc();
}

} // namespace

// g++ sees a mismatch where it inlines only one of new and delete.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
// Replaces all forms, so that a sanitizer's new never meets our delete.
void* operator new(size_t bytes)
{
    return CountedAllocate(bytes);
}
void* operator new[](size_t bytes)
{
    return CountedAllocate(bytes);
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept
{
    return CountedAllocate(bytes);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept
{
    return CountedAllocate(bytes);
}
void* operator new(size_t bytes, std::align_val_t alignment)
{
    return CountedAllocate(bytes, alignment);
}
void* operator new[](size_t bytes, std::align_val_t alignment)
{
    return CountedAllocate(bytes, alignment);
}
void operator delete(void* memory) noexcept
{
    std::free(memory);
}
void operator delete[](void* memory) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept
{
    std::free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, size_t) noexcept
{
    std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept
{
    std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept
{
    std::free(memory);
}
void operator delete[](void* memory, size_t, std::align_val_t) noexcept
{
    std::free(memory);
}
