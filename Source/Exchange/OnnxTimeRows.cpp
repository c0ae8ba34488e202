// ONNX forms of nodes that read other time steps, outside of loops: delays, LSTM, TimeReverse.
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "ComputationNetwork/Plan/RecurrentLoops.h"
#include "Exchange/OnnxConversion.h"

#include <algorithm>
#include <limits>
#include <map>

namespace cntk
{

namespace
{

constexpr int64_t c_toTheEnd = std::numeric_limits<int64_t>::max();

std::string SliceSteps(OnnxBuilder& builder, const std::string& value, int64_t first, int64_t end)
{
    return builder.Append("Slice", {value, builder.Integers({first}), builder.Integers({end}), builder.Integers({0})},
                          {});
}

// The number repeated over [steps, S, dims].
std::string RepeatedNumber(OnnxConversion& conversion, double number, int64_t steps, const OnnxValue& like)
{
    OnnxBuilder& builder = conversion.Builder();
    const std::string shape =
        builder.JoinShapes({builder.Integers({steps}), conversion.Sequences(like), builder.Integers(like.dims)});
    return builder.Append("Expand", {builder.Number(number).name, shape}, {});
}

std::vector<OnnxDim> DimsOfState(const OnnxConversion& conversion, int64_t steps, const OnnxDims& dims)
{
    std::vector<OnnxDim> all = {{steps}, conversion.BatchDim()};
    for (const int64_t dim : dims)
        all.push_back({dim});
    return all;
}

void AddStateOutput(OnnxConversion& conversion, const std::string& name, const std::string& value, int64_t steps,
                    const OnnxDims& dims)
{
    OnnxBuilder& builder = conversion.Builder();
    const std::string unique = builder.Reserve(name);
    builder.Append(OnnxOperator{"Identity", {value}, {unique}, {}});
    conversion.AddOutput(unique, builder.Type(), DimsOfState(conversion, steps, dims));
}

std::string AddStateInput(OnnxConversion& conversion, const std::string& name, int64_t steps, const OnnxDims& dims)
{
    const std::string unique = conversion.Builder().Reserve(name);
    conversion.AddInput(unique, conversion.Builder().Type(), DimsOfState(conversion, steps, dims));
    return unique;
}

OnnxValue ConvertDelay(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    const DelayNode& delay = *As<DelayNode>(&node);
    const auto steps = int64_t(delay.TimeStep());
    OnnxValue x = conversion.Input(node, 0);
    const auto join = [&](const std::string& first, const std::string& second) {
        return builder.Append("Concat", {first, second}, {{"axis", int64_t(0)}});
    };
    if (delay.Direction() < 0)
    {
        const OnnxValue mask = conversion.Mask(node.GetMBLayout(), x);
        x = builder.Select(builder.PaddedTo(mask, x.dims.size()), x, builder.Number(delay.InitialValue()));
        const std::string all = join(x.name, RepeatedNumber(conversion, delay.InitialValue(), steps, x));
        return {SliceSteps(builder, all, steps, c_toTheEnd), x.dims, true};
    }
    const bool hasState = conversion.Options().stateInputs;
    const std::string before = hasState ? AddStateInput(conversion, node.Name() + ".state", steps, x.dims)
                                        : RepeatedNumber(conversion, delay.InitialValue(), steps, x);
    const std::string all = join(before, x.name);
    if (hasState)
        AddStateOutput(conversion, node.Name() + ".state.next", SliceSteps(builder, all, -steps, c_toTheEnd), steps,
                       x.dims);
    return {SliceSteps(builder, all, 0, -steps), x.dims, true};
}

OnnxValue ConvertTimeReverse(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    const OnnxValue x = conversion.Input(node, 0);
    const OnnxValue mask = conversion.Mask(node.GetMBLayout(), x);
    const OnnxValue reversed{builder.Append("ReverseSequence", {x.name, conversion.Lengths(node.GetMBLayout())},
                                            {{"time_axis", int64_t(0)}, {"batch_axis", int64_t(1)}}),
                             x.dims, true};
    return builder.Select(builder.PaddedTo(mask, x.dims.size()), reversed, builder.Number(0));
}

// ---- Attention ----

// All steps of an input, with 0 after the ends of sequences, as a value of the main graph.
OnnxValue WholeInput(OnnxConversion& conversion, const ComputationNode& node, size_t index)
{
    OnnxBuilder& builder = conversion.Builder();
    const OnnxValue value = builder.Flat(conversion.Input(node, index));
    const OnnxValue mask = conversion.Mask(node.Input(index)->GetMBLayout(), value);
    return builder.Select(builder.PaddedTo(mask, 1), value, builder.Number(0));
}

// The mean of all memories of a sequence, by weights softmax(key . query). Steps of the memory are one more axis,
// before the sequences: [T, steps, S, rows], or [steps, S, rows] in a loop.
OnnxValue ConvertAttention(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    constexpr double c_least = -1e30; // of scores after the end of a sequence
    OnnxBuilder& builder = conversion.Builder();
    OnnxValue memory, keys, mask;
    conversion.InMainGraph(
        [&]
        {
            memory = WholeInput(conversion, node, 0);
            keys = WholeInput(conversion, node, 1);
            mask = conversion.Mask(node.Input(1)->GetMBLayout(), keys);
        });
    std::string query = builder.Flat(conversion.Input(node, 2)).name;
    const auto stepAxis = int64_t(builder.DynamicAxes()) - 1;
    if (stepAxis > 0)
        query = builder.Append("Unsqueeze", {query, builder.Integers({stepAxis})}, {});
    const auto sum = [&](const std::string& value, int64_t axis) {
        return builder.Append("ReduceSum", {value, builder.Integers({axis})}, {{"keepdims", int64_t(0)}});
    };
    const std::string scores = sum(builder.Append("Mul", {query, keys.name}, {}), -1);
    const std::string masked = builder.Append("Where", {mask.name, scores, builder.Number(c_least).name}, {});
    const std::string weights = builder.Append("Softmax", {masked}, {{"axis", stepAxis}});
    const std::string columns = builder.Append("Unsqueeze", {weights, builder.Integers({-1})}, {});
    return {sum(builder.Append("Mul", {columns, memory.name}, {}), stepAxis), memory.dims, true};
}

// ---- LSTM ----

// The parts of the node's weights, one matrix [bias, of x, of h, of the cell] for each gate, as the operator has them.
struct LstmWeights
{
    int64_t cells = 0;
    int64_t inputs = 0;
    std::vector<double> ofInput, ofOutput, biases, peepholes;
};

LstmWeights WeightsOf(const OnnxConversion& conversion, const ComputationNode& node, int64_t inputs)
{
    constexpr size_t c_gates[] = {1, 3, 2, 4}; // the operator's order i, o, f, c among the node's i, f, o, c
    LstmWeights weights;
    weights.cells = int64_t(node.SampleElements());
    weights.inputs = inputs;
    const auto cells = size_t(weights.cells);
    for (const size_t gate : c_gates)
    {
        const std::vector<double> matrix = conversion.StaticValues(*node.Input(gate));
        const auto at = [&](size_t row, size_t column) { return matrix[row + column * cells]; };
        for (size_t row = 0; row < cells; ++row)
        {
            weights.biases.push_back(at(row, 0));
            for (size_t column = 0; column < size_t(inputs); ++column)
                weights.ofInput.push_back(at(row, 1 + column));
            for (size_t column = 0; column < cells; ++column)
                weights.ofOutput.push_back(at(row, 1 + size_t(inputs) + column));
            if (gate != c_gates[3])
                weights.peepholes.push_back(at(row, 1 + size_t(inputs) + cells));
        }
    }
    weights.biases.resize(2 * weights.biases.size(), 0.0); // the operator has a second vector of biases
    return weights;
}

double DefaultStateOf(const ComputationNode& lstm)
{
    double state = 0;
    ReadFields(lstm,
               [&](ModelArchive& archive)
               {
                   uint64_t inputs = 0, outputs = 0;
                   archive.Field(inputs);
                   archive.Field(outputs);
                   archive.ElementField(state);
               });
    return state;
}

OnnxValue ConvertLstm(OnnxConversion& conversion, const ComputationNode& node, const OnnxRow&)
{
    OnnxBuilder& builder = conversion.Builder();
    const OnnxValue x = builder.Flat(conversion.Input(node, 0));
    const LstmWeights weights = WeightsOf(conversion, node, x.dims[0]);
    const int64_t cells = weights.cells;
    const OnnxValue likeState{x.name, {cells}, true};
    const bool hasState = conversion.Options().stateInputs;
    const auto initial = [&](const char* ending, double number)
    {
        return hasState ? AddStateInput(conversion, node.Name() + ending, 1, {cells})
                        : RepeatedNumber(conversion, number, 1, likeState);
    };
    OnnxOperator lstm{"LSTM",
                      {x.name, builder.Array({1, 4 * cells, weights.inputs}, weights.ofInput).name,
                       builder.Array({1, 4 * cells, cells}, weights.ofOutput).name,
                       builder.Array({1, 8 * cells}, weights.biases).name, "", initial(".state.h", 0),
                       initial(".state.c", DefaultStateOf(node)),
                       builder.Array({1, 3 * cells}, weights.peepholes).name},
                      {builder.NewName()},
                      {{"hidden_size", cells}}};
    const std::string all = lstm.outputs[0];
    if (hasState)
    {
        lstm.outputs.push_back(builder.NewName());
        lstm.outputs.push_back(builder.NewName());
    }
    const std::vector<std::string> outputs = lstm.outputs;
    builder.Append(std::move(lstm));
    if (hasState)
    {
        AddStateOutput(conversion, node.Name() + ".state.h.next", outputs[1], 1, {cells});
        AddStateOutput(conversion, node.Name() + ".state.c.next", outputs[2], 1, {cells});
    }
    return {builder.Append("Squeeze", {all, builder.Integers({1})}, {}), {cells}, true};
}

constexpr OnnxRow c_timeRows[] = {
    {"PastValue", "Concat, Slice; in loops Scan", ConvertDelay},
    {"FutureValue", "Where, Concat, Slice; in loops Scan", ConvertDelay},
    {"TimeReverse", "ReverseSequence, Where", ConvertTimeReverse},
    {"LSTM", "LSTM", ConvertLstm},
    {"Attention", "Mul, ReduceSum, Softmax", ConvertAttention},
};

} // namespace

std::span<const OnnxRow> OnnxTimeRows()
{
    return c_timeRows;
}

// ---- loops ----

namespace
{

// A loop as one Scan: its delays are state, values from outside with time are scanned, static ones are captured.
class LoopConversion
{
public:
    LoopConversion(OnnxConversion& conversion, std::vector<ComputationNodePtr> order)
        : m_conversion(conversion), m_builder(conversion.Builder()), m_order(std::move(order))
    {
        m_body.scan = [this](const OnnxValue& outside) { return Scanned(outside, m_builder.Type()); };
        m_graph->name = m_order.back()->Name() + ".loop";
    }

