// Registers of one instruction set, shared by the loops of convolution and pooling. In an unnamed namespace: code for
// one instruction set must never be linked into another's.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace cntk
{
namespace
{

template <class T, size_t VectorBytes>
struct ImageVectors
{
    using Vector __attribute__((vector_size(VectorBytes))) = T;
    using Integer = std::conditional_t<sizeof(T) == 4, int, long long>;
    using Mask __attribute__((vector_size(VectorBytes))) = Integer;
    static constexpr size_t c_lanes = VectorBytes / sizeof(T);

    static Vector Load(const T* from)
    {
        Vector vector;
        std::memcpy(&vector, from, sizeof vector);
        return vector;
    }
    static void Store(T* to, Vector vector) { std::memcpy(to, &vector, sizeof vector); }
    static size_t Least(size_t a, size_t b) { return a < b ? a : b; }
    // What is in a where the mask is set, else 0.
    static Vector Where(Mask mask, Vector a)
    {
        Mask bits;
        std::memcpy(&bits, &a, sizeof bits);
        bits &= mask;
        std::memcpy(&a, &bits, sizeof bits);
        return a;
    }
    static Vector Greater(Vector a, Vector b)
    {
        const Mask mask = a > b;
        Mask first;
        Mask second;
        std::memcpy(&first, &a, sizeof first);
        std::memcpy(&second, &b, sizeof second);
        first = (first & mask) | (second & ~mask);
        std::memcpy(&a, &first, sizeof first);
        return a;
    }
};

} // namespace
} // namespace cntk
