// The inner loops, written as plain loops that compilers vectorise. Included once for each instruction set; see
// VectorMath.h for what may be used here.
#pragma once

#include "Math/Cpu/VectorKernels.h"
#include "Math/Cpu/VectorMath.h"

namespace cntk::simd
{
namespace
{

// ---- element-wise
// ------------------------------------------------------------------------------------------------------

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

template <class T, class Formula, bool repeatFirst, bool repeatSecond, bool blend>
[[gnu::always_inline]] inline void ElementwiseRow(const T* a, const T* b, const T* c, T* output, size_t count, T alpha,
                                                  T beta)
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

template <class T, class Formula>
constexpr typename VectorKernels<T>::ElementwiseFunction FirstRepeatedKernel()
{
    if constexpr (Formula::c_arity == 2)
        return &ElementwiseKernel<T, Formula, true, false>;
    else
        return nullptr;
}

template <class T, class Formula>
constexpr typename VectorKernels<T>::ElementwiseFunction SecondRepeatedKernel()
{
    if constexpr (Formula::c_arity == 2)
        return &ElementwiseKernel<T, Formula, false, true>;
    else
        return nullptr;
}

// ---- reductions
// --------------------------------------------------------------------------------------------------------

template <class T>
double Sum(const T* values, size_t count)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; ++i)
        sum += double(values[i]);
    return sum;
}

template <class T>
double SumOfSquares(const T* values, size_t count)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; ++i)
        sum += double(values[i]) * double(values[i]);
    return sum;
}

template <class T>
double InnerProduct(const T* a, const T* b, size_t count)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; ++i)
        sum += double(a[i]) * double(b[i]);
    return sum;
}

// Partial results of 32 lanes; the comparisons pass over NaN.
template <class T, class Better>
[[gnu::always_inline]] inline T Extreme(const T* values, size_t count, T start, Better better)
{
    constexpr size_t lanes = 32;
    T result = start;
    size_t i = 0;
    if (count >= lanes)
    {
        T partial[lanes];
        for (size_t lane = 0; lane < lanes; ++lane)
            partial[lane] = start;
        for (; i + lanes <= count; i += lanes)
        {
#pragma omp simd
            for (size_t lane = 0; lane < lanes; ++lane)
                partial[lane] = better(values[i + lane], partial[lane]) ? values[i + lane] : partial[lane];
        }
        for (size_t lane = 0; lane < lanes; ++lane)
            result = better(partial[lane], result) ? partial[lane] : result;
    }
    for (; i < count; ++i)
        result = better(values[i], result) ? values[i] : result;
    return result;
}

template <class T>
T Maximum(const T* values, size_t count, T start)
{
    return Extreme(values, count, start, [](T a, T b) { return a > b; });
}

template <class T>
T Minimum(const T* values, size_t count, T start)
{
    return Extreme(values, count, start, [](T a, T b) { return a < b; });
}

template <class T>
void SumColumns(const T* values, ptrdiff_t stride, size_t rows, size_t columns, double* sums)
{
    // Blocks of rows whose sums stay in registers.
    constexpr size_t block = 16;
    size_t row = 0;
    for (; row + block <= rows; row += block)
    {
        double partial[block] = {};
        const T* column = values + row;
        for (size_t j = 0; j < columns; ++j, column += stride)
        {
#pragma omp simd
            for (size_t i = 0; i < block; ++i)
                partial[i] += double(column[i]);
        }
        for (size_t i = 0; i < block; ++i)
            sums[row + i] += partial[i];
    }
    for (; row < rows; ++row)
    {
        double sum = 0;
        const T* value = values + row;
        for (size_t j = 0; j < columns; ++j, value += stride)
            sum += double(*value);
        sums[row] += sum;
    }
}

template <class T>
void MaximumOfColumns(const T* values, ptrdiff_t stride, size_t rows, size_t columns, T* result)
{
    for (size_t j = 0; j < columns; ++j, values += stride)
    {
#pragma omp simd
        for (size_t i = 0; i < rows; ++i)
            result[i] = values[i] > result[i] ? values[i] : result[i];
    }
}

