// Criteria: SquareError, ErrorPrediction, SumElements, CrossEntropyWithSoftmax, CrossEntropy, Logistic.
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/CriterionNode.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "Math/SampledProducts.h"

#include <cmath>
#include <numeric>
#include <utility>

namespace cntk
{

namespace
{

using Op = ElementwiseOp;
using Lifetime = TemporarySpec::Lifetime;

// Computes v = sum (a - b)^2 with gradients 2 (a - b) and -2 (a - b). An operand without a layout is compared with
// every sample. One of the two may be sparse.
class SquareErrorNode final : public Criterion
{
public:
    void InferShape(ShapeInference& inference) override
    {
        if (inference.IsFinalPass() && Input(0)->IsSparse() && Input(1)->IsSparse())
            FailSparseInput(*this, 1, "only beside a dense a");
        for (size_t input = 0; input < 2; input++)
            if (Input(input)->SampleLayout().HasUnknown() && !Input(1 - input)->SampleLayout().HasUnknown())
                InferInputShape(input, Input(1 - input)->SampleLayout());
        CommonLayoutOfInputs(inference);
        if (inference.IsFinalPass() && Input(0)->SampleElements() != Input(1)->SampleElements())
            Fail(ErrorKind::Model, "SquareError compares ", DescribeShape(*Input(0)), " with ",
                 DescribeShape(*Input(1)), ": expected as many elements in both, but there are ",
                 Input(0)->SampleElements(), " and ", Input(1)->SampleElements());
        SetScalarShape();
    }

    std::vector<TemporarySpec> Temporaries() const override
    {
        const size_t input = InputOfSamples();
        return {TemporaryForSamplesOf(*this, input, Input(input)->SampleElements(), Lifetime::ForwardBackward)};
    }

    void ForwardProp(const FrameRange&) override
    {
        const MatrixView difference = Temporary(0, FrameRange::All());
        if (Input(0)->IsSparse() || Input(1)->IsSparse())
        {
            const size_t sparse = Input(0)->IsSparse() ? 0 : 1;
            const double sign = sparse == 0 ? 1 : -1;
            Ops::ToDense(Input(sparse)->SparseValue(FrameRange::All()), difference);
            Ops::Elementwise(Op::Copy, Samples(1 - sparse, Input(1 - sparse)->Value()), difference, -sign, sign);
        }
        else
            Ops::Elementwise(Op::Difference, Samples(0, Input(0)->Value()), Samples(1, Input(1)->Value()), difference);
        Ops::MaskColumns(difference, SampleMask(InputOfSamples()));
        Ops::Elementwise(Op::Square, difference, Value());
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        Ops::Elementwise(Op::Product, Temporary(0, FrameRange::All()), Gradient(),
                         Samples(input, InputGradient(input, range)), input == 0 ? 2 : -2, GradientBeta(input));
    }

private:
    size_t InputOfSamples() const { return Input(0)->HasMBLayout() ? 0 : 1; }
    MatrixView Samples(size_t input, const MatrixView& view) const { return SamplesAsColumns(*Input(input), view); }
};

// Counts the samples whose labels' largest element is not among the topK largest of the prediction.
class ErrorPredictionNode final : public Criterion
{
public:
    void InferShape(ShapeInference& inference) override
    {
        InferFromLabels(inference);
        if (inference.IsFinalPass() && InputCount() == 3 &&
            (Input(2)->HasMBLayout() || Input(2)->SampleElements() != 1))
            Fail(ErrorKind::Model, "the third input of ErrorPrediction, topK, must be a single number, but is ",
                 DescribeShape(*Input(2)));
        if (inference.IsFinalPass() && InputCount() == 3)
            CheckTopK();
    }

    std::vector<TemporarySpec> Temporaries() const override
    {
        TemporarySpec row = TemporaryLikeInput(*this, 1, Lifetime::Forward);
        row.rows = 1;
        std::vector<TemporarySpec> specs = {row, row};
        if (InputCount() == 3)
        {
            specs.insert(specs.end(), 2, TemporaryLikeInput(*this, 1, Lifetime::Forward));
            specs.push_back(FixedColumn(Input(1)->ValueRows(), Lifetime::Forward));
        }
        return specs;
    }

