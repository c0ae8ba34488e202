// Validation: loops; shapes in repeated passes until nothing changes; one checking pass.
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/RecurrentLoops.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace cntk
{

namespace
{

// The nodes that a search for all faults cannot say anything about: what lacks inputs or is invalid, and what is
// computed of that.
class PassedOver
{
public:
    void Add(const ComputationNode& node) { m_nodes.insert(&node); }
    bool Has(const ComputationNodePtr& node)
    {
        if (m_nodes.empty())
            return false;
        const auto& inputs = node->Inputs();
        const bool isAffected =
            std::any_of(inputs.begin(), inputs.end(),
                        [this](const ComputationNodePtr& input) { return m_nodes.contains(input.get()); });
        if (isAffected)
            Add(*node);
        return isAffected || m_nodes.contains(node.get());
    }
    // Whether a node that is passed over might have determined the parameter's size.
    bool IsInputOfAny(const ComputationNode& parameter) const
    {
        return std::any_of(m_nodes.begin(), m_nodes.end(),
                           [&](const ComputationNode* node)
                           {
                               const auto& inputs = node->Inputs();
                               return std::any_of(inputs.begin(), inputs.end(),
                                                  [&](const ComputationNodePtr& input)
                                                  { return input.get() == &parameter; });
                           });
    }

private:
    std::unordered_set<const ComputationNode*> m_nodes;
};

bool LacksInputs(const ComputationNode& node)
{
    const auto& inputs = node.Inputs();
    return inputs.size() < node.Type().inputs.min || inputs.size() > node.Type().inputs.max ||
           std::find(inputs.begin(), inputs.end(), nullptr) != inputs.end();
}

// An input's dynamicAxis= is the name of a DynamicAxis node. Where a network has no such node, names alone keep the
// layouts apart.
void CheckDynamicAxis(const ComputationNetwork& network, const InputValueNode& input)
{
    const std::string& name = input.DynamicAxis();
    const ComputationNodePtr node = name.empty() ? nullptr : network.Find(name);
    if (name.empty() || dynamic_cast<DynamicAxisNode*>(node.get()) != nullptr)
        return;
    std::vector<std::string> axes;
    for (const ComputationNodePtr& other : network.Nodes())
        if (dynamic_cast<DynamicAxisNode*>(other.get()) != nullptr)
            axes.push_back(other->Name());
    if (node == nullptr && axes.empty())
        return;
    Fail(ErrorKind::Model, "input '", input.Name(), "' has dynamicAxis '", name, "', ",
         node != nullptr ? Concat("which is a node of type ", node->TypeName()) : "but there is no such node",
         "; expected the name of a DynamicAxis node", axes.empty() ? "" : ", here " + Join(axes, " or "),
         DidYouMean(name, axes));
}

} // namespace

const MBLayoutPtr& ComputationNetwork::Layout(const std::string& dynamicAxis) const
{
    for (const auto& [axis, layout] : m_layouts)
        if (EqualsIgnoreCase(axis, dynamicAxis))
            return layout;
    return m_layouts[dynamicAxis] = std::make_shared<MBLayout>();
}

std::string ComputationNetwork::DescribeShape(const ComputationNode& node) const
{
    std::string text = "[" + node.SampleLayout().ToString();
    if (node.HasMBLayout())
    {
        text += node.SampleLayout().Rank() > 0 ? " x *" : "*";
        for (const auto& [axis, layout] : m_layouts)
            if (layout == node.GetMBLayout())
                text += axis;
    }
    return text + "]";
}

std::string ComputationNetwork::Describe(const ComputationNode& node) const
{
    std::vector<std::string> inputs;
    for (const ComputationNodePtr& input : node.Inputs())
        inputs.push_back(input ? input->Name() + " " + DescribeShape(*input) : "(missing)");
    return Concat(node.Name(), " = ", node.TypeName(), "(", Join(inputs, ", "), ")");
}

void ComputationNetwork::Validate(const ExplainInvalid& explain)
{
    InferShapes(explain, nullptr);
}

std::vector<ComputationNetwork::InvalidNode> ComputationNetwork::FindInvalidNodes()
{
    std::vector<InvalidNode> invalid;
    InferShapes({}, &invalid);
    return invalid;
}

// invalid: null to fail at the first fault.
void ComputationNetwork::InferShapes(const ExplainInvalid& explain, std::vector<InvalidNode>* invalid)
{
    PassedOver passedOver;
    // Throws, or notes it down.
    const auto tell = [&](Error& error, const ComputationNode& node, const std::vector<ComputationNodePtr>& loop)
    {
        if (invalid == nullptr)
        {
            if (explain)
                explain(error, node, loop);
            throw error;
        }
        invalid->push_back({node.shared_from_this(), error.Message()});
        passedOver.Add(node);
        for (const ComputationNodePtr& other : loop)
            passedOver.Add(*other);
    };
    for (const auto& [key, node] : m_nodes)
        if (invalid != nullptr && LacksInputs(*node))
            passedOver.Add(*node);
    for (const auto& [key, node] : m_nodes)
        for (size_t i = 0; i < node->InputCount(); i++)
            if (!node->Input(i) && invalid == nullptr)
                Fail(ErrorKind::Model, "input ", i, " of node '", node->Name(), "' (", node->TypeName(),
                     ") is missing: the node it was connected to has been deleted; connect another with SetNodeInput");

    // Loops that nothing outside consumes have no root; they are visited last.
    std::vector<ComputationNodePtr> starts = Roots();
    for (const auto& [key, node] : m_nodes)
        starts.push_back(node);
    std::vector<ComputationNodePtr> order = Below(starts);
    // What a PairNetwork node is paired with is validated by its own network.
    std::erase_if(order, [this](const ComputationNodePtr& node) { return Find(node->Name()) != node; });

    const auto isPassedOver = [&](const ComputationNodePtr& node) { return passedOver.Has(node); };
    std::vector<std::vector<ComputationNodePtr>> loops;
    for (const std::vector<ComputationNodePtr>& component : ComponentsBelow(starts))
    {
        if (!IsLoop(component) || (invalid != nullptr && std::any_of(component.begin(), component.end(), isPassedOver)))
            continue;
        try
        {
            loops.push_back(OrderOfOneStep(component));
        }
        catch (Error& error) // no delay
        {
            if (invalid == nullptr)
                throw;
            tell(error, *component.front(), component);
        }
    }
    const auto checkLoops = [&](auto&& faultOf)
    {
        for (const std::vector<ComputationNodePtr>& loop : loops)
        {
            if (std::any_of(loop.begin(), loop.end(), isPassedOver))
                continue;
            if (const std::optional<LoopFault> fault = faultOf(loop))
            {
                Error error(ErrorKind::Model, fault->message);
                tell(error, *fault->node, loop);
            }
        }
    };
    checkLoops(FaultOfStructure);

    const auto forgetShapes = [&]
    {
        for (const ComputationNodePtr& node : order)
        {
            if (auto* input = dynamic_cast<InputValueNode*>(node.get()))
                input->SetLayout(Layout(input->DynamicAxis()));
            else if (auto* axis = dynamic_cast<DynamicAxisNode*>(node.get()))
                axis->SetLayout(Layout(axis->Name()));
            else if (!node->Type().traits.isLeaf)
                node->SetShape(TensorShape{0}, nullptr); // unknown
        }
    };
    for (const ComputationNodePtr& node : order)
        if (const auto* input = dynamic_cast<InputValueNode*>(node.get()))
        {
            try
            {
                CheckDynamicAxis(*this, *input);
            }
            catch (Error& error)
            {
                tell(error, *node, {});
            }
        }
    forgetShapes();

    using ShapeAndLayout = std::pair<TensorShape, const MBLayout*>;
    const auto shapesNow = [&]
    {
        std::vector<ShapeAndLayout> shapes;
        shapes.reserve(order.size());
        for (const ComputationNodePtr& node : order)
            shapes.emplace_back(node->SampleLayout(), node->GetMBLayout().get());
        return shapes;
    };
    const auto inferOne = [&](ShapeInference& inference, const ComputationNodePtr& node, bool mayStayOpen)
    {
        if (passedOver.Has(node) || (node->Type().traits.isLeaf && passedOver.IsInputOfAny(*node)))
            return;
        try
        {
            node->InferShape(inference);
            if (!mayStayOpen && node->SampleLayout().HasUnknown())
                Fail(ErrorKind::Model, "the dimensions [", node->SampleLayout().ToString(), "] of node '", node->Name(),
                     "' are not known, and nothing determines them",
                     node->Type().traits.isDelay
                         ? Concat("; a delay in a loop says its size itself: ", node->TypeName(), "(rows, ",
                                  node->Input(0)->Name(), ")")
                         : "");
        }
        catch (Error& error)
        {
            error.AddNote("while validating " + Describe(*node));
            tell(error, *node, {});
        }
    };
    // Where the size of a parameter stays open, the node that was to determine it may know why.
    const auto askConsumers = [&](ShapeInference& inference, const ComputationNodePtr& parameter)
    {
        for (const ComputationNodePtr& node : order)
        {
            const auto isOpen = [&](const ComputationNodePtr& input)
            { return input != parameter && input->SampleLayout().HasUnknown(); };
            const std::vector<ComputationNodePtr>& inputs = node->Inputs();
            if (std::find(inputs.begin(), inputs.end(), parameter) != inputs.end() &&
                std::none_of(inputs.begin(), inputs.end(), isOpen))
                inferOne(inference, node, true);
        }
    };
    const auto infer = [&](bool isFinalPass)
    {
        ShapeInference inference(isFinalPass, &m_derivedLayouts);
        for (const ComputationNodePtr& node : order)
        {
            if (isFinalPass && node->Type().traits.isLeaf && node->SampleLayout().HasUnknown())
                askConsumers(inference, node);
            inferOne(inference, node, !isFinalPass);
        }
    };

    // Each pass settles at least one more node, except where shapes contradict each other around a loop.
    std::vector<ShapeAndLayout> before = shapesNow();
    bool isSettled = false;
    for (size_t pass = 0; pass <= order.size() && !isSettled; pass++)
    {
        infer(false);
        std::vector<ShapeAndLayout> after = shapesNow();
        isSettled = after == before;
        before = std::move(after);
    }
    if (!isSettled) // the first pass shows it with the dimensions that the delays were given
    {
        forgetShapes();
        infer(false);
        checkLoops(FaultOfShapes);
    }
    infer(true);
    checkLoops(FaultOf);
    m_derivedLayouts.RemoveUnused();
}

} // namespace cntk
