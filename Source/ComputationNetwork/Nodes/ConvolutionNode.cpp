// Convolution: shapes, the two forms of its arguments, the fields of all file versions.
#include "ComputationNetwork/Nodes/ConvolutionNode.h"

#include "Common/Error.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/ImageGeometry.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "Math/ImageOperations.h"

#include <algorithm>
#include <array>

namespace cntk
{

// ---- shapes ----

void ConvolutionNode::InferShape(ShapeInference& inference)
{
    RequireDenseInputs(*this, inference);
    const ComputationNode& image = *Input(1);
    if (inference.IsFinalPass() && Input(0)->HasMBLayout())
        Fail(ErrorKind::Model, "the first input of Convolution holds the weights, but ", DescribeShape(*Input(0)),
             " is data; expected a parameter");
    if (inference.IsFinalPass() && m_transposes)
        Fail(ErrorKind::Model, "this Convolution was stored as a transposed one (deconvolution), a feature of later "
                               "versions that does not exist here");
    const bool takesImages = m_isTwoDimensional || m_imageLayout == ImageLayout::Hwc;
    if (image.SampleLayout().HasUnknown() || (takesImages ? ShowImage(*Input(1)) : ShowImage(*Input(1), m_spec.kernel)))
        return;
    if (takesImages && !RequireImage(*this, image, m_imageLayout, inference))
        return;
    TensorShape shape;
    if (m_isTwoDimensional)
    {
        const ImageSize size = SizeOfImage(image.SampleLayout(), m_imageLayout);
        // Stored as in CNTK v1.1: the kernel covers all channels in one step.
        m_spec.kernel = TensorShape{m_spec.kernel[0], m_spec.kernel[1], size.channels};
        m_spec.stride = TensorShape{m_spec.stride[0], m_spec.stride[1], size.channels};
        if (m_imageLayout == ImageLayout::Hwc)
        {
            const PlaneSpec plane{m_spec.kernel[0], m_spec.kernel[1], m_spec.stride[0], m_spec.stride[1],
                                  m_spec.autoPadding[0]};
            static_cast<WindowGeometry&>(m_geometry) = ChannelsFirstGeometry(size, plane, m_spec.mapCount.Elements());
            shape = ShapeOfImage(OutputSize(m_geometry), ImageLayout::Hwc);
        }
    }
    else if (m_imageLayout == ImageLayout::Hwc && inference.IsFinalPass())
        Fail(ErrorKind::Model, "Convolution over any number of dimensions needs imageLayout=CHW; for HWC images give ",
             "kernelWidth, kernelHeight, outputChannels, horizontalSubsample and verticalSubsample");
    if (m_imageLayout == ImageLayout::Chw)
    {
        static_cast<WindowGeometry&>(m_geometry) = GeometryOf(image.SampleLayout(), m_spec);
        shape = OutputShape(m_geometry);
    }
    m_geometry.weights = m_imageLayout == ImageLayout::Hwc ? ConvolutionGeometry::Weights::OutputsFastest
                                                           : ConvolutionGeometry::Weights::KernelByKernel;
    const TensorShape weights{m_geometry.KernelCount(), m_geometry.KernelElements()};
    InferInputShape(0, weights);
    SetShape(shape, image.GetMBLayout());
    if (inference.IsFinalPass() && !HasAllKernels(Input(0)->SampleLayout()))
        Fail(ErrorKind::Model, "the weights ", DescribeShape(*Input(0)), " do not fit the image ", DescribeShape(image),
             "; expected [", weights.ToString(), "]: ", weights[0],
             m_isTwoDimensional ? " output channels" : " kernels", " of ", weights[1], " elements");
}

// Accepts any shape of the same size for CHW: its kernels are contiguous, so that [width x height x channels x maps] is
// the same memory.
bool ConvolutionNode::HasAllKernels(const TensorShape& weights) const
{
    const bool fits = weights.Elements() == m_geometry.KernelCount() * m_geometry.KernelElements();
    return fits && (m_imageLayout == ImageLayout::Chw || weights.MatrixRows() == m_geometry.KernelCount());
}

bool ConvolutionNode::IsMapBias(const ComputationNode& bias) const
{
    if (bias.HasMBLayout() || bias.IsSparse())
        return false;
    const TensorShape& shape = bias.SampleLayout();
    size_t axisOfMaps = TensorShape::c_maxRank;
    for (size_t axis = 0; axis < m_geometry.rank; axis++)
        if (m_geometry.axes[axis].maps > 1)
        {
            // Rejects several axes, and a single one whose windows have separate biases.
            if (axisOfMaps < TensorShape::c_maxRank || m_geometry.axes[axis].windows > 1)
                return false;
            axisOfMaps = axis;
        }
    if (axisOfMaps == TensorShape::c_maxRank || shape.Elements() != m_geometry.axes[axisOfMaps].maps)
        return false;
    return shape[axisOfMaps] == shape.Elements();
}

// ---- computation ----

void ConvolutionNode::ComputeWithEnding(const MatrixView& bias, ElementwiseOp activation,
                                        const MatrixView& output) const
{
    ConvolutionGeometry geometry = m_geometry;
    geometry.mostSamplesAtOnce = m_maxTempMem;
    Ops::Convolve(geometry, Input(0)->Value(), SamplesAsColumns(*Input(1), Input(1)->Value()),
                  SamplesAsColumns(*this, output), {bias, activation});
}

void ConvolutionNode::ForwardProp(const FrameRange& range)
{
    ConvolutionGeometry geometry = m_geometry;
    geometry.mostSamplesAtOnce = m_maxTempMem;
    Ops::Convolve(geometry, Input(0)->Value(), SamplesAsColumns(*Input(1), Input(1)->Value(range)),
                  SamplesAsColumns(*this, Value(range)));
}

void ConvolutionNode::BackpropTo(size_t input, const FrameRange& range)
{
    ConvolutionGeometry geometry = m_geometry;
    geometry.mostSamplesAtOnce = m_maxTempMem;
    const MatrixView gradient = SamplesAsColumns(*this, Gradient(range));
    const bool accumulate = GradientBeta(input) != 0;
    if (input == 1)
        return Ops::ConvolveInputGradient(geometry, Input(0)->Value(), gradient,
                                          SamplesAsColumns(*Input(1), InputGradient(1, range)), accumulate);
    const MatrixView image = SamplesAsColumns(*Input(1), Input(1)->Value(range));
    const MatrixView weights = InputGradient(0, range);
    const std::span<const uint8_t> mask = ColumnMask(range);
    if (mask.empty())
        return Ops::ConvolveWeightGradient(geometry, gradient, image, weights, accumulate);
    // The gradient is a sum over samples and leaves out the gaps.
    if (!accumulate)
        Ops::Fill(weights, 0);
    ForEachDataStretch(mask, gradient.columns,
                       [&](size_t first, size_t count) {
                           Ops::ConvolveWeightGradient(geometry, gradient.Columns(first, count),
                                                       image.Columns(first, count), weights, true);
                       });
}

// ---- arguments ----

void ConvolutionNode::SetTwoDimensionalParameters(const NodeParameters& parameters)
{
    const auto positive = [&](const char* name)
    {
        const long long value = parameters.Integer(name, 0);
        if (value < 1 || value > INT32_MAX)
            Fail(ErrorKind::Config, "parameter '", name, "' is ", value, "; expected 1 or more");
        return size_t(value);
    };
    m_isTwoDimensional = true;
    m_imageLayout = LayoutParameter(parameters, ImageLayout::Hwc);
    m_spec = WindowSpec();
    m_spec.kernel = TensorShape{positive("kernelShape"), positive("kernelHeight"), 1};
    m_spec.mapCount = TensorShape{1, 1, positive("outputChannels")};
    m_spec.stride = TensorShape{positive("horizontalSubsample"), positive("verticalSubsample"), 1};
    m_spec.autoPadding = {parameters.Boolean("zeroPadding", false)};
}

void ConvolutionNode::SetParameters(const NodeParameters& parameters)
{
    const long long limit = parameters.Integer("maxTempMemSizeInSamples", 0);
    if (limit < 0)
        Fail(ErrorKind::Config, "parameter 'maxTempMemSizeInSamples' is ", limit, "; expected 0 (no limit) or more");
    m_maxTempMem = uint64_t(limit);
    constexpr std::array<const char*, 4> names = {"kernelHeight", "outputChannels", "horizontalSubsample",
                                                  "verticalSubsample"};
    const auto given =
        std::count_if(names.begin(), names.end(), [&](const char* name) { return parameters.Has(name); });
    if (given == ptrdiff_t(names.size()))
        return SetTwoDimensionalParameters(parameters);
    if (given > 0)
        Fail(ErrorKind::Config, "Convolution takes seven arguments (w, image, kernelWidth, kernelHeight, ",
             "outputChannels, horizontalSubsample, verticalSubsample) or three (w, image, kernelShape)");
    m_isTwoDimensional = false;
    m_imageLayout = LayoutParameter(parameters, ImageLayout::Chw);
    m_spec = WindowParameters(parameters, "kernelShape");
}

// ---- fields ----

void ConvolutionNode::LoadOldFields(ModelArchive& archive)
{
    uint64_t kernelWidth = 0, kernelHeight = 0, strideWidth = 0, strideHeight = 0;
    uint32_t maps = 0, layout = 0;
    bool zeroPadding = false;
    archive.Field(kernelWidth);
    archive.Field(kernelHeight);
    archive.Field(strideWidth);
    archive.Field(strideHeight);
    archive.Field(maps);
    archive.Field(layout);
    archive.Field(zeroPadding);
    archive.Field(m_maxTempMem);
    m_imageLayout = LayoutOfFile(int64_t(layout));
    m_isTwoDimensional = true;
    m_spec = WindowSpec();
    m_spec.kernel = TensorShape{kernelWidth, kernelHeight, 1};
    m_spec.mapCount = TensorShape{1, 1, maps};
    m_spec.stride = TensorShape{strideWidth, strideHeight, 1};
    m_spec.autoPadding = {zeroPadding};
}

void ConvolutionNode::SerializeFields(ModelArchive& archive)
{
    if (archive.Version() < 5)
        return LoadOldFields(archive);
    int32_t poolKind = 0;
    WindowFields(archive, m_spec, poolKind, m_imageLayout, m_maxTempMem);
    if (archive.Version() >= 9)
        archive.Field(m_transposes);
    archive.Field(m_isTwoDimensional);
    if (archive.IsLoading() && m_isTwoDimensional && (m_spec.kernel.Rank() < 2 || m_spec.stride.Rank() < 2))
        Fail(ErrorKind::Model, "a Convolution of width and height has the kernel [", m_spec.kernel.ToString(),
             "] and the stride [", m_spec.stride.ToString(), "]; expected three dimensions");
}

std::string ConvolutionNode::DescribeFields() const
{
    return Concat("kernel=", m_spec.kernel.ToString(), "  maps=", m_spec.mapCount.ToString(),
                  "  stride=", m_spec.stride.ToString(), "  ", DescribePadding(m_spec),
                  "  imageLayout=", NameOf(m_imageLayout), "  maxTempMemSizeInSamples=", m_maxTempMem);
}

// ---- record ----

namespace
{

using namespace Samples;

GradientSample ConvolutionSample(const TensorShape& weights, const TensorShape& image,
                                 std::map<std::string, std::string> parameters)
{
    return Case({Parameter(weights), Data(image)}, std::move(parameters));
}

// Returns the seven arguments of the two-dimensional form.
std::map<std::string, std::string> Plane(const char* width, const char* height, const char* maps, const char* strideX,
                                         const char* strideY, const char* padding, const char* layout)
{
    return {{"kernelShape", width},           {"kernelHeight", height},       {"outputChannels", maps},
            {"horizontalSubsample", strideX}, {"verticalSubsample", strideY}, {"zeroPadding", padding},
            {"imageLayout", layout}};
}

} // namespace

void RegisterConvolutionNodes(NodeRegistry& registry)
{
    const auto optional = [](const char* name, const char* doc)
    {
        NodeParameterInfo info = Positional(name, ParameterKind::Integer, doc);
        info.required = false;
        return info;
    };
    registry.Add<ConvolutionNode>(
        {.name = "Convolution",
         .aliases = {"Convolve"},
         .doc = "Each output value is the inner product of a kernel and the elements of the image in its window. With "
                "seven arguments the kernels have a width, a height and all channels of the image; with three they "
                "have as many dimensions as the image. Output: (size - kernel) / step + 1 windows along a dimension, "
                "(size - 1) / step + 1 with padding. w is [outputChannels x elements of a kernel]: with HWC a matrix "
                "whose columns are rows, columns, channels of the kernel, with CHW kernel after kernel. There is no "
                "bias: add one with Plus.",
         .inputs = {2, 2},
         .inputNames = {"w", "image"},
         .traits = {.backpropReadsInputs = true,
                    .backpropReadsOutput = false,
                    .backpropOverwrites = true,
                    .kind = NodeKind::Convolution},
         .parameters =
             {Positional("kernelShape", ParameterKind::Shape,
                         "with seven arguments kernelWidth; with three the dimensions of the kernel, {5, 5, 3}",
                         {"kernelWidth"}),
              optional("kernelHeight", "height of the kernel"), optional("outputChannels", "number of kernels"),
              optional("horizontalSubsample", "horizontal distance of windows"),
              optional("verticalSubsample", "vertical distance of windows"),
              Option("zeroPadding", ParameterKind::Boolean, "false",
                     "windows may reach beyond the image, where it counts as 0 (seven arguments)"),
              Option("mapCount", ParameterKind::Shape, "1", "number of kernels (three arguments)"),
              Option("stride", ParameterKind::Shape, "1", "distance of windows, one or {1, 2, 3} (three arguments)"),
              Option("sharing", ParameterKind::Text, "true",
                     "false: each window has its own kernel; one or a list (three arguments)"),
              Option("autoPadding", ParameterKind::Text, "true",
                     "pads the input evenly on both sides, so that input / stride windows fit; one or a list (three "
                     "arguments)"),
              Option("lowerPad", ParameterKind::Shape, "0", "zeros before the first element (three arguments)"),
              Option("upperPad", ParameterKind::Shape, "0", "zeros after the last element (three arguments)"),
              Option("maxTempMemSizeInSamples", ParameterKind::Integer, "0",
                     "largest number of samples whose temporary form is in memory at once; 0: no limit"),
              Option(
                  "imageLayout", ParameterKind::Text, "",
                  "HWC (legacy; the default of seven arguments) or CHW (cudnn; that of three, which take no other)")},
         .samples = {ConvolutionSample({2, 18}, {2, 4, 3}, Plane("3", "3", "2", "1", "1", "true", "HWC")),
                     ConvolutionSample({3, 4}, {1, 3, 5}, Plane("2", "2", "3", "1", "2", "false", "HWC")),
                     ConvolutionSample({9, 12}, {3, 5, 4}, Plane("2", "2", "9", "2", "1", "true", "HWC")),
                     ConvolutionSample({2, 12}, {4, 3, 2}, Plane("3", "2", "2", "2", "1", "true", "CHW")),
                     ConvolutionSample({0, 0}, {5, 4, 2}, Plane("2", "3", "3", "1", "1", "false", "CHW")),
                     ConvolutionSample(
                         {2, 9}, {4, 4, 1},
                         {{"kernelShape", "3:3:1"}, {"mapCount", "2"}, {"autoPadding", "true:true:false"}}),
                     ConvolutionSample({4, 4}, {4, 2, 1},
                                       {{"kernelShape", "2:2:1"},
                                        {"mapCount", "2"},
                                        {"sharing", "false:true:true"},
                                        {"stride", "2"},
                                        {"autoPadding", "false"}}),
                     ConvolutionSample({2, 12}, {3, 2, 3, 2},
                                       {{"kernelShape", "2:1:3:2"},
                                        {"mapCount", "2"},
                                        {"autoPadding", "false"},
                                        {"lowerPad", "1:0:1:0"},
                                        {"upperPad", "0:0:1:0"}})},
         .bookSection = "4.1.4.34",
         .create = {}});
}

} // namespace cntk
