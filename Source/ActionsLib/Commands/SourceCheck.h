// What cntk --check does with a command's network and data.
#pragma once

#include "ActionsLib/Ndl/NdlBuilder.h"
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
// Reads one minibatch, computes the roots, reports samples and memory. ndl: has the places of nodes, for warnings.
void CheckSource(Log& log, ComputationNetwork& network, const std::vector<ComputationNodePtr>& roots,
                 MinibatchSource& source, size_t minibatchSize, CheckFor purpose, const NdlContext* ndl = nullptr);

} // namespace cntk
