#include "SGD/Search/TrainingSearch.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "SGD/CheckpointExtra.h"
#include "SGD/Files/ResumePoint.h"
#include "SGD/Schedules/Schedules.h"
#include "SGD/Search/TrialSettings.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

namespace cntk
{

namespace
{

// In the extra part of checkpoints.
constexpr const char* c_trialsKey = "searchTrials";
constexpr const char* c_settingsKey = "searchSettings";

std::string AsksForOthers(size_t epoch)
{
    return Concat("the search before epoch ", epoch + 1,
                  " asks for another trial than before the training was stopped (were options changed?)");
}

} // namespace

TrainingSearch::TrainingSearch(TrainingParts& parts, TrainingState& state, TrainingCheckpoints& checkpoints)
    : m_parts(parts), m_options(parts.options), m_log(parts.log), m_state(state), m_checkpoints(checkpoints)
{
}

bool TrainingSearch::BeginEpoch()
{
    Forget(0);
    return std::exchange(m_endedInEpoch, false);
}

void TrainingSearch::EndEpoch(size_t epoch)
{
    if (m_hasSearched)
        WarnOfLongTrials(epoch);
}

// A trial is an epoch of its own, of the same number as the one in front of which it runs: the reader is asked for so
// many samples and has it begin where epochs of that size do, and it ends where they end.
size_t TrainingSearch::TrialSamples(size_t epoch) const
{
    const size_t minibatches = m_options.autoAdjust.numMiniBatch4LRSearch[epoch];
    const size_t size = m_options.minibatchSize[epoch];
    const size_t most = m_options.EpochSamples();
    return minibatches > most / size ? most : minibatches * size;
}

TrialStart TrainingSearch::KeepStart()
{
    return TrialStart(m_parts.networks, m_parts.learner, m_parts.average.get());
}

// A trial as long as the epoch, with the rate that is taken, does what the epoch would do: the same minibatches from
// the same state; not the same masks of dropout. Only where nothing else is to happen in front of the epoch, or in its
// minibatches.
bool TrainingSearch::BeginsWithTrial(size_t epoch) const
{
    return TrialSamples(epoch) == m_options.EpochSamples() && !SearchesMinibatchSize(m_options, epoch) &&
           !m_options.gradientCheck && !m_parts.dropout.DrawsMasks() && m_parts.tracer.Nodes().empty();
}

// Once. How many samples an epoch has is known when one was finished, or epochSize says it.
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

// ---- the runs ----

// Trials that were done before the training was stopped are known; the one within which it was stopped goes on there.
TrainingSearch::TrialResult TrainingSearch::RunTrial(const TrialStart& start, size_t epoch, const char* prefix,
                                                     double rate, size_t minibatchSize)
{
    EpochSettings settings = SettingsOf(m_parts, m_state, epoch, m_options.minibatchSize[epoch]);
    settings.learningRatePerSample = rate;
    settings.minibatchSize = minibatchSize;
    settings.epochSize = TrialSamples(epoch);
    m_parts.progress.BeginTrial(StartOf(m_parts, m_state, settings), prefix);
    Trial trial{rate, minibatchSize, settings.epochSize};
    if (IsKnown(trial, epoch))
    {
        const CriterionAverages& averages = m_trials.Take().averages;
        m_parts.progress.EndTrial(averages, rate);
        return {.criterion = m_parts.ToBeLowered(averages.criterion), .wasKnown = true};
    }
    start.GoBack();
    TakeUp(start, trial, settings);
    settings.goesOn = [&]
    {
        if (m_parts.StopRequested())
            return false;
        if (m_checkpoints.IsSaveDue() && m_parts.loop.IsFiniteSoFar())
            Save(epoch, trial);
        return true;
    };
    EpochResult result = m_parts.RunLoop(settings);
    if (result.stopped)
    {
        m_log.ClearProgress();
        Save(epoch, trial);
        const WithinEpochPoint& point = *m_checkpoints.LastWithin();
        m_checkpoints.StopWithin(Concat("the search before epoch ", epoch + 1, ", trial ", point.trial,
                                        ", after minibatch ", point.minibatches));
    }
    if (result.notFiniteAt && rate == 0) // no rate is to blame, and none will be better
        FailNotFinite(m_parts, Concat("the search before epoch ", epoch + 1), rate, result);
    if (result.notFiniteAt)
    {
        result.averages.criterion = std::numeric_limits<double>::quiet_NaN();
        m_log.Print("The criterion of this trial is no number from minibatch %zu on: worse than any.\n",
                    *result.notFiniteAt);
    }
    m_parts.progress.EndTrial(result.averages, rate);
    trial.averages = result.averages;
    m_trials.Add(std::move(trial));
    return {.criterion = m_parts.ToBeLowered(result.averages.criterion), .wasKnown = false};
}

// All but the first ones.
void TrainingSearch::Forget(size_t count)
{
    m_trials.Keep(count);
    m_begun.reset();
}

// What was saved of the search is no use from this trial on (counted from 1).
void TrainingSearch::BeginAnew(const std::string& why, size_t trial)
{
    m_log.Warn(Concat(why, "; the search goes on with trial ", trial, ", without what was found from there on"));
    Forget(trial - 1);
    m_checkpoints.RemoveWithin();
}

// Searches that are taken up again ask for the same trials in the same order, unless options were changed.
bool TrainingSearch::IsKnown(const Trial& trial, size_t epoch)
{
    const KnownTrials::Next next = m_trials.Find(trial);
    if (next == KnownTrials::Next::Other)
        BeginAnew(AsksForOthers(epoch), m_trials.Asked() + 1);
    return next == KnownTrials::Next::Known;
}

// Has the trial go on where it was stopped, if it was.
void TrainingSearch::TakeUp(const TrialStart& start, const Trial& trial, EpochSettings& settings)
{
    if (!m_begun)
        return;
    BegunTrial from = std::move(*m_begun);
    m_begun.reset();
    if (!from.trial.IsSame(trial))
        return BeginAnew(AsksForOthers(settings.epoch), from.point.trial);
    try
    {
        ReloadModels(m_parts.networks, m_parts.files, m_parts.files.Model(from.point));
        m_parts.learner.Restore(std::move(from.checkpoint.smoothedGradients), m_parts.files.Checkpoint(from.point));
        if (m_parts.average)
            m_parts.average->SetVelocities(from.checkpoint.blockVelocities);
    }
    catch (const Error& error)
    {
        if (error.Kind() != ErrorKind::Model)
            throw;
        BeginAnew(Concat("'", m_parts.files.Model(from.point), "' cannot be used: ", error.Message()),
                  from.point.trial);
        return start.GoBack();
    }
    const auto& extra = from.checkpoint.info.extra;
    m_parts.learner.RestoreExtra(extra);
    m_parts.dropout.RestoreExtra(extra, m_parts.Rank());
    PositionWithin within = PositionIn(from.checkpoint.info);
    settings.from = m_checkpoints.OwnPosition(within);
    settings.beforeFirst = [this, delays = std::move(within.delays)] { m_checkpoints.RestoreDelays(delays); };
    m_log.Print("Going on behind minibatch %zu of the trial.\n", from.point.minibatches);
}

// The trial that runs is the last.
void TrainingSearch::Save(size_t epoch, const Trial& trial)
{
    CheckpointInfo info = m_checkpoints.InfoWithin(epoch);
    std::vector<Trial> trials = m_trials.All();
    trials.push_back(trial);
    info.extra[c_trialsKey] = ExactTexts(NumbersOfTrials(trials));
    info.extra[c_settingsKey] = TextOfSettings(TrialSettingsOf(m_options, epoch));
    m_checkpoints.SaveWithin(epoch, info, trials.size());
}

// Said of the checkpoint; "" where the search can go on with it. trials: that it knows.
std::string TrainingSearch::WhyUnusable(const WithinEpochPoint& point, const Checkpoint& checkpoint,
                                        size_t trials) const
{
    const auto& extra = checkpoint.info.extra;
    const uint64_t seed = m_parts.request.trainingSeed;
    if (const std::string other = m_parts.learner.OtherRuleIn(extra); !other.empty())
        return Concat("is of a training with gradUpdateType=", other);
    if (TextOf(extra, c_trainingSeedKey) != (seed == 0 ? "" : std::to_string(seed)))
        return "is of a training with another trainingSeed";
    if (trials != point.trial)
        return "does not say which trials were done";
    const std::string others =
        DifferenceFrom(TextOf(extra, c_settingsKey), TrialSettingsOf(m_options, point.epochsDone));
    return others.empty() ? "" : Concat("has trials that were made with ", others);
}

void TrainingSearch::GoOnIn(const WithinEpochPoint& point, Checkpoint checkpoint)
{
    m_checkpoints.TakeUp(point);
    if (!SearchesLearningRate(m_options, point.epochsDone) && !SearchesMinibatchSize(m_options, point.epochsDone))
    {
        m_log.Warn(Concat("'", m_parts.files.Checkpoint(point), "' is of a search before epoch ", point.epochsDone + 1,
                          ", which the options do not ask for any more; what it has found is not used"));
        return m_checkpoints.RemoveWithin();
    }
    std::vector<Trial> trials = TrialsOfNumbers(NumbersOf(checkpoint.info.extra, c_trialsKey));
    if (const std::string why = WhyUnusable(point, checkpoint, trials.size()); !why.empty())
        return BeginAnew(Concat("'", m_parts.files.Checkpoint(point), "' ", why), 1);
    m_begun = BegunTrial{std::move(trials.back()), point, std::move(checkpoint)};
    trials.pop_back();
    m_log.Print("Going on with the search before epoch %zu: %zu trials are known, trial %zu goes on.\n",
                point.epochsDone + 1, trials.size(), point.trial);
    m_trials = KnownTrials(std::move(trials));
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
    // The momentum of the epoch before may make every small rate a little worse than none at all, and so no small one
    // would be the best.
    if (isBeyond && settings.forBestRate)
        settings.smallestRate = SmallestBestRate(settings.minibatchSize);
    if (isBeyond && options.learnRateSearchGoal == RateSearchGoal::Improvement)
        settings.sampleShare = 0; // the last epoch's criterion does not count
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
    const TrialStart start = KeepStart();
    size_t trials = 0;
    double lastRate = 0;
    TrialResult last;
    auto lastBegan = began;
    const RateSearchResult found =
        SearchLearningRate(settings,
                           [&](const char* prefix, double rate)
                           {
                               ++trials;
                               lastBegan = Progress::Clock::now();
                               lastRate = rate;
                               last = RunTrial(start, epoch, prefix, rate, settings.minibatchSize);
                               return last.criterion;
                           });
    m_endedInEpoch = !last.wasKnown && BeginsWithTrial(epoch) && lastRate == found.rate &&
                     found.rate >= c_minLearningRate && !std::isnan(last.criterion);
    const auto ended = m_endedInEpoch ? lastBegan : Progress::Clock::now();
    if (!m_endedInEpoch)
        start.GoBack();
    m_log.Print("Best Learn Rate Per Sample for Epoch[%zu] = %.10g  baseCriterion=%.10g\n", epoch + 1, found.rate,
                m_parts.ToBeLowered(found.baseCriterion));
    m_log.Print("The search before epoch %zu: %zu trials in %.3f s%s\n", epoch + 1, trials,
                std::chrono::duration<double>(ended - began).count(),
                m_endedInEpoch ? " without the last one, which is the epoch itself" : "");
    if (found.rate < c_minLearningRate)
        WarnOfNoRate(epoch);
    m_state.rate.learningRatePerSample = found.rate;
    m_hasSearched = true;
    KeepRate(found.rate);
}

// The state of plain momentum contains the rate of the epoch before, which rates of trials do not scale. The states of
// all other rules contain gradients alone.
bool TrainingSearch::TrialsInheritSteps(size_t epoch) const
{
    const double momentum = SettingsOf(m_parts, m_state, epoch, m_options.minibatchSize[epoch]).momentumPerSample;
    return epoch > 0 && momentum > 0 && m_options.gradUpdateType == GradientUpdateType::None && !m_options.useAdagrad;
}

void TrainingSearch::ExplainMomentum(size_t epoch)
{
    if (m_hasExplainedMomentum || !TrialsInheritSteps(epoch))
        return;
    m_hasExplainedMomentum = true;
    m_log.Print("Trials of learning rates begin with the momentum of the epoch before, as in CNTK v1.1. It moves the "
                "parameters at any rate, so a search may reject every rate. Expected momentumPerMB=0 with "
                "autoAdjustLR=searchBeforeEpoch.\n");
}

void TrainingSearch::WarnOfNoRate(size_t epoch)
{
    const std::string advice =
        TrialsInheritSteps(epoch)
            ? "trials begin with the momentum of the epoch before, which moves the parameters at any rate; give "
              "momentumPerMB=0, or the rates of these epochs (learningRatesPerSample)"
            : Concat("give the rate of this epoch (learningRatesPerSample), or longer trials (numMiniBatch4LRSearch, "
                     "now ",
                     m_options.autoAdjust.numMiniBatch4LRSearch[epoch], ")");
    m_log.Warn(Concat("the search before epoch ", epoch + 1, " of ", m_options.maxEpochs,
                      " rejected every learning rate, so the training ends here: ", advice));
}

// For the searches to come, as many as ask for them.
void TrainingSearch::KeepRate(double rate)
{
    std::vector<double>& rates = m_state.searchedRates;
    rates.push_back(rate);
    if (rates.size() > std::max<size_t>(m_options.autoAdjust.numPrevLearnRates, 1))
        rates.erase(rates.begin());
}

// ---- the minibatch size ----

// How far the rate fell by the list, or by searches. As in the original it does not count what AdjustAfterEpoch did.
double TrainingSearch::RateRatio(size_t epoch) const
{
    if (m_options.autoAdjust.autoAdjustLR == LearningRateSearch::SearchBeforeEpoch)
        return m_state.firstRate > 0 ? m_state.rate.learningRatePerSample / m_state.firstRate : 1;
    if (LearningRateCount(m_options) == 0)
        return 1;
    const auto rateOfList = [this](size_t of)
    { return LearningRatePerSample(m_options, of, NominalSizeOf(m_parts, of, m_options.minibatchSize[of])); };
    return rateOfList(epoch) / rateOfList(0);
}

void TrainingSearch::FindMinibatchSize(size_t epoch)
{
    const AutoAdjustOptions& options = m_options.autoAdjust;
    // A size of the list was not chosen.
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
    const TrialStart start = KeepStart();
    size_t trials = 0;
    const SizeSearchResult found = SearchMinibatchSize(
        *range, options.minibatchSearchCriterionErrorMargin,
        [&](const char* prefix, size_t size)
        {
            ++trials;
            m_log.Print("AdaptiveMinibatchSearch: Evaluating trial minibatchSize=%zu out of range "
                        "%zu..%zu ...\n",
                        size, range->lower, range->upper);
            return RunTrial(start, epoch, prefix, m_state.rate.learningRatePerSample, size).criterion;
        });
    start.GoBack();
    m_state.minibatchSize = found.size;
    if (trials == 0)
        return m_log.Print(
            "AdaptiveMinibatchSearch: No size is tried: the smallest one, %zu, is above the largest one, %zu, which is "
            "taken.\n",
            range->lower, range->upper);
    // As in the original, whose largest size is 1048576 where nobody says another.
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
                    found.size, m_parts.ToBeLowered(found.criterion), m_parts.ToBeLowered(found.baseCriterion));
}

} // namespace cntk
