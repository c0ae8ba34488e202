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
    return first == 0 ? 0 : m_settings.from.minibatches + first;
}

// Checks other elements in each minibatch.
void EpochLoop::CheckMinibatchGradients(int digits, size_t minibatch)
{
    const GradientComparison worst = CheckGradients(m_evaluator, m_nodes.criterion, digits, {.seed = minibatch});
    if (worst.parameter &&
        (!m_result.worstGradient || worst.Disagreement(digits) > m_result.worstGradient->Disagreement(digits)))
        m_result.worstGradient = worst;
}

// True if parameters may be updated during the backward pass: the criterion has been checked for NaN, the minibatch has
// one part only, and no other worker adds gradients.
bool EpochLoop::MayUpdateInBackward() const
{
    return m_sums.SeesEveryValue() && m_source.Parts() == 1 && !m_settings.isShared;
}

// Runs the forward pass and, if the minibatch is to update, the backward pass; the gradients of parts accumulate. False
// if the criterion is NaN or infinite.
bool EpochLoop::RunPart(size_t minibatch, size_t part, bool backward)
{
    if (part > 0)
        m_source.BindPart(part);
    Forward(part);
    if (m_tracer != nullptr)
        Trace(minibatch, part);
    CriterionSums& sums = m_settings.isShared ? m_own : m_sums;
    sums.Add(m_source.Samples(), part == 0);
    if (sums.SeesEveryValue() && !std::isfinite(sums.LastValue(0)))
        return false;
    // The gradient check keeps the gradients. A second backward pass would read values that the first one overwrote
    // with gradients.
    if (m_settings.gradientCheckDigits > 0 && part == 0)
        CheckMinibatchGradients(m_settings.gradientCheckDigits, minibatch);
    else if (backward && part == 0 && MayUpdateInBackward())
    {
        m_learner.BeginUpdate(m_settings.learningRatePerSample, m_settings.momentumPerSample, m_source.Columns());
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
bool EpochLoop::RunParts(size_t minibatch, bool backward)
{
    bool isFinite = true;
    for (size_t part = 0; part < m_source.Parts() && isFinite; ++part)
    {
        SetWindow(m_source.WindowOf(part));
        isFinite = RunPart(minibatch, part, backward);
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
bool EpochLoop::RunMinibatch(size_t minibatch)
{
    const bool updates = m_settings.learningRatePerSample > c_noUpdateLearningRate;
    const size_t columns = m_settings.isShared ? m_columns : m_source.Columns();
    if (m_settings.isShared)
        m_own.Reset();
    if (!m_settings.isShared || m_hasOwn)
        ++m_result.ownMinibatches;
    if (const bool isFinite = (m_settings.isShared && !m_hasOwn) || RunParts(minibatch, updates);
        m_settings.isShared ? !ShareSums() : !isFinite)
        return false;
    if (updates && m_settings.isShared)
        UpdateTogether(minibatch);
    else if (updates)
        Update(columns);
    return ShowMinibatch(minibatch);
}

void EpochLoop::Update(size_t columns)
{
    m_learner.Update(m_settings.learningRatePerSample, m_settings.momentumPerSample, columns, m_sums.NotFiniteFlag());
}

// Updates with the sums of all workers' gradients, if they have arrived.
void EpochLoop::UpdateTogether(size_t minibatch)
{
    m_evaluator.BindGradients();
    if (const size_t columns = m_exchange->SumGradients(m_hasOwn, m_columns); columns > 0)
        Update(columns);
    if (m_settings.syncPerfStats == 0 || minibatch % m_settings.syncPerfStats != 0)
        return;
    const double seconds = m_exchange->TakeSeconds();
    *m_result.secondsExchanged += seconds;
    m_progress.ShowExchange(minibatch, m_settings.syncPerfStats, seconds);
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

// Returns the share of the data that this worker reads from the reader's whole epoch, or its share of each minibatch.
EpochRequest EpochLoop::Request() const
{
    EpochRequest request{.epoch = m_settings.epoch,
                         .minibatchSize = m_settings.minibatchSize,
                         .epochSize = m_settings.epochSize,
                         .rank = 0,
                         .workers = 1,
                         .wanted = {}};
    if (m_settings.isShared || m_settings.isAveraged)
    {
        const Workers& workers = m_settings.isShared ? m_exchange->GetWorkers() : m_average->GetWorkers();
        request.rank = workers.Rank();
        request.workers = workers.Count();
    }
    return request;
}

// Sets the reader to the position where the epoch starts or resumes.
void EpochLoop::Begin()
{
    m_sums.Reset();
    m_result = {};
    m_minibatches = 0;
    m_isAtEnd = false;
    m_hasTotals = false;
    if (m_settings.isShared)
    {
        m_result.secondsExchanged = 0;
        m_exchange->BeginEpoch();
        m_exchange->TakeSeconds();
    }
    if (m_settings.isAveraged)
        m_average->BeginEpoch();
    StartReader();
    SkipTo();
    if (m_settings.beforeFirst)
        m_settings.beforeFirst();
}

void EpochLoop::StartReader()
{
    EpochRequest request = Request();
    // Either the reader delivers this worker's share, or the source takes it from each minibatch.
    m_source.TakeShare(m_settings.readsShare ? 0 : request.rank, m_settings.readsShare ? 1 : request.workers);
    if (!m_settings.readsShare)
    {
        request.rank = 0;
        request.workers = 1;
    }
    m_source.StartEpoch(request);
}

// Skips the data that a resumed epoch has already used.
void EpochLoop::SkipTo()
{
    size_t samples = 0;
    for (; m_minibatches < m_settings.from.minibatches; ++m_minibatches)
    {
        const std::optional<size_t> skipped = m_source.Skip();
        if (!skipped && !m_settings.isShared)
            Fail(ErrorKind::Data, "the reader delivered ", Counted(m_minibatches, "minibatch"), " for epoch ",
                 m_settings.epoch + 1, ", but the training was stopped after ", m_settings.from.minibatches,
                 " of them; were the data or the reader's options changed? Without the model '...at",
                 m_settings.from.minibatches, "' the epoch restarts");
        samples += skipped.value_or(0);
    }
    if (m_minibatches > 0 || m_settings.from.samples > 0) // only other workers may have had minibatches
    {
        if (m_settings.isShared)
        {
            m_shared.assign(1, double(samples));
            m_exchange->Share(m_shared);
            samples = size_t(m_shared.front());
        }
        if (m_settings.isAveraged)
            samples = m_settings.from.samples; // the workers' total; they have read to different positions
        if (samples != m_settings.from.samples && !m_source.HasSeveralAxes())
            m_progress.WarnOfOtherData(m_minibatches, samples, m_settings.from.samples);
        m_sums.Restore(m_settings.from.sums, m_settings.from.samples);
        const std::optional<ReportedPosition>& reported = m_settings.from.reported;
        m_progress.ResumeAt(m_minibatches, {m_settings.from.sums, m_settings.from.samples},
                            reported ? &*reported : nullptr);
    }
}

bool EpochLoop::ReadAgain(size_t minibatch)
{
    StartReader();
    for (size_t before = 1; before < minibatch; ++before)
    {
        if (!m_source.Skip())
            return false;
    }
    return m_source.Next() && HoldsMinibatch();
}

EpochPosition EpochLoop::Position()
{
    EpochPosition position{m_minibatches, m_sums.Samples(), {}, m_progress.Reported()};
    for (size_t i = 0; i < m_running.size(); ++i)
        position.sums.push_back(m_sums.Sum(i));
    if (const std::vector<double>* const late = m_settings.isShared ? &m_exchange->LateCounts() : nullptr;
        late && !late->empty())
    {
        for (size_t i = 0; i < m_running.size(); ++i)
            position.sums[i] += (*late)[i];
        position.samples += size_t(late->back());
    }
    if (m_settings.isAveraged && !m_hasTotals)
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
    if (!m_settings.readsShare && m_shared[0] != 0 && m_shared[0] != double(workers.Count())) // each has read all
        AnyWorkerStops(workers, isThere ? WorkerState::Continues : WorkerState::HasEnded);
    return m_shared[0] != 0;
}

// False at the end of the data.
bool EpochLoop::ReadNext()
{
    try
    {
        return m_settings.isShared ? ReadShared() : m_source.Next();
    }
    catch (Error& error) // all workers have the error
    {
        EndUpdates();
        ReportDataError(error);
        throw;
    }
}

// Takes counts and gradients that are still in transit from other workers.
void EpochLoop::EndUpdates()
{
    if (!m_settings.isShared)
        return;
    m_shared.clear();
    m_exchange->DelayCounts(m_shared);
    AddShared();
    if (const size_t columns = m_exchange->LastGradients(); columns > 0)
        Update(columns);
}

// If sequences continue, the nodes may already hold the state after this minibatch. Other workers do not know that this
// one has failed, and would have to take part in saving.
void EpochLoop::Forward(size_t part)
{
    try
    {
        m_source.NameSequenceWhereFails([&] { m_evaluator.Forward(); });
    }
    catch (Error& error)
    {
        const bool isAlone = !m_settings.isShared && !m_settings.isAveraged;
        if (error.Kind() == ErrorKind::Data && part == 0 && isAlone && !m_source.ContinuesSequences())
            ReportDataError(error);
        throw;
    }
}

void EpochLoop::ReportDataError(Error& error)
{
    if (m_settings.dataFail && m_minibatches > 0 && IsFiniteSoFar())
        m_settings.dataFail(error);
}

// Runs until the data or continues end the epoch, or a criterion is NaN or infinite.
void EpochLoop::RunMinibatches()
{
    while (!m_isAtEnd)
    {
        if (!ReadNext())
        {
            m_isAtEnd = true;
            return EndUpdates();
        }
        m_result.secondsWaited += m_source.SecondsWaited();
        if (!RunMinibatch(m_minibatches + 1))
        {
            const size_t first = FirstNotFinite();
            m_result.notFiniteAt = first != 0 ? first : m_minibatches + 1;
            return;
        }
        ++m_minibatches;
        if (m_settings.continues && !m_settings.continues())
        {
            m_result.stopped = IsFiniteSoFar();
            return EndUpdates();
        }
    }
}

// Runs minibatches until this worker is to meet the others.
ModelAverage::News EpochLoop::RunToMeeting()
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
        m_result.secondsWaited += m_source.SecondsWaited();
        if (m_source.Columns() > 0 && !RunMinibatch(m_minibatches + 1))
            news.notFiniteAt = m_minibatches + 1;
        else
            ++m_minibatches;
        m_average->Count(m_source.Columns());
    }
    if (const size_t first = FirstNotFinite(); first != 0)
        news.notFiniteAt = first;
    return news;
}

void EpochLoop::RunAveraged()
{
    ModelAverage::Outcome outcome;
    while (!outcome.allHaveEnded)
    {
        outcome = m_average->Meet(RunToMeeting());
        if (outcome.error)
        {
            if (const size_t samples = Position().samples; samples > 0 && m_settings.dataFail)
                m_settings.dataFail(*outcome.error);
            throw Error(*outcome.error);
        }
        if (outcome.notFiniteAt != 0)
        {
            m_result.notFiniteAt = outcome.notFiniteAt;
            break;
        }
        if (!outcome.allHaveEnded && m_settings.continues && !m_settings.continues())
        {
            m_result.stopped = true;
            return;
        }
    }
    TakeTotals();
}

// Takes the counts of all workers at the end of an epoch whose models were averaged.
void EpochLoop::TakeTotals()
{
    const EpochPosition all = Position();
    m_sums.Restore(all.sums, all.samples);
    m_hasTotals = true;
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
    m_settings = settings;
    const double secondsBefore = settings.continuesTrial ? m_result.seconds : 0;
    WithNote(
        [&]
        {
            if (!settings.continuesTrial)
                Begin();
            settings.isAveraged ? RunAveraged() : RunMinibatches();
        },
        [&] { return Concat("while training epoch ", settings.epoch + 1, ", minibatch ", m_minibatches + 1); });
    if (m_minibatches == 0 && m_sums.Samples() == 0 && !m_result.notFiniteAt)
        FailNoData(settings);
    if (const size_t first = FirstNotFinite(); first != 0)
        m_result.notFiniteAt = first;
    m_result.wentOn = m_result.notFiniteAt && *m_result.notFiniteAt <= m_minibatches;
    m_result.averages = Averages();
    m_result.seconds = secondsBefore + std::chrono::duration<double>(Progress::Clock::now() - began).count();
    if (settings.isShared)
        *m_result.secondsExchanged += m_exchange->TakeSeconds();
    return m_result;
}

} // namespace cntk