    void Run(const std::function<bool(const ComputationNode&)>& isNeeded)
    {
        const OnnxValue like = ValueWithTime();
        for (const ComputationNodePtr& node : m_order)
            if (const auto* const delay = As<DelayNode>(node.get()))
                AddStates(*delay, like);
        m_looksAhead = m_delays.front().node->Direction() < 0;
        OnnxValue mask;
        if (m_looksAhead)
            mask = m_conversion.Mask(m_order.front()->GetMBLayout(), like);
        m_conversion.BeginBody(*m_graph, m_body);
        if (m_looksAhead)
            m_mask = Scanned(mask, OnnxType::Bool);
        for (const ComputationNodePtr& node : m_order)
            if (As<DelayNode>(node.get()) == nullptr)
                m_body.values[node.get()] = ConvertNode(m_conversion, *node);
        for (const LoopDelay& delay : m_delays)
            AddNextStates(delay);
        for (const ComputationNodePtr& node : m_order)
            if (isNeeded(*node))
                AddOutput(*node);
        m_conversion.EndBody();
        AddScan();
    }

private:
    struct LoopDelay
    {
        const DelayNode* node = nullptr;
        std::vector<OnnxValue> states; // of the steps 1, 2, ... before, in the body
        std::vector<std::string> finals;
        OnnxDims dims;
    };

