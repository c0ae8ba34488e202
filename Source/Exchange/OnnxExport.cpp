#include "Exchange/OnnxExport.h"

#include "Common/Error.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "ComputationNetwork/Plan/RecurrentLoops.h"

#include <algorithm>
#include <unordered_set>

namespace cntk
{

namespace
{

using NodeSet = std::unordered_set<const ComputationNode*>;

// Inputs whose values the exported node reads.
std::vector<ComputationNodePtr> ReadInputs(const ComputationNode& node)
{
    if (!node.ReadsInputs())
        return {};
    if (node.TypeName() == "ReconcileDynamicAxis") // takes only the layout of the second one
        return {node.Input(0)};
    return node.Inputs();
}

NodeSet ReadBelow(const std::vector<ComputationNodePtr>& roots)
{
    NodeSet read;
    std::vector<ComputationNodePtr> open = roots;
    while (!open.empty())
    {
        const ComputationNodePtr node = open.back();
        open.pop_back();
        if (read.insert(node.get()).second)
            for (const ComputationNodePtr& input : ReadInputs(*node))
                open.push_back(input);
    }
    return read;
}

// True if the value reads other time steps, so that the dynamic axes are [T, S].
bool ReadsTime(const ComputationNode& node)
{
    if (As<DelayNode>(&node) != nullptr || node.TypeName() == "LSTM" || node.TypeName() == "TimeReverse" ||
        node.TypeName() == "Attention")
        return true;
    return node.TypeName() == "LegacyReshape" && node.GetMBLayout() != node.Input(0)->GetMBLayout();
}

class NetworkToOnnx
{
public:
    NetworkToOnnx(ComputationNetwork& network, const OnnxExportOptions& options)
        : m_network(network), m_options(options)
    {
        const NodeSet read = ReadBelow(options.outputs);
        for (std::vector<ComputationNodePtr>& component : ComponentsBelow(options.outputs))
            if (read.contains(component.front().get()))
                m_components.push_back(std::move(component));
        FindData();
        for (const std::vector<ComputationNodePtr>& component : m_components)
            for (const ComputationNodePtr& node : component)
                m_isSequential = m_isSequential || (m_data.contains(node.get()) && ReadsTime(*node));
    }

    OnnxResult Run()
    {
        OnnxConversion conversion(m_options, m_network.GetDataType(), m_isSequential, Names());
        m_conversion = &conversion;
        ComputeStatic();
        for (const std::vector<ComputationNodePtr>& component : m_components)
            if (m_data.contains(component.front().get()))
                Convert(component);
        ReportRefusals();
        for (const ComputationNodePtr& output : m_options.outputs)
            AddOutput(*output);
        OnnxResult result;
        result.model.graph = std::move(conversion.Builder().Main());
        result.warnings = Warnings(result.model.graph);
        for (const OnnxTensor& tensor : result.model.graph.initializers)
            if (!tensor.owned)
            {
                result.parameters++;
                result.numbers += size_t(ElementsOf(tensor.dims));
            }
        return result;
    }

private:
    // Components come inputs first.
    void FindData()
    {
        for (const std::vector<ComputationNodePtr>& component : m_components)
        {
            const auto isData = [&](const ComputationNodePtr& node)
            {
                const std::vector<ComputationNodePtr> inputs = ReadInputs(*node);
                return As<InputValueNode>(node.get()) != nullptr || node->Type().traits.kind == NodeKind::DynamicAxis ||
                       std::any_of(inputs.begin(), inputs.end(),
                                   [&](const ComputationNodePtr& input) { return m_data.contains(input.get()); });
            };
            if (std::any_of(component.begin(), component.end(), isData))
                for (const ComputationNodePtr& node : component)
                    m_data.insert(node.get());
            for (const ComputationNodePtr& node : component)
                for (const ComputationNodePtr& input : ReadInputs(*node))
                    if (std::find(component.begin(), component.end(), input) == component.end())
                        m_isReadOutside.insert(input.get());
        }
        for (const ComputationNodePtr& output : m_options.outputs)
            m_isReadOutside.insert(output.get());
    }

    std::vector<std::string> Names() const
    {
        std::vector<std::string> names;
        for (const std::vector<ComputationNodePtr>& component : m_components)
            for (const ComputationNodePtr& node : component)
                names.push_back(node->Name());
        return names;
    }

