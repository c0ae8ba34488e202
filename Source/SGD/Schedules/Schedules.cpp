// Conversions of rates and momenta; single precision values are widened before anything is computed with them.
#include "SGD/Schedules/Schedules.h"

#include <cmath>

namespace cntk
{

namespace
{

constexpr double c_defaultMomentumPerMB = double(0.9f);

} // namespace

size_t NominalMinibatchSize(const SgdOptions& options, size_t size, size_t parallelSequences)
{
    return options.truncated && size > 1 ? size * parallelSequences : size;
}

size_t LearningRateCount(const SgdOptions& options)
{
    return options.learningRatesPerMB.empty() ? options.learningRatesPerSample.size()
                                              : options.learningRatesPerMB.size();
}

double LearningRatePerSample(const SgdOptions& options, size_t epoch, size_t nominalSize)
{
    if (!options.learningRatesPerMB.empty())
        return double(options.learningRatesPerMB[epoch] / float(nominalSize)); // in single precision, as the original
    if (!options.learningRatesPerSample.empty())
        return double(options.learningRatesPerSample[epoch]);
    return 0.5 / double(nominalSize);
}

double MomentumPerSample(const SgdOptions& options, size_t epoch, size_t nominalSize)
{
    if (!options.momentumPerSample.empty())
        return double(options.momentumPerSample[epoch]);
    if (!options.momentumAsTimeConstant.empty())
    {
        const auto samples = double(options.momentumAsTimeConstant[epoch]);
        return samples == 0 ? 0 : double(float(std::exp(-1 / samples)));
    }
    const double perMinibatch =
        options.momentumPerMB.empty() ? c_defaultMomentumPerMB : double(options.momentumPerMB[epoch]);
    return std::pow(perMinibatch, 1 / double(nominalSize));
}

double MomentumOfMinibatch(double momentumPerSample, size_t columns)
{
    return std::pow(momentumPerSample, double(columns));
}

double MomentumTimeConstant(double momentumPerSample)
{
    return momentumPerSample > 0 ? -1 / std::log(momentumPerSample) : 0;
}

bool SearchesLearningRate(const SgdOptions& options, size_t epoch)
{
    return options.autoAdjust.autoAdjustLR == LearningRateSearch::SearchBeforeEpoch &&
           epoch >= LearningRateCount(options);
}

bool SearchesMinibatchSize(const SgdOptions& options, size_t epoch)
{
    return options.autoAdjust.autoAdjustMinibatch && epoch >= options.minibatchSize.size();
}

} // namespace cntk
