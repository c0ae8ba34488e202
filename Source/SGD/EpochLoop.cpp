// The minibatch loop.
#include "SGD/EpochLoop.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "Math/Operations.h"
#include "SGD/Schedules/Schedules.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

namespace
{

std::vector<ComputationNodePtr> CriterionFirst(const TrainingNodes& nodes)
{
    std::vector<ComputationNodePtr> ordered{nodes.criterion};
    ordered.insert(ordered.end(), nodes.evaluations.begin(), nodes.evaluations.end());
    return ordered;
}

// Devices that accumulate criteria are polled for NaN every so many minibatches.
constexpr size_t c_mostUnseenMinibatches = 1000;

[[noreturn]] void FailNoData(const EpochSettings& settings)
{
    std::string range;
    if (settings.epochSize != c_wholeDataSet)
        range =
            Concat(", of ", Counted(settings.epochSize, "sample"), " from sample ", settings.epoch * settings.epochSize,
                   " on, where no sequence begins; give more (epochSize, or numMiniBatch4LRSearch for the trials "
                   "of a search)");
    Fail(ErrorKind::Data, "the reader delivered no data for epoch ", settings.epoch + 1, range);
}

} // namespace

EpochLoop::EpochLoop(const TrainingNodes& nodes, Evaluator& evaluator, MinibatchSource& source, Learner& learner,
                     Progress& progress)
    : m_nodes(nodes), m_evaluator(evaluator), m_source(source), m_learner(learner), m_progress(progress),
      m_states(RecurrentStatesOf(evaluator.Plan().NodesInOrder())),
      m_sums(CriterionFirst(nodes), nodes.criterion->GetDevice()),
      m_own(CriterionFirst(nodes), nodes.criterion->GetDevice()), m_running(1 + nodes.evaluations.size())
{
}

void EpochLoop::SetWindow(const SequenceWindow& window)
{
    for (const auto& state : m_states)
        state->SetWindow(window);
}

// For devices that accumulate criteria: returns the first minibatch whose criterion was NaN or infinite; 0: none.
size_t EpochLoop::FirstNotFinite()
{
    const size_t first = m_sums.FirstNotFinite();
    return first == 0 ? 0 : m_skipped + first;
}

// Checks other elements in each minibatch.
void EpochLoop::CheckMinibatchGradients(int digits, size_t minibatch)
{
    const GradientComparison worst = CheckGradients(m_evaluator, m_nodes.criterion, digits, {.seed = minibatch});
    if (worst.parameter && (!m_worstGradient || worst.Disagreement(digits) > m_worstGradient->Disagreement(digits)))
        m_worstGradient = worst;
}

// True if parameters may be updated during the backward pass: the criterion has been checked for NaN, the minibatch has
// one part only, and no other worker adds gradients.
bool EpochLoop::MayUpdateInBackward() const
{
    return m_sums.SeesEveryValue() && m_source.Parts() == 1 && !m_isShared;
}

// Runs the forward pass and, if the minibatch is to update, the backward pass; the gradients of parts accumulate. False
// if the criterion is NaN or infinite.
bool EpochLoop::RunPart(const EpochSettings& settings, size_t minibatch, size_t part, bool backward)
{
    if (part > 0)
        m_source.BindPart(part);
    Forward(settings, part);
    if (m_tracer != nullptr)
        Trace(minibatch, part);
    CriterionSums& sums = m_isShared ? m_own : m_sums;
    sums.Add(m_source.Samples(), part == 0);
    if (sums.SeesEveryValue() && !std::isfinite(sums.LastValue(0)))
        return false;
    // The gradient check keeps the gradients. A second backward pass would read values that the first one overwrote
    // with gradients.
    if (settings.gradientCheckDigits > 0 && part == 0)
        CheckMinibatchGradients(settings.gradientCheckDigits, minibatch);
    else if (backward && part == 0 && MayUpdateInBackward())
    {
        m_learner.BeginUpdate(settings.learningRatePerSample, settings.momentumPerSample, m_source.Columns());
        m_evaluator.Backward(m_nodes.criterion, &m_learner);
    }
    else if (backward && part == 0)
        m_evaluator.Backward(m_nodes.criterion);
    else if (backward)
        m_evaluator.BackwardAccumulate(m_nodes.criterion);
    return true;
}

void EpochLoop::Trace(size_t minibatch, size_t part)
{
    std::string of = "minibatch " + std::to_string(minibatch);
    if (m_source.Parts() > 1)
        of += Concat(", part ", part + 1, " of ", m_source.Parts());
    m_tracer->Print(of);
}

