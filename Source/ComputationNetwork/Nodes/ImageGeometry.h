// From what a script says of a convolution or a pooling to the windows that it has: the original's
// memory layouts, output sizes and placement of windows.
#pragma once

#include "ComputationNetwork/ComputationNode.h"
#include "Math/ImageOperations.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cntk
{

// How an image lies in memory; the numbers are those of model files.
enum class ImageLayout : int32_t
{
    // "legacy": the channels fastest, then the rows of a column. The shape is written [channels x width x height].
    Hwc = 0,
    // "cudnn": [width x height x channels]
    Chw = 1
};
const char* NameOf(ImageLayout layout);
// The parameter "imageLayout". Fails (Config) for other words.
ImageLayout LayoutParameter(const NodeParameters& parameters, ImageLayout defaultLayout);

struct ImageSize
{
    size_t width = 0;
    size_t height = 0;
    size_t channels = 0;
};
ImageSize SizeOfImage(const TensorShape& shape, ImageLayout layout); // rank 3
TensorShape ShapeOfImage(const ImageSize& size, ImageLayout layout);
// Tells the node that the image comes from, through functions of its elements, that a window looks at it. Whether the
// next pass of the validation finds other dimensions by that.
bool ShowImage(ComputationNode& image);
// The same for a window that goes over a vector as well: it looks at an image where its kernel is one of an image.
bool ShowImage(ComputationNode& image, const TensorShape& kernel);
// Whether the input is an image of three dimensions; in the final pass an error if not.
bool RequireImage(const ComputationNode& node, const ComputationNode& input, ImageLayout layout,
                  const ShapeInference& inference);

// Windows over any number of axes. Each list has one value for all axes or one for each.
struct WindowSpec
{
    TensorShape kernel;
    TensorShape mapCount{1}; // one value: of the last axis
    TensorShape stride{1};
    std::vector<bool> sharing{true};
    std::vector<bool> autoPadding{true};
    TensorShape lowerPad{0};
    TensorShape upperPad{0};
};
// From the parameters kernel (of that name), mapCount, stride, sharing, autoPadding, lowerPad, upperPad.
WindowSpec WindowParameters(const NodeParameters& parameters, std::string_view kernelName);
// "5:5:3"; fails (Config) with the parameter's name.
TensorShape ShapeParameter(const NodeParameters& parameters, std::string_view name, const TensorShape& defaultShape);

// Fails (Model) where sizes do not fit. What does not tile is split evenly on both sides, as the original does on the
// CPU.
WindowGeometry GeometryOf(const TensorShape& input, const WindowSpec& spec);
TensorShape OutputShape(const WindowGeometry& geometry);

// Fails (Model) where windows leave out what lies between them. axis: "width" or "height".
void RequireNoGap(const char* axis, size_t kernel, size_t stride);

// Two axes of a channels-first image, the windows beginning at the first pixel or, with padding, floor(kernel/2)
// before.
struct PlaneSpec
{
    size_t kernelWidth = 1;
    size_t kernelHeight = 1;
    size_t strideWidth = 1;
    size_t strideHeight = 1;
    bool zeroPadding = false;
};
// Axes channel, row, column. maps: 0 pools each channel by itself, otherwise kernels take all channels.
WindowGeometry ChannelsFirstGeometry(const ImageSize& image, const PlaneSpec& spec, size_t maps);
ImageSize OutputSize(const WindowGeometry& channelsFirst);

} // namespace cntk
