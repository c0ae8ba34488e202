// Deliberately simple loops over single elements. Long sums are in long double, so that they are exact to the last bit
// of a double.
#include "ReferenceBackend/ReferenceKernels.h"

#include "Common/Random.h"
#include "Math/ElementwiseFunctions.h"
#include "ReferenceBackend/MatrixElements.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace cntk
{

namespace
{

template <class Body>
void ForEach(const MatrixView& view, Body&& body)
{
    for (size_t column = 0; column < view.columns; ++column)
        for (size_t row = 0; row < view.rows; ++row)
            body(row, column);
}

// output = beta * output + value
void Blend(const MatrixView& output, size_t row, size_t column, double beta, double value)
{
    Set(output, row, column, beta == 0 ? value : beta * Get(output, row, column) + value);
}

double Get(const Operand& operand, size_t row, size_t column)
{
    return operand.transposed ? Get(operand.matrix, column, row) : Get(operand.matrix, row, column);
}

// Row and value of each stored element of a column.
template <class Body>
void ForEachInColumn(const SparseView& s, size_t column, Body&& body)
{
    for (int32_t at = s.columnStarts[column]; at < s.columnStarts[column + 1]; ++at)
    {
        const double value = s.type == DataType::Float32 ? double(static_cast<const float*>(s.values)[at])
                                                         : static_cast<const double*>(s.values)[at];
        body(size_t(s.rowIndices[at]), value);
    }
}

double Get(const SparseView& s, size_t row, size_t column)
{
    const int32_t* first = s.rowIndices + s.columnStarts[column];
    const int32_t* last = s.rowIndices + s.columnStarts[column + 1];
    const int32_t* found = std::lower_bound(first, last, int32_t(row));
    if (found == last || size_t(*found) != row)
        return 0;
    const ptrdiff_t at = found - s.rowIndices;
    return s.type == DataType::Float32 ? double(static_cast<const float*>(s.values)[at])
                                       : static_cast<const double*>(s.values)[at];
}

} // namespace

// ---- element-wise ---------------------------------------------------------------------------------------------------

namespace
{

template <class T>
void ElementwiseOf(const ElementwiseCall& call, const TensorView& output, std::span<const uint8_t> mask = {})
{
    size_t rank = output.rank;
    for (const TensorView* input : call.inputs)
        rank = std::max(rank, input->rank);
    const auto dimOf = [](const TensorView& view, size_t axis) { return axis < view.rank ? view.dims[axis] : 1; };

    std::array<size_t, TensorShape::c_maxRank> dims{}; // of the loop over all elements
    for (size_t axis = 0; axis < rank; ++axis)
    {
        dims[axis] = dimOf(output, axis);
        for (const TensorView* input : call.inputs)
            dims[axis] = dims[axis] == 1 ? dimOf(*input, axis) : dims[axis];
    }
    const auto offsetOf = [&](const TensorView& view, const std::array<size_t, TensorShape::c_maxRank>& index)
    {
        ptrdiff_t offset = 0;
        for (size_t axis = 0; axis < view.rank; ++axis)
            offset += view.dims[axis] == 1 ? 0 : ptrdiff_t(index[axis]) * view.strides[axis];
        return offset;
    };
    // Calls body for all positions where the axes with loops[axis] run over dims and the others stand at start.
    const auto forEachIndex = [&](auto start, auto loops, auto&& body)
    {
        for (size_t axis = 0; axis < rank; ++axis)
            if (loops(axis) && dims[axis] == 0)
                return;
        for (auto index = start;;)
        {
            body(index);
            size_t axis = 0;
            for (; axis < rank; ++axis)
            {
                if (!loops(axis))
                    continue;
                if (++index[axis] < dims[axis])
                    break;
                index[axis] = 0;
            }
            if (axis == rank)
                return;
        }
    };
    const auto isReduced = [&](size_t axis) { return dimOf(output, axis) == 1 && dims[axis] != 1; };
    const auto isKept = [&](size_t axis) { return !isReduced(axis); };

    const double infinity = std::numeric_limits<double>::infinity();
    const double identity = call.reduce == ReduceOp::Sum ? 0 : call.reduce == ReduceOp::Max ? -infinity : infinity;
    const std::array<size_t, TensorShape::c_maxRank> origin{};
    forEachIndex(origin, isKept,
                 [&](const auto& kept)
                 {
                     long double result = identity;
                     forEachIndex(kept, isReduced,
                                  [&](const auto& index)
                                  {
                                      if (!mask.empty() && mask[index[call.LastAxis()]] == 0)
                                          return;
                                      T values[3] = {};
                                      for (size_t i = 0; i < call.inputs.size(); ++i)
                                          values[i] = static_cast<const T*>(
                                              call.inputs[i]->data)[offsetOf(*call.inputs[i], index)];
                                      const double value =
                                          EvaluateElementwise(call.op, values[0], values[1], values[2]);
                                      if (call.reduce == ReduceOp::Sum)
                                          result += value;
                                      else if (call.reduce == ReduceOp::Max ? value > result : value < result)
                                          result = value;
                                  });
                     T& target = static_cast<T*>(output.data)[offsetOf(output, kept)];
                     target = T(call.beta == 0 ? call.alpha * result : call.beta * target + call.alpha * result);
                 });
}

} // namespace

void ReferenceKernels::Elementwise(const ElementwiseCall& call, const TensorView& output)
{
    VisitType(output.type, [&](auto tag) { ElementwiseOf<decltype(tag)>(call, output); });
}

void ReferenceKernels::ElementwiseOverData(const ElementwiseCall& call, std::span<const uint8_t> mask,
                                           const TensorView& output)
{
    VisitType(output.type, [&](auto tag) { ElementwiseOf<decltype(tag)>(call, output, mask); });
}

void ReferenceKernels::Fill(const MatrixView& output, double value)
{
    ForEach(output, [&](size_t row, size_t column) { Set(output, row, column, value); });
}

void ReferenceKernels::Copy(const MatrixView& source, const MatrixView& output)
{
    ForEach(output, [&](size_t row, size_t column) { Set(output, row, column, Get(source, row, column)); });
}

void ReferenceKernels::Scale(const MatrixView& output, double factor)
{
    ForEach(output, [&](size_t row, size_t column) { Set(output, row, column, factor * Get(output, row, column)); });
}

void ReferenceKernels::MaskColumns(const MatrixView& output, std::span<const uint8_t> mask, double value)
{
    ForEach(output,
            [&](size_t row, size_t column)
            {
                if (mask[column] == 0)
                    Set(output, row, column, value);
            });
}

void ReferenceKernels::SumAll(const MatrixView& input, const MatrixView& output, double alpha, double beta)
{
    long double sum = 0;
    ForEach(input, [&](size_t row, size_t column) { sum += Get(input, row, column); });
    Blend(output, 0, 0, beta, alpha * double(sum));
}

double ReferenceKernels::SumOfSquares(const MatrixView& value)
{
    double sum = 0;
    ForEach(value, [&](size_t row, size_t column) { sum += Get(value, row, column) * Get(value, row, column); });
    return sum;
}

bool ReferenceKernels::HasNotFinite(const MatrixView& value)
{
    bool found = false;
    ForEach(value, [&](size_t row, size_t column) { found |= !std::isfinite(Get(value, row, column)); });
    return found;
}

// ---- products -------------------------------------------------------------------------------------------------------

void ReferenceKernels::Multiply(const Operand& a, const Operand& b, const MatrixView& c, double alpha, double beta)
{
    ForEach(c,
            [&](size_t row, size_t column)
            {
                double sum = 0;
                for (size_t inner = 0; inner < a.Columns(); ++inner)
                    sum += Get(a, row, inner) * Get(b, inner, column);
                Blend(c, row, column, beta, alpha * sum);
            });
}

void ReferenceKernels::MultiplyBiasActivate(const Operand& a, const MatrixView& b, const MatrixView& bias,
                                            ElementwiseOp activation, const MatrixView& c)
{
    ForEach(c,
            [&](size_t row, size_t column)
            {
                double sum = Get(bias, row, 0);
                for (size_t inner = 0; inner < b.rows; ++inner)
                    sum += Get(a, row, inner) * Get(b, inner, column);
                Set(c, row, column, EvaluateElementwise(activation, sum, 0.0, 0.0));
            });
}

void ReferenceKernels::MultiplySparse(const Operand& a, const SparseView& s, const MatrixView& c, double alpha,
                                      double beta)
{
    ForEach(c,
            [&](size_t row, size_t column)
            {
                double sum = 0;
                ForEachInColumn(s, column, [&](size_t inner, double value) { sum += Get(a, row, inner) * value; });
                Blend(c, row, column, beta, alpha * sum);
            });
}

void ReferenceKernels::MultiplyByTransposeOf(const MatrixView& a, const SparseView& s, const MatrixView& c,
                                             TouchedColumns& touched, double alpha)
{
    for (size_t sample = 0; sample < s.columns; ++sample)
    {
        ForEachInColumn(s, sample,
                        [&](size_t column, double value)
                        {
                            for (size_t row = 0; row < c.rows; ++row)
                                Blend(c, row, column, 1, alpha * value * Get(a, row, sample));
                            touched.columns.push_back(int32_t(column));
                        });
    }
    touched.Order(c.columns);
}

void ReferenceKernels::ToDense(const SparseView& s, const MatrixView& output)
{
    ForEach(output, [&](size_t row, size_t column) { Set(output, row, column, Get(s, row, column)); });
}

// ---- softmax family -------------------------------------------------------------------------------------------------

void ReferenceKernels::LogSoftmax(const MatrixView& input, const MatrixView& output)
{
    for (size_t column = 0; column < input.columns; ++column)
    {
        double largest = Get(input, 0, column);
        for (size_t row = 0; row < input.rows; ++row)
            largest = std::max(largest, Get(input, row, column));
        double sum = 0;
        for (size_t row = 0; row < input.rows; ++row)
            sum += std::exp(Get(input, row, column) - largest);
        for (size_t row = 0; row < input.rows; ++row)
            Set(output, row, column, Get(input, row, column) - largest - std::log(sum));
    }
}

void ReferenceKernels::Softmax(const MatrixView& input, const MatrixView& output)
{
    LogSoftmax(input, output);
    ForEach(output, [&](size_t row, size_t column) { Set(output, row, column, std::exp(Get(output, row, column))); });
}

void ReferenceKernels::SoftmaxGradient(const MatrixView& gradient, const MatrixView& value,
                                       const MatrixView& inputGradient)
{
    for (size_t column = 0; column < value.columns; ++column)
    {
        double inner = 0;
        for (size_t row = 0; row < value.rows; ++row)
            inner += Get(gradient, row, column) * Get(value, row, column);
        for (size_t row = 0; row < value.rows; ++row)
            Blend(inputGradient, row, column, 1, Get(value, row, column) * (Get(gradient, row, column) - inner));
    }
}

void ReferenceKernels::LogSoftmaxGradient(const MatrixView& gradient, const MatrixView& value,
                                          const MatrixView& inputGradient)
{
    for (size_t column = 0; column < value.columns; ++column)
    {
        double sum = 0;
        for (size_t row = 0; row < value.rows; ++row)
            sum += Get(gradient, row, column);
        for (size_t row = 0; row < value.rows; ++row)
        {
            Blend(inputGradient, row, column, 1, Get(gradient, row, column) - std::exp(Get(value, row, column)) * sum);
        }
    }
}

namespace
{

template <class Input>
void ArgMaxOf(const Input& input, const MatrixView& output)
{
    for (size_t column = 0; column < input.columns; ++column)
    {
        size_t best = 0;
        for (size_t row = 1; row < input.rows; ++row)
            best = Get(input, row, column) > Get(input, best, column) ? row : best;
        Set(output, 0, column, double(best));
    }
}

bool IsData(std::span<const uint8_t> mask, size_t column)
{
    return mask.empty() || mask[column] != 0;
}

template <class Labels>
void CrossEntropyOf(ReferenceKernels& kernels, const Labels& labels, const MatrixView& prediction,
                    std::span<const uint8_t> mask, const MatrixView& logSoftmax, const MatrixView& softmax,
                    const MatrixView& output)
{
    if (prediction.rows > 0)
        kernels.LogSoftmax(prediction, logSoftmax);
    long double sum = 0;
    ForEach(softmax,
            [&](size_t row, size_t column)
            {
                Set(softmax, row, column, std::exp(Get(logSoftmax, row, column)));
                const double label = IsData(mask, column) ? Get(labels, row, column) : 0;
                // 0 * -infinity counts as 0.
                sum -= label == 0 ? 0 : label * Get(logSoftmax, row, column);
            });
    Set(output, 0, 0, double(sum));
}

template <class Labels>
void CrossEntropyGradientOf(const Labels& labels, const MatrixView& softmax, std::span<const uint8_t> mask,
                            const MatrixView& scale, const MatrixView& predictionGradient, double beta)
{
    ForEach(softmax,
            [&](size_t row, size_t column)
            {
                const double difference =
                    IsData(mask, column) ? Get(softmax, row, column) - Get(labels, row, column) : 0;
                Blend(predictionGradient, row, column, beta, Get(scale, 0, 0) * difference);
            });
}

} // namespace

void ReferenceKernels::ArgMax(const MatrixView& input, const MatrixView& output)
{
    ArgMaxOf(input, output);
}

void ReferenceKernels::ArgMax(const SparseView& input, const MatrixView& output)
{
    ArgMaxOf(input, output);
}

void ReferenceKernels::CrossEntropyWithSoftmax(const MatrixView& labels, const MatrixView& prediction,
                                               std::span<const uint8_t> mask, const MatrixView& logSoftmax,
                                               const MatrixView& softmax, const MatrixView& output)
{
    CrossEntropyOf(*this, labels, prediction, mask, logSoftmax, softmax, output);
}

void ReferenceKernels::CrossEntropyWithSoftmax(const SparseView& labels, const MatrixView& prediction,
                                               std::span<const uint8_t> mask, const MatrixView& logSoftmax,
                                               const MatrixView& softmax, const MatrixView& output)
{
    CrossEntropyOf(*this, labels, prediction, mask, logSoftmax, softmax, output);
}

void ReferenceKernels::CrossEntropyWithSoftmaxGradient(const MatrixView& labels, const MatrixView& softmax,
                                                       std::span<const uint8_t> mask, const MatrixView& scale,
                                                       const MatrixView& predictionGradient, double beta)
{
    CrossEntropyGradientOf(labels, softmax, mask, scale, predictionGradient, beta);
}

void ReferenceKernels::CrossEntropyWithSoftmaxGradient(const SparseView& labels, const MatrixView& softmax,
                                                       std::span<const uint8_t> mask, const MatrixView& scale,
                                                       const MatrixView& predictionGradient, double beta)
{
    CrossEntropyGradientOf(labels, softmax, mask, scale, predictionGradient, beta);
}

// ---- random ---------------------------------------------------------------------------------------------------------

void ReferenceKernels::FillUniform(const MatrixView& output, double low, double high, uint64_t seed)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  MinStdRand0 generator(seed);
                  ForEach(output,
                          [&](size_t row, size_t column)
                          {
                              const T value = generator.Canonical<T>() * (T(high) - T(low)) + T(low);
                              Set(output, row, column, double(value));
                          });
              });
}

