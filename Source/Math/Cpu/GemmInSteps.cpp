// Memory for the sums of the slabs.
#include "Math/Cpu/GemmInSteps.h"

namespace cntk
{

GemmInSteps::GemmInSteps(ThreadPool& pool, const ProductKernels& kernels)
    : m_pool(pool), m_kernels(kernels), m_sums(pool.Threads() > 1 ? MakeAlignedMemory(c_mostBytes) : nullptr)
{
}

} // namespace cntk