template <class T>
void MinimumOfColumns(const T* values, ptrdiff_t stride, size_t rows, size_t columns, T* result)
{
    for (size_t j = 0; j < columns; ++j, values += stride)
    {
#pragma omp simd
        for (size_t i = 0; i < rows; ++i)
            result[i] = values[i] < result[i] ? values[i] : result[i];
    }
}

template <class T>
bool HasNotFinite(const T* values, size_t count)
{
    // x - x is 0 for finite numbers and NaN else; NaN stays in a sum.
    constexpr size_t block = 1024;
    for (size_t i = 0; i < count; i += block)
    {
        const size_t end = count - i < block ? count : i + block;
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t k = i; k < end; ++k)
            sum += values[k] - values[k];
        if (!(sum == T(0)))
            return true;
    }
    return false;
}

template <class T>
void AddScaled(T factor, const T* x, T* y, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; ++i)
        y[i] += factor * x[i];
}

template <class T>
void AddScaledDifference(T scale, const T* a, const T* b, T* output, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; ++i)
        output[i] += scale * (a[i] - b[i]);
}

template <class T>
size_t ArgMax(const T* values, size_t count)
{
    const T largest = Maximum(values, count, values[0]);
    for (size_t i = 0; i < count; ++i)
        if (values[i] == largest)
            return i;
    return 0; // the first element is NaN: nothing is larger
}

// ---- softmax
// -----------------------------------------------------------------------------------------------------------

template <class T>
void LogSoftmaxColumn(const T* input, T* logSoftmax, T* softmax, size_t rows)
{
    const T largest = Maximum(input, rows, input[0]);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < rows; ++i)
        sum += double(Exponential(input[i] - largest));
    const T logSum = T(__builtin_log(sum));
    if (!softmax)
    {
#pragma omp simd
        for (size_t i = 0; i < rows; ++i)
            logSoftmax[i] = (input[i] - largest) - logSum;
        return;
    }
    // Both outputs may be one and the same memory: the softmax is what remains.
#pragma omp simd
    for (size_t i = 0; i < rows; ++i)
    {
        const T value = (input[i] - largest) - logSum;
        logSoftmax[i] = value;
        softmax[i] = Exponential(value);
    }
}

// Few rows: the columns are the lanes, by way of a transposed tile.
template <class T>
void LogSoftmaxFewRows(const ColumnBlock<const T>& input, const ColumnBlock<T>& logSoftmax,
                       const ColumnBlock<T>& softmax, size_t rows, size_t columns)
{
    constexpr size_t lanes = 32;
    constexpr size_t mostRows = 16;
    T tile[mostRows][lanes];
    T exponentials[mostRows][lanes];
    T largest[lanes];
    double sums[lanes];
    T logSums[lanes];
    for (size_t first = 0; first < columns; first += lanes)
    {
        const size_t count = columns - first < lanes ? columns - first : lanes;
        for (size_t lane = 0; lane < lanes; ++lane)
        {
            // Lanes beyond the last column repeat it.
            const T* column = input.data + (first + (lane < count ? lane : count - 1)) * input.stride;
            for (size_t row = 0; row < rows; ++row)
                tile[row][lane] = column[row];
        }
#pragma omp simd
        for (size_t lane = 0; lane < lanes; ++lane)
            largest[lane] = tile[0][lane];
        for (size_t row = 1; row < rows; ++row)
        {
#pragma omp simd
            for (size_t lane = 0; lane < lanes; ++lane)
                largest[lane] = tile[row][lane] > largest[lane] ? tile[row][lane] : largest[lane];
        }
#pragma omp simd
        for (size_t lane = 0; lane < lanes; ++lane)
            sums[lane] = 0;
        for (size_t row = 0; row < rows; ++row)
        {
#pragma omp simd
            for (size_t lane = 0; lane < lanes; ++lane)
            {
                tile[row][lane] -= largest[lane];
                sums[lane] += double(Exponential(tile[row][lane]));
            }
        }
        // The sums are at least 1: the floor of ClippedLog is far.
#pragma omp simd
        for (size_t lane = 0; lane < lanes; ++lane)
            logSums[lane] = ClippedLog(T(sums[lane]));
        for (size_t row = 0; row < rows; ++row)
        {
#pragma omp simd
            for (size_t lane = 0; lane < lanes; ++lane)
                tile[row][lane] -= logSums[lane];
        }
        for (size_t lane = 0; lane < count; ++lane)
            for (size_t row = 0; row < rows; ++row)
                logSoftmax.data[(first + lane) * logSoftmax.stride + row] = tile[row][lane];
        if (!softmax.data)
            continue;
        for (size_t row = 0; row < rows; ++row)
        {
#pragma omp simd
            for (size_t lane = 0; lane < lanes; ++lane)
                exponentials[row][lane] = Exponential(tile[row][lane]);
        }
        for (size_t lane = 0; lane < count; ++lane)
            for (size_t row = 0; row < rows; ++row)
                softmax.data[(first + lane) * softmax.stride + row] = exponentials[row][lane];
    }
}

