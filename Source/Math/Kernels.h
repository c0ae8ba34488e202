// The backend interface: everything that a device must be able to compute, one function per family. Operations.h checks
// arguments and calls it; kernels assume valid arguments.
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
struct Product;          // ProductList.h
struct ColumnProducts;   // ProductList.h

class ImageKernels; // ImageKernels.h

// A matrix operand, transposed or not.
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

    size_t LastAxis() const; // of the inputs' axes, of which there is at least one
};

// Views have elements except where a function's comment says otherwise. Masks and TouchedColumns are host memory.
class Kernels
{
public:
    virtual ~Kernels() = default;

    // Calls task(body, i) for each i in [0, tasks); they call element-wise kernels, copies, fills and products, and
    // touch nothing that another of them writes. A backend with threads may run them at the same time, each on one: as
    // many as ThreadsApart says. They must not throw.
    virtual size_t ThreadsApart() const { return 1; }
    virtual void RunApart(size_t tasks, void (*task)(const void* body, size_t index), const void* body);

    // Shapes are compatible (see Operations.h); any of them may be empty.
    virtual void Elementwise(const ElementwiseCall& call, const TensorView& output) = 0;
    // A sum over the inputs' last axis, and perhaps others, without the entries of the last axis whose mask byte is 0.
    virtual void ElementwiseOverData(const ElementwiseCall& call, std::span<const uint8_t> mask,
                                     const TensorView& output) = 0;

    // As ElementwiseChain.h has it, with at least one element and one link. Backends without a pass of their own take
    // link by link.
    virtual void RunChain(const ElementwiseChain& chain, size_t firstColumn, size_t columns, size_t firstOfStep);

    virtual void Fill(const MatrixView& output, double value) = 0;
    // Of ascending columns. Backends without a pass of their own fill those that follow one another.
    virtual void ZeroColumns(const MatrixView& output, std::span<const int32_t> columns);
    virtual void Copy(const MatrixView& source, const MatrixView& output) = 0;
    virtual void Scale(const MatrixView& output, double factor) = 0;
    virtual void MaskColumns(const MatrixView& output, std::span<const uint8_t> mask, double value) = 0;
    virtual void SumAll(const MatrixView& input, const MatrixView& output, double alpha,
                        double beta) = 0; // may be empty
    virtual double SumOfSquares(const MatrixView& value) = 0;
    virtual bool HasNotFinite(const MatrixView& value) = 0;
    // What is not finite in columns whose mask byte is 0 becomes 0. Backends of host memory have this one.
    virtual void ClearNotFinite(const MatrixView& output, std::span<const uint8_t> mask);
    // As Operations.h has it. Backends of host memory have this one.
    virtual void AddNumbers(std::span<const MatrixView> numbers, bool isNew, const MatrixView& totals);

    // The inner dimension of products may be 0.
    virtual void Multiply(const Operand& a, const Operand& b, const MatrixView& c, double alpha, double beta) = 0;
    // Products that know nothing of one another (ProductList.h). Backends without a way of their own take one by one.
    virtual void MultiplyAll(std::span<const Product> products);
    // As ProductList.h has it; a backend without a MultiplyAll of its own makes no updates.
    virtual bool CanUpdateBehind(const MatrixView& gradient, size_t steps) const;
    // As ProductList.h has it; columns may have no rows. Backends without a way of their own multiply term by term.
    virtual void SumColumnProducts(std::span<const ColumnProducts> terms, const MatrixView& c);
    virtual void MultiplyBiasActivate(const Operand& a, const MatrixView& b, const MatrixView& bias,
                                      ElementwiseOp activation, const MatrixView& c) = 0;
    // Panels of op(a), which is then the left operand of many products (PackedOperand.h): of matrices one above
    // another. No bytes, which is what a backend says that does not override these, mean that it keeps none; the
    // others are then not called. Of the a of PackedBytes and MultiplyPacked only its shape and type count.
    virtual size_t PackedBytes(const Operand& a);
    virtual void Pack(std::span<const MatrixView> parts, bool transposed, void* panels);
    // Not transposed, and c = a * b on the way; b has one column.
    virtual void PackAndMultiply(std::span<const MatrixView> parts, void* panels, const MatrixView& b,
                                 const MatrixView& c);
    virtual void MultiplyPacked(const Operand& a, const void* panels, const MatrixView& b, const MatrixView& c,
                                double alpha, double beta);
    virtual void MultiplySparse(const Operand& a, const SparseView& s, const MatrixView& c, double alpha,
                                double beta) = 0;
    // c += alpha * a * s'; adds the columns of c that were changed to touched.
    virtual void MultiplyByTransposeOf(const MatrixView& a, const SparseView& s, const MatrixView& c,
                                       TouchedColumns& touched, double alpha) = 0;
    // See TableLookup.h.
    virtual void LookUpColumns(const MatrixView& table, const SparseView& s, const MatrixView& output) = 0;
    virtual void LookUpColumnsGradient(const MatrixView& gradient, const SparseView& s, const MatrixView& tableGradient,
                                       TouchedColumns& touched) = 0;
    virtual void ColumnInnerProducts(const MatrixView& a, const MatrixView& b, const MatrixView& output) = 0;
    virtual void ToDense(const SparseView& s, const MatrixView& output) = 0;

