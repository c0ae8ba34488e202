// Convolution without unfolding, and the table of it and of pooling; one source compiled for each instruction set.
// Everything is in an unnamed namespace: code for one instruction set must never be linked into another's.
//
// With the channels fastest, the elements that a window sees along axis A lie next to each other, so a convolution is a
// product of matrices whose right operand is the image itself, read through overlapping columns: a tile of some
// vectors of maps times some pixels stays in registers while the kernel is walked.
#pragma once

#include "Math/Cpu/ImageIsa.h"
#include "Math/Cpu/ImagePoolTemplates.h"
#include "Math/Cpu/ImageVectors.h"

#include <utility>

namespace cntk
{
namespace
{

template <class T, size_t VectorBytes, size_t Accumulators>
struct ImageLoops : ImageVectors<T, VectorBytes>
{
    using Base = ImageVectors<T, VectorBytes>;
    using Base::c_lanes;
    using Base::Greater;
    using Base::Least;
    using Base::Load;
    using Base::Store;
    using typename Base::Vector;

    // ---- convolution ----

    static size_t PanelMaps(size_t maps) { return maps <= c_lanes ? c_lanes : 2 * c_lanes; }

    // V vectors of maps times N pixels along A.
    template <size_t V, size_t N>
    static void Tile(const DirectConvolution<T>& t, const T* weights, const T* image, T* output, const T* bias,
                     size_t maps)
    {
        Vector sums[V][N] = {};
        const size_t depth = t.kernelA * t.channels;
        const size_t step = t.strideA * t.channels;
        for (size_t b = 0; b < t.kernelB; ++b, image += t.lineA * t.channels)
            for (size_t d = 0; d < depth; ++d, weights += V * c_lanes)
            {
                Vector w[V];
#pragma GCC unroll 2
                for (size_t v = 0; v < V; ++v)
                    w[v] = Load(weights + v * c_lanes);
#pragma GCC unroll 16
                for (size_t n = 0; n < N; ++n)
                {
                    const T x = image[d + n * step];
#pragma GCC unroll 2
                    for (size_t v = 0; v < V; ++v)
                        sums[v][n] += w[v] * x;
                }
            }
        if (bias)
        {
#pragma GCC unroll 2
            for (size_t v = 0; v < V; ++v)
            {
                const Vector add = Load(bias + v * c_lanes);
#pragma GCC unroll 16
                for (size_t n = 0; n < N; ++n)
                    sums[v][n] += add;
            }
        }
        if (t.rectify)
        {
            const Vector zero = {};
#pragma GCC unroll 2
            for (size_t v = 0; v < V; ++v)
#pragma GCC unroll 16
                for (size_t n = 0; n < N; ++n)
                    sums[v][n] = Greater(sums[v][n], zero);
        }
        if (maps == V * c_lanes)
        {
#pragma GCC unroll 16
            for (size_t n = 0; n < N; ++n, output += t.outputStride)
#pragma GCC unroll 2
                for (size_t v = 0; v < V; ++v)
                {
                    if (t.beta != T(0))
                        sums[v][n] += Load(output + v * c_lanes);
                    Store(output + v * c_lanes, sums[v][n]);
                }
            return;
        }
        T pixel[V * c_lanes];
#pragma GCC unroll 16
        for (size_t n = 0; n < N; ++n, output += t.outputStride)
        {
#pragma GCC unroll 2
            for (size_t v = 0; v < V; ++v)
                Store(pixel + v * c_lanes, sums[v][n]);
            for (size_t i = 0; i < maps; ++i)
                output[i] = t.beta == T(0) ? pixel[i] : output[i] + pixel[i];
        }
    }

    // The same for a number of pixels known at run time.
    template <size_t V, size_t N>
    static void TileOf(size_t pixels, const DirectConvolution<T>& t, const T* weights, const T* image, T* output,
                       const T* bias, size_t maps)
    {
        if constexpr (N > 0)
        {
            if (pixels == N)
                Tile<V, N>(t, weights, image, output, bias, maps);
            else
                TileOf<V, N - 1>(pixels, t, weights, image, output, bias, maps);
        }
    }

    // Tiles of nearly the same number of pixels: short ones wait for their own sums.
    static size_t EvenShare(size_t count, size_t most)
    {
        const size_t tiles = (count + most - 1) / most;
        return (count + tiles - 1) / tiles;
    }

    template <size_t V>
    static void ConvolveWith(const DirectConvolution<T>& t)
    {
        constexpr size_t pixels = Accumulators / V;
        constexpr size_t panel = V * c_lanes;
        const size_t share = EvenShare(t.windowsA, pixels);
        const size_t elements = t.kernelA * t.kernelB * t.channels;
        for (size_t map = 0; map < t.maps; map += panel)
        {
            const T* weights = t.weights + map * elements;
            const T* bias = t.bias ? t.bias + map : nullptr;
            for (size_t b = 0; b < t.windowsB; ++b)
            {
                const T* image = t.image + b * t.strideB * t.lineA * t.channels;
                T* output = t.output + b * t.windowsA * t.outputStride + map;
                for (size_t a = 0; a < t.windowsA; a += share)
                    TileOf<V, pixels>(Least(share, t.windowsA - a), t, weights, image + a * t.strideA * t.channels,
                                      output + a * t.outputStride, bias, Least(panel, t.maps - map));
            }
        }
    }

    static void Convolve(const DirectConvolution<T>& t)
    {
        if (t.maps <= c_lanes)
            ConvolveWith<1>(t);
        else
            ConvolveWith<2>(t);
    }

    // ---- gradient of the weights ----

