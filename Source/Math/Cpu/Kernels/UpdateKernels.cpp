// The loops over the update rules' formulas.
#include "Math/Cpu/Kernels/CompiledFor.h"

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
    static_assert(c_stretch == c_noiseGroup<T>);
    static constexpr size_t c_ahead = 1024 / sizeof(T);

    // parameter: 0 where nothing is added of it.
    template <class Rule, size_t states>
    [[gnu::always_inline]] static inline T DirectionAt(const UpdateLoop<T>& loop, size_t i, T parameter, T& multiplier)
    {
        T unused = 0;
        T first = states >= 1 ? loop.states[0][i] : T(0);
        T second = states >= 2 ? loop.states[1][i] : T(0);
        T third = states >= 3 ? loop.states[2][i] : T(0);
        const T gradient = UpdateExtrasOf::Gradient<T>(loop.extras, loop.gradient[i], parameter);
        const T direction = Rule::template Direction<UpdateFunctions, T>(
            loop.constants, gradient, states >= 1 ? first : unused, states >= 2 ? second : unused,
            states >= 3 ? third : unused, multiplier);
        if constexpr (states >= 1)
            loop.states[0][i] = first;
        if constexpr (states >= 2)
            loop.states[1][i] = second;
        if constexpr (states >= 3)
            loop.states[2][i] = third;
        return direction;
    }

    template <bool isNoisy>
    [[gnu::always_inline]] static inline T Stepped(const UpdateLoop<T>& loop, T parameter, T direction, const T* noise)
    {
        const T stepped = parameter - loop.rate * direction;
        return UpdateExtrasOf::Parameter<T>(loop.extras, isNoisy ? stepped + *noise : stepped);
    }

    // Calls body(begin, end, noise) for one stretch after another, with the noise of its elements. Noise stays in the
    // nearest cache; it is drawn while memory brings what was asked for.
    template <bool isNoisy, class Body>
    [[gnu::always_inline]] static inline void ForEachStretch(const UpdateLoop<T>& loop, const Body& body)
    {
        alignas(64) T noise[isNoisy ? c_stretch : 1];
        size_t i = 0;
        uint64_t group = loop.noiseIndex / c_stretch;
        if constexpr (isNoisy)
            if (const size_t begun = loop.noiseIndex % c_stretch; begun > 0)
            {
                loop.drawNoise(loop.noise, group++, loop.noiseDeviation, noise);
                i = loop.count < c_stretch - begun ? loop.count : c_stretch - begun;
                body(0, i, noise + begun);
            }
        for (; i + c_stretch <= loop.count; i += c_stretch)
        {
            if constexpr (isNoisy)
                loop.drawNoise(loop.noise, group++, loop.noiseDeviation, noise);
            body(i, i + c_stretch, noise);
        }
        if (i == loop.count)
            return;
        if constexpr (isNoisy)
            loop.drawNoise(loop.noise, group, loop.noiseDeviation, noise);
        body(i, loop.count, noise);
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

    template <class Rule, size_t states, bool isNoisy>
    [[gnu::always_inline]] static inline void UpdateStretch(const UpdateLoop<T>& loop, size_t begin, size_t end,
                                                            const T* noise)
    {
#pragma omp simd
        for (size_t i = begin; i < end; ++i)
        {
            T multiplier = 0;
            const T direction = DirectionAt<Rule, states>(loop, i, loop.parameter[i], multiplier);
            loop.parameter[i] = Stepped<isNoisy>(loop, loop.parameter[i], direction, noise + (i - begin));
        }
    }

    template <class Rule, size_t states>
    static void Update(const UpdateLoop<T>& loop)
    {
        loop.drawNoise == nullptr ? Update<Rule, states, false>(loop) : Update<Rule, states, true>(loop);
    }

    template <class Rule, size_t states, bool isNoisy>
    static void Update(const UpdateLoop<T>& given)
    {
        const UpdateLoop<T> loop = given; // nothing that is written can be a part of it
        ForEachStretch<isNoisy>(
            loop, [&loop](size_t begin, size_t end, const T* noise) __attribute__((always_inline)) {
                Prefetch<states>(loop, begin);
                UpdateStretch<Rule, states, isNoisy>(loop, begin, end, noise);
            });
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

    static void Descend(const UpdateLoop<T>& loop)
    {
        loop.drawNoise == nullptr ? Descend<false>(loop) : Descend<true>(loop);
    }

    template <bool isNoisy>
    static void Descend(const UpdateLoop<T>& given)
    {
        const UpdateLoop<T> loop = given;
        ForEachStretch<isNoisy>(
            loop, [&loop](size_t begin, size_t end, const T* noise) __attribute__((always_inline)) {
#pragma omp simd
                for (size_t i = begin; i < end; ++i)
                    loop.parameter[i] =
                        Stepped<isNoisy>(loop, loop.parameter[i], loop.gradient[i], noise + (i - begin));
            });
    }

    static constexpr UpdateKernels<T> Table()
    {
        UpdateKernels<T> table{};
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

} // namespace

template <>
ForFloatAndDouble<UpdateKernels> MakeUpdateKernels<c_compiledFor>()
{
    return {UpdateLoops<float>::Table(), UpdateLoops<double>::Table()};
}

} // namespace cntk
