// The kernels of one GPU. Each family of kernels has a .cu file of its own.
#pragma once

#include "Math/Gpu/GpuBlas.h"
#include "Math/Gpu/GpuContext.h"
#include "Math/Gpu/GpuDnn.h"
#include "Math/Kernels.h"

namespace cntk
{

class GpuImageKernels final : public ImageKernels
{
public:
    GpuImageKernels(GpuContext& context, GpuDnn& dnn) : m_context(context), m_dnn(dnn) {}

    void Convolve(const ConvolutionGeometry& geometry, const MatrixView& weights, const MatrixView& input,
                  const MatrixView& output, const ConvolutionEnding& ending) override;
    void ConvolveInputGradient(const ConvolutionGeometry& geometry, const MatrixView& weights,
                               const MatrixView& gradient, const MatrixView& inputGradient, double beta) override;
    void ConvolveWeightGradient(const ConvolutionGeometry& geometry, const MatrixView& gradient,
                                const MatrixView& input, const MatrixView& weightGradient, double beta) override;

    void Pool(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input,
              const MatrixView& output) override;
    void PoolGradient(PoolKind kind, const WindowGeometry& geometry, const MatrixView& input, const MatrixView& output,
                      const MatrixView& gradient, const MatrixView& inputGradient, double beta) override;

private:
    void End(const ConvolutionGeometry& geometry, const MatrixView& output, const ConvolutionEnding& ending);

    GpuContext& m_context;
    GpuDnn& m_dnn;
};

// The factors alpha and beta of products in device memory, where cuBLAS reads them. 0 and 1 are uploaded once. A kernel
// queued before the product writes other factors, so that the host does not wait and a CUDA graph keeps its factors.
class GpuFactors
{
public:
    struct Pointers
    {
        const void* alpha;
        const void* beta;
    };

    explicit GpuFactors(GpuContext& context);

    // Valid for the work queued before the next call.
    Pointers Of(DataType type, double alpha, double beta);

private:
    template <class T>
    Pointers PointersIn(T* factors, double alpha, double beta);

    GpuContext& m_context;
    GpuArray<float> m_floats; // 0, 1, alpha, beta
    GpuArray<double> m_doubles;
};

class GpuKernels final : public Kernels
{
public:
    GpuKernels(GpuContext& context, GpuBlas& blas, GpuDnn& dnn)
        : m_context(context), m_blas(blas), m_factors(context), m_images(context, dnn)
    {
    }

    void Elementwise(const ElementwiseCall& call, const TensorView& output) override;
    void ElementwiseOverData(const ElementwiseCall& call, std::span<const uint8_t> mask,
                             const TensorView& output) override;
    void RunChain(const ElementwiseChain& chain, size_t firstColumn, size_t columns, size_t firstOfStep) override;

    void Fill(const MatrixView& output, double value) override;
    void ZeroColumns(const MatrixView& output, std::span<const int32_t> columns) override;
    void Copy(const MatrixView& source, const MatrixView& output) override;
    void Scale(const MatrixView& output, double factor) override;
    void MaskColumns(const MatrixView& output, std::span<const uint8_t> mask, double value) override;
    void SumAll(const MatrixView& input, const MatrixView& output, double alpha, double beta) override;
    double SumOfSquares(const MatrixView& value) override;
    bool HasNotFinite(const MatrixView& value) override;
    void ClearNotFinite(const MatrixView& output, std::span<const uint8_t> mask) override;
    void AddNumbers(std::span<const MatrixView> numbers, bool isNew, const MatrixView& totals) override;

    void Multiply(const Operand& a, const Operand& b, const MatrixView& c, double alpha, double beta) override;
    void MultiplyBiasActivate(const Operand& a, const MatrixView& b, const MatrixView& bias, ElementwiseOp activation,
                              const MatrixView& c) override;
    void MultiplySparse(const Operand& a, const SparseView& s, const MatrixView& c, double alpha, double beta) override;
    void MultiplyByTransposeOf(const MatrixView& a, const SparseView& s, const MatrixView& c, TouchedColumns& touched,
                               double alpha) override;
    void LookUpColumns(const MatrixView& table, const SparseView& s, const MatrixView& output) override;
    void LookUpColumnsGradient(const MatrixView& gradient, const SparseView& s, const MatrixView& tableGradient,
                               TouchedColumns& touched) override;
    void ToDense(const SparseView& s, const MatrixView& output) override;

