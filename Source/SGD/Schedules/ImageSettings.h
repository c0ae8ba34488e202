// What training sets in nodes of images: the time constants of batch normalization, the temporary memory of
// convolutions.
#pragma once

#include "ComputationNetwork/Nodes/BatchNormalizationNode.h"
#include "ComputationNetwork/Nodes/ConvolutionNode.h"
#include "ComputationNetwork/Plan/EvaluationPlan.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class Log;
class Workers;

// The name of the time constants in the extra part of checkpoints.
constexpr const char* c_timeConstantsKey = "batchNormalizationConstants";

class ImageSettings
{
public:
    explicit ImageSettings(const EvaluationPlan& plan);

    // 0: each node's own limit stays.
    void LimitTemporaryMemory(uint64_t samples, Log& log);
    // At the beginning of an epoch: those that differ from the epoch before (at first 0) take the place of the nodes'.
    void SetTimeConstants(double normalization, double blend, Log& log);
    // Those of the last epoch, which the nodes of its model have: without them a 0 behind another number would not be
    // seen by a training that goes on.
    void SaveExtra(std::map<std::string, std::string>& extra) const;
    void RestoreExtra(const std::map<std::string, std::string>& extra);
    // Collective: of how many minibatches statistics are, as that worker has counted them.
    void TakeCounts(Workers& workers, size_t rank);

private:
    std::vector<std::shared_ptr<ConvolutionNode>> m_convolutions;
    std::vector<std::shared_ptr<BatchNormalizationNode>> m_normalizations;
    double m_normalization = 0;
    double m_blend = 0;
};

} // namespace cntk