    void ForwardProp(const FrameRange& range) override
    {
        const MatrixView label = Temporary(0, range);
        const MatrixView isRight = Temporary(1, range);
        if (Input(0)->HasSparseForm())
            Ops::ArgMax(Input(0)->SparseValue(range), label);
        else
            Ops::ArgMax(Input(0)->Value(), label);
        if (InputCount() == 3)
            RankLabels(label, isRight);
        else
        {
            Ops::ArgMax(Input(1)->Value(), isRight);
            Ops::Elementwise(Op::Difference, label, isRight, isRight);
            Ops::Elementwise(Op::Not, isRight, isRight);
        }
        Ops::MaskColumns(isRight, SampleMask(1), 1);
        Ops::Elementwise(Op::Not, isRight, Value());
    }

private:
    // Checks topK if it is a constant of the network and not computed.
    void CheckTopK() const
    {
        const auto* const parameter = As<LearnableParameterNode>(Input(2).get());
        if (parameter == nullptr || !parameter->Values().IsAllocated())
            return;
        const double topK = parameter->Values().ToHost()[0];
        if (!(topK >= 1) || std::trunc(topK) != topK)
            Fail(ErrorKind::Model, "the third input of ErrorPrediction, topK, is ", topK, " ('", parameter->Name(),
                 "'); expected a whole number, 1 or more");
    }

    // Sets 1 if fewer than topK elements precede the label's: larger elements, or equal ones with a lower index.
    void RankLabels(const MatrixView& label, const MatrixView& isRight) const
    {
        const MatrixView prediction = Input(1)->Value();
        const MatrixView work = Temporary(2, FrameRange::All());
        const MatrixView isBefore = Temporary(3, FrameRange::All());
        const MatrixView rowNumbers = Temporary(4, FrameRange::All());
        const MatrixView& score = isRight; // score of the label, then its rank
        FillRowNumbers(rowNumbers);
        Ops::Elementwise(Op::Difference, rowNumbers, label, work);
        Ops::Elementwise(Op::Not, work, work);
        Ops::Elementwise(Op::Product, work, prediction, score);
        Ops::Elementwise(Op::Difference, prediction, score, work);
        Ops::Elementwise(Op::Not, work, work);
        Ops::Elementwise(Op::Greater, label, rowNumbers, isBefore);
        Ops::Elementwise(Op::Product, work, isBefore, isBefore);
        Ops::Elementwise(Op::Greater, prediction, score, work);
        Ops::Elementwise(Op::Sum, work, isBefore, score);
        Ops::Elementwise(Op::Greater, Input(2)->Value(), score, isRight);
    }
};

// Computes v = the sum of all elements.
class SumElementsNode final : public Criterion
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        SetScalarShape();
    }

    void ForwardProp(const FrameRange&) override
    {
        Ops::ElementwiseOverData(Op::Copy, Input(0)->Value(), SampleMask(0), Value());
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        Ops::Elementwise(Op::Copy, Gradient(), InputGradient(input, range), 1, GradientBeta(input));
    }
};

using namespace Samples;

} // namespace

void RegisterCriterionNodes(NodeRegistry& registry)
{
    NodeType squareError = CriterionType("SquareError", {"SE"}, "4.1.4.22");
    squareError.inputNames = {"a", "b"};
    squareError.doc = "v = sum (a - b)^2 over all elements and samples, without a factor 1/2; gradients 2 (a - b) and "
                      "-2 (a - b). One of them may be sparse.";
    squareError.traits.backpropReadsInputs = false;
    squareError.traits.backpropOverwrites = true;
    squareError.samples = {Case({Data(TensorShape{3}, -2, 2), Data(TensorShape{3}, -2, 2)}),
                           Case({Parameter(TensorShape{2, 3}, -2, 2), Parameter(TensorShape{2, 3}, -2, 2)}),
                           Case({Data(TensorShape{3}, -2, 2), Parameter(TensorShape{3, 1}, -2, 2)}),
                           Case({Data(TensorShape{3, 1}, -2, 2), Data(TensorShape{3}, -2, 2)}),
                           Case({SparseLabels(4), Data(TensorShape{4}, -2, 2)}),
                           Case({Parameter(TensorShape{4}, -2, 2), SparseLabels(4)})};
    registry.Add<SquareErrorNode>(squareError);

    NodeType errors = CriterionType("ErrorPrediction", {"ClassificationError"}, "4.1.4.25");
    errors.inputs = {2, 3};
    errors.inputNames = {"labels", "z", "topK"};
    errors.doc =
        "v = the number of samples whose label (its largest element) is not the largest element of z (the first "
        "on ties); with topK, not among the K largest. Labels may be sparse.";
    errors.traits.backpropReadsInputs = false;
    errors.traits.differentiable = false;
    errors.traits.inputsReadSparse = 1;
    GradientSample::Input topK = NotChecked(Parameter(TensorShape{1}, -2, 2));
    topK.values = {2};
    errors.samples = {Case({Labels(4), Data(TensorShape{4}, -2, 2)}),
                      Case({SparseLabels(4), Data(TensorShape{4}, -2, 2)}),
                      Case({SparseLabels(4), Data(TensorShape{4}, -2, 2), topK})};
    registry.Add<ErrorPredictionNode>(errors);

    NodeType sum = CriterionType("SumElements", {}, "4.1.4.8");
    sum.inputs = {1, 1};
    sum.inputNames = {"x"};
    sum.doc = "v = the sum of all elements over all samples.";
    sum.traits.backpropReadsInputs = false;
    sum.traits.backpropOverwrites = true;
    sum.samples = {Case({Data(TensorShape{3}, -2, 2)}), Case({Parameter(TensorShape{2, 3}, -2, 2)})};
    registry.Add<SumElementsNode>(sum);
}

