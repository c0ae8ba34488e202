// Windows over any number of axes as kernels take them: what lies where, and what belongs together.
#pragma once

#include "Math/Gpu/DeviceFunctions.cuh"
#include "Math/ImageOperations.h"

#include <cstdint>

namespace cntk
{

constexpr int c_maxAxes = int(TensorShape::c_maxRank);
// Those of images. Loops over so many are written out by the compiler, so that what a thread keeps for each axis lies
// in registers; arrays over which it must count lie in memory.
constexpr int c_fewAxes = 3;

struct DeviceAxis
{
    int32_t input;
    int32_t kernel;
    int32_t stride;
    int32_t start;
    int32_t windows;
    int32_t maps;
    bool isShared;
};

// A geometry as kernels take it; most: the axes that it has room for, c_fewAxes or c_maxAxes.
template <int most>
struct DeviceGeometry
{
    static constexpr int c_most = most;

    DeviceAxis axes[most];
    int rank;
    size_t inputs;
    size_t outputs;
    size_t kernelElements;
    size_t kernels;
    bool outputsFastest;

    explicit DeviceGeometry(const WindowGeometry& geometry)
        : rank(0), inputs(geometry.InputElements()), outputs(geometry.OutputElements()),
          kernelElements(geometry.KernelElements()), kernels(geometry.KernelCount()), outputsFastest(false)
    {
        for (size_t i = 0; i < geometry.rank; ++i)
            Append(geometry.axes[i]);
        // Those that are missing have one element, which changes nothing.
        while (most == c_fewAxes && rank < most)
            Append(WindowAxis());
    }
    explicit DeviceGeometry(const ConvolutionGeometry& geometry)
        : DeviceGeometry(static_cast<const WindowGeometry&>(geometry))
    {
        outputsFastest = geometry.weights == ConvolutionGeometry::Weights::OutputsFastest;
    }
    __device__ int Rank() const { return most == c_fewAxes ? most : rank; }

private:
    void Append(const WindowAxis& a)
    {
        axes[rank++] = {int32_t(a.input),   int32_t(a.kernel), int32_t(a.stride), int32_t(a.start),
                        int32_t(a.windows), int32_t(a.maps),   a.isShared};
    }
};

// body(a number of the type, the geometry with as much room as it needs)
template <class Geometry, class Body>
void VisitTypeAndGeometry(DataType type, const Geometry& geometry, const Body& body)
{
    VisitType(type,
              [&](auto tag)
              {
                  if (geometry.rank <= size_t(c_fewAxes))
                      body(tag, DeviceGeometry<c_fewAxes>(geometry));
                  else
                      body(tag, DeviceGeometry<c_maxAxes>(geometry));
              });
}

// Where an element of a kernel lies among its elements: the first axis is the last one where outputs are fastest.
template <int most>
__device__ inline size_t ElementIndex(const DeviceGeometry<most>& g, const int32_t* cell)
{
    size_t index = g.outputsFastest ? size_t(cell[0]) : 0;
    for (int axis = g.Rank() - 1; axis >= 1; --axis)
        index = index * size_t(g.axes[axis].kernel) + size_t(cell[axis]);
    return g.outputsFastest ? index : index * size_t(g.axes[0].kernel) + size_t(cell[0]);
}

template <int most>
__device__ inline size_t WeightIndex(const DeviceGeometry<most>& g, size_t kernel, size_t element)
{
    return g.outputsFastest ? element * g.kernels + kernel : kernel * g.kernelElements + element;
}

// The cell of an element of a kernel.
template <int most>
__device__ inline void CellOf(const DeviceGeometry<most>& g, size_t element, int32_t* cell)
{
    const auto take = [&](int axis)
    {
        cell[axis] = int32_t(element % size_t(g.axes[axis].kernel));
        element /= size_t(g.axes[axis].kernel);
    };
    if (!g.outputsFastest)
        take(0);
    for (int axis = 1; axis < g.Rank(); ++axis)
        take(axis);
    if (g.outputsFastest)
        take(0);
}

// Which windows and which map an output element is of.
template <int most>
struct OutputPlace
{
    int32_t window[most];
    size_t kernel;
    size_t map; // of a bias

