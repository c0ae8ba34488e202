// Naive loops over single elements: the reference of the other backends.
#pragma once

#include "Math/Kernels.h"
#include "ReferenceBackend/ReferenceImageKernels.h"

namespace cntk
{

class ReferenceKernels : public Kernels
{
public:
    void Elementwise(const ElementwiseCall& call, const TensorView& output) override;
    void ElementwiseOverData(const ElementwiseCall& call, std::span<const uint8_t> mask,
                             const TensorView& output) override;

    void Fill(const MatrixView& output, double value) override;
    void Copy(const MatrixView& source, const MatrixView& output) override;
    void Scale(const MatrixView& output, double factor) override;
    void MaskColumns(const MatrixView& output, std::span<const uint8_t> mask, double value) override;
    void SumAll(const MatrixView& input, const MatrixView& output, double alpha, double beta) override;
    double SumOfSquares(const MatrixView& value) override;
    bool HasNotFinite(const MatrixView& value) override;

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
    void CrossEntropyWithSoftmaxGradient(const MatrixView& labels, const MatrixView& softmax,
                                         std::span<const uint8_t> mask, const MatrixView& scale,
                                         const MatrixView& predictionGradient, double beta) override;
    void CrossEntropyWithSoftmaxGradient(const SparseView& labels, const MatrixView& softmax,
                                         std::span<const uint8_t> mask, const MatrixView& scale,
                                         const MatrixView& predictionGradient, double beta) override;

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
    ReferenceImageKernels m_images;
};

} // namespace cntk
