// BatchNormalization: statistics over the samples of a minibatch, element by element or channel by channel.
#include "ComputationNetwork/Nodes/BatchNormalizationNode.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cntk
{

namespace
{

enum InputIndex : size_t
{
    c_data,
    c_scale,
    c_bias,
    c_runMean,
    c_runInvStdDev
};

enum TemporaryIndex : size_t
{
    c_normalized,
    c_mean,
    c_invStdDev,
    c_work
};

} // namespace

// ---- shapes ----

size_t BatchNormalizationNode::Statistics() const
{
    if (!m_isSpatial)
        return SampleElements();
    return SizeOfImage(SampleLayout(), m_imageLayout).channels;
}

// Views samples as [elements inside a statistic, statistics, elements outside, samples], with 1 for unused dimensions.
TensorView BatchNormalizationNode::Grouped(const MatrixView& samples) const
{
    const size_t statistics = Statistics();
    const size_t pixels = SampleElements() / statistics;
    return TensorView::OfSamples(
        samples,
        m_imageLayout == ImageLayout::Chw ? TensorShape{pixels, statistics, 1} : TensorShape{1, statistics, pixels}, 3);
}

TensorView BatchNormalizationNode::PerGroup(const MatrixView& vector) const
{
    return TensorView::OfSamples(Reshaped(vector, vector.Elements(), 1), TensorShape{1, Statistics(), 1}, 3);
}

void BatchNormalizationNode::InferShape(ShapeInference& inference)
{
    RequireDenseInputs(*this, inference);
    const ComputationNode& data = *Input(c_data);
    SetShape(data.SampleLayout(), data.GetMBLayout());
    if (SampleLayout().HasUnknown())
        return;
    if (m_isSpatial && !RequireImage(*this, data, m_imageLayout, inference))
        return;
    const size_t statistics = Statistics();
    for (size_t input = c_scale; input <= c_runInvStdDev; input++)
    {
        InferInputShape(input, TensorShape{statistics, 1});
        if (!inference.IsFinalPass())
            continue;
        const ComputationNode& vector = *Input(input);
        auto* parameter = As<LearnableParameterNode>(Input(input).get());
        if (vector.HasMBLayout() || vector.SampleElements() != statistics)
            Fail(ErrorKind::Model, "BatchNormalization of ", DescribeShape(data), " takes a ", Type().inputNames[input],
                 " of ", statistics, " values, one for each ", m_isSpatial ? "channel" : "element", ", but ",
                 DescribeShape(vector), " has ", vector.SampleElements());
        if (input >= c_runMean && parameter == nullptr)
            Fail(ErrorKind::Model, "the ", Type().inputNames[input],
                 " of BatchNormalization must be a parameter, but '", vector.Name(), "' is a ", vector.TypeName());
        if (input >= c_runMean && parameter->IsTrainableLeaf())
            Fail(ErrorKind::Model, "the ", Type().inputNames[input], " '", vector.Name(),
                 "' of BatchNormalization must not be trained; give it needGradient=false");
    }
    if (!inference.IsFinalPass())
        return;
    if (!data.HasMBLayout())
        Fail(ErrorKind::Model, "BatchNormalization needs samples, but ", DescribeShape(data), " has none");
    VarianceToDeviation();
}

// Converts the running variance of files of version 13 and later to the inverse deviation that all other files hold.
void BatchNormalizationNode::VarianceToDeviation()
{
    if (!m_holdsVariance)
        return;
    Matrix& values = As<LearnableParameterNode>(Input(c_runInvStdDev).get())->Values();
    std::vector<double> host = values.ToHost();
    for (double& value : host)
        value = 1 / std::sqrt(value + m_epsilon);
    values.FromHost(host);
    m_holdsVariance = false;
}

std::vector<TemporarySpec> BatchNormalizationNode::Temporaries() const
{
    TemporarySpec normalized;
    normalized.rows = SampleElements();
    return {normalized, FixedColumn(Statistics(), TemporarySpec::Lifetime::ForwardBackward),
            FixedColumn(Statistics(), TemporarySpec::Lifetime::ForwardBackward),
            FixedColumn(2 * Statistics(), TemporarySpec::Lifetime::ForwardBackward)};
}

size_t BatchNormalizationNode::ValuesPerStatistic(const FrameRange& range) const
{
    const std::span<const uint8_t> mask = ColumnMask(range);
    const size_t samples = mask.empty() ? Value(range).columns : size_t(std::count(mask.begin(), mask.end(), 1));
    return samples * (SampleElements() / Statistics());
}

// ---- computation ----

// Computes mean and inverse deviation of the minibatch, updates the running ones, and blends the two.
void BatchNormalizationNode::ComputeStatistics(const FrameRange& range, size_t values)
{
    const MatrixView x = Input(c_data)->Value(range);
    const MatrixView work = Temporary(c_normalized, range);
    const std::span<const uint8_t> mask = ColumnMask(range);
    const MatrixView mean = Temporary(c_mean, FrameRange::All());
    const MatrixView invStdDev = Temporary(c_invStdDev, FrameRange::All());
    MatrixView counted = x;
    if (!mask.empty())
    {
        Ops::Copy(x, work);
        Ops::MaskColumns(work, mask);
        counted = work;
    }
    const double share = 1 / double(values);
    Ops::Elementwise(ElementwiseOp::Copy, Grouped(counted), PerGroup(mean), share);
    Ops::Elementwise(ElementwiseOp::Difference, Grouped(x), PerGroup(mean), Grouped(work));
    Ops::MaskColumns(work, mask);
    Ops::Fill(invStdDev, m_epsilon);
    Ops::Elementwise(ElementwiseOp::Square, Grouped(work), PerGroup(invStdDev), share, 1);
    Ops::Elementwise(ElementwiseOp::Sqrt, invStdDev, invStdDev);
    Ops::Elementwise(ElementwiseOp::Reciprocal, invStdDev, invStdDev);

    const double samples = double(values) / double(SampleElements() / Statistics());
    double fresh = 1;
    if (m_normalizationTimeConstant < 0)
        fresh = 1 / double(m_minibatches); // including this one
    else if (m_normalizationTimeConstant > 0)
        fresh = -std::expm1(-samples / m_normalizationTimeConstant);
    const double blend = m_blendTimeConstant == 0          ? 0
                         : std::isinf(m_blendTimeConstant) ? 1
                                                           : m_blendTimeConstant / (m_blendTimeConstant + samples);
    const auto bringForward = [&](const MatrixView& statistic, size_t runInput)
    {
        const MatrixView run = Input(runInput)->Value();
        const MatrixView running = Reshaped(run, run.Elements(), 1);
        Ops::Elementwise(ElementwiseOp::Copy, statistic, running, fresh, 1 - fresh);
        if (blend > 0)
            Ops::Elementwise(ElementwiseOp::Copy, running, statistic, blend, 1 - blend);
    };
    bringForward(mean, c_runMean);
    bringForward(invStdDev, c_runInvStdDev);
}

// Appends the number of minibatches if each counts equally: the weight of a new one then changes each time.
void BatchNormalizationNode::AppendStepKey(std::vector<uint64_t>& key) const
{
    key.insert(key.end(),
               {std::bit_cast<uint64_t>(m_normalizationTimeConstant), std::bit_cast<uint64_t>(m_blendTimeConstant),
                m_normalizationTimeConstant < 0 ? m_minibatches : 0});
}

void BatchNormalizationNode::ForwardProp(const FrameRange& range)
{
    const MatrixView x = Input(c_data)->Value(range);
    const MatrixView output = Value(range);
    const size_t values = ValuesPerStatistic(range);
    if (m_isTraining)
        m_minibatches++;
    if (output.Elements() == 0 || values == 0)
        return;
    MatrixView normalized = output;
    TensorView mean = PerGroup(Input(c_runMean)->Value());
    TensorView invStdDev = PerGroup(Input(c_runInvStdDev)->Value());
    if (m_isTraining)
    {
        ComputeStatistics(range, values);
        normalized = Temporary(c_normalized, range);
        mean = PerGroup(Temporary(c_mean, FrameRange::All()));
        invStdDev = PerGroup(Temporary(c_invStdDev, FrameRange::All()));
    }
    Ops::Elementwise(ElementwiseOp::NormalizePerDim, Grouped(x), mean, invStdDev, Grouped(normalized));
    if (m_isTraining)
        Ops::MaskColumns(normalized, ColumnMask(range));
    Ops::Elementwise(ElementwiseOp::Product, Grouped(normalized), PerGroup(Input(c_scale)->Value()), Grouped(output));
    Ops::Elementwise(ElementwiseOp::Copy, PerGroup(Input(c_bias)->Value()), Grouped(output), 1, 1);
}

// Computes dx = scale * invStdDev * (g - (normalized * dScale + dBias) / M), dScale = sum g * normalized, dBias = sum
// g.
void BatchNormalizationNode::AddInputGradient(const FrameRange& range)
{
    const TensorView g = Grouped(Gradient(range));
    const TensorView normalized = Grouped(Temporary(c_normalized, range));
    const TensorView target = Grouped(InputGradient(c_data, range));
    const MatrixView work = Temporary(c_work, FrameRange::All());
    const TensorView ofScale = PerGroup(work.Rows(0, Statistics()));
    const TensorView ofBias = PerGroup(work.Rows(Statistics(), Statistics()));
    const TensorView scale = PerGroup(Input(c_scale)->Value());
    const TensorView invStdDev = PerGroup(Temporary(c_invStdDev, FrameRange::All()));
    const double share = 1 / double(ValuesPerStatistic(range));
    Ops::Elementwise(ElementwiseOp::ProductOfThree, g, scale, invStdDev, target, 1, GradientBeta(c_data));
    Ops::Elementwise(ElementwiseOp::Product, g, normalized, ofScale, share);
    Ops::Elementwise(ElementwiseOp::ProductOfThree, ofScale, scale, invStdDev, ofScale);
    Ops::Elementwise(ElementwiseOp::Product, normalized, ofScale, target, -1, 1);
    Ops::Elementwise(ElementwiseOp::Copy, g, ofBias, share);
    Ops::Elementwise(ElementwiseOp::ProductOfThree, ofBias, scale, invStdDev, ofBias);
    Ops::Elementwise(ElementwiseOp::Copy, ofBias, target, -1, 1);
}

void BatchNormalizationNode::BackpropTo(size_t input, const FrameRange& range)
{
    if (ValuesPerStatistic(range) == 0)
    {
        if (GradientBeta(input) == 0)
            Ops::Fill(InputGradient(input, range), 0);
        return;
    }
    Ops::MaskColumns(Gradient(range), ColumnMask(range));
    if (input == c_data)
        return AddInputGradient(range);
    const TensorView target = PerGroup(InputGradient(input, range));
    const TensorView g = Grouped(Gradient(range));
    if (input == c_scale)
        Ops::Elementwise(ElementwiseOp::Product, g, Grouped(Temporary(c_normalized, range)), target, 1,
                         GradientBeta(input));
    else
        Ops::Elementwise(ElementwiseOp::Copy, g, target, 1, GradientBeta(input));
}

// ---- fields ----

void BatchNormalizationNode::SetParameters(const NodeParameters& parameters)
{
    m_isSpatial = parameters.Boolean("spatial", false);
    m_normalizationTimeConstant = parameters.Real("normalizationTimeConstant", 0);
    m_blendTimeConstant = parameters.Real("blendTimeConstant", 0);
    m_epsilon = parameters.Real("epsilon", 0.00001);
    m_imageLayout = LayoutParameter(parameters, ImageLayout::Chw);
    if (!(m_epsilon > 0 && std::isfinite(m_epsilon)))
        Fail(ErrorKind::Config, "parameter 'epsilon' is ", m_epsilon, "; expected a finite number above 0");
    if (!(m_blendTimeConstant >= 0))
        Fail(ErrorKind::Config, "parameter 'blendTimeConstant' is ", m_blendTimeConstant,
             "; expected 0 (only the minibatch counts) or more");
    const std::string engine = parameters.Text("engine", "cntk");
    if (!EqualsIgnoreCase(engine, "cntk") && !EqualsIgnoreCase(engine, "cudnn"))
        Fail(ErrorKind::Config, "parameter 'engine' is '", engine, "'; expected cntk or cudnn");
    m_usesCntkEngine = EqualsIgnoreCase(engine, "cntk");
}

void BatchNormalizationNode::SerializeFields(ModelArchive& archive)
{
    int32_t layout = int32_t(m_imageLayout);
    if (archive.Version() >= 6)
    {
        archive.Field(m_isSpatial);
        archive.Field(m_normalizationTimeConstant);
        archive.Field(m_blendTimeConstant);
        archive.Field(layout);
        archive.Field(m_minibatches);
        archive.Field(m_epsilon);
        archive.Field(m_usesCntkEngine);
    }
    else
    {
        int32_t written = 0;
        int32_t readable = 0;
        bool eval = false;
        double timeConstant = 0; // in old records: an averaging factor, ignored
        archive.Field(written);
        archive.Field(readable);
        archive.Field(eval);
        archive.Field(m_isSpatial);
        archive.Field(timeConstant);
        if (written >= 0x10004)
            m_normalizationTimeConstant = timeConstant;
        if (written >= 0x10002)
        {
            archive.Field(layout);
            archive.Field(m_minibatches);
        }
        if (written >= 0x10003)
        {
            archive.Field(m_epsilon);
            archive.Field(m_usesCntkEngine);
        }
    }
    if (layout != 0 && layout != 1)
        Fail(ErrorKind::Model, "the image layout is ", layout, "; expected 0 (HWC) or 1 (CHW)");
    m_imageLayout = layout == 0 ? ImageLayout::Hwc : ImageLayout::Chw;
    if (archive.IsLoading() && archive.Version() >= 13)
    {
        m_holdsVariance = true;
        // Such files count samples. A count of minibatches can only record that there were any.
        m_minibatches = m_minibatches > 0 ? 1 : 0;
    }
}

std::string BatchNormalizationNode::DescribeFields() const
{
    return Concat("spatial=", m_isSpatial ? "true" : "false",
                  "  normalizationTimeConstant=", m_normalizationTimeConstant,
                  "  blendTimeConstant=", m_blendTimeConstant, "  epsilon=", m_epsilon,
                  "  imageLayout=", NameOf(m_imageLayout), "  minibatches=", m_minibatches);
}

// ---- record ----

namespace
{

using namespace Samples;

GradientSample NormalizationSample(const TensorShape& data, size_t statistics,
                                   std::map<std::string, std::string> parameters)
{
    const TensorShape vector{statistics, 1};
    return Case({Data(data), Parameter(vector), Parameter(vector), NotChecked(Parameter(vector)),
                 NotChecked(Parameter(vector, 0.5, 2))},
                std::move(parameters));
}

} // namespace

void RegisterBatchNormalizationNodes(NodeRegistry& registry)
{
    registry.Add<BatchNormalizationNode>(
        {.name = "BatchNormalization",
         .aliases = {},
         .doc = "scale * (m - mean) * invStdDev + bias. In training mean and deviation are those of the minibatch, for "
                "each element (spatial=false) or channel (true), and runMean and runInvStdDev, two parameters with "
                "needGradient=false, follow them; otherwise these two are used.",
         .inputs = {5, 5},
         .inputNames = {"m", "scale", "bias", "runMean", "runInvStdDev"},
         .traits = {.backpropReadsInputs = true,
                    .backpropReadsOutput = false,
                    .needsWholeMinibatch = true,
                    .backpropOverwrites = true},
         .parameters =
             {Option("spatial", ParameterKind::Boolean, "false", "statistics of channels instead of elements"),
              Option("normalizationTimeConstant", ParameterKind::Real, "0",
                     "samples over which running statistics are averaged; 0: the last minibatch; below 0: all alike"),
              Option("blendTimeConstant", ParameterKind::Real, "0",
                     "weight of the running statistics in training, in samples; 0: only the minibatch counts"),
              Option("epsilon", ParameterKind::Real, "0.00001", "added to the variance"),
              Option("engine", ParameterKind::Text, "cntk",
                     "cntk or cudnn; accepted without effect, because one engine serves both"),
              Option("eval", ParameterKind::Boolean, "false", "accepted without effect: the command decides"),
              Option("imageLayout", ParameterKind::Text, "CHW", "CHW (cudnn) or HWC (legacy), for spatial=true")},
         .samples = {NormalizationSample({3}, 3, {}),
                     NormalizationSample({2, 3, 2}, 2, {{"spatial", "true"}, {"normalizationTimeConstant", "10"}}),
                     NormalizationSample({3, 2, 2}, 3, {{"spatial", "true"}, {"imageLayout", "HWC"}})},
         .bookSection = "",
         .create = {}});
}

} // namespace cntk
