// The softmax family, per column, and normalisation by statistics of the training data.
#include "Common/Error.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/NodeViews.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"

#include <utility>

namespace cntk
{

namespace
{

// The elements that are normalised together: those of a column, or each run of the sample's first dimension.
enum class SoftmaxRange
{
    Column,
    FirstDimension
};

// Views a value or gradient so that each column is one range.
MatrixView ColumnsOf(SoftmaxRange range, const ComputationNode& node, const MatrixView& view)
{
    const size_t rows = node.SampleLayout()[0];
    return range == SoftmaxRange::Column || view.rows == rows ? view : Reshaped(view, rows, view.Elements() / rows);
}

// Softmax and LogSoftmax: a column function whose gradient reads the output only.
class SoftmaxNode final : public ComputationNode
{
public:
    using Forward = void (*)(const MatrixView& input, const MatrixView& output);
    using Backward = void (*)(const MatrixView& gradient, const MatrixView& value, const MatrixView& inputGradient);

    SoftmaxNode(SoftmaxRange softmaxRange, Forward forward, Backward backward)
        : m_softmaxRange(softmaxRange), m_forward(forward), m_backward(backward)
    {
    }

    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        SetShape(Input(0)->SampleLayout(), Input(0)->GetMBLayout());
    }
    void ForwardProp(const FrameRange& range) override
    {
        m_forward(ColumnsOf(m_softmaxRange, *this, Input(0)->Value(range)),
                  ColumnsOf(m_softmaxRange, *this, Value(range)));
    }
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        m_backward(ColumnsOf(m_softmaxRange, *this, Gradient(range)), ColumnsOf(m_softmaxRange, *this, Value(range)),
                   ColumnsOf(m_softmaxRange, *this, InputGradient(input, range)));
    }

private:
    SoftmaxRange m_softmaxRange;
    Forward m_forward;
    Backward m_backward;
};

// Sets 1 at the largest element of each column (the lowest index on ties), 0 elsewhere.
class HardmaxNode final : public ComputationNode
{
public:
    explicit HardmaxNode(SoftmaxRange softmaxRange) : m_softmaxRange(softmaxRange) {}

    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        SetShape(Input(0)->SampleLayout(), Input(0)->GetMBLayout());
    }
    std::vector<TemporarySpec> Temporaries() const override
    {
        TemporarySpec largest;
        const size_t rows = m_softmaxRange == SoftmaxRange::Column ? ValueRows() : SampleLayout()[0];
        largest.rows = HasMBLayout() ? SampleElements() / rows : 1;
        largest.fixedColumns = HasMBLayout() ? 0 : SampleElements() / rows;
        largest.life = TemporarySpec::Lifetime::Forward;
        return {largest, FixedColumn(rows, TemporarySpec::Lifetime::Forward)};
    }
    void ForwardProp(const FrameRange& range) override
    {
        const MatrixView value = ColumnsOf(m_softmaxRange, *this, Value(range));
        const MatrixView largest = Reshaped(Temporary(0, range), 1, value.columns);
        const MatrixView rowNumbers = Temporary(1, FrameRange::All());
        FillRowNumbers(rowNumbers);
        Ops::ArgMax(ColumnsOf(m_softmaxRange, *this, Input(0)->Value(range)), largest);
        Ops::Elementwise(ElementwiseOp::Difference, rowNumbers, largest, value);
        Ops::Elementwise(ElementwiseOp::Not, value, value);
    }
    // The gradient is zero almost everywhere.
    void BackpropTo(size_t, const FrameRange&) override {}

private:
    SoftmaxRange m_softmaxRange;
};

