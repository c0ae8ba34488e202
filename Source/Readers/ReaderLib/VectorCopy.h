// Copies of vectors that lie here and there in memory, column by column into a minibatch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

namespace cntk
{

// In large pages from some megabytes on, where the system has them; null where there is no memory. std::free gives it
// back.
void* AllocateInLargePages(size_t bytes);

struct FreeMemory
{
    void operator()(void* memory) const { std::free(memory); }
};

// Elements that are not initialised. Throws std::bad_alloc.
template <class T>
std::unique_ptr<T[], FreeMemory> MakeInLargePages(size_t count);

// How many vectors ahead a source is best asked for.
constexpr size_t c_vectorsAhead = 3;

template <class Source, class Target>
void CopyElements(const Source* source, size_t elements, Target* target)
{
    if constexpr (std::is_same_v<Source, Target>)
        std::memcpy(target, source, elements * sizeof(Target));
    else
        std::copy(source, source + elements, target);
}

// Line of the cache by line, with a line of `next`, a vector that is copied soon, asked for with each: so memory is
// never waited for, nor asked for more lines than it has room for. Of lines of a known length the compiler makes vector
// instructions, also where floats become doubles.
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
