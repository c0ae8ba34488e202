// The inner loops of convolution and pooling.
#pragma once

#include <cstddef>

namespace cntk
{

// One sample. The image has the channels fastest, then axis A, then axis B, and has its padding around it already.
template <class T>
struct DirectConvolution
{
    size_t channels = 0;
    size_t lineA = 0; // pixels from one position along B to the next
    size_t kernelA = 0;
    size_t kernelB = 0;
    size_t strideA = 1;
    size_t strideB = 1;
    size_t windowsA = 0;
    size_t windowsB = 0;
    size_t maps = 0;
    const T* image = nullptr;
    // Panels of so many maps as a row of tiles has, filled up with zeros; in a panel the elements in the order channel,
    // A, B, the maps fastest. The weight gradient is added to this form.
    const T* weights = nullptr;
    T* weightGradient = nullptr;
    // Output or its gradient: the maps fastest, pixels outputStride apart.
    T* output = nullptr;
    const T* gradient = nullptr; // outputStride is a multiple of the panel's maps
    size_t outputStride = 0;
    T beta = 0;              // 0 or 1: added to what is there
    const T* bias = nullptr; // null: none
    bool rectify = false;    // max(value, 0) at the end
};

// Pooling of one plane after another: elements of the inner run are independent, e.g. channels.
template <class T>
struct PoolPlanes
{
    struct Axis
    {
        size_t input = 1;
        size_t kernel = 1;
        size_t stride = 1;
        ptrdiff_t start = 0;
        size_t windows = 1;
    };
    size_t inner = 1;
    Axis a;
    Axis b;
    size_t planes = 0;
    bool average = false;
    const T* input = nullptr;
    T* output = nullptr;
    const T* gradient = nullptr;
    T* inputGradient = nullptr;
    bool accumulate = false;
};

template <class T>
struct ImageFunctions
{
    // Maps of a panel, for a convolution with so many.
    size_t (*panelMaps)(size_t maps);
    void (*convolve)(const DirectConvolution<T>& task);
    void (*addWeightGradient)(const DirectConvolution<T>& task);
    void (*pool)(const PoolPlanes<T>& task);
    void (*poolGradient)(const PoolPlanes<T>& task);
    // to[j*toStride + i] = from[i*fromStride + j], rows x columns of from.
    void (*transpose)(const T* from, size_t fromStride, size_t rows, size_t columns, T* to, size_t toStride);
};

} // namespace cntk
