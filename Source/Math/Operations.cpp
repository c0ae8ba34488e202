// Checks of arguments, then one call of the backend.
#include "Math/Operations.h"

#include "Common/Error.h"
#include "Math/Kernels.h"
#include "Math/OperandChecks.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

void Kernels::ZeroColumns(const MatrixView& output, std::span<const int32_t> columns)
{
    for (size_t i = 0; i < columns.size();)
    {
        size_t end = i + 1;
        while (end < columns.size() && columns[end] == columns[end - 1] + 1)
            end++;
        Fill(output.Columns(size_t(columns[i]), end - i), 0);
        i = end;
    }
}

bool Kernels::CrossEntropyWithSoftmaxAlone(const SparseView&, const MatrixView&, std::span<const uint8_t>,
                                           const MatrixView&, const MatrixView&)
{
    return false;
}

} // namespace cntk

namespace cntk::Ops
{

namespace
{

inline bool IsEmpty(const MatrixView& view)
{
    return view.rows == 0 || view.columns == 0;
}

bool Overlaps(const MatrixView& a, const MatrixView& b)
{
    if (IsEmpty(a) || IsEmpty(b))
        return false;
    const auto begin = [](const MatrixView& view) { return static_cast<const std::byte*>(view.data); };
    const auto end = [&](const MatrixView& view)
    { return begin(view) + ((view.columns - 1) * view.stride + view.rows) * SizeOf(view.type); };
    return begin(a) < end(b) && begin(b) < end(a);
}

} // namespace

// ---- whole matrices
// --------------------------------------------------------------------------------------------------

void Fill(const MatrixView& output, double value)
{
    Kernels& kernels = CheckOperands("Fill", output);
    if (!IsEmpty(output))
        kernels.Fill(output, value);
}

void ZeroColumns(const MatrixView& output, std::span<const int32_t> columns)
{
    Kernels& kernels = CheckOperands("ZeroColumns", output);
    if (columns.empty() || output.rows == 0)
        return;
    if (columns.front() < 0 || size_t(columns.back()) >= output.columns)
        Fail(ErrorKind::Internal, "ZeroColumns: columns ", columns.front(), " to ", columns.back(),
             " do not fit the output [", ShapeOf(output), "]");
    kernels.ZeroColumns(output, columns);
}

void Copy(const MatrixView& source, const MatrixView& output)
{
    Kernels& kernels = CheckOperands("Copy", source, output);
    CheckSameShape("Copy", "source", source, "output", output);
    if (!IsEmpty(output))
        kernels.Copy(source, output);
}

void Scale(const MatrixView& output, double factor)
{
    Kernels& kernels = CheckOperands("Scale", output);
    if (!IsEmpty(output))
        kernels.Scale(output, factor);
}

void MaskColumns(const MatrixView& output, std::span<const uint8_t> mask, double value)
{
    Kernels& kernels = CheckOperands("MaskColumns", output);
    CheckMask("MaskColumns", mask, output.columns);
    if (!mask.empty() && !IsEmpty(output))
        kernels.MaskColumns(output, mask, value);
}

void SumAll(const MatrixView& input, const MatrixView& output, double alpha, double beta)
{
    Kernels& kernels = CheckOperands("SumAll", input, output);
    CheckScalar("SumAll", "the output", output);
    kernels.SumAll(input, output, alpha, beta);
}

double ScalarOf(const MatrixView& value)
{
    CheckOperands("ScalarOf", value);
    CheckScalar("ScalarOf", "the value", value);
    return VisitType(value.type,
                     [&](auto tag) -> double
                     {
                         value.device->CopyToHost(&tag, value.data, sizeof(tag));
                         return tag;
                     });
}

double FrobeniusNorm(const MatrixView& value)
{
    Kernels& kernels = CheckOperands("FrobeniusNorm", value);
    return IsEmpty(value) ? 0.0 : std::sqrt(kernels.SumOfSquares(value));
}

bool HasNotFinite(const MatrixView& value)
{
    Kernels& kernels = CheckOperands("HasNotFinite", value);
    return !IsEmpty(value) && kernels.HasNotFinite(value);
}

void ClearNotFinite(const MatrixView& output, std::span<const uint8_t> mask)
{
    Kernels& kernels = CheckOperands("ClearNotFinite", output);
    CheckMask("ClearNotFinite", mask, output.columns);
    if (!mask.empty() && !IsEmpty(output))
        kernels.ClearNotFinite(output, mask);
}

void AddNumbers(std::span<const MatrixView> numbers, bool isNew, const MatrixView& totals)
{
    Kernels& kernels = CheckOperands("AddNumbers", totals);
    for (const MatrixView& number : numbers)
    {
        if (number.device != totals.device)
            FailDevices("AddNumbers", number.device, totals.device);
        CheckScalar("AddNumbers", "a number", number);
    }
    if (totals.type != DataType::Float64)
        FailTypes("AddNumbers", totals.type, DataType::Float64);
    if (totals.rows != numbers.size() + c_rowsBehindTotals || totals.columns != 1 || numbers.empty())
        Fail(ErrorKind::Internal, "AddNumbers: totals of ", numbers.size(), " numbers are [", ShapeOf(totals), "]");
    kernels.AddNumbers(numbers, isNew, totals);
}

// ---- products -------------------------------------------------------------------------------------------------------

void Multiply(const MatrixView& a, Transpose transposeA, const MatrixView& b, Transpose transposeB, const MatrixView& c,
              double alpha, double beta)
{
    Kernels& kernels = CheckOperands("Multiply", a, b, c);
    const Operand left{a, transposeA == Transpose::Yes};
    const Operand right{b, transposeB == Transpose::Yes};
    if (left.Columns() != right.Rows())
        FailShapes("Multiply", "left operand", left, "right operand", right);
    if (left.Rows() != c.rows || right.Columns() != c.columns)
    {
        Fail(ErrorKind::Internal, "Multiply: the product of [", ShapeOf(left), "] and [", ShapeOf(right),
             "] does not fit output [", ShapeOf(c), "]");
    }
    if (Overlaps(a, c) || Overlaps(b, c))
        Fail(ErrorKind::Internal, "Multiply: the output overlaps an operand");
    if (!IsEmpty(c))
        kernels.Multiply(left, right, c, alpha, beta);
}

void MultiplyBiasActivate(const MatrixView& a, Transpose transposeA, const MatrixView& b, const MatrixView& bias,
                          ElementwiseOp activation, const MatrixView& c)
{
    Kernels& kernels = CheckOperands("MultiplyBiasActivate", a, b, bias, c);
    const Operand left{a, transposeA == Transpose::Yes};
    if (left.Columns() != b.rows)
        FailShapes("MultiplyBiasActivate", "left operand", left, "right operand", b);
    if (left.Rows() != c.rows || b.columns != c.columns)
    {
        Fail(ErrorKind::Internal, "MultiplyBiasActivate: the product of [", ShapeOf(left), "] and [", ShapeOf(b),
             "] does not fit output [", ShapeOf(c), "]");
    }
    if (bias.rows != c.rows || bias.columns != 1)
        FailShapes("MultiplyBiasActivate", "bias", bias, "output", c);
    if (ArityOf(activation) != 1)
        Fail(ErrorKind::Internal, "MultiplyBiasActivate: ", NameOf(activation), " is no function of one value");
    if (Overlaps(a, c) || Overlaps(b, c) || Overlaps(bias, c))
        Fail(ErrorKind::Internal, "MultiplyBiasActivate: the output overlaps an operand");
    if (!IsEmpty(c))
        kernels.MultiplyBiasActivate(left, b, bias, activation, c);
}

void Multiply(const MatrixView& a, Transpose transposeA, const SparseView& s, const MatrixView& c, double alpha,
              double beta)
{
    Kernels& kernels = CheckOperands("Multiply", a, s, c);
    const Operand left{a, transposeA == Transpose::Yes};
    if (left.Columns() != s.rows)
        FailShapes("Multiply", "left operand", left, "right operand", s);
    if (left.Rows() != c.rows || s.columns != c.columns)
    {
        Fail(ErrorKind::Internal, "Multiply: the product of [", ShapeOf(left), "] and [", ShapeOf(s),
             "] does not fit output [", ShapeOf(c), "]");
    }
    if (Overlaps(a, c))
        Fail(ErrorKind::Internal, "Multiply: the output overlaps an operand");
    if (!IsEmpty(c))
        kernels.MultiplySparse(left, s, c, alpha, beta);
}

void MultiplyByTransposeOf(const MatrixView& a, const SparseView& s, const MatrixView& c, TouchedColumns& touched,
                           double alpha)
{
    Kernels& kernels = CheckOperands("MultiplyByTransposeOf", a, s, c);
    if (a.columns != s.columns)
        FailShapes("MultiplyByTransposeOf", "left operand", a, "right operand", s);
    if (a.rows != c.rows || s.rows != c.columns)
    {
        Fail(ErrorKind::Internal, "MultiplyByTransposeOf: the product of [", ShapeOf(a), "] and [", ShapeOf(s),
             " transposed] does not fit output [", ShapeOf(c), "]");
    }
    if (Overlaps(a, c))
        Fail(ErrorKind::Internal, "MultiplyByTransposeOf: the output overlaps an operand");
    touched.isRecorded = true;
    if (!IsEmpty(c) && s.columns > 0)
        kernels.MultiplyByTransposeOf(a, s, c, touched, alpha);
}

void ColumnInnerProducts(const MatrixView& a, const MatrixView& b, const MatrixView& output)
{
    Kernels& kernels = CheckOperands("ColumnInnerProducts", a, b, output);
    CheckSameShape("ColumnInnerProducts", "left operand", a, "right operand", b);
    CheckRow("ColumnInnerProducts", output, a.columns);
    if (a.columns > 0)
        kernels.ColumnInnerProducts(a, b, output);
}

void ToDense(const SparseView& s, const MatrixView& output)
{
    Kernels& kernels = CheckOperands("ToDense", s, output);
    CheckSameShape("ToDense", "source", s, "output", output);
    if (!IsEmpty(output))
        kernels.ToDense(s, output);
}

// ---- softmax family -------------------------------------------------------------------------------------------------

void LogSoftmax(const MatrixView& input, const MatrixView& output)
{
    Kernels& kernels = CheckOperands("LogSoftmax", input, output);
    CheckSameShape("LogSoftmax", "input", input, "output", output);
    if (!IsEmpty(output))
        kernels.LogSoftmax(input, output);
}

void Softmax(const MatrixView& input, const MatrixView& output)
{
    Kernels& kernels = CheckOperands("Softmax", input, output);
    CheckSameShape("Softmax", "input", input, "output", output);
    if (!IsEmpty(output))
        kernels.Softmax(input, output);
}

void SoftmaxGradient(const MatrixView& gradient, const MatrixView& value, const MatrixView& inputGradient)
{
    Kernels& kernels = CheckOperands("SoftmaxGradient", gradient, value, inputGradient);
    CheckSameShape("SoftmaxGradient", "gradient", gradient, "value", value);
    CheckSameShape("SoftmaxGradient", "gradient", gradient, "input gradient", inputGradient);
    if (!IsEmpty(inputGradient))
        kernels.SoftmaxGradient(gradient, value, inputGradient);
}

void LogSoftmaxGradient(const MatrixView& gradient, const MatrixView& value, const MatrixView& inputGradient)
{
    Kernels& kernels = CheckOperands("LogSoftmaxGradient", gradient, value, inputGradient);
    CheckSameShape("LogSoftmaxGradient", "gradient", gradient, "value", value);
    CheckSameShape("LogSoftmaxGradient", "gradient", gradient, "input gradient", inputGradient);
    if (!IsEmpty(inputGradient))
        kernels.LogSoftmaxGradient(gradient, value, inputGradient);
}

void ArgMax(const MatrixView& input, const MatrixView& output)
{
    Kernels& kernels = CheckOperands("ArgMax", input, output);
    CheckRow("ArgMax", output, input.columns);
    if (input.rows == 0 && input.columns > 0)
        Fail(ErrorKind::Internal, "ArgMax: the input has no rows");
    if (!IsEmpty(output))
        kernels.ArgMax(input, output);
}

void ArgMax(const SparseView& input, const MatrixView& output)
{
    Kernels& kernels = CheckOperands("ArgMax", input, output);
    CheckRow("ArgMax", output, input.columns);
    if (input.rows == 0 && input.columns > 0)
        Fail(ErrorKind::Internal, "ArgMax: the input has no rows");
    if (!IsEmpty(output))
        kernels.ArgMax(input, output);
}

namespace
{

template <class Labels>
void CrossEntropyChecked(const Labels& labels, const MatrixView& prediction, std::span<const uint8_t> mask,
                         const MatrixView& logSoftmax, const MatrixView& softmax, const MatrixView& output,
                         bool wantLogarithms = true)
{
    constexpr const char* name = "CrossEntropyWithSoftmax";
    Kernels& kernels = CheckOperands(name, prediction, labels, logSoftmax, softmax, output);
    CheckSameShape(name, "labels", labels, "prediction", prediction);
    CheckSameShape(name, "log softmax", logSoftmax, "prediction", prediction);
    CheckSameShape(name, "softmax", softmax, "prediction", prediction);
    CheckScalar(name, "the output", output);
    CheckMask(name, mask, prediction.columns);
    if constexpr (std::is_same_v<Labels, SparseView>)
        if (!wantLogarithms && kernels.CrossEntropyWithSoftmaxAlone(labels, prediction, mask, softmax, output))
            return;
    kernels.CrossEntropyWithSoftmax(labels, prediction, mask, logSoftmax, softmax, output);
}

template <class Labels>
void CrossEntropyGradientChecked(const Labels& labels, const MatrixView& softmax, std::span<const uint8_t> mask,
                                 const MatrixView& scale, const MatrixView& predictionGradient, double beta)
{
    constexpr const char* name = "CrossEntropyWithSoftmaxGradient";
    Kernels& kernels = CheckOperands(name, softmax, labels, scale, predictionGradient);
    CheckSameShape(name, "labels", labels, "softmax", softmax);
    CheckSameShape(name, "prediction gradient", predictionGradient, "softmax", softmax);
    CheckScalar(name, "the scale", scale);
    CheckMask(name, mask, softmax.columns);
    kernels.CrossEntropyWithSoftmaxGradient(labels, softmax, mask, scale, predictionGradient, beta);
}

} // namespace

void CrossEntropyWithSoftmax(const MatrixView& labels, const MatrixView& prediction, std::span<const uint8_t> mask,
                             const MatrixView& logSoftmax, const MatrixView& softmax, const MatrixView& output)
{
    CrossEntropyChecked(labels, prediction, mask, logSoftmax, softmax, output);
}

void CrossEntropyWithSoftmax(const SparseView& labels, const MatrixView& prediction, std::span<const uint8_t> mask,
                             const MatrixView& logSoftmax, const MatrixView& softmax, const MatrixView& output,
                             bool wantLogarithms)
{
    CrossEntropyChecked(labels, prediction, mask, logSoftmax, softmax, output, wantLogarithms);
}

void CrossEntropyWithSoftmaxGradient(const MatrixView& labels, const MatrixView& softmax, std::span<const uint8_t> mask,
                                     const MatrixView& scale, const MatrixView& predictionGradient, double beta)
{
    CrossEntropyGradientChecked(labels, softmax, mask, scale, predictionGradient, beta);
}

void CrossEntropyWithSoftmaxGradient(const SparseView& labels, const MatrixView& softmax, std::span<const uint8_t> mask,
                                     const MatrixView& scale, const MatrixView& predictionGradient, double beta)
{
    CrossEntropyGradientChecked(labels, softmax, mask, scale, predictionGradient, beta);
}

// ---- random ---------------------------------------------------------------------------------------------------------

void FillUniform(const MatrixView& output, double low, double high, uint64_t seed)
{
    Kernels& kernels = CheckOperands("FillUniform", output);
    if (!IsEmpty(output))
        kernels.FillUniform(output, low, high, seed);
}

void FillGaussian(const MatrixView& output, double mean, double standardDeviation, uint64_t seed)
{
    Kernels& kernels = CheckOperands("FillGaussian", output);
    if (!IsEmpty(output))
        kernels.FillGaussian(output, mean, standardDeviation, seed);
}

void FillDropoutMask(const MatrixView& output, double rate, double scale, uint64_t seed)
{
    Kernels& kernels = CheckOperands("FillDropoutMask", output);
    if (!IsEmpty(output))
        kernels.FillDropoutMask(output, rate, scale, seed);
}

// ---- update rules ---------------------------------------------------------------------------------------------------

namespace
{

// The touched columns, null where all are.
const TouchedColumns* CheckTouched(const char* operation, const MatrixView& parameter, const MatrixView& gradient,
                                   const TouchedColumns* touched)
{
    CheckSameShape(operation, "gradient", gradient, "parameter", parameter);
    if (!touched || touched->all)
        return nullptr;
    if (!touched->columns.empty() &&
        (touched->columns.front() < 0 || size_t(touched->columns.back()) >= parameter.columns))
    {
        Fail(ErrorKind::Internal, operation, ": touched columns ", touched->columns.front(), " to ",
             touched->columns.back(), " do not fit parameter [", ShapeOf(parameter), "]");
    }
    return touched;
}

} // namespace

void MomentumUpdate(const MatrixView& parameter, const MatrixView& smoothed, const MatrixView& gradient, double rate,
                    double momentum, const TouchedColumns* touched)
{
    Kernels& kernels = CheckOperands("MomentumUpdate", parameter, smoothed, gradient);
    CheckSameShape("MomentumUpdate", "smoothed gradient", smoothed, "parameter", parameter);
    touched = CheckTouched("MomentumUpdate", parameter, gradient, touched);
    if (!IsEmpty(parameter))
        kernels.MomentumUpdate(parameter, smoothed, gradient, rate, momentum, touched);
}

bool Descend(const MatrixView& parameter, const MatrixView& gradient, double rate, const TouchedColumns* touched)
{
    Kernels& kernels = CheckOperands("Descend", parameter, gradient);
    touched = CheckTouched("Descend", parameter, gradient, touched);
    return IsEmpty(parameter) || kernels.Descend(parameter, gradient, rate, touched);
}

} // namespace cntk::Ops
