// Norms of a whole matrix as criteria: MatrixL1Reg, MatrixL2Reg.
#include "Common/Error.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

namespace cntk
{

namespace
{

using Op = ElementwiseOp;

// Computes one value from the elements of all samples. Gaps do not count and get no gradient.
class NormNode : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        SetScalarShape();
    }

protected:
    // Computes v = the sum of op over all elements.
    void SumOf(Op op) const { Ops::ElementwiseOverData(op, Input(0)->Value(), Mask(), Value()); }
    // Adds op(a, b) to the gradient of x, where an operand without memory stands for x.
    void AddGradient(Op op, const MatrixView& a, const MatrixView& b, const MatrixView& inputGradient,
                     double beta) const
    {
        const MatrixView x = Input(0)->Value();
        if (!Mask().empty() && beta == 0)
        {
            Ops::Fill(inputGradient, 0);
            beta = 1;
        }
        ForEachDataStretch(Mask(), x.columns,
                           [&](size_t first, size_t count)
                           {
                               const MatrixView here = x.Columns(first, count);
                               Ops::Elementwise(op, a.data ? a : here, b.data ? b : here,
                                                inputGradient.Columns(first, count), 1, beta);
                           });
    }

private:
    std::span<const uint8_t> Mask() const { return Input(0)->ColumnMask(FrameRange::All()); }
};

class MatrixL1RegNode final : public NormNode
{
public:
    void ForwardProp(const FrameRange&) override { SumOf(Op::Abs); }
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        AddGradient(Op::AbsGradientFromInput, Gradient(), {}, InputGradient(input, range), GradientBeta(input));
    }
};

class MatrixL2RegNode final : public NormNode
{
public:
    std::vector<TemporarySpec> Temporaries() const override
    {
        return {FixedColumn(1, TemporarySpec::Lifetime::ForwardBackward)};
    }
    void ForwardProp(const FrameRange&) override
    {
        SumOf(Op::Square);
        Ops::Elementwise(Op::Sqrt, Value(), Value());
    }
    // Computes dx += x g / v, and 0 if all elements are 0.
    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const MatrixView factor = Temporary(0, range);
        Ops::Elementwise(Op::Quotient, Gradient(), Value(), factor);
        AddGradient(Op::Product, {}, factor, InputGradient(input, range), GradientBeta(input));
    }
};

using namespace Samples;

} // namespace

void RegisterRegularizationNodes(NodeRegistry& registry)
{
    const NodeTraits traits = {.backpropReadsInputs = true,
                               .backpropReadsOutput = true,
                               .needsWholeMinibatch = true,
                               .isCriterion = true,
                               .backpropOverwrites = true};
    std::vector<GradientSample> samples = {Case({Data({3})}), Case({Parameter({3, 2})}), Case({Data({2, 2})})};
    for (GradientSample& sample : samples)
        sample.kinkDistance = 0.01;
    NodeType type = {.name = "MatrixL2Reg",
                     .aliases = {"L2Reg"},
                     .doc = "v = sqrt(sum of x_ij^2) over all elements: the Frobenius norm.",
                     .inputs = {1, 1},
                     .inputNames = {"X"},
                     .traits = traits,
                     .parameters = {},
                     .samples = samples,
                     .bookSection = "4.1.4.28",
                     .create = [] { return std::make_shared<MatrixL2RegNode>(); }};
    registry.Add(type);
    type.name = "MatrixL1Reg";
    type.aliases = {"L1Reg"};
    type.doc = "v = sum of |x_ij| over all elements; the gradient at 0 is 0.";
    type.traits.backpropReadsOutput = false;
    type.create = [] { return std::make_shared<MatrixL1RegNode>(); };
    registry.Add(type);
}

} // namespace cntk
