// The memory of a plan: one buffer for each slot, bound to the nodes as views of the size that the current layouts
// need.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Plan/MemoryPlan.h"
#include "Math/Device.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

// The evaluator's access to the memory of nodes. Nobody else binds nodes.
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

class BoundMemory
{
public:
    // Values and gradients whose memory another class binds.
    using Elsewhere = std::set<std::pair<const ComputationNode*, MemoryPlan::Life::What>>;

    // The nodes and the plan must outlive this object.
    BoundMemory(const std::vector<ComputationNodePtr>& nodes, const MemoryPlan& plan, const Elsewhere& elsewhere,
                Device& device);

    // Updates layouts that are derived from other layouts.
    void UpdateLayouts(ComputationNetwork& network);
    // Announces the gaps of the layouts to the device.
    void ExpectMasks(Device& device) const;
    // Records the size of each layout and returns true if any changed: the number of columns, or the number of parallel
    // sequences at an equal number of columns. Loops keep memory for one time step of all parallel sequences.
    bool TakeForms();
    // Allocates missing buffers and binds values, gradients and temporaries of all nodes. An out-of-memory error lists
    // the largest buffers.
    void Bind();
    void Unbind();
    // Lets the node make its layout and rebinds everything that depends on it. Buffers do not move: they have room for
    // the reserved layout and those derived from it. Returns the changed layouts, valid until the next call.
    const std::vector<const MBLayout*>& MakeLayout(ComputationNode& maker, ComputationNetwork& network);

    // Fills buffers with NaN, to expose reads outside a buffer's life: before a step those whose life begins with it,
    // after a step those whose life ends with it.
    enum class Moment
    {
        BeforeStep,
        AfterStep
    };
    void Poison(size_t time, Moment moment);

    size_t Bytes() const; // allocated

private:
    struct Binding
    {
        ComputationNode* node;
        MemoryPlan::Life::What what;
        size_t index;
        size_t slot;
        TemporarySpec temporary;
        bool isElsewhere = false;
    };
    struct LayoutSize
    {
        // Records the current size. Returns false if it has not changed.
        bool Take();

        const MBLayout* layout;
        const ComputationNode* first; // the first node with this layout: the node that makes it, or an input
        size_t columns = 0;
        size_t sequences = 0;
        uint64_t version = 0;
    };

    static std::string NameOf(const Binding& binding);
    static const MBLayout* LayoutOf(const Binding& binding);
    static MatrixView ViewOf(const Binding& binding);
    void BindSize(ComputationNode& node);
    void BindMemory(const Binding& binding);
    void ReserveSlot(size_t slot);

    const std::vector<ComputationNodePtr>& m_nodes;
    const MemoryPlan& m_plan;
    std::vector<Buffer> m_slots;
    std::vector<size_t> m_slotBytes; // current sizes
    std::vector<Binding> m_bindings; // one for each life
    std::vector<LayoutSize> m_layouts;
    std::vector<const MBLayout*> m_made; // by the last MakeLayout
};

// ---- advice for out-of-memory errors ----

// A value, gradient or temporary of the plan, with its size for the current minibatch.
struct PlannedBuffer
{
    std::string name; // "the gradient of 'H1'"
    size_t slot = 0;  // buffers of one slot share memory; slots are numbered from 0
    size_t bytes = 0;
    bool growsWithMinibatch = true; // its size is proportional to the columns of the minibatch
};

// Returns notes for the error, the first one about the slot that could not be allocated. columns: of the minibatch.
// availableBytes: the limit for all slots together.
std::vector<std::string> DescribeShortage(const std::vector<PlannedBuffer>& buffers, size_t slot, size_t columns,
                                          size_t availableBytes);

// Formats a size as "1.5 GB": three digits, powers of 1000.
std::string BytesInWords(size_t bytes);

} // namespace cntk
