// Nodes that stack samples: RowStack, RowRepeat.
#include "Common/Error.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/NodeRegistry.h"
#include "ComputationNetwork/Nodes/GradientSamples.h"
#include "ComputationNetwork/Nodes/NodeViews.h"

#include <algorithm>

namespace cntk
{

namespace
{

using Op = ElementwiseOp;

// Concatenates the inputs along one axis. Other dimensions of size 1, and parameters over all samples, are broadcast.
class RowStackNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        if (m_axis == c_rowsOfOldFile)
            FindAxisOfRows();
        m_isFlat = StacksVectorsOfOldFile();
        const size_t axis = m_isFlat ? 0 : size_t(std::max(m_axis, 1)) - 1;
        m_rank = axis + 1;
        if (!m_isFlat)
            for (const ComputationNodePtr& input : Inputs())
                m_rank = std::max(m_rank, input->SampleLayout().Rank());
        TensorShape shape = ShapeOf(0).Padded(m_rank);
        for (size_t i = 1; i < InputCount(); i++)
        {
            const TensorShape x = ShapeOf(i);
            for (size_t other = 0; other < m_rank; other++)
            {
                if (other == axis)
                    continue;
                if (inference.IsFinalPass() && x[other] != shape[other] && x[other] != 1 && shape[other] != 1)
                    Fail(ErrorKind::Model, "RowStack cannot stack ", DescribeShape(*Input(0)), " and ",
                         DescribeShape(*Input(i)), " along dimension ", axis + 1, ": dimension ", other + 1, " is ",
                         shape[other], " in one and ", x[other], " in the other; expected equal sizes, or 1 in one");
                shape.SetDim(other, std::max(x[other], shape[other]));
            }
        }
        m_firsts.assign(1, 0);
        bool isKnown = true;
        for (size_t i = 0; i < InputCount(); i++)
        {
            isKnown = isKnown && ShapeOf(i)[axis] != 0;
            m_firsts.push_back(m_firsts.back() + ShapeOf(i)[axis]);
        }
        shape.SetDim(axis, isKnown ? m_firsts.back() : 0);
        SetShape(shape, CommonLayoutOfInputs(inference));
        m_below = ElementsBelow(shape, axis);
        m_isPlain.assign(InputCount(), false);
        for (size_t i = 0; i < InputCount(); i++)
        {
            TensorShape same = shape;
            same.SetDim(axis, ShapeOf(i)[axis]);
            m_isPlain[i] = same == ShapeOf(i).Padded(m_rank) && Input(i)->GetMBLayout() == GetMBLayout();
        }
    }

    void ForwardProp(const FrameRange& range) override
    {
        const MatrixView output = Value(range);
        for (size_t i = 0; i < InputCount(); i++)
        {
            const MatrixView x = Input(i)->Value(range);
            if (m_isPlain[i])
                Ops::Copy(Whole(i, x), Part(i, output));
            else
                Ops::Elementwise(Op::Copy, InputTensor(i, x), PartTensor(i, output));
        }
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        const double beta = GradientBeta(input);
        const MatrixView gradient = Gradient(range);
        const MatrixView inputGradient = InputGradient(input, range);
        if (m_isPlain[input])
        {
            if (beta == 0)
                return Ops::Copy(Part(input, gradient), Whole(input, inputGradient));
            return Ops::Elementwise(Op::Copy, Part(input, gradient), Whole(input, inputGradient), 1, beta);
        }
        Ops::ElementwiseOverData(Op::Copy, PartTensor(input, gradient), MaskOfSum(*this, input, range),
                                 InputTensor(input, inputGradient), 1, beta);
    }

    void SerializeFields(ModelArchive& archive) override
    {
        int32_t axis = std::max(m_axis, 1);
        if (archive.Version() >= 3)
            archive.Field(axis);
        CheckLoadedAxis(archive, axis);
        m_axis = archive.IsOldDialect() ? c_rowsOfOldFile : axis;
    }
    void SetParameters(const NodeParameters& parameters) override { m_axis = AxisParameter(parameters, "axis", 1); }

private:
    static constexpr int32_t c_rowsOfOldFile = 0;

