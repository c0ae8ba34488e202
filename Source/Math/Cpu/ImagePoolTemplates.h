// Pooling, one source compiled for each instruction set; in an unnamed namespace as ImageVectors.h says.
#pragma once

#include "Math/Cpu/ImageIsa.h"
#include "Math/Cpu/ImageVectors.h"

namespace cntk
{
namespace
{

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

} // namespace
} // namespace cntk
