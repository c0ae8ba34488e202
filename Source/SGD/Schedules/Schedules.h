// From what the user wrote per epoch to what one update needs (book 3.3.1.2). Pure functions.
#pragma once

#include "SGD/TrainingOptions.h"

#include <cstddef>

namespace cntk
{

// Rates below this per sample end the training; a single precision constant in the original.
constexpr double c_minLearningRate = double(1e-9f);
// Below this no update is made at all, and no back-propagation for it.
constexpr double c_noUpdateLearningRate = 0.01 * c_minLearningRate;

// The columns of a whole minibatch of this size (B of the conversions): truncated sequences are cut into so many time
// steps of the reader's parallel ones.
size_t NominalMinibatchSize(const SgdOptions& options, size_t size, size_t parallelSequences = 1);

// How many epochs the list of rates covers as written. 0: no list.
size_t LearningRateCount(const SgdOptions& options);
// The list's rate; the default 0.5/B without a list.
double LearningRatePerSample(const SgdOptions& options, size_t epoch, size_t nominalSize);

double MomentumPerSample(const SgdOptions& options, size_t epoch, size_t nominalSize);
// Momentum of an update over so many columns (gaps included): a short minibatch gets a larger one.
double MomentumOfMinibatch(double momentumPerSample, size_t columns);
// In samples; 0 without momentum. For the log.
double MomentumTimeConstant(double momentumPerSample);

// Whether trials in front of the epoch choose its rate, or its minibatch size: it is behind the lists.
bool SearchesLearningRate(const SgdOptions& options, size_t epoch);
bool SearchesMinibatchSize(const SgdOptions& options, size_t epoch);

} // namespace cntk