// Computes (x - mean) * invStdDev, or the inverse x / invStdDev + mean. No gradient flows through either.
class PerDimMeanVarNode final : public ComputationNode
{
public:
    explicit PerDimMeanVarNode(bool inverse) : m_inverse(inverse) {}

    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        SetShape(Input(0)->SampleLayout(), Input(0)->GetMBLayout());
        if (inference.IsFinalPass())
            CheckInputs();
    }

    void ForwardProp(const FrameRange& range) override
    {
        const MatrixView x = SamplesAsColumns(*this, Input(0)->Value(range));
        const MatrixView mean = SamplesAsColumns(*Input(1), Input(1)->Value(range));
        const MatrixView invStdDev = SamplesAsColumns(*Input(2), Input(2)->Value(range));
        const MatrixView output = SamplesAsColumns(*this, Value(range));
        if (!m_inverse)
            return Ops::Elementwise(ElementwiseOp::NormalizePerDim, x, mean, invStdDev, output);
        Ops::Elementwise(ElementwiseOp::Quotient, x, invStdDev, output);
        Ops::Elementwise(ElementwiseOp::Copy, mean, output, 1, 1);
    }

private:
    void CheckInputs()
    {
        if (Input(0)->IsPrecomputed())
            Fail(ErrorKind::Model, "the first input of ", TypeName(), ", '", Input(0)->Name(),
                 "', is itself a statistic (", Input(0)->TypeName(), "); expected the data to be normalised");
        auto* meanParameter = As<LearnableParameterNode>(Input(1).get());
        auto* deviationParameter = As<LearnableParameterNode>(Input(2).get());
        const auto* mean = As<PrecomputeNode>(Input(1).get());
        const auto* deviation = As<PrecomputeNode>(Input(2).get());
        const bool areStatistics =
            mean != nullptr && !mean->NeedsVariance() && deviation != nullptr && deviation->NeedsVariance();
        if (!areStatistics && (meanParameter == nullptr || deviationParameter == nullptr))
            Fail(ErrorKind::Model, TypeName(), " takes the data, a Mean and an InvStdDev (or two parameters), but '",
                 Input(1)->Name(), "' is a ", Input(1)->TypeName(), " and '", Input(2)->Name(), "' a ",
                 Input(2)->TypeName());
        for (size_t input = 1; input < 3; input++)
            if (Input(input)->SampleElements() != SampleElements())
                Fail(ErrorKind::Model, TypeName(), ": ", DescribeShape(*Input(input)), " has ",
                     Input(input)->SampleElements(), " elements, but the data ", DescribeShape(*Input(0)), " have ",
                     SampleElements());
        // Statistics given as parameters are never trained.
        for (LearnableParameterNode* parameter : {meanParameter, deviationParameter})
            if (parameter != nullptr)
                parameter->SetLearningRateMultiplier(0);
    }

    bool m_inverse;
};

using namespace Samples;

// Adds Softmax, LogSoftmax and Hardmax, or their forms along the first dimension of a sample.
void RegisterSoftmaxFamily(NodeRegistry& registry, SoftmaxRange range)
{
    const bool isColumn = range == SoftmaxRange::Column;
    const std::string ending = isColumn ? "" : "AlongFirst";
    const std::string where = isColumn ? "in each column" : "in each run of the sample's first dimension";
    const NodeTraits readsOutput = {.backpropReadsInputs = false, .backpropReadsOutput = true};
    const std::vector<GradientSample> samples = {Case({Data({5}, -3, 3)}), Case({Parameter({4, 3}, -3, 3)}),
                                                 Case({Data({2, 3}, -3, 3)})};
    registry.Add(
        {.name = "Softmax" + ending,
         .aliases = {},
         .doc = "v_i = exp(x_i) / sum_k exp(x_k) " + where + ".",
         .inputs = {1, 1},
         .inputNames = {"x"},
         .traits = readsOutput,
         .parameters = {},
         .samples = samples,
         .bookSection = isColumn ? "4.1.4.6" : "",
         .create = [range] { return std::make_shared<SoftmaxNode>(range, Ops::Softmax, Ops::SoftmaxGradient); }});
    registry.Add(
        {.name = "LogSoftmax" + ending,
         .aliases = {},
         .doc = "v_i = x_i - log(sum_k exp(x_k)) " + where + ".",
         .inputs = {1, 1},
         .inputNames = {"x"},
         .traits = readsOutput,
         .parameters = {},
         .samples = samples,
         .bookSection = isColumn ? "4.1.4.7" : "",
         .create = [range] { return std::make_shared<SoftmaxNode>(range, Ops::LogSoftmax, Ops::LogSoftmaxGradient); }});
    registry.Add(
        {.name = "Hardmax" + ending,
         .aliases = {},
         .doc = "v_i = 1 for the largest element (the first on ties), else 0, " + where + ". Its gradient is 0.",
         .inputs = {1, 1},
         .inputNames = {"x"},
         .traits = {.backpropReadsInputs = false, .backpropReadsOutput = false},
         .parameters = {},
         .samples = samples,
         .bookSection = "",
         .create = [range] { return std::make_shared<HardmaxNode>(range); }});
}

