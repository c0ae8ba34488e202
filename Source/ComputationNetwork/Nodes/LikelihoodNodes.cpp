// The likelihood of mixtures of Gaussians, and a criterion whose value and derivative the network computes itself.
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace cntk
{

namespace
{

using Op = ElementwiseOp;
using Lifetime = TemporarySpec::Lifetime;

// Computes v = ln sum_c softmax(u)_c N(x; m_c, sigma_c^2), with one deviation for all dimensions of a component. Any
// input may be a parameter, the same for all samples, or data.
class GmmLogLikelihoodNode final : public ComputationNode
{
public:
    enum InputIndex : size_t
    {
        Priors,
        Means,
        LogDeviations,
        Features
    };

    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        const MBLayoutPtr layout = CommonLayoutOfInputs(inference);
        if (inference.IsFinalPass())
        {
            const size_t components = Input(Priors)->SampleElements();
            const size_t dimensions = Input(Features)->SampleElements();
            if (Input(LogDeviations)->SampleElements() != components)
                Fail(ErrorKind::Model, "GMMLogLikelihood has ", Counted(components, "component"), " in its priors, ",
                     DescribeShape(*Input(Priors)), ", but ", Input(LogDeviations)->SampleElements(),
                     " in its deviations, ", DescribeShape(*Input(LogDeviations)));
            if (Input(Means)->SampleElements() != components * dimensions)
                Fail(ErrorKind::Model, "the means of GMMLogLikelihood, ", DescribeShape(*Input(Means)), ", must have ",
                     components * dimensions, " elements: ", Counted(components, "component"), " of ",
                     DescribeShape(*Input(Priors)), " times ", Counted(dimensions, "dimension"), " of ",
                     DescribeShape(*Input(Features)));
            if (!Input(Features)->HasMBLayout())
                Fail(ErrorKind::Model, "the features of GMMLogLikelihood, ", DescribeShape(*Input(Features)),
                     ", must change with the samples");
        }
        SetShape(TensorShape{1}, layout);
    }

    std::vector<TemporarySpec> Temporaries() const override
    {
        const size_t components = Components();
        const TemporarySpec perComponent =
            TemporaryForSamplesOf(*this, Features, components, Lifetime::ForwardBackward);
        return {TemporaryForSamplesOf(*this, Features, components * Dimensions(), Lifetime::ForwardBackward),
                TemporaryForSamplesOf(*this, Priors, components, Lifetime::ForwardBackward),
                TemporaryForSamplesOf(*this, LogDeviations, components, Lifetime::ForwardBackward),
                perComponent,
                perComponent,
                perComponent,
                TemporaryForSamplesOf(*this, Features, 1, Lifetime::ForwardBackward)};
    }

    void ForwardProp(const FrameRange& range) override
    {
        const MatrixView logPriors = OfInput(Priors, LogPriors, range);
        const MatrixView inverse = OfInput(LogDeviations, InverseVariances, range);
        const MatrixView distances = Temporary(Distances, range);
        const MatrixView logs = Temporary(Work, range);
        const MatrixView posteriors = Temporary(Posteriors, range);

        Ops::LogSoftmax(Samples(Priors, range), logPriors);
        Ops::Elementwise(Op::Copy, Samples(LogDeviations, range), inverse, -2);
        Ops::Elementwise(Op::Exp, inverse, inverse);
        // Computes (x - m) of all components, then their squared lengths in units of sigma.
        Ops::Elementwise(Op::Difference, Blocks(Samples(Features, range), 1),
                         Blocks(Samples(Means, range), Components()),
                         Blocks(Temporary(Differences, range), Components()));
        Ops::Elementwise(Op::Square, Blocks(Temporary(Differences, range), Components()), Rows(distances));
        Ops::Elementwise(Op::Product, distances, inverse, distances);
        // Computes l_c = ln prior - d/2 - D ln sigma - D/2 ln(2 pi) and v = sum_c r_c (l_c - ln r_c) for posteriors r.
        const double dimensions = double(Dimensions());
        Ops::Elementwise(Op::Copy, distances, logs, -0.5);
        Ops::Elementwise(Op::Copy, logPriors, logs, 1, 1);
        Ops::Elementwise(Op::Copy, Samples(LogDeviations, range), logs, -dimensions, 1);
        Ops::LogSoftmax(logs, posteriors);
        Ops::Elementwise(Op::Difference, logs, posteriors, logs);
        Ops::Elementwise(Op::Exp, posteriors, posteriors);
        const MatrixView value = Value(range);
        Ops::Elementwise(Op::Product, logs, posteriors, value);
        const MatrixView constant = Temporary(Row, range);
        Ops::Fill(constant, -0.5 * dimensions * std::log(2 * std::numbers::pi));
        Ops::Elementwise(Op::Copy, constant, value, 1, 1);
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const MatrixView gradient = MaskedGradient(range);
        const MatrixView posteriors = Temporary(Posteriors, range);
        const MatrixView work = Temporary(Work, range);
        const MatrixView target = SamplesAsColumns(*Input(input), InputGradient(input, range));
        if (input == Priors)
        {
            // Computes g (r - prior).
            Ops::Elementwise(Op::Exp, OfInput(Priors, LogPriors, range), work);
            Ops::Elementwise(Op::Difference, posteriors, work, work);
            Ops::MaskColumns(work, Input(Features)->ColumnMask(range));
            return Ops::Elementwise(Op::Product, work, gradient, target, 1, 1);
        }
        if (input == LogDeviations)
        {
            // Computes g r (d - D).
            const MatrixView dimensions = Temporary(Row, range);
            Ops::Fill(dimensions, double(Dimensions()));
            Ops::Elementwise(Op::Difference, Temporary(Distances, range), dimensions, work);
            Ops::Elementwise(Op::Product, work, posteriors, work);
            Ops::MaskColumns(work, Input(Features)->ColumnMask(range));
            return Ops::Elementwise(Op::Product, work, MaskedGradient(range), target, 1, 1);
        }
        // Computes g r / sigma^2 (x - m), with the sign of m; summed over components for x.
        Ops::Elementwise(Op::Product, posteriors, gradient, work);
        Ops::Elementwise(Op::Product, work, OfInput(LogDeviations, InverseVariances, range), work);
        Ops::MaskColumns(work, Input(Features)->ColumnMask(range));
        const MatrixView differences = Temporary(Differences, range);
        Ops::MaskColumns(differences, Input(Features)->ColumnMask(range));
        const bool isMeans = input == Means;
        Ops::Elementwise(Op::Product, Blocks(differences, Components()), Rows(work),
                         Blocks(target, isMeans ? Components() : 1), isMeans ? 1 : -1, 1);
    }

private:
    enum TemporaryIndex : size_t
    {
        Differences,      // x - m, components stacked
        LogPriors,        // in the shape of u
        InverseVariances, // in the shape of the deviations
        Distances,        // |x - m|^2 / sigma^2
        Posteriors,
        Work,
        Row // one value per sample
    };

    size_t Components() const { return Input(Priors)->SampleElements(); }
    size_t Dimensions() const { return Input(Features)->SampleElements(); }
    MatrixView Samples(size_t input, const FrameRange& range) const
    {
        return SamplesAsColumns(*Input(input), Input(input)->Value(range));
    }
    // Returns a temporary with one column for each sample of an input.
    MatrixView OfInput(size_t input, size_t temporary, const FrameRange& range) const
    {
        return Temporary(temporary, Input(input)->HasMBLayout() ? range : FrameRange::All());
    }
    // Views samples as [D x blocks x samples]; a single block stands for all components.
    TensorView Blocks(const MatrixView& view, size_t blocks) const
    {
        return TensorView::OfSamples(view, TensorShape{Dimensions(), blocks}, 2);
    }
    // Views samples as [1 x C x samples].
    TensorView Rows(const MatrixView& view) const
    {
        return TensorView::OfSamples(view, TensorShape{1, Components()}, 2);
    }
    // Gaps must not contribute to the gradients of inputs that are the same for all samples.
    MatrixView MaskedGradient(const FrameRange& range) const
    {
        const std::span<const uint8_t> mask = ColumnMask(range);
        if (mask.empty())
            return Gradient(range);
        const MatrixView row = Temporary(Row, range);
        Ops::Copy(Gradient(range), row);
        Ops::MaskColumns(row, mask);
        return row;
    }
};

// Computes v = sum of the objective; the gradient of x is the derivative.
class DummyCriterionNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        CommonLayoutOfInputs(inference);
        const ComputationNode& derivative = *Input(1);
        const ComputationNode& x = *Input(2);
        if (inference.IsFinalPass() &&
            (derivative.HasMBLayout() != x.HasMBLayout() || derivative.SampleElements() != x.SampleElements()))
            Fail(ErrorKind::Model, "the derivative of DummyCriterion, ", DescribeShape(derivative),
                 ", must have the shape of ", DescribeShape(x), ", what it is the derivative of");
        SetScalarShape();
    }

    void ForwardProp(const FrameRange& range) override
    {
        Ops::ElementwiseOverData(Op::Copy, Input(0)->Value(), Input(0)->ColumnMask(range), Value());
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        if (input != 2)
            return;
        const MatrixView derivative = Input(1)->Value();
        const MatrixView target = InputGradient(2, range);
        if (!Input(2)->HasMBLayout())
            return Ops::Elementwise(Op::Product, SamplesAsColumns(*Input(1), derivative), Gradient(),
                                    SamplesAsColumns(*Input(2), target), 1, 1);
        ForEachDataStretch(Input(2)->ColumnMask(range), target.columns,
                           [&](size_t first, size_t count) {
                               Ops::Elementwise(Op::Product, derivative.Columns(first, count), Gradient(),
                                                target.Columns(first, count), 1, 1);
                           });
    }
};

