// Turns nodes' passes into links: pointers and distances of columns.
#include "ComputationNetwork/LoopChain.h"

namespace cntk
{

namespace
{

ElementwiseLink::Place PlaceOf(const ElementwisePass::Operand& operand)
{
    const MatrixView view = operand.isGradient ? operand.node->Gradient() : operand.node->Value();
    return {view.data, operand.node->HasMBLayout() ? view.stride : 0};
}

} // namespace

bool LoopChain::Add(const ElementwisePass& pass, bool overwrites)
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
    m_chain.links.emplace_back();
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
            link.inputs[input] = PlaceOf(pass.inputs[input]);
        link.output = PlaceOf(pass.output);
    }
}

void LoopChain::Run(const FrameRange& range, const MBLayout& layout) const
{
    Ops::RunChain(m_chain, range.FirstColumn(&layout), layout.ParallelSequences());
}

} // namespace cntk
