// The trial runs before an epoch that find its learning rate or minibatch size.
#include "Common/Error.h"
#include "Common/Log.h"
#include "ComputationNetwork/Nodes/BatchNormalizationNode.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "SGD/Schedules.h"
#include "SGD/Training.h"
#include "SGD/TrialSearch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace cntk
{

// A trial is an epoch of its own, of the same number as the one in front of which it runs: the reader is asked for so
// many samples and has it begin where epochs of that size do, and it ends where they end.
size_t Training::TrialSamples(size_t epoch) const
{
    const size_t minibatches = m_options.autoAdjust.numMiniBatch4LRSearch[epoch];
    const size_t size = m_options.minibatchSize[epoch];
    const size_t most = m_options.EpochSamples();
    return minibatches > most / size ? most : minibatches * size;
}

// Parameters, smoothed gradients and random streams as the epoch begins with them. They are kept in memory: to read the
// model and the checkpoint again after each of some hundred trials takes a noticeable part of the search.
struct Training::TrialStart
{
    std::vector<std::pair<std::shared_ptr<LearnableParameterNode>, Matrix>> parameters;
    std::vector<std::pair<std::shared_ptr<BatchNormalizationNode>, uint64_t>> normalizations;
    std::vector<Matrix> states;
    std::map<std::string, std::string> extra;
};

Training::TrialStart Training::KeepStart()
{
    TrialStart start;
    std::vector<const ComputationNetwork*> networks(m_encoders.begin(), m_encoders.end());
    networks.push_back(&m_network);
    for (const ComputationNetwork* network : networks)
        for (const ComputationNodePtr& node : network->Nodes())
        {
            if (auto normalization = std::dynamic_pointer_cast<BatchNormalizationNode>(node))
            {
                const uint64_t seen = normalization->Minibatches();
                start.normalizations.emplace_back(std::move(normalization), seen);
            }
            // Those that are not trained too: statistics change as the network is evaluated.
            if (auto parameter = std::dynamic_pointer_cast<LearnableParameterNode>(node))
            {
                Matrix values = parameter->Values().Clone();
                start.parameters.emplace_back(std::move(parameter), std::move(values));
            }
        }
    for (const Matrix* state : m_learner.States())
        start.states.push_back(state->Clone());
    m_learner.SaveExtra(start.extra);
    m_dropout.SaveExtra(start.extra);
    return start;
}

void Training::GoBackTo(const TrialStart& start)
{
    for (const auto& [parameter, values] : start.parameters)
        parameter->Values().CopyFrom(values);
    for (const auto& [normalization, seen] : start.normalizations)
        normalization->SetMinibatches(seen);
    m_learner.CopyStates(start.states);
    m_learner.RestoreExtra(start.extra);
    m_dropout.RestoreExtra(start.extra);
}

// A trial as long as the epoch, with the rate that is taken, does what the epoch would do: the same minibatches from
// the same state. Only where nothing else is to happen in front of the epoch, or in its minibatches.
bool Training::BeginsWithTrial(size_t epoch) const
{
    const bool searchesSize = m_options.autoAdjust.autoAdjustMinibatch && epoch >= m_options.minibatchSize.size();
    return TrialSamples(epoch) == m_options.EpochSamples() && !searchesSize && !m_options.gradientCheck &&
           m_tracer.Nodes().empty();
}

double Training::RunTrial(const TrialStart& start, size_t epoch, const char* prefix, double rate, size_t minibatchSize)
{
    GoBackTo(start);
    EpochSettings settings = SettingsOf(epoch);
    settings.learningRatePerSample = rate;
    settings.minibatchSize = minibatchSize;
    settings.epochSize = TrialSamples(epoch);
    settings.goesOn = [this] { return !StopRequested(); };
    m_progress.BeginTrial(StartOf(settings), prefix);
    EpochResult result = m_loop.Run(settings);
    if (result.stopped)
        Stop(Concat("the search before epoch ", epoch + 1), m_files.Model(epoch));
    if (result.notFiniteAt && rate == 0) // no rate is to blame, and none will be better
        FailNotFinite(Concat("the search before epoch ", epoch + 1), rate, result);
    if (result.notFiniteAt)
        result.averages.criterion = std::numeric_limits<double>::quiet_NaN();
    m_progress.EndTrial(result.averages, rate);
    return result.averages.criterion;
}

void Training::SearchRate(size_t epoch)
{
    const AutoAdjustOptions& options = m_options.autoAdjust;
    RateSearchSettings settings;
    settings.minibatchSize = m_options.minibatchSize[epoch];
    if (m_options.epochSize != 0)
        settings.sampleShare = std::sqrt(double(TrialSamples(epoch)) / double(m_options.epochSize));
    settings.previousCriterion = m_rate.previousCriterion;
    const bool isBeyond = epoch >= options.numBestSearchEpoch;
    settings.forBestRate = !isBeyond || options.learnRateSearchGoal == RateSearchGoal::Best;
    // The momentum of the epoch before may make every small rate a little worse than none at all, and so no small one
    // would be the best.
    if (isBeyond && settings.forBestRate)
        settings.smallestRate = SmallestBestRate(settings.minibatchSize);
    if (isBeyond && options.learnRateSearchGoal == RateSearchGoal::Improvement)
        settings.sampleShare = 0; // the last epoch's criterion does not count
    const size_t count = std::min(options.numPrevLearnRates, m_searchedRates.size());
    for (size_t i = m_searchedRates.size() - count; i < m_searchedRates.size(); ++i)
        settings.largestRateBefore = std::max(settings.largestRateBefore, m_searchedRates[i]);

    const auto began = Progress::Clock::now();
    const TrialStart start = KeepStart();
    size_t trials = 0;
    double lastRate = 0, lastCriterion = 0;
    auto lastBegan = began;
    const RateSearchResult found =
        SearchLearningRate(settings,
                           [&](const char* prefix, double rate)
                           {
                               ++trials;
                               lastBegan = Progress::Clock::now();
                               lastRate = rate;
                               lastCriterion = RunTrial(start, epoch, prefix, rate, settings.minibatchSize);
                               return lastCriterion;
                           });
    m_goesOnFromTrial = BeginsWithTrial(epoch) && lastRate == found.rate && found.rate >= c_minLearningRate &&
                        !std::isnan(lastCriterion);
    const auto ended = m_goesOnFromTrial ? lastBegan : Progress::Clock::now();
    if (!m_goesOnFromTrial)
        GoBackTo(start);
    m_log.Print("Best Learn Rate Per Sample for Epoch[%zu] = %.10g  baseCriterion=%.10g\n", epoch + 1, found.rate,
                found.baseCriterion);
    m_log.Print("The search before epoch %zu: %zu trials in %.3f s%s\n", epoch + 1, trials,
                std::chrono::duration<double>(ended - began).count(),
                m_goesOnFromTrial ? " without the last one, which is the epoch itself" : "");
    if (epoch == 0 && found.rate < c_minLearningRate)
        m_log.Warn(Concat("no learning rate that was tried before the first epoch was as good as none: nothing is "
                          "trained; give the first epoch's rate (learningRatesPerSample), or longer trials "
                          "(numMiniBatch4LRSearch, now ",
                          options.numMiniBatch4LRSearch[epoch], ")"));
    m_rate.learningRatePerSample = found.rate;
    m_searchedRates.push_back(found.rate);
    if (m_searchedRates.size() > std::max<size_t>(options.numPrevLearnRates, 1))
        m_searchedRates.erase(m_searchedRates.begin());
}

void Training::SearchSize(size_t epoch)
{
    const AutoAdjustOptions& options = m_options.autoAdjust;
    const double ratio = m_firstRate > 0 ? m_rate.learningRatePerSample / m_firstRate : 1;
    const auto range = PlanSizeSearch(options, epoch, m_options.minibatchSize[epoch], m_minibatchSize, ratio);
    if (!range)
    {
        m_log.Print("AdaptiveMinibatchSearch: Search for a better minibatchSize in epoch %zu skipped, keeping "
                    "minibatchSize of %zu\n",
                    epoch + 1, m_minibatchSize);
        return;
    }
    const TrialStart start = KeepStart();
    size_t trials = 0;
    const SizeSearchResult found =
        SearchMinibatchSize(*range, options.minibatchSearchCriterionErrorMargin,
                            [&](const char* prefix, size_t size)
                            {
                                ++trials;
                                m_log.Print("AdaptiveMinibatchSearch: Evaluating trial minibatchSize=%zu out of range "
                                            "%zu..%zu ...\n",
                                            size, range->lower, range->upper);
                                return RunTrial(start, epoch, prefix, m_rate.learningRatePerSample, size);
                            });
    GoBackTo(start);
    m_minibatchSize = found.size;
    if (trials == 0) // the line below is the original's all the same
        m_log.Print(
            "AdaptiveMinibatchSearch: No size is tried: the smallest one, %zu, is above the largest one, %zu.\n",
            range->lower, range->upper);
    // As in the original, whose largest size is 1048576 where nobody says another.
    else if (const size_t samples = TrialSamples(epoch); found.size > samples)
        m_log.Warn(Concat("the search for a minibatch size had trials of ", samples, " samples, which tell nothing of ",
                          "sizes above that: each such trial is one minibatch, measured before its update; give a ",
                          "smaller minibatchSizeTuningMax, or more minibatches for trials (numMiniBatch4LRSearch)"));
    m_log.Print("AdaptiveMinibatchSearch: Search successful. New minibatchSize is %zu. EpochCriterion = %.10g vs "
                "BaseCriterion = %.10g\n",
                found.size, found.criterion, found.baseCriterion);
}

} // namespace cntk
