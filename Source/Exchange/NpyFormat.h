// Headers of npy arrays, numpy's file format (NEP 1): versions 1 to 3 are read, version 1.0 is written.
#pragma once

#include "Math/TensorView.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// Element types that an import understands.
enum class NpyType
{
    Half,   // <f2
    Float,  // <f4, >f4
    Double, // <f8, >f8
    Byte    // |u1, of entries that hold text
};

struct NpyHeader
{
    NpyType type = NpyType::Float;
    bool isBigEndian = false;
    bool isFortranOrder = false;
    std::vector<uint64_t> shape;
    uint64_t elements = 0; // product of the shape
    size_t dataBegin = 0;  // bytes before the first element

    size_t ElementSize() const;
    std::string ShapeText() const; // "(50, 2)"
};

// Longest beginning of an array that ParseNpyHeader needs.
constexpr size_t c_longestNpyHeader = 64 * 1024;

// Parses the beginning of an array of `bytes` bytes. Fails (Data) if the header is damaged, names a type that is not
// supported (Python objects among them), or promises another number of bytes. what: "entry 'W.npy' of 'weights.npz'".
NpyHeader ParseNpyHeader(std::string_view beginning, uint64_t bytes, const std::string& what);

// Returns a header of version 1.0, padded to a multiple of 64 bytes. descr: "<f4".
std::string MakeNpyHeader(std::string_view descr, std::span<const size_t> shape);

// Converts elements to float or double. Returns the number of elements before the first one that becomes NaN or
// infinite: `count` if there is none.
template <class Element>
size_t ConvertNpyElements(const NpyHeader& header, const std::byte* source, size_t count, Element* target);
// Returns an element as it is. A double holds every value of the accepted types exactly.
double NpyElement(const NpyHeader& header, const std::byte* source, size_t index);

} // namespace cntk
