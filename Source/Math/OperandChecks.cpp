// The messages, which are no part of the fast path.
#include "Math/OperandChecks.h"

namespace cntk::Ops
{

std::string ShapeOf(const MatrixView& view)
{
    return Concat(view.rows, " x ", view.columns);
}
std::string ShapeOf(const SparseView& view)
{
    return Concat(view.rows, " x ", view.columns, " sparse");
}
std::string ShapeOf(const TensorView& view)
{
    return view.Shape().ToString();
}
std::string ShapeOf(const Operand& operand)
{
    return ShapeOf(operand.matrix) + (operand.transposed ? " transposed" : "");
}

void FailTypes(const char* operation, DataType a, DataType b)
{
    Fail(ErrorKind::Internal, operation, ": operands are of different types, ", NameOf(a), " and ", NameOf(b));
}

void FailDevices(const char* operation, const Device* a, const Device* b)
{
    if (!a || !b)
        Fail(ErrorKind::Internal, operation, ": an operand has no memory yet");
    Fail(ErrorKind::Internal, operation, ": operands are on different devices, ", a->Describe(), " and ",
         b->Describe());
}

void FailMask(const char* operation, size_t size, size_t columns)
{
    Fail(ErrorKind::Internal, operation, ": a mask of ", size, " columns does not fit ", columns, " columns");
}

} // namespace cntk::Ops
