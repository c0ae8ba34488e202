// Checks arguments, then makes one call of the backend.
#include "Math/Operations.h"

#include "Common/Error.h"
#include "Math/Kernels.h"
#include "Math/OperandChecks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace cntk::Ops
{

// ---- element-wise ---------------------------------------------------------------------------------------------------

namespace
{

// Along each axis the inputs have one common dimension or 1; the output has that, or 1 (reduced).
[[noreturn]] [[gnu::cold]] [[gnu::noinline]] void
FailElementwise(ElementwiseOp op, std::span<const TensorView* const> inputs, const TensorView& output)
{
    std::string text;
    for (const TensorView* input : inputs)
        text += Concat(text.empty() ? "[" : ", [", ShapeOf(*input), "]");
    Fail(ErrorKind::Internal, NameOf(op), ": inputs ", text, " do not fit output [", ShapeOf(output), "]");
}

template <size_t arity>
Kernels& CheckElementwise(ElementwiseOp op, const std::array<const TensorView*, arity>& inputs,
                          const TensorView& output)
{
    if (ArityOf(op) != arity)
        Fail(ErrorKind::Internal, NameOf(op), " takes ", ArityOf(op), " inputs; ", arity, " were given");
    Kernels* kernels = nullptr;
    if constexpr (arity == 1)
        kernels = &CheckOperands(NameOf(op), output, *inputs[0]);
    else if constexpr (arity == 2)
        kernels = &CheckOperands(NameOf(op), output, *inputs[0], *inputs[1]);
    else
        kernels = &CheckOperands(NameOf(op), output, *inputs[0], *inputs[1], *inputs[2]);

    size_t rank = output.rank;
    for (const TensorView* input : inputs)
        rank = std::max(rank, input->rank);
    bool reduces = false;
    for (size_t axis = 0; axis < rank; ++axis)
    {
        size_t common = 1;
        for (const TensorView* input : inputs)
        {
            const size_t dim = axis < input->rank ? input->dims[axis] : 1;
            if (dim == 1)
                continue;
            if (common != 1 && dim != common)
                FailElementwise(op, inputs, output);
            common = dim;
        }
        const size_t outputDim = axis < output.rank ? output.dims[axis] : 1;
        if (common != 1 && outputDim != 1 && outputDim != common)
            FailElementwise(op, inputs, output);
        reduces |= common != 1 && outputDim == 1;
    }
    if (reduces)
    {
        for (const TensorView* input : inputs)
        {
            if (input->data == output.data && input->data && output.Elements() > 0 && input->Elements() > 0)
                Fail(ErrorKind::Internal, NameOf(op), ": a reduction cannot write to its own input");
        }
    }
    return *kernels;
}

template <size_t arity>
void RunElementwise(ElementwiseOp op, const std::array<const TensorView*, arity>& inputs, const TensorView& output,
                    double alpha, double beta, ReduceOp reduce)
{
    CheckElementwise(op, inputs, output).Elementwise({op, reduce, alpha, beta, inputs}, output);
}

template <size_t arity>
void RunOverData(ElementwiseOp op, const std::array<const TensorView*, arity>& inputs, std::span<const uint8_t> mask,
                 const TensorView& output, double alpha, double beta)
{
    Kernels& kernels = CheckElementwise(op, inputs, output);
    const ElementwiseCall call{op, ReduceOp::Sum, alpha, beta, inputs};
    if (mask.empty())
        return kernels.Elementwise(call, output);
    const size_t axis = call.LastAxis();
    size_t entries = 1;
    for (const TensorView* input : inputs)
        if (axis < input->rank)
            entries = std::max(entries, input->dims[axis]);
    CheckMask(NameOf(op), mask, entries);
    if (axis < output.rank && output.dims[axis] != 1)
        Fail(ErrorKind::Internal, NameOf(op), ": a sum over data has output [", ShapeOf(output),
             "]; its last dimension must be 1");
    kernels.ElementwiseOverData(call, mask, output);
}

} // namespace

void Elementwise(ElementwiseOp op, const TensorView& a, const TensorView& output, double alpha, double beta,
                 ReduceOp reduce)
{
    RunElementwise<1>(op, {&a}, output, alpha, beta, reduce);
}

void Elementwise(ElementwiseOp op, const TensorView& a, const TensorView& b, const TensorView& output, double alpha,
                 double beta, ReduceOp reduce)
{
    RunElementwise<2>(op, {&a, &b}, output, alpha, beta, reduce);
}

void Elementwise(ElementwiseOp op, const TensorView& a, const TensorView& b, const TensorView& c,
                 const TensorView& output, double alpha, double beta, ReduceOp reduce)
{
    RunElementwise<3>(op, {&a, &b, &c}, output, alpha, beta, reduce);
}

void ElementwiseOverData(ElementwiseOp op, const TensorView& a, std::span<const uint8_t> mask, const TensorView& output,
                         double alpha, double beta)
{
    RunOverData<1>(op, {&a}, mask, output, alpha, beta);
}

void ElementwiseOverData(ElementwiseOp op, const TensorView& a, const TensorView& b, std::span<const uint8_t> mask,
                         const TensorView& output, double alpha, double beta)
{
    RunOverData<2>(op, {&a, &b}, mask, output, alpha, beta);
}

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
    if (totals.rows != numbers.size() + c_rowsAfterTotals || totals.columns != 1 || numbers.empty())
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

// ---- tables ---------------------------------------------------------------------------------------------------------

namespace
{

Kernels& CheckedTable(const char* operation, const MatrixView& table, const SparseView& s, const MatrixView& words)
{
    if (!table.device || s.device != table.device || words.device != table.device)
        Fail(ErrorKind::Internal, operation, ": operands are on different devices");
    if (s.type != table.type || words.type != table.type)
        Fail(ErrorKind::Internal, operation, ": operands are of different types");
    if (table.columns == 0 || s.rows % table.columns != 0)
        Fail(ErrorKind::Internal, operation, ": samples of ", s.rows, " rows are no words of a table of ",
             table.columns, " columns");
    const size_t count = s.rows / table.columns;
    if (words.rows != count * table.rows || words.columns != s.columns)
        Fail(ErrorKind::Internal, operation, ": ", s.columns, " samples of ", count, " words of ", table.rows,
             " rows do not fit [", words.rows, " x ", words.columns, "]");
    return table.device->GetKernels();
}

} // namespace

void LookUpColumns(const MatrixView& table, const SparseView& s, const MatrixView& output)
{
    Kernels& kernels = CheckedTable("LookUpColumns", table, s, output);
    if (output.Elements() > 0)
        kernels.LookUpColumns(table, s, output);
}

void LookUpColumnsGradient(const MatrixView& gradient, const SparseView& s, const MatrixView& tableGradient,
                           TouchedColumns& touched)
{
    Kernels& kernels = CheckedTable("LookUpColumnsGradient", tableGradient, s, gradient);
    touched.isRecorded = true;
    if (gradient.Elements() > 0)
        kernels.LookUpColumnsGradient(gradient, s, tableGradient, touched);
}

// ---- independent tasks ----------------------------------------------------------------------------------------------

size_t ThreadsApart(Device& device)
{
    return device.GetKernels().ThreadsApart();
}

void RunApart(Device& device, size_t tasks, void (*task)(const void* body, size_t index), const void* body)
{
    device.GetKernels().RunApart(tasks, task, body);
}

} // namespace cntk::Ops

namespace cntk
{

// ---- functions of matrices that need operations ---------------------------------------------------------------------

void Matrix::CopyFrom(const MatrixView& source)
{
    if (!IsAllocated() || m_type != source.type)
    {
        if (!source.device)
            Fail(ErrorKind::Internal, "a matrix is copied from a view without a device");
        if (m_buffer.GetDevice() != source.device)
            m_buffer = Buffer(*source.device);
        m_type = source.type;
    }
    Resize(source.rows, source.columns);
    Ops::Copy(source, View());
}

std::vector<double> SparseMatrix::ToHostDense() const
{
    Matrix dense(m_rows, m_columns, m_type, *m_columnStarts.GetDevice());
    Ops::ToDense(View(), dense);
    return dense.ToHost();
}

} // namespace cntk
