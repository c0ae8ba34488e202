// The trial runs before an epoch that find its learning rate or minibatch size.
#include "Common/Error.h"
#include "Common/Log.h"
#include "SGD/Files/CheckpointExtra.h"
#include "SGD/Files/ResumePoint.h"
#include "SGD/Schedules/Schedules.h"
#include "SGD/Search/TrialSearch.h"
#include "SGD/Search/TrialSettings.h"
#include "SGD/Training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

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

// A trial is an epoch of its own, of the same number as the one in front of which it runs: the reader is asked for so
// many samples and has it begin where epochs of that size do, and it ends where they end.
size_t Training::TrialSamples(size_t epoch) const
{
    const size_t minibatches = m_options.autoAdjust.numMiniBatch4LRSearch[epoch];
    const size_t size = m_options.minibatchSize[epoch];
    const size_t most = m_options.EpochSamples();
    return minibatches > most / size ? most : minibatches * size;
}

TrialStart Training::KeepStart()
{
    return TrialStart(m_networks, m_learner);
}

// A trial as long as the epoch, with the rate that is taken, does what the epoch would do: the same minibatches from
// the same state; not the same masks of dropout. Only where nothing else is to happen in front of the epoch, or in its
// minibatches.
bool Training::BeginsWithTrial(size_t epoch) const
{
    const bool searchesSize = m_options.autoAdjust.autoAdjustMinibatch && epoch >= m_options.minibatchSize.size();
    return TrialSamples(epoch) == m_options.EpochSamples() && !searchesSize && !m_options.gradientCheck &&
           !m_dropout.DrawsMasks() && m_tracer.Nodes().empty();
}

