// Key of a minibatch's device work: two minibatches with equal keys run the same operations on the same memory. Work
// captured for one can be repeated for the other (RepeatedWork.h).
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

    // Returns the key for the current layouts. Call after BeginForwardProp of all nodes. The memory is reused by the
    // next call.
    std::vector<uint64_t>& Make(bool isTraining);

private:
    void AppendLayout(const MBLayout& layout, uint64_t firstId);

    const std::vector<ComputationNodePtr>& m_nodes;
    ptrdiff_t m_farthest = 1; // number of steps beyond the minibatch in which a sequence end makes a difference
    std::vector<const MBLayout*> m_layouts; // distinct layouts of the nodes
    std::vector<uint64_t> m_key;
};

} // namespace cntk
