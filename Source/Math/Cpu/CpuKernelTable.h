// The inner loops of the CPU backend. Every file in Kernels/ is compiled once for each instruction set (see
// Math/CMakeLists.txt); the device takes the best set that the processor runs.
#pragma once

#include "Math/Cpu/GemmFunctions.h"
#include "Math/Cpu/ImageFunctions.h"
#include "Math/Cpu/VectorKernels.h"
#include "Math/UpdateFormulas.h"

#include <cstddef>
#include <cstdint>

namespace cntk
{

// Draws the noise of a group of elements. `values` has c_noiseGroup<T> elements and is aligned to 64 bytes.
template <class T>
using NoiseFunction = void (*)(const NoiseDraw& draw, uint64_t group, T deviation, T* values);

// Elements that are contiguous in every matrix.
template <class T>
struct UpdateLoop
{
    size_t count = 0;
    T* parameter = nullptr;
    T* gradient = nullptr;
    T* states[c_mostUpdateStates] = {}; // as many as the rule has
    UpdateConstants<T> constants;
    UpdateExtras<T> extras;
    T rate = 1;
    NoiseFunction<T> drawNoise = nullptr; // null: there is none
    NoiseDraw noise;
    T noiseDeviation = 0;
    uint64_t noiseIndex = 0; // of the stretch's first element
};

template <class T>
struct UpdateKernels
{
    // The whole update in one pass.
    void (*update[c_updateFormulas])(const UpdateLoop<T>& loop);
    // For rules with multipliers, else null: changes the state, puts the directions where the gradient was, and returns
    // the sum of the multipliers.
    double (*direct[c_updateFormulas])(const UpdateLoop<T>& loop);
    // parameter -= rate * what direct left, and what happens to a parameter after every rule.
    void (*descend)(const UpdateLoop<T>& loop);
};

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
