// What the log says of a network that is made or loaded.
#pragma once

#include "Common/Log.h"
#include "ComputationNetwork/ComputationNetwork.h"

namespace cntk
{

// The original's log lines about a network: roots, each node with its shapes ("Validating --> ..."), criteria.
void LogNetwork(Log& log, const ComputationNetwork& network, int traceLevel);

} // namespace cntk
