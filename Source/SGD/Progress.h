// The only place that formats the lines of training and evaluation (book 3.3.1.5; they are the original's, since
// scripts read them), and the progress line on terminals.
#pragma once

#include "Common/Log.h"
#include "SGD/Minibatches/MinibatchParts.h"

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
    bool ofDecoder = false; // an encoder and a decoder are trained: the original's lines are others
    std::chrono::milliseconds redrawInterval{200}; // of the line on a terminal, at least
};

struct EpochStart
{
    size_t epoch = 0; // 0-based
    double learningRatePerSample = 0;
    double effectiveMomentum = 0; // of a whole minibatch
    double momentumTimeConstant = 0;
    size_t expectedSamples = 0; // of the epoch; 0: not known yet
    PartSettings parts{};       // how minibatches are cut
    struct
    {
        const char* method = "";
        size_t rank = 0;
        size_t count = 1;        // 1: no other worker shares the epoch
        size_t gradientBits = 0; // 0: each worker trains a model of its own
        bool isBuffered = false;
        bool readShares = false;
    } workers{};
    size_t searchedMinibatchSize = 0; // 0: the list's
};

// Sums since the epoch began, as CriterionSums has them; evaluations behind the criterion.
struct RunningSums
{
    std::span<const double> sums;
    size_t samples = 0;
};

class Progress
{
public:
    using Clock = std::chrono::steady_clock;

    Progress(Log& log, const ProgressSettings& settings);

    // "Starting Epoch ..." and "Starting minibatch loop."
    void BeginEpoch(const EpochStart& start);

    // An epoch that is taken up again: it stands behind this minibatch.
    void GoOn(size_t minibatch, const RunningSums& running);
    // A short run before the epoch, to choose a rate or a minibatch size: its lines have the prefix, until BeginEpoch.
    void BeginTrial(const EpochStart& start, const std::string& prefix);
    // Of an epoch that goes on: what was read of it before had another number of samples.
    void WarnOfOtherData(size_t minibatches, size_t samples, size_t samplesBefore);
    // The epoch that has begun starts with what the last trial did: shows its minibatches again, as the epoch's.
    void RepeatTrial();
    // "Finished Mini-Epoch For LearnRate Selection: ..."
    void EndTrial(const CriterionAverages& averages, double learningRatePerSample);

    // True when the minibatch just done (counted from 1) ends a stretch to be shown: call ShowMinibatches then.
    bool IsDue(size_t minibatch) const
    {
        return minibatch <= m_settings.firstMBsToShowResult ||
               (m_settings.numMBsToShowResult != 0 && minibatch % m_settings.numMBsToShowResult == 0);
    }
    // " Epoch[ 1 of 3]-Minibatch[   1-  10]: ...": what happened since the last such line; only at traceLevel > 0.
    void ShowMinibatches(size_t minibatch, const RunningSums& running);
    // Cheap; redraws the line on a terminal now and then.
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
    };
    void EndEpoch(const EpochEnd& end, const std::string& criterionName,
                  const std::vector<std::string>& evaluationNames);
    // How long the exchange with other workers took, of the minibatches since the last such line.
    void ShowExchange(size_t minibatch, size_t minibatches, double seconds);
    // "Finished Epoch[ 1 of 3]: [Validation Set] ..."
    void ShowValidation(const CriterionAverages& averages);

private:
    void Restart(const EpochStart& start, const std::string& prefix);
    void Show(size_t minibatch, const RunningSums& running, double seconds);
    std::string DecoderLine(size_t minibatch, const RunningSums& running) const;
    std::string DecoderEpochEnd(const EpochEnd& end) const;

    Log& m_log;
    ProgressSettings m_settings;
    EpochStart m_start;
    std::string m_prefix; // of trials
    Clock::time_point m_epochBegan;
    // At the last progress line.
    Clock::time_point m_shownAt;
    size_t m_shownMinibatch = 0;
    size_t m_goneOnBehind = 0; // where the epoch was taken up again
    size_t m_shownSamples = 0;
    std::vector<double> m_shownSums;
    struct TrialLine
    {
        size_t minibatch;
        std::vector<double> sums;
        size_t samples;
        double seconds;
    };
    std::vector<TrialLine> m_trialLines;
    TrialLine m_trialBegan{}; // where the trial was taken up again
    bool m_isTrial = false;
    // Of the line on the terminal.
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
// the perplexity behind cross entropies.
std::string FormatEvaluation(size_t firstMinibatch, size_t lastMinibatch, size_t samples,
                             const std::vector<EvaluatedNode>& nodes, EvaluationLine kind);

// "%11.8f", or "%11.8e" where %g would use an exponent.
std::string FormatPadded(double value, int width, int precision);

} // namespace cntk
