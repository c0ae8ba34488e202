// Inner loops over columns and stretches of elements: element-wise operations, sums, small products, softmax.
#pragma once

#include "Math/ElementwiseOps.h"
#include "Math/KnownChains.h"

#include <cstddef>
#include <cstdint>

namespace cntk
{

// A loop over inner x outer elements. Along the inner axis inputs and output are contiguous, or an input is repeated.
template <class T>
struct ElementwiseLoop
{
    size_t inner = 0;
    size_t outer = 1;
    const T* inputs[3] = {};
    ptrdiff_t inputStrides[3] = {}; // along the outer axis
    T* output = nullptr;
    ptrdiff_t outputStride = 0;
    T alpha = 1;
    T beta = 0; // 0: the output is not read
};

// Columns of a matrix for kernels that work column by column.
template <class T>
struct ColumnBlock
{
    T* data = nullptr;
    size_t stride = 0;

    T* Column(size_t column) const { return data + column * stride; }
};

// Columns of two matrices with the same number of rows.
template <class T>
struct ColumnPair
{
    ColumnBlock<const T> a;
    ColumnBlock<const T> b;
    size_t rows = 0;
};

// The logarithm of the softmax of x is (x - largest) - logSum.
template <class T>
struct Normalizer
{
    T largest = 0;
    T logSum = 0;
};

// Rows and columns of a parameter, of its smoothed gradient (with the same stride) and of its gradient.
template <class T>
struct UpdateBlock
{
    T* parameter = nullptr;
    T* smoothed = nullptr; // null where there is none
    size_t stride = 0;
    const T* gradient = nullptr;
    size_t gradientStride = 0;
    size_t rows = 0;
    size_t columns = 1;
};

// The operands of a known chain without its temporaries, and the strides of their columns (0: one column for all).
template <class T>
struct ChainBlock
{
    T* operands[KnownChain::c_mostOperands];
    ptrdiff_t strides[KnownChain::c_mostOperands];
    size_t rows = 0;
    size_t columns = 0;
};

template <class T>
struct VectorKernels
{
    using ElementwiseFunction = void (*)(const ElementwiseLoop<T>& loop);
    // The inputs that are repeated along the inner axis.
    enum Pattern : uint8_t
    {
        AllContiguous,
        FirstRepeated, // of two
        SecondRepeated // of two
    };
    static constexpr size_t c_operations = 0
#define CNTK_COUNT_ROW(name, arity, expression) +1
        CNTK_ELEMENTWISE_OPS(CNTK_COUNT_ROW)
#undef CNTK_COUNT_ROW
        ;
    // Null for patterns of operations that do not have two operands.
    ElementwiseFunction elementwise[c_operations][3];
    // output = f(first + second) for the activations that networks use; null for other operations.
    ElementwiseFunction activatedSum[c_operations];

    // By number; null if the compiler cannot reproduce the bits of one link after another. Operands that are only read
    // are not written.
    void (*knownChains[KnownChains::c_count])(const ChainBlock<T>& block);

    // These sum in double.
    double (*sum)(const T* values, size_t count);
    double (*sumOfSquares)(const T* values, size_t count);
    double (*innerProduct)(const T* a, const T* b, size_t count);
    T (*maximum)(const T* values, size_t count, T start);
    T (*minimum)(const T* values, size_t count, T start);
    // Work row by row over the columns of a block. They add to sums, or continue from the values in result.
    void (*sumColumns)(const T* values, ptrdiff_t stride, size_t rows, size_t columns, double* sums);
    // The same of products a[i] * b[i], each rounded to T.
    void (*sumProductColumns)(const ColumnBlock<const T>& a, const ColumnBlock<const T>& b, size_t rows, size_t columns,
                              double* sums);
    // sums[j] = the sum of column j
    void (*sumRows)(const T* values, ptrdiff_t stride, size_t rows, size_t columns, double* sums);
    void (*maximumOfColumns)(const T* values, ptrdiff_t stride, size_t rows, size_t columns, T* result);
    void (*minimumOfColumns)(const T* values, ptrdiff_t stride, size_t rows, size_t columns, T* result);
    bool (*hasNotFinite)(const T* values, size_t count);
    // y += factor * x, y = factor * x
    void (*addScaled)(T factor, const T* x, T* y, size_t count);
    void (*setScaled)(T factor, const T* x, T* y, size_t count);

