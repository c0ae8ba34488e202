// The inner loops, written as plain loops that compilers vectorise. Included once for each instruction set; see
// VectorMath.h for what may be used here.
#pragma once

#include "Math/Cpu/VectorKernels.h"
#include "Math/Cpu/VectorProductTemplates.h"
#include "Math/Cpu/VectorReductionTemplates.h"
#include "Math/Cpu/VectorSoftmaxTemplates.h"

namespace cntk::simd
{
namespace
{

// ---- element-wise ---------------------------------------------------------------------------------------------------

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

// The last elements of a row, fewer than a vector, in a vector of their own.
template <class T, class Formula, bool blend>
[[gnu::always_inline]] inline void ElementwiseRest(const T* a, const T* b, T* output, size_t count, T alpha, T beta)
{
    constexpr size_t length = c_vectorLength<T>;
    T first[length];
    T second[length];
    T result[length];
    for (size_t i = 0; i < length; ++i)
    {
        const size_t at = i < count ? i : count - 1;
        first[i] = a[at];
        second[i] = Formula::c_arity >= 2 ? b[at] : T(0);
        result[i] = blend ? output[at] : T(0);
    }
    ElementwiseStretch<T, Formula, false, false, blend>(first, second, nullptr, result, length, alpha, beta);
    for (size_t i = 0; i < count; ++i)
        output[i] = result[i];
}

template <class T, class Formula, bool repeatFirst, bool repeatSecond, bool blend>
[[gnu::always_inline]] inline void ElementwiseRow(const T* a, const T* b, const T* c, T* output, size_t count, T alpha,
                                                  T beta)
{
    constexpr bool hasRest = c_isExpensive<Formula> && !repeatFirst && !repeatSecond;
    const size_t rest = hasRest ? count % c_vectorLength<T> : 0;
    const size_t whole = count - rest;
    ElementwiseStretch<T, Formula, repeatFirst, repeatSecond, blend>(a, b, c, output, whole, alpha, beta);
    if (rest > 0)
    {
        ElementwiseRest<T, Formula, blend>(a + whole, b + (Formula::c_arity >= 2 ? whole : 0), output + whole, rest,
                                           alpha, beta);
    }
}

template <class T, class Formula, bool repeatFirst, bool repeatSecond>
void ElementwiseKernel(const ElementwiseLoop<T>& loop)
{
    const T alpha = loop.alpha;
    const T beta = loop.beta;
    for (size_t j = 0; j < loop.outer; ++j)
    {
        const ptrdiff_t column = ptrdiff_t(j);
        const T* a = loop.inputs[0] + column * loop.inputStrides[0];
        const T* b = loop.inputs[1] + (Formula::c_arity >= 2 ? column * loop.inputStrides[1] : 0);
        const T* c = loop.inputs[2] + (Formula::c_arity >= 3 ? column * loop.inputStrides[2] : 0);
        T* output = loop.output + column * loop.outputStride;
        if (beta == T(0))
            ElementwiseRow<T, Formula, repeatFirst, repeatSecond, false>(a, b, c, output, loop.inner, alpha, beta);
        else
            ElementwiseRow<T, Formula, repeatFirst, repeatSecond, true>(a, b, c, output, loop.inner, alpha, beta);
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

// ---- update rules ---------------------------------------------------------------------------------------------------

template <class T>
void MomentumUpdate(T* w, T* s, const T* g, size_t count, T momentum, T factor, T rate)
{
#pragma omp simd
    for (size_t i = 0; i < count; ++i)
    {
        const T smoothed = momentum * s[i] + factor * g[i];
        s[i] = smoothed;
        w[i] -= rate * smoothed;
    }
}

template <class T>
void Descend(T* w, const T* g, size_t count, T factor, T rate)
{
#pragma omp simd
    for (size_t i = 0; i < count; ++i)
    {
        const T smoothed = factor * g[i];
        w[i] -= rate * smoothed;
    }
}

// ---- the table ------------------------------------------------------------------------------------------------------

template <class T>
constexpr VectorKernels<T> MakeKernels()
{
    VectorKernels<T> kernels{};
#define CNTK_KERNEL_ROW(name, arity, expression)                                                                       \
    kernels.elementwise[size_t(ElementwiseOp::name)][0] = &ElementwiseKernel<T, name##Formula, false, false>;          \
    kernels.elementwise[size_t(ElementwiseOp::name)][1] = RepeatedKernel<T, name##Formula, true, false>();             \
    kernels.elementwise[size_t(ElementwiseOp::name)][2] = RepeatedKernel<T, name##Formula, false, true>();
    CNTK_ELEMENTWISE_OPS(CNTK_KERNEL_ROW)
#undef CNTK_KERNEL_ROW
    const auto activatedSum = [&](ElementwiseOp op) -> auto&
    {
        return kernels.activatedSum[size_t(op)];
    };
    activatedSum(ElementwiseOp::Copy) = &ElementwiseKernel<T, SumFormula, false, false>;
    activatedSum(ElementwiseOp::Sigmoid) = &ElementwiseKernel<T, ActivatedSum<SigmoidFormula>, false, false>;
    activatedSum(ElementwiseOp::Tanh) = &ElementwiseKernel<T, ActivatedSum<TanhFormula>, false, false>;
    activatedSum(ElementwiseOp::RectifiedLinear) =
        &ElementwiseKernel<T, ActivatedSum<RectifiedLinearFormula>, false, false>;
    kernels.sum = &Sum<T>;
    kernels.sumOfSquares = &SumOfSquares<T>;
    kernels.innerProduct = &InnerProduct<T>;
    kernels.maximum = &Maximum<T>;
    kernels.minimum = &Minimum<T>;
    kernels.sumColumns = &SumColumns<T>;
    kernels.sumProductColumns = &SumProductColumns<T>;
    kernels.sumRows = &SumRows<T>;
    kernels.maximumOfColumns = &MaximumOfColumns<T>;
    kernels.minimumOfColumns = &MinimumOfColumns<T>;
    kernels.hasNotFinite = &HasNotFinite<T>;
    kernels.addScaled = &AddScaled<T>;
    kernels.setScaled = &SetScaled<T>;
    kernels.innerProducts = &InnerProducts<T>;
    kernels.addCombination = &AddCombination<T>;
    kernels.logSoftmax = &LogSoftmax<T>;
    kernels.softmaxColumn = &SoftmaxColumn<T>;
    kernels.softmaxGradient = &SoftmaxGradient<T>;
    kernels.logSoftmaxGradient = &LogSoftmaxGradient<T>;
    kernels.crossEntropy = &CrossEntropy<T>;
    kernels.addScaledDifference = &AddScaledDifference<T>;
    kernels.setScaledDifference = &SetScaledDifference<T>;
    kernels.argMax = &ArgMax<T>;
    kernels.momentumUpdate = &MomentumUpdate<T>;
    kernels.descend = &Descend<T>;
    return kernels;
}

constexpr VectorKernels<float> c_floatKernels = MakeKernels<float>();
constexpr VectorKernels<double> c_doubleKernels = MakeKernels<double>();

} // namespace
} // namespace cntk::simd
