// The graph and its editing, and derived layouts. Every change of structure passes through here and increases the
// structure version.
#include "ComputationNetwork/ComputationNetwork.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ComputationNode.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <unordered_set>
#include <utility>

namespace cntk
{

namespace
{

std::string DescribeArity(const Arity& arity)
{
    const auto plural = [](size_t count) { return Concat(count, count == 1 ? " input" : " inputs"); };
    if (arity.max == Arity::c_any)
        return "at least " + plural(arity.min);
    if (arity.min == arity.max)
        return plural(arity.min);
    return Concat(arity.min, " to ", plural(arity.max));
}

[[noreturn]] void FailNameInUse(const std::string& name, const ComputationNode& user)
{
    Fail(ErrorKind::Model, "the node name '", name, "' is already used by node '", user.Name(), "' (", user.TypeName(),
         "); names are compared without case");
}

// Matches a name with a pattern in which '*' stands for any text, including none.
bool MatchesPattern(std::string_view name, std::string_view pattern)
{
    size_t n = 0, p = 0;
    size_t star = std::string_view::npos, afterStar = 0;
    while (n < name.size())
    {
        if (p < pattern.size() && pattern[p] == '*')
        {
            star = p++;
            afterStar = n;
        }
        else if (p < pattern.size() && name[n] == pattern[p])
        {
            n++;
            p++;
        }
        else if (star != std::string_view::npos)
        {
            p = star + 1;
            n = ++afterStar;
        }
        else
            return false;
    }
    while (p < pattern.size() && pattern[p] == '*')
        p++;
    return p == pattern.size();
}

} // namespace

ComputationNetwork::ComputationNetwork(DataType dataType, std::shared_ptr<Device> device, const NodeRegistry& registry)
    : m_dataType(dataType), m_device(std::move(device)), m_registry(&registry)
{
}

ComputationNetwork::~ComputationNetwork()
{
    for (const auto& [key, node] : m_nodes)
    {
        node->m_inputs.clear();
        node->m_owner = nullptr;
    }
}

// ---- building ----

ComputationNodePtr ComputationNetwork::Add(std::string_view typeName, std::string name,
                                           std::vector<ComputationNodePtr> inputs, const NodeParameters& parameters)
{
    if (const NodeType* type = m_registry->Find(typeName)) // an unknown type is reported below
        CheckInputs(*type, name, inputs);
    ComputationNodePtr node = AddUnconnected(typeName, std::move(name), parameters);
    node->m_inputs = std::move(inputs);
    return node;
}

ComputationNodePtr ComputationNetwork::AddUnconnected(std::string_view typeName, std::string name,
                                                      const NodeParameters& parameters)
{
    const NodeType* type = m_registry->Find(typeName);
    if (type == nullptr)
    {
        std::vector<std::string> names;
        for (const NodeType& known : m_registry->Types())
        {
            names.push_back(known.name);
            names.insert(names.end(), known.aliases.begin(), known.aliases.end());
        }
        Fail(ErrorKind::Model, "unknown node type '", typeName, "'", DidYouMean(typeName, names));
    }
    while (name.empty() || (name.starts_with("AutoName") && m_nodes.contains(ToLower(name))))
        name = Concat("AutoName", m_autoNames++);
    std::string key = ToLower(name);
    const auto place = m_nodes.lower_bound(key);
    if (place != m_nodes.end() && place->first == key)
        FailNameInUse(name, *place->second);

    ComputationNodePtr node = m_registry->Create(*type, name, m_dataType, *m_device);
    WithNote([&] { node->SetParameters(parameters); },
             [&] { return Concat("in the parameters of node '", name, "' (", type->name, ")"); });
    m_nodes.emplace_hint(place, std::move(key), node);
    node->m_owner = this;
    m_structureVersion++;
    return node;
}

ComputationNodePtr ComputationNetwork::AddParameter(std::string name, const TensorShape& shape)
{
    auto node = Add<LearnableParameterNode>("LearnableParameter", std::move(name));
    node->SetParameterShape(shape);
    return node;
}

ComputationNodePtr ComputationNetwork::AddInput(std::string name, const TensorShape& sampleShape, bool sparse)
{
    auto node = Add<InputValueNode>(sparse ? "SparseInputValue" : "InputValue", std::move(name));
    node->SetSampleShape(sampleShape);
    node->SetLayout(Layout(node->DynamicAxis()));
    return node;
}

void ComputationNetwork::CheckInputs(const NodeType& type, const std::string& name,
                                     const std::vector<ComputationNodePtr>& inputs) const
{
    if (inputs.size() < type.inputs.min || inputs.size() > type.inputs.max)
        Fail(ErrorKind::Model, "node '", name, "': ", type.name, " takes ", DescribeArity(type.inputs), ", but ",
             inputs.size(), inputs.size() == 1 ? " is given" : " are given");
    for (const ComputationNodePtr& input : inputs)
        CheckOwned(input);
}

void ComputationNetwork::CheckOwned(const ComputationNodePtr& node) const
{
    if (!node)
        Fail(ErrorKind::Internal, "an input node is null");
    if (node->m_owner != this)
        Fail(ErrorKind::Model, "node '", node->Name(), "' does not belong to this network");
}

// ---- lookup ----

ComputationNodePtr ComputationNetwork::Find(std::string_view name) const
{
    const auto found = m_nodes.find(ToLower(name));
    return found == m_nodes.end() ? nullptr : found->second;
}

ComputationNodePtr ComputationNetwork::Require(std::string_view name) const
{
    if (ComputationNodePtr node = Find(name))
        return node;
    std::vector<std::string> names;
    for (const auto& [key, node] : m_nodes)
        names.push_back(node->Name());
    Fail(ErrorKind::Model, "there is no node '", name, "' in the network", DidYouMean(name, names));
}

std::vector<ComputationNodePtr> ComputationNetwork::FindPattern(std::string_view pattern) const
{
    const std::string wanted = ToLower(pattern);
    const std::string_view head = std::string_view(wanted).substr(0, wanted.find('*'));
    std::vector<ComputationNodePtr> found;
    for (auto entry = m_nodes.lower_bound(head); entry != m_nodes.end() && entry->first.starts_with(head); ++entry)
        if (MatchesPattern(entry->first, wanted))
            found.push_back(entry->second);
    return found;
}

std::vector<ComputationNodePtr> ComputationNetwork::Nodes() const
{
    std::vector<ComputationNodePtr> nodes;
    nodes.reserve(m_nodes.size());
    for (const auto& [key, node] : m_nodes)
        nodes.push_back(node);
    return nodes;
}

std::vector<std::string> ComputationNetwork::NearestNames(std::string_view name) const
{
    std::vector<std::string> names;
    for (const auto& [key, node] : m_nodes)
        names.push_back(node->Name());
    return cntk::NearestNames(name, names);
}

std::vector<ComputationNodePtr> ComputationNetwork::Roots() const
{
    std::unordered_set<const ComputationNode*> consumed;
    for (const auto& [key, node] : m_nodes)
        for (const ComputationNodePtr& input : node->Inputs())
            if (input && input != node)
                consumed.insert(input.get());
    std::unordered_set<const ComputationNode*> grouped;
    for (const NodeGroup group : {NodeGroup::Criterion, NodeGroup::Evaluation, NodeGroup::Output})
        for (const ComputationNodePtr& node : Group(group))
            grouped.insert(node.get());
    std::vector<ComputationNodePtr> roots;
    for (const auto& [key, node] : m_nodes)
        if (!consumed.contains(node.get()) || grouped.contains(node.get()) || node->IsPrecomputed())
            roots.push_back(node);
    return roots;
}

std::vector<ComputationNodePtr> ComputationNetwork::Below(const std::vector<ComputationNodePtr>& roots)
{
    struct Visit
    {
        ComputationNodePtr node;
        size_t nextInput;
    };
    std::vector<ComputationNodePtr> order;
    std::unordered_set<const ComputationNode*> seen;
    std::vector<Visit> stack; // an explicit stack: networks may be thousands of nodes deep
    for (const ComputationNodePtr& root : roots)
    {
        if (seen.insert(root.get()).second)
            stack.push_back({root, 0});
        while (!stack.empty())
        {
            Visit& top = stack.back();
            if (top.nextInput < top.node->InputCount())
            {
                const ComputationNodePtr& input = top.node->Input(top.nextInput++);
                if (input && seen.insert(input.get()).second)
                    stack.push_back({input, 0});
                continue;
            }
            order.push_back(std::move(top.node));
            stack.pop_back();
        }
    }
    return order;
}

// ---- editing ----

void ComputationNetwork::Rename(const ComputationNodePtr& node, std::string newName)
{
    CheckOwned(node);
    if (newName.empty())
        Fail(ErrorKind::Model, "node '", node->Name(), "' cannot be renamed to an empty name");
    std::string newKey = ToLower(newName);
    auto entry = m_nodes.extract(ToLower(node->Name()));
    const std::string oldKey = std::exchange(entry.key(), std::move(newKey));
    if (auto inserted = m_nodes.insert(std::move(entry)); !inserted.inserted)
    {
        inserted.node.key() = oldKey;
        m_nodes.insert(std::move(inserted.node));
        FailNameInUse(newName, *inserted.position->second);
    }
    if (As<DynamicAxisNode>(node.get()) != nullptr) // inputs refer to it by name
        for (const auto& [key, other] : m_nodes)
            if (auto* input = As<InputValueNode>(other.get());
                input != nullptr && EqualsIgnoreCase(input->DynamicAxis(), node->Name()))
            {
                NodeParameters parameters;
                parameters.Set("dynamicAxis", newName);
                input->SetParameters(parameters);
            }
    node->m_name = std::move(newName);
    m_structureVersion++;
}

void ComputationNetwork::Delete(const ComputationNodePtr& node)
{
    Delete(std::vector<ComputationNodePtr>{node});
}

void ComputationNetwork::Delete(const std::vector<ComputationNodePtr>& nodes)
{
    for (const ComputationNodePtr& node : nodes)
        CheckOwned(node);
    const std::vector<ComputationNodePtr> keepAlive = nodes; // the argument may alias a list that is edited here
    for (const ComputationNodePtr& node : keepAlive)
        node->m_owner = nullptr;
    for (const auto& [key, consumer] : m_nodes)
        for (ComputationNodePtr& input : consumer->m_inputs)
            if (input && input->m_owner == nullptr)
                input = nullptr;
    for (auto& group : m_groups)
        std::erase_if(group, [](const ComputationNodePtr& member) { return member->m_owner == nullptr; });
    std::erase_if(m_nodes, [](const auto& entry) { return entry.second->m_owner == nullptr; });
    m_structureVersion++;
}

void ComputationNetwork::SetInput(const ComputationNodePtr& node, size_t index, ComputationNodePtr input)
{
    CheckOwned(node);
    CheckOwned(input);
    if (node->InputCount() == 0)
        Fail(ErrorKind::Model, "node '", node->Name(), "' (", node->TypeName(), ") ",
             node->Type().inputs.max == 0 ? "takes no inputs" : "has no inputs yet; SetInputs sets all of them");
    if (index >= node->InputCount())
        Fail(ErrorKind::Model, "node '", node->Name(), "' (", node->TypeName(), ") has no input ", index, "; it has ",
             Counted(node->InputCount(), "input"), ", counted from 0");
    node->m_inputs[index] = std::move(input);
    m_structureVersion++;
}

void ComputationNetwork::SetInputs(const ComputationNodePtr& node, std::vector<ComputationNodePtr> inputs)
{
    CheckOwned(node);
    CheckInputs(node->Type(), node->Name(), inputs);
    node->m_inputs = std::move(inputs);
    m_structureVersion++;
}

void ComputationNetwork::SetPartialInputs(const ComputationNodePtr& node, std::vector<ComputationNodePtr> inputs)
{
    CheckOwned(node);
    for (const ComputationNodePtr& input : inputs)
        if (input)
            CheckOwned(input);
    node->m_inputs = std::move(inputs);
    m_structureVersion++;
}

void ComputationNetwork::Pair(const ComputationNodePtr& node, ComputationNetwork& other,
                              const ComputationNodePtr& source)
{
    CheckOwned(node);
    other.CheckOwned(source);
    if (node->TypeName() != "PairNetwork" || &other == this)
        Fail(ErrorKind::Internal, "node '", node->Name(), "' (", node->TypeName(), ") cannot be paired with '",
             source->Name(), "'");
    const ComputationNodePtr alone = node->m_inputWhenAlone ? node->m_inputWhenAlone : node->Input(0);
    if (source->SampleElements() != alone->SampleElements())
        Fail(ErrorKind::Model, "PairNetwork node '", node->Name(), "' expects ",
             Counted(alone->SampleElements(), "row"), " of another network (those of its input '", alone->Name(),
             "'), but '", source->Name(), "' (", source->TypeName(), ") of that network has ",
             source->SampleElements());
    if (source->IsSparse())
        Fail(ErrorKind::Model, "PairNetwork node '", node->Name(), "' cannot take the sparse input '", source->Name(),
             "' of another network; expected a node that is computed");
    node->m_inputWhenAlone = alone;
    node->m_inputs.assign(1, source);
    if (std::find(m_pairedWith.begin(), m_pairedWith.end(), &other) == m_pairedWith.end())
        m_pairedWith.push_back(&other);
    m_structureVersion++;
}

void ComputationNetwork::Replace(const ComputationNodePtr& old, const ComputationNodePtr& replacement)
{
    CheckOwned(old);
    CheckOwned(replacement);
    const ComputationNodePtr from = old;
    const ComputationNodePtr to = replacement;
    for (const auto& [key, consumer] : m_nodes)
        if (consumer != to)
            std::replace(consumer->m_inputs.begin(), consumer->m_inputs.end(), from, to);
    for (auto& group : m_groups)
    {
        if (std::find(group.begin(), group.end(), to) != group.end())
            std::erase(group, from);
        else
            std::replace(group.begin(), group.end(), from, to);
    }
    m_structureVersion++;
}

// ---- groups ----

void ComputationNetwork::AddToGroup(NodeGroup group, const ComputationNodePtr& node)
{
    CheckOwned(node);
    auto& members = m_groups[size_t(group)];
    if (std::find(members.begin(), members.end(), node) != members.end())
        return;
    members.push_back(node);
    m_structureVersion++;
}

void ComputationNetwork::AddToGroup(NodeGroup group, const std::vector<ComputationNodePtr>& nodes)
{
    auto& members = m_groups[size_t(group)];
    std::unordered_set<const ComputationNode*> known;
    for (const ComputationNodePtr& member : members)
        known.insert(member.get());
    for (const ComputationNodePtr& node : nodes)
    {
        CheckOwned(node);
        if (!known.insert(node.get()).second)
            continue;
        members.push_back(node);
        m_structureVersion++;
    }
}

void ComputationNetwork::RemoveFromGroup(NodeGroup group, const ComputationNodePtr& node)
{
    RemoveFromGroup(group, std::vector<ComputationNodePtr>{node});
}

void ComputationNetwork::RemoveFromGroup(NodeGroup group, const std::vector<ComputationNodePtr>& nodes)
{
    std::unordered_set<const ComputationNode*> removed;
    for (const ComputationNodePtr& node : nodes)
        removed.insert(node.get());
    if (std::erase_if(m_groups[size_t(group)],
                      [&](const ComputationNodePtr& member) { return removed.contains(member.get()); }) > 0)
        m_structureVersion++;
}

namespace
{

void Fill(const MBLayout& source, size_t multiply, size_t divide, MBLayout& layout)
{
    // In frame mode, consecutive columns are regrouped.
    if (source.IsFrameMode())
    {
        if (source.Columns() * multiply % divide != 0)
            Fail(ErrorKind::Data, "Reshape makes ", Counted(multiply, "sample"), " of each ", divide,
                 ", but the minibatch has ", source.Columns(), ", which is no multiple of ", divide,
                 "; choose a minibatchSize and a number of samples that are");
        return layout.InitAsFrameMode(source.Columns() * multiply / divide);
    }
    if (multiply > 1 && divide > 1)
        Fail(ErrorKind::Data, "Reshape makes ", Counted(multiply, "frame"), " of each ", divide,
             ", which is not possible with sequences; expected several frames put together, or one taken apart");
    const ptrdiff_t factor = ptrdiff_t(multiply), group = ptrdiff_t(divide);
    const ptrdiff_t steps = ptrdiff_t(source.TimeSteps());
    layout.Init(source.ParallelSequences(), size_t((steps * factor + group - 1) / group));
    for (const SequenceInfo& sequence : source.Sequences())
    {
        const bool isGap = sequence.id == SequenceInfo::c_gap;
        // Only the part of a sequence inside the minibatch must be divisible.
        const ptrdiff_t first = std::max<ptrdiff_t>(sequence.begin, 0), last = std::min(sequence.end, steps);
        if (!isGap && (first % group != 0 || last % group != 0))
            Fail(ErrorKind::Data, "Reshape puts ", Counted(divide, "frame"), " together, but sequence ", sequence.id,
                 " has ", last - first, " frames, from step ", first, " of the minibatch; expected multiples of ",
                 divide);
        const ptrdiff_t begin = sequence.begin < 0 ? -((-sequence.begin * factor + group - 1) / group)
                                                   : (sequence.begin * factor + group - 1) / group;
        const ptrdiff_t end = (sequence.end * factor + (isGap ? 0 : group - 1)) / group;
        if (isGap)
            layout.AddGap(sequence.row, begin, end);
        else
            layout.AddSequence(sequence.id, sequence.row, begin, end);
    }
}

} // namespace

MBLayoutPtr DerivedLayouts::Get(const MBLayoutPtr& source, size_t multiply, size_t divide)
{
    MBLayoutPtr origin = source;
    for (const Entry& entry : m_entries)
        if (entry.layout == source)
        {
            origin = entry.source;
            multiply *= entry.multiply;
            divide *= entry.divide;
        }
    const size_t common = std::gcd(multiply, divide);
    multiply /= common;
    divide /= common;
    if (multiply == divide)
        return origin;
    for (const Entry& entry : m_entries)
        if (entry.source == origin && entry.multiply == multiply && entry.divide == divide)
            return entry.layout;
    m_entries.push_back({origin, multiply, divide, std::make_shared<MBLayout>(), UINT64_MAX, 0, 0});
    return m_entries.back().layout;
}

void DerivedLayouts::Update(const MBLayout& layout)
{
    for (Entry& entry : m_entries)
    {
        if (entry.layout.get() != &layout)
            continue;
        // Recurrent state is carried over whenever the source layout carries it over.
        if (entry.sourcePass != entry.source->Pass())
            entry.layout->BeginPass();
        else if (entry.sourceMinibatch != entry.source->Minibatch())
            entry.layout->BeginMinibatch();
        entry.sourcePass = entry.source->Pass();
        entry.sourceMinibatch = entry.source->Minibatch();
        if (entry.sourceVersion == entry.source->Version())
            continue;
        Fill(*entry.source, entry.multiply, entry.divide, *entry.layout);
        entry.sourceVersion = entry.source->Version();
    }
}

void DerivedLayouts::RemoveUnused()
{
    std::erase_if(m_entries, [](const Entry& entry) { return entry.layout.use_count() == 1; });
}

MBLayoutPtr ShapeInference::DerivedLayout(const MBLayoutPtr& source, size_t multiply, size_t divide)
{
    CNTK_ASSERT(m_layouts != nullptr);
    return m_layouts->Get(source, multiply, divide);
}

bool IsGeneratedName(std::string_view name)
{
    name.remove_prefix(name.rfind('.') + 1);
    for (const std::string_view begin : {"unnamed", "AutoName"})
        if (name.starts_with(begin) && name.size() > begin.size() &&
            std::all_of(name.begin() + ptrdiff_t(begin.size()), name.end(),
                        [](char c) { return c >= '0' && c <= '9'; }))
            return true;
    return false;
}

} // namespace cntk