// False if the criterion is NaN or infinite.
bool EpochLoop::RunParts(const EpochSettings& settings, size_t minibatch, bool backward)
{
    bool isFinite = true;
    for (size_t part = 0; part < m_source.Parts() && isFinite; ++part)
    {
        SetWindow(m_source.WindowOf(part));
        isFinite = RunPart(settings, minibatch, part, backward);
    }
    SetWindow({});
    return isFinite;
}

// Adds the counts of all workers for this minibatch; with buffered gradients, for the previous minibatch. False if the
// criterion of this minibatch is NaN or infinite.
bool EpochLoop::ShareSums()
{
    m_shared.clear();
    for (size_t i = 0; i < m_running.size(); ++i)
        m_shared.push_back(m_own.Sum(i));
    m_shared.push_back(double(m_own.Samples()));
    m_exchange->Share(m_shared);
    const bool isFinite = std::isfinite(m_shared.front());
    m_exchange->DelayCounts(m_shared);
    AddShared();
    return isFinite;
}

void EpochLoop::AddShared()
{
    if (!m_shared.empty())
        m_sums.AddSums({m_shared.data(), m_running.size()}, size_t(m_shared.back()));
}

// False if the criterion was seen to be NaN or infinite; nothing was updated then.
bool EpochLoop::RunMinibatch(const EpochSettings& settings, size_t minibatch)
{
    const bool updates = settings.learningRatePerSample > c_noUpdateLearningRate;
    const size_t columns = m_isShared ? m_columns : m_source.Columns();
    if (m_isShared)
        m_own.Reset();
    if (!m_isShared || m_hasOwn)
        ++m_ownMinibatches;
    if (const bool isFinite = (m_isShared && !m_hasOwn) || RunParts(settings, minibatch, updates);
        m_isShared ? !ShareSums() : !isFinite)
        return false;
    if (updates && m_isShared)
        UpdateTogether(settings, minibatch);
    else if (updates)
        Update(settings, columns);
    return ShowMinibatch(minibatch);
}

void EpochLoop::Update(const EpochSettings& settings, size_t columns)
{
    m_learner.Update(settings.learningRatePerSample, settings.momentumPerSample, columns, m_sums.NotFiniteFlag());
}

// Updates with the sums of all workers' gradients, if they have arrived.
void EpochLoop::UpdateTogether(const EpochSettings& settings, size_t minibatch)
{
    m_evaluator.BindGradients();
    if (const size_t columns = m_exchange->SumGradients(m_hasOwn, m_columns); columns > 0)
        Update(settings, columns);
    if (settings.syncPerfStats == 0 || minibatch % settings.syncPerfStats != 0)
        return;
    const double seconds = m_exchange->TakeSeconds();
    m_secondsExchanged += seconds;
    m_progress.ShowExchange(minibatch, settings.syncPerfStats, seconds);
}

// False if the criterion is seen to be NaN or infinite.
bool EpochLoop::ShowMinibatch(size_t minibatch)
{
    if (m_progress.IsDue(minibatch))
    {
        for (size_t i = 0; i < m_running.size(); ++i)
            m_running[i] = m_sums.Sum(i);
        if (FirstNotFinite() != 0)
            return false;
        m_progress.ShowMinibatches(minibatch, {m_running, m_sums.Samples()});
    }
    else if (minibatch % c_mostUnseenMinibatches == 0 && FirstNotFinite() != 0)
        return false;
    m_progress.Tick(minibatch, m_sums.Samples());
    return true;
}

// Sets the reader to the position where the epoch starts or resumes.
void EpochLoop::Begin(const EpochSettings& settings)
{
    m_sums.Reset();
    m_worstGradient.reset();
    m_minibatches = 0;
    m_ownMinibatches = 0;
    m_skipped = settings.from.minibatches;
    m_epoch = {.epoch = settings.epoch,
               .minibatchSize = settings.minibatchSize,
               .epochSize = settings.epochSize,
               .rank = 0,
               .workers = 1,
               .wanted = {}};
    m_isShared = settings.isShared;
    m_isAveraged = settings.isAveraged;
    size_t rank = 0, workers = 1;
    if (m_isShared || m_isAveraged)
    {
        const Workers& others = m_isShared ? m_exchange->GetWorkers() : m_average->GetWorkers();
        rank = others.Rank();
        workers = others.Count();
    }
    m_secondsExchanged = 0;
    if (m_isShared)
    {
        m_exchange->BeginEpoch();
        m_exchange->TakeSeconds();
    }
    if (m_isAveraged)
        m_average->BeginEpoch();
    if (settings.readsShare)
    {
        m_epoch.rank = rank;
        m_epoch.workers = workers;
    }
    m_source.TakeShare(settings.readsShare ? 0 : rank, settings.readsShare ? 1 : workers);
    m_source.StartEpoch(m_epoch);
    SkipTo(settings);
    if (settings.beforeFirst)
        settings.beforeFirst();
}

