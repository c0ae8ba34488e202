// The evaluator's access to the memory of nodes. Nobody else binds nodes.
#pragma once

#include "ComputationNetwork/ComputationNode.h"
#include "ComputationNetwork/Plan/MemoryPlan.h"

namespace cntk
{

class NodeBinder
{
public:
    using What = MemoryPlan::Life::What;

    // Sets whether the node gets a gradient. Call before Bind.
    static void Prepare(ComputationNode& node, bool needsGradient)
    {
        node.m_needsGradient = needsGradient;
        node.m_gradientIsFresh = false;
        node.m_gradient = {};
    }

    static void SetTraining(ComputationNode& node, bool isTraining) { node.m_isTraining = isTraining; }

    // layout: that of a temporary with a column for each of the minibatch, else null.
    static void Bind(ComputationNode& node, What what, size_t index, const MatrixView& view,
                     const MBLayout* layout = nullptr)
    {
        if (what == What::Value)
            node.m_value = view;
        else if (what == What::Gradient)
            node.m_gradient = view;
        else
        {
            if (node.m_temporaries.size() <= index)
            {
                node.m_temporaries.resize(index + 1);
                node.m_temporaryLayouts.resize(index + 1);
            }
            node.m_temporaries[index] = view;
            node.m_temporaryLayouts[index] = layout;
        }
    }

    static const MatrixView& TemporaryOf(const ComputationNode& node, size_t index)
    {
        return node.m_temporaries[index];
    }

    static void SetGradientIsFresh(ComputationNode& node, bool isFresh) { node.m_gradientIsFresh = isFresh; }
    static double GradientBeta(const ComputationNode& node) { return node.m_gradientIsFresh ? 0 : 1; }
};

} // namespace cntk