template <class T>
void LogSoftmax(const ColumnBlock<const T>& input, const ColumnBlock<T>& logSoftmax, const ColumnBlock<T>& softmax,
                size_t rows, size_t columns)
{
    if (rows <= 16 && columns >= 4)
    {
        LogSoftmaxFewRows<T>(input, logSoftmax, softmax, rows, columns);
        return;
    }
    for (size_t column = 0; column < columns; ++column)
    {
        LogSoftmaxColumn<T>(input.data + column * input.stride, logSoftmax.data + column * logSoftmax.stride,
                            softmax.data ? softmax.data + column * softmax.stride : nullptr, rows);
    }
}

template <class T>
void SoftmaxGradient(const T* gradient, const T* value, T* inputGradient, size_t rows)
{
    const T inner = T(InnerProduct(gradient, value, rows));
#pragma omp simd
    for (size_t i = 0; i < rows; ++i)
        inputGradient[i] += value[i] * (gradient[i] - inner);
}

template <class T>
void LogSoftmaxGradient(const T* gradient, const T* value, T* inputGradient, size_t rows)
{
    const T sum = T(Sum(gradient, rows));
#pragma omp simd
    for (size_t i = 0; i < rows; ++i)
        inputGradient[i] += gradient[i] - Exponential(value[i]) * sum;
}

template <class T>
double CrossEntropy(const T* labels, const T* logSoftmax, size_t rows)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < rows; ++i)
    {
        const double product = double(labels[i]) * double(logSoftmax[i]);
        sum -= labels[i] == T(0) ? 0.0 : product;
    }
    return sum;
}

// ---- update rules
// --------------------------------------------------------------------------------------------------------

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

// ---- the table
// ---------------------------------------------------------------------------------------------------------

template <class T>
constexpr VectorKernels<T> MakeKernels()
{
    VectorKernels<T> kernels{};
#define CNTK_KERNEL_ROW(name, arity, expression)                                                                       \
    kernels.elementwise[size_t(ElementwiseOp::name)][0] = &ElementwiseKernel<T, name##Formula, false, false>;          \
    kernels.elementwise[size_t(ElementwiseOp::name)][1] = FirstRepeatedKernel<T, name##Formula>();                     \
    kernels.elementwise[size_t(ElementwiseOp::name)][2] = SecondRepeatedKernel<T, name##Formula>();
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
    kernels.maximumOfColumns = &MaximumOfColumns<T>;
    kernels.minimumOfColumns = &MinimumOfColumns<T>;
    kernels.hasNotFinite = &HasNotFinite<T>;
    kernels.addScaled = &AddScaled<T>;
    kernels.logSoftmax = &LogSoftmax<T>;
    kernels.softmaxGradient = &SoftmaxGradient<T>;
    kernels.logSoftmaxGradient = &LogSoftmaxGradient<T>;
    kernels.crossEntropy = &CrossEntropy<T>;
    kernels.addScaledDifference = &AddScaledDifference<T>;
    kernels.argMax = &ArgMax<T>;
    kernels.momentumUpdate = &MomentumUpdate<T>;
    return kernels;
}

constexpr VectorKernels<float> c_floatKernels = MakeKernels<float>();
constexpr VectorKernels<double> c_doubleKernels = MakeKernels<double>();

} // namespace
} // namespace cntk::simd
