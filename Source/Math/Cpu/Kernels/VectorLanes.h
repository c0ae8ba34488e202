// Vectors of the instruction set that this is compiled for, as arrays of as many elements; parts of them. Everything
// has internal linkage (see VectorMath.h).
#pragma once

#include "Math/Cpu/Kernels/CompiledFor.h"

#include <cstddef>

// Loads and stores of a part of a register, which compilers do not make of loops.
#if defined(__AVX512F__) && !defined(CNTK_EMULATE_AVX512)
#define CNTK_VECTOR_MASKS
#include <immintrin.h>
#endif

namespace cntk::simd
{
namespace
{

constexpr size_t c_vectorBytes = c_registerBytes;
template <class T>
constexpr size_t c_vectorLength = c_vectorBytes / sizeof(T);

// A vector of which only the first so many elements are there, from 1 on; the others get values without meaning.
#if defined(CNTK_VECTOR_MASKS)
[[maybe_unused, gnu::always_inline]] inline void LoadFirst(float* to, const float* from, size_t count)
{
    _mm512_store_ps(to, _mm512_maskz_loadu_ps(__mmask16((1u << count) - 1), from));
}
[[maybe_unused, gnu::always_inline]] inline void LoadFirst(double* to, const double* from, size_t count)
{
    _mm512_store_pd(to, _mm512_maskz_loadu_pd(__mmask8((1u << count) - 1), from));
}
[[maybe_unused, gnu::always_inline]] inline void StoreFirst(float* to, const float* from, size_t count)
{
    _mm512_mask_storeu_ps(to, __mmask16((1u << count) - 1), _mm512_load_ps(from));
}
[[maybe_unused, gnu::always_inline]] inline void StoreFirst(double* to, const double* from, size_t count)
{
    _mm512_mask_storeu_pd(to, __mmask8((1u << count) - 1), _mm512_load_pd(from));
}
#else
template <class T>
[[gnu::always_inline]] inline void LoadFirst(T* to, const T* from, size_t count)
{
    for (size_t i = 0; i < c_vectorLength<T>; ++i)
        to[i] = from[i < count ? i : count - 1];
}
template <class T>
[[gnu::always_inline]] inline void StoreFirst(T* to, const T* from, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        to[i] = from[i];
}
#endif

} // namespace
} // namespace cntk::simd
