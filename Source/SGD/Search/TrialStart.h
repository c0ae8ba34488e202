// What trials before an epoch begin with and go back to: parameters, smoothed gradients and noise as the epoch begins
// with them. They are kept in memory: to read the model and the checkpoint again after each of some hundred trials
// takes a noticeable part of the search. Masks of dropout go on from trial to trial and into the epoch, as in the
// original, whose files do not hold them.
#pragma once

#include "Math/Matrix.h"
#include "SGD/Files/TrainedNetworks.h"
#include "SGD/Parallel/ModelAveraging.h"
#include "SGD/Update/Learner.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

class BatchNormalizationNode;
class LearnableParameterNode;

class TrialStart
{
public:
    // As networks, learner and block momentum are now. They live longer than this. average: null where workers do not
    // average models.
    TrialStart(const TrainedNetworks& networks, Learner& learner, ModelAverage* average);

    void GoBack() const;

private:
    Learner& m_learner;
    ModelAverage* m_average;
    std::vector<std::pair<std::shared_ptr<LearnableParameterNode>, Matrix>> m_parameters;
    std::vector<std::pair<std::shared_ptr<BatchNormalizationNode>, uint64_t>> m_normalizations;
    std::vector<Matrix> m_states;
    std::map<std::string, std::string> m_extra;
    std::map<std::string, Matrix> m_velocities;
};

} // namespace cntk
