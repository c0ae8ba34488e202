// Copies scattered vectors into the columns of a minibatch, and allocates memory for them in large pages, which saves
// most of the address look-ups of random access.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

namespace cntk
{

// Allocates memory for std::free, in large pages from some megabytes on if the system has them. Null if there is no
// memory.
void* AllocateInLargePages(size_t bytes);

struct FreeMemory
{
    void operator()(void* memory) const { std::free(memory); }
};

// Allocates uninitialised elements. Throws std::bad_alloc.
template <class T>
std::unique_ptr<T[], FreeMemory> MakeInLargePages(size_t count);

// Number of vectors to prefetch ahead of the copied one.
constexpr size_t c_vectorsAhead = 3;

template <class Source, class Target>
void CopyElements(const Source* source, size_t elements, Target* target)
{
    if constexpr (std::is_same_v<Source, Target>)
        std::memcpy(target, source, elements * sizeof(Target));
    else
        std::copy(source, source + elements, target);
}

// Copies one cache line at a time and prefetches the same line of `next`, a vector that is copied soon. So copying
// neither waits for memory nor requests more lines than the processor can track. The fixed line length lets the
// compiler use vector instructions, also from float to double.
template <class Source, class Target>
void CopyVector(const Source* source, size_t elements, Target* target, const Source* next)
{
    constexpr size_t c_lineElements = 64 / sizeof(Source);
    size_t i = 0;
    for (; i + c_lineElements <= elements; i += c_lineElements)
    {
        __builtin_prefetch(next + i);
        Source line[c_lineElements];
        std::memcpy(line, source + i, sizeof line);
        CopyElements(line, c_lineElements, target + i);
    }
    if (i < elements)
    {
        __builtin_prefetch(next + i);
        CopyElements(source + i, elements - i, target + i);
    }
}

} // namespace cntk
