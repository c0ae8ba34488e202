// Trials of learning rates and minibatch sizes.
#include "SGD/Trainer/TrainingSearch.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "ComputationNetwork/Nodes/BatchNormalizationNode.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace cntk
{

// State of the training before the trials: parameters, smoothed gradients and noise. It is held in memory, because
// reading model and checkpoint after each of some hundred trials would take a noticeable part of the search. Random
// streams of dropout are not restored, as in CNTK v1.1: each trial and then the epoch draw new masks.
class TrialStart
{
public:
    // Copies the current state. All objects must outlive this. average: null if workers do not average models.
    TrialStart(const TrainedNetworks& networks, Learner& learner, ModelAverage* average);

    void Restore() const;

private:
    Learner& m_learner;
    ModelAverage* m_average;
    std::vector<std::pair<std::shared_ptr<LearnableParameterNode>, Matrix>> m_parameters;
    std::vector<std::pair<std::shared_ptr<BatchNormalizationNode>, uint64_t>> m_normalizations;
    std::vector<Matrix> m_states;
    std::map<std::string, std::string> m_extra;
    std::map<std::string, Matrix> m_velocities;
};

TrialStart::TrialStart(const TrainedNetworks& networks, Learner& learner, ModelAverage* average)
    : m_learner(learner), m_average(average)
{
    for (const ComputationNetwork* network : networks)
        for (const ComputationNodePtr& node : network->Nodes())
        {
            if (auto normalization = std::dynamic_pointer_cast<BatchNormalizationNode>(node))
            {
                const uint64_t seen = normalization->Minibatches();
                m_normalizations.emplace_back(std::move(normalization), seen);
            }
            // Includes parameters that are not trained: forward passes change the statistics.
            if (auto parameter = std::dynamic_pointer_cast<LearnableParameterNode>(node))
            {
                Matrix values = parameter->Values().Clone();
                m_parameters.emplace_back(std::move(parameter), std::move(values));
            }
        }
    for (const Matrix* state : learner.States())
        m_states.push_back(state->Clone());
    learner.SaveExtra(m_extra);
    if (average != nullptr)
        m_velocities = average->Velocities();
}

void TrialStart::Restore() const
{
    for (const auto& [parameter, values] : m_parameters)
        parameter->Values().CopyFrom(values);
    for (const auto& [normalization, seen] : m_normalizations)
        normalization->SetMinibatches(seen);
    m_learner.CopyStates(m_states);
    m_learner.RestoreExtra(m_extra);
    if (m_average != nullptr)
        m_average->SetVelocities(m_velocities);
}

TrainingSearch::TrainingSearch(TrainingSetup& setup, TrainingState& state, const TrainingCheckpoints& checkpoints)
    : m_setup(setup), m_options(setup.options), m_log(setup.log), m_state(state), m_checkpoints(checkpoints)
{
}

void TrainingSearch::EndEpoch(size_t epoch)
{
    if (m_hasSearched)
        WarnOfLongTrials(epoch);
}

// A trial is an epoch of its own with the number of the following epoch: the reader delivers the samples of that epoch
// for an epoch size of so many samples.
size_t TrainingSearch::TrialSamples(size_t epoch) const
{
    const size_t minibatches = m_options.autoAdjust.numMiniBatch4LRSearch[epoch];
    const size_t size = m_options.minibatchSize[epoch];
    const size_t most = m_options.EpochSamples();
    return minibatches > most / size ? most : minibatches * size;
}

// True if a trial at the chosen rate does all that the epoch does: the same minibatches from the same state. False for
// shorter trials, with dropout masks, and if something else must happen before the epoch or in its minibatches.
bool TrainingSearch::BeginsWithTrial(size_t epoch) const
{
    return TrialSamples(epoch) == m_options.EpochSamples() && !SearchesMinibatchSize(m_options, epoch) &&
           !m_options.gradientCheck && !m_setup.dropout.DrawsMasks() && m_setup.tracer.Nodes().empty();
}

// Warns once. The samples of an epoch are known from epochSize or after the first epoch.
void TrainingSearch::WarnOfLongTrials(size_t epoch)
{
    const size_t samples = TrialSamples(epoch);
    const size_t whole = m_options.epochSize != 0 ? m_options.epochSize : m_state.epochSamples;
    if (m_hasWarnedOfTrials || whole == 0 || samples < whole)
        return;
    m_hasWarnedOfTrials = true;
    const size_t minibatches = std::max<size_t>(1, whole / m_options.minibatchSize[epoch]);
    m_log.Warn(Concat("a trial of a search goes over ", samples, " samples, and a whole epoch over ", whole,
                      ": the search takes several times as long as the training; give fewer minibatches for trials "
                      "(numMiniBatch4LRSearch, now ",
                      m_options.autoAdjust.numMiniBatch4LRSearch[epoch], "; an epoch has ", minibatches,
                      ", of which 10 to 20 % are usual)"));
}

// Returns the criterion per sample, negated if it is maximised; NaN if it became NaN or infinite.
double TrainingSearch::RunTrial(const TrialStart& start, size_t epoch, const char* prefix, double rate,
                                size_t minibatchSize)
{
    EpochSettings settings = SettingsOf(m_setup, m_state, epoch, m_options.minibatchSize[epoch]);
    settings.learningRatePerSample = rate;
    settings.minibatchSize = minibatchSize;
    settings.epochSize = TrialSamples(epoch);
    settings.continues = [this] { return !m_setup.StopRequested(); };
    m_setup.progress.BeginTrial(StartOf(m_setup, m_state, settings), prefix);
    start.Restore();
    EpochResult result = m_setup.RunLoop(settings);
    if (result.stopped)
    {
        m_log.ClearProgress();
        m_checkpoints.StopAfter(epoch, Concat("the search before epoch ", epoch + 1));
    }
    if (result.notFiniteAt && rate == 0) // no smaller rate can help
        FailNotFinite(m_setup, Concat("the search before epoch ", epoch + 1), rate, result);
    if (result.notFiniteAt)
    {
        result.averages.criterion = std::numeric_limits<double>::quiet_NaN();
        m_log.Print("The criterion of this trial is no number from minibatch %zu on: worse than any.\n",
                    *result.notFiniteAt);
    }
    m_setup.progress.EndTrial(result.averages, rate);
    return m_setup.ToBeLowered(result.averages.criterion);
}

// ---- the learning rate ----

RateSearchSettings TrainingSearch::RateSettings(size_t epoch) const
{
    const AutoAdjustOptions& options = m_options.autoAdjust;
    RateSearchSettings settings;
    settings.minibatchSize = m_options.minibatchSize[epoch];
    if (m_options.epochSize != 0)
        settings.sampleShare = std::sqrt(double(TrialSamples(epoch)) / double(m_options.epochSize));
    settings.previousCriterion = m_state.rate.previousCriterion;
    const bool isBeyond = epoch >= options.numBestSearchEpoch;
    settings.forBestRate = !isBeyond || options.learnRateSearchGoal == RateSearchGoal::Best;
    // The momentum of the previous epoch may make every small rate a little worse than rate 0; then no small rate would
    // be the best.
    if (isBeyond && settings.forBestRate)
        settings.smallestRate = SmallestBestRate(settings.minibatchSize);
    if (isBeyond && options.learnRateSearchGoal == RateSearchGoal::Improvement)
        settings.sampleShare = 0; // ignores the previous epoch's criterion
    const size_t count = std::min(options.numPrevLearnRates, m_state.searchedRates.size());
    for (size_t i = m_state.searchedRates.size() - count; i < m_state.searchedRates.size(); ++i)
        settings.largestRateBefore = std::max(settings.largestRateBefore, m_state.searchedRates[i]);
    return settings;
}

void TrainingSearch::FindRate(size_t epoch)
{
    const RateSearchSettings settings = RateSettings(epoch);
    WarnOfLongTrials(epoch);
    ExplainMomentum(epoch);
    const auto began = Progress::Clock::now();
    const TrialStart start(m_setup.networks, m_setup.learner, m_setup.average.get());
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
    m_endedInEpoch = BeginsWithTrial(epoch) && lastRate == found.rate && found.rate >= c_minLearningRate &&
                     !std::isnan(lastCriterion);
    const auto ended = m_endedInEpoch ? lastBegan : Progress::Clock::now();
    if (!m_endedInEpoch)
        start.Restore();
    m_log.Print("Best Learn Rate Per Sample for Epoch[%zu] = %.10g  baseCriterion=%.10g\n", epoch + 1, found.rate,
                m_setup.ToBeLowered(found.baseCriterion));
    m_log.Print("The search before epoch %zu: %zu trials in %.3f s%s\n", epoch + 1, trials,
                std::chrono::duration<double>(ended - began).count(),
                m_endedInEpoch ? " without the last one, which is the epoch itself" : "");
    if (found.rate < c_minLearningRate)
        WarnOfNoRate(epoch);
    m_state.rate.learningRatePerSample = found.rate;
    m_hasSearched = true;
    KeepRate(found.rate);
}

// Plain momentum's smoothed gradients contain the previous epoch's rate, which rates of trials do not scale. The states
// of all other rules contain only gradients.
bool TrainingSearch::TrialsInheritSteps(size_t epoch) const
{
    const double momentum = SettingsOf(m_setup, m_state, epoch, m_options.minibatchSize[epoch]).momentumPerSample;
    return epoch > 0 && momentum > 0 && m_options.gradUpdateType == GradientUpdateType::None && !m_options.useAdagrad;
}

void TrainingSearch::ExplainMomentum(size_t epoch)
{
    if (m_hasExplainedMomentum || !TrialsInheritSteps(epoch))
        return;
    m_hasExplainedMomentum = true;
    m_log.Print("Trials of learning rates begin with the momentum of the epoch before, as in CNTK v1.1. It moves the "
                "parameters even at rate 0, so a search may reject every rate. Expected momentumPerMB=0 with "
                "autoAdjustLR=searchBeforeEpoch.\n");
}

void TrainingSearch::WarnOfNoRate(size_t epoch)
{
    const std::string advice =
        TrialsInheritSteps(epoch)
            ? "trials begin with the momentum of the epoch before, which moves the parameters even at rate 0; give "
              "momentumPerMB=0, or the rates of these epochs (learningRatesPerSample)"
            : Concat("give the rate of this epoch (learningRatesPerSample), or longer trials (numMiniBatch4LRSearch, "
                     "now ",
                     m_options.autoAdjust.numMiniBatch4LRSearch[epoch], ")");
    m_log.Warn(Concat("the search before epoch ", epoch + 1, " of ", m_options.maxEpochs,
                      " rejected every learning rate, so the training ends here: ", advice));
}

// Keeps the last numPrevLearnRates rates for later searches.
void TrainingSearch::KeepRate(double rate)
{
    std::vector<double>& rates = m_state.searchedRates;
    rates.push_back(rate);
    if (rates.size() > std::max<size_t>(m_options.autoAdjust.numPrevLearnRates, 1))
        rates.erase(rates.begin());
}

// ---- the minibatch size ----

// Returns the rate relative to the first epoch, as the list or searches changed it. Ignores AdjustAfterEpoch, as CNTK
// v1.1 does.
double TrainingSearch::RateRatio(size_t epoch) const
{
    if (m_options.autoAdjust.autoAdjustLR == LearningRateSearch::SearchBeforeEpoch)
        return m_state.firstRate > 0 ? m_state.rate.learningRatePerSample / m_state.firstRate : 1;
    if (LearningRateCount(m_options) == 0)
        return 1;
    const auto rateOfList = [this](size_t of)
    { return LearningRatePerSample(m_options, of, m_setup.NominalSize(of, m_options.minibatchSize[of])); };
    return rateOfList(epoch) / rateOfList(0);
}

void TrainingSearch::FindMinibatchSize(size_t epoch)
{
    const AutoAdjustOptions& options = m_options.autoAdjust;
    // 0: the previous size is from the list, not from a search.
    const size_t chosenBefore = epoch > m_options.minibatchSize.size() ? m_state.minibatchSize : 0;
    const auto range = PlanSizeSearch(options, epoch, m_options.minibatchSize[epoch], chosenBefore, RateRatio(epoch));
    if (!range)
    {
        m_log.Print("AdaptiveMinibatchSearch: Search for a better minibatchSize in epoch %zu skipped, keeping "
                    "minibatchSize of %zu\n",
                    epoch + 1, m_state.minibatchSize);
        return;
    }
    WarnOfLongTrials(epoch);
    const TrialStart start(m_setup.networks, m_setup.learner, m_setup.average.get());
    size_t trials = 0;
    const SizeSearchResult found =
        SearchMinibatchSize(*range, options.minibatchSearchCriterionErrorMargin,
                            [&](const char* prefix, size_t size)
                            {
                                ++trials;
                                m_log.Print("AdaptiveMinibatchSearch: Evaluating trial minibatchSize=%zu out of range "
                                            "%zu..%zu ...\n",
                                            size, range->lower, range->upper);
                                return RunTrial(start, epoch, prefix, m_state.rate.learningRatePerSample, size);
                            });
    start.Restore();
    m_state.minibatchSize = found.size;
    if (trials == 0)
        m_log.Print("AdaptiveMinibatchSearch: No size is tried: the smallest one, %zu, is above the largest one, %zu, "
                    "which is taken.\n",
                    range->lower, range->upper);
    else
        ReportSizeSearch(epoch, found);
}

void TrainingSearch::ReportSizeSearch(size_t epoch, const SizeSearchResult& found)
{
    // The default of minibatchSizeTuningMax is 1048576, as in CNTK v1.1.
    if (const size_t samples = TrialSamples(epoch); found.size > samples)
        m_log.Warn(Concat("the search for a minibatch size had trials of ", samples, " samples, which tell nothing of ",
                          "sizes above that: each such trial is one minibatch, measured before its update; give a ",
                          "smaller minibatchSizeTuningMax, or more minibatches for trials (numMiniBatch4LRSearch)"));
    if (!found.isNumber)
        m_log.Warn(Concat("AdaptiveMinibatchSearch: Search failed before epoch ", epoch + 1,
                          ": the criterion is no number already with the smallest size, ", found.size,
                          ", which is kept; a smaller learning rate may help (now ", m_state.rate.learningRatePerSample,
                          " per sample)"));
    else
        m_log.Print("AdaptiveMinibatchSearch: Search successful. New minibatchSize is %zu. EpochCriterion = %.10g vs "
                    "BaseCriterion = %.10g\n",
                    found.size, m_setup.ToBeLowered(found.criterion), m_setup.ToBeLowered(found.baseCriterion));
}

} // namespace cntk
