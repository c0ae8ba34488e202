// Saving, loading and copying graphs.
#include "Api/Model.h"

#include "Api/Lowering.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace cntk::Api
{

// ---- saving ----

namespace
{

struct TagRow
{
    const char* tag;
    NodeGroup group;
};
constexpr TagRow c_tags[] = {{"feature", NodeGroup::Feature},
                             {"label", NodeGroup::Label},
                             {"criterion", NodeGroup::Criterion},
                             {"eval", NodeGroup::Evaluation},
                             {"output", NodeGroup::Output}};

// Inputs below the targets of criteria and not below their outputs.
std::unordered_set<const Node*> LabelsOf(const std::vector<NodePtr>& nodes)
{
    std::unordered_set<const Node*> labels;
    for (const NodePtr& node : nodes)
    {
        const std::string type = node->TypeName();
        if (type != "CrossEntropyWithSoftmax" && type != "SquareError" && type != "ErrorPrediction")
            continue;
        if (node->inputs.size() < 2)
            continue;
        for (const NodePtr& below : Below({node->inputs[1]}))
            labels.insert(below.get());
        for (const NodePtr& below : Below({node->inputs[0]}))
            labels.erase(below.get());
    }
    return labels;
}

} // namespace

void SetGroups(const LoweredNetwork& lowered, const std::vector<NodePtr>& roots)
{
    ComputationNetwork& network = lowered.Network();
    const std::unordered_set<const Node*> labels = LabelsOf(lowered.Nodes());
    for (const NodePtr& node : lowered.Nodes())
    {
        for (const TagRow& row : c_tags)
            if (node->Tag() == row.tag)
                network.AddToGroup(row.group, lowered.At(*node));
        if (node->role == Node::Role::Input && node->Tag().empty())
            network.AddToGroup(labels.contains(node.get()) ? NodeGroup::Label : NodeGroup::Feature, lowered.At(*node));
    }
    for (const NodePtr& root : roots)
        if (const NodePtr node = Resolved(root); node->Tag().empty())
            network.AddToGroup(NodeGroup::Output, lowered.At(*node));
}

std::vector<std::string> Save(Context& context, const std::vector<NodePtr>& roots, const std::string& path)
{
    const LoweredNetwork lowered(context, roots, Naming::ForFiles);
    SetGroups(lowered, roots);
    SaveModel(lowered.Network(), path);
    return lowered.ChangedNames();
}

// ---- loading ----

namespace
{

// A node of a model file: its type, and its fields as the file holds them.
class LoadedOperation final : public Operation
{
public:
    explicit LoadedOperation(ComputationNode& node)
        : m_type(node.Type()), m_elementType(node.GetDataType()), m_parameters(node.DescribeFields())
    {
        ByteWriter out(&m_bytes);
        ModelArchive archive(out);
        archive.SetElementType(m_elementType);
        node.SerializeFields(archive);
        m_version = archive.Version();
    }

    std::string TypeName() const override { return m_type.name; }
    std::vector<std::pair<std::string, std::string>> Attributes() const override
    {
        if (m_parameters.empty())
            return {};
        return {{"fields", m_parameters}};
    }
    bool IsDelay() const override { return m_type.traits.isDelay; }
    bool TakesSeveralAxes() const override { return true; }
    std::optional<Shape> InferShape(std::span<const OperandType> operands) const override
    {
        return IsDelay() ? std::optional(operands.front().GetShape()) : std::nullopt;
    }
    std::optional<Shape> GuessShape(std::span<const OperandType> operands) const override
    {
        // In loops the engine's own guess: element-wise nodes have the shape of their known operand.
        if (!m_type.traits.isElementwise)
            return std::nullopt;
        for (const OperandType& operand : operands)
            if (operand.value->shape && !operand.value->axis.empty())
                return operand.GetShape();
        return std::nullopt;
    }
    ComputationNodePtr Lower(NetworkWriter& writer, std::span<const LoweredOperand> operands) const override
    {
        std::vector<ComputationNodePtr> inputs;
        for (const LoweredOperand& operand : operands)
            inputs.push_back(operand.node);
        const ComputationNodePtr node = operands.empty() && IsDelay() ? writer.AddUnconnected(m_type.name, {})
                                                                      : writer.Add(m_type.name, std::move(inputs));
        ByteReader in(m_bytes, m_type.name, "fields of a node");
        ModelArchive archive(in, m_version, false, node->GetDataType(), node->GetDevice());
        archive.SetElementType(m_elementType);
        node->SerializeFields(archive);
        return node;
    }

private:
    const NodeType& m_type;
    DataType m_elementType;
    std::string m_parameters;
    std::string m_bytes;
    size_t m_version = 0;
};

class GraphLoader
{
public:
    GraphLoader(Context& context, ComputationNetwork& network, std::shared_ptr<Device> device)
        : m_context(context), m_network(network), m_device(std::move(device))
    {
    }

    std::vector<NodePtr> Run()
    {
        // Delays come first: loops go through them.
        const std::vector<ComputationNodePtr> order = ComputationNetwork::Below(m_network.Roots());
        for (const ComputationNodePtr& node : order)
            if (node->Type().traits.isDelay)
                MakeDelay(*node);
        for (const ComputationNodePtr& root : order)
            Make(root);
        for (const auto& [placeholder, target] : m_open)
        {
            placeholder->replacement = m_made.at(target);
            m_context.AddLoop(placeholder);
        }
        std::vector<NodePtr> roots;
        for (const ComputationNodePtr& root : m_network.Group(NodeGroup::Output))
            roots.push_back(m_made.at(root.get()));
        if (roots.empty())
            for (const ComputationNodePtr& root : m_network.Roots())
                roots.push_back(m_made.at(root.get()));
        if (!m_open.empty())
        {
            std::vector<NodePtr> all;
            for (const ComputationNodePtr& root : m_network.Roots())
                all.push_back(m_made.at(root.get()));
            LoweredNetwork(m_context, all); // determines the shapes in loops
        }
        return roots;
    }

private:
    void MakeDelay(ComputationNode& node)
    {
        NodePtr placeholder = MakePlaceholder(m_context, std::nullopt, c_noAxis, m_network.GetDataType(), "");
        m_open.emplace_back(placeholder, node.Input(0).get());
        Finish(node, MakeOperation(m_context, std::make_shared<LoadedOperation>(node), {placeholder}, node.Name()));
    }

    // Makes a node after its inputs, without recursion.
    void Make(const ComputationNodePtr& root)
    {
        std::vector<ComputationNodePtr> stack = {root};
        while (!stack.empty())
        {
            const ComputationNodePtr node = stack.back();
            if (m_made.contains(node.get()))
            {
                stack.pop_back();
                continue;
            }
            const size_t depth = stack.size();
            for (const ComputationNodePtr& input : node->Inputs())
                if (!m_made.contains(input.get()))
                    stack.push_back(input);
            if (stack.size() > depth)
                continue;
            Finish(*node, MakeOne(*node));
            stack.pop_back();
        }
    }

    NodePtr MakeOne(ComputationNode& node)
    {
        const DataType type = m_network.GetDataType();
        if (const auto* input = As<InputValueNode>(&node))
            return MakeInput(m_context, FromEngine(node.SampleLayout()),
                             input->DynamicAxis().empty() ? c_defaultAxis : input->DynamicAxis(), type,
                             input->IsSparseInput(), node.Name());
        if (const auto* axis = As<DynamicAxisNode>(&node))
            return MakeInput(m_context, {}, axis->Name(), type, false, node.Name());
        if (auto* parameter = As<LearnableParameterNode>(&node))
        {
            auto data =
                std::make_shared<ParameterData>(m_device, type, FromEngine(node.SampleLayout()), parameter->Storage());
            data->SetLearningRateMultiplier(parameter->LearningRateMultiplier());
            return parameter->IsTrainableLeaf() ? MakeParameter(m_context, std::move(data), node.Name())
                                                : MakeConstant(m_context, std::move(data), node.Name());
        }
        std::vector<NodePtr> inputs;
        for (const ComputationNodePtr& input : node.Inputs())
            inputs.push_back(m_made.at(input.get()));
        return MakeOperation(m_context, std::make_shared<LoadedOperation>(node), std::move(inputs), node.Name());
    }

    void Finish(ComputationNode& engine, NodePtr node)
    {
        for (const TagRow& row : c_tags)
            for (const ComputationNodePtr& member : m_network.Group(row.group))
                if (member.get() == &engine)
                    node->SetTag(row.tag);
        m_made[&engine] = std::move(node);
    }

    Context& m_context;
    ComputationNetwork& m_network;
    std::shared_ptr<Device> m_device;
    std::unordered_map<const ComputationNode*, NodePtr> m_made;
    std::vector<std::pair<NodePtr, const ComputationNode*>> m_open; // placeholders and what they stand for
};

} // namespace

std::vector<NodePtr> Load(Context& context, const std::string& path, DataType type)
{
    const std::shared_ptr<Device> device = context.CurrentDevice();
    const std::unique_ptr<ComputationNetwork> network = LoadModel(path, type, device);
    return GraphLoader(context, *network, device).Run();
}

// ---- copying ----

namespace
{

class GraphCopier
{
public:
    GraphCopier(Context& context, const std::unordered_map<const Node*, NodePtr>& substitutions, CopyMethod method)
        : m_context(context), m_method(method)
    {
        for (const auto& [from, to] : substitutions)
            m_copies[from] = Resolved(to);
    }

    NodePtr Run(const NodePtr& root)
    {
        const std::vector<NodePtr> nodes = Below({root});
        FindChanged(nodes);
        for (const NodePtr& node : nodes) // delays first: loops go through them
            if (IsCopied(*node) && node->operation && node->operation->IsDelay())
                CopyDelay(node);
        for (const NodePtr& node : nodes)
            Visit(node);
        for (const auto& [placeholder, target] : m_open)
        {
            placeholder->replacement = CopyOf(Resolved(target));
            m_context.AddLoop(placeholder);
        }
        const NodePtr copy = CopyOf(Resolved(root));
        if (!m_open.empty() && copy->IsOpen())
            CloseLoops(m_context, copy);
        return copy;
    }

private:
    // Marks the nodes above substituted ones. Around loops marks go on until nothing changes.
    void FindChanged(const std::vector<NodePtr>& nodes)
    {
        for (const NodePtr& node : nodes)
            if (m_method != CopyMethod::Share && node->role == Node::Role::Parameter && !m_copies.contains(node.get()))
                m_copies[node.get()] = CopyParameter(*node);
        for (bool hasChanged = true; hasChanged;)
        {
            hasChanged = false;
            for (const NodePtr& node : nodes)
                if (!m_copies.contains(node.get()) && !m_changed.contains(node.get()) &&
                    std::any_of(node->inputs.begin(), node->inputs.end(),
                                [&](const NodePtr& input)
                                {
                                    const NodePtr resolved = Resolved(input);
                                    return m_copies.contains(resolved.get()) || m_changed.contains(resolved.get());
                                }))
                    hasChanged = m_changed.insert(node.get()).second;
        }
        // Delays by name belong to the copy of their loop.
        if (!m_changed.empty())
            for (const NodePtr& node : nodes)
                if (node->operation && !node->operation->TargetName().empty())
                    m_changed.insert(node.get());
        for (bool hasChanged = true; hasChanged;)
        {
            hasChanged = false;
            for (const NodePtr& node : nodes)
                if (!m_copies.contains(node.get()) && !m_changed.contains(node.get()) &&
                    std::any_of(node->inputs.begin(), node->inputs.end(),
                                [&](const NodePtr& input) { return m_changed.contains(Resolved(input).get()); }))
                    hasChanged = m_changed.insert(node.get()).second;
        }
    }

    bool IsCopied(const Node& node) const { return m_changed.contains(&node) && !m_copies.contains(&node); }

    NodePtr CopyOf(const NodePtr& node) const
    {
        const auto found = m_copies.find(node.get());
        return found != m_copies.end() ? found->second : node;
    }

    NodePtr CopyParameter(const Node& node) const
    {
        const ParameterData& data = *node.parameter;
        std::shared_ptr<ParameterData> copy;
        if (data.Storage())
            copy = std::make_shared<ParameterData>(data.GetDevice(), data.Type(), data.GetShape(),
                                                   std::make_shared<Matrix>(data.Storage()->Clone()));
        else
            copy =
                std::make_shared<ParameterData>(data.GetDevice(), data.Type(), data.GetShape(), data.Initialization());
        copy->SetLearningRateMultiplier(data.LearningRateMultiplier());
        return m_method == CopyMethod::Freeze ? MakeConstant(m_context, std::move(copy), node.GivenName())
                                              : MakeParameter(m_context, std::move(copy), node.GivenName());
    }

    void CopyDelay(const NodePtr& node)
    {
        std::vector<NodePtr> inputs;
        if (!node->inputs.empty())
        {
            NodePtr placeholder = MakePlaceholder(m_context, std::nullopt, c_noAxis, node->type, "");
            m_open.emplace_back(placeholder, node->inputs.front());
            inputs = {std::move(placeholder)};
        }
        m_copies[node.get()] = MakeOperation(m_context, node->operation, std::move(inputs), node->GivenName());
        m_copies[node.get()]->SetTag(node->Tag());
    }

    // Copies the node after its inputs.
    void Visit(const NodePtr& start)
    {
        std::vector<NodePtr> stack = {start};
        while (!stack.empty())
        {
            const NodePtr node = stack.back();
            if (!IsCopied(*node))
            {
                stack.pop_back();
                continue;
            }
            const size_t depth = stack.size();
            std::vector<NodePtr> inputs;
            for (const NodePtr& input : node->inputs)
            {
                const NodePtr resolved = Resolved(input);
                if (IsCopied(*resolved))
                    stack.push_back(resolved);
                inputs.push_back(CopyOf(resolved));
            }
            if (stack.size() > depth)
                continue;
            NodePtr copy = MakeOperation(m_context, node->operation, std::move(inputs), node->GivenName());
            copy->SetTag(node->Tag());
            m_copies[node.get()] = std::move(copy);
            stack.pop_back();
        }
    }

    Context& m_context;
    CopyMethod m_method;
    std::unordered_map<const Node*, NodePtr> m_copies;
    std::unordered_set<const Node*> m_changed;
    std::vector<std::pair<NodePtr, NodePtr>> m_open; // new placeholders, and the nodes they stand for the copies of
};

} // namespace

NodePtr Copy(Context& context, const NodePtr& root, const std::unordered_map<const Node*, NodePtr>& substitutions,
             CopyMethod method)
{
    return GraphCopier(context, substitutions, method).Run(root);
}

void ReplacePlaceholders(Context& context, const NodePtr& root,
                         const std::vector<std::pair<NodePtr, NodePtr>>& replacements)
{
    for (const auto& [placeholder, node] : replacements)
        if (placeholder->role != Node::Role::Placeholder || placeholder->replacement || Resolved(node) == placeholder)
            Fail(ErrorKind::Model, placeholder->Describe(), " (", placeholder->TypeName(), ") cannot be replaced by ",
                 node->Describe(), "; expected an open placeholder and another node");
    for (const auto& [placeholder, node] : replacements)
        placeholder->replacement = Resolved(node);
    try
    {
        CloseLoops(context, root);
    }
    catch (...)
    {
        for (const auto& [placeholder, node] : replacements)
            placeholder->replacement = nullptr;
        throw;
    }
    for (const auto& [placeholder, node] : replacements)
        context.AddLoop(placeholder);
}

} // namespace cntk::Api
