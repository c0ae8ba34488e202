// Which values, gradients and temporaries share memory: a slot each, sized by the largest of its buffers, so that a new
// minibatch size needs no new plan. Lifetimes come from the node types' traits.
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
    static constexpr size_t c_forever = SIZE_MAX; // the end of a life that lasts until the next minibatch

    struct Options
    {
        bool share = true;
        // A gradient may be the memory of its only consumer's gradient where the consumer passes it through (Plus) or
        // can work in place (Sigmoid), a temporary that of the value that it is made of, or of the gradient that is
        // made of it (a criterion's softmax); not possible frame by frame.
        bool aliasGradients = true;
        std::vector<ComputationNodePtr> keepValues;
    };
    // Backward memory is planned where the plan has a backward root.
    static MemoryPlan Build(const EvaluationPlan& plan, const Options& options);

    // Life of each buffer in plan time: forward step i of n is i, backward of step i is 2n-1-i.
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
        // A gradient that is the memory of this consumer's gradient on purpose; a temporary that is that of this
        // input's.
        const ComputationNode* aliasOf = nullptr;
        // Of a value, the consumer that replaces it in its memory by a temporary; of that temporary, the input.
        const ComputationNode* inPlaceWith = nullptr;
    };
    const std::vector<Life>& Lives() const { return m_lives; }
    // Of given lives as they are, unchecked; what tests feed the plan checker with.
    static MemoryPlan FromLives(std::vector<Life> lives);

    size_t SlotCount() const { return m_slotCount; }
    size_t SlotOfValue(const ComputationNode* node) const;    // c_none: owns its value, or is never computed
    size_t SlotOfGradient(const ComputationNode* node) const; // c_none: needs none
    const std::vector<size_t>& SlotsOfTemporaries(const ComputationNode* node) const;
    bool IsGradientAlias(const ComputationNode* node) const; // of its only consumer's gradient

private:
    size_t m_slotCount = 0;
    std::vector<Life> m_lives;
    std::unordered_map<const ComputationNode*, size_t> m_valueLives; // index into m_lives
    std::unordered_map<const ComputationNode*, size_t> m_gradientLives;
    std::unordered_map<const ComputationNode*, std::vector<size_t>> m_temporarySlots;
};

// Independent of the planner: no read before write, no two live values in one slot, inputs before consumers, every
// gradient in its own memory before the first contribution. Fails (Internal) with the offending nodes.
void CheckPlan(const EvaluationPlan& plan, const MemoryPlan& memory);

} // namespace cntk
