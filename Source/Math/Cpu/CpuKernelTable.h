// The inner loops of the CPU backend. Every file in Kernels/ is compiled once for each instruction set (see
// Math/CMakeLists.txt); the device takes the best set that the processor runs.
#pragma once

#include "Math/Cpu/GemmFunctions.h"
#include "Math/Cpu/ImageFunctions.h"
#include "Math/Cpu/UpdateKernels.h"
#include "Math/Cpu/VectorKernels.h"

#include <cstdint>

namespace cntk
{

enum class InstructionSet : uint8_t
{
    Baseline, // every x86-64: SSE2
    Avx2,     // with FMA
    Avx512    // F, BW, DQ, VL
};

// The best instruction set that this processor runs.
InstructionSet BestInstructionSet();
const char* NameOf(InstructionSet set);

// Functions for both element types.
template <template <class> class Functions>
struct ForFloatAndDouble
{
    Functions<float> floats;
    Functions<double> doubles;

    template <class T>
    const Functions<T>& Of() const
    {
        if constexpr (sizeof(T) == sizeof(float))
            return floats;
        else
            return doubles;
    }
};

using ProductKernels = ForFloatAndDouble<GemmFunctions>;

struct CpuKernelTable
{
    ProductKernels products;
    ForFloatAndDouble<VectorKernels> vectors;
    ForFloatAndDouble<UpdateKernels> updates;
    ForFloatAndDouble<NoiseFunction> noise; // the same bits with every instruction set
    ForFloatAndDouble<ImageFunctions> images;
};

// The processor must run the instruction set.
const CpuKernelTable& KernelsFor(InstructionSet set);

} // namespace cntk
