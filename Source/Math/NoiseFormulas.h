// Normally distributed noise, each number worked out from its place alone: a counter-based generator, so that threads,
// cards and passes over memory need no order. Written once; g++, clang and nvcc compile it.
//
// Lanes gives the words that are mixed together: one, or a register full of them. Functions gives what an instruction
// set or a device has of its own: a type with SquareRoot, LogOf (of a number in (0, 1]), SineOf and CosineOf (of an
// angle of at most pi/4) and ToNumber (of a whole number below 2^52). Code for one instruction set must never be linked
// into another's, so theirs are in unnamed namespaces.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define CNTK_NOISE_FORMULA __host__ __device__ static inline
#else
#define CNTK_NOISE_FORMULA [[gnu::always_inline]] static inline
#endif

namespace cntk
{

// Which noise: streams of different seeds, and draws of different numbers in a stream, have nothing to do with each
// other.
struct NoiseDraw
{
    uint64_t seed = 0;
    uint64_t number = 0;
};

struct OneWord
{
    using Words = uint32_t;
    CNTK_NOISE_FORMULA Words Of(uint32_t word) { return word; }
    CNTK_NOISE_FORMULA uint64_t Product(Words word, uint32_t factor) { return uint64_t(word) * factor; }
    CNTK_NOISE_FORMULA Words High(uint64_t product) { return Words(product >> 32); }
    CNTK_NOISE_FORMULA Words Low(uint64_t product) { return Words(product); }
};

// Philox4x32 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; 2011): four random words of
// a counter of four and a key of two.
template <class Lanes, uint32_t rounds>
struct Philox
{
    using Words = typename Lanes::Words;

    CNTK_NOISE_FORMULA void Round(Words (&words)[4], uint32_t firstKey, uint32_t secondKey)
    {
        const auto left = Lanes::Product(words[0], 0xD2511F53u);
        const auto right = Lanes::Product(words[2], 0xCD9E8D57u);
        words[0] = Lanes::High(right) ^ words[1] ^ Lanes::Of(firstKey);
        words[1] = Lanes::Low(right);
        words[2] = Lanes::High(left) ^ words[3] ^ Lanes::Of(secondKey);
        words[3] = Lanes::Low(left);
    }

    // words: the counter, then what it gives.
    CNTK_NOISE_FORMULA void Mix(Words (&words)[4], uint64_t key)
    {
#ifndef __CUDACC__ // which unrolls it anyway
#pragma GCC unroll 10
#endif
        for (uint32_t round = 0; round < rounds; ++round)
            Round(words, uint32_t(key) + round * 0x9E3779B9u, uint32_t(key >> 32) + round * 0xBB67AE85u);
    }
};

// Seven rounds pass all of the authors' tests; they advise ten for work that the quality of numbers decides.
template <class Lanes>
using NoiseGenerator = Philox<Lanes, 7>;

// A counter gives 16 bytes of numbers. They come in groups of 16 counters: the first number of each counter of the
// group, then the second of each, and so on, so that a group is vectors of any length.
constexpr size_t c_noiseCounters = 16;
template <class T>
constexpr size_t c_noiseGroup = c_noiseCounters * 16 / sizeof(T);

struct Noise
{
    // Words as long as a number of the type.
    CNTK_NOISE_FORMULA uint32_t WordOf(const uint32_t* words, float) { return words[0]; }
    CNTK_NOISE_FORMULA uint64_t WordOf(const uint32_t* words, double) { return uint64_t(words[1]) << 32 | words[0]; }

    // In (0, 1]: as many bits as the type has near 0, 31 at most.
    template <class Functions>
    CNTK_NOISE_FORMULA float ToUniform(uint32_t word)
    {
        return (float(int32_t(word >> 1)) + 0.5f) * 0x1p-31f;
    }
    // In (0, 1).
    template <class Functions>
    CNTK_NOISE_FORMULA double ToUniform(uint64_t word)
    {
        return (Functions::ToNumber(word >> 12) + 0.5) * 0x1p-52;
    }
    // From -pi/4 to pi/4.
    template <class Functions>
    CNTK_NOISE_FORMULA float ToAngle(uint32_t word)
    {
        return float(int32_t(word)) * (0.785398163397448f * 0x1p-31f);
    }
    template <class Functions>
    CNTK_NOISE_FORMULA double ToAngle(uint64_t word)
    {
        return (Functions::ToNumber(word >> 12) * 0x1p-52 - 0.5) * 1.57079632679489661923;
    }

    // Box and Muller's transform. The second word's bits say on which side of its axis a point of the circle lies,
    // which axis that is, and the angle to it.
    template <class Functions, class T, class Word>
    CNTK_NOISE_FORMULA void NormalPair(Word radiusWord, Word angleWord, T deviation, T& first, T& second)
    {
        const T radius = deviation * Functions::SquareRoot(T(-2) * Functions::LogOf(ToUniform<Functions>(radiusWord)));
        const T angle = ToAngle<Functions>(Word(angleWord << 2));
        const T sine = Functions::SineOf(angle);
        const T magnitude = Functions::CosineOf(angle);
        const T cosine = (angleWord >> (8 * sizeof(T) - 1)) != 0 ? -magnitude : magnitude;
        const bool swaps = ((angleWord >> (8 * sizeof(T) - 2)) & 1) != 0;
        first = radius * (swaps ? sine : cosine);
        second = radius * (swaps ? cosine : sine);
    }

    // The number at one place of a draw.
    template <class Functions, class T>
    CNTK_NOISE_FORMULA T At(const NoiseDraw& draw, uint64_t index, T deviation)
    {
        const uint64_t counter = index / c_noiseGroup<T> * c_noiseCounters + index % c_noiseCounters;
        const size_t place = index % c_noiseGroup<T> / c_noiseCounters; // among the numbers of its counter
        uint32_t words[4] = {uint32_t(counter), uint32_t(counter >> 32), uint32_t(draw.number),
                             uint32_t(draw.number >> 32)};
        NoiseGenerator<OneWord>::Mix(words, draw.seed);
        const uint32_t* const ofPair = words + place / 2 * 2;
        T first, second;
        NormalPair<Functions>(WordOf(ofPair, T()), WordOf(ofPair + sizeof(T) / 4, T()), deviation, first, second);
        return place % 2 == 0 ? first : second;
    }
};

} // namespace cntk