    void LogSoftmax(const MatrixView& input, const MatrixView& output) override;
    void Softmax(const MatrixView& input, const MatrixView& output) override;
    void SoftmaxGradient(const MatrixView& gradient, const MatrixView& value, const MatrixView& inputGradient) override;
    void LogSoftmaxGradient(const MatrixView& gradient, const MatrixView& value,
                            const MatrixView& inputGradient) override;
    void ArgMax(const MatrixView& input, const MatrixView& output) override;
    void ArgMax(const SparseView& input, const MatrixView& output) override;
    void CrossEntropyWithSoftmax(const MatrixView& labels, const MatrixView& prediction, std::span<const uint8_t> mask,
                                 const MatrixView& logSoftmax, const MatrixView& softmax,
                                 const MatrixView& output) override;
    void CrossEntropyWithSoftmax(const SparseView& labels, const MatrixView& prediction, std::span<const uint8_t> mask,
                                 const MatrixView& logSoftmax, const MatrixView& softmax,
                                 const MatrixView& output) override;
    bool CrossEntropyWithSoftmaxAlone(const SparseView& labels, const MatrixView& prediction,
                                      std::span<const uint8_t> mask, const MatrixView& softmax,
                                      const MatrixView& output) override;
    void CrossEntropyWithSoftmaxGradient(const MatrixView& labels, const MatrixView& softmax,
                                         std::span<const uint8_t> mask, const MatrixView& scale,
                                         const MatrixView& predictionGradient, double beta) override;
    void CrossEntropyWithSoftmaxGradient(const SparseView& labels, const MatrixView& softmax,
                                         std::span<const uint8_t> mask, const MatrixView& scale,
                                         const MatrixView& predictionGradient, double beta) override;

    void CrossEntropy(const SparseView& labels, const MatrixView& probabilities, std::span<const uint8_t> mask,
                      const MatrixView& output) override;
    void CrossEntropyGradient(const SparseView& labels, const MatrixView& probabilities, std::span<const uint8_t> mask,
                              const MatrixView& scale, const MatrixView& probabilityGradient) override;

    void SliceSoftmax(const ColumnSlices& slices, const MatrixView& weights, const MatrixView& inputs,
                      const MatrixView& gathered, const MatrixView& errors, const MatrixView& losses, bool wantErrors,
                      const MatrixView& work) override;
    void SliceSoftmaxInputGradient(const ColumnSlices& slices, const MatrixView& weights, const MatrixView& errors,
                                   const MatrixView& scale, const MatrixView& work,
                                   const MatrixView& inputGradient) override;
    void SliceSoftmaxWeightGradient(const ColumnSlices& slices, const MatrixView& gathered, const MatrixView& errors,
                                    const MatrixView& scale, const MatrixView& weightGradient, double beta) override;
    void SampledInnerProducts(const MatrixView& weights, const MatrixView& inputs, const SparseView& pattern,
                              const MatrixView& output) override;

    void FillUniform(const MatrixView& output, double low, double high, uint64_t seed) override;
    void FillGaussian(const MatrixView& output, double mean, double standardDeviation, uint64_t seed) override;
    void FillDropoutMask(const MatrixView& output, double rate, double scale, uint64_t seed) override;

    void MomentumUpdate(const MatrixView& parameter, const MatrixView& smoothed, const MatrixView& gradient,
                        double rate, double momentum, const TouchedColumns* touched) override;
    void UpdateParameter(const UpdateCall& call, const MatrixView& parameter, std::span<const MatrixView> states,
                         const MatrixView& gradient) override;

    ImageKernels& Images() override { return m_images; }

private:
    // Labels: MatrixView or SparseView. An empty logSoftmax is not written.
    template <class Labels>
    void CrossEntropyOf(const Labels& labels, const MatrixView& prediction, std::span<const uint8_t> mask,
                        const MatrixView& logSoftmax, const MatrixView& softmax, const MatrixView& output);
    // output (1x1) = the sum of `count` values of the output's type.
    void SumOf(const void* values, size_t count, const MatrixView& output);
    // Writes partial sums of squares of the value's elements to sums; returns their number, at most c_mostSumBlocks.
    static constexpr unsigned c_mostSumBlocks = 256;
    unsigned PutSumsOfSquares(const MatrixView& value, double* sums);
    // target(:, column) += the scaled source columns of one-hot or sparse samples, in the samples' order. Adds the
    // columns to touched.
    void AddToColumns(const MatrixView& source, const SparseView& s, size_t words, const MatrixView& target,
                      TouchedColumns& touched, double alpha);

    GpuContext& m_context;
    GpuBlas& m_blas;
    GpuFactors m_factors;
    GpuImageKernels m_images;
};

} // namespace cntk
