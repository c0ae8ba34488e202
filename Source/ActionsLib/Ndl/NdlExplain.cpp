// What is wrong with a finished network, in the words of its script: the place, the macros around it, and where the
// shapes come from.
#include "ActionsLib/Ndl/NdlBuilder.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"

#include <algorithm>

namespace cntk
{

namespace
{

constexpr size_t c_mostNotes = 10; // of one error

bool IsPlanar(const NdlImageLayout& layout)
{
    return EqualsIgnoreCase(layout.word, "CHW") || EqualsIgnoreCase(layout.word, "cudnn");
}

std::string InWords(const NdlImageLayout& layout)
{
    return Concat(IsPlanar(layout) ? "CHW" : "HWC", layout.isDefault ? " (its default)" : "");
}

} // namespace

void NdlBuilder::Validate()
{
    CheckLoops();
    m_network.Validate([this](const Error& error, const ComputationNode& node, const auto& loop)
                       { ExplainInvalid(error, node, loop); });
    NotePlaces();
    WarnOfDelaySizes();
    WarnOfRoles();
    WarnOfTopK();
    WarnOfLayouts();
}

void NdlBuilder::RequireFeatures(const SourcePos& elsewhere) const
{
    if (!m_network.Group(NodeGroup::Feature).empty())
        return;
    const std::vector<ComputationNodePtr> labels = m_network.Group(NodeGroup::Label);
    for (const ComputationNodePtr& node : m_made)
    {
        const auto origin = m_origins.find(node.get());
        if (dynamic_cast<const InputValueNode*>(node.get()) == nullptr || origin == m_origins.end() ||
            std::find(labels.begin(), labels.end(), node) != labels.end())
            continue;
        Error error(ErrorKind::Config,
                    Concat("the network has no feature node; write tag=feature on an input, such as '", node->Name(),
                           "' here, or FeatureNodes=(", node->Name(), ")"),
                    origin->second.expression->where);
        AddCallers(error, *origin->second.scope);
        throw error;
    }
    FailAt(elsewhere, ErrorKind::Config, "the network has no feature node",
           labels.empty() ? " and no input at all; define one, such as features=Input(dimension, tag=feature)"
                          : Concat("; its only inputs are labels; define one more, such as features=Input(dimension, "
                                   "tag=feature)"));
}

void NdlBuilder::NotePlaces()
{
    std::erase_if(m_context.places, [](const auto& place) { return place.second.node.expired(); });
    std::unordered_map<const Scope*, std::shared_ptr<const std::vector<std::string>>> callers;
    for (const ComputationNodePtr& node : m_made)
    {
        const auto origin = m_origins.find(node.get());
        if (origin == m_origins.end())
            continue;
        std::shared_ptr<const std::vector<std::string>>& around = callers[origin->second.scope];
        if (!around)
            around = std::make_shared<const std::vector<std::string>>(CallersOf(*origin->second.scope));
        m_context.places[node.get()] = {node, origin->second.expression->where, around};
    }
}

// PastValue(3, h) of an h with two rows: the size only serves until that of h is known.
void NdlBuilder::WarnOfDelaySizes() const
{
    for (const ComputationNodePtr& node : m_made)
    {
        const auto* const delay = dynamic_cast<const DelayNode*>(node.get());
        const auto origin = m_origins.find(node.get());
        if (delay == nullptr || origin == m_origins.end() || delay->DeclaredElements() == 0 ||
            delay->DeclaredElements() == delay->SampleElements())
            continue;
        Warn(origin->second.expression->where,
             Concat(node->TypeName(), " '", node->Name(), "' is declared with ",
                    Counted(delay->DeclaredElements(), "row"), ", but its input '", node->Input(0)->Name(), "' has ",
                    delay->SampleElements(), "; it has as many as its input"));
    }
}

// Among the five largest of three scores is every label.
void NdlBuilder::WarnOfTopK() const
{
    for (const ComputationNodePtr& node : m_made)
    {
        const auto origin = m_origins.find(node.get());
        if (node->TypeName() != "ErrorPrediction" || node->InputCount() != 3 || origin == m_origins.end())
            continue;
        const auto* const topK = dynamic_cast<const LearnableParameterNode*>(node->Input(2).get());
        if (topK && topK->Values().ToHost()[0] >= double(node->Input(1)->SampleElements()))
            Warn(origin->second.expression->where,
                 Concat("topK is ", topK->Values().ToHost()[0], ", but '", node->Input(1)->Name(), "' has ",
                        node->Input(1)->SampleElements(), " rows only, so that ErrorPrediction '", node->Name(),
                        "' is always 0"));
    }
}

// Names the node that makes the images which this node reads, if the two differ in imageLayout. Nodes between them that
// keep the dimensions (Plus, RectifiedLinear, Dropout, ...) keep the layout, too. Empty: no difference.
std::string NdlBuilder::LayoutMismatch(const ComputationNode& node) const
{
    const auto reader = m_origins.find(&node);
    if (reader == m_origins.end() || reader->second.imageLayout.word.empty() || node.InputCount() == 0 ||
        node.TypeName() == "LegacyReshape") // which makes images only
        return {};
    std::set<const ComputationNode*> seen{&node};
    const ComputationNode* image = node.Input(node.TypeName() == "Convolution" ? 1 : 0).get();
    while (image && image->SampleLayout().Rank() == 3 && seen.insert(image).second)
    {
        const auto maker = m_origins.find(image);
        if (maker != m_origins.end() && !maker->second.imageLayout.word.empty())
        {
            if (IsPlanar(maker->second.imageLayout) == IsPlanar(reader->second.imageLayout))
                return {};
            return Concat(node.TypeName(), " '", node.Name(),
                          "' reads images in imageLayout=", InWords(reader->second.imageLayout), ", but ",
                          image->TypeName(), " '", image->Name(), "' (", maker->second.expression->where.Location(),
                          ") has ", InWords(maker->second.imageLayout), "; expected the same imageLayout in both");
        }
        const auto& inputs = image->Inputs();
        const auto next = std::find_if(inputs.begin(), inputs.end(),
                                       [&](const ComputationNodePtr& input)
                                       { return input && input->SampleLayout() == image->SampleLayout(); });
        image = next == inputs.end() ? nullptr : next->get();
    }
    return {};
}

void NdlBuilder::WarnOfLayouts() const
{
    for (const ComputationNodePtr& node : m_made)
        if (const std::string mismatch = LayoutMismatch(*node); !mismatch.empty())
            Warn(m_origins.at(node.get()).expression->where, mismatch);
}

// What the reader fills are inputs.
void NdlBuilder::WarnOfRoles() const
{
    for (const NodeGroup group : {NodeGroup::Feature, NodeGroup::Label})
        for (const ComputationNodePtr& node : m_network.Group(group))
        {
            const auto origin = m_origins.find(node.get());
            if (origin != m_origins.end() && dynamic_cast<const InputValueNode*>(node.get()) == nullptr)
                Warn(origin->second.expression->where,
                     Concat(group == NodeGroup::Feature ? "feature" : "label", " node '", node->Name(), "' is a ",
                            node->TypeName(), " and no input, so the reader does not fill it"));
        }
}

// ---- loops without a delay ----

void NdlBuilder::CheckLoops() const
{
    struct Visit
    {
        const ComputationNode* node;
        size_t nextInput;
    };
    std::unordered_map<const ComputationNode*, bool> isFinished;
    std::vector<Visit> stack;
    for (const ComputationNodePtr& start : m_made)
    {
        if (isFinished.emplace(start.get(), false).second)
            stack.push_back({start.get(), 0});
        while (!stack.empty())
        {
            Visit& top = stack.back();
            if (top.node->Type().traits.isDelay || top.nextInput == top.node->InputCount())
            {
                isFinished[top.node] = true;
                stack.pop_back();
                continue;
            }
            const ComputationNode* input = top.node->Input(top.nextInput++).get();
            if (!input)
                continue;
            const auto [found, isNew] = isFinished.emplace(input, false);
            if (isNew)
                stack.push_back({input, 0});
            else if (!found->second)
            {
                std::vector<const ComputationNode*> loop; // as values flow: the deepest consumes the first visited
                for (size_t i = stack.size(); i-- > 0 && (loop.empty() || loop.back() != input);)
                    loop.push_back(stack[i].node);
                FailLoop(std::move(loop));
            }
        }
    }
}

// Told from the node that the script made first.
void NdlBuilder::FailLoop(std::vector<const ComputationNode*> loop) const
{
    const auto isInLoop = [&](const ComputationNodePtr& node)
    { return std::find(loop.begin(), loop.end(), node.get()) != loop.end(); };
    const auto first = std::find_if(m_made.begin(), m_made.end(), isInLoop);
    const auto begin = std::find(loop.begin(), loop.end(), first == m_made.end() ? loop.front() : first->get());
    std::rotate(loop.begin(), begin, loop.end());
    std::string names;
    for (const ComputationNode* node : loop)
        names += Concat("'", node->Name(), "' -> ");
    const auto origin = m_origins.find(loop.front());
    Error error(ErrorKind::Config,
                Concat("the nodes ", names, "'", loop.front()->Name(),
                       "' form a loop without a delay; a recurrent loop needs a PastValue or FutureValue node"),
                origin == m_origins.end() ? SourcePos{} : origin->second.expression->where);
    AddPlaces(error, loop);
    throw error;
}

void NdlBuilder::AddPlaces(Error& error, const std::vector<const ComputationNode*>& nodes) const
{
    for (size_t i = 0; i < nodes.size() && i < c_mostNotes; i++)
        error.AddNote(Concat("'", nodes[i]->Name(), "' is ", PlaceOf(*nodes[i])));
    if (nodes.size() > c_mostNotes)
        error.AddNote(Concat("and ", nodes.size() - c_mostNotes, " nodes more"));
}

// ---- shapes ----

void NdlBuilder::ExplainInvalid(const Error& error, const ComputationNode& node,
                                const std::vector<ComputationNodePtr>& loop) const
{
    const auto origin = m_origins.find(&node);
    if (origin == m_origins.end())
        return; // not the script's
    Error placed = error.Retold(error.Kind() == ErrorKind::Model ? ErrorKind::Config : error.Kind(),
                                error.Message() + (loop.empty() ? HintBelow(node) : ""),
                                error.Where() ? error.Where() : origin->second.expression->where);
    std::set<const ComputationNode*> told;
    if (!loop.empty())
    {
        std::vector<const ComputationNode*> nodes; // in the order of the script
        for (const ComputationNodePtr& made : m_made)
            if (std::find(loop.begin(), loop.end(), made) != loop.end())
                nodes.push_back(made.get());
        AddPlaces(placed, nodes);
        throw placed;
    }
    for (const ComputationNodePtr& input : node.Inputs())
        AddTrail(placed, *input, told);
    AddCallers(placed, *origin->second.scope);
    throw placed;
}

// What is below a node that cannot be computed and may be all there is to the mistake: a delay whose declared size its
// input does not have (the nodes around it were described for that size); a product with its operands exchanged.
std::string NdlBuilder::HintBelow(const ComputationNode& node) const
{
    if (const std::string mismatch = LayoutMismatch(node); !mismatch.empty())
        return "; " + mismatch;
    const auto at = [&](const ComputationNode& below)
    {
        const auto origin = m_origins.find(&below);
        return origin == m_origins.end() ? "" : " at " + origin->second.expression->where.Location();
    };
    for (const ComputationNodePtr& below : ComputationNetwork::Below(node.Inputs()))
    {
        const auto* const delay = dynamic_cast<const DelayNode*>(below.get());
        if (delay && delay->DeclaredElements() != 0 && !delay->Input(0)->SampleLayout().HasUnknown() &&
            delay->DeclaredElements() != delay->Input(0)->SampleElements())
            return Concat("; ", delay->TypeName(), " '", delay->Name(), "' is declared with ",
                          delay->DeclaredElements(), " rows", at(*delay), ", but its input '", delay->Input(0)->Name(),
                          "' has ", delay->Input(0)->SampleElements());
        if (below->TypeName() == "Times" && below->Input(0)->HasMBLayout() && !below->Input(1)->HasMBLayout() &&
            below->Input(1)->Type().traits.isLeaf)
            return Concat("; Times('", below->Input(0)->Name(), "', '", below->Input(1)->Name(), "')", at(*below),
                          " has the data on the left and gives ", m_network.DescribeShape(*below),
                          "; weights stand first, Times(", below->Input(1)->Name(), ", ", below->Input(0)->Name(), ")");
    }
    return {};
}

// Where the shape of a node comes from: back through the element-wise nodes and delays that hand it on, to the node
// that made it and the parameters and inputs of that.
void NdlBuilder::AddTrail(Error& error, const ComputationNode& node, std::set<const ComputationNode*>& told) const
{
    const ComputationNode* current = &node;
    for (;;)
    {
        if (told.size() >= c_mostNotes || !told.insert(current).second)
            return;
        error.AddNote(Concat("'", current->Name(), "' ", m_network.DescribeShape(*current), " is ", PlaceOf(*current)));
        const ComputationNode* source = nullptr;
        if (current->Type().traits.isElementwise)
            for (const ComputationNodePtr& input : current->Inputs())
                if (source == nullptr && input && input->SampleLayout() == current->SampleLayout())
                    source = input.get();
        if (current->Type().traits.isDelay)
            source = current->Input(0).get();
        if (source == nullptr)
            break;
        current = source;
    }
    for (const ComputationNodePtr& input : current->Inputs())
        if (input && input->Type().traits.isLeaf && told.size() < c_mostNotes && told.insert(input.get()).second)
            error.AddNote(Concat("'", input->Name(), "' ", m_network.DescribeShape(*input), " is ", PlaceOf(*input)));
}

// "Times(W, x) at net.ndl:3:4, in macro 'F' called at net.ndl:9:6"
std::string NdlBuilder::PlaceOf(const ComputationNode& node) const
{
    const auto origin = m_origins.find(&node);
    if (origin == m_origins.end())
        return "a node that was there before";
    const NdlExpression& expression = *origin->second.expression;
    std::string place = Concat(expression.AsWritten(), " at ", expression.where.Location());
    for (const Scope* scope = origin->second.scope; scope->call; scope = scope->caller)
        place += Concat(", in macro '", scope->macroName, "' called at ", scope->call->where.Location());
    if (origin->second.isOpen)
        place += ", its size inferred from the nodes that use it";
    return place;
}

// The macros around a place, innermost first.
std::vector<std::string> NdlBuilder::CallersOf(const Scope& scope)
{
    std::vector<std::string> callers;
    for (const Scope* each = &scope; each->call; each = each->caller)
        callers.push_back(Concat("in macro '", each->macroName, "', called at ", each->call->where.Location()));
    return callers;
}

void NdlBuilder::AddCallers(Error& error, const Scope& scope)
{
    for (std::string& caller : CallersOf(scope))
        error.AddNote(std::move(caller));
}

// ---- of nodes that others complain about ----

const NdlPlace* NdlContext::FindPlace(const ComputationNode& node) const
{
    const auto place = places.find(&node);
    return place != places.end() && place->second.node.lock().get() == &node ? &place->second : nullptr;
}

} // namespace cntk
