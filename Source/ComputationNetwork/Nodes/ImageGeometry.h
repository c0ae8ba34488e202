// Translates the parameters of a convolution or pooling into windows, and reads and writes them in model files. Memory
// layouts, output sizes and placement of windows are the same as in CNTK v1.1.
#pragma once

#include "ComputationNetwork/ComputationNode.h"
#include "ComputationNetwork/ModelArchive.h"
#include "Math/ImageOperations.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cntk
{

// Memory layout of an image; the values are those of model files.
enum class ImageLayout : int32_t
{
    // "legacy": channels vary fastest, then the rows of a column. The shape is written [channels x width x height].
    Hwc = 0,
    // "cudnn": [width x height x channels]
    Chw = 1
};
const char* NameOf(ImageLayout layout);
// Reads the parameter "imageLayout". Fails (Config) for an unknown value.
ImageLayout LayoutParameter(const NodeParameters& parameters, ImageLayout defaultLayout);

struct ImageSize
{
    size_t width = 0;
    size_t height = 0;
    size_t channels = 0;
};
ImageSize SizeOfImage(const TensorShape& shape, ImageLayout layout); // rank 3
TensorShape ShapeOfImage(const ImageSize& size, ImageLayout layout);
// Reports to the source of an image, through element-wise functions, that a window reads it. Returns true if the next
// validation pass will find other dimensions.
bool ShowImage(ComputationNode& image);
// Does the same for a window that also accepts vectors: it reads an image if its kernel has the rank of an image.
bool ShowImage(ComputationNode& image, const TensorShape& kernel);
// Returns true if the input is an image of three dimensions. The final pass fails if not.
bool RequireImage(const ComputationNode& node, const ComputationNode& input, ImageLayout layout,
                  const ShapeInference& inference);

// Windows over any number of axes. Each list has one value for all axes or one for each.
struct WindowSpec
{
    TensorShape kernel;
    TensorShape mapCount{1}; // a single value applies to the last axis
    TensorShape stride{1};
    std::vector<bool> sharing{true};
    std::vector<bool> autoPadding{true};
    TensorShape lowerPad{0};
    TensorShape upperPad{0};
};
// Reads the kernel (under the given name), mapCount, stride, sharing, autoPadding, lowerPad and upperPad.
WindowSpec WindowParameters(const NodeParameters& parameters, std::string_view kernelName);
// Reads a shape such as "5:5:3". Fails (Config) with the parameter's name.
TensorShape ShapeParameter(const NodeParameters& parameters, std::string_view name, const TensorShape& defaultShape);

// Computes the windows. Fails (Model) if sizes do not fit. A remainder is split evenly between both sides, same as CNTK
// v1.1 on the CPU.
WindowGeometry GeometryOf(const TensorShape& input, const WindowSpec& spec);
TensorShape OutputShape(const WindowGeometry& geometry);

// Fails (Model) if windows leave gaps between them. axis: "width" or "height".
void RequireNoGap(const char* axis, size_t kernel, size_t stride);

// Windows over the two axes of a channels-first image. They begin at the first pixel or, with padding, floor(kernel/2)
// before it.
struct PlaneSpec
{
    size_t kernelWidth = 1;
    size_t kernelHeight = 1;
    size_t strideWidth = 1;
    size_t strideHeight = 1;
    bool zeroPadding = false;
};
// Computes windows over the axes channel, row, column. maps: 0 pools each channel by itself, otherwise kernels take all
// channels.
WindowGeometry ChannelsFirstGeometry(const ImageSize& image, const PlaneSpec& spec, size_t maps);
ImageSize OutputSize(const WindowGeometry& channelsFirst);

// Converts a layout number of a file. Fails (Model) for an unknown number.
ImageLayout LayoutOfFile(int64_t number);

// Reads or writes kernel, maps, stride, sharing, padding, kind of pooling, layout and limit of temporary memory:
// version 5 and later.
void WindowFields(ModelArchive& archive, WindowSpec& spec, int32_t& poolKind, ImageLayout& layout,
                  uint64_t& maxTempMem);

// Formats the padding: "autoPadding=true", "lowerPad=1 x 1 upperPad=0".
std::string DescribePadding(const WindowSpec& spec);

} // namespace cntk
