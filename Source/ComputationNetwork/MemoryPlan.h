// Which values, gradients and temporaries share memory: a slot each, sized "fixed + perColumn * columns", so that a new
// minibatch size needs no new plan. Lifetimes come from the node types' traits.
#pragma once

#include "ComputationNetwork/EvaluationPlan.h"

#include <cstddef>
#include <unordered_map>
#include <vector>

namespace cntk
{

class MemoryPlan
{
public:
    static constexpr size_t c_none = SIZE_MAX;
    struct Options
    {
        bool training = false;
        bool share = true;
        std::vector<ComputationNodePtr> keepValues;
        ComputationNodePtr backwardRoot; // the criterion that is trained; null: the last root
    };
    static MemoryPlan Build(const EvaluationPlan& plan, const Options& options);

    size_t SlotCount() const { return m_slotCount; }
    size_t SlotOfValue(const ComputationNode* node) const;    // c_none: owns its value
    size_t SlotOfGradient(const ComputationNode* node) const; // c_none: needs none
    const std::vector<size_t>& SlotsOfTemporaries(const ComputationNode* node) const;

    // Life of each buffer in plan time: forward step i of n is i, backward of step i is 2n-1-i. For the checker.
    struct Life
    {
        const ComputationNode* node;
        enum class What
        {
            Value,
            Gradient,
            Temporary
        } what;
        size_t index; // of the temporary
        size_t slot;
        size_t first, last;
    };
    const std::vector<Life>& Lives() const { return m_lives; }

private:
    size_t m_slotCount = 0;
    std::vector<Life> m_lives;
    std::unordered_map<const ComputationNode*, size_t> m_valueSlots;
    std::unordered_map<const ComputationNode*, size_t> m_gradientSlots;
    std::unordered_map<const ComputationNode*, std::vector<size_t>> m_temporarySlots;
};

// Independent of the planner: no read before write, no two live values in one slot, inputs before consumers, every
// gradient zeroed before it is added to. Fails (Internal) with the offending nodes.
void CheckPlan(const EvaluationPlan& plan, const MemoryPlan& memory);

} // namespace cntk