    bool IsOutput(const ComputationNode& node) const
    {
        return std::any_of(m_options.outputs.begin(), m_options.outputs.end(),
                           [&](const ComputationNodePtr& output) { return output.get() == &node; });
    }

    // Computes the values that depend on parameters alone, as far as data or the outputs need them.
    void ComputeStatic()
    {
        NodeSet readByData;
        for (const std::vector<ComputationNodePtr>& component : m_components)
            for (const ComputationNodePtr& node : component)
                if (m_data.contains(node.get()))
                    for (const ComputationNodePtr& input : ReadInputs(*node))
                        readByData.insert(input.get());
        std::vector<ComputationNodePtr> roots;
        for (const std::vector<ComputationNodePtr>& component : m_components)
            for (const ComputationNodePtr& node : component)
            {
                if (m_data.contains(node.get()))
                    continue;
                if (StoredValues(*node) != nullptr)
                    m_conversion->SetStatic(*node);
                else if (readByData.contains(node.get()) || IsOutput(*node))
                    roots.push_back(node);
            }
        if (roots.empty())
            return;
        Evaluator evaluator(m_network, roots, {});
        evaluator.Forward();
        for (const ComputationNodePtr& root : roots)
        {
            Matrix values(root->ValueRows(), root->ValueColumns(), m_network.GetDataType(), m_network.GetDevice());
            values.CopyFrom(root->Value());
            m_conversion->SetStatic(*root, values.ToHost());
            if (!IsOutput(*root))
                continue;
            // The output has the node's name, so the initializer gets another one.
            m_conversion->Builder().SetNode(root->Name());
            m_conversion->SetValue(*root,
                                   m_conversion->Builder().Array(OnnxDimsOf(root->SampleLayout()), values.ToHost()));
        }
    }

    void Convert(const std::vector<ComputationNodePtr>& component)
    {
        try
        {
            if (IsLoop(component))
                return ConvertLoop(component);
            const ComputationNode& node = *component.front();
            if (const auto* const input = As<InputValueNode>(&node))
                return AddInput(*input);
            if (m_options.stateInputs && ReadsAhead(node))
                Fail(ErrorKind::Model, StateRefusalOf(node));
            m_conversion->SetValue(node, ConvertNode(*m_conversion, node));
        }
        catch (const Error& error)
        {
            if (error.Kind() != ErrorKind::Model)
                throw;
            // The search for refusals goes on with values that nobody will use.
            m_refusals.push_back(error.Message());
            SetUnusedValues(component);
            m_conversion->EndBody();
        }
    }

    void ConvertLoop(const std::vector<ComputationNodePtr>& loop)
    {
        const size_t known = m_refusals.size();
        for (const ComputationNodePtr& node : loop)
            if (const OnnxRow* const row = FindOnnxRow(node->TypeName()); row == nullptr || row->isRefused)
                m_refusals.push_back(RefusalOf(*node));
            else if (m_options.stateInputs && ReadsAhead(*node))
                m_refusals.push_back(StateRefusalOf(*node));
        if (m_refusals.size() == known)
            return cntk::ConvertLoop(*m_conversion, loop,
                                     [&](const ComputationNode& node) { return m_isReadOutside.contains(&node); });
        SetUnusedValues(loop);
    }

    void SetUnusedValues(const std::vector<ComputationNodePtr>& component)
    {
        for (const ComputationNodePtr& node : component)
            m_conversion->SetValue(*node, {node->Name(), OnnxDimsOf(node->SampleLayout()), true});
    }

    static std::string StateRefusalOf(const ComputationNode& node)
    {
        return RefusalText(node, "looks ahead or changes the steps of sequences", "export without stateInputs=true");
    }

    static bool ReadsAhead(const ComputationNode& node)
    {
        const auto* const delay = As<DelayNode>(&node);
        return delay != nullptr ? delay->Direction() < 0 : node.TypeName() != "LSTM" && ReadsTime(node);
    }

    void ReportRefusals() const
    {
        if (m_refusals.empty())
            return;
        Error error(ErrorKind::Model, m_refusals.back());
        for (size_t i = 0; i + 1 < m_refusals.size(); ++i)
            error.AddNote(m_refusals[i]);
        throw error;
    }

