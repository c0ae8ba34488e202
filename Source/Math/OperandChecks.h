// Checks of operands before an operation calls the backend, and their messages.
#pragma once

#include "Common/Error.h"
#include "Math/Kernels.h"

#include <cstdint>
#include <span>
#include <string>

namespace cntk::Ops
{

std::string ShapeOf(const MatrixView& view);
std::string ShapeOf(const SparseView& view);
std::string ShapeOf(const TensorView& view);
std::string ShapeOf(const Operand& operand);

[[noreturn]] void FailTypes(const char* operation, DataType a, DataType b);
[[noreturn]] void FailDevices(const char* operation, const Device* a, const Device* b);
[[noreturn]] void FailMask(const char* operation, size_t size, size_t columns);
template <class A, class B>
[[noreturn]] [[gnu::cold]] [[gnu::noinline]] void FailShapes(const char* operation, const char* aName, const A& a,
                                                             const char* bName, const B& b)
{
    Fail(ErrorKind::Internal, operation, ": ", aName, " [", ShapeOf(a), "] does not fit ", bName, " [", ShapeOf(b),
         "]");
}

// One device and one element type for all operands.
template <class First, class... Rest>
inline Kernels& CheckOperands(const char* operation, const First& first, const Rest&... rest)
{
    if (!first.device || ((rest.device != first.device) || ...))
    {
        const Device* other = first.device;
        ((other = rest.device != first.device ? rest.device : other), ...);
        FailDevices(operation, first.device, other);
    }
    if (((rest.type != first.type) || ...))
    {
        DataType other = first.type;
        ((other = rest.type != first.type ? rest.type : other), ...);
        FailTypes(operation, first.type, other);
    }
    return first.device->GetKernels();
}

template <class A, class B>
inline void CheckSameShape(const char* operation, const char* aName, const A& a, const char* bName, const B& b)
{
    if (a.rows != b.rows || a.columns != b.columns)
        FailShapes(operation, aName, a, bName, b);
}

inline void CheckScalar(const char* operation, const char* name, const MatrixView& view)
{
    if (view.rows != 1 || view.columns != 1)
        Fail(ErrorKind::Internal, operation, ": ", name, " must be 1 x 1, but is ", ShapeOf(view));
}

inline void CheckRow(const char* operation, const MatrixView& output, size_t columns)
{
    if (output.rows != 1 || output.columns != columns)
        Fail(ErrorKind::Internal, operation, ": the output must be 1 x ", columns, ", but is ", ShapeOf(output));
}

inline void CheckMask(const char* operation, std::span<const uint8_t> mask, size_t columns)
{
    if (!mask.empty() && mask.size() != columns)
        FailMask(operation, mask.size(), columns);
}

} // namespace cntk::Ops
