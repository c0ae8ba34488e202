// Copies a network for one more evaluator. The copy has nodes and memory of its own but reads the same parameters.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

// Returns the nodes from which the outputs are computed, on a device that computes in the same memory as the network's.
// Does not change the network, so that several threads may copy it. The copy must not outlive the parameters' device.
std::unique_ptr<ComputationNetwork> CopyNetwork(const ComputationNetwork& network,
                                                const std::vector<std::string>& outputs,
                                                const std::shared_ptr<Device>& device);

} // namespace cntk
