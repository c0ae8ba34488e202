// The libraries behind the one matrix product: opened when first used, told to run on the calling thread alone. The
// threads are ours (ThreadPool.h); a second pool beside them would ruin both.
#pragma once

#include "Math/Cpu/CpuKernelTable.h"

#include <string>

namespace cntk
{

enum class GemmEngine
{
    Own,
    OpenBlas,
    OneDnn
};
const char* NameOf(GemmEngine engine);

// Tells OpenBLAS the processor's core type in its environment variables, where the user has not set them: Debian's
// version does not know recent processors and would fall back to kernels at a half or a fifth of their speed. It reads
// them when it is loaded, which a reader's plugin may bring about: for the beginning of the program.
void PrepareEngines();

// Null where the library is missing.
using SingleGemm = void (*)(const GemmTask<float>& task);
using DoubleGemm = void (*)(const GemmTask<double>& task);
SingleGemm FindSingleGemm(GemmEngine engine);
DoubleGemm FindDoubleGemm(GemmEngine engine);

// "OpenBLAS Haswell"; empty where the library is missing. Loads it.
std::string DescribeEngine(GemmEngine engine);

} // namespace cntk
