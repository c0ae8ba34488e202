// Element-wise nodes with one or two operands, implemented by one class and a table with a row per node type.
#include "ComputationNetwork/Nodes/ElementwiseNodes.h"

#include "Common/Error.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>
#include <utility>

namespace cntk
{

namespace
{

using Op = ElementwiseOp;

// Value that the gradient formula reads besides the gradient of the output.
enum class Operand
{
    None,
    Input,  // the value of the input itself
    Other,  // the value of the other input
    Output, // this node's value
};

// Formula: gradient of the input += factor * op(g, operand).
struct GradientFormula
{
    Op op = Op::Copy;
    Operand operand = Operand::None;
    double factor = 1;
};

struct ElementwiseRow
{
    const char* name;
    std::vector<std::string> aliases;
    Op forward;
    std::vector<GradientFormula> gradients; // one for each input
    const char* bookSection;
    const char* doc;
    // Range of the random values in the gradient check, and the distance to keep from a kink at 0.
    double low = -2;
    double high = 2;
    double kinkDistance = 0;
};

const std::vector<ElementwiseRow>& Rows()
{
    static const std::vector<ElementwiseRow> c_rows = {
        {"Sigmoid",
         {},
         Op::Sigmoid,
         {{Op::SigmoidGradient, Operand::Output}},
         "4.1.4.5",
         "v = 1 / (1 + exp(-x)), element by element."},
        {"Tanh", {}, Op::Tanh, {{Op::TanhGradient, Operand::Output}}, "4.1.4.5", "v = tanh(x), element by element."},
        {"RectifiedLinear",
         {"ReLU"},
         Op::RectifiedLinear,
         {{Op::RectifiedLinearGradient, Operand::Output}},
         "4.1.4.5",
         "v = max(x, 0), element by element; the gradient passes where v > 0.",
         -2,
         2,
         0.01},
        {"Log",
         {},
         Op::Log,
         {{Op::LogGradient, Operand::Output}},
         "4.1.4.5",
         "v = log(x), element by element; arguments below 1e-37 give -85.1. The gradient is g * exp(-v).",
         0.2,
         3},
        {"Exp", {}, Op::Exp, {{Op::Product, Operand::Output}}, "", "v = exp(x), element by element."},
        {"Cosine",
         {"Cos"},
         Op::Cosine,
         {{Op::CosineGradientFromInput, Operand::Input}},
         "",
         "v = cos(x), element by element."},
        {"Sin", {}, Op::Sine, {{Op::SineGradientFromInput, Operand::Input}}, "", "v = sin(x), element by element."},
        {"Abs",
         {},
         Op::Abs,
         {{Op::AbsGradientFromInput, Operand::Input}},
         "",
         "v = |x|, element by element; the gradient at 0 is 0.",
         -2,
         2,
         0.01},
        {"Negate", {}, Op::Negate, {{Op::Copy, Operand::None, -1}}, "4.1.4.10", "v = -x, element by element."},
        {"Sqrt",
         {},
         Op::Sqrt,
         {{Op::SqrtGradient, Operand::Output}},
         "",
         "v = sqrt(max(x, 0)), element by element; the gradient is g / (2 v), the divisor kept 1e-30 from 0 (0 counts "
         "as negative).",
         0.2,
         3},
        {"Reciprocal",
         {},
         Op::Reciprocal,
         {{Op::ReciprocalGradient, Operand::Output}},
         "",
         "v = 1 / x, element by element, and 0 for x = 0.",
         0.5,
         3},
        {"Pass", {}, Op::Copy, {{Op::Copy, Operand::None}}, "", "v = x."},
        {"Plus",
         {},
         Op::Sum,
         {{Op::Copy, Operand::None}, {Op::Copy, Operand::None}},
         "4.1.4.18",
         "v = a + b; dimensions of size 1, and parameters over all samples, are repeated. If one matrix has a multiple "
         "of the columns of the other, each column of the narrower one is repeated."},
        {"Minus",
         {},
         Op::Difference,
         {{Op::Copy, Operand::None}, {Op::Copy, Operand::None, -1}},
         "4.1.4.18",
         "v = a - b; dimensions of size 1, and parameters over all samples, are repeated. If one matrix has a multiple "
         "of the columns of the other, each column of the narrower one is repeated."},
        {"ElementTimes",
         {"Scale", "RowElementTimes", "ColumnElementTimes"},
         Op::Product,
         {{Op::Product, Operand::Other}, {Op::Product, Operand::Other}},
         "4.1.4.19, Scale: 4.1.4.14",
         "v = a * b, element by element; dimensions of size 1 (a scalar, a row, a column), and parameters over all "
         "samples, are repeated."},
    };
    return c_rows;
}

class ElementwiseNode final : public ComputationNode
{
public:
    static constexpr NodeKind c_kind = NodeKind::Elementwise;
    explicit ElementwiseNode(const ElementwiseRow& row) : m_row(&row) {}

    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        if (InputCount() == 1)
            return SetShape(Input(0)->SampleLayout(), Input(0)->GetMBLayout());
        InferBroadcastShape(inference);
    }