namespace
{

using Op = ElementwiseOp;
using Lifetime = TemporarySpec::Lifetime;

// Returns the labels of the last forward pass, column-major. Gaps are undefined.
std::vector<double> LabelsOf(const ComputationNode& labels)
{
    Matrix copy(labels.ValueRows(), labels.ValueColumns(), labels.GetDataType(), labels.GetDevice());
    if (labels.HasSparseForm())
        Ops::ToDense(labels.SparseValue(FrameRange::All()), copy);
    else
        Ops::Copy(labels.Value(), copy);
    return copy.ToHost();
}

// Computes v = -sum labels * log softmax(z). Labels are dense or sparse, not necessarily one-hot.
class CrossEntropyWithSoftmaxNode final : public Criterion
{
public:
    void InferShape(ShapeInference& inference) override { InferFromLabels(inference); }

    std::vector<TemporarySpec> Temporaries() const override
    {
        TemporarySpec softmax = TemporaryLikeInput(*this, 1, Lifetime::ForwardBackward);
        softmax.valueOfInput = softmax.gradientOfInput = 1;
        return {TemporaryLikeInput(*this, 1, LabelsAreData() ? Lifetime::Forward : Lifetime::ForwardBackward), softmax};
    }

    void ForwardProp(const FrameRange& range) override
    {
        const MatrixView prediction = Input(1)->Value();
        const MatrixView logSoftmax = Temporary(0, range);
        const MatrixView softmax = Temporary(1, range);
        if (Input(0)->HasSparseForm())
            Ops::CrossEntropyWithSoftmax(Input(0)->SparseValue(range), prediction, SampleMask(1), logSoftmax, softmax,
                                         Value(), !LabelsAreData());
        else
            Ops::CrossEntropyWithSoftmax(Input(0)->Value(), prediction, SampleMask(1), logSoftmax, softmax, Value());
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const MatrixView inputGradient = InputGradient(input, range);
        const double beta = GradientBeta(input);
        if (input == 0)
            Ops::Elementwise(Op::Product, Temporary(0, range), Gradient(), inputGradient, -1, beta);
        else if (Input(0)->HasSparseForm())
            Ops::CrossEntropyWithSoftmaxGradient(Input(0)->SparseValue(range), Temporary(1, range), SampleMask(1),
                                                 Gradient(), inputGradient, beta);
        else
            Ops::CrossEntropyWithSoftmaxGradient(Input(0)->Value(), Temporary(1, range), SampleMask(1), Gradient(),
                                                 inputGradient, beta);
    }

    std::string UnsuitableData() const override
    {
        constexpr double c_rounding = 1e-12;
        const std::vector<double> labels = LabelsOf(*Input(0));
        const std::span<const uint8_t> mask = SampleMask(0);
        const size_t rows = Input(0)->ValueRows();
        for (size_t column = 0; column * rows < labels.size(); ++column)
        {
            const auto first = labels.begin() + ptrdiff_t(column * rows);
            const double sum = std::accumulate(first, first + ptrdiff_t(rows), 0.0);
            if ((mask.empty() || mask[column] != 0) && !(std::abs(sum - 1) <= c_rounding))
                return Concat("'", Input(0)->Name(), "' sum to ", sum, " in sample ", column, " of the minibatch, and ",
                              TypeName(),
                              " expects labels that sum to 1: by its formula, "
                              "softmax minus labels, others have a gradient that is not that of its value");
        }
        return {};
    }
};

// Computes v = -sum labels * log p. Logarithm and division have lower limits.
class CrossEntropyNode final : public Criterion
{
public:
    void InferShape(ShapeInference& inference) override { InferFromLabels(inference); }

