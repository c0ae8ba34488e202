// The host memory that this process can still take.
#pragma once

#include <cstddef>

namespace cntk
{

// Returns the bytes that the system has, within the limit of this process's address space (ulimit -v). 0: unknown.
size_t FreeHostMemory();

} // namespace cntk