    void AddInput(const InputValueNode& input)
    {
        m_conversion->NameLayout(input.GetMBLayout(), input.DynamicAxis());
        const OnnxValue value{input.Name(), OnnxDimsOf(input.SampleLayout()), true};
        const bool isWord = std::any_of(m_options.wordInputs.begin(), m_options.wordInputs.end(),
                                        [&](const ComputationNodePtr& word) { return word.get() == &input; });
        if (!isWord)
        {
            m_conversion->AddInput(input.Name(), m_conversion->Builder().Type(),
                                   m_conversion->DimsOf(value, input.GetMBLayout()));
            return m_conversion->SetValue(input, value);
        }
        const size_t vocabulary = VocabularyOf(input);
        const size_t count = input.SampleElements() / vocabulary;
        const OnnxValue words{input.Name(), count > 1 ? OnnxDims{int64_t(count)} : OnnxDims{}, true};
        m_conversion->AddInput(input.Name(), OnnxType::Int64, m_conversion->DimsOf(words, input.GetMBLayout()));
        m_conversion->SetWords(input, count, vocabulary);
    }

    // The number of words: that of a LookupTable above the input, which may read several words of a sample.
    size_t VocabularyOf(const InputValueNode& input) const
    {
        for (const std::vector<ComputationNodePtr>& component : m_components)
            for (const ComputationNodePtr& node : component)
                if (node->TypeName() == "LookupTable" && node->Input(1).get() == &input)
                    return node->Input(0)->SampleLayout().MatrixColumns();
        return input.SampleElements();
    }

    void AddOutput(const ComputationNode& node)
    {
        OnnxBuilder& builder = m_conversion->Builder();
        builder.SetNode(node.Name());
        const OnnxValue value = m_conversion->ValueOf(node);
        std::string name = node.Name();
        if (value.name != name || !m_data.contains(&node) || As<InputValueNode>(&node) != nullptr)
        {
            if (value.name == name)
                name = builder.Reserve(name + ".out");
            builder.Append(OnnxOperator{"Identity", {value.name}, {name}, {}});
        }
        m_conversion->AddOutput(name, builder.Type(), OutputDims(value, node, name));
    }

    std::vector<OnnxDim> OutputDims(OnnxValue value, const ComputationNode& node, const std::string& name) const
    {
        value.name = name;
        return m_conversion->DimsOf(value, node.GetMBLayout());
    }

    std::vector<std::string> Warnings(const OnnxGraph& graph) const
    {
        if (m_network.GetDataType() == DataType::Float32)
            return {};
        std::vector<std::string> used;
        for (const char* op : {"AveragePool", "Conv", "Cos", "Hardmax", "LSTM"})
            if (Uses(graph, op))
                used.emplace_back(op);
        if (used.empty())
            return {};
        return {Concat("onnxruntime 1.20 does not compute ", Join(used, ", "),
                       " in double precision; give precision=float for it")};
    }

    static bool Uses(const OnnxGraph& graph, std::string_view type)
    {
        return std::any_of(graph.operators.begin(), graph.operators.end(),
                           [&](const OnnxOperator& op)
                           {
                               if (op.type == type)
                                   return true;
                               for (const OnnxAttribute& attribute : op.attributes)
                                   if (const auto* body = std::get_if<std::shared_ptr<OnnxGraph>>(&attribute.value);
                                       body != nullptr && Uses(**body, type))
                                       return true;
                               return false;
                           });
    }

    ComputationNetwork& m_network;
    OnnxExportOptions m_options;
    std::vector<std::vector<ComputationNodePtr>> m_components;
    NodeSet m_data;          // depends on data
    NodeSet m_isReadOutside; // of its component
    bool m_isSequential = false;
    OnnxConversion* m_conversion = nullptr;
    std::vector<std::string> m_refusals;
};

} // namespace

OnnxResult ConvertToOnnx(ComputationNetwork& network, const OnnxExportOptions& options)
{
    return NetworkToOnnx(network, options).Run();
}

std::string OnnxFormOf(std::string_view type)
{
    const OnnxRow* const row = FindOnnxRow(type);
    if (row == nullptr)
        return {};
    return row->isRefused ? Concat("refused: ", row->form) : std::string(row->form);
}

} // namespace cntk
