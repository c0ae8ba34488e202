// Formats all lines of training and evaluation (book 3.3.1.5) and the progress line on terminals. The lines keep the
// shape of CNTK v1.1, since scripts read them.
#pragma once

#include "Common/Log.h"
#include "SGD/Minibatches/MinibatchParts.h"
#include "SGD/RunListener.h"

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

// Averages of an epoch or of a validation set.
struct CriterionAverages
{
    double criterion = 0;
    std::vector<double> evaluations;
    size_t samples = 0;
    size_t minibatches = 0;
};

struct ProgressSettings
{
    int traceLevel = 0;
    size_t numMBsToShowResult = 10;
    size_t firstMBsToShowResult = 0;
    size_t maxEpochs = 1;
    bool ofDecoder = false;                        // an encoder and a decoder are trained: CNTK v1.1 prints other lines
    std::chrono::milliseconds redrawInterval{200}; // minimum for the line on a terminal
    RunListener* listener = nullptr;               // receives the same results as the lines; null: nobody
};

struct EpochStart
{
    size_t epoch = 0; // 0-based
    double learningRatePerSample = 0;
    double effectiveMomentum = 0; // of a whole minibatch
    double momentumTimeConstant = 0;
    size_t expectedSamples = 0; // of the epoch; 0: not known yet
    size_t minibatchSize = 0;
    PartSettings parts{}; // how minibatches are cut
    struct
    {
        const char* method = "";
        size_t rank = 0;
        size_t count = 1;        // 1: no other worker shares the epoch
        size_t gradientBits = 0; // 0: each worker trains a model of its own
        bool isBuffered = false;
        bool readShares = false;
    } workers{};
    size_t searchedMinibatchSize = 0; // 0: the listed size
};

// Sums since the epoch began, as CriterionSums returns them: the criterion, then the evaluations.
struct RunningSums
{
    std::span<const double> sums;
    size_t samples = 0;
};

// The place of the last results that were reported, within an epoch.
struct ReportedPosition
{
    size_t minibatch = 0;
    size_t samples = 0;
    std::vector<double> sums; // as RunningSums; empty: zeros
};

class Progress
{
public:
    using Clock = std::chrono::steady_clock;

    Progress(Log& log, const ProgressSettings& settings);

    // "Starting Epoch ..." and "Starting minibatch loop."
    void BeginEpoch(const EpochStart& start);

    // The epoch resumes after this minibatch. reported: the Reported() of the stopped training; null: unknown.
    void ResumeAt(size_t minibatch, const RunningSums& running, const ReportedPosition* reported = nullptr);
    const ReportedPosition& Reported() const { return m_reported; }
    // A trial before the epoch, which chooses a rate or size: lines have the prefix until BeginEpoch.
    void BeginTrial(const EpochStart& start, const std::string& prefix);
    // Warns that the data before a resumed position have another number of samples than before.
    void WarnOfOtherData(size_t minibatches, size_t samples, size_t samplesBefore);
    // The epoch continues the last trial: prints the lines of the trial's minibatches again, as the epoch's.
    void RepeatTrial();
    // "Finished Mini-Epoch For LearnRate Selection: ..."
    void EndTrial(const CriterionAverages& averages, double learningRatePerSample);

    // True if a progress line is due after this minibatch (from 1): call ShowMinibatches then.
    bool IsDue(size_t minibatch) const
    {
        return minibatch <= m_settings.firstMBsToShowResult ||
               (m_settings.numMBsToShowResult != 0 && minibatch % m_settings.numMBsToShowResult == 0);
    }
    // " Epoch[ 1 of 3]-Minibatch[   1-  10]: ...": results since the previous such line; only at traceLevel > 0.
    void ShowMinibatches(size_t minibatch, const RunningSums& running);
    // Redraws the line on a terminal at intervals; cheap.
    void Tick(size_t minibatch, size_t samples);

    // "Finished Epoch[ 1 of 3]: [Training Set] ..." and one line a node where there are several evaluation nodes.
    struct EpochEnd
    {
        CriterionAverages averages;
        size_t totalSamplesSeen = 0;
        double learningRatePerSample = 0;
        double seconds = 0;
        double secondsWaited = 0;               // for data
        std::optional<double> secondsExchanged; // with other workers
        size_t bytes = 0;                       // allocated for values and gradients
    };
    void EndEpoch(const EpochEnd& end, const std::string& criterionName,
                  const std::vector<std::string>& evaluationNames);
    // Prints the duration of the exchange with other workers since the previous such line.
    void ShowExchange(size_t minibatch, size_t minibatches, double seconds);
    // "Finished Epoch[ 1 of 3]: [Validation Set] ..."
    void ShowValidation(const CriterionAverages& averages);

private:
    void Restart(const EpochStart& start, const std::string& prefix);
    void Show(size_t minibatch, const RunningSums& running, double seconds);
    void Report(size_t minibatch, const RunningSums& running, double seconds);
    void ReportEpoch(const EpochEnd& end);
    std::string DecoderLine(size_t minibatch, const RunningSums& running) const;
    std::string DecoderEpochEnd(const EpochEnd& end) const;

    Log& m_log;
    ProgressSettings m_settings;
    EpochStart m_start;
    std::string m_prefix; // of trials
    Clock::time_point m_epochBegan;
    // State at the last progress line.
    Clock::time_point m_shownAt;
    size_t m_shownMinibatch = 0;
    size_t m_goneOnBehind = 0; // minibatch after which the epoch resumed
    size_t m_shownSamples = 0;
    std::vector<double> m_shownSums;
    ReportedPosition m_reported; // the listener's; the log counts from the minibatch where the epoch resumed
    struct TrialLine
    {
        size_t minibatch;
        std::vector<double> sums;
        size_t samples;
        double seconds;
    };
    std::vector<TrialLine> m_trialLines;
    TrialLine m_trialBegan{}; // state when the trial began
    bool m_isTrial = false;
    // State of the progress line on the terminal.
    bool m_hasTerminal;
    Clock::time_point m_drawnAt;
};

// One evaluated node of a "Final Results" or intermediate evaluation line.
struct EvaluatedNode
{
    std::string name;
    std::string operation; // type name
    double average = 0;
};
enum class EvaluationLine
{
    Intermediate,
    Final
};
// "[Final Results: ]Minibatch[1-4]: SamplesSeen = 400    err: ErrorPrediction/Sample = 0.39    "; the final line has
// the perplexity after cross entropies.
std::string FormatEvaluation(size_t firstMinibatch, size_t lastMinibatch, size_t samples,
                             const std::vector<EvaluatedNode>& nodes, EvaluationLine kind);

// "%11.8f", or "%11.8e" where %g would use an exponent.
std::string FormatPadded(double value, int width, int precision);

} // namespace cntk
