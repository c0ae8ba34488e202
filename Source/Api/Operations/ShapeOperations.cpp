// Operations on the axes of a sample: softmax along an axis, reductions, reshape, transpose, slice, splice.
#include "Api/Operations.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cntk::Api
{

namespace
{

ComputationNodePtr Swap(NetworkWriter& writer, const ComputationNodePtr& x, size_t axis1, size_t axis2,
                        const Shape& shape)
{
    return writer.Add("TransposeDimensions", {x},
                      Parameters({{"axis1", std::to_string(EngineAxis(axis1, shape))},
                                  {"axis2", std::to_string(EngineAxis(axis2, shape))}}));
}

std::string ListOf(const std::vector<long>& numbers)
{
    std::vector<std::string> texts;
    for (const long number : numbers)
        texts.push_back(std::to_string(number));
    return "(" + Join(texts, ", ") + (texts.size() == 1 ? ",)" : ")");
}

class AlongAxisOperation final : public Operation
{
public:
    AlongAxisOperation(std::string type, long axis) : m_type(std::move(type)), m_axis(axis) {}

    std::string TypeName() const override { return m_type; }
    std::vector<std::pair<std::string, std::string>> Attributes() const override
    {
        return {{"axis", std::to_string(m_axis)}};
    }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        const Shape& shape = operands.front().GetShape();
        if (!shape.empty())
            AxisOf(m_axis, shape, operands.front().Describe());
        return shape;
    }
    // The engine computes along its first dimension, which is the last axis.
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        const auto& [x, shape, hasAxis, isSparse] = operands.front();
        const size_t last = shape.empty() ? 0 : shape.size() - 1;
        const size_t axis = shape.empty() ? 0 : AxisOf(m_axis, shape, m_type);
        if (shape.size() < 2)
            return writer.Add(m_type, {x});
        const std::string type = m_type + "AlongFirst";
        if (axis == last)
            return writer.Add(type, {x});
        return Swap(writer, writer.Add(type, {Swap(writer, x, axis, last, shape)}), axis, last, shape);
    }

private:
    std::string m_type;
    long m_axis;
};

class ReduceOperation final : public Operation
{
public:
    ReduceOperation(Reduction reduction, std::optional<std::vector<long>> axes, bool keepDimensions)
        : m_reduction(reduction), m_axes(std::move(axes)), m_keepDimensions(keepDimensions)
    {
    }

    std::string TypeName() const override { return "ReduceElements"; }
    std::vector<std::pair<std::string, std::string>> Attributes() const override
    {
        return {{"axis", m_axes ? ListOf(*m_axes) : "None"},
                {"reduction", m_reduction == Reduction::Sum ? "sum" : "mean"},
                {"keepdims", m_keepDimensions ? "True" : "False"}};
    }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        const Shape& shape = operands.front().GetShape();
        if (HasUnknown(shape))
            return std::nullopt;
        return ResultShape(shape, Reduced(shape, operands.front().Describe()));
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        const Shape& shape = operands.front().shape;
        const std::vector<bool> reduced = Reduced(shape, TypeName());
        ComputationNodePtr sum = operands.front().node;
        size_t count = 1;
        for (size_t axis = 0; axis < shape.size(); axis++)
            if (reduced[axis])
            {
                sum = writer.Add("ReduceElements", {sum},
                                 Parameters({{"axis", std::to_string(EngineAxis(axis, shape))}}));
                count *= shape[axis];
            }
        if (m_reduction == Reduction::Mean)
            sum = writer.Add("ElementTimes", {sum, writer.Number(1 / double(count))});
        return writer.Reshape(sum, ResultShape(shape, reduced));
    }

private:
    std::vector<bool> Reduced(const Shape& shape, const std::string& owner) const
    {
        std::vector<bool> reduced(shape.size(), !m_axes);
        if (m_axes)
            for (const long axis : *m_axes)
                reduced[AxisOf(axis, shape, owner)] = true;
        return reduced;
    }
    Shape ResultShape(const Shape& shape, const std::vector<bool>& reduced) const
    {
        Shape result;
        for (size_t axis = 0; axis < shape.size(); axis++)
            if (!reduced[axis])
                result.push_back(shape[axis]);
            else if (m_keepDimensions)
                result.push_back(1);
        return result;
    }

    Reduction m_reduction;
    std::optional<std::vector<long>> m_axes;
    bool m_keepDimensions;
};

class ReshapeOperation final : public Operation
{
public:
    explicit ReshapeOperation(std::vector<long> shape) : m_shape(std::move(shape)) {}