// Skips the data that a resumed epoch has already used.
void EpochLoop::SkipTo(const EpochSettings& settings)
{
    size_t samples = 0;
    for (; m_minibatches < settings.from.minibatches; ++m_minibatches)
    {
        const std::optional<size_t> skipped = m_source.Skip();
        if (!skipped && !m_isShared)
            Fail(ErrorKind::Data, "the reader delivered ", Counted(m_minibatches, "minibatch"), " for epoch ",
                 settings.epoch + 1, ", but the training was stopped after ", settings.from.minibatches,
                 " of them; were the data or the reader's options changed? Without the model '...at",
                 settings.from.minibatches, "' the epoch begins anew");
        samples += skipped.value_or(0);
    }
    if (m_minibatches > 0 || settings.from.samples > 0) // only other workers may have had minibatches
    {
        if (m_isShared)
        {
            m_shared.assign(1, double(samples));
            m_exchange->Share(m_shared);
            samples = size_t(m_shared.front());
        }
        if (m_isAveraged)
            samples = settings.from.samples; // the workers' total; they have read to different positions
        if (samples != settings.from.samples && !m_source.HasSeveralAxes())
            m_progress.WarnOfOtherData(m_minibatches, samples, settings.from.samples);
        m_sums.Restore(settings.from.sums, settings.from.samples);
        m_progress.GoOn(m_minibatches, {settings.from.sums, settings.from.samples});
    }
}

bool EpochLoop::ReadAgain(size_t minibatch)
{
    m_source.StartEpoch(m_epoch);
    for (size_t before = 1; before < minibatch; ++before)
    {
        if (!m_source.Skip())
            return false;
    }
    return m_source.Next() && HoldsMinibatch();
}

EpochPosition EpochLoop::Position()
{
    EpochPosition position{m_minibatches, m_sums.Samples(), {}};
    for (size_t i = 0; i < m_running.size(); ++i)
        position.sums.push_back(m_sums.Sum(i));
    if (const std::vector<double>* const late = m_isShared ? &m_exchange->LateCounts() : nullptr;
        late && !late->empty())
    {
        for (size_t i = 0; i < m_running.size(); ++i)
            position.sums[i] += (*late)[i];
        position.samples += size_t(late->back());
    }
    if (m_isAveraged)
    {
        position.sums.push_back(double(position.samples));
        SumCounts(m_average->GetWorkers(), position.sums);
        position.samples = size_t(position.sums.back());
        position.sums.pop_back();
    }
    return position;
}

// False if all workers are at the end of their data.
bool EpochLoop::ReadShared()
{
    std::optional<Error> error;
    bool isThere = false;
    try
    {
        isThere = m_source.Next();
    }
    catch (const Error& own)
    {
        error = own;
    }
    m_hasOwn = isThere && m_source.Columns() > 0;
    m_shared.assign({isThere ? 1.0 : 0.0, m_hasOwn ? double(m_source.Columns()) : 0.0});
    m_exchange->Share(m_shared, error);
    m_columns = size_t(m_shared[1]);
    Workers& workers = m_exchange->GetWorkers();
    if (m_epoch.workers == 1 && m_shared[0] != 0 && m_shared[0] != double(workers.Count())) // each has read all
        AnyWorkerStops(workers, isThere ? WorkerState::Continues : WorkerState::HasEnded);
    return m_shared[0] != 0;
}

// False at the end of the data.
bool EpochLoop::ReadNext(const EpochSettings& settings)
{
    try
    {
        return m_isShared ? ReadShared() : m_source.Next();
    }
    catch (Error& error) // all workers have the error
    {
        EndUpdates(settings);
        TellOfKept(settings, error);
        throw;
    }
}

// Counts and updates with gradients that are still in transit from other workers.
void EpochLoop::EndUpdates(const EpochSettings& settings)
{
    if (!m_isShared)
        return;
    m_shared.clear();
    m_exchange->DelayCounts(m_shared);
    AddShared();
    if (const size_t columns = m_exchange->LastGradients(); columns > 0)
        Update(settings, columns);
}

// If sequences continue, the nodes may already hold the state after this minibatch. Other workers do not know that this
// one has failed, and would have to take part in saving.
void EpochLoop::Forward(const EpochSettings& settings, size_t part)
{
    try
    {
        m_source.NameSequenceWhereFails([&] { m_evaluator.Forward(); });
    }
    catch (Error& error)
    {
        const bool isAlone = !m_isShared && !m_isAveraged;
        if (error.Kind() == ErrorKind::Data && part == 0 && isAlone && !m_source.ContinuesSequences())
            TellOfKept(settings, error);
        throw;
    }
}

void EpochLoop::TellOfKept(const EpochSettings& settings, Error& error)
{
    if (settings.dataFail && m_minibatches > 0 && IsFiniteSoFar())
        settings.dataFail(error);
}

