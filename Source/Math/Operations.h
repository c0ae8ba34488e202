// Checked operations on views, for the whole program. Each checks shapes, types and devices (errors of kind Internal,
// since nodes report user mistakes when the network is validated) and then makes one call of the backend. "accumulate"
// adds to the output instead of replacing it. No operation allocates in the steady state.
#pragma once

#include "Math/ElementwiseOps.h"
#include "Math/Matrix.h"
#include "Math/TensorView.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cntk::Ops
{

// ---- element-wise with broadcasting and reduction -------------------------------------------------------------------
// output = beta * output + alpha * reduce(op(inputs...)). Axes where an input has dimension 1 are repeated; axes where
// the output has dimension 1 and some input does not are reduced. Up to 12 axes. The output may be one of the inputs
// where nothing is reduced. beta = 0 never reads the output.
void Elementwise(ElementwiseOp op, const TensorView& a, const TensorView& output, double alpha = 1, double beta = 0,
                 ReduceOp reduce = ReduceOp::Sum);
void Elementwise(ElementwiseOp op, const TensorView& a, const TensorView& b, const TensorView& output, double alpha = 1,
                 double beta = 0, ReduceOp reduce = ReduceOp::Sum);
void Elementwise(ElementwiseOp op, const TensorView& a, const TensorView& b, const TensorView& c,
                 const TensorView& output, double alpha = 1, double beta = 0, ReduceOp reduce = ReduceOp::Sum);

// The same as a sum over samples, the inputs' last axis, where the output has dimension 1, without those whose mask
// byte is 0 (as MaskColumns has it; empty mask: a call of Elementwise). What such gaps hold does not count, even if it
// is no number. Sums over further axes are possible.
void ElementwiseOverData(ElementwiseOp op, const TensorView& a, std::span<const uint8_t> mask, const TensorView& output,
                         double alpha = 1, double beta = 0);
void ElementwiseOverData(ElementwiseOp op, const TensorView& a, const TensorView& b, std::span<const uint8_t> mask,
                         const TensorView& output, double alpha = 1, double beta = 0);

void Fill(const MatrixView& output, double value);
// Zeros for some columns, in ascending order.
void ZeroColumns(const MatrixView& output, std::span<const int32_t> columns);
void Copy(const MatrixView& source, const MatrixView& output);
void Scale(const MatrixView& output, double factor); // output *= factor
// Sets columns whose mask byte is 0 (host memory, one byte a column; empty mask: nothing to do) to value.
void MaskColumns(const MatrixView& output, std::span<const uint8_t> mask, double value = 0);
// Sum of all elements, as a 1x1 output: output = beta*output + alpha*sum.
void SumAll(const MatrixView& input, const MatrixView& output, double alpha = 1, double beta = 0);
// Reads a 1x1 value back to the host (synchronises on a GPU).
double ScalarOf(const MatrixView& value);
bool HasNotFinite(const MatrixView& value);
// Replaces values that are not finite by 0 in the columns whose mask byte is 0 (as in MaskColumns), so that a product
// of these columns with zeros adds nothing. Never synchronises.
void ClearNotFinite(const MatrixView& output, std::span<const uint8_t> mask);
// Running totals that stay on the device. totals is a column of double: total i += numbers[i] (1x1, any type).
// Two rows follow: the count of calls with isNew, and the number of the first of them whose numbers[0] is NaN or
// infinite (0: none).
void AddNumbers(std::span<const MatrixView> numbers, bool isNew, const MatrixView& totals);
constexpr size_t c_rowsAfterTotals = 2;

// ---- products -------------------------------------------------------------------------------------------------------
enum class Transpose : bool
{
    No,
    Yes
};
// C = beta*C + alpha * op(A) * op(B)
void Multiply(const MatrixView& a, Transpose transposeA, const MatrixView& b, Transpose transposeB, const MatrixView& c,
              double alpha = 1, double beta = 0);
// C = f(op(A) * B + bias) with one bias column and an optional element-wise activation in the same pass (the plan's
// fusion of Times, Plus and a non-linearity). activation = Copy means none.
void MultiplyBiasActivate(const MatrixView& a, Transpose transposeA, const MatrixView& b, const MatrixView& bias,
                          ElementwiseOp activation, const MatrixView& c);
// C = beta*C + alpha * op(A) * S, S sparse
void Multiply(const MatrixView& a, Transpose transposeA, const SparseView& s, const MatrixView& c, double alpha = 1,
              double beta = 0);
// C += alpha * A * S', the gradient of a weight matrix with a sparse input; records the touched columns of C.
void MultiplyByTransposeOf(const MatrixView& a, const SparseView& s, const MatrixView& c, TouchedColumns& touched,
                           double alpha = 1);
// Dense copy of a sparse matrix.
void ToDense(const SparseView& s, const MatrixView& output);

// ---- softmax family, per column -------------------------------------------------------------------------------------
void LogSoftmax(const MatrixView& input, const MatrixView& output);
// exp(LogSoftmax), as the original rounds it
void Softmax(const MatrixView& input, const MatrixView& output);
// inputGradient += v .* (g - sum_i g_i v_i)
void SoftmaxGradient(const MatrixView& gradient, const MatrixView& value, const MatrixView& inputGradient);
// inputGradient += g - exp(v) * sum_i g_i
void LogSoftmaxGradient(const MatrixView& gradient, const MatrixView& value, const MatrixView& inputGradient);
// Row of the largest element of each column (lowest index on ties), as numbers in a 1 x columns output.
void ArgMax(const MatrixView& input, const MatrixView& output);
void ArgMax(const SparseView& input, const MatrixView& output);
// One criterion pass: logSoftmax = LogSoftmax(prediction), softmax = exp of it; output (1x1) = -sum labels .*
// logSoftmax over the columns whose mask byte is not 0 (empty mask: all). With wantLogarithms = false logSoftmax is
// undefined. The softmax may replace the prediction in its memory.
void CrossEntropyWithSoftmax(const MatrixView& labels, const MatrixView& prediction, std::span<const uint8_t> mask,
                             const MatrixView& logSoftmax, const MatrixView& softmax, const MatrixView& output);
void CrossEntropyWithSoftmax(const SparseView& labels, const MatrixView& prediction, std::span<const uint8_t> mask,
                             const MatrixView& logSoftmax, const MatrixView& softmax, const MatrixView& output,
                             bool wantLogarithms = true);
// predictionGradient = beta * predictionGradient + scale(1x1) * (softmax - labels), in masked columns without the
// second term; beta: 1, or 0 where what is there must not be read but may be the softmax, which is then replaced.
void CrossEntropyWithSoftmaxGradient(const MatrixView& labels, const MatrixView& softmax, std::span<const uint8_t> mask,
                                     const MatrixView& scale, const MatrixView& predictionGradient, double beta = 1);
void CrossEntropyWithSoftmaxGradient(const SparseView& labels, const MatrixView& softmax, std::span<const uint8_t> mask,
                                     const MatrixView& scale, const MatrixView& predictionGradient, double beta = 1);

// ---- random (the original's streams on Linux; Common/Random.h) ------------------------------------------------------
// Elements in column-major order from one fresh generator with this seed.
void FillUniform(const MatrixView& output, double low, double high, uint64_t seed);
void FillGaussian(const MatrixView& output, double mean, double standardDeviation, uint64_t seed);
// Dropout mask: each element 0 with probability rate, else scale. Draws as the original does.
void FillDropoutMask(const MatrixView& output, double rate, double scale, uint64_t seed);

// ---- update rules, each one pass over the parameter -----------------------------------------------------------------
// S = momentum*S + (1-momentum)*rate*G;  W -= S. With touched columns only those take part.
void MomentumUpdate(const MatrixView& parameter, const MatrixView& smoothed, const MatrixView& gradient, double rate,
                    double momentum, const TouchedColumns* touched = nullptr);

// ---- tables ---------------------------------------------------------------------------------------------------------
// Columns of a table picked by sparse one-hot samples of one or several words: embeddings. The result is that of
// products of the table with each word's block of rows.

// s has words * table.columns rows: the one-hot columns of a sample's words, one below another.
// output(block w, j) = table * s(block w, j) with blocks of table.rows rows in the output.
void LookUpColumns(const MatrixView& table, const SparseView& s, const MatrixView& output);
// tableGradient += sum over words and samples of gradient(block w, j) * s(block w, j)'; adds the columns that were
// changed to touched.
void LookUpColumnsGradient(const MatrixView& gradient, const SparseView& s, const MatrixView& tableGradient,
                           TouchedColumns& touched);

// ---- independent tasks ----------------------------------------------------------------------------------------------

// The number of tasks that the device runs at the same time.
size_t ThreadsApart(Device& device);
// Calls task(i) for each i in [0, tasks), in parallel where the backend has threads. Tasks call only element-wise
// operations, copies, fills, lookups and products, touch nothing that another one writes, and do not throw.
void RunApart(Device& device, size_t tasks, void (*task)(const void* body, size_t index), const void* body);
template <class Task>
void RunApart(Device& device, size_t tasks, const Task& task)
{
    RunApart(
        device, tasks, [](const void* body, size_t index) { (*static_cast<const Task*>(body))(index); },
        std::addressof(task));
}

} // namespace cntk::Ops