    std::string TypeName() const override { return "Reshape"; }
    std::vector<std::pair<std::string, std::string>> Attributes() const override
    {
        return {{"shape", ListOf(m_shape)}};
    }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        return ResultShape(operands.front().GetShape(), operands.front().Describe());
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        return writer.Reshape(operands.front().node, ResultShape(operands.front().shape, TypeName()));
    }

private:
    Shape ResultShape(const Shape& shape, const std::string& operand) const
    {
        const size_t elements = ElementsOf(shape);
        Shape result;
        size_t known = 1;
        size_t* unknown = nullptr;
        result.reserve(m_shape.size());
        bool isValid = true;
        for (const long dimension : m_shape)
        {
            result.push_back(dimension > 0 ? size_t(dimension) : 1);
            if (dimension == -1 && unknown == nullptr)
                unknown = &result.back();
            else if (dimension <= 0)
                isValid = false;
            known *= result.back();
        }
        if (unknown != nullptr && elements % known == 0)
            *unknown = elements / known;
        if (!isValid || ElementsOf(result) != elements)
            Fail(ErrorKind::Model, "Reshape cannot make ", ListOf(m_shape), " of ", operand, ", which has ",
                 Counted(elements, "element"), "; expected a shape with as many, in which one dimension may be -1");
        return result;
    }

    std::vector<long> m_shape;
};

class TransposeOperation final : public Operation
{
public:
    explicit TransposeOperation(std::optional<std::vector<long>> permutation) : m_permutation(std::move(permutation)) {}

    std::string TypeName() const override { return "TransposeDimensions"; }
    std::vector<std::pair<std::string, std::string>> Attributes() const override
    {
        return {{"perm", m_permutation ? ListOf(*m_permutation) : "None"}};
    }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        const Shape& shape = operands.front().GetShape();
        Shape result;
        for (const size_t axis : Order(shape, operands.front().Describe()))
            result.push_back(shape[axis]);
        return result;
    }
    // Swaps pairs of axes until each has its place.
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        const Shape& shape = operands.front().shape;
        const std::vector<size_t> wanted = Order(shape, TypeName());
        std::vector<size_t> present(shape.size());
        std::iota(present.begin(), present.end(), size_t(0));
        ComputationNodePtr x = operands.front().node;
        for (size_t axis = 0; axis < wanted.size(); axis++)
        {
            const size_t place = size_t(std::find(present.begin(), present.end(), wanted[axis]) - present.begin());
            if (place == axis)
                continue;
            x = Swap(writer, x, axis, place, shape);
            std::swap(present[axis], present[place]);
        }
        return x == operands.front().node ? writer.Add("Pass", {x}) : x;
    }

private:
    std::vector<size_t> Order(const Shape& shape, const std::string& owner) const
    {
        std::vector<size_t> order(shape.size());
        if (!m_permutation)
        {
            for (size_t axis = 0; axis < order.size(); axis++)
                order[axis] = order.size() - 1 - axis;
            return order;
        }
        std::vector<bool> isUsed(shape.size(), false);
        bool isValid = m_permutation->size() == shape.size();
        for (size_t axis = 0; axis < order.size() && isValid; axis++)
        {
            order[axis] = AxisOf((*m_permutation)[axis], shape, owner);
            isValid = !isUsed[order[axis]];
            isUsed[order[axis]] = true;
        }
        if (!isValid)
            Fail(ErrorKind::Model, "the permutation ", ListOf(*m_permutation), " does not fit ", owner,
                 "; expected each of its ", Counted(shape.size(), "axis"), " once");
        return order;
    }

    std::optional<std::vector<long>> m_permutation;
};

class SwapAxesOperation final : public Operation
{
public:
    SwapAxesOperation(long axis1, long axis2) : m_axis1(axis1), m_axis2(axis2) {}

    std::string TypeName() const override { return "TransposeDimensions"; }
    std::vector<std::pair<std::string, std::string>> Attributes() const override
    {
        return {{"axis1", std::to_string(m_axis1)}, {"axis2", std::to_string(m_axis2)}};
    }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        Shape shape = operands.front().GetShape();
        const std::string owner = operands.front().Describe();
        std::swap(shape[AxisOf(m_axis1, shape, owner)], shape[AxisOf(m_axis2, shape, owner)]);
        return shape;
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        const Shape& shape = operands.front().shape;
        return Swap(writer, operands.front().node, AxisOf(m_axis1, shape, ""), AxisOf(m_axis2, shape, ""), shape);
    }

private:
    long m_axis1, m_axis2;
};

class SliceOperation final : public Operation
{
public:
    explicit SliceOperation(std::vector<AxisRange> ranges) : m_ranges(std::move(ranges)) {}

