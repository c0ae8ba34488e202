// MaxPooling, AveragePooling and Pooling.
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/ImageGeometry.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "Math/ImageOperations.h"

namespace cntk
{

namespace
{

// The shared computation of all pooling nodes.
class PoolingNodeBase : public ComputationNode
{
public:
    explicit PoolingNodeBase(PoolKind kind) : m_kind(kind) {}

    void ForwardProp(const FrameRange& range) override
    {
        Ops::Pool(m_kind, m_geometry, SamplesAsColumns(*Input(0), Input(0)->Value(range)),
                  SamplesAsColumns(*this, Value(range)));
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const bool accumulate = GradientBeta(input) != 0;
        const MatrixView gradient = SamplesAsColumns(*this, Gradient(range));
        const MatrixView inputGradient = SamplesAsColumns(*Input(0), InputGradient(input, range));
        if (m_kind == PoolKind::Max)
            return Ops::PoolGradient(m_kind, m_geometry, SamplesAsColumns(*Input(0), Input(0)->Value(range)),
                                     SamplesAsColumns(*this, Value(range)), gradient, inputGradient, accumulate);
        // An average reads no values, which may already be overwritten: any memory of their size will do.
        Ops::PoolGradient(m_kind, m_geometry, inputGradient, gradient, gradient, inputGradient, accumulate);
    }

protected:
    PoolKind m_kind;
    ImageLayout m_imageLayout = ImageLayout::Hwc;
    WindowGeometry m_geometry;
};

// Pools with a window of width and height in each channel, without padding.
class PlanePoolingNode final : public PoolingNodeBase
{
public:
    using PoolingNodeBase::PoolingNodeBase;

    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        const ComputationNode& image = *Input(0);
        if (ShowImage(*Input(0)) || !RequireImage(*this, image, m_imageLayout, inference))
            return;
        const ImageSize size = SizeOfImage(image.SampleLayout(), m_imageLayout);
        if (m_imageLayout == ImageLayout::Hwc)
        {
            const PlaneSpec plane{m_windowWidth, m_windowHeight, m_stepWidth, m_stepHeight, false};
            m_geometry = ChannelsFirstGeometry(size, plane, 0);
            return SetShape(ShapeOfImage(OutputSize(m_geometry), ImageLayout::Hwc), image.GetMBLayout());
        }
        RequireNoGap("height", m_windowHeight, m_stepHeight);
        RequireNoGap("width", m_windowWidth, m_stepWidth);
        WindowSpec spec;
        spec.kernel = TensorShape{m_windowWidth, m_windowHeight, 1};
        spec.stride = TensorShape{m_stepWidth, m_stepHeight, 1};
        spec.autoPadding = {false};
        m_geometry = GeometryOf(image.SampleLayout(), spec);
        SetShape(OutputShape(m_geometry), image.GetMBLayout());
    }

    void SetParameters(const NodeParameters& parameters) override
    {
        m_imageLayout = LayoutParameter(parameters, ImageLayout::Hwc);
        const auto positive = [&](const char* name)
        {
            const long long value = parameters.Integer(name, 1);
            if (value < 1 || value > INT32_MAX)
                Fail(ErrorKind::Config, "parameter '", name, "' is ", value, "; expected 1 or more");
            return uint32_t(value);
        };
        m_windowWidth = positive("windowWidth");
        m_windowHeight = positive("windowHeight");
        m_stepWidth = positive("stepW");
        m_stepHeight = positive("stepH");
    }

    // Reads and writes the fields. Files of August 2015 store the width in eight bytes, so that their layout reads as
    // 0, which is correct.
    void SerializeFields(ModelArchive& archive) override
    {
        uint32_t layout = uint32_t(m_imageLayout);
        archive.Field(m_windowWidth);
        archive.Field(layout);
        archive.Field(m_windowHeight);
        archive.Field(m_stepWidth);
        archive.Field(m_stepHeight);
        m_imageLayout = LayoutOfFile(int64_t(layout));
    }

    std::string DescribeFields() const override
    {
        return Concat("windowWidth=", m_windowWidth, "  windowHeight=", m_windowHeight, "  stepW=", m_stepWidth,
                      "  stepH=", m_stepHeight, "  imageLayout=", NameOf(m_imageLayout));
    }

private:
    uint32_t m_windowWidth = 1;
    uint64_t m_windowHeight = 1;
    uint64_t m_stepWidth = 1;
    uint64_t m_stepHeight = 1;
};

// Pools with windows over any number of dimensions.
class WindowPoolingNode final : public PoolingNodeBase
{
public:
    WindowPoolingNode() : PoolingNodeBase(PoolKind::Max) { m_imageLayout = ImageLayout::Chw; }

    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        const TensorShape& shape = Input(0)->SampleLayout();
        if (inference.IsFinalPass() && m_imageLayout == ImageLayout::Hwc)
            Fail(ErrorKind::Model, "Pooling over any number of dimensions needs imageLayout=CHW; for HWC images use ",
                 "MaxPooling or AveragePooling");
        if (shape.HasUnknown() || ShowImage(*Input(0), m_spec.kernel))
            return;
        m_geometry = GeometryOf(shape, m_spec);
        SetShape(OutputShape(m_geometry), Input(0)->GetMBLayout());
    }

    void SetParameters(const NodeParameters& parameters) override
    {
        const std::string kind = parameters.Text("kind", "max"); // model files have fields instead of parameters
        if (EqualsIgnoreCase(kind, "max"))
            m_kind = PoolKind::Max;
        else if (EqualsIgnoreCase(kind, "average"))
            m_kind = PoolKind::Average;
        else
            Fail(ErrorKind::Config, "parameter 'kind' is '", kind, "'; expected max or average",
                 DidYouMean(kind, {"max", "average"}));
        m_imageLayout = LayoutParameter(parameters, ImageLayout::Chw);
        m_spec = WindowParameters(parameters, "kernelShape");
        m_spec.mapCount = TensorShape{1};
        m_spec.sharing = {true};
    }

