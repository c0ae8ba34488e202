// What tells the work of one minibatch from that of another: two minibatches of one key ask the device for the same
// operations on the same memory, so what was recorded with the one can be repeated with the other (RepeatedWork.h).
#pragma once

#include "ComputationNetwork/ComputationNode.h"

#include <cstdint>
#include <span>
#include <vector>

namespace cntk
{

class StepKey
{
public:
    explicit StepKey(const std::vector<ComputationNodePtr>& nodes);

    // Of the minibatch that the layouts have now, after BeginForwardProp of all nodes. The memory is kept for the next.
    std::vector<uint64_t>& Make(bool isTraining);
    // The layouts of the nodes, each once.
    const std::vector<const MBLayout*>& Layouts() const { return m_layouts; }

private:
    void AppendLayout(const MBLayout& layout, uint64_t firstId);

    const std::vector<ComputationNodePtr>& m_nodes;
    ptrdiff_t m_farthest = 1; // how many steps beyond the minibatch an end of a sequence makes a difference
    std::vector<const MBLayout*> m_layouts;
    std::vector<uint64_t> m_key;
};

} // namespace cntk