    // A value from outside, whose shape gives the numbers of steps and sequences.
    OnnxValue ValueWithTime()
    {
        const auto isInLoop = [&](const ComputationNodePtr& node)
        { return std::find(m_order.begin(), m_order.end(), node) != m_order.end(); };
        for (const ComputationNodePtr& node : m_order)
            for (const ComputationNodePtr& input : node->Inputs())
                if (!isInLoop(input) && !m_conversion.IsStatic(*input) &&
                    input->GetMBLayout() == m_order.front()->GetMBLayout())
                    return m_conversion.ValueOf(*input);
        RefuseOnnx(*m_order.front(), "stands in a loop that reads no data", "export nodes outside of it");
    }

    OnnxValue Scanned(const OnnxValue& outside, OnnxType type)
    {
        const auto known = m_scanned.find(outside.name);
        if (known != m_scanned.end())
            return known->second;
        const OnnxValue inside{m_builder.NewName(), outside.dims, true};
        m_scanInputs.push_back(outside.name);
        m_scanInfos.push_back(InfoOf(inside, type));
        m_scanned[outside.name] = inside;
        return inside;
    }

    OnnxValueInfo InfoOf(const OnnxValue& value, OnnxType type) const
    {
        std::vector<OnnxDim> dims = {m_conversion.BatchDim()};
        for (const int64_t dim : value.dims)
            dims.push_back({dim});
        return {value.name, type, std::move(dims)};
    }

