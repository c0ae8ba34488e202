// Decides which learning rates (SearchBeforeEpoch) and minibatch sizes (autoAdjustMinibatch) trials try, and which one
// is chosen (book 3.3.1.2). The caller runs the trials.
#pragma once

#include "SGD/Schedules/Schedules.h"
#include "SGD/TrainingOptions.h"

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>

namespace cntk
{

// Runs the first samples of an epoch with this rate per sample, from the state with which the epoch begins. Returns the
// criterion per sample, or NaN if it became NaN or infinite. prefix: of the run's progress lines.
using RateTrial = std::function<double(const char* prefix, double rate)>;

struct RateSearchSettings
{
    size_t minibatchSize = 1;
    double sampleShare = 0.3; // sqrt(n/N) for n samples of a trial, N of the epoch
    double previousCriterion = std::numeric_limits<double>::infinity(); // of the epoch before; infinity: none
    double largestRateBefore = 0;                                       // chosen by searches; 0: none
    bool forBestRate = false;                      // the best rate instead of the largest that is good enough
    double smallestRate = 0.3 * c_minLearningRate; // the search ends below this rate
};

struct RateSearchResult
{
    double rate = 0;
    double baseCriterion = 0; // the limit for a rate that is good enough
};

RateSearchResult SearchLearningRate(const RateSearchSettings& settings, const RateTrial& trial);
// Lower end of the interval in which a search looks for the best rate. The upper end is the largest rate that is good
// enough; it may be smaller.
double SmallestBestRate(size_t minibatchSize);

// Runs a trial with this minibatch size; otherwise as RateTrial.
using SizeTrial = std::function<double(const char* prefix, size_t size)>;

struct SizeRange
{
    size_t lower = 1;
    size_t upper = 1;
};

// Returns none if this epoch keeps the previously chosen size. previousSize 0: none was chosen. rateRatio: the epoch's
// learning rate divided by the first one.
std::optional<SizeRange> PlanSizeSearch(const AutoAdjustOptions& options, size_t epoch, size_t nominalSize,
                                        size_t previousSize, double rateRatio);

struct SizeSearchResult
{
    size_t size = 0;
    double criterion = 0;
    double baseCriterion = 0; // of the smallest size
    bool isNumber = true;     // false: the smallest size gave NaN; it is kept, and no other was tried
};

// marginPercent: the criterion may be worse than that of the smallest size by so much. If lower > upper, takes upper
// without a trial. Sizes that round to the same number are all tried, as in CNTK v1.1.
SizeSearchResult SearchMinibatchSize(const SizeRange& range, double marginPercent, const SizeTrial& trial);

} // namespace cntk
