// Validation: finds loops, infers shapes in repeated passes until nothing changes, then runs one checking pass.
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Plan/RecurrentLoops.h"

#include <algorithm>
#include <utility>

namespace cntk
{

namespace
{

// Checks that dynamicAxis= of an input names a DynamicAxis node. In a network without such nodes, the names alone
// distinguish the layouts.
void CheckDynamicAxis(const ComputationNetwork& network, const InputValueNode& input)
{
    const std::string& name = input.DynamicAxis();
    const ComputationNodePtr node = name.empty() ? nullptr : network.Find(name);
    if (name.empty() || As<DynamicAxisNode>(node.get()) != nullptr)
        return;
    std::vector<std::string> axes;
    for (const ComputationNodePtr& other : network.Nodes())
        if (As<DynamicAxisNode>(other.get()) != nullptr)
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

// One validation. Throws the first fault.
class ComputationNetwork::Validation
{
public:
    Validation(ComputationNetwork& network, const ExplainInvalid& explain) : m_network(network), m_explain(explain) {}
    void Run();

private:
    using Loop = std::vector<ComputationNodePtr>;
    using ShapeAndLayout = std::pair<TensorShape, const MBLayout*>;
    enum class Pass
    {
        Settling, // one of several passes: dimensions may still be unknown
        Final     // the last pass: all dimensions must be known
    };

    [[noreturn]] void Throw(Error& error, const ComputationNode& node, const Loop& loop);
    void CheckInputs();
    void FindLoops(const std::vector<ComputationNodePtr>& starts);
    void CheckLoops(std::optional<LoopFault> (*faultOf)(const Loop&));
    void CheckDynamicAxes();
    void ForgetShapesAndLayouts();
    void ForgetShape(ComputationNode& node);
    void InferLayouts();
    std::vector<ShapeAndLayout> Shapes() const;
    bool Settle();
    void InferAll(Pass pass);
    void InferOne(ShapeInference& inference, const ComputationNodePtr& node, Pass pass);
    void AskConsumers(ShapeInference& inference, const ComputationNodePtr& parameter);

    ComputationNetwork& m_network;
    const ExplainInvalid& m_explain;
    std::vector<ComputationNodePtr> m_order; // inputs before consumers
    std::vector<Loop> m_loops;               // loops with a delay, in the order of one time step
};

void ComputationNetwork::Validate(const ExplainInvalid& explain)
{
    Validation(*this, explain).Run();
}

void ComputationNetwork::Validation::Run()
{
    CheckInputs();
    // Loops without outside consumers have no root; they are visited last.
    std::vector<ComputationNodePtr> starts = m_network.Roots();
    for (const auto& [key, node] : m_network.m_nodes)
        starts.push_back(node);
    m_order = Below(starts);
    // Nodes of a paired network are validated by their own network.
    std::erase_if(m_order, [this](const ComputationNodePtr& node) { return m_network.Find(node->Name()) != node; });
    FindLoops(starts);
    CheckLoops(FaultOfStructure);
    CheckDynamicAxes();

    ForgetShapesAndLayouts();
    if (!m_loops.empty())
        InferLayouts();
    if (!Settle()) // the first pass uses the declared dimensions of the delays
    {
        for (const ComputationNodePtr& node : m_order)
            ForgetShape(*node);
        InferAll(Pass::Settling);
        CheckLoops(FaultOfShapes);
    }
    InferAll(Pass::Final);
    CheckLoops(FaultOf);
    m_network.m_derivedLayouts.RemoveUnused();
}

// Throws the error after its explanation. loop: the loop at fault; empty: only the node is at fault.
void ComputationNetwork::Validation::Throw(Error& error, const ComputationNode& node, const Loop& loop)
{
    if (m_explain)
        m_explain(error, node, loop);
    throw error;
}

void ComputationNetwork::Validation::CheckInputs()
{
    for (const auto& [key, node] : m_network.m_nodes)
    {
        if (node->InputCount() == 0 && node->Type().inputs.min > 0)
            Fail(ErrorKind::Model, "node '", node->Name(), "' (", node->TypeName(),
                 ") has no inputs; it needs at least ", node->Type().inputs.min);
        for (size_t i = 0; i < node->InputCount(); i++)
            if (!node->Input(i))
                Fail(ErrorKind::Model, "input ", i, " of node '", node->Name(), "' (", node->TypeName(),
                     ") is missing: the node it was connected to has been deleted; connect another with SetNodeInput");
    }
}

void ComputationNetwork::Validation::FindLoops(const std::vector<ComputationNodePtr>& starts)
{
    for (const Loop& component : ComponentsBelow(starts))
    {
        if (!IsLoop(component))
            continue;
        try
        {
            m_loops.push_back(OrderOfOneStep(component));
        }
        catch (Error& error) // the loop has no delay
        {
            Throw(error, *component.front(), component);
        }
    }
}

void ComputationNetwork::Validation::CheckLoops(std::optional<LoopFault> (*faultOf)(const Loop&))
{
    for (const Loop& loop : m_loops)
    {
        if (const std::optional<LoopFault> fault = faultOf(loop))
        {
            Error error(ErrorKind::Model, fault->message);
            Throw(error, *fault->node, loop);
        }
    }
}

void ComputationNetwork::Validation::CheckDynamicAxes()
{
    for (const ComputationNodePtr& node : m_order)
        if (const auto* input = As<InputValueNode>(node.get()))
        {
            try
            {
                CheckDynamicAxis(m_network, *input);
            }
            catch (Error& error)
            {
                Throw(error, *node, {});
            }
        }
}

void ComputationNetwork::Validation::ForgetShapesAndLayouts()
{
    for (const ComputationNodePtr& node : m_order)
    {
        if (auto* input = As<InputValueNode>(node.get()))
            input->SetLayout(m_network.Layout(input->DynamicAxis()));
        else if (auto* axis = As<DynamicAxisNode>(node.get()))
            axis->SetLayout(m_network.Layout(axis->Name()));
        else if (!node->Type().traits.isLeaf)
            node->SetShape(TensorShape{0}, nullptr); // unknown
    }
}

void ComputationNetwork::Validation::ForgetShape(ComputationNode& node)
{
    if (!node.Type().traits.isLeaf)
        node.SetShape(TensorShape{0}, node.GetMBLayout());
}

// Infers layouts before shapes. The sample shape of some nodes depends on their layout, and delays of a loop get their
// layout from its other nodes. Layouts must therefore go around the loops before the first shapes are fixed.
void ComputationNetwork::Validation::InferLayouts()
{
    ShapeInference inference(/*isFinalPass=*/false, &m_network.m_derivedLayouts);
    std::vector<ShapeAndLayout> before = Shapes();
    for (size_t pass = 0; pass <= m_order.size(); pass++)
    {
        for (const ComputationNodePtr& node : m_order)
        {
            InferOne(inference, node, Pass::Settling);
            ForgetShape(*node);
        }
        std::vector<ShapeAndLayout> after = Shapes();
        if (after == before)
            return;
        before = std::move(after);
    }
}

std::vector<ComputationNetwork::Validation::ShapeAndLayout> ComputationNetwork::Validation::Shapes() const
{
    std::vector<ShapeAndLayout> shapes;
    shapes.reserve(m_order.size());
    for (const ComputationNodePtr& node : m_order)
        shapes.emplace_back(node->SampleLayout(), node->GetMBLayout().get());
    return shapes;
}

// Repeats passes and returns true if they come to an end. Each pass settles at least one more node, unless shapes
// contradict each other around a loop.
bool ComputationNetwork::Validation::Settle()
{
    std::vector<ShapeAndLayout> before = Shapes();
    for (size_t pass = 0; pass <= m_order.size(); pass++)
    {
        InferAll(Pass::Settling);
        std::vector<ShapeAndLayout> after = Shapes();
        if (after == before)
            return true;
        before = std::move(after);
    }
    return false;
}

void ComputationNetwork::Validation::InferAll(Pass pass)
{
    ShapeInference inference(pass == Pass::Final, &m_network.m_derivedLayouts);
    for (const ComputationNodePtr& node : m_order)
    {
        if (pass == Pass::Final && node->Type().traits.isLeaf && node->SampleLayout().HasUnknown())
            AskConsumers(inference, node);
        InferOne(inference, node, pass);
    }
}

void ComputationNetwork::Validation::InferOne(ShapeInference& inference, const ComputationNodePtr& node, Pass pass)
{
    try
    {
        node->InferShape(inference);
        if (pass == Pass::Final && node->SampleLayout().HasUnknown())
            Fail(ErrorKind::Model, "the dimensions [", node->SampleLayout().ToString(), "] of node '", node->Name(),
                 "' are not known, and nothing determines them",
                 node->Type().traits.isDelay ? Concat("; a delay in a loop says its size itself: ", node->TypeName(),
                                                      "(rows, ", node->Input(0)->Name(), ")")
                                             : "");
    }
    catch (Error& error)
    {
        error.AddNote("while validating " + m_network.Describe(*node));
        Throw(error, *node, {});
    }
}

// Runs the consumers of a parameter of unknown size, because their error may explain the reason.
void ComputationNetwork::Validation::AskConsumers(ShapeInference& inference, const ComputationNodePtr& parameter)
{
    const auto isOpen = [&](const ComputationNodePtr& input)
    { return input != parameter && input->SampleLayout().HasUnknown(); };
    for (const ComputationNodePtr& node : m_order)
    {
        const std::vector<ComputationNodePtr>& inputs = node->Inputs();
        if (std::find(inputs.begin(), inputs.end(), parameter) != inputs.end() &&
            std::none_of(inputs.begin(), inputs.end(), isOpen))
            InferOne(inference, node, Pass::Settling); // its own sizes may be unknown for other reasons
    }
}

} // namespace cntk