    void AddStates(const DelayNode& node, const OnnxValue& like)
    {
        m_builder.SetNode(node.Name());
        LoopDelay delay{&node, {}, {}, OnnxDimsOf(node.SampleLayout())};
        const auto steps = int64_t(node.TimeStep());
        std::string all, repeated;
        if (m_conversion.Options().stateInputs)
            all = AddStateInput(m_conversion, node.Name() + ".state", steps, delay.dims);
        else
            repeated =
                m_builder.Append("Expand",
                                 {m_builder.Number(node.InitialValue()).name,
                                  m_builder.JoinShapes({m_conversion.Sequences(like), m_builder.Integers(delay.dims)})},
                                 {});
        for (int64_t step = 1; step <= steps; ++step)
        {
            // The oldest step comes first in the state input.
            m_initials.push_back(all.empty() ? repeated
                                             : m_builder.Append("Gather", {all, m_builder.Integer(steps - step)},
                                                                {{"axis", int64_t(0)}}));
            delay.states.push_back({m_builder.NewName(), delay.dims, true});
            delay.finals.push_back(m_builder.NewName());
            m_graph->inputs.push_back(InfoOf(delay.states.back(), m_builder.Type()));
        }
        m_body.values[&node] = delay.states.back();
        m_delays.push_back(std::move(delay));
    }

    void AddBodyOutput(const OnnxValue& value)
    {
        const OnnxValue output{m_builder.Append("Identity", {value.name}, {}), value.dims, true};
        m_graph->outputs.push_back(InfoOf(output, m_builder.Type()));
    }

    void AddNextStates(const LoopDelay& delay)
    {
        m_builder.SetNode(delay.node->Name());
        OnnxValue next = m_builder.Reshaped(m_conversion.Input(*delay.node, 0), delay.dims);
        if (m_looksAhead)
            next = m_builder.Select(m_builder.PaddedTo(m_mask, delay.dims.size()), next,
                                    m_builder.Number(delay.node->InitialValue()));
        AddBodyOutput(next);
        for (size_t step = 0; step + 1 < delay.states.size(); ++step)
            AddBodyOutput(delay.states[step]);
    }

    void AddOutput(const ComputationNode& node)
    {
        m_builder.SetNode(node.Name());
        const OnnxValue value = m_body.values.at(&node);
        AddBodyOutput(value);
        m_outputs.push_back(node.Name());
        m_conversion.SetValue(node, {node.Name(), value.dims, true});
    }

    void AddScan()
    {
        m_builder.SetNode(m_order.back()->Name());
        m_graph->inputs.insert(m_graph->inputs.end(), m_scanInfos.begin(), m_scanInfos.end());
        OnnxOperator scan{"Scan", m_initials, {}, {}};
        scan.inputs.insert(scan.inputs.end(), m_scanInputs.begin(), m_scanInputs.end());
        for (const LoopDelay& delay : m_delays)
            scan.outputs.insert(scan.outputs.end(), delay.finals.begin(), delay.finals.end());
        scan.outputs.insert(scan.outputs.end(), m_outputs.begin(), m_outputs.end());
        scan.attributes = {{"body", m_graph}, {"num_scan_inputs", int64_t(m_scanInputs.size())}};
        if (m_looksAhead)
        {
            scan.attributes.push_back({"scan_input_directions", std::vector<int64_t>(m_scanInputs.size(), 1)});
            scan.attributes.push_back({"scan_output_directions", std::vector<int64_t>(m_outputs.size(), 1)});
        }
        m_builder.Append(std::move(scan));
        if (m_conversion.Options().stateInputs)
            for (const LoopDelay& delay : m_delays)
                AddStateOutput(delay);
    }

    void AddStateOutput(const LoopDelay& delay)
    {
        m_builder.SetNode(delay.node->Name());
        std::vector<std::string> steps;
        for (size_t step = delay.finals.size(); step-- > 0;)
            steps.push_back(m_builder.Append("Unsqueeze", {delay.finals[step], m_builder.Integers({0})}, {}));
        cntk::AddStateOutput(m_conversion, delay.node->Name() + ".state.next",
                             m_builder.Append("Concat", steps, {{"axis", int64_t(0)}}), int64_t(steps.size()),
                             delay.dims);
    }

    OnnxConversion& m_conversion;
    OnnxBuilder& m_builder;
    std::vector<ComputationNodePtr> m_order;
    std::shared_ptr<OnnxGraph> m_graph = std::make_shared<OnnxGraph>();
    OnnxConversion::Body m_body;
    bool m_looksAhead = false;
    OnnxValue m_mask;
    std::vector<LoopDelay> m_delays;
    std::vector<std::string> m_initials;   // of all states, outside
    std::vector<std::string> m_scanInputs; // outside
    std::vector<OnnxValueInfo> m_scanInfos;
    std::map<std::string, OnnxValue> m_scanned;
    std::vector<std::string> m_outputs;
};

} // namespace

void ConvertLoop(OnnxConversion& conversion, const std::vector<ComputationNodePtr>& loop,
                 const std::function<bool(const ComputationNode&)>& isNeeded)
{
    LoopConversion(conversion, OrderOfOneStep(loop)).Run(isNeeded);
}

} // namespace cntk
