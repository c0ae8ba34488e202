// The inner loops of update rules and of the noise that they may add.
#pragma once

#include "Math/UpdateFormulas.h"

#include <cstddef>

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

} // namespace cntk
