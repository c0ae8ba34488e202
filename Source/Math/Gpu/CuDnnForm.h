// Convolutions and poolings as cuDNN describes them: samples, channels and two or three axes of windows.
#pragma once

#include "Math/ImageOperations.h"

#include <array>
#include <optional>

namespace cntk
{

struct CuDnnAxis
{
    int input = 1;
    int kernel = 1;
    int stride = 1;
    int padding = 0; // on each side
    int windows = 1;
    int inputStep = 1; // elements from one position to the next in memory
    int outputStep = 1;

    bool operator==(const CuDnnAxis&) const = default;
};

struct CuDnnForm
{
    static constexpr int c_maxAxes = 3;

    // Nothing if cuDNN has no such windows: kernels that are not shared, different padding on the two sides, more than
    // three axes.
    static std::optional<CuDnnForm> OfConvolution(const ConvolutionGeometry& geometry);
    static std::optional<CuDnnForm> OfPooling(const WindowGeometry& geometry);

    int rank = 0;                          // 2 or 3
    std::array<CuDnnAxis, c_maxAxes> axes; // the slowest in memory first
    int channels = 1;
    int channelStep = 1;
    int maps = 1; // channels of the output
    int mapStep = 1;
    bool isInterleaved = false; // channels fastest in memory ("NHWC"), in kernels too

    bool operator==(const CuDnnForm&) const = default;
};

} // namespace cntk