    void SerializeFields(ModelArchive& archive) override
    {
        int32_t kind = m_kind == PoolKind::Max ? 1 : 2;
        uint64_t maxTempMem = 0;
        WindowFields(archive, m_spec, kind, m_imageLayout, maxTempMem);
        bool transposes = false;
        if (archive.Version() >= 9)
            archive.Field(transposes);
        if (kind != 1 && kind != 2)
            Fail(ErrorKind::Model, "the kind of pooling is ", kind, "; expected 1 (max) or 2 (average)");
        m_kind = kind == 1 ? PoolKind::Max : PoolKind::Average;
    }

    std::string DescribeFields() const override
    {
        return Concat("kind=", m_kind == PoolKind::Max ? "max" : "average", "  kernel=", m_spec.kernel.ToString(),
                      "  stride=", m_spec.stride.ToString(), "  ", DescribePadding(m_spec));
    }

private:
    WindowSpec m_spec;
};

using namespace Samples;

GradientSample PoolingSample(const TensorShape& image, bool isData, std::map<std::string, std::string> parameters)
{
    return Case({isData ? Data(image) : Parameter(image)}, std::move(parameters));
}

std::map<std::string, std::string> Window(const char* width, const char* height, const char* stepW, const char* stepH,
                                          const char* layout)
{
    return {
        {"windowWidth", width}, {"windowHeight", height}, {"stepW", stepW}, {"stepH", stepH}, {"imageLayout", layout}};
}

} // namespace

void RegisterPoolingNodes(NodeRegistry& registry)
{
    const NodeTraits readsNothing = {
        .backpropReadsInputs = false, .backpropReadsOutput = false, .backpropOverwrites = true};
    const NodeTraits readsBoth = {.backpropReadsInputs = true, .backpropReadsOutput = true, .backpropOverwrites = true};
    NodeType plane = {
        .name = "MaxPooling",
        .aliases = {},
        .doc = "The largest value of each window of an image, channel by channel; output (size - window) / step + 1. "
               "Each element that equals the maximum gets the gradient.",
        .inputs = {1, 1},
        .inputNames = {"m"},
        .traits = readsBoth,
        .parameters = {Positional("windowWidth", ParameterKind::Integer, "width of the windows"),
                       Positional("windowHeight", ParameterKind::Integer, "height of the windows"),
                       Positional("stepW", ParameterKind::Integer, "horizontal distance of windows"),
                       Positional("stepH", ParameterKind::Integer, "vertical distance of windows"),
                       Option("imageLayout", ParameterKind::Text, "HWC", "HWC (legacy) or CHW (cudnn)")},
        .samples = {PoolingSample({2, 4, 6}, true, Window("2", "2", "2", "2", "HWC")),
                    PoolingSample({9, 5, 3}, true, Window("3", "2", "2", "1", "HWC")),
                    PoolingSample({4, 4, 2}, true, Window("2", "2", "2", "2", "CHW")),
                    PoolingSample({5, 3, 2}, false, Window("2", "3", "1", "1", "CHW"))},
        .bookSection = "4.1.4.35",
        .create = [] { return std::make_shared<PlanePoolingNode>(PoolKind::Max); }};
    registry.Add(plane);
    plane.name = "AveragePooling";
    plane.doc = "The mean of each window of an image, channel by channel; output (size - window) / step + 1.";
    plane.traits = readsNothing;
    plane.create = [] { return std::make_shared<PlanePoolingNode>(PoolKind::Average); };
    registry.Add(plane);

    registry.Add<WindowPoolingNode>(
        {.name = "Pooling",
         .aliases = {},
         .doc = "The largest value (kind=max) or the mean (kind=average) of each window over any number of dimensions. "
                "Padding never is a maximum and does not count in a mean.",
         .inputs = {1, 1},
         .inputNames = {"m"},
         .traits = readsBoth,
         .parameters =
             {Positional("kind", ParameterKind::Text, "max or average"),
              Positional("kernelShape", ParameterKind::Shape, "dimensions of a window, as many as the input has"),
              Option("stride", ParameterKind::Shape, "1", "distance of windows, one or a list"),
              Option("autoPadding", ParameterKind::Text, "true",
                     "pads the input evenly on both sides, so that input / stride windows fit; one or a list"),
              Option("lowerPad", ParameterKind::Shape, "0", "padding before the first element, one or a list"),
              Option("upperPad", ParameterKind::Shape, "0", "padding after the last element, one or a list"),
              Option("imageLayout", ParameterKind::Text, "CHW", "CHW (cudnn)")},
         .samples = {PoolingSample({4, 3, 2}, true, {{"kind", "max"}, {"kernelShape", "3:2:1"}, {"stride", "2:1:1"}}),
                     PoolingSample({4, 3, 2}, true, {{"kind", "average"}, {"kernelShape", "3:3:1"}, {"stride", "2"}}),
                     PoolingSample({3, 4, 2, 3}, true,
                                   {{"kind", "average"},
                                    {"kernelShape", "2:2:2:2"},
                                    {"autoPadding", "false"},
                                    {"lowerPad", "1:0:0:1"},
                                    {"upperPad", "0:1:0:0"}}),
                     PoolingSample(
                         {3, 4, 2, 3}, true,
                         {{"kind", "max"}, {"kernelShape", "2:2:2:2"}, {"autoPadding", "true:false:true:false"}})},
         .bookSection = "",
         .create = {}});
}

} // namespace cntk
