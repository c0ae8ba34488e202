// Assigns memory slots that values, gradients and temporaries share. The largest buffer of a slot determines its size,
// so that a new minibatch size needs no new plan. Lifetimes come from the node types' traits.
#pragma once

#include "ComputationNetwork/Plan/EvaluationPlan.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace cntk
{

class MemoryPlan
{
public:
    static constexpr size_t c_none = SIZE_MAX;
    static constexpr size_t c_forever = SIZE_MAX; // end of a life that lasts until the next minibatch

    struct Options
    {
        bool share = true;
        // Lets a gradient share the memory of its only consumer's gradient if the consumer passes it through (Plus) or
        // can work in place (Sigmoid). Also lets a temporary share that of the value from which it is computed, or of
        // the gradient computed from it (a criterion's softmax). Not possible frame by frame.
        bool aliasGradients = true;
        std::vector<ComputationNodePtr> keepValues;
    };
    // Plans backward memory if the plan has a backward root.
    static MemoryPlan Build(const EvaluationPlan& plan, const Options& options);

    // Life of each buffer in plan time: with n steps, forward step i has time i and backward step i has time 2n-1-i.
    struct Life
    {
        enum class What : uint8_t
        {
            Value,
            Gradient,
            Temporary
        };
        const ComputationNode* node = nullptr;
        What what = What::Value;
        size_t index = 0; // of the temporary
        size_t slot = c_none;
        size_t first = 0, last = 0; // both included
        // Owner of the shared memory: for a gradient the consumer, for a temporary the input whose gradient it becomes.
        const ComputationNode* aliasOf = nullptr;
        // For a value, the consumer that overwrites it with a temporary; for that temporary, the input.
        const ComputationNode* inPlaceWith = nullptr;
    };
    const std::vector<Life>& Lives() const { return m_lives; }
    // Returns a plan of the given lives without checks, for tests of the plan checker.
    static MemoryPlan FromLives(std::vector<Life> lives);

    size_t SlotCount() const { return m_slotCount; }
    size_t SlotOfValue(const ComputationNode* node) const;    // c_none: owns its value, or is never computed
    size_t SlotOfGradient(const ComputationNode* node) const; // c_none: needs none
    const std::vector<size_t>& SlotsOfTemporaries(const ComputationNode* node) const;
    bool IsGradientAlias(const ComputationNode* node) const; // an alias of its only consumer's gradient

private:
    size_t m_slotCount = 0;
    std::vector<Life> m_lives;
    std::unordered_map<const ComputationNode*, size_t> m_valueLives; // index into m_lives
    std::unordered_map<const ComputationNode*, size_t> m_gradientLives;
    std::unordered_map<const ComputationNode*, std::vector<size_t>> m_temporarySlots;
};

// Checks a plan independently of the planner: no read before write, no two live values in one slot, inputs before
// consumers, every gradient in its own memory before the first contribution. Fails (Internal) with the offending nodes.
void CheckPlan(const EvaluationPlan& plan, const MemoryPlan& memory);

} // namespace cntk
