// The backend interface: everything that a device computes, one function for each family. Operations.h checks arguments
// and calls it; kernels assume valid arguments.
#pragma once

#include "Math/ElementwiseOps.h"
#include "Math/Matrix.h"
#include "Math/TensorView.h"

#include <cstdint>
#include <span>

namespace cntk
{

struct ColumnSlices;     // SampledProducts.h
struct SliceOperands;    // SampledProducts.h
struct ElementwiseChain; // ElementwiseChain.h
struct UpdateCall;       // UpdateRules.h
struct Product;          // Products.h
struct ColumnProducts;   // Products.h
class ImageKernels;      // ImageOperations.h

struct Operand
{
    const MatrixView& matrix;
    bool transposed = false;

    size_t Rows() const { return transposed ? matrix.columns : matrix.rows; }
    size_t Columns() const { return transposed ? matrix.rows : matrix.columns; }
};

// An element-wise call: output = beta * output + alpha * reduce(op(inputs...)).
struct ElementwiseCall
{
    ElementwiseOp op = ElementwiseOp::Copy;
    ReduceOp reduce = ReduceOp::Sum;
    double alpha = 1;
    double beta = 0;
    std::span<const TensorView* const> inputs; // as many as the op's arity

    size_t LastAxis() const; // of the inputs, which have at least one axis
};

// Views are not empty, unless a comment says so. Masks and TouchedColumns are host memory. A function with a default
// implementation is optional for backends, or shared by all backends of host memory.
class Kernels
{
public:
    virtual ~Kernels() = default;

    // See Ops::RunApart. A backend with threads runs up to ThreadsApart() tasks at the same time, each on one thread.
    virtual size_t ThreadsApart() const { return 1; }
    virtual void RunApart(size_t tasks, void (*task)(const void* body, size_t index), const void* body);

    // Any of the views may be empty.
    virtual void Elementwise(const ElementwiseCall& call, const TensorView& output) = 0;
    // Sums over the inputs' last axis, and possibly others, and skips entries of the last axis whose mask byte is 0.
    virtual void ElementwiseOverData(const ElementwiseCall& call, std::span<const uint8_t> mask,
                                     const TensorView& output) = 0;

    // See ElementwiseChain.h; there is at least one element and one link. The default runs link by link.
    virtual void RunChain(const ElementwiseChain& chain, size_t firstColumn, size_t columns, size_t firstOfStep);

    virtual void Fill(const MatrixView& output, double value) = 0;
    // The columns ascend.
    virtual void ZeroColumns(const MatrixView& output, std::span<const int32_t> columns);
    virtual void Copy(const MatrixView& source, const MatrixView& output) = 0;
    virtual void Scale(const MatrixView& output, double factor) = 0;
    virtual void MaskColumns(const MatrixView& output, std::span<const uint8_t> mask, double value) = 0;
    virtual void SumAll(const MatrixView& input, const MatrixView& output, double alpha,
                        double beta) = 0; // may be empty
    virtual double SumOfSquares(const MatrixView& value) = 0;
    virtual bool HasNotFinite(const MatrixView& value) = 0;
    // See Operations.h for these two.
    virtual void ClearNotFinite(const MatrixView& output, std::span<const uint8_t> mask);
    virtual void AddNumbers(std::span<const MatrixView> numbers, bool isNew, const MatrixView& totals);

    // The inner dimension of products may be 0.
    virtual void Multiply(const Operand& a, const Operand& b, const MatrixView& c, double alpha, double beta) = 0;
    // See Products.h for these three. The default of MultiplyAll makes no updates; columns of terms may have no rows.
    virtual void MultiplyAll(std::span<const Product> products);
    virtual bool CanUpdateBehind(const MatrixView& gradient, size_t steps) const;
    virtual void SumColumnProducts(std::span<const ColumnProducts> terms, const MatrixView& c);
    virtual void MultiplyBiasActivate(const Operand& a, const MatrixView& b, const MatrixView& bias,
                                      ElementwiseOp activation, const MatrixView& c) = 0;
    // Panels of op(a), where a is a stack of matrices (see PackedOperand). PackedBytes returns 0 if the backend keeps
    // no panels; the other two are then not called. PackedBytes and MultiplyPacked use only the shape and type of a.
    virtual size_t PackedBytes(const Operand& a);
    virtual void Pack(std::span<const MatrixView> parts, bool transposed, void* panels);
    virtual void MultiplyPacked(const Operand& a, const void* panels, const MatrixView& b, const MatrixView& c,
                                double alpha, double beta);
    virtual void MultiplySparse(const Operand& a, const SparseView& s, const MatrixView& c, double alpha,
                                double beta) = 0;
    // c += alpha * a * s'; adds the changed columns of c to touched.
    virtual void MultiplyByTransposeOf(const MatrixView& a, const SparseView& s, const MatrixView& c,
                                       TouchedColumns& touched, double alpha) = 0;
    // See Operations.h for these two.
    virtual void LookUpColumns(const MatrixView& table, const SparseView& s, const MatrixView& output) = 0;
    virtual void LookUpColumnsGradient(const MatrixView& gradient, const SparseView& s, const MatrixView& tableGradient,
                                       TouchedColumns& touched) = 0;
    virtual void ToDense(const SparseView& s, const MatrixView& output) = 0;