    std::vector<TemporarySpec> Temporaries() const override
    {
        if (Input(0)->IsSparse())
            return {};
        return {TemporaryLikeInput(*this, 1, Lifetime::ForwardBackward),
                TemporaryLikeInput(*this, 1, Lifetime::ForwardBackward)};
    }

    void ForwardProp(const FrameRange& range) override
    {
        if (Input(0)->HasSparseForm())
            return Ops::CrossEntropy(Input(0)->SparseValue(range), Input(1)->Value(), SampleMask(1), Value());
        const MatrixView logarithm = Temporary(0, range);
        const MatrixView work = Temporary(1, range);
        Ops::Elementwise(Op::Log, Input(1)->Value(), logarithm);
        Ops::Elementwise(Op::Product, Input(0)->Value(), logarithm, work);
        SumSamples(work, 1, -1);
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const double beta = GradientBeta(input);
        const MatrixView inputGradient = InputGradient(input, range);
        if (input == 0)
            return Ops::Elementwise(Op::Product, Temporary(0, range), Gradient(), inputGradient, -1, beta);
        if (Input(0)->HasSparseForm())
        {
            if (beta == 0)
                Ops::Fill(inputGradient, 0);
            return Ops::CrossEntropyGradient(Input(0)->SparseValue(range), Input(1)->Value(), SampleMask(1), Gradient(),
                                             inputGradient);
        }
        const MatrixView work = Temporary(1, range);
        CopyDivisors(Input(1)->Value(), work);
        Ops::Elementwise(Op::Quotient, Input(0)->Value(), work, work);
        Ops::Elementwise(Op::Product, work, Gradient(), inputGradient, -1, beta);
    }
};

// Computes v = -sum w log(2 y p + (1 - y) - p) for labels y of 0 and 1, probabilities p and weights w (1 without a
// third input).
class LogisticNode final : public Criterion
{
public:
    void InferShape(ShapeInference& inference) override
    {
        InferFromLabels(inference);
        if (inference.IsFinalPass() && InputCount() == 3 && Input(2)->SampleElements() != 1 &&
            Input(2)->SampleElements() != Input(1)->SampleElements())
            Fail(ErrorKind::Model, "the weights of Logistic, ", DescribeShape(*Input(2)),
                 ", must be one number a sample, or one for each of its ",
                 Counted(Input(1)->SampleElements(), "element"));
    }

    std::vector<TemporarySpec> Temporaries() const override
    {
        // Sparse labels need a dense copy, because every element of p counts.
        return std::vector<TemporarySpec>(
            Input(0)->IsSparse() ? 3 : 2,
            TemporaryForSamplesOf(*this, 1, Input(1)->SampleElements(), Lifetime::ForwardBackward));
    }

    void ForwardProp(const FrameRange& range) override
    {
        const MatrixView argument = Temporary(0, range);
        const MatrixView work = Temporary(1, range);
        if (Input(0)->IsSparse())
            Ops::ToDense(Input(0)->SparseValue(range), Temporary(2, range));
        const MatrixView label = DenseLabels(range);
        const MatrixView probability = Samples(1, Input(1)->Value());
        // Computes (1 - y) first: with y = 1 a small p stays exact, while 1 + p - 1 would round it.
        Ops::Fill(argument, 1);
        Ops::Elementwise(Op::Copy, label, argument, -1, 1);
        Ops::Elementwise(Op::Product, label, probability, argument, 2, 1);
        Ops::Elementwise(Op::Copy, probability, argument, -1, 1);
        Ops::Elementwise(Op::Log, argument, work);
        ApplyWeights(work);
        SumSamples(work, 1, -1);
        CopyDivisors(argument, work);
    }

    // Computes dp -= g w (2 y - 1) / argument.
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        if (input != 1)
            return;
        const MatrixView work = Temporary(0, range);
        Ops::Fill(work, -1);
        Ops::Elementwise(Op::Copy, DenseLabels(range), work, 2, 1);
        Ops::Elementwise(Op::Quotient, work, Temporary(1, range), work);
        ApplyWeights(work);
        Ops::Elementwise(Op::Product, work, Gradient(), Samples(1, InputGradient(1, range)), -1, 1);
    }

