// Loops over the element-wise formulas, one operation each; a part of VectorKernelTemplates.h.
#pragma once

#include "Math/Cpu/Kernels/VectorLanes.h"
#include "Math/Cpu/Kernels/VectorMath.h"
#include "Math/Cpu/VectorKernels.h"

namespace cntk::simd
{
namespace
{

#define CNTK_FORMULA_ROW(name, arity, expression)                                                                      \
    struct name##Formula                                                                                               \
    {                                                                                                                  \
        static constexpr int c_arity = arity;                                                                          \
        template <class T>                                                                                             \
        [[gnu::always_inline]] static T Of([[maybe_unused]] T a, [[maybe_unused]] T b, [[maybe_unused]] T c)           \
        {                                                                                                              \
            return expression;                                                                                         \
        }                                                                                                              \
    };
CNTK_ELEMENTWISE_OPS(CNTK_FORMULA_ROW)
#undef CNTK_FORMULA_ROW

template <class Activation>
struct ActivatedSum
{
    static constexpr int c_arity = 2;
    template <class T>
    [[gnu::always_inline]] static T Of(T a, T b, T)
    {
        return Activation::Of(a + b, T(0), T(0));
    }
};

// Formulas for which the elements left over after whole vectors are worth a vector of their own.
template <class Formula>
constexpr bool c_isExpensive = false;
template <>
constexpr bool c_isExpensive<ExpFormula> = true;
template <>
constexpr bool c_isExpensive<LogFormula> = true;
template <>
constexpr bool c_isExpensive<SigmoidFormula> = true;
template <>
constexpr bool c_isExpensive<TanhFormula> = true;
template <>
constexpr bool c_isExpensive<LogGradientFormula> = true;
template <class Activation>
constexpr bool c_isExpensive<ActivatedSum<Activation>> = c_isExpensive<Activation>;

// Formulas in two steps, each over a stretch of elements that stays in the cache: one after the other they are so long
// a chain of instructions that a processor has too few elements under way at a time.
template <class Formula>
struct Steps
{
    static constexpr bool c_areTwo = false;
};
// Computes the exponential of a value, then a quotient of it.
template <class Function>
struct ExponentialAndQuotient
{
    static constexpr bool c_areTwo = true;
    template <class T>
    [[gnu::always_inline]] static T First(T a, T)
    {
        return Function::Exponential(a);
    }
    template <class T>
    [[gnu::always_inline]] static T Second(T a, T, T first)
    {
        return Function::Quotient(a, first);
    }
};
template <>
struct Steps<SigmoidFormula> : ExponentialAndQuotient<LogisticSteps>
{
};
template <>
struct Steps<TanhFormula> : ExponentialAndQuotient<TangentSteps>
{
};
template <class Activation>
struct Steps<ActivatedSum<Activation>>
{
    static constexpr bool c_areTwo = Steps<Activation>::c_areTwo;
    template <class T>
    [[gnu::always_inline]] static T First(T a, T b)
    {
        return Steps<Activation>::First(a + b, b);
    }
    template <class T>
    [[gnu::always_inline]] static T Second(T a, T b, T first)
    {
        return Steps<Activation>::Second(a + b, b, first);
    }
};

template <class T, class Formula, bool repeatFirst, bool repeatSecond, bool blend>
[[gnu::always_inline]] inline void ElementwiseStretch(const T* a, const T* b, const T* c, T* output, size_t count,
                                                      T alpha, T beta)
{
    constexpr bool readsSecond = Formula::c_arity >= 2 && !repeatSecond;
    const T firstValue = repeatFirst ? *a : T(0);
    const T secondValue = repeatSecond ? *b : T(0);
#pragma omp simd
    for (size_t i = 0; i < count; ++i)
    {
        const T first = repeatFirst ? firstValue : a[i];
        const T second = readsSecond ? b[i] : secondValue;
        const T third = Formula::c_arity >= 3 ? c[i] : T(0);
        const T value = alpha * Formula::template Of<T>(first, second, third);
        output[i] = blend ? value + beta * output[i] : value;
    }
}

// The same of a formula in two steps.
template <class T, class Formula, bool blend>
[[gnu::always_inline]] inline void ElementwiseInSteps(const T* a, const T* b, T* output, size_t count, T alpha, T beta)
{
    constexpr size_t longest = 2048 / sizeof(T);
    alignas(64) T between[longest];
    for (size_t begin = 0; begin < count; begin += longest)
    {
        const size_t size = count - begin < longest ? count - begin : longest;
        const T* const first = a + begin;
        const T* const second = b + (Formula::c_arity >= 2 ? begin : 0);
        T* const to = output + begin;
#pragma omp simd
        for (size_t i = 0; i < size; ++i)
            between[i] = Steps<Formula>::First(first[i], Formula::c_arity >= 2 ? second[i] : T(0));
#pragma omp simd
        for (size_t i = 0; i < size; ++i)
        {
            const T value =
                alpha * Steps<Formula>::Second(first[i], Formula::c_arity >= 2 ? second[i] : T(0), between[i]);
            to[i] = blend ? value + beta * to[i] : value;
        }
    }
}

// The last elements of a row, fewer than a vector, in a vector of their own.
template <class T, class Formula, bool blend>
[[gnu::always_inline]] inline void ElementwiseRest(const T* a, const T* b, T* output, size_t count, T alpha, T beta)
{
    constexpr size_t length = c_vectorLength<T>;
    alignas(64) T first[length], second[length] = {}, result[length];
    LoadFirst(first, a, count);
    if constexpr (Formula::c_arity >= 2)
        LoadFirst(second, b, count);
    if constexpr (blend)
        LoadFirst(result, output, count);
    ElementwiseStretch<T, Formula, false, false, blend>(first, second, nullptr, result, length, alpha, beta);
    StoreFirst(output, result, count);
}

template <class T, class Formula, bool repeatFirst, bool repeatSecond, bool blend>
[[gnu::always_inline]] inline void ElementwiseRow(const T* a, const T* b, const T* c, T* output, size_t count, T alpha,
                                                  T beta)
{
    if constexpr (!c_isExpensive<Formula> || repeatFirst || repeatSecond)
        ElementwiseStretch<T, Formula, repeatFirst, repeatSecond, blend>(a, b, c, output, count, alpha, beta);
    else
    {
        const size_t rest = count % c_vectorLength<T>;
        const size_t whole = count - rest;
        if constexpr (Steps<Formula>::c_areTwo)
            ElementwiseInSteps<T, Formula, blend>(a, b, output, whole, alpha, beta);
        else
            ElementwiseStretch<T, Formula, false, false, blend>(a, b, c, output, whole, alpha, beta);
        if (rest > 0)
            ElementwiseRest<T, Formula, blend>(a + whole, b + (Formula::c_arity >= 2 ? whole : 0), output + whole, rest,
                                               alpha, beta);
    }
}

// True if the columns of all operands are contiguous.
template <class T, class Formula>
[[gnu::always_inline]] inline bool IsOneRow(const ElementwiseLoop<T>& loop)
{
    bool isOne = loop.outputStride == ptrdiff_t(loop.inner);
    for (int i = 0; i < Formula::c_arity; ++i)
        isOne = isOne && loop.inputStrides[i] == loop.outputStride;
    return isOne;
}

template <class T, class Formula, bool repeatFirst, bool repeatSecond>
void ElementwiseKernel(const ElementwiseLoop<T>& loop)
{
    const T alpha = loop.alpha;
    const T beta = loop.beta;
    const bool isOneRow = !repeatFirst && !repeatSecond && IsOneRow<T, Formula>(loop);
    const size_t outer = isOneRow && loop.outer > 0 ? 1 : loop.outer;
    const size_t inner = isOneRow ? loop.inner * loop.outer : loop.inner;
    for (size_t j = 0; j < outer; ++j)
    {
        const ptrdiff_t column = ptrdiff_t(j);
        const T* a = loop.inputs[0] + column * loop.inputStrides[0];
        const T* b = loop.inputs[1] + (Formula::c_arity >= 2 ? column * loop.inputStrides[1] : 0);
        const T* c = loop.inputs[2] + (Formula::c_arity >= 3 ? column * loop.inputStrides[2] : 0);
        T* output = loop.output + column * loop.outputStride;
        if (beta == T(0))
            ElementwiseRow<T, Formula, repeatFirst, repeatSecond, false>(a, b, c, output, inner, alpha, beta);
        else
            ElementwiseRow<T, Formula, repeatFirst, repeatSecond, true>(a, b, c, output, inner, alpha, beta);
    }
}

template <class T, class Formula, bool repeatFirst, bool repeatSecond>
constexpr typename VectorKernels<T>::ElementwiseFunction RepeatedKernel()
{
    if constexpr (Formula::c_arity == 2)
        return &ElementwiseKernel<T, Formula, repeatFirst, repeatSecond>;
    else
        return nullptr;
}

} // namespace
} // namespace cntk::simd
