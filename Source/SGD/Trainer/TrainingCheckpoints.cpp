#include "SGD/Trainer/TrainingCheckpoints.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Interruption.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "SGD/CheckpointExtra.h"
#include "SGD/Schedules/Schedules.h"
#include "SGD/Trainer/ResumePoint.h"

#include <algorithm>
#include <limits>
#include <ratio>
#include <utility>

namespace cntk
{

void RemoveObsolete(const TrainingFiles& files, const SgdOptions& options, size_t epochsDone, bool isOver)
{
    if (!files.AreWrittenHere())
        return;
    const LearningRateControl control(options.autoAdjust, LearningRateCount(options));
    const size_t interval = control.MayRollBack() ? options.autoAdjust.learnRateAdjustInterval : 1;
    if (!options.keepModels.all)
        for (const size_t epochs : files.LaterModels(0))
            if (epochs < epochsDone && !options.keepModels.Keeps(epochs, epochsDone) &&
                !TrainingFiles::IsNeeded(epochs, epochsDone, interval, isOver))
                for (size_t network = 0; network < files.Networks(); ++network)
                    RemoveFile(files.OfNetwork(network, files.Model(epochs)));
    if (options.keepCheckPointFiles)
        return;
    for (const std::string& obsolete : files.ObsoleteCheckpoints(epochsDone, interval, isOver))
        RemoveFile(obsolete);
}

namespace
{

// Key of the delay states of a worker, which has its own sequences.
std::string DelaysKey(size_t rank)
{
    return rank == 0 ? "withinDelays" : Concat("withinDelays", rank);
}

// Keys of the names of the decisive values, as DecisiveNumber returns them.
constexpr const char* c_rateGoesByKey = "rateGoesBy";
constexpr const char* c_bestGoesByKey = "bestGoesBy";

// Returns, for example, "'err' of the validation data"; see Trainer::FindDecisiveValues.
std::string DecisiveNumber(const TrainingSetup& setup, bool isError, bool isOfValidation)
{
    const bool isEvaluation =
        isError && setup.options.autoAdjust.useEvalCriterionControlLR && !setup.nodes.evaluations.empty();
    const ComputationNodePtr& node = isEvaluation ? setup.nodes.evaluations.front() : setup.nodes.criterion;
    return Concat("'", node->Name(), "' of the ", isOfValidation ? "validation" : "training", " data");
}

std::string RateGoesBy(const TrainingSetup& setup)
{
    const AutoAdjustOptions& options = setup.options.autoAdjust;
    return DecisiveNumber(setup, options.autoAdjustLR != LearningRateSearch::SearchBeforeEpoch,
                          setup.cvSource != nullptr && options.useCVSetControlLRIfCVExists);
}

std::string BestGoesBy(const TrainingSetup& setup)
{
    return DecisiveNumber(setup, true, setup.cvSource != nullptr);
}

// Counts how often nodes below the criterion have each node as an input.
std::map<const ComputationNode*, size_t> UsesBelow(const ComputationNodePtr& criterion)
{
    std::map<const ComputationNode*, size_t> uses{{criterion.get(), 1}};
    std::vector<const ComputationNode*> open{criterion.get()};
    while (!open.empty())
    {
        const ComputationNode& node = *open.back();
        open.pop_back();
        for (const ComputationNodePtr& input : node.Inputs())
            if (uses[input.get()]++ == 0)
                open.push_back(input.get());
    }
    return uses;
}

// Checkpoints of CNTK v1.1 have one matrix for each use of a parameter, adjacent to each other. The first one counts,
// since a parameter that several nodes use is updated once here.
void KeepFirstOfEachUse(std::vector<Matrix>& states, const TrainingSetup& setup)
{
    const auto& parameters = setup.evaluator.Parameters();
    std::map<const ComputationNode*, size_t> uses = UsesBelow(setup.nodes.criterion);
    size_t total = 0;
    for (const auto& parameter : parameters)
        total += uses[parameter.get()];
    if (states.size() == parameters.size() || states.size() != total)
        return;
    std::vector<Matrix> firsts;
    size_t place = 0;
    for (const auto& parameter : parameters)
    {
        firsts.push_back(std::move(states[place]));
        place += uses[parameter.get()];
    }
    states = std::move(firsts);
}

// Returns the name of the checkpoint's decisive value if it is not `now`; "" for the same value, and for checkpoints of
// CNTK v1.1.
std::string OtherNumberIn(const CheckpointInfo& info, const char* key, const std::string& now)
{
    const std::string before = TextOf(info.extra, key);
    return before == now ? "" : before;
}

} // namespace

PositionWithin PositionIn(const CheckpointInfo& info)
{
    const auto& extra = info.extra;
    PositionWithin within;
    within.position = {size_t(NumberOf(extra, "withinMinibatches", 0)),
                       size_t(NumberOf(extra, "withinSamples", 0)),
                       NumbersOf(extra, "withinSums"),
                       {}};
    if (extra.contains("withinReportedSums"))
        within.position.reported = {size_t(NumberOf(extra, "withinReportedMinibatch", 0)),
                                    size_t(NumberOf(extra, "withinReportedSamples", 0)),
                                    NumbersOf(extra, "withinReportedSums")};
    if (extra.contains("withinEpochSize"))
        within.epochSize = size_t(NumberOf(extra, "withinEpochSize", 0));
    within.minibatchesOf = NumbersOf(extra, "withinMinibatchesOf");
    for (size_t rank = 0; extra.contains(DelaysKey(rank)); ++rank)
        within.delays.push_back(TextOf(extra, DelaysKey(rank)));
    return within;
}

TrainingCheckpoints::TrainingCheckpoints(TrainingSetup& setup, TrainingState& state)
    : m_setup(setup), m_state(state), m_delays(RecurrentStatesOf(setup.evaluator.Plan().NodesInOrder()))
{
}

void TrainingCheckpoints::Restore(Checkpoint checkpoint, const std::string& path)
{
    const CheckpointInfo& info = checkpoint.info;
    if (const std::string other = m_setup.learner.OtherRuleIn(info.extra); other.empty())
    {
        KeepFirstOfEachUse(checkpoint.smoothedGradients, m_setup);
        m_setup.learner.Restore(std::move(checkpoint.smoothedGradients), path);
    }
    else
    {
        m_setup.log.Warn(Concat("'", path, "' is of a training with gradUpdateType=", other,
                                ", which continues with gradUpdateType=", m_setup.learner.RuleName(),
                                ": the saved optimizer state does not fit and is reset"));
        m_setup.learner.Reset();
    }
    m_setup.learner.RestoreExtra(info.extra);
    if (m_setup.average)
        m_setup.average->SetVelocities(checkpoint.blockVelocities);
    m_state.samplesSeen = info.samplesSeen;
    m_state.minibatchSize = info.minibatchSize;
    m_state.rate.learningRatePerSample = info.learningRatePerSample;
    m_state.rate.previousCriterion = info.previousCriterion;
    m_state.rate.averageCriterion = NumberOf(info.extra, "averageCriterion", 0);
    m_state.rate.isAverageKnown = info.extra.contains("averageCriterion"); // not from a checkpoint of the original
    m_state.rate.epochsMissing = size_t(NumberOf(info.extra, "averageLacks", 0));
    m_state.rate.reducing = NumberOf(info.extra, "learnRateReduced", 0) != 0;
    ResetCriterionIfOther(info, path);
    m_state.epochSamples = size_t(NumberOf(info.extra, "epochSamples", double(m_state.epochSamples)));
    m_setup.dropout.RestoreExtra(info.extra, m_setup.Rank());
    m_setup.batchNormalization.RestoreExtra(info.extra);
    RestoreBest(info, path);
    m_state.firstRate = NumberOf(info.extra, "firstRate", m_state.firstRate);
    m_state.searchedRates = NumbersOf(info.extra, "searchedRates");
}

// Forgets the previous criterion if the rate is now controlled by another value: the criterion of an added validation
// set may never reach that of the training set.
void TrainingCheckpoints::ResetCriterionIfOther(const CheckpointInfo& info, const std::string& path)
{
    const std::string now = RateGoesBy(m_setup);
    const std::string before = OtherNumberIn(info, c_rateGoesByKey, now);
    if (before.empty() || m_setup.options.autoAdjust.autoAdjustLR != LearningRateSearch::AdjustAfterEpoch)
        return;
    m_setup.log.Warn(Concat("'", path, "' has ", before, ", and now the learning rate goes by ", now,
                            ": the first new value has no predecessor"));
    m_state.rate.previousCriterion = std::numeric_limits<double>::infinity();
    m_state.rate.isAverageKnown = false;
}

void TrainingCheckpoints::RestoreBest(const CheckpointInfo& info, const std::string& path)
{
    EarlyStopping& earlyStopping = m_state.earlyStopping;
    const std::string now = BestGoesBy(m_setup);
    const std::string before = OtherNumberIn(info, c_bestGoesByKey, now);
    if (!earlyStopping.IsOn() || before.empty())
        return earlyStopping.RestoreExtra(info.extra);
    m_setup.log.Warn(Concat("'", path, "' has ", before, ", and now the best model is found by ", now,
                            ": of the models so far none is the best"));
}

void TrainingCheckpoints::RestoreDelays(const std::vector<std::string>& ofWorkers) const
{
    const Workers* const workers = m_setup.request.workers;
    if (ofWorkers.size() != (workers != nullptr ? workers->Count() : 1))
    {
        if (!m_delays.empty())
            m_setup.log.Warn(Concat("the training was stopped with ", Counted(ofWorkers.size(), "worker"),
                                    ", and continues with another number: sequences that continue have no past"));
        return;
    }
    const std::string& states = ofWorkers[workers != nullptr ? workers->Rank() : 0];
    const char* bytes = states.data();
    for (const auto& state : m_delays)
        state->RestoreState(bytes, states.data() + states.size());
}

// The first worker continues the earlier counts; at the end of the epoch the counts of all workers are added.
EpochPosition TrainingCheckpoints::OwnPosition(const PositionWithin& within) const
{
    if (within.minibatchesOf.empty())
        return within.position;
    const Workers* const workers = m_setup.request.workers;
    const size_t count = workers != nullptr ? workers->Count() : 1;
    if (within.minibatchesOf.size() != count)
        Fail(ErrorKind::Config, "the epoch was begun by ", Counted(within.minibatchesOf.size(), "worker"),
             " that trained models of their own, and cannot continue with ", count, "; start as many, or remove '",
             m_setup.files.Model(*m_lastWithin), "' and its checkpoint to begin the epoch anew");
    EpochPosition own = within.position;
    own.minibatches = size_t(within.minibatchesOf[workers != nullptr ? workers->Rank() : 0]);
    if (workers != nullptr && !workers->IsFirst())
    {
        own.samples = 0;
        std::fill(own.sums.begin(), own.sums.end(), 0);
    }
    return own;
}

CheckpointInfo TrainingCheckpoints::Info()
{
    CheckpointInfo info;
    info.samplesSeen = m_state.samplesSeen;
    info.learningRatePerSample = m_state.rate.learningRatePerSample;
    info.previousCriterion = m_state.rate.previousCriterion;
    info.minibatchSize = m_state.minibatchSize;
    if (m_state.rate.isAverageKnown)
        info.extra["averageCriterion"] = ExactText(m_state.rate.averageCriterion);
    if (m_state.rate.epochsMissing != 0)
        info.extra["averageLacks"] = std::to_string(m_state.rate.epochsMissing);
    info.extra["learnRateReduced"] = m_state.rate.reducing ? "1" : "0";
    info.extra["epochSamples"] = std::to_string(m_state.epochSamples);
    if (m_setup.options.autoAdjust.autoAdjustLR != LearningRateSearch::None)
        info.extra[c_rateGoesByKey] = RateGoesBy(m_setup);
    if (m_state.earlyStopping.IsOn())
        info.extra[c_bestGoesByKey] = BestGoesBy(m_setup);
    info.extra["firstRate"] = ExactText(m_state.firstRate);
    info.extra["searchedRates"] = ExactTexts(m_state.searchedRates);
    if (m_setup.request.trainingSeed != 0)
        info.extra[c_trainingSeedKey] = std::to_string(m_setup.request.trainingSeed);
    SaveListedRate(m_setup.options, info.extra);
    m_setup.learner.SaveExtra(info.extra);
    m_setup.dropout.SaveExtra(info.extra, m_setup.request.workers);
    m_setup.batchNormalization.SaveExtra(info.extra);
    m_state.earlyStopping.SaveExtra(info.extra);
    return info;
}

// Writes in the first worker only: the states of learner and block momentum are the same in all workers.
void TrainingCheckpoints::SaveHere(const std::string& path, const CheckpointInfo& info)
{
    if (m_setup.files.AreWrittenHere())
    {
        const auto blocks = m_setup.average ? m_setup.average->Section() : std::nullopt;
        SaveCheckpoint(path, info, m_setup.learner.States(), blocks ? &*blocks : nullptr);
    }
    m_setup.files.WaitForWorkers();
}

void TrainingCheckpoints::SaveCheckpointOf(size_t epochsDone)
{
    m_setup.log.Print("SGD: Saving checkpoint model '%s'\n", m_setup.files.Model(epochsDone).c_str());
    CheckpointInfo info = Info();
    info.extra[c_epochsDoneKey] = std::to_string(epochsDone);
    SaveHere(m_setup.files.Checkpoint(epochsDone), info);
}

void TrainingCheckpoints::SaveModelsOf(size_t epochsDone)
{
    m_setup.SaveModelsAs(m_setup.files.Model(epochsDone));
    RemoveWithin();
    RemoveObsolete(m_setup.files, m_setup.options, epochsDone, epochsDone == m_setup.options.maxEpochs);
}

CheckpointInfo TrainingCheckpoints::InfoWithin(size_t epoch)
{
    CheckpointInfo info = Info();
    const EpochPosition position = m_setup.loop.Position();
    Workers* const workers = m_setup.request.workers;
    std::vector<double> minibatchesOf{double(position.minibatches)};
    if (workers != nullptr)
        minibatchesOf = workers->Gather(minibatchesOf.front());
    info.extra["withinMinibatches"] = std::to_string(size_t(minibatchesOf.front()));
    if (m_setup.average && m_setup.IsParallel(epoch)) // otherwise each worker has counted all minibatches
        info.extra["withinMinibatchesOf"] = ExactTexts(minibatchesOf);
    info.extra["withinSamples"] = std::to_string(position.samples);
    info.extra["withinEpochSize"] = std::to_string(m_setup.options.epochSize);
    info.extra["withinSums"] = ExactTexts(position.sums);
    info.extra["withinReportedMinibatch"] = std::to_string(position.reported->minibatch);
    info.extra["withinReportedSamples"] = std::to_string(position.reported->samples);
    info.extra["withinReportedSums"] = ExactTexts(position.reported->sums);
    std::string states;
    for (const auto& state : m_delays)
        state->SaveState(states);
    const std::vector<std::string> all =
        workers != nullptr ? workers->Gather(states) : std::vector<std::string>{states};
    for (size_t rank = 0; rank < all.size(); ++rank)
        info.extra[DelaysKey(rank)] = all[rank];
    return info;
}

void TrainingCheckpoints::SaveWithin(size_t epoch, const CheckpointInfo& info)
{
    const WithinEpochPoint point{epoch, PositionIn(info).position.minibatches};
    if (m_lastWithin != point)
    {
        const std::string path = m_setup.files.Model(point);
        m_setup.log.Print("SGD: Saving checkpoint model '%s' within epoch %zu\n", path.c_str(), epoch + 1);
        SaveModels(m_setup.networks, m_setup.files, path);
        SaveHere(m_setup.files.Checkpoint(point), info);
        RemoveWithin();
        m_lastWithin = point;
    }
    BeginInterval();
}

bool TrainingCheckpoints::IsSaveDue() const
{
    const auto interval = std::chrono::duration<double, std::ratio<60>>(m_setup.options.saveEveryMinutes);
    return interval.count() > 0 && m_setup.Agrees(std::chrono::steady_clock::now() - m_savedAt >= interval);
}

void TrainingCheckpoints::BeginInterval()
{
    m_savedAt = std::chrono::steady_clock::now();
}

void TrainingCheckpoints::RemoveWithin()
{
    if (m_lastWithin)
        RemovePoint(m_setup.files, *m_lastWithin);
    m_lastWithin.reset();
}

void TrainingCheckpoints::StopWithin(const std::string& where) const
{
    Stop(where, m_setup.files.Model(*m_lastWithin));
}

std::string TrainingCheckpoints::HowToResumeWithin() const
{
    return HowToResume(m_setup.files.Model(*m_lastWithin));
}

void TrainingCheckpoints::StopAfter(size_t epochsDone, const std::string& where) const
{
    Stop(where, m_setup.files.Model(epochsDone));
}

void TrainingCheckpoints::Stop(const std::string& where, const std::string& model) const
{
    throw Interrupted(Concat("the training was stopped as asked in ", where, "; ", HowToResume(model)));
}

std::string TrainingCheckpoints::HowToResume(const std::string& model) const
{
    if (m_setup.request.makeMode)
        return Concat("run the same command again to continue from '", model, "'");
    // make mode would resume from a more advanced model of an earlier training.
    const bool isWithin = m_lastWithin && model == m_setup.files.Model(*m_lastWithin);
    const std::string begin = isWithin ? m_setup.files.Model(m_lastWithin->epochsDone) : model;
    std::string inTheWay;
    for (const size_t epochs : m_setup.files.LaterModels(std::nullopt))
    {
        if (m_setup.files.Model(epochs) == begin)
            break;
        inTheWay += Concat(inTheWay.empty() ? "'" : ", '", m_setup.files.Model(epochs), "'");
    }
    return Concat("to continue from '", model, "', ",
                  inTheWay.empty() ? "" : Concat("move away ", inTheWay, " of an earlier training and "),
                  "run it again with makeMode=true (with makeMode=false it restarts)");
}

} // namespace cntk