void RegisterStatistics(NodeRegistry& registry)
{
    const NodeTraits statistic = {.backpropReadsInputs = false,
                                  .backpropReadsOutput = false,
                                  .needsWholeMinibatch = true,
                                  .differentiable = false,
                                  .kind = NodeKind::Statistic,
                                  .ownsValue = true};
    registry.Add<MeanNode>({.name = "Mean",
                            .aliases = {},
                            .doc = "The mean of each row over the training data, computed before training; gaps do not "
                                   "count.",
                            .inputs = {1, 1},
                            .inputNames = {"x"},
                            .traits = statistic,
                            .parameters = {},
                            .samples = {Case({Data({3}, -1, 2)})},
                            .bookSection = "4.1.4.29",
                            .create = {}});
    registry.Add<InvStdDevNode>({.name = "InvStdDev",
                                 .aliases = {},
                                 .doc = "1 / sqrt(variance) of each row over the training data, computed before "
                                        "training; the variance is biased (1/N) and at least 1e-10.",
                                 .inputs = {1, 1},
                                 .inputNames = {"x"},
                                 .traits = statistic,
                                 .parameters = {},
                                 .samples = {Case({Data({3}, -1, 2)})},
                                 .bookSection = "4.1.4.30",
                                 .create = {}});
    const NodeTraits normalization = {
        .isElementwise = true, .backpropReadsInputs = false, .backpropReadsOutput = false, .differentiable = false};
    const std::vector<GradientSample> samples = {
        Case({Data({3}, -1, 2), Parameter({3, 1}, -1, 1), Parameter({3, 1}, 0.5, 2)}),
        Case({Data({2, 3}, -1, 2), Parameter({6}, -1, 1), Parameter({6}, 0.5, 2)})};
    registry.Add({.name = "PerDimMeanVarNormalization",
                  .aliases = {"PerDimMVNorm", "PerDimMeanVarNormalizationNode"},
                  .doc = "v = (x - mean) * invStdDev, row by row; mean and invStdDev are Mean and InvStdDev nodes or "
                         "parameters.",
                  .inputs = {3, 3},
                  .inputNames = {"x", "mean", "invStdDev"},
                  .traits = normalization,
                  .parameters = {},
                  .samples = samples,
                  .bookSection = "4.1.4.31",
                  .create = [] { return std::make_shared<PerDimMeanVarNode>(false); }});
    registry.Add({.name = "PerDimMeanVarDeNormalization",
                  .aliases = {"PerDimMVDeNorm", "PerDimMeanVarDeNormalizationNode"},
                  .doc = "v = x / invStdDev + mean, row by row: undoes PerDimMeanVarNormalization.",
                  .inputs = {3, 3},
                  .inputNames = {"x", "mean", "invStdDev"},
                  .traits = normalization,
                  .parameters = {},
                  .samples = samples,
                  .bookSection = "4.1.4.32",
                  .create = [] { return std::make_shared<PerDimMeanVarNode>(true); }});
}

} // namespace

void RegisterNormalizationNodes(NodeRegistry& registry)
{
    RegisterSoftmaxFamily(registry, SoftmaxRange::Column);
    RegisterSoftmaxFamily(registry, SoftmaxRange::FirstDimension);
    RegisterStatistics(registry);
}

} // namespace cntk