// Once. How many samples an epoch has is known when one was finished, or epochSize says it.
void Training::WarnOfLongTrials(size_t epoch)
{
    const size_t samples = TrialSamples(epoch);
    const size_t whole = m_options.epochSize != 0 ? m_options.epochSize : m_epochSamples;
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

// Trials that were done before the training was stopped are known; the one within which it was stopped goes on there.
Training::TrialResult Training::RunTrial(const TrialStart& start, size_t epoch, const char* prefix, double rate,
                                         size_t minibatchSize)
{
    EpochSettings settings = SettingsOf(epoch);
    settings.learningRatePerSample = rate;
    settings.minibatchSize = minibatchSize;
    settings.epochSize = TrialSamples(epoch);
    m_progress.BeginTrial(StartOf(settings), prefix);
    Trial trial{rate, minibatchSize, settings.epochSize};
    if (IsKnown(trial, epoch))
    {
        const CriterionAverages& averages = m_trials.Take().averages;
        m_progress.EndTrial(averages, rate);
        return {.criterion = averages.criterion, .wasKnown = true};
    }
    start.GoBack();
    TakeUpTrial(start, trial, settings);
    settings.goesOn = [&]
    {
        if (StopRequested())
            return false;
        if (IsSaveDue())
            SaveTrial(epoch, trial);
        return true;
    };
    EpochResult result = m_loop.Run(settings);
    if (result.stopped)
    {
        m_log.ClearProgress();
        SaveTrial(epoch, trial);
        Stop(Concat("the search before epoch ", epoch + 1, ", trial ", m_savedWithin->trial, ", after minibatch ",
                    m_savedWithin->minibatches),
             m_files.Model(*m_savedWithin));
    }
    if (result.notFiniteAt && rate == 0) // no rate is to blame, and none will be better
        FailNotFinite(Concat("the search before epoch ", epoch + 1), rate, result);
    if (result.notFiniteAt)
    {
        result.averages.criterion = std::numeric_limits<double>::quiet_NaN();
        m_log.Print("The criterion of this trial is no number from minibatch %zu on: worse than any.\n",
                    *result.notFiniteAt);
    }
    m_progress.EndTrial(result.averages, rate);
    trial.averages = result.averages;
    m_trials.Add(std::move(trial));
    return {.criterion = result.averages.criterion, .wasKnown = false};
}

// All but the first ones.
void Training::ForgetTrials(size_t count)
{
    m_trials.Keep(count);
    m_begunTrial.reset();
}

// What was saved of the search is no use from this trial on (counted from 1).
void Training::BeginTrialsAnew(const std::string& why, size_t trial)
{
    m_log.Warn(Concat(why, "; the search goes on with trial ", trial, ", without what was found from there on"));
    ForgetTrials(trial - 1);
    RemoveWithin();
}

// Searches that are taken up again ask for the same trials in the same order, unless options were changed.
bool Training::IsKnown(const Trial& trial, size_t epoch)
{
    const KnownTrials::Next next = m_trials.Find(trial);
    if (next == KnownTrials::Next::Other)
        BeginTrialsAnew(AsksForOthers(epoch), m_trials.Asked() + 1);
    return next == KnownTrials::Next::Known;
}

// Has the trial go on where it was stopped, if it was.
void Training::TakeUpTrial(const TrialStart& start, const Trial& trial, EpochSettings& settings)
{
    if (!m_begunTrial)
        return;
    BegunTrial from = std::move(*m_begunTrial);
    m_begunTrial.reset();
    if (!from.trial.IsSame(trial))
        return BeginTrialsAnew(AsksForOthers(settings.epoch), from.point.trial);
    try
    {
        ReloadModels(m_networks, m_files, m_files.Model(from.point));
        m_learner.Restore(std::move(from.checkpoint.smoothedGradients), m_files.Checkpoint(from.point));
    }
    catch (const Error& error)
    {
        if (error.Kind() != ErrorKind::Model)
            throw;
        BeginTrialsAnew(Concat("'", m_files.Model(from.point), "' cannot be used: ", error.Message()),
                        from.point.trial);
        return start.GoBack();
    }
    const auto& extra = from.checkpoint.info.extra;
    m_learner.RestoreExtra(extra);
    m_dropout.RestoreExtra(extra);
    settings.from = PositionOf(extra);
    settings.beforeFirst = [this, delays = TextOf(extra, "withinDelays")] { RestoreDelays(delays); };
    m_log.Print("Going on behind minibatch %zu of the trial.\n", from.point.minibatches);
}

// The trial that runs is the last.
void Training::SaveTrial(size_t epoch, const Trial& trial)
{
    CheckpointInfo info = InfoWithin();
    std::vector<Trial> trials = m_trials.All();
    trials.push_back(trial);
    info.extra[c_trialsKey] = ExactTexts(NumbersOfTrials(trials));
    info.extra[c_settingsKey] = TextOfSettings(TrialSettingsOf(m_options, epoch));
    const size_t minibatches = size_t(NumberOf(info.extra, "withinMinibatches", 0));
    SavePoint({epoch, minibatches, trials.size()}, info);
}

bool Training::SearchesBefore(size_t epoch) const
{
    const AutoAdjustOptions& options = m_options.autoAdjust;
    return (options.autoAdjustLR == LearningRateSearch::SearchBeforeEpoch && epoch >= LearningRateCount(m_options)) ||
           (options.autoAdjustMinibatch && epoch >= m_options.minibatchSize.size());
}

void Training::GoOnInTrial(const WithinEpochPoint& point, Checkpoint checkpoint)
{
    m_savedWithin = point; // goes when there is a newer one
    if (!SearchesBefore(point.epochsDone))
    {
        m_log.Warn(Concat("'", m_files.Checkpoint(point), "' is of a search before epoch ", point.epochsDone + 1,
                          ", which the options do not ask for any more; what it has found is not used"));
        return RemoveWithin();
    }
    const auto& extra = checkpoint.info.extra;
    const std::string seed = m_request.trainingSeed == 0 ? "" : std::to_string(m_request.trainingSeed);
    std::vector<Trial> trials = TrialsOfNumbers(NumbersOf(extra, c_trialsKey));
    std::string why;
    if (const std::string other = m_learner.OtherRuleIn(extra); !other.empty())
        why = Concat("is of a training with gradUpdateType=", other);
    else if (TextOf(extra, c_trainingSeedKey) != seed)
        why = "is of a training with another trainingSeed";
    else if (trials.size() != point.trial)
        why = "does not say which trials were done";
    else if (const std::string others =
                 DifferenceFrom(TextOf(extra, c_settingsKey), TrialSettingsOf(m_options, point.epochsDone));
             !others.empty())
        why = Concat("has trials that were made with ", others);
    if (!why.empty())
        return BeginTrialsAnew(Concat("'", m_files.Checkpoint(point), "' ", why), 1);
    m_begunTrial = BegunTrial{std::move(trials.back()), point, std::move(checkpoint)};
    trials.pop_back();
    m_log.Print("Going on with the search before epoch %zu: %zu trials are known, trial %zu goes on.\n",
                point.epochsDone + 1, trials.size(), point.trial);
    m_trials = KnownTrials(std::move(trials));
}

RateSearchSettings Training::RateSettings(size_t epoch) const
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
    return settings;
}