    void ForwardProp(const FrameRange& range) override
    {
        if (InputCount() == 1)
            Ops::Elementwise(m_row->forward, Input(0)->Value(range), Value(range));
        else if (m_isPlain)
            Ops::Elementwise(m_row->forward, Input(0)->Value(range), Input(1)->Value(range), Value(range));
        else
            Ops::Elementwise(m_row->forward, Tensor(*Input(0), Input(0)->Value(range)),
                             Tensor(*Input(1), Input(1)->Value(range)), Tensor(*this, Value(range)));
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const GradientFormula& formula = m_row->gradients[input];
        if (InputCount() == 1 || m_isPlain)
            return AddGradient(formula, Gradient(range), OperandNode(formula, input).Value(range),
                               InputGradient(input, range), GradientBeta(input));
        // A formula without an operand must not read a value, which does not exist in a fused chain.
        const TensorView gradient = Tensor(*this, Gradient(range));
        const ComputationNode& operand = OperandNode(formula, input);
        AddGradient(
            formula, gradient, formula.operand == Operand::None ? gradient : Tensor(operand, operand.Value(range)),
            Tensor(*Input(input), InputGradient(input, range)), GradientBeta(input), MaskOfSum(*this, input, range));
    }

    ElementwiseOp ForwardOp() const { return m_row->forward; }

    ElementwisePass BackwardPass(size_t input) const
    {
        const GradientFormula& formula = m_row->gradients[input];
        ElementwisePass pass;
        pass.op = formula.op;
        pass.factor = formula.factor;
        pass.inputs[pass.inputCount++] = {this, true};
        if (formula.operand != Operand::None)
            pass.inputs[pass.inputCount++] = {&OperandNode(formula, input), false};
        pass.output = {Input(input).get(), true};
        return pass;
    }

private:
    static void AddGradient(const GradientFormula& formula, const TensorView& gradient, const TensorView& operand,
                            const TensorView& inputGradient, double beta, std::span<const uint8_t> mask = {})
    {
        if (formula.operand == Operand::None)
            Ops::ElementwiseOverData(formula.op, gradient, mask, inputGradient, formula.factor, beta);
        else
            Ops::ElementwiseOverData(formula.op, gradient, operand, mask, inputGradient, formula.factor, beta);
    }

    // Returns the node whose value the formula reads; without an operand any node, whose value is not read.
    const ComputationNode& OperandNode(const GradientFormula& formula, size_t input) const
    {
        switch (formula.operand)
        {
        case Operand::Input:
            return *Input(input);
        case Operand::Other:
            return *Input(1 - input);
        case Operand::None:
        case Operand::Output:
            break;
        }
        return *this;
    }

    // Returns a view of the value or gradient of this node or an operand in the shape that the operation uses.
    TensorView Tensor(const ComputationNode& node, const MatrixView& view) const
    {
        const TensorShape& shape = &node == this ? m_shape : m_operandShapes[&node == Input(0).get() ? 0 : 1];
        return TensorView::OfSamples(view, shape, m_rank, node.HasMBLayout());
    }

