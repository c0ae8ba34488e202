// The pass over the data before training in which Mean and InvStdDev nodes are computed.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"
#include "SGD/Minibatches/MinibatchSource.h"

#include <functional>

namespace cntk
{

class Log;

// Computes the precomputed nodes of the network that have no value yet and marks them. False when there were none.
// Binds the source to their inputs. stopRequested is asked after each minibatch: true is Interrupted, and no node is
// marked.
bool Precompute(ComputationNetwork& network, MinibatchSource& source, size_t minibatchSize, size_t epochSize, Log& log,
                const std::function<bool()>& stopRequested = {});

} // namespace cntk
