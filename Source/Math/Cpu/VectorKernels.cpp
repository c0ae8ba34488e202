// Which instruction set the processor has, and its table of inner loops.
#include "Math/Cpu/VectorKernels.h"

#include "Math/Cpu/VectorKernelSets.h"

namespace cntk
{

InstructionSet BestInstructionSet()
{
    // These look at what the operating system saves, too.
    const bool hasAvx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#if defined(CNTK_EMULATE_AVX512)
    const bool hasAvx512 = hasAvx2;
#else
    const bool hasAvx512 = hasAvx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
    return hasAvx512 ? InstructionSet::Avx512 : hasAvx2 ? InstructionSet::Avx2 : InstructionSet::Baseline;
}

const char* NameOf(InstructionSet set)
{
    switch (set)
    {
    case InstructionSet::Avx512:
        return "AVX-512";
    case InstructionSet::Avx2:
        return "AVX2";
    case InstructionSet::Baseline:
        break;
    }
    return "SSE2";
}

namespace
{

VectorKernelSet KernelSetFor(InstructionSet set)
{
    return CompiledFor(set, BaselineKernels, Avx2Kernels, Avx512Kernels);
}

} // namespace

template <>
const VectorKernels<float>& VectorKernelsFor<float>(InstructionSet set)
{
    return *KernelSetFor(set).floats;
}

template <>
const VectorKernels<double>& VectorKernelsFor<double>(InstructionSet set)
{
    return *KernelSetFor(set).doubles;
}

} // namespace cntk
