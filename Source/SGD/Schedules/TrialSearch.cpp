// The arithmetic of the two searches.
#include "SGD/Schedules/TrialSearch.h"

#include "SGD/Schedules/Schedules.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

namespace
{

constexpr double c_rateStep = 0.618;
// Searches begin with quotients of single precision constants, as in CNTK v1.1: its 0.03952847264 for minibatches of
// 10 differs from 0.125/sqrt(10).
constexpr float c_backStep = 0.618F;
constexpr float c_firstRate = 0.125F / c_backStep;

// NaN is worse than any number, but not worse than NaN.
bool IsWorse(double criterion, double limit)
{
    return !(criterion <= limit) && !std::isnan(limit);
}

// Rounds to a multiple of 64, which suits the hardware; sizes below 32 stay unchanged.
size_t RoundSize(double size)
{
    const auto rounded = size_t(std::floor(size / 64 + 0.5)) * 64;
    return rounded == 0 ? std::max<size_t>(1, size_t(size + 0.5)) : rounded;
}

// Narrows [left, right] at the worse end until right <= 1.2 left.
double FindBestRate(double right, double rightCriterion, double left, const RateTrial& trial)
{
    double leftCriterion = trial("DetailBaseAdaptiveLearnRateSearch:", left);
    while (right > 1.2 * left)
    {
        if (IsWorse(rightCriterion, leftCriterion))
        {
            right *= c_rateStep;
            rightCriterion = trial("DetailRightAdaptiveLearnRateSearch:", right);
        }
        else
        {
            left /= c_rateStep;
            leftCriterion = trial("DetailLeftAdaptiveLearnRateSearch:", left);
        }
    }
    return IsWorse(rightCriterion, leftCriterion) ? left : right;
}

} // namespace

double SmallestBestRate(size_t minibatchSize)
{
    return 0.01 / double(minibatchSize);
}

RateSearchResult SearchLearningRate(const RateSearchSettings& settings, const RateTrial& trial)
{
    const double atRest = trial("BaseAdaptiveLearnRateSearch:", 0);
    const double previous = std::isfinite(settings.previousCriterion) ? settings.previousCriterion : atRest;
    const double share = settings.sampleShare;
    RateSearchResult result;
    result.baseCriterion = std::max(share * previous + (1 - share) * atRest, atRest);

    result.rate = settings.largestRateBefore > 0 ? settings.largestRateBefore / double(c_backStep) / double(c_backStep)
                                                 : double(c_firstRate) / std::sqrt(double(settings.minibatchSize));
    double criterion = 0;
    do
    {
        result.rate *= c_rateStep;
        criterion = trial("AdaptiveLearnRateSearch:", result.rate);
    } while (IsWorse(criterion, result.baseCriterion) && result.rate > settings.smallestRate);
    // FindBestRate never keeps a rate that is worse than both ends, so the best rate is good enough too.
    if (settings.forBestRate)
        result.rate = FindBestRate(result.rate, criterion, SmallestBestRate(settings.minibatchSize), trial);
    return result;
}

std::optional<SizeRange> PlanSizeSearch(const AutoAdjustOptions& options, size_t epoch, size_t nominalSize,
                                        size_t previousSize, double rateRatio)
{
    SizeRange range{nominalSize, options.minibatchSizeTuningMax};
    // A smaller rate bears larger minibatches.
    if (rateRatio > 0 && rateRatio < 1)
        range.lower = size_t(double(nominalSize) / std::sqrt(rateRatio));
    if (previousSize == 0 || epoch < 2)
        return range;
    const size_t frequency = options.minibatchSizeTuningFrequency;
    if (epoch + 1 > frequency && (epoch + 1) % frequency != 0)
        return std::nullopt;
    range.lower = std::max(range.lower, previousSize / 2);
    range.upper = std::min(range.upper, 2 * previousSize);
    return range;
}

SizeSearchResult SearchMinibatchSize(const SizeRange& range, double marginPercent, const SizeTrial& trial)
{
    SizeSearchResult result;
    result.size = range.upper;
    bool isFirst = true;
    const double limit = double(range.upper) * (1 + 1e-9); // twice the square root of two is a little more than two
    // Like CNTK v1.1, tries 64 twice on the way to 128, and may round the last size to one above the limit.
    for (double exact = double(range.lower); exact <= limit; exact *= std::sqrt(2.0))
    {
        const size_t size = RoundSize(exact);
        const double criterion = trial(isFirst ? "BaseAdaptiveMinibatchSearch:" : "AdaptiveMinibatchSearch:", size);
        if (isFirst)
            result.baseCriterion = criterion;
        else if (IsWorse(criterion,
                         result.baseCriterion * (1 + std::copysign(marginPercent / 100, result.baseCriterion))))
            break;
        isFirst = false;
        result.size = size;
        result.criterion = criterion;
        result.isNumber = !std::isnan(criterion);
        if (!result.isNumber)
            break;
    }
    return result;
}

} // namespace cntk