// Runs until the data or goesOn end the epoch, or a criterion is NaN or infinite.
void EpochLoop::RunMinibatches(const EpochSettings& settings, EpochResult& result)
{
    while (!m_isAtEnd)
    {
        if (!ReadNext(settings))
        {
            m_isAtEnd = true;
            return EndUpdates(settings);
        }
        result.secondsWaited += m_source.SecondsWaited();
        if (!RunMinibatch(settings, m_minibatches + 1))
        {
            const size_t first = FirstNotFinite();
            result.notFiniteAt = first != 0 ? first : m_minibatches + 1;
            return;
        }
        ++m_minibatches;
        if (settings.goesOn && !settings.goesOn())
        {
            result.stopped = IsFiniteSoFar();
            return EndUpdates(settings);
        }
    }
}

// Runs minibatches until this worker is to meet the others.
ModelAverage::News EpochLoop::RunToMeeting(const EpochSettings& settings, EpochResult& result)
{
    ModelAverage::News news{.hasEnded = m_isAtEnd};
    while (!news.hasEnded && news.notFiniteAt == 0 && !m_average->IsDue())
    {
        try
        {
            news.hasEnded = m_isAtEnd = !m_source.Next();
        }
        catch (const Error& error)
        {
            news.error = error;
            break;
        }
        if (m_isAtEnd)
            break;
        result.secondsWaited += m_source.SecondsWaited();
        if (m_source.Columns() > 0 && !RunMinibatch(settings, m_minibatches + 1))
            news.notFiniteAt = m_minibatches + 1;
        else
            ++m_minibatches;
        m_average->Count(m_source.Columns());
    }
    if (const size_t first = FirstNotFinite(); first != 0)
        news.notFiniteAt = first;
    return news;
}

void EpochLoop::RunAveraged(const EpochSettings& settings, EpochResult& result)
{
    ModelAverage::Outcome outcome;
    while (!outcome.allHaveEnded)
    {
        outcome = m_average->Meet(RunToMeeting(settings, result));
        if (outcome.error)
        {
            if (const size_t samples = Position().samples; samples > 0 && settings.dataFail)
                settings.dataFail(*outcome.error);
            throw Error(*outcome.error);
        }
        if (outcome.notFiniteAt != 0)
        {
            result.notFiniteAt = outcome.notFiniteAt;
            break;
        }
        if (!outcome.allHaveEnded && settings.goesOn && !settings.goesOn())
        {
            result.stopped = true;
            return;
        }
    }
    TakeTotals();
}

// Takes the counts of all workers at the end of an epoch whose models were averaged.
void EpochLoop::TakeTotals()
{
    const EpochPosition all = Position();
    m_isAveraged = false;
    m_sums.Restore(all.sums, all.samples);
    m_isAtEnd = true;
}

CriterionAverages EpochLoop::Averages()
{
    CriterionAverages averages;
    averages.minibatches = m_minibatches;
    averages.samples = m_sums.Samples();
    averages.criterion = m_sums.Average(0);
    for (size_t i = 0; i < m_nodes.evaluations.size(); ++i)
        averages.evaluations.push_back(m_sums.Average(i + 1));
    return averages;
}

EpochResult EpochLoop::Run(const EpochSettings& settings)
{
    const auto began = Progress::Clock::now();
    EpochResult result;
    const double secondsBefore = settings.goesOnFromTrial ? m_seconds : 0;
    if (settings.goesOnFromTrial)
        result.secondsWaited = m_secondsWaited;
    else
        m_isAtEnd = false;
    const auto note = [&]
    { return Concat("while training epoch ", settings.epoch + 1, ", minibatch ", m_minibatches + 1); };
    WithNote(
        [&]
        {
            if (!settings.goesOnFromTrial)
                Begin(settings);
            m_isAveraged ? RunAveraged(settings, result) : RunMinibatches(settings, result);
        },
        note);
    if (m_minibatches == 0 && m_sums.Samples() == 0 && !result.notFiniteAt)
        FailNoData(settings);
    if (const size_t first = FirstNotFinite(); first != 0)
        result.notFiniteAt = first;
    result.wentOn = result.notFiniteAt && *result.notFiniteAt <= m_minibatches;
    result.worstGradient = m_worstGradient;
    result.ownMinibatches = m_ownMinibatches;
    result.averages = Averages();
    result.seconds = secondsBefore + std::chrono::duration<double>(Progress::Clock::now() - began).count();
    m_seconds = result.seconds;
    m_secondsWaited = result.secondsWaited;
    if (m_isShared)
        result.secondsExchanged = m_secondsExchanged += m_exchange->TakeSeconds();
    return result;
}

} // namespace cntk
