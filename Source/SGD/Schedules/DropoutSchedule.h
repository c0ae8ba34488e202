// Rates and seeds of the dropout nodes below the criterion: new seeds 1, 2, 3, ... in the order in which the criterion
// alone would be evaluated, whatever evaluation nodes there are; only in epochs whose rate differs from the one before.
#pragma once

#include "ComputationNetwork/Nodes/DropoutNode.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class Log;
class Workers;

class DropoutSchedule
{
public:
    explicit DropoutSchedule(const ComputationNodePtr& criterion, uint64_t trainingSeed = 0);

    // At the beginning of an epoch.
    void SetRate(double rate, Log& log);
    // Of workers that share the epoch each has masks of its own; 0: as one process.
    void DrawAsWorker(size_t rank);
    // Whether each forward pass moves a random stream.
    bool DrawsMasks() const { return m_rate > 0 && !m_nodes.empty(); }

    // All random streams, exactly; for checkpoints. With workers, collective: where a share of a minibatch was empty or
    // in other parts, a worker has drawn another number of masks.
    void SaveExtra(std::map<std::string, std::string>& extra, Workers* workers = nullptr) const;
    void RestoreExtra(const std::map<std::string, std::string>& extra, size_t rank = 0);

private:
    std::vector<std::shared_ptr<DropoutNode>> m_nodes;
    double m_rate = 0;
    uint64_t m_nextSeed = 1;
};

} // namespace cntk