    std::string TypeName() const override { return "Slice"; }
    std::vector<std::pair<std::string, std::string>> Attributes() const override
    {
        std::vector<std::string> texts;
        for (const AxisRange& range : m_ranges)
            texts.push_back(Concat(range.axis, "=", range.begin ? std::to_string(*range.begin) : "", ":",
                                   range.end ? std::to_string(*range.end) : ""));
        return {{"ranges", Join(texts, ", ")}};
    }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        Shape shape = operands.front().GetShape();
        for (const AxisRange& range : m_ranges)
        {
            const Part part = PartOf(range, operands.front().GetShape(), operands.front().Describe());
            shape[part.axis] = part.count;
        }
        return shape;
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        ComputationNodePtr x = operands.front().node;
        const Shape& shape = operands.front().shape;
        for (const AxisRange& range : m_ranges)
        {
            const Part part = PartOf(range, shape, TypeName());
            x = writer.Add("Slice", {x},
                           Parameters({{"startRow", std::to_string(part.first)},
                                       {"numRows", std::to_string(part.count)},
                                       {"axis", std::to_string(EngineAxis(part.axis, shape))}}));
        }
        return m_ranges.empty() ? writer.Add("Pass", {x}) : x;
    }

private:
    struct Part
    {
        size_t axis, first, count;
    };
    static Part PartOf(const AxisRange& range, const Shape& shape, const std::string& owner)
    {
        const size_t axis = AxisOf(range.axis, shape, owner);
        const long size = long(shape[axis]);
        const long begin = range.begin.value_or(0), end = range.end.value_or(size);
        const long first = begin < 0 ? begin + size : begin, last = end < 0 ? end + size : end;
        if (first < 0 || last > size || first >= last)
            Fail(ErrorKind::Model, "Slice takes the elements ", begin, " to ", end, " (exclusive) of axis ", axis,
                 " of ", owner, ", which has ", size, "; expected at least one element within it");
        return {axis, size_t(first), size_t(last - first)};
    }

    std::vector<AxisRange> m_ranges;
};

class SpliceOperation final : public Operation
{
public:
    explicit SpliceOperation(long axis) : m_axis(axis) {}

    std::string TypeName() const override { return "RowStack"; }
    std::vector<std::pair<std::string, std::string>> Attributes() const override
    {
        return {{"axis", std::to_string(m_axis)}};
    }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        Shape shape = operands.front().GetShape();
        const size_t axis = AxisOf(m_axis, shape, operands.front().Describe());
        for (const OperandType& operand : operands.subspan(1))
        {
            Shape other = operand.GetShape();
            bool fits = other.size() == shape.size();
            for (size_t i = 0; i < shape.size() && fits; i++)
                fits = i == axis || other[i] == shape[i];
            if (!fits)
                Fail(ErrorKind::Model, "splice cannot join ", operands.front().Describe(), " and ", operand.Describe(),
                     " along axis ", m_axis, "; expected equal dimensions of all other axes");
            shape[axis] += other[axis];
        }
        return shape;
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        std::vector<ComputationNodePtr> inputs;
        for (const LoweredOperand& operand : operands)
            inputs.push_back(operand.node);
        const Shape& shape = operands.front().shape;
        const size_t axis = EngineAxis(AxisOf(m_axis, shape, TypeName()), shape);
        return inputs.size() == 1
                   ? writer.Add("Pass", std::move(inputs))
                   : writer.Add("RowStack", std::move(inputs), Parameters({{"axis", std::to_string(axis)}}));
    }

private:
    long m_axis;
};

} // namespace

OperationPtr AlongAxis(const std::string& type, long axis)
{
    return std::make_shared<AlongAxisOperation>(type, axis);
}

OperationPtr Reduce(Reduction reduction, std::optional<std::vector<long>> axes, bool keepDimensions)
{
    return std::make_shared<ReduceOperation>(reduction, std::move(axes), keepDimensions);
}

OperationPtr Reshape(std::vector<long> shape)
{
    return std::make_shared<ReshapeOperation>(std::move(shape));
}

OperationPtr Transpose(std::optional<std::vector<long>> permutation)
{
    return std::make_shared<TransposeOperation>(std::move(permutation));
}

OperationPtr SwapAxes(long axis1, long axis2)
{
    return std::make_shared<SwapAxesOperation>(axis1, axis2);
}

OperationPtr Slice(std::vector<AxisRange> ranges)
{
    return std::make_shared<SliceOperation>(std::move(ranges));
}

OperationPtr Splice(long axis)
{
    return std::make_shared<SpliceOperation>(axis);
}

} // namespace cntk::Api
