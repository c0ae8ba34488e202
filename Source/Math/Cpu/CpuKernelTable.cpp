// Detects the processor's instruction set and fills its table.
#include "Math/Cpu/CpuKernelTable.h"

#include "Math/Cpu/Kernels/CompiledFor.h"

namespace cntk
{

namespace
{

template <InstructionSet set>
const CpuKernelTable& Table()
{
    static const CpuKernelTable table{MakeProductKernels<set>(), MakeVectorKernels<set>(), MakeUpdateKernels<set>(),
                                      MakeNoiseKernels<set>(), MakeImageKernels<set>()};
    return table;
}

} // namespace

InstructionSet BestInstructionSet()
{
    // These also check that the operating system saves the registers.
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

// Filling a table runs code of its instruction set, so only the table asked for is filled.
const CpuKernelTable& KernelsFor(InstructionSet set)
{
    switch (set)
    {
    case InstructionSet::Avx512:
        return Table<InstructionSet::Avx512>();
    case InstructionSet::Avx2:
        return Table<InstructionSet::Avx2>();
    case InstructionSet::Baseline:
        break;
    }
    return Table<InstructionSet::Baseline>();
}

} // namespace cntk
