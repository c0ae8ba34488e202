// Windows over images: sizes, padding, memory order.
#include "ComputationNetwork/Nodes/ImageGeometry.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <optional>
#include <unordered_set>

namespace cntk
{

namespace
{

std::vector<bool> BooleansParameter(const NodeParameters& parameters, std::string_view name, bool defaultValue)
{
    const std::string text = parameters.Text(name);
    if (text.empty())
        return {defaultValue};
    std::vector<bool> values;
    for (const std::string_view part : Split(text, ':'))
    {
        const std::optional<bool> value = ParseBool(Trim(part));
        if (!value)
            Fail(ErrorKind::Config, "parameter '", name, "' is '", text,
                 "'; expected true or false, or a list of them like {true, true, false}");
        values.push_back(*value);
    }
    return values;
}

template <class Values>
auto ValueOf(const Values& values, size_t count, size_t axis)
{
    return values[count == 1 ? 0 : axis];
}

void CheckCount(const char* what, size_t count, size_t rank)
{
    if (count != 1 && count != rank)
        Fail(ErrorKind::Model, what, " has ", Counted(count, "value"),
             "; expected one for all dimensions or one for each of the ", rank, " dimensions of the input");
}

WindowAxis AxisOf(size_t axis, size_t input, const WindowSpec& spec)
{
    const bool isPadded = ValueOf(spec.autoPadding, spec.autoPadding.size(), axis);
    const size_t lower = ValueOf(spec.lowerPad, spec.lowerPad.Rank(), axis);
    const size_t upper = ValueOf(spec.upperPad, spec.upperPad.Rank(), axis);
    WindowAxis result;
    result.input = input;
    result.kernel = spec.kernel[axis];
    result.stride = ValueOf(spec.stride, spec.stride.Rank(), axis);
    if (result.kernel == 0 || result.stride == 0)
        Fail(ErrorKind::Model, result.kernel == 0 ? "the kernel" : "the stride", " is 0 in dimension ", axis + 1,
             "; expected 1 or more");
    if (isPadded)
        result.windows = (input - 1) / result.stride + 1;
    else if (input + lower + upper < result.kernel)
        Fail(ErrorKind::Model, "the kernel has ", Counted(result.kernel, "element"), " in dimension ", axis + 1,
             ", but the input only ", input, lower + upper > 0 ? Concat(" and ", lower + upper, " of padding") : "");
    else
        result.windows = (input + lower + upper - result.kernel) / result.stride + 1;
    const size_t before = (result.kernel - 1) / 2; // elements before the kernel's centre
    if (lower > 0 || upper > 0)
        result.start = -ptrdiff_t(lower);
    else
    {
        // If strides do not tile the input, the remainder is split evenly. With padding, at least one centre always
        // fits.
        const size_t covered = (result.windows - 1) * result.stride + 1;
        result.start = ptrdiff_t((input - covered) / 2) - ptrdiff_t(before);
    }
    result.isShared = ValueOf(spec.sharing, spec.sharing.size(), axis);
    return result;
}

} // namespace

const char* NameOf(ImageLayout layout)
{
    return layout == ImageLayout::Hwc ? "HWC" : "CHW";
}

ImageLayout LayoutParameter(const NodeParameters& parameters, ImageLayout defaultLayout)
{
    const std::string word = parameters.Text("imageLayout");
    if (word.empty())
        return defaultLayout;
    if (EqualsIgnoreCase(word, "HWC") || EqualsIgnoreCase(word, "legacy"))
        return ImageLayout::Hwc;
    if (EqualsIgnoreCase(word, "CHW") || EqualsIgnoreCase(word, "cudnn"))
        return ImageLayout::Chw;
    Fail(ErrorKind::Config, "parameter 'imageLayout' is '", word, "'; expected HWC (legacy) or CHW (cudnn)");
}

ImageSize SizeOfImage(const TensorShape& shape, ImageLayout layout)
{
    return layout == ImageLayout::Hwc ? ImageSize{shape[1], shape[2], shape[0]}
                                      : ImageSize{shape[0], shape[1], shape[2]};
}

TensorShape ShapeOfImage(const ImageSize& size, ImageLayout layout)
{
    return layout == ImageLayout::Hwc ? TensorShape{size.channels, size.width, size.height}
                                      : TensorShape{size.width, size.height, size.channels};
}

bool ShowImage(ComputationNode& image)
{
    std::unordered_set<const ComputationNode*> seen;
    const TensorShape shape = image.SampleLayout();
    ComputationNode* node = &image;
    while (shape.Rank() == 1 && node->SampleLayout() == shape && seen.insert(node).second)
    {
        if (auto* const source = Interface<ImageSource>(*node); source != nullptr && source->ShowToWindow())
            return true;
        if (node->Inputs().size() != 1 || !node->Input(0))
            break;
        node = node->Input(0).get();
    }
    return false;
}

bool ShowImage(ComputationNode& image, const TensorShape& kernel)
{
    return kernel.Rank() == 3 && ShowImage(image);
}

bool RequireImage(const ComputationNode& node, const ComputationNode& input, ImageLayout layout,
                  const ShapeInference& inference)
{
    const TensorShape& shape = input.SampleLayout();
    if (shape.HasUnknown())
        return false;
    if (shape.Rank() == 3)
        return true;
    if (inference.IsFinalPass())
        Fail(ErrorKind::Model, node.TypeName(), " with imageLayout=", NameOf(layout), " takes images of three ",
             "dimensions, ", layout == ImageLayout::Hwc ? "[channels x width x height]" : "[width x height x channels]",
             ", but ", DescribeShape(input), " has ", shape.Rank(),
             "; read the data with ImageInput, or give them their dimensions with Reshape(x, rows, imageWidth=..., "
             "imageHeight=..., imageChannels=...)");
    return false;
}

TensorShape ShapeParameter(const NodeParameters& parameters, std::string_view name, const TensorShape& defaultShape)
{
    const std::string text = parameters.Text(name);
    if (text.empty())
        return defaultShape;
    TensorShape shape;
    for (const std::string_view part : Split(text, ':'))
    {
        const std::optional<long long> dimension = ParseInteger(Trim(part));
        if (!dimension || *dimension < 0 || *dimension > INT32_MAX)
            Fail(ErrorKind::Config, "parameter '", name, "' is '", text,
                 "'; expected a number or a list of numbers like {5, 5, 3}");
        if (shape.Rank() == TensorShape::c_maxRank)
            Fail(ErrorKind::Config, "parameter '", name, "' is '", text, "'; at most ", TensorShape::c_maxRank,
                 " dimensions are possible");
        shape.SetDim(shape.Rank(), size_t(*dimension));
    }
    return shape;
}

WindowSpec WindowParameters(const NodeParameters& parameters, std::string_view kernelName)
{
    WindowSpec spec;
    spec.kernel = ShapeParameter(parameters, kernelName, TensorShape{1});
    spec.mapCount = ShapeParameter(parameters, "mapCount", TensorShape{1});
    spec.stride = ShapeParameter(parameters, "stride", TensorShape{1});
    spec.sharing = BooleansParameter(parameters, "sharing", true);
    spec.autoPadding = BooleansParameter(parameters, "autoPadding", true);
    spec.lowerPad = ShapeParameter(parameters, "lowerPad", TensorShape{0});
    spec.upperPad = ShapeParameter(parameters, "upperPad", TensorShape{0});
    return spec;
}

WindowGeometry GeometryOf(const TensorShape& input, const WindowSpec& spec)
{
    const size_t rank = input.Rank();
    if (spec.kernel.Rank() != rank)
        Fail(ErrorKind::Model, "the kernel [", spec.kernel.ToString(), "] has ",
             Counted(spec.kernel.Rank(), "dimension"), ", but the input [", input.ToString(), "] has ", rank,
             "; a kernel has as many dimensions as its input, the channels included");
    CheckCount("stride", spec.stride.Rank(), rank);
    CheckCount("sharing", spec.sharing.size(), rank);
    CheckCount("autoPadding", spec.autoPadding.size(), rank);
    CheckCount("lowerPad", spec.lowerPad.Rank(), rank);
    CheckCount("upperPad", spec.upperPad.Rank(), rank);
    CheckCount("mapCount", spec.mapCount.Rank(), rank);
    WindowGeometry geometry;
    geometry.rank = rank;
    for (size_t axis = 0; axis < rank; axis++)
    {
        geometry.axes[axis] = AxisOf(axis, input[axis], spec);
        const bool isLast = axis + 1 == rank;
        geometry.axes[axis].maps = spec.mapCount.Rank() > 1 ? spec.mapCount[axis] : isLast ? spec.mapCount[0] : 1;
        if (geometry.axes[axis].maps == 0)
            Fail(ErrorKind::Model, "mapCount is 0; expected 1 or more");
    }
    return geometry;
}

TensorShape OutputShape(const WindowGeometry& geometry)
{
    TensorShape shape;
    for (size_t axis = 0; axis < geometry.rank; axis++)
        shape.SetDim(axis, geometry.axes[axis].Output());
    return shape;
}

void RequireNoGap(const char* axis, size_t kernel, size_t stride)
{
    if (stride > kernel)
        Fail(ErrorKind::Model, "the stride along the ", axis, " is ", stride, ", more than the ", kernel,
             " of the window, so that parts of the image would not be read; expected ", kernel, " or less");
}

WindowGeometry ChannelsFirstGeometry(const ImageSize& image, const PlaneSpec& spec, size_t maps)
{
    const auto axisOf = [&](const char* name, size_t input, size_t kernel, size_t stride)
    {
        if (kernel == 0 || stride == 0)
            Fail(ErrorKind::Model, kernel == 0 ? "the window's " : "the stride along the ", name,
                 " is 0; expected 1 or more");
        RequireNoGap(name, kernel, stride);
        if (kernel > input && !spec.zeroPadding)
            Fail(ErrorKind::Model, "the window's ", name, " is ", kernel, ", more than the ", input, " of the image");
        WindowAxis axis;
        axis.input = input;
        axis.kernel = kernel;
        axis.stride = stride;
        axis.start = spec.zeroPadding ? -ptrdiff_t(kernel / 2) : 0;
        axis.windows = spec.zeroPadding ? (input - 1) / stride + 1 : (input - kernel) / stride + 1;
        return axis;
    };
    WindowGeometry geometry;
    geometry.rank = 3;
    WindowAxis& channels = geometry.axes[0];
    channels.input = image.channels;
    channels.kernel = maps > 0 ? image.channels : 1;
    channels.windows = maps > 0 ? 1 : image.channels;
    channels.maps = maps > 0 ? maps : 1;
    geometry.axes[1] = axisOf("height", image.height, spec.kernelHeight, spec.strideHeight);
    geometry.axes[2] = axisOf("width", image.width, spec.kernelWidth, spec.strideWidth);
    return geometry;
}

ImageSize OutputSize(const WindowGeometry& channelsFirst)
{
    return {channelsFirst.axes[2].Output(), channelsFirst.axes[1].Output(), channelsFirst.axes[0].Output()};
}

ImageLayout LayoutOfFile(int64_t number)
{
    if (number != 0 && number != 1)
        Fail(ErrorKind::Model, "the image layout is ", number, "; expected 0 (HWC) or 1 (CHW)");
    return number == 0 ? ImageLayout::Hwc : ImageLayout::Chw;
}

void WindowFields(ModelArchive& archive, WindowSpec& spec, int32_t& poolKind, ImageLayout& layout, uint64_t& maxTempMem)
{
    archive.Shape(spec.kernel);
    archive.Shape(spec.mapCount);
    archive.Shape(spec.stride);
    archive.List(spec.sharing);
    archive.List(spec.autoPadding);
    archive.Shape(spec.lowerPad);
    archive.Shape(spec.upperPad);
    archive.Field(poolKind);
    int32_t number = int32_t(layout);
    archive.Field(number);
    layout = LayoutOfFile(number);
    archive.Field(maxTempMem);
}

std::string DescribePadding(const WindowSpec& spec)
{
    std::string padding;
    for (const bool isPadded : spec.autoPadding)
        padding += Concat(padding.empty() ? "" : ":", isPadded ? "true" : "false");
    const bool isExplicit = !(spec.lowerPad == TensorShape{0}) || !(spec.upperPad == TensorShape{0});
    return Concat("autoPadding=", padding,
                  isExplicit ? Concat("  lowerPad=", spec.lowerPad.ToString(), "  upperPad=", spec.upperPad.ToString())
                             : "");
}

} // namespace cntk
