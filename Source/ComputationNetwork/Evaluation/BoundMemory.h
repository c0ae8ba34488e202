// The memory of a plan: one buffer for each slot, bound to the nodes as views of the size that the layouts have now.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Plan/MemoryPlan.h"
#include "Math/Device.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace cntk
{

class BoundMemory
{
public:
    // Values and gradients that somebody else binds.
    using Elsewhere = std::set<std::pair<const ComputationNode*, MemoryPlan::Life::What>>;

    // Nodes and plan must outlive this.
    BoundMemory(const std::vector<ComputationNodePtr>& nodes, const MemoryPlan& plan, const Elsewhere& elsewhere,
                Device& device);

    // Layouts that follow from others take their form.
    void UpdateLayouts(ComputationNetwork& network);
    // Notes the form that each layout has now; whether any has another than before: other columns, or as many of
    // another number of sequences side by side, for which loops keep memory of one time step.
    bool TakeForms();
    // Allocates what is missing and binds values, gradients and temporaries of all nodes. A shortage of memory is told
    // with the buffers that take most.
    void Bind();
    void Unbind();
    // The node makes its layout; what depends on it is bound anew. Memory stays where it is: there is enough for the
    // layout that was reserved, and for those derived of it. Returns the layouts that changed, until the next call.
    const std::vector<const MBLayout*>& MakeLayout(ComputationNode& maker, ComputationNetwork& network);

    // Fills what begins to live with the step of that time, or what has lived until then, with NaN, so that a read
    // outside its life shows.
    enum class Moment
    {
        BeforeStep,
        BehindStep
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
        // False where it is as before.
        bool Take();

        const MBLayout* layout;
        const ComputationNode* first; // of the nodes that have it: the one that makes it, or an input
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
    std::vector<size_t> m_slotBytes; // now in use
    std::vector<Binding> m_bindings; // one for each life
    std::vector<LayoutSize> m_layouts;
    std::vector<const MBLayout*> m_made; // by the last MakeLayout
};

} // namespace cntk
