// Blocks of registers, transposed with the cheapest shuffles that processors have: within parts of 16 bytes, then whole
// parts. One source compiled for each instruction set; everything is in an unnamed namespace.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

namespace cntk
{
namespace
{

template <class T, size_t VectorBytes>
struct GemmTranspose
{
    using Vector __attribute__((vector_size(VectorBytes))) = T;
    static constexpr size_t c_lanes = VectorBytes / sizeof(T);
    static constexpr size_t c_inPart = 16 / sizeof(T); // elements
    static constexpr size_t c_parts = VectorBytes / 16;

    // v[row] of all c_lanes rows, afterwards v[column].
    static void Square(Vector (&v)[c_lanes])
    {
        Vector parts[c_lanes];
#pragma GCC unroll 16
        for (size_t group = 0; group < c_parts; ++group)
            WithinParts(v + group * c_inPart, parts + group, c_parts);
#pragma GCC unroll 16
        for (size_t i = 0; i < c_inPart; ++i)
            OfParts(parts + i * c_parts, v + i, c_inPart);
    }

    // Rows are a multiple of c_inPart: afterwards the columns one after the other, without gaps between them, fill
    // registers v[0], v[1], ...
    template <size_t Rows>
    static void Dense(Vector (&v)[Rows])
    {
        static_assert(Rows % c_inPart == 0);
        constexpr size_t c_groups = Rows / c_inPart;
        Vector parts[Rows];
#pragma GCC unroll 16
        for (size_t group = 0; group < c_groups; ++group)
            WithinParts(v + group * c_inPart, parts + group, c_groups);
#pragma GCC unroll 16
        for (size_t i = 0; i < Rows / c_parts; ++i)
            OfParts(parts + i * c_parts, v + i, Rows / c_parts);
    }

    // c_inPart rows: column i of them goes to to + i*stride. It needs few registers, unlike a whole square.
    [[gnu::always_inline]] static inline void StoreColumns(const Vector (&rows)[c_inPart], T* to, size_t stride)
    {
        Vector parts[c_inPart];
        WithinParts(rows, parts, 1);
        StoreColumns(parts, to, stride, std::make_index_sequence<c_parts>());
    }

private:
    template <size_t... Part>
    [[gnu::always_inline]] static inline void StoreColumns(const Vector (&parts)[c_inPart], T* to, size_t stride,
                                                           std::index_sequence<Part...>)
    {
#pragma GCC unroll 4
        for (size_t i = 0; i < c_inPart; ++i)
            (StorePart<Part>(parts[i], to + (Part * c_inPart + i) * stride, std::make_index_sequence<c_inPart>()), ...);
    }
    template <size_t Part, size_t... Lane>
    [[gnu::always_inline]] static inline void StorePart(const Vector& from, T* to, std::index_sequence<Lane...>)
    {
        using Values __attribute__((vector_size(16))) = T;
        const Values part = __builtin_shufflevector(from, from, int(Part * c_inPart + Lane)...);
        std::memcpy(to, &part, sizeof part);
    }

    // Units of a and b in turn, from the first or second half of each part.
    template <size_t Unit, bool IsSecond, size_t... Lane>
    static void Interleave(const Vector& a, const Vector& b, Vector& to, std::index_sequence<Lane...>)
    {
        constexpr size_t c_from = IsSecond ? c_inPart / 2 : 0;
        to = __builtin_shufflevector(a, b,
                                     int(Lane / c_inPart * c_inPart + c_from + Lane % c_inPart / Unit / 2 * Unit +
                                         Lane % Unit + (Lane / Unit % 2 == 0 ? 0 : c_lanes))...);
    }
    template <size_t Unit>
    static void Interleave(const Vector& a, const Vector& b, Vector& first, Vector& second)
    {
        Interleave<Unit, false>(a, b, first, std::make_index_sequence<c_lanes>());
        Interleave<Unit, true>(a, b, second, std::make_index_sequence<c_lanes>());
    }

    // Part l of to[i*stride] is column l*c_inPart + i of the c_inPart rows.
    static void WithinParts(const Vector* rows, Vector* to, size_t stride)
    {
        if constexpr (c_inPart == 2)
            Interleave<1>(rows[0], rows[1], to[0], to[stride]);
        else
        {
            Vector low, high, nextLow, nextHigh;
            Interleave<1>(rows[0], rows[1], low, high);
            Interleave<1>(rows[2], rows[3], nextLow, nextHigh);
            Interleave<2>(low, nextLow, to[0], to[stride]);
            Interleave<2>(high, nextHigh, to[2 * stride], to[3 * stride]);
        }
    }

    // The parts First, Second of a, then of b.
    template <size_t First, size_t Second, size_t... Lane>
    static void Select(const Vector& a, const Vector& b, Vector& to, std::index_sequence<Lane...>)
    {
        constexpr size_t c_half = c_lanes / 2;
        // First and Second may be one. NOLINTBEGIN(bugprone-branch-clone)
        to = __builtin_shufflevector(a, b,
                                     int((Lane % c_half / c_inPart == 0 ? First : Second) * c_inPart + Lane % c_inPart +
                                         (Lane < c_half ? 0 : c_lanes))...);
        // NOLINTEND(bugprone-branch-clone)
    }
    template <size_t First, size_t Second>
    static void Select(const Vector& a, const Vector& b, Vector& to)
    {
        Select<First, Second>(a, b, to, std::make_index_sequence<c_lanes>());
    }

    // to[l*stride]: the parts l of all c_parts rows.
    static void OfParts(const Vector* rows, Vector* to, size_t stride)
    {
        if constexpr (c_parts == 1)
            to[0] = rows[0];
        else if constexpr (c_parts == 2)
        {
            Select<0, 0>(rows[0], rows[1], to[0]);
            Select<1, 1>(rows[0], rows[1], to[stride]);
        }
        else
        {
            static_assert(c_parts == 4);
            Vector low, high, nextLow, nextHigh;
            Select<0, 1>(rows[0], rows[1], low);
            Select<2, 3>(rows[0], rows[1], high);
            Select<0, 1>(rows[2], rows[3], nextLow);
            Select<2, 3>(rows[2], rows[3], nextHigh);
            Select<0, 2>(low, nextLow, to[0]);
            Select<1, 3>(low, nextLow, to[stride]);
            Select<0, 2>(high, nextHigh, to[2 * stride]);
            Select<1, 3>(high, nextHigh, to[3 * stride]);
        }
    }
};

} // namespace
} // namespace cntk
