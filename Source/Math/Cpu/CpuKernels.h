// The CPU backend: vectorised inner loops, threads where the work is worth them.
#pragma once

#include "Math/Cpu/CpuImageKernels.h"
#include "Math/Cpu/CpuKernelTable.h"
#include "Math/Cpu/GemmContext.h"
#include "Math/Cpu/GemmFunctions.h"
#include "Math/Cpu/GemmPrepacked.h"
#include "Math/Cpu/ThreadPool.h"
#include "Math/Cpu/VectorKernels.h"
#include "Math/Kernels.h"
#include "Math/Products.h"

#include <tuple>
#include <vector>

namespace cntk
{

// Factors of an update for the kernels. The sparse form keeps the rate out of the smoothed gradient.
template <class T>
struct UpdateNumbers
{
    UpdateNumbers(double rate, double momentumOf, bool isSparse)
        : momentum(T(momentumOf)), factor(isSparse ? T(1 - momentumOf) : T((1 - momentumOf) * rate)),
          step(isSparse ? T(rate) : T(1))
    {
    }

    T momentum;
    T factor;
    T step;
};

// Updates a parameter block by block in the epilogue of the product that is its gradient.
template <class T>
class UpdateBehind : public GemmEpilogue<T>
{
public:
    // isSparse: the update of touched columns. An update without a parameter must not be applied.
    UpdateBehind(const VectorKernels<T>& kernels, const ProductUpdate& update, bool isSparse = false)
        : m_kernels(&kernels), m_numbers(update.rate, update.momentum, isSparse), m_parameter(update.parameter.As<T>()),
          m_smoothed(update.smoothed.As<T>())
    {
        this->apply = &Apply;
        this->beside[0] = m_parameter;
        this->beside[1] = m_smoothed != nullptr ? m_smoothed : m_parameter;
        this->besideStride = update.parameter.stride;
        this->replacesC = !update.keepsGradient;
    }

private:
    static void Apply(const GemmEpilogue<T>& self, T* gradient, size_t stride, size_t firstRow, size_t firstColumn,
                      size_t rows, size_t columns)
    {
        const auto& update = static_cast<const UpdateBehind&>(self);
        const size_t first = firstRow + firstColumn * self.besideStride;
        UpdateBlock<T> block;
        block.parameter = update.m_parameter + first;
        block.stride = self.besideStride;
        block.gradient = gradient;
        block.gradientStride = stride;
        block.rows = rows;
        block.columns = columns;
        if (rows == stride && rows == self.besideStride) // in one piece
        {
            block.rows = rows * columns;
            block.columns = 1;
        }
        const UpdateNumbers<T>& numbers = update.m_numbers;
        if (update.m_smoothed == nullptr)
            return update.m_kernels->descend(block, numbers.factor, numbers.step);
        block.smoothed = update.m_smoothed + first;
        update.m_kernels->momentumUpdate(block, numbers.momentum, numbers.factor, numbers.step);
    }

    const VectorKernels<T>* m_kernels;
    UpdateNumbers<T> m_numbers;
    T* m_parameter;
    T* m_smoothed; // null: none
};

class CpuKernels final : public Kernels
{
public:
    CpuKernels(ThreadPool& pool, const CpuKernelTable& kernels, MatrixEngine engine);

    const GemmContext& Products() const { return m_gemm; }
    GemmContext& Products() { return m_gemm; }

    size_t ThreadsApart() const override { return size_t(m_pool.Threads()); }
    void RunApart(size_t tasks, void (*task)(const void* body, size_t index), const void* body) override
    {
        m_pool.RunApart(tasks, [=](size_t index) { task(body, index); });
    }

    void Elementwise(const ElementwiseCall& call, const TensorView& output) override;
    void ElementwiseOverData(const ElementwiseCall& call, std::span<const uint8_t> mask,
                             const TensorView& output) override;
    void RunChain(const ElementwiseChain& chain, size_t firstColumn, size_t columns, size_t firstOfStep) override;

    void Fill(const MatrixView& output, double value) override;
    void Copy(const MatrixView& source, const MatrixView& output) override;
    void Scale(const MatrixView& output, double factor) override;
    void MaskColumns(const MatrixView& output, std::span<const uint8_t> mask, double value) override;
    void SumAll(const MatrixView& input, const MatrixView& output, double alpha, double beta) override;
    double SumOfSquares(const MatrixView& value) override;
    bool HasNotFinite(const MatrixView& value) override;

    void Multiply(const Operand& a, const Operand& b, const MatrixView& c, double alpha, double beta) override;
    void MultiplyAll(std::span<const Product> products) override;
    bool CanUpdateBehind(const MatrixView& gradient, size_t steps) const override;
    void SumColumnProducts(std::span<const ColumnProducts> terms, const MatrixView& c) override;
    void MultiplyBiasActivate(const Operand& a, const MatrixView& b, const MatrixView& bias, ElementwiseOp activation,
                              const MatrixView& c) override;
    size_t PackedBytes(const Operand& a) override;
    void Pack(std::span<const MatrixView> parts, bool transposed, void* panels) override;
    void MultiplyPacked(const Operand& a, const void* panels, const MatrixView& b, const MatrixView& c, double alpha,
                        double beta) override;
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

    void SliceSoftmax(const ColumnSlices& slices, const MatrixView& weights, const MatrixView& inputs,
                      const MatrixView& gathered, const MatrixView& errors, const MatrixView& losses, bool wantErrors,
                      const MatrixView& work) override;
    void SliceSoftmaxInputGradient(const ColumnSlices& slices, const MatrixView& weights, const MatrixView& errors,
                                   const MatrixView& scale, const MatrixView& work,
                                   const MatrixView& inputGradient) override;
    void SliceSoftmaxWeightGradient(const ColumnSlices& slices, const MatrixView& gathered, const MatrixView& errors,
                                    const MatrixView& scale, const MatrixView& weightGradient, double beta) override;
    bool SliceSoftmaxDescend(const SliceOperands& operands, const MatrixView& weights, double rate,
                             const MatrixView& scratch) override;
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
    template <class T>
    const VectorKernels<T>& Vector() const
    {
        return m_kernels.vectors.Of<T>();
    }

    // Calls body(kernels) with the inner loops of the element type.
    template <class Body>
    decltype(auto) Visit(DataType type, Body&& body) const
    {
        return type == DataType::Float32 ? body(m_kernels.vectors.floats) : body(m_kernels.vectors.doubles);
    }

    ThreadPool& m_pool;
    const CpuKernelTable& m_kernels;
    GemmContext m_gemm;
    GemmPrepacked m_prepacked;
    CpuImageKernels m_images;
    // The products of the current MultiplyAll, with their updates of parameters.
    template <class T>
    struct ProductBatch
    {
        std::vector<GemmTask<T>> tasks;
        std::vector<UpdateBehind<T>> updates;
    };
    std::tuple<ProductBatch<float>, ProductBatch<double>> m_batches;
};

} // namespace cntk