    void InferBroadcastShape(ShapeInference& inference)
    {
        // A parameter without dimensions gets those of the other operand.
        for (size_t input = 0; input < 2; input++)
            if (Input(input)->SampleLayout().HasUnknown() && !Input(1 - input)->SampleLayout().HasUnknown())
                InferInputShape(input, Input(1 - input)->SampleLayout());
        const TensorShape& a = Input(0)->SampleLayout();
        const TensorShape& b = Input(1)->SampleLayout();
        m_rank = std::max(a.Rank(), b.Rank());
        TensorShape shape = a.Padded(m_rank);
        for (size_t axis = 0; axis < m_rank; axis++)
        {
            if (inference.IsFinalPass() && a[axis] != b[axis] && a[axis] != 1 && b[axis] != 1 && !RepeatsColumns(axis))
                Fail(ErrorKind::Model, TypeName(), " cannot combine ", DescribeShape(*Input(0)), " and ",
                     DescribeShape(*Input(1)), ": dimension ", axis + 1, " is ", a[axis], " in one and ", b[axis],
                     " in the other; expected equal sizes, or 1 in one of them");
            shape.SetDim(axis, std::max(a[axis], b[axis]));
        }
        SetShape(shape, CommonLayoutOfInputs(inference));
        m_operandShapes[0] = a;
        m_operandShapes[1] = b;
        m_shape = shape;
        if (RepeatsColumns(1))
            SplitColumns();
        m_isPlain = a.Elements() == shape.Elements() && b.Elements() == shape.Elements() &&
                    Input(0)->GetMBLayout() == Input(1)->GetMBLayout() &&
                    (HasMBLayout() || (a.MatrixRows() == shape.MatrixRows() && b.MatrixRows() == shape.MatrixRows()));
    }

    // Returns true if columns are repeated by the book's rule for sums of matrices: the narrower one's columns repeat
    // if their number divides that of the wider one's.
    bool RepeatsColumns(size_t axis) const
    {
        if (axis != 1 || (m_row->forward != Op::Sum && m_row->forward != Op::Difference) || Input(0)->HasMBLayout() ||
            Input(1)->HasMBLayout())
            return false;
        const size_t a = Input(0)->SampleLayout()[1], b = Input(1)->SampleLayout()[1];
        return a != b && std::min(a, b) > 1 && std::max(a, b) % std::min(a, b) == 0;
    }

    // Makes [p q] next to six columns act as [p p p q q q]: the columns become two dimensions, and the faster one
    // repeats.
    void SplitColumns()
    {
        const size_t narrow = std::min(m_operandShapes[0][1], m_operandShapes[1][1]);
        m_rank++;
        for (TensorShape* shape : {&m_operandShapes[0], &m_operandShapes[1], &m_shape})
        {
            const TensorShape whole = *shape;
            shape->SetDim(1, whole[1] / narrow);
            shape->SetDim(2, narrow);
            for (size_t axis = 2; axis < whole.Rank(); axis++)
                shape->SetDim(axis + 1, whole[axis]);
        }
    }

    const ElementwiseRow* m_row;
    size_t m_rank = 0; // of samples, the larger rank of both operands
    // Shapes of the operands' samples and the value, as the operation uses them.
    TensorShape m_operandShapes[2];
    TensorShape m_shape;
    bool m_isPlain = false; // operands of equal size: no broadcasting
};

// Returns shapes for the gradient check: both operands as samples, then each kind of broadcasting, including
// parameters.
std::vector<GradientSample> SamplesOf(const ElementwiseRow& row)
{
    const auto input = [&](TensorShape shape, bool inLayout)
    {
        GradientSample::Input described;
        described.shape = shape;
        described.inLayout = inLayout;
        described.low = row.low;
        described.high = row.high;
        return described;
    };
    const auto sample = [&](std::vector<GradientSample::Input> inputs)
    {
        GradientSample described;
        described.inputs = std::move(inputs);
        described.kinkDistance = row.kinkDistance;
        return described;
    };
    if (row.gradients.size() == 1)
        return {sample({input({3}, true)}), sample({input({2, 3}, false)}), sample({input({2, 3, 2}, true)})};
    std::vector<GradientSample> samples;
    const std::vector<std::pair<TensorShape, TensorShape>> shapes = {
        {{3}, {3}}, {{3}, {3, 1}}, {{1}, {3}}, {{3, 1}, {1, 4}}, {{2, 3, 2}, {2, 1, 2}}, {{1, 1}, {4}}};
    for (const auto& [a, b] : shapes)
        for (const auto& [aInLayout, bInLayout] : {std::pair(true, true), {true, false}, {false, true}, {false, false}})
            samples.push_back(sample({input(a, aInLayout), input(b, bInLayout)}));
    if (row.forward == Op::Sum || row.forward == Op::Difference)
    {
        samples.push_back(sample({input({3, 2}, false), input({3, 6}, false)}));
        samples.push_back(sample({input({2, 6}, false), input({1, 3}, false)}));
    }
    return samples;
}

} // namespace

