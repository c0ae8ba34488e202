// The update rules and the noise that they may add, written once as what happens to one element; g++, clang and nvcc
// compile them. The state of a rule and the meaning of its numbers are defined here and nowhere else.
//
// `Functions` supplies what depends on the instruction set or the device: SquareRoot; for noise also LogOf (of a number
// in (0, 1]), SineOf and CosineOf (of an angle of at most pi/4) and ToNumber (of a whole number below 2^52). `Lanes`
// supplies the words that are mixed together: one, or a register full of them. Those of one instruction set are in
// unnamed namespaces, since their code must never be linked into another's.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define CNTK_UPDATE_FORMULA __host__ __device__ static inline
#else
#define CNTK_UPDATE_FORMULA [[gnu::always_inline]] static inline
#endif

namespace cntk
{

// ---- noise ----------------------------------------------------------------------------------------------------------
// Normally distributed. Each value depends on its place alone, so that threads and passes over memory need no order.

// Identifies noise. Different seeds, and different numbers with one seed, give independent noise.
struct NoiseDraw
{
    uint64_t seed = 0;
    uint64_t number = 0;
};

struct OneWord
{
    using Words = uint32_t;
    CNTK_UPDATE_FORMULA Words Of(uint32_t word) { return word; }
    CNTK_UPDATE_FORMULA uint64_t Product(Words word, uint32_t factor) { return uint64_t(word) * factor; }
    CNTK_UPDATE_FORMULA Words High(uint64_t product) { return Words(product >> 32); }
    CNTK_UPDATE_FORMULA Words Low(uint64_t product) { return Words(product); }
};

// Philox4x32 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; 2011): four random words of
// a counter of four and a key of two.
template <class Lanes, uint32_t rounds>
struct Philox
{
    using Words = typename Lanes::Words;

    CNTK_UPDATE_FORMULA void Round(Words (&words)[4], uint32_t firstKey, uint32_t secondKey)
    {
        const auto left = Lanes::Product(words[0], 0xD2511F53u);
        const auto right = Lanes::Product(words[2], 0xCD9E8D57u);
        words[0] = Lanes::High(right) ^ words[1] ^ Lanes::Of(firstKey);
        words[1] = Lanes::Low(right);
        words[2] = Lanes::High(left) ^ words[3] ^ Lanes::Of(secondKey);
        words[3] = Lanes::Low(left);
    }

    // words: the counter, then what it gives.
    CNTK_UPDATE_FORMULA void Mix(Words (&words)[4], uint64_t key)
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
    CNTK_UPDATE_FORMULA uint32_t WordOf(const uint32_t* words, float) { return words[0]; }
    CNTK_UPDATE_FORMULA uint64_t WordOf(const uint32_t* words, double) { return uint64_t(words[1]) << 32 | words[0]; }

    // In (0, 1]: as many bits as the type has near 0, 31 at most.
    template <class Functions>
    CNTK_UPDATE_FORMULA float ToUniform(uint32_t word)
    {
        return (float(int32_t(word >> 1)) + 0.5f) * 0x1p-31f;
    }
    // In (0, 1).
    template <class Functions>
    CNTK_UPDATE_FORMULA double ToUniform(uint64_t word)
    {
        return (Functions::ToNumber(word >> 12) + 0.5) * 0x1p-52;
    }
    // From -pi/4 to pi/4.
    template <class Functions>
    CNTK_UPDATE_FORMULA float ToAngle(uint32_t word)
    {
        return float(int32_t(word)) * (0.785398163397448f * 0x1p-31f);
    }
    template <class Functions>
    CNTK_UPDATE_FORMULA double ToAngle(uint64_t word)
    {
        return (Functions::ToNumber(word >> 12) * 0x1p-52 - 0.5) * 1.57079632679489661923;
    }

    // Box and Muller's transform. The second word's bits say on which side of its axis a point of the circle lies,
    // which axis that is, and the angle to it.
    template <class Functions, class T, class Word>
    CNTK_UPDATE_FORMULA void NormalPair(Word radiusWord, Word angleWord, T deviation, T& first, T& second)
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
    CNTK_UPDATE_FORMULA T At(const NoiseDraw& draw, uint64_t index, T deviation)
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

// ---- update rules ---------------------------------------------------------------------------------------------------

// X(name, matrices of state, has multipliers): parameter -= rate * direction, where a rule with multipliers has
// direction = multiplier * gradient and may divide the rate by their mean. Extras is no rule: a parameter that does not
// move, for what happens to it besides.
#define CNTK_UPDATE_RULES(X)                                                                                           \
    X(Extras, 0, false)                                                                                                \
    X(Momentum, 1, false)                                                                                              \
    X(Nesterov, 1, false)                                                                                              \
    X(AdaGrad, 1, true)                                                                                                \
    X(RmsProp, 3, true)                                                                                                \
    X(FSAdaGrad, 2, false)                                                                                             \
    X(Adam, 2, false)

enum class UpdateFormula : uint8_t
{
#define CNTK_ENUM_ROW(name, states, multiplies) name,
    CNTK_UPDATE_RULES(CNTK_ENUM_ROW)
#undef CNTK_ENUM_ROW
};

constexpr size_t c_updateFormulas = 0
#define CNTK_COUNT_ROW(name, states, multiplies) +1
    CNTK_UPDATE_RULES(CNTK_COUNT_ROW)
#undef CNTK_COUNT_ROW
    ;
constexpr size_t c_mostUpdateStates = 3;

// The numbers of a rule; T is double where a rule is described, the element type where it is computed.
template <class T>
struct UpdateConstants
{
    T momentum = 0;   // of the smoothed gradient that was there
    T gain = 1;       // of the gradient that is added to it
    T keep = 0;       // of the mean square that was there
    T squareGain = 1; // of the square that is added to it
    T floor = 0;      // added to the mean square, or to its root
    T scale = 0;      // FSAdaGrad: of the multipliers
    T most = 0;       // FSAdaGrad: largest multiplier; RmsProp: largest step
    T least = 0;      // RmsProp: smallest step
    T grow = 1;       // RmsProp: of a step while the sign of the gradient stays
    T shrink = 1;     // RmsProp: of a step when it changes

