// The inner loops of update rules as compiled for each instruction set: one table of functions each.
#pragma once

#include "Math/Cpu/NoiseIsa.h"
#include "Math/Cpu/VectorKernels.h"
#include "Math/UpdateFormulas.h"

#include <cstddef>

namespace cntk
{

// A stretch of elements that lie side by side in every matrix.
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
struct UpdateIsa
{
    // The whole update in one pass.
    void (*update[c_updateFormulas])(const UpdateLoop<T>& loop);
    // For rules with multipliers, else null: changes the state, puts the directions where the gradient was, and returns
    // the sum of the multipliers.
    double (*direct[c_updateFormulas])(const UpdateLoop<T>& loop);
    // parameter -= rate * what direct left, and what happens to a parameter after every rule.
    void (*descend)(const UpdateLoop<T>& loop);
};

struct UpdateIsaSet
{
    const UpdateIsa<float>* floats;
    const UpdateIsa<double>* doubles;
};

// The set must be one that the processor has.
UpdateIsaSet UpdateIsaFor(InstructionSet set);
UpdateIsaSet UpdateBaseline();
UpdateIsaSet UpdateAvx2();
UpdateIsaSet UpdateAvx512();

} // namespace cntk
