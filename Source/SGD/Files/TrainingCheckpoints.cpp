#include "SGD/Files/TrainingCheckpoints.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Interruption.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "SGD/CheckpointExtra.h"
#include "SGD/Files/ResumePoint.h"
#include "SGD/Schedules/Schedules.h"

#include <algorithm>
#include <limits>
#include <ratio>
#include <utility>

namespace cntk
{

void RemoveObsolete(const TrainingFiles& files, const SgdOptions& options, size_t epochsDone, bool isOver)
{
    if (options.keepCheckPointFiles || !files.AreWrittenHere())
        return;
    const LearningRateControl control(options.autoAdjust, LearningRateCount(options));
    const size_t interval = control.MayRollBack() ? options.autoAdjust.learnRateAdjustInterval : 1;
    for (const std::string& obsolete : files.ObsoleteCheckpoints(epochsDone, interval, isOver))
        RemoveFile(obsolete);
}

void RemovePoint(const TrainingFiles& files, const WithinEpochPoint& point)
{
    if (!files.AreWrittenHere())
        return;
    RemoveFile(files.Checkpoint(point));
    for (size_t network = 0; network < files.Networks(); ++network)
        RemoveFile(files.OfNetwork(network, files.Model(point)));
}

namespace
{

// Each worker has its own sequences.
std::string DelaysKey(size_t rank)
{
    return rank == 0 ? "withinDelays" : Concat("withinDelays", rank);
}

// In checkpoints, what the numbers in them are of, where such numbers decide.
constexpr const char* c_rateGoesByKey = "rateGoesBy";
constexpr const char* c_bestGoesByKey = "bestGoesBy";

// "'err' of the validation data"; see Training::FindDecisive.
std::string DecisiveNumber(const TrainingParts& parts, bool isError, bool isOfValidation)
{
    const bool isEvaluation =
        isError && parts.options.autoAdjust.useEvalCriterionControlLR && !parts.nodes.evaluations.empty();
    const ComputationNodePtr& node = isEvaluation ? parts.nodes.evaluations.front() : parts.nodes.criterion;
    return Concat("'", node->Name(), "' of the ", isOfValidation ? "validation" : "training", " data");
}

std::string RateGoesBy(const TrainingParts& parts)
{
    const AutoAdjustOptions& options = parts.options.autoAdjust;
    return DecisiveNumber(parts, options.autoAdjustLR != LearningRateSearch::SearchBeforeEpoch,
                          parts.cvSource != nullptr && options.useCVSetControlLRIfCVExists);
}

std::string BestGoesBy(const TrainingParts& parts)
{
    return DecisiveNumber(parts, true, parts.cvSource != nullptr);
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
void KeepFirstOfEachUse(std::vector<Matrix>& states, const TrainingParts& parts)
{
    const auto& parameters = parts.evaluator.Parameters();
    std::map<const ComputationNode*, size_t> uses = UsesBelow(parts.nodes.criterion);
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

// The number that the checkpoint goes by where it is another one; "" where it is the same, or the checkpoint is of the
// original.
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
    within.position = {size_t(NumberOf(extra, "withinMinibatches", 0)), size_t(NumberOf(extra, "withinSamples", 0)),
                       NumbersOf(extra, "withinSums")};
    if (extra.contains("withinEpochSize"))
        within.epochSize = size_t(NumberOf(extra, "withinEpochSize", 0));
    within.minibatchesOf = NumbersOf(extra, "withinMinibatchesOf");
    for (size_t rank = 0; extra.contains(DelaysKey(rank)); ++rank)
        within.delays.push_back(TextOf(extra, DelaysKey(rank)));
    return within;
}

TrainingCheckpoints::TrainingCheckpoints(TrainingParts& parts, TrainingState& state)
    : m_parts(parts), m_state(state), m_delays(RecurrentStatesOf(parts.evaluator.Plan().NodesInOrder()))
{
}

void TrainingCheckpoints::Restore(Checkpoint checkpoint, const std::string& path)
{
    const CheckpointInfo& info = checkpoint.info;
    if (const std::string other = m_parts.learner.OtherRuleIn(info.extra); other.empty())
    {
        KeepFirstOfEachUse(checkpoint.smoothedGradients, m_parts);
        m_parts.learner.Restore(std::move(checkpoint.smoothedGradients), path);
    }
    else
    {
        m_parts.log.Warn(Concat("'", path, "' is of a training with gradUpdateType=", other,
                                ", which goes on with gradUpdateType=", m_parts.learner.RuleName(),
                                ": what it remembers of gradients is no use to that, and begins anew"));
        m_parts.learner.Reset();
    }
    m_parts.learner.RestoreExtra(info.extra);
    if (m_parts.average)
        m_parts.average->SetVelocities(checkpoint.blockVelocities);
    m_state.samplesSeen = info.samplesSeen;
    m_state.minibatchSize = info.minibatchSize;
    m_state.rate.learningRatePerSample = info.learningRatePerSample;
    m_state.rate.previousCriterion = info.previousCriterion;
    m_state.rate.averageCriterion = NumberOf(info.extra, "averageCriterion", 0);
    m_state.rate.isAverageKnown = info.extra.contains("averageCriterion"); // not from a checkpoint of the original
    m_state.rate.epochsMissing = size_t(NumberOf(info.extra, "averageLacks", 0));
    m_state.rate.reducing = NumberOf(info.extra, "learnRateReduced", 0) != 0;
    BeginWithOtherRateNumber(info, path);
    m_state.epochSamples = size_t(NumberOf(info.extra, "epochSamples", double(m_state.epochSamples)));
    m_parts.dropout.RestoreExtra(info.extra, m_parts.Rank());
    m_parts.batchNormalization.RestoreExtra(info.extra);
    RestoreBest(info, path);
    m_state.firstRate = NumberOf(info.extra, "firstRate", m_state.firstRate);
    m_state.searchedRates = NumbersOf(info.extra, "searchedRates");
}

// A validation set that was added since: its criterion is compared with none of the training set, which it may never
// reach.
void TrainingCheckpoints::BeginWithOtherRateNumber(const CheckpointInfo& info, const std::string& path)
{
    const std::string now = RateGoesBy(m_parts);
    const std::string before = OtherNumberIn(info, c_rateGoesByKey, now);
    if (before.empty() || m_parts.options.autoAdjust.autoAdjustLR != LearningRateSearch::AdjustAfterEpoch)
        return;
    m_parts.log.Warn(Concat("'", path, "' has ", before, ", and now the learning rate goes by ", now,
                            ": the first of these is compared with nothing before"));
    m_state.rate.previousCriterion = std::numeric_limits<double>::infinity();
    m_state.rate.isAverageKnown = false;
}

void TrainingCheckpoints::RestoreBest(const CheckpointInfo& info, const std::string& path)
{
    EarlyStopping& earlyStopping = m_state.earlyStopping;
    const std::string now = BestGoesBy(m_parts);
    const std::string before = OtherNumberIn(info, c_bestGoesByKey, now);
    if (!earlyStopping.IsOn() || before.empty())
        return earlyStopping.RestoreExtra(info.extra);
    m_parts.log.Warn(Concat("'", path, "' has ", before, ", and now the best model is found by ", now,
                            ": of the models so far none is the best"));
}

void TrainingCheckpoints::RestoreDelays(const std::vector<std::string>& ofWorkers) const
{
    const Workers* const workers = m_parts.request.workers;
    if (ofWorkers.size() != (workers != nullptr ? workers->Count() : 1))
    {
        if (!m_delays.empty())
            m_parts.log.Warn(Concat("the training was stopped with ", Counted(ofWorkers.size(), "worker"),
                                    ", and goes on with another number: sequences that go on have no past"));
        return;
    }
    const std::string& states = ofWorkers[workers != nullptr ? workers->Rank() : 0];
    const char* bytes = states.data();
    for (const auto& state : m_delays)
        state->RestoreState(bytes, states.data() + states.size());
}

// What was counted so far is taken up by the first worker; at the end of the epoch all is added up.
EpochPosition TrainingCheckpoints::OwnPosition(const PositionWithin& within) const
{
    if (within.minibatchesOf.empty())
        return within.position;
    const Workers* const workers = m_parts.request.workers;
    const size_t count = workers != nullptr ? workers->Count() : 1;
    if (within.minibatchesOf.size() != count)
        Fail(ErrorKind::Config, "the epoch was begun by ", Counted(within.minibatchesOf.size(), "worker"),
             " that trained models of their own, and cannot go on with ", count, "; start as many, or remove '",
             m_parts.files.Model(*m_lastWithin), "' and its checkpoint to begin the epoch anew");
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
    if (m_parts.options.autoAdjust.autoAdjustLR != LearningRateSearch::None)
        info.extra[c_rateGoesByKey] = RateGoesBy(m_parts);
    if (m_state.earlyStopping.IsOn())
        info.extra[c_bestGoesByKey] = BestGoesBy(m_parts);
    info.extra["firstRate"] = ExactText(m_state.firstRate);
    info.extra["searchedRates"] = ExactTexts(m_state.searchedRates);
    if (m_parts.request.trainingSeed != 0)
        info.extra[c_trainingSeedKey] = std::to_string(m_parts.request.trainingSeed);
    SaveListedRate(m_parts.options, info.extra);
    m_parts.learner.SaveExtra(info.extra);
    m_parts.dropout.SaveExtra(info.extra, m_parts.request.workers);
    m_parts.batchNormalization.SaveExtra(info.extra);
    m_state.earlyStopping.SaveExtra(info.extra);
    return info;
}

// The states of learner and block momentum are the same in all workers.
void TrainingCheckpoints::SaveHere(const std::string& path, const CheckpointInfo& info)
{
    if (m_parts.files.AreWrittenHere())
    {
        const auto blocks = m_parts.average ? m_parts.average->Section() : std::nullopt;
        SaveCheckpoint(path, info, m_parts.learner.States(), blocks ? &*blocks : nullptr);
    }
    m_parts.files.WaitForWorkers();
}

void TrainingCheckpoints::SaveCheckpointOf(size_t epochsDone)
{
    m_parts.log.Print("SGD: Saving checkpoint model '%s'\n", m_parts.files.Model(epochsDone).c_str());
    CheckpointInfo info = Info();
    info.extra[c_epochsDoneKey] = std::to_string(epochsDone);
    SaveHere(m_parts.files.Checkpoint(epochsDone), info);
}

void TrainingCheckpoints::SaveModelsOf(size_t epochsDone)
{
    SaveModels(m_parts.networks, m_parts.files, m_parts.files.Model(epochsDone));
    RemoveWithin();
    RemoveObsolete(m_parts.files, m_parts.options, epochsDone, epochsDone == m_parts.options.maxEpochs);
}

CheckpointInfo TrainingCheckpoints::InfoWithin(size_t epoch)
{
    CheckpointInfo info = Info();
    const EpochPosition position = m_parts.loop.Position();
    Workers* const workers = m_parts.request.workers;
    std::vector<double> minibatchesOf{double(position.minibatches)};
    if (workers != nullptr)
        minibatchesOf = workers->Gather(minibatchesOf.front());
    info.extra["withinMinibatches"] = std::to_string(size_t(minibatchesOf.front()));
    if (m_parts.average && m_parts.IsParallel(epoch)) // else each has counted all
        info.extra["withinMinibatchesOf"] = ExactTexts(minibatchesOf);
    info.extra["withinSamples"] = std::to_string(position.samples);
    info.extra["withinEpochSize"] = std::to_string(m_parts.options.epochSize);
    info.extra["withinSums"] = ExactTexts(position.sums);
    std::string states;
    for (const auto& state : m_delays)
        state->SaveState(states);
    const std::vector<std::string> all =
        workers != nullptr ? workers->Gather(states) : std::vector<std::string>{states};
    for (size_t rank = 0; rank < all.size(); ++rank)
        info.extra[DelaysKey(rank)] = all[rank];
    return info;
}

void TrainingCheckpoints::SaveWithin(size_t epoch, const CheckpointInfo& info, size_t trial)
{
    const WithinEpochPoint point{epoch, PositionIn(info).position.minibatches, trial};
    if (m_lastWithin != point)
    {
        const std::string path = m_parts.files.Model(point);
        const std::string where = trial == 0 ? "" : Concat("trial ", trial, " of the search before ");
        m_parts.log.Print("SGD: Saving checkpoint model '%s' within %sepoch %zu\n", path.c_str(), where.c_str(),
                          epoch + 1);
        SaveModels(m_parts.networks, m_parts.files, path);
        SaveHere(m_parts.files.Checkpoint(point), info);
        RemoveWithin();
        m_lastWithin = point;
    }
    BeginInterval();
}

bool TrainingCheckpoints::IsSaveDue() const
{
    const auto interval = std::chrono::duration<double, std::ratio<60>>(m_parts.options.saveEveryMinutes);
    return interval.count() > 0 && m_parts.Agrees(std::chrono::steady_clock::now() - m_savedAt >= interval);
}

void TrainingCheckpoints::BeginInterval()
{
    m_savedAt = std::chrono::steady_clock::now();
}

void TrainingCheckpoints::RemoveWithin()
{
    if (m_lastWithin)
        RemovePoint(m_parts.files, *m_lastWithin);
    m_lastWithin.reset();
}

void TrainingCheckpoints::StopWithin(const std::string& where) const
{
    Stop(where, m_parts.files.Model(*m_lastWithin));
}

std::string TrainingCheckpoints::HowToGoOnWithin() const
{
    return HowToGoOn(m_parts.files.Model(*m_lastWithin));
}

void TrainingCheckpoints::StopBehind(size_t epochsDone, const std::string& where) const
{
    Stop(where, m_parts.files.Model(epochsDone));
}

void TrainingCheckpoints::Stop(const std::string& where, const std::string& model) const
{
    throw Interrupted(Concat("the training was stopped as asked in ", where, "; ", HowToGoOn(model)));
}

std::string TrainingCheckpoints::HowToGoOn(const std::string& model) const
{
    if (m_parts.request.makeMode)
        return Concat("run the same command again to go on from '", model, "'");
    // Models that an earlier training left would be taken before this one's.
    const bool isWithin = m_lastWithin && model == m_parts.files.Model(*m_lastWithin);
    const std::string begin = isWithin ? m_parts.files.Model(m_lastWithin->epochsDone) : model;
    std::string inTheWay;
    for (const size_t epochs : m_parts.files.ModelsBehind(std::nullopt))
    {
        if (m_parts.files.Model(epochs) == begin)
            break;
        inTheWay += Concat(inTheWay.empty() ? "'" : ", '", m_parts.files.Model(epochs), "'");
    }
    return Concat("to go on from '", model, "', ",
                  inTheWay.empty() ? "" : Concat("move away ", inTheWay, " of an earlier training and "),
                  "run it again with makeMode=true (with makeMode=false it begins anew)");
}

} // namespace cntk