    // Finds the axis for files of August 2015, which stacked rows of matrices. For samples this covers all dimensions,
    // which is the last axis if the other dimensions agree.
    void FindAxisOfRows()
    {
        size_t rank = 1;
        bool hasData = false;
        for (const ComputationNodePtr& input : Inputs())
        {
            const TensorShape x = input->SampleLayout().WithoutTrailingOnes();
            if (x.HasUnknown())
                return;
            rank = std::max(rank, x.Rank());
            hasData = hasData || input->HasMBLayout();
        }
        m_axis = 1;
        if (!hasData || StacksVectorsOfOldFile())
            return;
        const TensorShape& first = Input(0)->SampleLayout();
        for (const ComputationNodePtr& input : Inputs())
            for (size_t other = 0; other + 1 < rank; other++)
                if (input->SampleLayout()[other] != first[other])
                    Fail(ErrorKind::Model, "RowStack of an old model file puts the rows of ", DescribeShape(*input),
                         " below those of ", DescribeShape(*Input(0)), ", which is no stack along a dimension");
        m_axis = int32_t(rank);
    }

    // Returns true if the inputs are vectors of a file of August 2015: its inputs are [1 x 1 x rows] and its computed
    // values [rows], which do not fit along the first axis. Rows of two dimensions, [1 x columns], do not occur in such
    // files; they become a matrix.
    bool StacksVectorsOfOldFile() const
    {
        if (m_axis != 1)
            return false;
        bool hasOldInput = false;
        for (const ComputationNodePtr& input : Inputs())
        {
            const TensorShape x = input->SampleLayout().WithoutTrailingOnes();
            const bool isOldInput = x.Rank() == 3 && x[0] == 1 && x[1] == 1;
            if (!input->HasMBLayout() || x.HasUnknown() || (x.Rank() > 1 && !isOldInput))
                return false;
            hasOldInput = hasOldInput || isOldInput;
        }
        return hasOldInput;
    }

    TensorShape ShapeOf(size_t input) const
    {
        const TensorShape& x = Input(input)->SampleLayout();
        return m_isFlat ? TensorShape{x.Elements()} : x;
    }

    size_t RowsOf(size_t input) const { return (m_firsts[input + 1] - m_firsts[input]) * m_below; }
    // Views an input that needs no broadcasting as [its elements of the axis and below x everything above], at its
    // place in the output.
    MatrixView Whole(size_t input, const MatrixView& x) const
    {
        return Reshaped(x, RowsOf(input), x.Elements() / RowsOf(input));
    }
    MatrixView Part(size_t input, const MatrixView& output) const
    {
        const size_t rows = m_firsts.back() * m_below;
        return Reshaped(output, rows, output.Elements() / rows).Rows(m_firsts[input] * m_below, RowsOf(input));
    }
    // Does the same for inputs that are broadcast.
    TensorView InputTensor(size_t input, const MatrixView& x) const
    {
        return TensorView::OfSamples(x, ShapeOf(input), m_rank, Input(input)->HasMBLayout());
    }
    TensorView PartTensor(size_t input, const MatrixView& output) const
    {
        const size_t axis = m_isFlat ? 0 : size_t(m_axis) - 1;
        TensorView view = TensorView::OfSamples(output, SampleLayout(), m_rank, HasMBLayout());
        view.data = static_cast<std::byte*>(view.data) + m_firsts[input] * m_below * SizeOf(view.type);
        view.dims[axis] = m_firsts[input + 1] - m_firsts[input];
        return view;
    }

    int32_t m_axis = 1;
    bool m_isFlat = false;
    size_t m_rank = 1;
    size_t m_below = 1;
    std::vector<size_t> m_firsts; // offset along the axis for each input; then the sum
    std::vector<bool> m_isPlain;  // the input is not broadcast
};

