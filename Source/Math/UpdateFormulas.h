// The update rules, each written once as what happens to one element; g++, clang and nvcc compile them. Which state a
// rule has and what its numbers mean stands here and nowhere else.
//
// Functions gives what an instruction set or a device has of its own: a type with SquareRoot. Code for one instruction
// set must never be linked into another's, so theirs are in unnamed namespaces.
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

// What happens to a gradient before every rule and to a parameter after it; the defaults change nothing.
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
