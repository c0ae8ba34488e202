// The vector kernels of this instruction set, written as plain loops that compilers vectorise.
#include "Math/Cpu/Kernels/CompiledFor.h"
#include "Math/Cpu/Kernels/VectorChain.h"
#include "Math/Cpu/Kernels/VectorColumnSum.h"
#include "Math/Cpu/Kernels/VectorElementwise.h"
#include "Math/Cpu/Kernels/VectorProduct.h"
#include "Math/Cpu/Kernels/VectorReduction.h"
#include "Math/Cpu/Kernels/VectorSoftmax.h"

namespace cntk::simd
{
namespace
{

// ---- update rules ---------------------------------------------------------------------------------------------------

template <class T>
void MomentumUpdate(const UpdateBlock<T>& b, T momentum, T factor, T rate)
{
    for (size_t column = 0; column < b.columns; ++column)
    {
        T* const w = b.parameter + column * b.stride;
        T* const s = b.smoothed + column * b.stride;
        const T* const g = b.gradient + column * b.gradientStride;
#pragma omp simd
        for (size_t i = 0; i < b.rows; ++i)
        {
            const T smoothed = momentum * s[i] + factor * g[i];
            s[i] = smoothed;
            w[i] = AddedTo(w[i], -rate, smoothed);
        }
    }
}

template <class T>
void Descend(const UpdateBlock<T>& b, T factor, T rate)
{
    for (size_t column = 0; column < b.columns; ++column)
    {
        T* const w = b.parameter + column * b.stride;
        const T* const g = b.gradient + column * b.gradientStride;
#pragma omp simd
        for (size_t i = 0; i < b.rows; ++i)
        {
            const T smoothed = factor * g[i];
            w[i] = AddedTo(w[i], -rate, smoothed);
        }
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
    static_assert(KnownChains::c_count == 2);
    kernels.knownChains[0] = &ChainLoop<T, 0>::Run;
    kernels.knownChains[1] = &ChainLoop<T, 1>::Run;
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
    if constexpr (c_vectorBytes == 64)
        kernels.sumInnerProducts = &SumInnerProducts<T>;
    kernels.addCombination = &AddCombination<T>;
    kernels.addColumns = &AddColumns<T>;
    kernels.descendByCombinations = &DescendByCombinations<T>;
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

} // namespace
} // namespace cntk::simd

namespace cntk
{

template <>
ForFloatAndDouble<VectorKernels> MakeVectorKernels<c_compiledFor>()
{
    return {simd::MakeKernels<float>(), simd::MakeKernels<double>()};
}

} // namespace cntk
