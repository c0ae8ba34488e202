// Counters that ForwardProp advances (StepState::StepCounter): draws of masks, minibatches of statistics. A
// device that repeats captured work calls no ForwardProp, so the host still runs the steps that count. Work that
// stopped midway runs again with its initial counters.
#pragma once

#include "ComputationNetwork/Nodes/NodeInterfaces.h"
#include "ComputationNetwork/Plan/EvaluationProgram.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cntk
{

class StepCounters
{
public:
    explicit StepCounters(const EvaluationProgram& program)
    {
        for (const EvaluationProgram::ForwardStep& step : program.forwardSteps)
        {
            m_stepCounts.push_back(false);
            for (size_t k = step.nodes.begin; k < step.nodes.end; k++)
            {
                auto* const state = Interface<StepState>(*program.forwardNodes[k]);
                if (uint64_t* const counter = state == nullptr ? nullptr : state->StepCounter())
                {
                    m_counters.push_back(counter);
                    m_stepCounts.back() = true;
                }
            }
        }
        m_saved.resize(m_counters.size());
    }

    // Returns true if a node of the forward step with this index counts.
    bool StepCounts(size_t step) const { return m_stepCounts[step]; }

    void Save()
    {
        for (size_t i = 0; i < m_counters.size(); i++)
            m_saved[i] = *m_counters[i];
    }
    void Restore()
    {
        for (size_t i = 0; i < m_counters.size(); i++)
            *m_counters[i] = m_saved[i];
    }

private:
    std::vector<uint64_t*> m_counters; // in nodes, which the plan keeps alive
    std::vector<uint64_t> m_saved;
    std::vector<bool> m_stepCounts;
};

} // namespace cntk
