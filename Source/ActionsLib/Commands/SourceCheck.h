// What cntk --check does with a command's network and data.
#pragma once

#include "Common/Log.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "SGD/Minibatches/MinibatchSource.h"

#include <cstddef>
#include <vector>

namespace cntk
{

enum class CheckFor
{
    Training,
    Evaluation
};
// Reads one minibatch, computes the roots, reports samples and memory.
void CheckSource(Log& log, ComputationNetwork& network, const std::vector<ComputationNodePtr>& roots,
                 MinibatchSource& source, size_t minibatchSize, CheckFor purpose);

} // namespace cntk