// Repeats the sample n times along its last dimension.
class RowRepeatNode final : public ComputationNode
{
public:
    void InferShape(ShapeInference& inference) override
    {
        RequireDenseInputs(*this, inference);
        TensorShape shape = Input(0)->SampleLayout();
        // A bias of one column makes samples of [rows x 1], which are treated as vectors.
        if (Input(0)->HasMBLayout() && shape.Elements() == shape[0])
            shape = TensorShape{shape[0]};
        const size_t last = std::max<size_t>(shape.Rank(), 1) - 1;
        shape.SetDim(last, shape[last] * size_t(m_count));
        SetShape(shape, Input(0)->GetMBLayout());
    }

    void ForwardProp(const FrameRange& range) override
    {
        Ops::Elementwise(Op::Copy, Repeated(Input(0)->Value(range), 1), Repeated(Value(range), size_t(m_count)));
    }

    void BackpropTo(size_t input, const FrameRange& range) override
    {
        Ops::Elementwise(Op::Copy, Repeated(Gradient(range), size_t(m_count)), Repeated(InputGradient(input, range), 1),
                         1, GradientBeta(input));
    }

    void SerializeFields(ModelArchive& archive) override
    {
        archive.Field(m_count);
        if (archive.IsLoading() && m_count == 0)
            Fail(ErrorKind::Model, "the number of repetitions is 0; expected 1 or more");
    }
    void SetParameters(const NodeParameters& parameters) override
    {
        const long long count = parameters.Integer("numRepeats", 1);
        if (count < 1)
            Fail(ErrorKind::Config, "parameter 'numRepeats' is ", count, "; expected 1 or more");
        m_count = uint64_t(count);
    }

private:
    // Views the value as [elements of the input's sample x count x samples].
    TensorView Repeated(const MatrixView& view, size_t count) const
    {
        const size_t elements = Input(0)->SampleElements();
        return StridedTensor(
            view, {{elements, 1}, {count, elements}, {view.Elements() / (elements * count), elements * count}});
    }

    uint64_t m_count = 1;
};
using namespace Samples;

} // namespace

void RegisterStackNodes(NodeRegistry& registry)
{
    registry.Add<RowStackNode>(
        {.name = "RowStack",
         .aliases = {"Parallel"},
         .doc = "Stacks the rows of all inputs, or another dimension with axis. Their other dimensions must be equal, "
                "or 1, which is repeated. A parameter is repeated over all samples.",
         .inputs = {1, Arity::c_any},
         .inputNames = {"x"},
         .traits = c_readsGradientsOnly,
         .parameters = {Option("axis", ParameterKind::Integer, "1", "the dimension that grows, counted from 1")},
         .samples = {Case({Data({2}), Data({3})}), Case({Data({2}), Data({1}), Data({4})}),
                     Case({Parameter({2, 3}), Parameter({1, 3})}), Case({Data({2}), Parameter({3})}),
                     Case({Data({2, 3}), Data({4, 1})}), Case({Data({2, 3}), Data({2, 2})}, {{"axis", "2"}}),
                     Case({Parameter({2, 1}), Data({2, 2})}, {{"axis", "2"}}), Case({Data({3})}),
                     Case({Data({1, 3}), Data({1, 3})})},
         .bookSection = "4.1.4.13",
         .create = {}});
    registry.Add<RowRepeatNode>(
        {.name = "RowRepeat",
         .aliases = {},
         .doc = "v = numRepeats copies of x below one another: v_(i + k*rows(x)) = x_i for k = 0 to numRepeats-1. For "
                "a tensor or a matrix parameter it repeats the last dimension: the columns.",
         .inputs = {1, 1},
         .inputNames = {"x"},
         .traits = c_readsGradientsOnly,
         .parameters = {Positional("numRepeats", ParameterKind::Integer, "number of copies; 1 or more")},
         .samples = {Case({Data({3})}, {{"numRepeats", "2"}}), Case({Parameter({3, 2})}, {{"numRepeats", "3"}}),
                     Case({Data({2, 2})}, {{"numRepeats", "1"}}), Case({Data({2, 3})}, {{"numRepeats", "4"}})},
         .bookSection = "",
         .create = {}});
}

} // namespace cntk