    // results[j + i * stride] = column j of a * column i of b, each over so many rows; kept in T. columns: of a,
    // others: of b.
    void (*innerProducts)(const ColumnBlock<const T>& a, const ColumnBlock<const T>& b, size_t rows, size_t columns,
                          size_t others, T* results, size_t stride);
    // results[i + j * stride] = the sum over so many pairs of column i of a * column j of b; kept in T. columns: of
    // each a, at most c_mostSummed; others: of each b. Null where registers are too narrow or too few for it to be
    // faster than packed panels.
    static constexpr size_t c_mostSummed = 64;
    void (*sumInnerProducts)(const ColumnPair<T>* pairs, size_t count, size_t columns, size_t others, T* results,
                             size_t stride);
    // y += sum_j factors[j * factorStride] * column j of a, of which there is one at least; replaces: y is not read
    void (*addCombination)(const ColumnBlock<const T>& a, size_t rows, size_t columns, const T* factors,
                           size_t factorStride, T* y, bool replaces);
    // y += the sum of columns, each times its factor, added one by one in their order; replaces: to 0. count: from 1 to
    // c_mostPicked.
    static constexpr size_t c_mostPicked = 4;
    void (*addColumns)(const T* const* columns, const T* factors, size_t count, size_t rows, T* y, bool replaces);
    // Subtracts rate * c from each column k of the block's parameter; c is what addCombination computes with
    // factors + k. Rounds as momentumUpdate does with momentum 0 and factor 1. a has at most c_mostCombined columns.
    // The block has no gradient.
    static constexpr size_t c_mostCombined = 5;
    void (*descendByCombinations)(const ColumnBlock<const T>& a, size_t columns, const T* factors, size_t factorStride,
                                  const UpdateBlock<T>& block, T rate);

    // softmax may have no data. logSoftmax must have some, but may be the same memory as softmax.
    void (*logSoftmax)(const ColumnBlock<const T>& input, const ColumnBlock<T>& logSoftmax,
                       const ColumnBlock<T>& softmax, size_t rows, size_t columns);
    // One column of at least one row. Input and softmax may be the same memory.
    Normalizer<T> (*softmaxColumn)(const T* input, T* softmax, size_t rows);
    void (*softmaxGradient)(const T* gradient, const T* value, T* inputGradient, size_t rows);
    void (*logSoftmaxGradient)(const T* gradient, const T* value, T* inputGradient, size_t rows);
    // -sum labels * logSoftmax of one column, where a label of 0 contributes nothing.
    double (*crossEntropy)(const T* labels, const T* logSoftmax, size_t rows);
    // output += scale * (a - b), output = scale * (a - b)
    void (*addScaledDifference)(T scale, const T* a, const T* b, T* output, size_t count);
    void (*setScaledDifference)(T scale, const T* a, const T* b, T* output, size_t count);
    size_t (*argMax)(const T* values, size_t count);

    // s = momentum * s + factor * g; w -= rate * s
    void (*momentumUpdate)(const UpdateBlock<T>& block, T momentum, T factor, T rate);
    // w -= rate * (factor * g), with the bits of momentumUpdate with momentum 0
    void (*descend)(const UpdateBlock<T>& block, T factor, T rate);
};

// A function of one operand, on contiguous values.
template <class T>
void ApplyInPlace(typename VectorKernels<T>::ElementwiseFunction function, T* values, size_t count)
{
    ElementwiseLoop<T> loop;
    loop.inner = count;
    loop.output = values;
    loop.inputs[0] = values;
    function(loop);
}

} // namespace cntk
