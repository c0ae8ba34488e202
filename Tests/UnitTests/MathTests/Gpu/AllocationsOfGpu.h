// An emulated card that counts how often memory is taken from it.
#pragma once

#include "CudaEmulation/EmulatedGpu.h"

namespace cntk
{

class AllocationCountingRuntime final : public EmulatedRuntime
{
public:
    AllocationCountingRuntime(size_t bytes, int& allocations)
        : EmulatedRuntime(EmulatedMemory::Open, bytes), m_allocations(allocations)
    {
    }
    void* Allocate(size_t bytes) override
    {
        ++m_allocations;
        return EmulatedRuntime::Allocate(bytes);
    }

private:
    int& m_allocations;
};

} // namespace cntk
