// Line shapes of training and evaluation. Scripts match them: only append to a line, never change it.
#include "SGD/Progress.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace cntk
{

namespace
{

double Seconds(Progress::Clock::duration duration)
{
    return std::chrono::duration<double>(duration).count();
}

template <class... Arguments>
std::string Format(const char* format, Arguments... arguments)
{
    char buffer[256];
    std::snprintf(buffer, sizeof buffer, format, arguments...);
    return buffer;
}

std::string FormatDuration(double seconds)
{
    const auto whole = static_cast<unsigned long>(std::max(0.0, std::min(seconds, 3.6e8)));
    return whole < 3600 ? Format("%lu:%02lu", whole / 60, whole % 60)
                        : Format("%lu:%02lu:%02lu", whole / 3600, whole / 60 % 60, whole % 60);
}

bool HasPerplexity(const std::string& operation)
{
    for (const char* name : {"CrossEntropyWithSoftmax", "CrossEntropy", "ClassBasedCrossEntropyWithSoftmax",
                             "NCEBasedCrossEntropyWithSoftmax"})
    {
        if (operation == name)
            return true;
    }
    return false;
}

} // namespace

std::string FormatPadded(double value, int width, int precision)
{
    const std::string general = Format("%.*g", precision, value);
    const char* format = general.find('e') != std::string::npos ? "%*.*e" : "%*.*f";
    char buffer[400]; // %f of the largest double
    std::snprintf(buffer, sizeof buffer, format, width, precision, value);
    return buffer;
}

std::string FormatEvaluation(size_t firstMinibatch, size_t lastMinibatch, size_t samples,
                             const std::vector<EvaluatedNode>& nodes, EvaluationLine kind)
{
    const bool isFinal = kind == EvaluationLine::Final;
    std::string line = Format("%sMinibatch[%zu-%zu]: SamplesSeen = %zu    ", isFinal ? "Final Results: " : "",
                              firstMinibatch, lastMinibatch, samples);
    for (const EvaluatedNode& node : nodes)
    {
        line += node.name + ": " + node.operation + Format("/Sample = %.8g    ", node.average);
        if (isFinal && HasPerplexity(node.operation))
            line += Format("Perplexity = %.8g    ", std::exp(node.average));
    }
    return line;
}

Progress::Progress(Log& log, const ProgressSettings& settings)
    : m_log(log), m_settings(settings), m_hasTerminal(log.HasTerminal())
{
}

void Progress::Restart(const EpochStart& start, const std::string& prefix)
{
    m_start = start;
    m_prefix = prefix;
    m_epochBegan = m_shownAt = m_drawnAt = Clock::now();
    m_shownMinibatch = m_goneOnBehind = 0;
    m_shownSamples = 0;
    m_shownSums.clear();
    m_reported.minibatch = m_reported.samples = 0;
    m_reported.sums.clear();
}

void Progress::BeginTrial(const EpochStart& start, const std::string& prefix)
{
    Restart(start, prefix);
    m_isTrial = true;
    m_trialLines.clear();
    m_trialBegan = {};
}

void Progress::RepeatTrial()
{
    if (m_trialBegan.minibatch != 0)
        ResumeAt(m_trialBegan.minibatch, {m_trialBegan.sums, m_trialBegan.samples});
    for (const TrialLine& line : m_trialLines)
        Show(line.minibatch, {line.sums, line.samples}, line.seconds);
    m_shownAt = Clock::now();
}

void Progress::EndTrial(const CriterionAverages& averages, double learningRatePerSample)
{
    m_log.ClearProgress();
    std::string line =
        Format("Finished Mini-Epoch For LearnRate Selection: TrainLossPerSample = %.8g;", averages.criterion);
    const auto& evaluations = averages.evaluations;
    if (evaluations.size() == 1)
        line += Format("EvalErrPerSample = %.8g; ", evaluations[0]);
    for (size_t i = 0; i < evaluations.size() && evaluations.size() > 1; ++i)
        line += Format(i == 0 ? "EvalErrPerSample [%zu]=%.8g; " : "[%zu]=%.8g; ", i, evaluations[i]);
    m_log.Write(line + Format("AvgLearningRatePerSample = %.8g\n", learningRatePerSample));
}

void Progress::ResumeAt(size_t minibatch, const RunningSums& running, const ReportedPosition* reported)
{
    m_shownAt = Clock::now();
    m_shownMinibatch = m_goneOnBehind = minibatch;
    m_shownSamples = running.samples;
    m_shownSums.assign(running.sums.begin(), running.sums.end());
    m_reported = reported != nullptr ? *reported : ReportedPosition{minibatch, running.samples, m_shownSums};
    if (m_isTrial)
        m_trialBegan = {minibatch, m_shownSums, running.samples, 0};
}

void Progress::WarnOfOtherData(size_t minibatches, size_t samples, size_t samplesBefore)
{
    m_log.Warn(Concat("epoch ", m_start.epoch + 1, ": its first ", Counted(minibatches, "minibatch"), " have ",
                      Counted(samples, "sample"), ", but had ", samplesBefore,
                      " when the training was stopped: the data or the reader's options have changed, so the epoch "
                      "mixes both; without the model '...at",
                      minibatches, "' it restarts"));
}

void Progress::BeginEpoch(const EpochStart& start)
{
    Restart(start, "");
    m_isTrial = false;
    if (m_settings.listener != nullptr)
        m_settings.listener->EpochBegins(start.epoch + 1);
    m_log.Print(
        "\nStarting Epoch %d: learning rate per sample = %f  effective momentum = %f  momentum as time constant = "
        "%.1f samples\n",
        int(start.epoch) + 1, start.learningRatePerSample, start.effectiveMomentum, start.momentumTimeConstant);
    if (start.searchedMinibatchSize != 0)
        m_log.Print("Minibatch size of epoch %zu: %zu\n", start.epoch + 1, start.searchedMinibatchSize);
    std::string cut;
    if (const auto& workers = start.workers; workers.count > 1)
        cut = Concat(", ", workers.method, " training (MyRank = ", workers.rank, ", NumNodes = ", workers.count,
                     workers.gradientBits == 0 ? "" : Concat(", NumGradientBits = ", workers.gradientBits), ")",
                     workers.isBuffered ? ", BufferedAsyncGradientAggregation is ENABLED" : "",
                     workers.readShares ? ", distributed reading is ENABLED" : "");
    if (start.parts.maxColumns != PartSettings{}.maxColumns)
        cut += Concat(", with maximum ", start.parts.maxColumns, " samples in RAM");
    else if (start.parts.parts > 1)
        cut += Concat(", with ", start.parts.parts, " subminibatch");
    m_log.Print("\nStarting minibatch loop%s.\n", cut.c_str());
}

std::string Progress::DecoderLine(size_t minibatch, const RunningSums& running) const
{
    const size_t samples = running.samples - m_shownSamples;
    const auto average = [&](size_t i)
    { return samples == 0 ? 0 : (running.sums[i] - m_shownSums[i]) / double(samples); };
    std::string line = m_prefix +
                       Format("Epoch[%zu]-Minibatch[%zu-%zu]: Samples Seen = %zu   ", m_start.epoch + 1,
                              m_shownMinibatch + 1, minibatch, samples) +
                       Format("Decoder Train Loss Per Sample = %.8g PPL = %.4e ", average(0), std::exp(average(0)));
    for (size_t i = 1; i < running.sums.size(); ++i)
        line += Format("EvalErr[%zu] Per Sample = %.8g ", i - 1, average(i));
    return line + "   ";
}

std::string Progress::DecoderEpochEnd(const EpochEnd& end) const
{
    std::string text = Format("Finished Epoch[%zu]: [Training Set] Decoder Train Loss Per Sample = %.8g    ",
                              m_start.epoch + 1, end.averages.criterion);
    for (const double evaluation : end.averages.evaluations)
        text += Format("EvalErr Per Sample = %.8g   ", evaluation);
    return text +
           Format("Ave Learn Rate Per Sample = %.10g  Epoch Time=%.8g\n", end.learningRatePerSample, end.seconds);
}

void Progress::ShowMinibatches(size_t minibatch, const RunningSums& running)
{
    const auto now = Clock::now();
    const double seconds = Seconds(now - m_shownAt);
    if (m_isTrial)
        m_trialLines.push_back({minibatch, {running.sums.begin(), running.sums.end()}, running.samples, seconds});
    Show(minibatch, running, seconds);
    m_shownAt = now;
}

void Progress::Show(size_t minibatch, const RunningSums& running, double seconds)
{
    const size_t samples = running.samples - m_shownSamples;
    m_shownSums.resize(running.sums.size());
    if (m_settings.traceLevel > 0 && m_settings.ofDecoder)
        m_log.Write(DecoderLine(minibatch, running) + Format("TotalTime = %.4fs; SamplesPerSecond = %.1f\n", seconds,
                                                             seconds > 0 ? double(samples) / seconds : 0.0));
    else if (m_settings.traceLevel > 0)
    {
        // CNTK v1.1 prints this range too: with firstMBsToShowResult the line covers fewer minibatches.
        int first = int(minibatch) - int(m_settings.numMBsToShowResult) + 1;
        if (m_goneOnBehind != 0)
            first = std::max(first, int(m_goneOnBehind) + 1);
        std::string line = m_prefix + Format(" Epoch[%2d of %d]-Minibatch[%4d-%4d", int(m_start.epoch) + 1,
                                             int(m_settings.maxEpochs), first, int(minibatch));
        if (m_start.expectedSamples != 0)
            line += Format(", %2.2f%%", 100.0 * double(running.samples) / double(m_start.expectedSamples));
        line += Format("]: SamplesSeen = %d; TrainLossPerSample = ", int(samples));
        for (size_t i = 0; i < running.sums.size(); ++i)
        {
            const double average = samples == 0 ? 0 : (running.sums[i] - m_shownSums[i]) / double(samples);
            if (i == 0)
                line += FormatPadded(average, 11, 8) + "; ";
            else
                line += Format("EvalErr[%zu]PerSample = ", i - 1) + FormatPadded(average, 0, 8) + "; ";
        }
        line += Format("TotalTime = %.4fs; SamplesPerSecond = %.1f\n", seconds,
                       seconds > 0 ? double(samples) / seconds : 0.0);
        m_log.Write(line);
    }
    std::copy(running.sums.begin(), running.sums.end(), m_shownSums.begin());
    m_shownMinibatch = minibatch;
    m_shownSamples = running.samples;
    if (!m_isTrial)
        Report(minibatch, running, seconds);
}

// Without a listener it allocates nothing.
void Progress::Report(size_t minibatch, const RunningSums& running, double seconds)
{
    m_reported.sums.resize(running.sums.size());
    if (m_settings.listener != nullptr)
    {
        MinibatchResult result;
        result.epoch = m_start.epoch + 1;
        result.minibatch = minibatch;
        result.samples = running.samples - m_reported.samples;
        result.seconds = seconds;
        for (size_t i = 0; i < running.sums.size(); ++i)
        {
            const double sum = running.sums[i] - m_reported.sums[i];
            const double average = result.samples == 0 ? 0 : sum / double(result.samples);
            if (i == 0)
                result.criterion = average;
            else
                result.evaluations.push_back(average);
        }
        m_settings.listener->MinibatchesEnd(result);
    }
    m_reported.minibatch = minibatch;
    m_reported.samples = running.samples;
    std::copy(running.sums.begin(), running.sums.end(), m_reported.sums.begin());
}

void Progress::Tick(size_t minibatch, size_t samples)
{
    if (!m_hasTerminal)
        return;
    const auto now = Clock::now();
    if (now - m_drawnAt < m_settings.redrawInterval)
        return;
    m_drawnAt = now;
    const double seconds = Seconds(now - m_epochBegan);
    const double rate = seconds > 0 ? double(samples) / seconds : 0;
    std::string line;
    if (m_start.expectedSamples != 0 && rate > 0)
    {
        const double done = std::min(1.0, double(samples) / double(m_start.expectedSamples));
        const double epochsLeft = double(m_settings.maxEpochs - m_start.epoch) - done;
        line = Format("%.0f%%  ", 100.0 * (double(m_start.epoch) + done) / double(m_settings.maxEpochs)) +
               FormatDuration(epochsLeft * double(m_start.expectedSamples) / rate) + " left  ";
    }
    m_log.ShowProgress(line + Format("epoch %zu of %zu  minibatch %zu  %zu samples  %.0f samples/s", m_start.epoch + 1,
                                     m_settings.maxEpochs, minibatch, samples, rate));
}

void Progress::EndEpoch(const EpochEnd& end, const std::string& criterionName,
                        const std::vector<std::string>& evaluationNames)
{
    m_log.ClearProgress();
    ReportEpoch(end);
    const std::string head = Format("Finished Epoch[%2d of %d]: ", int(m_start.epoch) + 1, int(m_settings.maxEpochs));
    const auto& evaluations = end.averages.evaluations;
    if (m_settings.ofDecoder)
        return m_log.Write(DecoderEpochEnd(end));
    std::string text = head + Format("[Training Set] TrainLossPerSample = %.8g; TotalSamplesSeen = %zu; ",
                                     end.averages.criterion, end.totalSamplesSeen);
    if (evaluations.size() == 1)
        text += Format("EvalErrPerSample = %.8g; ", evaluations[0]);
    for (size_t i = 0; i < evaluations.size() && evaluations.size() > 1; ++i)
        text += Format(i == 0 ? "EvalErrPerSample [%zu]=%.8g; " : "[%zu]=%.8g; ", i, evaluations[i]);
    text += Format("AvgLearningRatePerSample = %.8g; EpochTime=%.6g\n", end.learningRatePerSample, end.seconds);
    if (evaluations.size() > 1)
    {
        text += head + "    Criterion Node [" + criterionName + Format("] Per Sample = %.8g\n", end.averages.criterion);
        for (size_t i = 0; i < evaluations.size(); ++i)
            text +=
                head + "    Evaluation Node [" + evaluationNames[i] + Format("] Per Sample = %.8g\n", evaluations[i]);
    }
    if (m_settings.traceLevel > 0)
        text += Format("Waiting for data took %.4g s (%.1f%%) of the epoch.\n", end.secondsWaited,
                       end.seconds > 0 ? 100 * end.secondsWaited / end.seconds : 0.0);
    if (m_settings.traceLevel > 0 && end.secondsExchanged)
        text += Format("Exchange with other workers took %.4g s (%.1f%%) of the epoch.\n", *end.secondsExchanged,
                       end.seconds > 0 ? 100 * *end.secondsExchanged / end.seconds : 0.0);
    m_log.Write(text);
}

void Progress::ReportEpoch(const EpochEnd& end)
{
    if (m_settings.listener == nullptr)
        return;
    EpochSummary summary;
    summary.epoch = m_start.epoch + 1;
    summary.samples = end.averages.samples;
    summary.samplesSeen = end.totalSamplesSeen;
    summary.criterion = end.averages.criterion;
    summary.evaluations = end.averages.evaluations;
    summary.learningRatePerSample = end.learningRatePerSample;
    summary.momentumAsTimeConstant = m_start.momentumTimeConstant;
    summary.minibatchSize = m_start.minibatchSize;
    summary.seconds = end.seconds;
    summary.secondsWaited = end.secondsWaited;
    summary.bytes = end.bytes;
    m_settings.listener->EpochEnds(summary);
}

void Progress::ShowExchange(size_t minibatch, size_t minibatches, double seconds)
{
    m_log.Print("Exchange with other workers: %.4g s in minibatches %zu-%zu (%.4g s each)\n", seconds,
                minibatch - minibatches + 1, minibatch, seconds / double(minibatches));
}

void Progress::ShowValidation(const CriterionAverages& averages)
{
    if (m_settings.listener != nullptr)
        m_settings.listener->ValidationEnds(
            {m_start.epoch + 1, averages.samples, averages.criterion, averages.evaluations});
    if (m_settings.ofDecoder)
        return m_log.Write(Format("Finished Epoch[%zu]: [Validation Set] Loss Per Sample = %.8g\n", m_start.epoch + 1,
                                  averages.criterion));
    std::string line = Format("Finished Epoch[%2d of %d]: [Validation Set] TrainLossPerSample = %.8g",
                              int(m_start.epoch) + 1, int(m_settings.maxEpochs), averages.criterion);
    if (!averages.evaluations.empty())
        line += Format("; EvalErrPerSample = %.8g", averages.evaluations.front());
    m_log.Write(line + "\n");
}

} // namespace cntk