    virtual void LogSoftmax(const MatrixView& input, const MatrixView& output) = 0;
    virtual void Softmax(const MatrixView& input, const MatrixView& output) = 0;
    virtual void SoftmaxGradient(const MatrixView& gradient, const MatrixView& value,
                                 const MatrixView& inputGradient) = 0;
    virtual void LogSoftmaxGradient(const MatrixView& gradient, const MatrixView& value,
                                    const MatrixView& inputGradient) = 0;
    virtual void ArgMax(const MatrixView& input, const MatrixView& output) = 0;
    virtual void ArgMax(const SparseView& input, const MatrixView& output) = 0;
    // These two take a mask that may be empty, and matrices that may be.
    virtual void CrossEntropyWithSoftmax(const MatrixView& labels, const MatrixView& prediction,
                                         std::span<const uint8_t> mask, const MatrixView& logSoftmax,
                                         const MatrixView& softmax, const MatrixView& output) = 0;
    virtual void CrossEntropyWithSoftmax(const SparseView& labels, const MatrixView& prediction,
                                         std::span<const uint8_t> mask, const MatrixView& logSoftmax,
                                         const MatrixView& softmax, const MatrixView& output) = 0;
    // The same without logSoftmax. False, which is what a backend says that has no such pass of its own: not done.
    virtual bool CrossEntropyWithSoftmaxAlone(const SparseView& labels, const MatrixView& prediction,
                                              std::span<const uint8_t> mask, const MatrixView& softmax,
                                              const MatrixView& output);
    virtual void CrossEntropyWithSoftmaxGradient(const MatrixView& labels, const MatrixView& softmax,
                                                 std::span<const uint8_t> mask, const MatrixView& scale,
                                                 const MatrixView& predictionGradient, double beta) = 0;
    virtual void CrossEntropyWithSoftmaxGradient(const SparseView& labels, const MatrixView& softmax,
                                                 std::span<const uint8_t> mask, const MatrixView& scale,
                                                 const MatrixView& predictionGradient, double beta) = 0;

    // Of sparse labels; only their elements are looked at. The mask may be empty. Backends of host memory have these
    // two.
    virtual void CrossEntropy(const SparseView& labels, const MatrixView& probabilities, std::span<const uint8_t> mask,
                              const MatrixView& output);
    virtual void CrossEntropyGradient(const SparseView& labels, const MatrixView& probabilities,
                                      std::span<const uint8_t> mask, const MatrixView& scale,
                                      const MatrixView& probabilityGradient);

    // As SampledProducts.h has them; there is at least one member, or stored element.
    virtual void SliceSoftmax(const ColumnSlices& slices, const MatrixView& weights, const MatrixView& inputs,
                              const MatrixView& gathered, const MatrixView& errors, const MatrixView& losses,
                              bool wantErrors, const MatrixView& work) = 0;
    virtual void SliceSoftmaxInputGradient(const ColumnSlices& slices, const MatrixView& weights,
                                           const MatrixView& errors, const MatrixView& scale, const MatrixView& work,
                                           const MatrixView& inputGradient) = 0;
    virtual void SliceSoftmaxWeightGradient(const ColumnSlices& slices, const MatrixView& gathered,
                                            const MatrixView& errors, const MatrixView& scale,
                                            const MatrixView& weightGradient, double beta) = 0;
    // False, which is what a backend says that has no such pass: not done.
    virtual bool SliceSoftmaxDescend(const SliceOperands& operands, const MatrixView& weights, double rate,
                                     const MatrixView& scratch);
    virtual void SampledInnerProducts(const MatrixView& weights, const MatrixView& inputs, const SparseView& pattern,
                                      const MatrixView& output) = 0;

    virtual void FillUniform(const MatrixView& output, double low, double high, uint64_t seed) = 0;
    virtual void FillGaussian(const MatrixView& output, double mean, double standardDeviation, uint64_t seed) = 0;
    virtual void FillDropoutMask(const MatrixView& output, double rate, double scale, uint64_t seed) = 0;

    // touched: null where all columns take part in the dense form.
    virtual void MomentumUpdate(const MatrixView& parameter, const MatrixView& smoothed, const MatrixView& gradient,
                                double rate, double momentum, const TouchedColumns* touched) = 0;
    // What that does to the parameter without momentum, bit for bit, and no smoothed gradient. False, which is what a
    // backend says that has no such pass: not done.
    virtual bool Descend(const MatrixView& parameter, const MatrixView& gradient, double rate,
                         const TouchedColumns* touched);
    // As UpdateRules.h has it. A backend that has none fails (kind Device).
    virtual void UpdateParameter(const UpdateCall& call, const MatrixView& parameter,
                                 std::span<const MatrixView> states, const MatrixView& gradient);

    // Convolution and pooling. A backend that has none fails (kind Device) when a network asks for them.
    virtual ImageKernels& Images();
};

} // namespace cntk