    template <class U>
    UpdateConstants<U> As() const
    {
        return {U(momentum), U(gain), U(keep),  U(squareGain), U(floor),
                U(scale),    U(most), U(least), U(grow),       U(shrink)};
    }
};

// Each has Direction(constants, gradient, the state's elements, multiplier), which changes the state and sets the
// multiplier where it has one.

struct ExtrasUpdateRule
{
    template <class Functions, class T>
    CNTK_UPDATE_FORMULA T Direction(const UpdateConstants<T>&, T, T&, T&, T&, T&)
    {
        return T(0);
    }
};

struct MomentumUpdateRule
{
    template <class Functions, class T>
    CNTK_UPDATE_FORMULA T Direction(const UpdateConstants<T>& c, T gradient, T& smoothed, T&, T&, T&)
    {
        smoothed = c.momentum * smoothed + c.gain * gradient;
        return smoothed;
    }
};

struct NesterovUpdateRule
{
    template <class Functions, class T>
    CNTK_UPDATE_FORMULA T Direction(const UpdateConstants<T>& c, T gradient, T& smoothed, T&, T&, T&)
    {
        smoothed = c.momentum * smoothed + c.gain * gradient;
        return c.momentum * smoothed + c.gain * gradient;
    }
};

struct AdaGradUpdateRule
{
    template <class Functions, class T>
    CNTK_UPDATE_FORMULA T Direction(const UpdateConstants<T>& c, T gradient, T& sum, T&, T&, T& multiplier)
    {
        sum += gradient * gradient;
        multiplier = T(1) / Functions::SquareRoot(sum + c.floor);
        return multiplier * gradient;
    }
};

struct RmsPropUpdateRule
{
    template <class Functions, class T>
    CNTK_UPDATE_FORMULA T Direction(const UpdateConstants<T>& c, T gradient, T& variance, T& lastSign, T& step,
                                    T& multiplier)
    {
        variance = c.keep * variance + c.squareGain * (gradient * gradient);
        const T sign = gradient > T(0) ? T(1) : (gradient < T(0) ? T(-1) : T(0));
        const T grown = step * c.grow;
        const T shrunk = step * c.shrink;
        const T larger = grown < c.most ? grown : c.most;
        const T smaller = shrunk > c.least ? shrunk : c.least;
        step = lastSign * sign > T(0) ? larger : smaller;
        lastSign = sign;
        multiplier = step / Functions::SquareRoot(variance + c.floor);
        return multiplier * gradient;
    }
};

struct FSAdaGradUpdateRule
{
    template <class Functions, class T>
    CNTK_UPDATE_FORMULA T Direction(const UpdateConstants<T>& c, T gradient, T& variance, T& smoothed, T&, T&)
    {
        variance = c.keep * variance + c.squareGain * (gradient * gradient);
        const T quotient = c.scale / Functions::SquareRoot(variance);
        const T limited = quotient < c.most ? quotient : c.most;
        const T weight = variance > T(0) ? limited : T(0);
        const T direction = c.momentum * smoothed + c.gain * (weight * gradient);
        // CNTK v1.1 leaves the smoothed gradient as it was where there is no momentum: schedules such as 0:0.9 and
        // checkpoints show it.
        smoothed = c.momentum > T(0) ? direction : smoothed;
        return direction;
    }
};

struct AdamUpdateRule
{
    template <class Functions, class T>
    CNTK_UPDATE_FORMULA T Direction(const UpdateConstants<T>& c, T gradient, T& smoothed, T& square, T&, T&)
    {
        smoothed = c.momentum * smoothed + c.gain * gradient;
        square = c.keep * square + c.squareGain * (gradient * gradient);
        return smoothed / (Functions::SquareRoot(square) + c.floor);
    }
};

// Changes of a gradient before every rule and of a parameter after it. The defaults change nothing.
template <class T>
struct UpdateExtras
{
    T gradientScale = 1; // clipping by norm
    T gradientLimit = T(__builtin_inf());
    T decay = 0;     // L2: of the parameter, added to the gradient
    T shrinkage = 0; // L1: the parameter goes so far towards 0

    template <class U>
    UpdateExtras<U> As() const
    {
        return {U(gradientScale), U(gradientLimit), U(decay), U(shrinkage)};
    }
};

struct UpdateExtrasOf
{
    template <class T>
    CNTK_UPDATE_FORMULA T Gradient(const UpdateExtras<T>& extras, T gradient, T parameter)
    {
        const T scaled = extras.gradientScale * gradient;
        const T above = scaled < -extras.gradientLimit ? -extras.gradientLimit : scaled;
        return (above > extras.gradientLimit ? extras.gradientLimit : above) + extras.decay * parameter;
    }

    template <class T>
    CNTK_UPDATE_FORMULA T Parameter(const UpdateExtras<T>& extras, T parameter)
    {
        const T lower = parameter - extras.shrinkage;
        const T higher = parameter + extras.shrinkage;
        return lower > T(0) ? lower : (higher < T(0) ? higher : T(0) * parameter);
    }
};

} // namespace cntk