    std::string UnsuitableData() const override
    {
        const std::vector<double> labels = LabelsOf(*Input(0));
        const std::span<const uint8_t> mask = SampleMask(0);
        const size_t rows = Input(0)->ValueRows();
        for (size_t i = 0; i < labels.size(); ++i)
            if ((mask.empty() || mask[i / rows] != 0) && !(labels[i] >= 0 && labels[i] <= 1))
                return Concat("'", Input(0)->Name(), "' is ", labels[i], " in sample ", i / rows,
                              " of the minibatch, and ", TypeName(),
                              " expects labels from 0 to 1: others have logarithms of negative numbers");
        return {};
    }

private:
    MatrixView DenseLabels(const FrameRange& range) const
    {
        return Input(0)->IsSparse() ? Temporary(2, range) : Samples(0, Input(0)->Value());
    }
    MatrixView Samples(size_t input, const MatrixView& view) const { return SamplesAsColumns(*Input(input), view); }
    void ApplyWeights(const MatrixView& work) const
    {
        if (InputCount() == 3)
            Ops::Elementwise(Op::Product, work, Samples(2, Input(2)->Value()), work);
    }
};

} // namespace

using namespace Samples;

void RegisterCrossEntropyNodes(NodeRegistry& registry)
{
    NodeType withSoftmax = CriterionType("CrossEntropyWithSoftmax", {"CEWithSM"}, "4.1.4.23");
    withSoftmax.doc =
        "v = -sum labels * log softmax(z) over all samples; gradient of z: softmax(z) - labels. Labels may "
        "be sparse.";
    withSoftmax.traits.backpropIgnoresInputs = 2;
    withSoftmax.traits.backpropOverwrites = true;
    withSoftmax.traits.inputsReadSparse = 1;
    // The gradient formula of z requires labels that sum to 1.
    GradientSample::Input soft = NotChecked(Data(TensorShape{4}, -2, 2));
    soft.oneHot = true;
    GradientSample labelsOnly = Case({Data(TensorShape{4}, -2, 2), NotChecked(Data(TensorShape{4}, -3, 3))});
    const GradientSample trainedLabels =
        Case({Parameter(TensorShape{4, 2}, -2, 2), NotChecked(Parameter(TensorShape{4, 2}, -3, 3))});
    withSoftmax.samples = {Case({soft, Data(TensorShape{4}, -3, 3)}),
                           Case({SparseLabels(4), Data(TensorShape{4}, -3, 3)}), labelsOnly, trainedLabels};
    registry.Add<CrossEntropyWithSoftmaxNode>(withSoftmax);

    NodeType plain = CriterionType("CrossEntropy", {}, "");
    plain.inputNames = {"labels", "p"};
    plain.doc = "v = -sum labels * log(p) over all samples, p probabilities; logarithms have a floor of -85.1. Labels "
                "may be sparse.";
    plain.traits.backpropOverwrites = true;
    plain.traits.inputsReadSparse = 1;
    plain.samples = {Case({Data(TensorShape{4}, 0, 1), Data(TensorShape{4}, 0.1, 1)}),
                     Case({Labels(4), Data(TensorShape{4}, 0.1, 1)}),
                     Case({SparseLabels(4), Data(TensorShape{4}, 0.1, 1)}),
                     Case({Parameter(TensorShape{2, 3}, 0, 1), Parameter(TensorShape{2, 3}, 0.1, 1)})};
    registry.Add<CrossEntropyNode>(plain);

    NodeType logistic = CriterionType("Logistic", {}, "");
    logistic.inputs = {2, 3};
    logistic.inputNames = {"labels", "p", "weights"};
    logistic.doc = "v = -sum w log(2 y p + (1 - y) - p) over all samples, for labels y of 0 and 1, probabilities p and "
                   "optional weights w. Only p gets a gradient. Labels may be sparse.";
    const GradientSample::Input label = NotChecked(Data(TensorShape{1}, 0, 1));
    const GradientSample::Input probability = Data(TensorShape{1}, 0.1, 0.9);
    logistic.samples = {Case({label, probability}), Case({SparseLabels(4), Data(TensorShape{4}, 0.1, 0.9)}),
                        Case({label, probability, NotChecked(Data(TensorShape{1}, 0.5, 2))})};
    registry.Add<LogisticNode>(logistic);
}

} // namespace cntk