// ---- records ----

using namespace Samples;

} // namespace

void RegisterLikelihoodNodes(NodeRegistry& registry)
{
    NodeType mixture;
    mixture.name = "GMMLogLikelihood";
    mixture.aliases = {"GMMLL"};
    mixture.inputs = {4, 4};
    mixture.inputNames = {"unnormedPrior", "means", "logStddev", "x"};
    mixture.doc = "v = ln sum_c softmax(unnormedPrior)_c N(x; means_c, exp(logStddev_c)^2), one value a sample. means "
                  "stacks the means of the components. Each component has one deviation for all dimensions.";
    mixture.traits.backpropReadsOutput = false;
    mixture.bookSection = "4.1.4.21";
    // Each of the first three inputs is data or a parameter.
    const auto mixtureCase = [](size_t components, size_t dimensions, bool priors, bool means, bool deviations)
    {
        const auto input = [](size_t rows, bool isData, double most)
        { return isData ? Data(TensorShape{rows}, -most, most) : Parameter(TensorShape{rows}, -most, most); };
        return Case({input(components, priors, 1), input(components * dimensions, means, 1),
                     input(components, deviations, 0.5), Data(TensorShape{dimensions}, -2, 2)});
    };
    mixture.samples = {mixtureCase(3, 2, false, false, false), mixtureCase(3, 2, true, true, true),
                       mixtureCase(1, 4, false, true, false), mixtureCase(2, 3, true, false, true)};
    registry.Add<GmmLogLikelihoodNode>(mixture);

    NodeType dummy;
    dummy.name = "DummyCriterion";
    dummy.inputs = {3, 3};
    dummy.inputNames = {"objective", "derivative", "x"};
    dummy.doc = "v = the sum of the objective; the gradient of x is the derivative given: for criteria that other "
                "nodes compute. Only x gets a gradient.";
    dummy.traits = {.backpropReadsOutput = false, .needsWholeMinibatch = true, .isCriterion = true};
    dummy.samples = {Case({NotChecked(Data(TensorShape{1}, -1, 1)), NotChecked(Data(TensorShape{3}, -1, 1)),
                           Data(TensorShape{3}, -1, 1)}),
                     Case({NotChecked(Parameter(TensorShape{1}, -1, 1)),
                           NotChecked(Parameter(TensorShape{2, 2}, -1, 1)), Parameter(TensorShape{2, 2}, -1, 1)})};
    // The given values need not be the derivative of anything. Gradients are therefore compared between devices, and
    // with those of the same minibatch frame by frame, but not with differences.
    for (GradientSample& sample : dummy.samples)
        sample.tolerance = 1e9;
    registry.Add<DummyCriterionNode>(dummy);
}

} // namespace cntk
