// Products: numpy's tensordot by the engine's Times and TransposeTimes.
#include "Api/Operations.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <utility>

namespace cntk::Api
{

namespace
{

class TimesOperation final : public Operation
{
public:
    explicit TimesOperation(size_t outputRank) : m_outputRank(outputRank)
    {
        if (outputRank > TensorShape::c_maxRank)
            Fail(ErrorKind::Model, "the output_rank of times is ", outputRank, "; expected 0 to ",
                 TensorShape::c_maxRank);
    }

    std::string TypeName() const override { return "Times"; }
    std::string TypeNameOf(const Node& node) const override
    {
        const std::optional<Shape>& right = Resolved(node.inputs[1])->value.shape;
        return right && InnerRank(*right) == right->size() ? "TransposeTimes" : "Times";
    }
    std::vector<std::pair<std::string, std::string>> Attributes() const override
    {
        return {{"output_rank", std::to_string(m_outputRank)}};
    }

    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        const Shape &left = operands[0].GetShape(), &right = operands[1].GetShape();
        const size_t inner = InnerRank(right);
        if (inner == 0 || left.size() < inner)
            Fail(ErrorKind::Model, Describe(operands), ": the product contracts ",
                 inner == 0 ? Concat("axes of the right operand before its last ", m_outputRank)
                            : Concat(Counted(inner, "axis"), " of the left operand"),
                 ", which has ", inner == 0 ? right.size() : left.size(), "; expected more axes");
        for (size_t axis = 0; axis < inner; axis++)
        {
            const size_t ofLeft = left[left.size() - inner + axis], ofRight = right[axis];
            if (ofLeft == 0 || ofRight == 0)
                return std::nullopt; // the engine infers it
            if (ofLeft != ofRight)
                Fail(ErrorKind::Model, Describe(operands), ": the inner dimensions ", ofLeft, " and ", ofRight,
                     " differ; expected the last ", inner == 1 ? "axis" : Concat(inner, " axes"),
                     " of the left operand to equal the first of the right one");
        }
        Shape shape(left.begin(), left.end() - ptrdiff_t(inner));
        shape.insert(shape.end(), right.begin() + ptrdiff_t(inner), right.end());
        return HasUnknown(shape) ? std::nullopt : std::optional(shape);
    }

    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        const LoweredOperand &left = operands[0], &right = operands[1];
        const size_t inner = InnerRank(right.shape);
        if (right.shape.size() == 1)
            return LowerVector(writer, left, right);
        if (inner == right.shape.size()) // all axes of the right operand are contracted, as those of one vector
        {
            const Shape vector{ElementsOf(right.shape)};
            Shape matrix(left.shape.begin(), left.shape.end() - ptrdiff_t(inner));
            matrix.push_back(vector[0]);
            const LoweredOperand flatLeft{writer.Reshape(left.node, matrix), matrix, left.hasAxis, left.isSparse};
            const LoweredOperand flatRight{writer.Reshape(right.node, vector), vector, right.hasAxis, right.isSparse};
            return LowerVector(writer, flatLeft, flatRight);
        }
        // One product for the minibatch needs the shared operand on the engine's left.
        return writer.Add("Times", {right.node, left.node},
                          Parameters({{"outputRank", std::to_string(right.shape.size() - inner)}}));
    }

private:
    size_t InnerRank(const Shape& right) const
    {
        return right.size() == 1 ? 1 : right.size() > m_outputRank ? right.size() - m_outputRank : 0;
    }

    std::string Describe(std::span<const OperandType> operands) const
    {
        return Concat("Times(", operands[0].Describe(), ", ", operands[1].Describe(), ")");
    }

    // left (.., k) @ right (k,)
    static ComputationNodePtr LowerVector(NetworkWriter& writer, const LoweredOperand& left,
                                          const LoweredOperand& right)
    {
        const size_t inner = right.shape[0];
        const Shape outer(left.shape.begin(), left.shape.end() - 1);
        if (left.hasAxis && !right.hasAxis && left.shape.size() > 1)
        {
            const ComputationNodePtr row = writer.Reshape(right.node, {inner, 1});
            return writer.Reshape(writer.Add("Times", {row, left.node}), outer);
        }
        if (left.shape.size() == 1 && left.hasAxis && !right.hasAxis)
            return writer.Add("TransposeTimes", {right.node, left.node});
        if (left.shape.size() <= 2)
            return writer.Add("TransposeTimes", {left.node, right.node});
        const ComputationNodePtr matrix = writer.Reshape(left.node, {ElementsOf(outer), inner});
        return writer.Reshape(writer.Add("TransposeTimes", {matrix, right.node}), outer);
    }

    size_t m_outputRank;
};

} // namespace

OperationPtr Times(size_t outputRank)
{
    return std::make_shared<TimesOperation>(outputRank);
}

} // namespace cntk::Api
