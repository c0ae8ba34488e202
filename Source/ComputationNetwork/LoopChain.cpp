// Turns nodes' passes into links: pointers and distances of columns.
#include "ComputationNetwork/LoopChain.h"

namespace cntk
{

namespace
{

bool IsOfStep(const ElementwisePass::Operand& operand, const LoopMemory& memory)
{
    return operand.isGradient ? memory.IsGradientOfStep(operand.node) : memory.IsValueOfStep(operand.node);
}

void BindPlace(ElementwiseLink::Place& place, const ElementwisePass::Operand& operand)
{
    const MatrixView view = operand.isGradient ? operand.node->Gradient() : operand.node->Value();
    place.data = view.data;
    place.stride = operand.node->HasMBLayout() ? view.stride : 0;
}

} // namespace

bool LoopChain::Add(const ElementwisePass& pass, bool overwrites, const LoopMemory& memory)
{
    const ComputationNode& node = *pass.output.node;
    if (m_parts.empty())
    {
        m_chain.device = &node.GetDevice();
        m_chain.type = node.GetDataType();
        m_chain.rows = node.SampleElements();
    }
    else if (m_chain.rows != node.SampleElements())
        return false;
    m_parts.push_back({pass, overwrites ? 0.0 : 1.0});
    ElementwiseLink& link = m_chain.links.emplace_back();
    for (size_t input = 0; input < pass.inputCount; input++)
        link.inputs[input].isOfStep = IsOfStep(pass.inputs[input], memory);
    link.output.isOfStep = IsOfStep(pass.output, memory);
    return true;
}

void LoopChain::Bind()
{
    for (size_t i = 0; i < m_parts.size(); i++)
    {
        const auto& [pass, beta] = m_parts[i];
        ElementwiseLink& link = m_chain.links[i];
        link.op = pass.op;
        link.alpha = pass.factor;
        link.beta = beta;
        for (size_t input = 0; input < pass.inputCount; input++)
            BindPlace(link.inputs[input], pass.inputs[input]);
        BindPlace(link.output, pass.output);
    }
}

} // namespace cntk
