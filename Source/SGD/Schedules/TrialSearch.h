// SearchBeforeEpoch and autoAdjustMinibatch (book 3.3.1.2): which rates and sizes are tried, and which is chosen. The
// short runs themselves are somebody else's.
#pragma once

#include "SGD/Schedules/Schedules.h"
#include "SGD/TrainingOptions.h"

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>

namespace cntk
{

// One run over the first samples of an epoch with this rate per sample, from the state with which the epoch begins:
// the criterion per sample, NaN where it left the numbers. prefix: of the run's progress lines.
using RateTrial = std::function<double(const char* prefix, double rate)>;

struct RateSearchSettings
{
    size_t minibatchSize = 1;
    double sampleShare = 0.3; // sqrt(n/N) of the run's and the epoch's samples
    double previousCriterion = std::numeric_limits<double>::infinity(); // of the epoch before; infinity: none
    double largestRateBefore = 0;                                       // chosen by searches; 0: none
    bool forBestRate = false;                      // the best rate instead of the largest that is good enough
    double smallestRate = 0.3 * c_minLearningRate; // where the search for one that is good enough gives up
};

struct RateSearchResult
{
    double rate = 0;
    double baseCriterion = 0; // what is good enough
};

RateSearchResult SearchLearningRate(const RateSearchSettings& settings, const RateTrial& trial);
// Where the interval of a search for the best rate begins. It ends at the largest rate that is good enough, which may
// be smaller.
double SmallestBestRate(size_t minibatchSize);

// The same with a minibatch size.
using SizeTrial = std::function<double(const char* prefix, size_t size)>;

struct SizeRange
{
    size_t lower = 1;
    size_t upper = 1;
};

// Nothing: the size chosen before is kept in this epoch. previousSize 0: none was chosen. rateRatio: the epoch's
// learning rate in terms of the first one.
std::optional<SizeRange> PlanSizeSearch(const AutoAdjustOptions& options, size_t epoch, size_t nominalSize,
                                        size_t previousSize, double rateRatio);

struct SizeSearchResult
{
    size_t size = 0;
    double criterion = 0;
    double baseCriterion = 0; // of the smallest size
    bool isNumber = true;     // false: the smallest size's criterion was none; it is kept, and no other was tried
};

// marginPercent: by so much the criterion may be worse than that of the smallest size. Where lower > upper, upper is
// taken without any run. Sizes that round to the same number are tried each, as the original does.
SizeSearchResult SearchMinibatchSize(const SizeRange& range, double marginPercent, const SizeTrial& trial);

} // namespace cntk
