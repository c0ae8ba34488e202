// SquareError, ErrorPrediction, SumElements.
#include "Common/Error.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/CriterionNode.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/SparseSupport.h"

#include <cmath>
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
        const auto* const parameter = dynamic_cast<const LearnableParameterNode*>(Input(2).get());
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

} // namespace cntk
