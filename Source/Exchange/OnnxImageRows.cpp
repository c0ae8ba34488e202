// ONNX forms of convolutions, pooling and batch normalization. Windows come from the engine's own geometry: inputs are
// padded (negative: cut) so that the operators need no padding of their own.
#include "ComputationNetwork/Nodes/ConvolutionNode.h"
#include "ComputationNetwork/Nodes/ImageGeometry.h"
#include "Exchange/OnnxConversion.h"

#include <algorithm>

namespace cntk
{

namespace
{

// An image or other tensor of samples [samples, channels, axes...], with all dynamic axes joined to one.
struct OnnxImage
{
    std::string name;
    int64_t channels = 1;
    std::vector<WindowAxis> axes; // in the tensor's order
};

// Bytes before the first and after the last element that windows cover beyond the input; negative: elements cut off.
int64_t PadBefore(const WindowAxis& axis)
{
    return -int64_t(axis.start);
}
int64_t PadAfter(const WindowAxis& axis)
{
    const auto covered = int64_t((axis.windows - 1) * axis.stride + axis.kernel);
    return covered - PadBefore(axis) - int64_t(axis.input);
}

void PadImage(OnnxBuilder& builder, OnnxImage& image, int64_t least, int64_t most)
{
    std::vector<int64_t> before = {0, 0}, after = {0, 0};
    for (const WindowAxis& axis : image.axes)
    {
        before.push_back(std::clamp(PadBefore(axis), least, most));
        after.push_back(std::clamp(PadAfter(axis), least, most));
    }
    before.insert(before.end(), after.begin(), after.end());
    if (std::any_of(before.begin(), before.end(), [](int64_t pad) { return pad != 0; }))
        image.name = builder.Append("Pad", {image.name, builder.Integers(before)}, {});
}

constexpr int64_t c_noLimit = int64_t(1) << 40;

std::vector<int64_t> SizesOf(const std::vector<WindowAxis>& axes, size_t WindowAxis::*member)
{
    std::vector<int64_t> sizes;
    for (const WindowAxis& axis : axes)
        sizes.push_back(int64_t(axis.*member));
    return sizes;
}

// Joins the dynamic axes: [samples, dims...].
std::string JoinSamples(OnnxBuilder& builder, const OnnxValue& value, OnnxDims dims)
{
    dims.insert(dims.begin(), -1);
    return builder.Append("Reshape", {value.name, builder.Integers(dims)}, {});
}

// Splits the samples into the dynamic axes of `like` again.
OnnxValue SplitSamples(OnnxBuilder& builder, const std::string& name, const OnnxDims& dims, const OnnxValue& like)
{
    if (builder.DynamicAxes() == 1)
    {
        OnnxDims shape = dims;
        shape.insert(shape.begin(), 0);
        return {builder.Append("Reshape", {name, builder.Integers(shape)}, {}), dims, true};
    }
    return builder.ReshapedAs({name, {}, true},
                              builder.JoinShapes({builder.DynamicShape(like), builder.Integers(dims)}), dims, true);
}

std::string Permute(OnnxBuilder& builder, const std::string& name, const std::vector<int64_t>& order)
{
    return builder.Append("Transpose", {name}, {{"perm", order}});
}

// An image with the channels first in memory, [W, H, C] with W the slowest, as [samples, C, H, W].
OnnxImage LegacyImage(OnnxBuilder& builder, const OnnxValue& x, const WindowGeometry& geometry)
{
    const WindowAxis &channel = geometry.axes[0], &row = geometry.axes[1], &column = geometry.axes[2];
    const std::string joined =
        JoinSamples(builder, x, {int64_t(column.input), int64_t(row.input), int64_t(channel.input)});
    return {Permute(builder, joined, {0, 3, 2, 1}), int64_t(channel.input), {row, column}};
}

// A tensor of any rank: the last dimension is the channels, or one more axis of a single channel.
OnnxImage TensorImage(OnnxBuilder& builder, const OnnxValue& x, const WindowGeometry& geometry, bool hasChannels)
{
    OnnxImage image;
    for (size_t axis = geometry.rank; axis-- > 0;)
        image.axes.push_back(geometry.axes[axis]);
    if (hasChannels)
    {
        image.channels = int64_t(image.axes.front().input);
        image.axes.erase(image.axes.begin());
    }
    OnnxDims dims = SizesOf(image.axes, &WindowAxis::input);
    dims.insert(dims.begin(), image.channels);
    image.name = JoinSamples(builder, x, dims);
    return image;
}

// ---- convolution ----

struct ConvolutionFields
{
    WindowSpec spec;
    ImageLayout layout = ImageLayout::Hwc;
};

ConvolutionFields FieldsOfConvolution(const ComputationNode& node)
{
    ConvolutionFields fields;
    ReadFields(node,
               [&](ModelArchive& archive)
               {
                   int32_t poolKind = 0;
                   uint64_t limit = 0;
                   WindowFields(archive, fields.spec, poolKind, fields.layout, limit);
               });
    return fields;
}

std::string Convolve(OnnxBuilder& builder, OnnxImage image, const std::string& kernels)
{
    PadImage(builder, image, -c_noLimit, c_noLimit);
    return builder.Append("Conv", {image.name, kernels},
                          {{"kernel_shape", SizesOf(image.axes, &WindowAxis::kernel)},
                           {"strides", SizesOf(image.axes, &WindowAxis::stride)}});
}

// Kernels of the book's matrix, in memory [channel][column][row][kernel], as [kernel][channel][row][column].
OnnxValue LegacyKernels(OnnxConversion& conversion, const ComputationNode& node, const WindowGeometry& geometry)
{
    const size_t maps = geometry.axes[0].maps, channels = geometry.axes[0].input;
    const size_t rows = geometry.axes[1].kernel, columns = geometry.axes[2].kernel;
    const std::vector<double> values = conversion.StaticValues(*node.Input(0));
    std::vector<double> ordered;
    ordered.reserve(values.size());
    for (size_t map = 0; map < maps; ++map)
        for (size_t channel = 0; channel < channels; ++channel)
            for (size_t row = 0; row < rows; ++row)
                for (size_t column = 0; column < columns; ++column)
                    ordered.push_back(values[map + maps * (row + rows * (column + columns * channel))]);
    return conversion.Builder().Array({int64_t(maps), int64_t(channels), int64_t(rows), int64_t(columns)}, ordered);
}

// Maps of several dimensions: the kernel number has the first dimension fastest, and in each dimension the windows are
// faster than the maps.
std::string InterleaveMaps(OnnxBuilder& builder, const std::string& name, const WindowGeometry& geometry)
{
    const size_t rank = geometry.rank;
    OnnxDims split;
    for (size_t axis = rank; axis-- > 0;)
        split.push_back(int64_t(geometry.axes[axis].maps));
    for (size_t axis = rank; axis-- > 0;)
        split.push_back(int64_t(geometry.axes[axis].windows));
    std::vector<int64_t> order = {0};
    for (size_t i = 0; i < rank; ++i)
    {
        order.push_back(int64_t(1 + i));
        order.push_back(int64_t(1 + rank + i));
    }
    return Permute(builder, JoinSamples(builder, {name, {}, true}, split), order);
}

OnnxValue ConvertConvolution(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    if (!conversion.IsStatic(*node.Input(0)))
        RefuseOnnx(node, "has kernels that change with the data", "export what it reads (outputNodeNames)");
    const auto [spec, layout] = FieldsOfConvolution(node);
    if (std::find(spec.sharing.begin(), spec.sharing.end(), false) != spec.sharing.end())
        RefuseOnnx(node, "has a kernel of its own for each window (sharing=false)",
                   "export what it reads (outputNodeNames)");
    const TensorShape& shape = node.Input(1)->SampleLayout();
    const OnnxValue x = conversion.Input(node, 1);
    const OnnxDims dims = OnnxDimsOf(node.SampleLayout());
    if (layout == ImageLayout::Hwc)
    {
        const PlaneSpec plane{spec.kernel[0], spec.kernel[1], spec.stride[0], spec.stride[1], spec.autoPadding[0]};
        const WindowGeometry geometry =
            ChannelsFirstGeometry(SizeOfImage(shape, layout), plane, spec.mapCount.Elements());
        const std::string result =
            Convolve(builder, LegacyImage(builder, x, geometry), LegacyKernels(conversion, node, geometry).name);
        return SplitSamples(builder, Permute(builder, result, {0, 3, 2, 1}), dims, x);
    }
    const WindowGeometry geometry = GeometryOf(shape, spec);
    const WindowAxis& last = geometry.axes[geometry.rank - 1];
    const bool hasChannels = geometry.rank > 1 && last.windows == 1 && last.kernel == last.input && last.start == 0;
    const OnnxImage image = TensorImage(builder, x, geometry, hasChannels);
    // The kernels' memory is [kernel][axes...] already.
    OnnxDims kernels = SizesOf(image.axes, &WindowAxis::kernel);
    kernels.insert(kernels.begin(), {int64_t(geometry.KernelCount()), image.channels});
    const OnnxValue weights = builder.Reshaped(conversion.Input(node, 0), kernels);
    std::string result = Convolve(builder, image, weights.name);
    const auto isSingle = [](const WindowAxis& axis) { return axis.maps == 1; };
    if (!std::all_of(geometry.axes.begin(), geometry.axes.begin() + ptrdiff_t(geometry.rank) - 1, isSingle))
        result = InterleaveMaps(builder, result, geometry);
    return SplitSamples(builder, result, dims, x);
}

// ---- pooling ----

struct PoolingFields
{
    PoolKind kind = PoolKind::Max;
    ImageLayout layout = ImageLayout::Hwc;
    WindowSpec spec;
};

PoolingFields FieldsOfPooling(const ComputationNode& node)
{
    PoolingFields fields;
    if (node.TypeName() == "Pooling")
    {
        ReadFields(node,
                   [&](ModelArchive& archive)
                   {
                       int32_t kind = 0;
                       uint64_t limit = 0;
                       WindowFields(archive, fields.spec, kind, fields.layout, limit);
                       fields.kind = kind == 1 ? PoolKind::Max : PoolKind::Average;
                   });
        return fields;
    }
    ReadFields(node,
               [&](ModelArchive& archive)
               {
                   uint32_t width = 1, layout = 0;
                   uint64_t height = 1, stepWidth = 1, stepHeight = 1;
                   archive.Field(width);
                   archive.Field(layout);
                   archive.Field(height);
                   archive.Field(stepWidth);
                   archive.Field(stepHeight);
                   fields.layout = LayoutOfFile(int64_t(layout));
                   fields.spec.kernel = TensorShape{width, size_t(height), 1};
                   fields.spec.stride = TensorShape{size_t(stepWidth), size_t(stepHeight), 1};
                   fields.spec.autoPadding = {false};
               });
    fields.kind = node.TypeName() == "MaxPooling" ? PoolKind::Max : PoolKind::Average;
    return fields;
}

// Padding is left to the operator, which takes no account of it in maxima and means.
std::string PoolImage(OnnxBuilder& builder, OnnxImage image, PoolKind kind)
{
    PadImage(builder, image, -c_noLimit, 0);
    std::vector<int64_t> pads;
    for (const WindowAxis& axis : image.axes)
        pads.push_back(std::max<int64_t>(PadBefore(axis), 0));
    for (const WindowAxis& axis : image.axes)
        pads.push_back(std::max<int64_t>(PadAfter(axis), 0));
    return builder.Append(kind == PoolKind::Max ? "MaxPool" : "AveragePool", {image.name},
                          {{"kernel_shape", SizesOf(image.axes, &WindowAxis::kernel)},
                           {"strides", SizesOf(image.axes, &WindowAxis::stride)},
                           {"pads", pads}});
}

// Runtimes pool over up to three axes. Maxima and means over more are taken axis by axis.
std::string PoolAxisByAxis(OnnxBuilder& builder, const OnnxImage& image, PoolKind kind)
{
    std::string name = image.name;
    OnnxDims dims = SizesOf(image.axes, &WindowAxis::input);
    dims.insert(dims.begin(), image.channels);
    for (size_t i = 0; i < image.axes.size(); ++i)
    {
        const auto at = dims.begin() + 1 + ptrdiff_t(i);
        const int64_t before = ElementsOf(OnnxDims(dims.begin(), at)), after = ElementsOf(OnnxDims(at + 1, dims.end()));
        WindowAxis rest;
        rest.input = rest.windows = size_t(after);
        OnnxImage plane{JoinSamples(builder, {name, {}, true}, {before, *at, after}), before, {image.axes[i], rest}};
        name = PoolImage(builder, plane, kind);
        *at = int64_t(image.axes[i].windows);
    }
    return name;
}

OnnxValue ConvertPooling(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    constexpr size_t c_mostAxes = 3;
    OnnxBuilder& builder = conversion.Builder();
    const auto [kind, layout, spec] = FieldsOfPooling(node);
    const TensorShape& shape = node.Input(0)->SampleLayout();
    const OnnxValue x = conversion.Input(node, 0);
    const OnnxDims dims = OnnxDimsOf(node.SampleLayout());
    if (layout == ImageLayout::Hwc)
    {
        const PlaneSpec plane{spec.kernel[0], spec.kernel[1], spec.stride[0], spec.stride[1], false};
        const WindowGeometry geometry = ChannelsFirstGeometry(SizeOfImage(shape, layout), plane, 0);
        const std::string result = PoolImage(builder, LegacyImage(builder, x, geometry), kind);
        return SplitSamples(builder, Permute(builder, result, {0, 3, 2, 1}), dims, x);
    }
    const WindowGeometry geometry = GeometryOf(shape, spec);
    const WindowAxis& last = geometry.axes[geometry.rank - 1];
    const bool hasChannels = geometry.rank > 1 && last.kernel == 1 && last.windows == last.input && last.start == 0;
    const OnnxImage image = TensorImage(builder, x, geometry, hasChannels);
    return SplitSamples(builder,
                        image.axes.size() > c_mostAxes ? PoolAxisByAxis(builder, image, kind)
                                                       : PoolImage(builder, image, kind),
                        dims, x);
}

// ---- batch normalization ----

// scale * (x - mean) * invStdDev + bias; the running statistic is 1 / sqrt(variance + epsilon) already.
OnnxValue ConvertBatchNormalization(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    bool isSpatial = false;
    double normalization = 0, blend = 0;
    int32_t layoutNumber = 0;
    ReadFields(node,
               [&](ModelArchive& archive)
               {
                   archive.Field(isSpatial);
                   archive.Field(normalization);
                   archive.Field(blend);
                   archive.Field(layoutNumber);
               });
    OnnxBuilder& builder = conversion.Builder();
    OnnxValue x = conversion.Input(node, 0);
    OnnxDims statistics = x.dims;
    if (isSpatial)
    {
        const ImageLayout layout = LayoutOfFile(layoutNumber);
        const auto channels = int64_t(SizeOfImage(node.SampleLayout(), layout).channels);
        const int64_t pixels = ElementsOf(x.dims) / channels;
        const bool isChannelsLast = layout == ImageLayout::Hwc; // the fastest dimension
        x = builder.Reshaped(x, isChannelsLast ? OnnxDims{pixels, channels} : OnnxDims{channels, pixels});
        statistics = isChannelsLast ? OnnxDims{channels} : OnnxDims{channels, 1};
    }
    const auto parameter = [&](size_t input) { return builder.Reshaped(conversion.Input(node, input), statistics); };
    const OnnxValue normalized = builder.Combine("Mul", builder.Combine("Sub", x, parameter(3)), parameter(4));
    return builder.Combine("Add", builder.Combine("Mul", normalized, parameter(1)), parameter(2));
}

constexpr OnnxRow c_imageRows[] = {
    {"Convolution", "Conv, Pad, Transpose", ConvertConvolution},
    {"MaxPooling", "MaxPool, Transpose", ConvertPooling},
    {"AveragePooling", "AveragePool, Transpose", ConvertPooling},
    {"Pooling", "MaxPool or AveragePool, Pad", ConvertPooling},
    {"BatchNormalization", "Sub, Mul, Add", ConvertBatchNormalization},
};

} // namespace

std::span<const OnnxRow> OnnxImageRows()
{
    return c_imageRows;
}

} // namespace cntk
