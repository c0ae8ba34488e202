// Criteria: one number, the sum over a minibatch (sheet 6.2).
#include "Api/Operations.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <utility>

namespace cntk::Api
{

namespace
{

// Compares an output with a target of the same shape, or of one that broadcasts.
class CriterionOperation final : public Operation
{
public:
    // takesAnyBroadcast: shapes may differ in their number of elements.
    CriterionOperation(std::string type, bool takesTargetFirst, bool takesAnyBroadcast, size_t topN = 1)
        : m_type(std::move(type)), m_takesTargetFirst(takesTargetFirst), m_takesAnyBroadcast(takesAnyBroadcast),
          m_topN(topN)
    {
    }

    std::string TypeName() const override { return m_type; }
    std::vector<std::pair<std::string, std::string>> Attributes() const override
    {
        if (m_topN == 1)
            return {};
        return {{"topN", std::to_string(m_topN)}};
    }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        const Shape &a = operands[0].GetShape(), &b = operands[1].GetShape();
        if (HasUnknown(a) || HasUnknown(b))
            return Shape{};
        const std::optional<Shape> both = Broadcast(a, b);
        if (!both || (ElementsOf(a) != ElementsOf(b) && !m_takesAnyBroadcast))
            Fail(ErrorKind::Model, m_type, " compares ", operands[0].Describe(), " with ", operands[1].Describe(),
                 "; expected equal shapes");
        return Shape{};
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        std::vector<ComputationNodePtr> inputs = {operands[0].node, operands[1].node};
        if (ElementsOf(operands[0].shape) != ElementsOf(operands[1].shape)) // the engine's node does not broadcast
        {
            const ComputationNodePtr difference = writer.Add("Minus", std::move(inputs));
            return writer.Add("SumElements", {writer.Add("ElementTimes", {difference, difference})});
        }
        if (m_takesTargetFirst)
            std::swap(inputs[0], inputs[1]);
        if (m_topN > 1)
            inputs.push_back(writer.Number(double(m_topN)));
        return writer.Add(m_type, std::move(inputs));
    }

private:
    std::string m_type;
    bool m_takesTargetFirst;
    bool m_takesAnyBroadcast;
    size_t m_topN;
};

} // namespace

OperationPtr CrossEntropyWithSoftmax()
{
    return std::make_shared<CriterionOperation>("CrossEntropyWithSoftmax", true, false);
}

OperationPtr SquaredError()
{
    return std::make_shared<CriterionOperation>("SquareError", false, true);
}

OperationPtr ClassificationError(size_t topN)
{
    if (topN == 0)
        Fail(ErrorKind::Model, "topN of classification_error is 0; expected 1 or more");
    return std::make_shared<CriterionOperation>("ErrorPrediction", true, false, topN);
}

OperationPtr SumOfElements()
{
    return EngineOperation("SumElements", {});
}

} // namespace cntk::Api
