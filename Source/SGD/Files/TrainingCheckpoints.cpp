// What a training keeps on disk and goes on from: after epochs and within them.
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "SGD/Files/CheckpointExtra.h"
#include "SGD/Files/ResumePoint.h"
#include "SGD/Schedules/Schedules.h"
#include "SGD/Training.h"

#include <ratio>
#include <string>
#include <utility>

namespace cntk
{

void RemoveObsolete(const TrainingFiles& files, const SgdOptions& options, size_t epochsDone, bool isOver)
{
    if (options.keepCheckPointFiles)
        return;
    const LearningRateControl control(options.autoAdjust, LearningRateCount(options));
    const size_t interval = control.MayRollBack() ? options.autoAdjust.learnRateAdjustInterval : 1;
    for (const std::string& obsolete : files.ObsoleteCheckpoints(epochsDone, interval, isOver))
        RemoveFile(obsolete);
}

void RemovePoint(const TrainingFiles& files, const WithinEpochPoint& point)
{
    RemoveFile(files.Checkpoint(point));
    for (size_t network = 0; network < files.Networks(); ++network)
        RemoveFile(files.OfNetwork(network, files.Model(point)));
}

void Training::Restore(Checkpoint checkpoint, const std::string& path)
{
    const CheckpointInfo& info = checkpoint.info;
    if (const std::string other = m_learner.OtherRuleIn(info.extra); other.empty())
        m_learner.Restore(std::move(checkpoint.smoothedGradients), path);
    else
    {
        m_log.Warn(Concat("'", path, "' is of a training with gradUpdateType=", other,
                          ", which goes on with gradUpdateType=", m_learner.RuleName(),
                          ": what it remembers of gradients is no use to that, and begins anew"));
        m_learner.Reset();
    }
    m_learner.RestoreExtra(info.extra);
    m_samplesSeen = info.samplesSeen;
    m_minibatchSize = info.minibatchSize;
    m_rate.learningRatePerSample = info.learningRatePerSample;
    m_rate.previousCriterion = info.previousCriterion;
    m_rate.averageCriterion = NumberOf(info.extra, "averageCriterion", 0);
    m_rate.isAverageKnown = info.extra.contains("averageCriterion"); // not from a checkpoint of the original
    m_rate.epochsMissing = size_t(NumberOf(info.extra, "averageLacks", 0));
    m_rate.reducing = NumberOf(info.extra, "learnRateReduced", 0) != 0;
    m_epochSamples = size_t(NumberOf(info.extra, "epochSamples", double(m_epochSamples)));
    m_dropout.RestoreExtra(info.extra);
    m_earlyStopping.RestoreExtra(info.extra);
    m_firstRate = NumberOf(info.extra, "firstRate", m_firstRate);
    m_searchedRates = NumbersOf(info.extra, "searchedRates");
}

EpochPosition Training::PositionOf(const std::map<std::string, std::string>& extra)
{
    return {size_t(NumberOf(extra, "withinMinibatches", 0)), size_t(NumberOf(extra, "withinSamples", 0)),
            NumbersOf(extra, "withinSums")};
}

void Training::RestoreDelays(const std::string& states) const
{
    const char* bytes = states.data();
    for (const auto& state : m_states)
        state->RestoreState(bytes, states.data() + states.size());
}

CheckpointInfo Training::InfoForCheckpoint()
{
    CheckpointInfo info;
    info.samplesSeen = m_samplesSeen;
    info.learningRatePerSample = m_rate.learningRatePerSample;
    info.previousCriterion = m_rate.previousCriterion;
    info.minibatchSize = m_minibatchSize;
    if (m_rate.isAverageKnown)
        info.extra["averageCriterion"] = ExactText(m_rate.averageCriterion);
    if (m_rate.epochsMissing != 0)
        info.extra["averageLacks"] = std::to_string(m_rate.epochsMissing);
    info.extra["learnRateReduced"] = m_rate.reducing ? "1" : "0";
    info.extra["epochSamples"] = std::to_string(m_epochSamples);
    info.extra["firstRate"] = ExactText(m_firstRate);
    info.extra["searchedRates"] = ExactTexts(m_searchedRates);
    if (m_request.trainingSeed != 0)
        info.extra[c_trainingSeedKey] = std::to_string(m_request.trainingSeed);
    SaveListedRate(m_options, info.extra);
    m_learner.SaveExtra(info.extra);
    m_dropout.SaveExtra(info.extra);
    m_earlyStopping.SaveExtra(info.extra);
    return info;
}

// Checkpoint, then model, then the checkpoint before the last goes: even with the newest files damaged a pair is whole.
void Training::Save(size_t epochsDone)
{
    const std::string path = m_files.Model(epochsDone);
    m_log.Print("SGD: Saving checkpoint model '%s'\n", path.c_str());
    SaveCheckpoint(m_files.Checkpoint(epochsDone), InfoForCheckpoint(), m_learner.States());
    // Never another model under the final name, not even for a moment: the training may be killed in it.
    if (epochsDone == m_options.maxEpochs)
        TakeBestModel(epochsDone);
    SaveModels(m_networks, m_files, path);
    RemoveWithin();
    RemoveObsolete(m_files, m_options, epochsDone, epochsDone == m_options.maxEpochs);
}

// Early stopping's best model, which somebody may have removed: the model of its epoch is the same, and becomes it.
void Training::RequireBestModel()
{
    const size_t epoch = m_earlyStopping.BestEpoch();
    const std::string path = m_files.BestModel(), same = m_files.Model(epoch);
    if (m_files.HasAll(path))
        return;
    // With AdjustAfterEpoch the model of an epoch may be an older one, which was gone back to.
    const bool isSame = !m_control.MayRollBack();
    if (!isSame || !m_files.HasAll(same))
        Fail(ErrorKind::Model, "the best model so far, '", path, "' of epoch ", epoch, ", is gone",
             isSame ? Concat(", and so is '", same, "', which could take its place") : "",
             "; put it back, or go on without it (earlyStopPatience=0), or start afresh (makeMode=false)");
    for (size_t i = 0; i < m_files.Networks(); ++i)
    {
        const MappedFile model(m_files.OfNetwork(i, same));
        AtomicFile copy(m_files.OfNetwork(i, path));
        copy.Write(model.Text());
        copy.Commit();
    }
    m_log.Warn(Concat("the best model so far, '", path, "' of epoch ", epoch, ", is gone; '", same,
                      "' is the same model, and takes its place"));
}

// The state between two minibatches of an epoch.
CheckpointInfo Training::InfoWithin()
{
    CheckpointInfo info = InfoForCheckpoint();
    const EpochPosition position = m_loop.Position();
    info.extra["withinMinibatches"] = std::to_string(position.minibatches);
    info.extra["withinSamples"] = std::to_string(position.samples);
    info.extra["withinEpochSize"] = std::to_string(m_options.epochSize);
    info.extra["withinSums"] = ExactTexts(position.sums);
    std::string& states = info.extra["withinDelays"];
    for (const auto& state : m_states)
        state->SaveState(states);
    return info;
}

// Model, then checkpoint, which makes the pair usable; then the pair before goes.
void Training::SaveWithin(size_t epoch, const CheckpointInfo& info)
{
    const WithinEpochPoint point{epoch, size_t(NumberOf(info.extra, "withinMinibatches", 0))};
    SavePoint(point, info);
}

void Training::SavePoint(const WithinEpochPoint& point, const CheckpointInfo& info)
{
    if (m_savedWithin != point)
    {
        const std::string path = m_files.Model(point);
        const std::string where = point.trial == 0 ? "" : Concat("trial ", point.trial, " of the search before ");
        m_log.Print("SGD: Saving checkpoint model '%s' within %sepoch %zu\n", path.c_str(), where.c_str(),
                    point.epochsDone + 1);
        SaveModels(m_networks, m_files, path);
        SaveCheckpoint(m_files.Checkpoint(point), info, m_learner.States());
        RemoveWithin();
        m_savedWithin = point;
    }
    m_savedAt = std::chrono::steady_clock::now();
}

// saveEveryMinutes.
bool Training::IsSaveDue() const
{
    const auto interval = std::chrono::duration<double, std::ratio<60>>(m_options.saveEveryMinutes);
    return interval.count() > 0 && std::chrono::steady_clock::now() - m_savedAt >= interval;
}

void Training::RemoveWithin()
{
    if (m_savedWithin)
        RemovePoint(m_files, *m_savedWithin);
    m_savedWithin.reset();
}

void Training::GoOnWithin(const WithinEpochPoint& point, const CheckpointInfo& info)
{
    BegunEpoch& begun = m_begunEpoch.emplace();
    begun.point = point;
    begun.position = PositionOf(info.extra);
    if (info.extra.contains("withinEpochSize"))
        begun.epochSize = size_t(NumberOf(info.extra, "withinEpochSize", 0));
    begun.delays = TextOf(info.extra, "withinDelays");
    m_savedWithin = point;
}

} // namespace cntk
