// The loop over the formulas of noise. It is compiled without fused multiply-adds, so that all instruction sets give
// the same bits.
#include "Math/Cpu/Kernels/CompiledFor.h"
#include "Math/Cpu/Kernels/VectorMath.h"

#ifndef CNTK_EMULATE_AVX512
#include <immintrin.h>
#endif

namespace cntk
{
namespace
{

#if defined(CNTK_EMULATE_AVX512)
constexpr size_t c_noiseVector = 16; // the intrinsics' header cannot be included
#else
constexpr size_t c_noiseVector = c_registerBytes;
#endif

// Words in lanes of twice their length, which the processor multiplies in full; what is in their upper halves is of no
// matter.
struct WordLanes
{
    using Words __attribute__((vector_size(c_noiseVector))) = uint64_t;
    static constexpr size_t c_count = c_noiseVector / sizeof(uint64_t);

    [[gnu::always_inline]] static inline Words Of(uint32_t word) { return Words{} + word; }
    [[gnu::always_inline]] static inline Words Product(Words words, uint32_t factor)
    {
#if defined(CNTK_EMULATE_AVX512)
        return (words & 0xffffffffu) * Of(factor);
#elif defined(__AVX512F__)
        // g++ warns of the form without a mask.
        return Words(_mm512_maskz_mul_epu32(0xff, __m512i(words), __m512i(Of(factor))));
#elif defined(__AVX2__)
        return Words(_mm256_mul_epu32(__m256i(words), __m256i(Of(factor))));
#else
        return Words(_mm_mul_epu32(__m128i(words), __m128i(Of(factor))));
#endif
    }
    [[gnu::always_inline]] static inline Words High(Words product)
    {
        return product >> 32;
    }
    [[gnu::always_inline]] static inline Words Low(Words product)
    {
        return product;
    }
    // Lower halves of both, side by side.
    [[gnu::always_inline]] static inline Words Pack(Words low, Words high)
    {
        return (low & 0xffffffffu) | (high << 32);
    }
    [[gnu::always_inline]] static inline Words Numbered(uint64_t step)
    {
        Words words;
        for (size_t lane = 0; lane < c_count; ++lane)
            words[lane] = lane * step;
        return words;
    }
};

struct NoiseFunctions
{
    template <class T>
    [[gnu::always_inline]] static inline T SquareRoot(T x)
    {
        return simd::SquareRoot(x);
    }
    template <class T>
    [[gnu::always_inline]] static inline T LogOf(T x)
    {
        return simd::LogOfNormal(x);
    }
    template <class T>
    [[gnu::always_inline]] static inline T SineOf(T x)
    {
        return simd::SineOfOctant(x);
    }
    template <class T>
    [[gnu::always_inline]] static inline T CosineOf(T x)
    {
        return simd::CosineOfOctant(x);
    }
    // or-ing it into 2^52 makes it a number
    [[gnu::always_inline]] static inline double ToNumber(uint64_t whole)
    {
        return __builtin_bit_cast(double, whole | 0x4330000000000000u) - 4503599627370496.0;
    }
};

// The words of the group's counters, each as long as a number: those of the radius and those of the angle of the first
// pair of numbers, then of the next.
[[gnu::always_inline]] inline void DrawWords(const NoiseDraw& draw, uint64_t group, uint32_t (*words)[c_noiseCounters])
{
    const uint64_t counter = group * c_noiseCounters;
    // Two counters side by side become one lane.
    for (size_t at = 0; at < c_noiseCounters; at += 2 * WordLanes::c_count)
    {
        const WordLanes::Words even = WordLanes::Numbered(2) + WordLanes::Of(uint32_t(counter) + uint32_t(at));
        WordLanes::Words first[4] = {even, WordLanes::Of(uint32_t(counter >> 32)), WordLanes::Of(uint32_t(draw.number)),
                                     WordLanes::Of(uint32_t(draw.number >> 32))};
        WordLanes::Words second[4] = {even + 1, first[1], first[2], first[3]};
        NoiseGenerator<WordLanes>::Mix(first, draw.seed);
        NoiseGenerator<WordLanes>::Mix(second, draw.seed);
        for (size_t i = 0; i < 4; ++i)
        {
            const WordLanes::Words packed = WordLanes::Pack(first[i], second[i]);
            __builtin_memcpy(words[i] + at, &packed, sizeof packed);
        }
    }
}

[[gnu::always_inline]] inline void DrawWords(const NoiseDraw& draw, uint64_t group, uint64_t (*words)[c_noiseCounters])
{
    const uint64_t counter = group * c_noiseCounters;
    for (size_t at = 0; at < c_noiseCounters; at += WordLanes::c_count)
    {
        WordLanes::Words drawn[4] = {WordLanes::Numbered(1) + WordLanes::Of(uint32_t(counter) + uint32_t(at)),
                                     WordLanes::Of(uint32_t(counter >> 32)), WordLanes::Of(uint32_t(draw.number)),
                                     WordLanes::Of(uint32_t(draw.number >> 32))};
        NoiseGenerator<WordLanes>::Mix(drawn, draw.seed);
        for (size_t i = 0; i < 2; ++i)
        {
            const WordLanes::Words packed = WordLanes::Pack(drawn[2 * i], drawn[2 * i + 1]);
            __builtin_memcpy(words[i] + at, &packed, sizeof packed);
        }
    }
}

// Where a counter gives four numbers, both pairs are made at once: long chains of operations wait less for each other.
template <class T, class Word>
void DrawGroup(const NoiseDraw& draw, uint64_t group, T deviation, T* values)
{
    constexpr size_t words = 16 / sizeof(T);
    alignas(64) Word drawn[words][c_noiseCounters];
    DrawWords(draw, group, drawn);
#pragma omp simd
    for (size_t i = 0; i < c_noiseCounters; ++i)
    {
        T first, second;
        Noise::NormalPair<NoiseFunctions>(drawn[0][i], drawn[1][i], deviation, first, second);
        values[i] = first;
        values[c_noiseCounters + i] = second;
        if constexpr (words == 4)
        {
            T third, fourth;
            Noise::NormalPair<NoiseFunctions>(drawn[2][i], drawn[3][i], deviation, third, fourth);
            values[2 * c_noiseCounters + i] = third;
            values[3 * c_noiseCounters + i] = fourth;
        }
    }
}

} // namespace

template <>
ForFloatAndDouble<NoiseFunction> MakeNoiseKernels<c_compiledFor>()
{
    return {&DrawGroup<float, uint32_t>, &DrawGroup<double, uint64_t>};
}

} // namespace cntk