void ReferenceKernels::FillGaussian(const MatrixView& output, double mean, double standardDeviation, uint64_t seed)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  MinStdRand0 generator(seed);
                  NormalDistribution<T> normal{T(mean), T(standardDeviation)};
                  ForEach(output,
                          [&](size_t row, size_t column) { Set(output, row, column, double(normal(generator))); });
              });
}

void ReferenceKernels::FillDropoutMask(const MatrixView& output, double rate, double scale, uint64_t seed)
{
    VisitType(output.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  MinStdRand0 generator(seed);
                  ForEach(output, [&](size_t row, size_t column)
                          { Set(output, row, column, generator.Canonical<T>() <= T(rate) ? 0.0 : scale); });
              });
}

// ---- update rules ---------------------------------------------------------------------------------------------------

void ReferenceKernels::MomentumUpdate(const MatrixView& parameter, const MatrixView& smoothed,
                                      const MatrixView& gradient, double rate, double momentum,
                                      const TouchedColumns* touched)
{
    if (!touched)
    {
        ForEach(parameter,
                [&](size_t row, size_t column)
                {
                    const double s =
                        momentum * Get(smoothed, row, column) + (1 - momentum) * rate * Get(gradient, row, column);
                    Set(smoothed, row, column, s);
                    Set(parameter, row, column, Get(parameter, row, column) - s);
                });
        return;
    }
    // The sparse form keeps the rate out of the smoothed gradient.
    for (int32_t column : touched->columns)
    {
        for (size_t row = 0; row < parameter.rows; ++row)
        {
            const double s =
                (1 - momentum) * Get(gradient, row, size_t(column)) + momentum * Get(smoothed, row, size_t(column));
            Set(smoothed, row, size_t(column), s);
            Set(parameter, row, size_t(column), Get(parameter, row, size_t(column)) - rate * s);
        }
    }
}

} // namespace cntk
