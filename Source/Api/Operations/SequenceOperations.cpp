// Delays, and operations on whole sequences (sheet 7.2 to 7.4).
#include "Api/Operations.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace cntk::Api
{

namespace
{

class DelayOperation final : public Operation
{
public:
    DelayOperation(std::string type, double initialState, size_t timeStep, std::string target)
        : m_type(std::move(type)), m_timeStep(timeStep), m_target(std::move(target))
    {
        if (timeStep == 0)
            Fail(ErrorKind::Model, "the time_step of ", m_type, " is 0; expected 1 or more");
        char text[32];
        std::snprintf(text, sizeof(text), "%.17g", initialState);
        m_initialState = text;
    }

    std::string TypeName() const override { return m_type; }
    std::vector<std::pair<std::string, std::string>> Attributes() const override
    {
        std::vector<std::pair<std::string, std::string>> attributes{{"initial_state", m_initialState},
                                                                    {"time_step", std::to_string(m_timeStep)}};
        if (!m_target.empty())
            attributes.emplace_back("target", m_target);
        return attributes;
    }
    bool IsDelay() const override { return true; }
    const std::string& TargetName() const override { return m_target; }

    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        const std::string& axis = operands.front().value->axis;
        if (axis.empty() || axis == c_batchAxis)
            Fail(ErrorKind::Model, m_type, " delays ", operands.front().Describe(), ", which ",
                 axis.empty() ? "has no dynamic axis" : "has one step a sequence",
                 "; expected a node with an axis of several steps");
        return operands.front().GetShape();
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        const NodeParameters parameters =
            Parameters({{"timeStep", std::to_string(m_timeStep)}, {"defaultHiddenActivity", m_initialState}});
        if (operands.empty())
            return writer.AddUnconnected(m_type, parameters);
        return writer.Add(m_type, {operands.front().node}, parameters);
    }

private:
    std::string m_type;
    std::string m_initialState;
    size_t m_timeStep;
    std::string m_target;
};

void RequireAxis(const OperandType& operand, const std::string& operation)
{
    if (operand.value->axis.empty())
        Fail(ErrorKind::Model, operation, " takes ", operand.Describe(),
             ", which has no dynamic axis; expected a node with sequences");
}

void RequireNumber(const OperandType& operand, const std::string& operation)
{
    if (ElementsOf(operand.GetShape()) != 1)
        Fail(ErrorKind::Model, "the condition of ", operation, " is ", operand.Describe(),
             "; expected one number a step, of the shape () or (1,)");
}

class ReconcileOperation final : public Operation
{
public:
    std::string TypeName() const override { return "ReconcileDynamicAxis"; }
    bool TakesSeveralAxes() const override { return true; }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        for (const OperandType& operand : operands)
            RequireAxis(operand, "reconcile_dynamic_axis");
        return operands.front().GetShape();
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        return writer.Add("ReconcileDynamicAxis", {operands[0].node, operands[1].node});
    }
};

// One of the operations that C.sequence has.
struct SequenceRow
{
    const char* name;
    size_t operands;
    bool hasCondition;   // the last operand
    bool isNumber;       // shape ()
    const char* newAxis; // "": the axis of an operand
    ComputationNodePtr (*lower)(NetworkWriter& writer, std::span<const LoweredOperand> operands);
};

using Operands = std::span<const LoweredOperand>;
using End = NetworkWriter::End;

ComputationNodePtr Gather(NetworkWriter& writer, const ComputationNodePtr& positions, const ComputationNodePtr& x)
{
    return writer.Add("GatherPacked", {writer.Add("PackedIndex", {x, positions}), x});
}

ComputationNodePtr AtEnd(NetworkWriter& writer, const ComputationNodePtr& x, End end)
{
    return Gather(writer, writer.Where(writer.Mark(x, end)), x);
}

// Adds the steps of x into its last step's layout.
ComputationNodePtr SumOverSteps(NetworkWriter& writer, const ComputationNodePtr& x, const ComputationNodePtr& last)
{
    return writer.Add("ScatterPacked", {last, writer.Add("PackedIndex", {last, writer.Zeros(x)}), x});
}