    __device__ OutputPlace(const DeviceGeometry<most>& g, size_t output) : kernel(0), map(0)
    {
        size_t kernels = 1;
        size_t maps = 1;
        for (int axis = 0; axis < g.Rank(); ++axis)
        {
            const DeviceAxis& a = g.axes[axis];
            const size_t outputsOfAxis = size_t(a.windows) * size_t(a.maps);
            const size_t at = output % outputsOfAxis;
            output /= outputsOfAxis;
            window[axis] = int32_t(at % size_t(a.windows));
            const size_t mapOfAxis = at / size_t(a.windows);
            if (!a.isShared)
            {
                kernel += size_t(window[axis]) * kernels;
                kernels *= size_t(a.windows);
            }
            kernel += mapOfAxis * kernels;
            kernels *= size_t(a.maps);
            map += mapOfAxis * maps;
            maps *= size_t(a.maps);
        }
    }
};

// Steps through a box of positions, the first axis fastest.
template <int most, class Body>
__device__ void ForEachIn(const DeviceGeometry<most>& g, const int32_t* begin, const int32_t* end, Body&& body)
{
    int32_t at[most];
    for (int axis = 0; axis < g.Rank(); ++axis)
    {
        if (begin[axis] >= end[axis])
            return;
        at[axis] = begin[axis];
    }
    for (;;)
    {
        body(at);
        bool goesOn = false;
        for (int axis = 0; axis < g.Rank() && !goesOn; ++axis)
        {
            goesOn = ++at[axis] < end[axis];
            if (!goesOn)
                at[axis] = begin[axis];
        }
        if (!goesOn)
            return;
    }
}

// body(cell, index of the input) for the elements of an output's window that lie inside the input.
template <int most, class Body>
__device__ void ForEachInput(const DeviceGeometry<most>& g, const OutputPlace<most>& place, Body&& body)
{
    int32_t begin[most];
    int32_t end[most];
    int32_t origin[most];
    for (int axis = 0; axis < g.Rank(); ++axis)
    {
        const DeviceAxis& a = g.axes[axis];
        origin[axis] = a.start + place.window[axis] * a.stride;
        begin[axis] = origin[axis] < 0 ? -origin[axis] : 0;
        end[axis] = a.input - origin[axis] < a.kernel ? a.input - origin[axis] : a.kernel;
    }
    ForEachIn(g, begin, end,
              [&](const int32_t* cell)
              {
                  size_t input = 0;
                  for (int axis = g.Rank() - 1; axis >= 0; --axis)
                      input = input * size_t(g.axes[axis].input) + size_t(origin[axis] + cell[axis]);
                  body(cell, input);
              });
}

// body(cell, kernel, index of the output) for everything that an input element goes into.
template <int most, class Body>
__device__ void ForEachOutput(const DeviceGeometry<most>& g, size_t input, Body&& body)
{
    int32_t position[most];
    int32_t begin[most];
    int32_t end[most];
    int32_t firstWindow[most];
    int32_t windows[most];
    int32_t cell[most] = {};
    for (int axis = 0; axis < g.Rank(); ++axis)
    {
        const DeviceAxis& a = g.axes[axis];
        position[axis] = int32_t(input % size_t(a.input));
        input /= size_t(a.input);
        const int32_t behind = position[axis] - a.start; // of the first window's first element
        const int32_t tooFar = behind - a.kernel;        // windows that start here end just before
        firstWindow[axis] = tooFar < 0 ? 0 : tooFar / a.stride + 1;
        const int32_t lastWindow = behind < 0 ? -1 : behind / a.stride;
        const int32_t endWindow = lastWindow + 1 < a.windows ? lastWindow + 1 : a.windows;
        windows[axis] = endWindow - firstWindow[axis];
        // Positions along the axis are pairs of a window and a map.
        begin[axis] = 0;
        end[axis] = windows[axis] > 0 ? windows[axis] * a.maps : 0;
    }
    ForEachIn(g, begin, end,
              [&](const int32_t* at)
              {
                  size_t output = 0;
                  size_t outputs = 1;
                  size_t kernel = 0;
                  size_t kernels = 1;
                  for (int axis = 0; axis < g.Rank(); ++axis)
                  {
                      const DeviceAxis& a = g.axes[axis];
                      const int32_t window = firstWindow[axis] + at[axis] % windows[axis];
                      const int32_t map = at[axis] / windows[axis];
                      cell[axis] = position[axis] - a.start - window * a.stride;
                      output += size_t(map * a.windows + window) * outputs;
                      outputs *= size_t(a.windows) * size_t(a.maps);
                      if (!a.isShared)
                      {
                          kernel += size_t(window) * kernels;
                          kernels *= size_t(a.windows);
                      }
                      kernel += size_t(map) * kernels;
                      kernels *= size_t(a.maps);
                  }
                  body(cell, kernel, output);
              });
}

} // namespace cntk
