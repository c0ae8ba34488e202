// Windows over any number of axes as kernels take them: what lies where, and what belongs together.
#pragma once

#include "Math/Gpu/DeviceFunctions.cuh"
#include "Math/ImageKernels.h"

#include <cstdint>

namespace cntk
{

constexpr int c_maxAxes = int(TensorShape::c_maxRank);

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

// A geometry as kernels take it.
struct DeviceGeometry
{
    DeviceAxis axes[c_maxAxes];
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
        {
            const WindowAxis& a = geometry.axes[i];
            axes[rank++] = {int32_t(a.input),   int32_t(a.kernel), int32_t(a.stride), int32_t(a.start),
                            int32_t(a.windows), int32_t(a.maps),   a.isShared};
        }
    }
    explicit DeviceGeometry(const ConvolutionGeometry& geometry)
        : DeviceGeometry(static_cast<const WindowGeometry&>(geometry))
    {
        outputsFastest = geometry.weights == ConvolutionGeometry::Weights::OutputsFastest;
    }
};

// Where an element of a kernel lies among its elements: the first axis is the last one where outputs are fastest.
__device__ inline size_t ElementIndex(const DeviceGeometry& g, const int32_t* cell)
{
    size_t index = g.outputsFastest ? size_t(cell[0]) : 0;
    for (int axis = g.rank - 1; axis >= (g.outputsFastest ? 1 : 0); --axis)
        index = index * size_t(g.axes[axis].kernel) + size_t(cell[axis]);
    return index;
}

__device__ inline size_t WeightIndex(const DeviceGeometry& g, size_t kernel, size_t element)
{
    return g.outputsFastest ? element * g.kernels + kernel : kernel * g.kernelElements + element;
}

// The cell of an element of a kernel.
__device__ inline void CellOf(const DeviceGeometry& g, size_t element, int32_t* cell)
{
    for (int i = 0; i < g.rank; ++i)
    {
        const int axis = g.outputsFastest ? (i + 1) % g.rank : i;
        cell[axis] = int32_t(element % size_t(g.axes[axis].kernel));
        element /= size_t(g.axes[axis].kernel);
    }
}

// Which windows and which map an output element is of.
struct OutputPlace
{
    int32_t window[c_maxAxes];
    size_t kernel;
    size_t map; // of a bias

    __device__ OutputPlace(const DeviceGeometry& g, size_t output) : kernel(0), map(0)
    {
        size_t kernels = 1;
        size_t maps = 1;
        for (int axis = 0; axis < g.rank; ++axis)
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
template <class Body>
__device__ void ForEachIn(int rank, const int32_t* begin, const int32_t* end, Body&& body)
{
    int32_t at[c_maxAxes];
    for (int axis = 0; axis < rank; ++axis)
    {
        if (begin[axis] >= end[axis])
            return;
        at[axis] = begin[axis];
    }
    for (;;)
    {
        body(at);
        int axis = 0;
        for (; axis < rank; ++axis)
        {
            if (++at[axis] < end[axis])
                break;
            at[axis] = begin[axis];
        }
        if (axis == rank)
            return;
    }
}

// body(cell, index of the input) for the elements of an output's window that lie inside the input.
template <class Body>
__device__ void ForEachInput(const DeviceGeometry& g, const OutputPlace& place, Body&& body)
{
    int32_t begin[c_maxAxes];
    int32_t end[c_maxAxes];
    int32_t origin[c_maxAxes];
    for (int axis = 0; axis < g.rank; ++axis)
    {
        const DeviceAxis& a = g.axes[axis];
        origin[axis] = a.start + place.window[axis] * a.stride;
        begin[axis] = origin[axis] < 0 ? -origin[axis] : 0;
        end[axis] = a.input - origin[axis] < a.kernel ? a.input - origin[axis] : a.kernel;
    }
    ForEachIn(g.rank, begin, end,
              [&](const int32_t* cell)
              {
                  size_t input = 0;
                  for (int axis = g.rank - 1; axis >= 0; --axis)
                      input = input * size_t(g.axes[axis].input) + size_t(origin[axis] + cell[axis]);
                  body(cell, input);
              });
}

// body(cell, kernel, index of the output) for everything that an input element goes into.
template <class Body>
__device__ void ForEachOutput(const DeviceGeometry& g, size_t input, Body&& body)
{
    int32_t position[c_maxAxes];
    int32_t begin[c_maxAxes];
    int32_t end[c_maxAxes];
    int32_t firstWindow[c_maxAxes];
    int32_t windows[c_maxAxes];
    int32_t cell[c_maxAxes] = {};
    for (int axis = 0; axis < g.rank; ++axis)
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
    ForEachIn(g.rank, begin, end,
              [&](const int32_t* at)
              {
                  size_t output = 0;
                  size_t outputs = 1;
                  size_t kernel = 0;
                  size_t kernels = 1;
                  for (int axis = 0; axis < g.rank; ++axis)
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
