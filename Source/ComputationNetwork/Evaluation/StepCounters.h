// What nodes count with each ForwardProp (ComputationNode::StepCounter): draws of masks, minibatches of statistics. A
// device that repeats recorded work calls no ForwardProp, so steps that count are run by the host all the same; and
// work that ended midway is run once more with the counters that it began with.
#pragma once

#include "ComputationNetwork/ComputationNode.h"
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
                if (uint64_t* const counter = program.forwardNodes[k]->StepCounter())
                {
                    m_counters.push_back(counter);
                    m_stepCounts.back() = true;
                }
        }
        m_saved.resize(m_counters.size());
    }

    // Whether a node of the forward step with this index counts.
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
    std::vector<uint64_t*> m_counters; // in nodes, which the plan keeps
    std::vector<uint64_t> m_saved;
    std::vector<bool> m_stepCounts;
};

} // namespace cntk
