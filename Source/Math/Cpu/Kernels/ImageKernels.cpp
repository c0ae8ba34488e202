// The inner loops of convolution and pooling.
//
// Convolution: with the channels fastest, the elements that a window sees along axis A are contiguous. A convolution is
// then a product of matrices whose right operand is the image itself, read through overlapping columns: a tile of some
// vectors of maps times some pixels stays in registers while the loop walks along the kernel.
#include "Math/Cpu/Kernels/CompiledFor.h"

#include <cstring>
#include <type_traits>
#include <utility>

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
    // Returns a where the mask is set and 0 elsewhere.
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

template <class T, size_t VectorBytes>
struct PoolLoops : ImageVectors<T, VectorBytes>
{
    using Base = ImageVectors<T, VectorBytes>;
    using Base::c_lanes;
    using Base::Greater;
    using Base::Load;
    using Base::Store;
    using Base::Where;
    using typename Base::Vector;

    // The part of window w that lies inside the input.
    struct Extent
    {
        size_t first;
        size_t count;
    };
    static Extent ExtentOf(const typename PoolPlanes<T>::Axis& axis, size_t window)
    {
        const ptrdiff_t begin = axis.start + ptrdiff_t(window * axis.stride);
        const ptrdiff_t end = begin + ptrdiff_t(axis.kernel);
        const ptrdiff_t first = begin < 0 ? 0 : begin;
        const ptrdiff_t last = end > ptrdiff_t(axis.input) ? ptrdiff_t(axis.input) : end;
        return {size_t(first), last > first ? size_t(last - first) : 0};
    }

    // Calls body(cell of the input where the window begins, element of the output, extents) for each window of a plane.
    template <class Body>
    static void ForEachWindow(const PoolPlanes<T>& t, Body&& body)
    {
        for (size_t b = 0; b < t.b.windows; ++b)
        {
            const Extent alongB = ExtentOf(t.b, b);
            for (size_t a = 0; a < t.a.windows; ++a)
            {
                const Extent alongA = ExtentOf(t.a, a);
                body((alongA.first + alongB.first * t.a.input) * t.inner, (a + b * t.a.windows) * t.inner, alongA.count,
                     alongB.count);
            }
        }
    }

    static void Pool(const PoolPlanes<T>& t)
    {
        const size_t inputs = t.inner * t.a.input * t.b.input;
        const size_t outputs = t.inner * t.a.windows * t.b.windows;
        const size_t line = t.inner * t.a.input;
        for (size_t plane = 0; plane < t.planes; ++plane)
        {
            const T* input = t.input + plane * inputs;
            T* output = t.output + plane * outputs;
            ForEachWindow(t,
                          [&](size_t from, size_t to, size_t countA, size_t countB)
                          {
                              const size_t cells = countA * countB;
                              const T factor = cells > 0 ? T(1) / T(cells) : T(0);
                              size_t i = 0;
                              for (; i + c_lanes <= t.inner; i += c_lanes)
                              {
                                  const T* x = input + from + i;
                                  Vector value = {};
                                  if (cells > 0)
                                      value = Load(x);
                                  for (size_t b = 0; b < countB; ++b, x += line)
                                      for (size_t a = b == 0 ? 1 : 0; a < countA; ++a)
                                      {
                                          const Vector other = Load(x + a * t.inner);
                                          value = t.average ? value + other : Greater(other, value);
                                      }
                                  Store(output + to + i, t.average ? value * factor : value);
                              }
                              for (; i < t.inner; ++i)
                              {
                                  const T* x = input + from + i;
                                  T value = cells > 0 ? x[0] : T(0);
                                  for (size_t b = 0; b < countB; ++b, x += line)
                                      for (size_t a = b == 0 ? 1 : 0; a < countA; ++a)
                                      {
                                          const T other = x[a * t.inner];
                                          value = t.average ? value + other : other > value ? other : value;
                                      }
                                  output[to + i] = t.average ? value * factor : value;
                              }
                          });
        }
    }

    template <bool Average, bool Add>
    static void PoolGradientOfPlane(const PoolPlanes<T>& t, const T* input, const T* output, const T* gradient,
                                    T* inputGradient)
    {
        const size_t line = t.inner * t.a.input;
        ForEachWindow(t,
                      [&](size_t from, size_t to, size_t countA, size_t countB)
                      {
                          const size_t cells = countA * countB;
                          const T factor = cells > 0 ? T(1) / T(cells) : T(0);
                          size_t i = 0;
                          for (; i + c_lanes <= t.inner; i += c_lanes)
                          {
                              Vector g = Load(gradient + to + i);
                              if (Average)
                                  g *= factor;
                              const Vector value = Load(output + to + i);
                              size_t at = from + i;
                              for (size_t b = 0; b < countB; ++b, at += line)
                                  for (size_t a = 0; a < countA; ++a)
                                  {
                                      T* target = inputGradient + at + a * t.inner;
                                      Vector part = g;
                                      if (!Average)
                                          part = Where(Load(input + at + a * t.inner) == value, g);
                                      Store(target, Add ? Load(target) + part : part);
                                  }
                          }
                          for (; i < t.inner; ++i)
                          {
                              const T g = Average ? gradient[to + i] * factor : gradient[to + i];
                              const T value = output[to + i];
                              size_t at = from + i;
                              for (size_t b = 0; b < countB; ++b, at += line)
                                  for (size_t a = 0; a < countA; ++a)
                                  {
                                      T& target = inputGradient[at + a * t.inner];
                                      const T part = Average || input[at + a * t.inner] == value ? g : T(0);
                                      target = Add ? target + part : part;
                                  }
                          }
                      });
    }

    // Each element of the input is in exactly one window.
    static bool Tiles(const typename PoolPlanes<T>::Axis& axis)
    {
        return axis.start == 0 && axis.kernel == axis.stride && axis.windows * axis.stride == axis.input;
    }

    static void PoolGradient(const PoolPlanes<T>& t)
    {
        const size_t inputs = t.inner * t.a.input * t.b.input;
        const size_t outputs = t.inner * t.a.windows * t.b.windows;
        const bool isSet = !t.accumulate && Tiles(t.a) && Tiles(t.b);
        for (size_t plane = 0; plane < t.planes; ++plane)
        {
            T* target = t.inputGradient + plane * inputs;
            if (!isSet && !t.accumulate)
                std::memset(target, 0, inputs * sizeof(T));
            const auto run = t.average ? (isSet ? &PoolGradientOfPlane<true, false> : &PoolGradientOfPlane<true, true>)
                             : isSet   ? &PoolGradientOfPlane<false, false>
                                       : &PoolGradientOfPlane<false, true>;
            run(t, t.input + plane * inputs, t.output + plane * outputs, t.gradient + plane * outputs, target);
        }
    }
};

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

    static constexpr ImageFunctions<T> Table()
    {
        return {&PanelMaps,
                &Convolve,
                &AddWeightGradient,
                &PoolLoops<T, VectorBytes>::Pool,
                &PoolLoops<T, VectorBytes>::PoolGradient,
                &Transpose};
    }
};

// The number of accumulators is what fits into registers beside the operands.
constexpr size_t c_accumulators = c_registerBytes == 64 ? 28 : 12;

} // namespace

template <>
ForFloatAndDouble<ImageFunctions> MakeImageKernels<c_compiledFor>()
{
    return {ImageLoops<float, c_registerBytes, c_accumulators>::Table(),
            ImageLoops<double, c_registerBytes, c_accumulators>::Table()};
}

} // namespace cntk
