// Element-wise operations: checks of arguments, then one call of the backend.
#include "Common/Error.h"
#include "Math/Kernels.h"
#include "Math/OperandChecks.h"
#include "Math/Operations.h"

#include <algorithm>
#include <array>
#include <string>

namespace cntk
{

size_t ElementwiseCall::LastAxis() const
{
    size_t rank = 1;
    for (const TensorView* input : inputs)
        rank = std::max(rank, input->rank);
    return rank - 1;
}

} // namespace cntk

namespace cntk::Ops
{

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

} // namespace cntk::Ops
