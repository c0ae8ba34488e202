// The loops that draw noise, as compiled for each instruction set. All give the same bits.
#pragma once

#include "Math/Cpu/VectorKernels.h"
#include "Math/NoiseFormulas.h"

namespace cntk
{

// The numbers of a group: values has c_noiseGroup<T> elements and is aligned to 64 bytes.
template <class T>
using NoiseFunction = void (*)(const NoiseDraw& draw, uint64_t group, T deviation, T* values);

struct NoiseIsaSet
{
    NoiseFunction<float> floats;
    NoiseFunction<double> doubles;

    NoiseFunction<float> Of(float) const { return floats; }
    NoiseFunction<double> Of(double) const { return doubles; }
};

// The set must be one that the processor has.
NoiseIsaSet NoiseIsaFor(InstructionSet set);
NoiseIsaSet NoiseBaseline();
NoiseIsaSet NoiseAvx2();
NoiseIsaSet NoiseAvx512();

} // namespace cntk