void Training::SearchRate(size_t epoch)
{
    const AutoAdjustOptions& options = m_options.autoAdjust;
    const RateSearchSettings settings = RateSettings(epoch);
    WarnOfLongTrials(epoch);
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
    m_goesOnFromTrial = !last.wasKnown && BeginsWithTrial(epoch) && lastRate == found.rate &&
                        found.rate >= c_minLearningRate && !std::isnan(last.criterion);
    const auto ended = m_goesOnFromTrial ? lastBegan : Progress::Clock::now();
    if (!m_goesOnFromTrial)
        start.GoBack();
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
    m_hasSearched = true;
    m_searchedRates.push_back(found.rate);
    if (m_searchedRates.size() > std::max<size_t>(options.numPrevLearnRates, 1))
        m_searchedRates.erase(m_searchedRates.begin());
}

// How far the rate fell by the list, or by searches. As in the original it does not count what AdjustAfterEpoch did.
double Training::RateRatio(size_t epoch) const
{
    if (m_options.autoAdjust.autoAdjustLR == LearningRateSearch::SearchBeforeEpoch)
        return m_firstRate > 0 ? m_rate.learningRatePerSample / m_firstRate : 1;
    if (LearningRateCount(m_options) == 0)
        return 1;
    return LearningRatePerSample(m_options, epoch, NominalSize(epoch)) /
           LearningRatePerSample(m_options, 0, NominalSize(0));
}

void Training::SearchSize(size_t epoch)
{
    const AutoAdjustOptions& options = m_options.autoAdjust;
    // A size of the list was not chosen.
    const size_t chosenBefore = epoch > m_options.minibatchSize.size() ? m_minibatchSize : 0;
    const auto range = PlanSizeSearch(options, epoch, m_options.minibatchSize[epoch], chosenBefore, RateRatio(epoch));
    if (!range)
    {
        m_log.Print("AdaptiveMinibatchSearch: Search for a better minibatchSize in epoch %zu skipped, keeping "
                    "minibatchSize of %zu\n",
                    epoch + 1, m_minibatchSize);
        return;
    }
    WarnOfLongTrials(epoch);
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
                                return RunTrial(start, epoch, prefix, m_rate.learningRatePerSample, size).criterion;
                            });
    start.GoBack();
    m_minibatchSize = found.size;
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
                          ", which is kept; a smaller learning rate may help (now ", m_rate.learningRatePerSample,
                          " per sample)"));
    else
        m_log.Print("AdaptiveMinibatchSearch: Search successful. New minibatchSize is %zu. EpochCriterion = %.10g vs "
                    "BaseCriterion = %.10g\n",
                    found.size, found.criterion, found.baseCriterion);
}

} // namespace cntk
