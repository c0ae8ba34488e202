// Memory of which many places are read in random order: large pages save most of the look-ups of addresses.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

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

} // namespace cntk