std::optional<ElementwiseOp> ElementwiseOpOf(const ComputationNode& node)
{
    if (const auto* elementwise = As<ElementwiseNode>(&node))
        return elementwise->ForwardOp();
    return std::nullopt;
}

namespace
{

// Returns true if operands match element for element, or have one column for all samples.
bool HasPlainOperands(const ComputationNode& node)
{
    return node.HasMBLayout() &&
           std::all_of(node.Inputs().begin(), node.Inputs().end(),
                       [&](const ComputationNodePtr& input)
                       {
                           return input->SampleElements() == node.SampleElements() && !input->IsSparse() &&
                                  (!input->HasMBLayout() || input->GetMBLayout() == node.GetMBLayout());
                       });
}

// Returns true for a diagonal matrix times columns, which is an element-wise product.
bool IsDiagonalProduct(const ComputationNode& node)
{
    return node.TypeName() == "DiagTimes";
}

} // namespace

std::optional<ElementwisePass> ForwardPassOf(const ComputationNode& node)
{
    const std::optional<Op> op = IsDiagonalProduct(node) ? Op::Product : ElementwiseOpOf(node);
    if (!op || !HasPlainOperands(node))
        return std::nullopt;
    ElementwisePass pass;
    pass.op = *op;
    for (const ComputationNodePtr& input : node.Inputs())
        pass.inputs[pass.inputCount++] = {input.get(), false};
    pass.output = {&node, false};
    return pass;
}

std::optional<ElementwisePass> BackwardPassOf(const ComputationNode& node, size_t input)
{
    if (!node.Input(input)->HasMBLayout() || !HasPlainOperands(node))
        return std::nullopt;
    if (const auto* elementwise = As<ElementwiseNode>(&node))
        return elementwise->BackwardPass(input);
    if (!IsDiagonalProduct(node))
        return std::nullopt;
    ElementwisePass pass;
    pass.op = Op::Product;
    pass.inputCount = 2;
    pass.inputs[0] = {&node, true};
    pass.inputs[1] = {node.Input(1 - input).get(), false};
    pass.output = {node.Input(input).get(), true};
    return pass;
}

void RegisterElementwiseNodes(NodeRegistry& registry)
{
    for (const ElementwiseRow& row : Rows())
    {
        const size_t inputs = row.gradients.size();
        const auto reads = [&](Operand operand)
        {
            return std::any_of(row.gradients.begin(), row.gradients.end(),
                               [&](const GradientFormula& formula) { return formula.operand == operand; });
        };
        const bool passesThrough =
            std::all_of(row.gradients.begin(), row.gradients.end(),
                        [](const GradientFormula& formula) { return formula.op == Op::Copy && formula.factor == 1; });
        registry.Add({.name = row.name,
                      .aliases = row.aliases,
                      .doc = row.doc,
                      .inputs = {inputs, inputs},
                      .inputNames = inputs == 1 ? std::vector<std::string>{"x"} : std::vector<std::string>{"a", "b"},
                      .traits = {.isElementwise = true,
                                 .backpropReadsInputs = reads(Operand::Input) || reads(Operand::Other),
                                 .backpropReadsOutput = reads(Operand::Output),
                                 .backpropOverwrites = true,
                                 .gradientPassesThrough = passesThrough,
                                 .backpropInPlace = inputs == 1,
                                 .kind = NodeKind::Elementwise},
                      .parameters = {},
                      .samples = SamplesOf(row),
                      .bookSection = row.bookSection,
                      .create = [&row] { return std::make_shared<ElementwiseNode>(row); }});
    }
}

} // namespace cntk
