#include "SGD/Search/TrialStart.h"

#include "ComputationNetwork/Nodes/BatchNormalizationNode.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

namespace cntk
{

TrialStart::TrialStart(const TrainedNetworks& networks, Learner& learner, ModelAverage* average)
    : m_learner(learner), m_average(average)
{
    for (const ComputationNetwork* network : networks)
        for (const ComputationNodePtr& node : network->Nodes())
        {
            if (auto normalization = std::dynamic_pointer_cast<BatchNormalizationNode>(node))
            {
                const uint64_t seen = normalization->Minibatches();
                m_normalizations.emplace_back(std::move(normalization), seen);
            }
            // Those that are not trained too: statistics change as the network is evaluated.
            if (auto parameter = std::dynamic_pointer_cast<LearnableParameterNode>(node))
            {
                Matrix values = parameter->Values().Clone();
                m_parameters.emplace_back(std::move(parameter), std::move(values));
            }
        }
    for (const Matrix* state : learner.States())
        m_states.push_back(state->Clone());
    learner.SaveExtra(m_extra);
    if (average != nullptr)
        m_velocities = average->Velocities();
}

void TrialStart::GoBack() const
{
    for (const auto& [parameter, values] : m_parameters)
        parameter->Values().CopyFrom(values);
    for (const auto& [normalization, seen] : m_normalizations)
        normalization->SetMinibatches(seen);
    m_learner.CopyStates(m_states);
    m_learner.RestoreExtra(m_extra);
    if (m_average != nullptr)
        m_average->SetVelocities(m_velocities);
}

} // namespace cntk