ComputationNodePtr MeanOverSteps(NetworkWriter& writer, const ComputationNodePtr& x)
{
    const ComputationNodePtr last = writer.Where(writer.Mark(x, End::Last));
    const ComputationNodePtr ones = writer.Add("Plus", {writer.Zeros(x), writer.Number(1)});
    const ComputationNodePtr count = writer.Add("Reciprocal", {SumOverSteps(writer, ones, last)});
    return writer.Add("ElementTimes", {SumOverSteps(writer, x, last), count});
}

const std::vector<SequenceRow>& SequenceRows()
{
    static const std::vector<SequenceRow> c_rows = {
        {"is_first", 1, false, true, "",
         [](NetworkWriter& w, Operands x) { return w.Add("Pass", {w.Mark(x[0].node, End::First)}); }},
        {"is_last", 1, false, true, "",
         [](NetworkWriter& w, Operands x) { return w.Add("Pass", {w.Mark(x[0].node, End::Last)}); }},
        {"first", 1, false, false, "#", [](NetworkWriter& w, Operands x) { return AtEnd(w, x[0].node, End::First); }},
        {"last", 1, false, false, "#", [](NetworkWriter& w, Operands x) { return AtEnd(w, x[0].node, End::Last); }},
        {"where", 1, true, true, "where",
         [](NetworkWriter& w, Operands x) { return w.Add("Pass", {w.Where(x[0].node)}); }},
        {"gather", 2, true, false, "where",
         [](NetworkWriter& w, Operands x) { return Gather(w, w.Where(x[1].node), x[0].node); }},
        {"scatter", 2, true, false, "",
         [](NetworkWriter& w, Operands x)
         {
             const ComputationNodePtr index = w.Add("PackedIndex", {x[1].node, w.Where(x[1].node)});
             return w.Add("ScatterPacked", {x[1].node, w.Add("ReconcileDynamicAxis", {index, x[0].node}), x[0].node});
         }},
        {"broadcast_as", 2, false, false, "",
         [](NetworkWriter& w, Operands x) { return Gather(w, w.Zeros(x[1].node), x[0].node); }},
        {"reduce_sum", 1, false, false, "#",
         [](NetworkWriter& w, Operands x)
         { return SumOverSteps(w, x[0].node, w.Where(w.Mark(x[0].node, End::Last))); }},
        {"reduce_mean", 1, false, false, "#", [](NetworkWriter& w, Operands x) { return MeanOverSteps(w, x[0].node); }},
    };
    return c_rows;
}

class SequenceRowOperation final : public Operation
{
public:
    explicit SequenceRowOperation(const SequenceRow& row) : m_row(row) {}

    std::string TypeName() const override { return std::string("sequence.") + m_row.name; }
    bool TakesSeveralAxes() const override { return m_row.operands > 1; }
    std::string NewAxis(const Node& node) const override
    {
        // Selections by one condition share their axis.
        return m_row.newAxis == c_batchAxis ? c_batchAxis : Concat(m_row.newAxis, node.inputs.back()->uid);
    }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        for (const OperandType& operand : operands)
            RequireAxis(operand, TypeName());
        if (m_row.hasCondition)
            RequireNumber(operands.back(), TypeName());
        return m_row.isNumber ? Shape{} : operands.front().GetShape();
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        return m_row.lower(writer, operands);
    }

private:
    const SequenceRow& m_row;
};

} // namespace

OperationPtr Delay(const std::string& type, double initialState, size_t timeStep, std::string target)
{
    return std::make_shared<DelayOperation>(type, initialState, timeStep, std::move(target));
}

OperationPtr Reconcile()
{
    return std::make_shared<ReconcileOperation>();
}

OperationPtr SequenceOperation(const std::string& name)
{
    for (const SequenceRow& row : SequenceRows())
        if (name == row.name)
            return std::make_shared<SequenceRowOperation>(row);
    Fail(ErrorKind::Internal, "there is no sequence operation '", name, "'");
}

} // namespace cntk::Api