    virtual void LogSoftmax(const MatrixView& input, const MatrixView& output) = 0;
    virtual void Softmax(const MatrixView& input, const MatrixView& output) = 0;
    virtual void SoftmaxGradient(const MatrixView& gradient, const MatrixView& value,
                                 const MatrixView& inputGradient) = 0;
    virtual void LogSoftmaxGradient(const MatrixView& gradient, const MatrixView& value,
                                    const MatrixView& inputGradient) = 0;
    virtual void ArgMax(const MatrixView& input, const MatrixView& output) = 0;
    virtual void ArgMax(const SparseView& input, const MatrixView& output) = 0;
    // The mask and the matrices of these two may be empty.
    virtual void CrossEntropyWithSoftmax(const MatrixView& labels, const MatrixView& prediction,
                                         std::span<const uint8_t> mask, const MatrixView& logSoftmax,
                                         const MatrixView& softmax, const MatrixView& output) = 0;
    virtual void CrossEntropyWithSoftmax(const SparseView& labels, const MatrixView& prediction,
                                         std::span<const uint8_t> mask, const MatrixView& logSoftmax,
                                         const MatrixView& softmax, const MatrixView& output) = 0;
    // The same without logSoftmax. Returns false if the backend has no such kernel and did nothing.
    virtual bool CrossEntropyWithSoftmaxAlone(const SparseView& labels, const MatrixView& prediction,
                                              std::span<const uint8_t> mask, const MatrixView& softmax,
                                              const MatrixView& output);
    virtual void CrossEntropyWithSoftmaxGradient(const MatrixView& labels, const MatrixView& softmax,
                                                 std::span<const uint8_t> mask, const MatrixView& scale,
                                                 const MatrixView& predictionGradient, double beta) = 0;
    virtual void CrossEntropyWithSoftmaxGradient(const SparseView& labels, const MatrixView& softmax,
                                                 std::span<const uint8_t> mask, const MatrixView& scale,
                                                 const MatrixView& predictionGradient, double beta) = 0;

    // The mask of these two may be empty.
    virtual void CrossEntropy(const SparseView& labels, const MatrixView& probabilities, std::span<const uint8_t> mask,
                              const MatrixView& output);
    virtual void CrossEntropyGradient(const SparseView& labels, const MatrixView& probabilities,
                                      std::span<const uint8_t> mask, const MatrixView& scale,
                                      const MatrixView& probabilityGradient);

    // See SampledProducts.h; there is at least one member, or stored element.
    virtual void SliceSoftmax(const ColumnSlices& slices, const MatrixView& weights, const MatrixView& inputs,
                              const MatrixView& gathered, const MatrixView& errors, const MatrixView& losses,
                              bool wantErrors, const MatrixView& work) = 0;
    virtual void SliceSoftmaxInputGradient(const ColumnSlices& slices, const MatrixView& weights,
                                           const MatrixView& errors, const MatrixView& scale, const MatrixView& work,
                                           const MatrixView& inputGradient) = 0;
    virtual void SliceSoftmaxWeightGradient(const ColumnSlices& slices, const MatrixView& gathered,
                                            const MatrixView& errors, const MatrixView& scale,
                                            const MatrixView& weightGradient, double beta) = 0;
    // Returns false if the backend has no such kernel and did nothing.
    virtual bool SliceSoftmaxDescend(const SliceOperands& operands, const MatrixView& weights, double rate,
                                     const MatrixView& scratch);
    virtual void SampledInnerProducts(const MatrixView& weights, const MatrixView& inputs, const SparseView& pattern,
                                      const MatrixView& output) = 0;

    virtual void FillUniform(const MatrixView& output, double low, double high, uint64_t seed) = 0;
    virtual void FillGaussian(const MatrixView& output, double mean, double standardDeviation, uint64_t seed) = 0;
    virtual void FillDropoutMask(const MatrixView& output, double rate, double scale, uint64_t seed) = 0;

    // touched: null for the dense form, which updates all columns.
    virtual void MomentumUpdate(const MatrixView& parameter, const MatrixView& smoothed, const MatrixView& gradient,
                                double rate, double momentum, const TouchedColumns* touched) = 0;
    // See UpdateRules.h. The default fails (kind Device).
    virtual void UpdateParameter(const UpdateCall& call, const MatrixView& parameter,
                                 std::span<const MatrixView> states, const MatrixView& gradient);

    // Convolution and pooling. The default fails (kind Device).
    virtual ImageKernels& Images();
};

} // namespace cntk
