// The element type is data: matrices and nodes carry a DataType; only kernels are templates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cntk
{

enum class DataType : uint8_t
{
    Float32,
    Float64
};

constexpr size_t SizeOf(DataType type)
{
    return type == DataType::Float32 ? sizeof(float) : sizeof(double);
}
constexpr const char* NameOf(DataType type)
{
    return type == DataType::Float32 ? "float" : "double";
}

template <class T>
constexpr DataType DataTypeOf();
template <>
constexpr DataType DataTypeOf<float>()
{
    return DataType::Float32;
}
template <>
constexpr DataType DataTypeOf<double>()
{
    return DataType::Float64;
}

// VisitType(type, [&](auto tag) { using T = decltype(tag); ... }): the type dispatch at the top of a kernel.
template <class Body>
decltype(auto) VisitType(DataType type, Body&& body)
{
    if (type == DataType::Float32)
        return body(float());
    return body(double());
}

} // namespace cntk