    // N elements of the kernels next to each other, over some lines of pixels.
    template <size_t V, size_t N>
    static void GradientTile(const DirectConvolution<T>& t, const T* gradient, const T* image, size_t lines, T* weights)
    {
        Vector sums[V][N];
#pragma GCC unroll 16
        for (size_t n = 0; n < N; ++n)
#pragma GCC unroll 2
            for (size_t v = 0; v < V; ++v)
                sums[v][n] = Load(weights + (n * V + v) * c_lanes);
        const size_t step = t.strideA * t.channels;
        for (size_t line = 0; line < lines; ++line, image += t.strideB * t.lineA * t.channels)
        {
            const T* x = image;
            for (size_t a = 0; a < t.windowsA; ++a, x += step, gradient += t.outputStride)
            {
                Vector g[V];
#pragma GCC unroll 2
                for (size_t v = 0; v < V; ++v)
                    g[v] = Load(gradient + v * c_lanes);
#pragma GCC unroll 16
                for (size_t n = 0; n < N; ++n)
                {
                    const T factor = x[n];
#pragma GCC unroll 2
                    for (size_t v = 0; v < V; ++v)
                        sums[v][n] += g[v] * factor;
                }
            }
        }
#pragma GCC unroll 16
        for (size_t n = 0; n < N; ++n)
#pragma GCC unroll 2
            for (size_t v = 0; v < V; ++v)
                Store(weights + (n * V + v) * c_lanes, sums[v][n]);
    }

    template <size_t V, size_t N>
    static void GradientTileOf(size_t elements, const DirectConvolution<T>& t, const T* gradient, const T* image,
                               size_t lines, T* weights)
    {
        if constexpr (N > 0)
        {
            if (elements == N)
                GradientTile<V, N>(t, gradient, image, lines, weights);
            else
                GradientTileOf<V, N - 1>(elements, t, gradient, image, lines, weights);
        }
    }

    template <size_t V>
    static void AddWeightGradientWith(const DirectConvolution<T>& t)
    {
        constexpr size_t most = Accumulators / V;
        constexpr size_t panel = V * c_lanes;
        const size_t depth = t.kernelA * t.channels;
        const size_t share = EvenShare(depth, most);
        // The gradient's lines stay in the first-level cache while all elements of the kernel pass over them.
        const size_t lineBytes = t.windowsA * t.outputStride * sizeof(T);
        const size_t linesAtOnce = EvenShare(t.windowsB, lineBytes >= 16384 ? 1 : 16384 / lineBytes);
        for (size_t line = 0; line < t.windowsB; line += linesAtOnce)
        {
            const size_t lines = Least(linesAtOnce, t.windowsB - line);
            for (size_t map = 0; map < t.maps; map += panel)
            {
                const T* gradient = t.gradient + line * t.windowsA * t.outputStride + map;
                T* weights = t.weightGradient + map * depth * t.kernelB;
                for (size_t b = 0; b < t.kernelB; ++b)
                {
                    const T* image = t.image + (line * t.strideB + b) * t.lineA * t.channels;
                    for (size_t d = 0; d < depth; d += share)
                        GradientTileOf<V, most>(Least(share, depth - d), t, gradient, image + d, lines,
                                                weights + (b * depth + d) * panel);
                }
            }
        }
    }

    static void AddWeightGradient(const DirectConvolution<T>& t)
    {
        if (t.maps <= c_lanes)
            AddWeightGradientWith<1>(t);
        else
            AddWeightGradientWith<2>(t);
    }

    // ---- layouts ----

    template <size_t Distance, size_t... Lane>
    static void ExchangePair(Vector& a, Vector& b, std::index_sequence<Lane...>)
    {
        const Vector low = __builtin_shufflevector(a, b, int(Lane & Distance ? Lane - Distance + c_lanes : Lane)...);
        b = __builtin_shufflevector(a, b, int(Lane & Distance ? Lane + c_lanes : Lane + Distance)...);
        a = low;
    }

    template <size_t Distance = c_lanes / 2>
    static void TransposeBlock(Vector (&v)[c_lanes])
    {
        if constexpr (Distance > 0)
        {
#pragma GCC unroll 16
            for (size_t i = 0; i < c_lanes; ++i)
                if ((i & Distance) == 0)
                    ExchangePair<Distance>(v[i], v[i + Distance], std::make_index_sequence<c_lanes>());
            TransposeBlock<Distance / 2>(v);
        }
    }

    static void Transpose(const T* from, size_t fromStride, size_t rows, size_t columns, T* to, size_t toStride)
    {
        const size_t wholeRows = rows / c_lanes * c_lanes;
        const size_t wholeColumns = columns / c_lanes * c_lanes;
        for (size_t i = 0; i < wholeRows; i += c_lanes)
            for (size_t j = 0; j < wholeColumns; j += c_lanes)
            {
                Vector block[c_lanes];
#pragma GCC unroll 16
                for (size_t k = 0; k < c_lanes; ++k)
                    block[k] = Load(from + (i + k) * fromStride + j);
                TransposeBlock(block);
#pragma GCC unroll 16
                for (size_t k = 0; k < c_lanes; ++k)
                    Store(to + (j + k) * toStride + i, block[k]);
            }
        for (size_t i = 0; i < rows; ++i)
            for (size_t j = i < wholeRows ? wholeColumns : 0; j < columns; ++j)
                to[j * toStride + i] = from[i * fromStride + j];
    }

    static constexpr ImageIsa<T> Table()
    {
        return {&PanelMaps,
                &Convolve,
                &AddWeightGradient,
                &PoolLoops<T, VectorBytes>::Pool,
                &PoolLoops<T, VectorBytes>::PoolGradient,
                &Transpose};
    }
};

} // namespace
} // namespace cntk
