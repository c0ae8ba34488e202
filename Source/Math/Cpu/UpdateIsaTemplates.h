// The loops over the update rules' formulas; one source compiled for each instruction set. Everything is in an unnamed
// namespace: code for one instruction set must never be linked into another's.
#pragma once

#include "Math/Cpu/UpdateIsa.h"

namespace cntk
{
namespace
{

struct UpdateFunctions
{
    [[gnu::always_inline]] static inline float SquareRoot(float x) { return __builtin_sqrtf(x); }
    [[gnu::always_inline]] static inline double SquareRoot(double x) { return __builtin_sqrt(x); }
};

template <class T>
struct UpdateLoops
{
    // Sums in T over so many elements lose nothing that matters.
    static constexpr size_t c_block = 1024;
    // Elements that are asked for together, and how far ahead of their use.
    static constexpr size_t c_stretch = 256 / sizeof(T);
    static constexpr size_t c_ahead = 1024 / sizeof(T);

    // parameter: 0 where nothing is added of it.
    template <class Rule, size_t states>
    [[gnu::always_inline]] static inline T DirectionAt(const UpdateLoop<T>& loop, size_t i, T parameter, T& multiplier)
    {
        T unused = 0;
        T first = loop.states[0][i];
        T second = states >= 2 ? loop.states[1][i] : T(0);
        T third = states >= 3 ? loop.states[2][i] : T(0);
        const T gradient = UpdateExtrasOf::Gradient<T>(loop.extras, loop.gradient[i], parameter);
        const T direction = Rule::template Direction<UpdateFunctions, T>(
            loop.constants, gradient, first, states >= 2 ? second : unused, states >= 3 ? third : unused, multiplier);
        loop.states[0][i] = first;
        if constexpr (states >= 2)
            loop.states[1][i] = second;
        if constexpr (states >= 3)
            loop.states[2][i] = third;
        return direction;
    }

    [[gnu::always_inline]] static inline T Stepped(const UpdateLoop<T>& loop, T parameter, T direction)
    {
        return UpdateExtrasOf::Parameter<T>(loop.extras, parameter - loop.rate * direction);
    }

    // Asks for the elements some way behind the i-th of all matrices: several streams at once are more than the
    // processor foresees alone.
    template <size_t states>
    [[gnu::always_inline]] static inline void Prefetch(const UpdateLoop<T>& loop, size_t i)
    {
        for (size_t line = 0; line < c_stretch; line += 64 / sizeof(T))
        {
            const size_t ahead = i + c_ahead + line;
            __builtin_prefetch(loop.parameter + ahead, 1);
            __builtin_prefetch(loop.gradient + ahead, 0);
            for (size_t state = 0; state < states; ++state)
                __builtin_prefetch(loop.states[state] + ahead, 1);
        }
    }

    template <class Rule, size_t states>
    [[gnu::always_inline]] static inline void UpdateStretch(const UpdateLoop<T>& loop, size_t begin, size_t end)
    {
#pragma omp simd
        for (size_t i = begin; i < end; ++i)
        {
            T multiplier = 0;
            const T direction = DirectionAt<Rule, states>(loop, i, loop.parameter[i], multiplier);
            loop.parameter[i] = Stepped(loop, loop.parameter[i], direction);
        }
    }

    template <class Rule, size_t states>
    static void Update(const UpdateLoop<T>& given)
    {
        const UpdateLoop<T> loop = given; // nothing that is written can be a part of it
        size_t i = 0;
        for (; i + c_stretch <= loop.count; i += c_stretch)
        {
            Prefetch<states>(loop, i);
            UpdateStretch<Rule, states>(loop, i, i + c_stretch);
        }
        UpdateStretch<Rule, states>(loop, i, loop.count);
    }

    // Without decay the parameter is not read at all, which is an eighth of what is moved.
    template <class Rule, size_t states>
    static double Direct(const UpdateLoop<T>& loop)
    {
        return loop.extras.decay == T(0) ? Direct<Rule, states, false>(loop) : Direct<Rule, states, true>(loop);
    }

    template <class Rule, size_t states, bool decays>
    static double Direct(const UpdateLoop<T>& given)
    {
        const UpdateLoop<T> loop = given;
        double total = 0;
        for (size_t begin = 0; begin < loop.count; begin += c_block)
        {
            const size_t end = begin + c_block < loop.count ? begin + c_block : loop.count;
            T sum = 0;
#pragma omp simd reduction(+ : sum)
            for (size_t i = begin; i < end; ++i)
            {
                T multiplier = 0;
                loop.gradient[i] = DirectionAt<Rule, states>(loop, i, decays ? loop.parameter[i] : T(0), multiplier);
                sum += multiplier;
            }
            total += double(sum);
        }
        return total;
    }

    static void Descend(const UpdateLoop<T>& given)
    {
        const UpdateLoop<T> loop = given;
#pragma omp simd
        for (size_t i = 0; i < loop.count; ++i)
            loop.parameter[i] = Stepped(loop, loop.parameter[i], loop.gradient[i]);
    }

    static constexpr UpdateIsa<T> Table()
    {
        UpdateIsa<T> table{};
#define CNTK_TABLE_ROW(name, count, multiplies)                                                                        \
    table.update[size_t(UpdateFormula::name)] = &Update<name##UpdateRule, count>;                                      \
    if constexpr (multiplies)                                                                                          \
        table.direct[size_t(UpdateFormula::name)] = &Direct<name##UpdateRule, count>;
        CNTK_UPDATE_RULES(CNTK_TABLE_ROW)
#undef CNTK_TABLE_ROW
        table.descend = &Descend;
        return table;
    }
};

constexpr UpdateIsa<float> c_floatUpdates = UpdateLoops<float>::Table();
constexpr UpdateIsa<double> c_doubleUpdates = UpdateLoops<double>::Table();

} // namespace
} // namespace cntk
