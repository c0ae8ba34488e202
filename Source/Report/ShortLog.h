// The short log for people: a line for each epoch and each evaluation, and a summary at the end of the run.
#pragma once

#include "Report/RunRecord.h"
#include "SGD/RunListener.h"

#include <optional>
#include <string>

namespace cntk
{

class Log;

class ShortLog final : public RunListener
{
public:
    // record: of the same run, which must know each event before this object does. Both references must outlive this.
    ShortLog(const RunRecord& record, Log& log) : m_record(record), m_log(log) {}

    // Prints the summary: best and last epoch, results, time, speed, warnings (at most ten), files.
    void EndRun();

    void TrainingBegins(const TrainingBegin& training) override;
    void TrainingIsDone(const std::string& modelPath) override;
    void EpochBegins(size_t epoch) override;
    void EpochEnds(const EpochSummary&) override;
    void ValidationEnds(const ValidationSummary& validation) override;
    void EvaluationEnds(const EvaluationSummary& evaluation) override;
    void CommandEnds() override;

private:
    void PrintEpoch();
    void Print(const std::string& line);
    void PrintWrapped(const std::string& text);
    size_t Columns() const;

    const RunRecord& m_record;
    Log& m_log;
    std::optional<MetricsRow> m_epoch; // not yet printed: its validation may follow
    std::optional<MetricsRow> m_validation;
};

// "Epoch 3 of 40: loss 0.0744 error 3.1%  Validation loss 0.0812 error 3.5%  rate 0.01  1.2M samples/s  1:05 left". In
// few columns the line has fewer words, and in even fewer neither speed nor rate. validation: null for
// none. secondsLeft: below 0: unknown.
std::string ShortEpochLine(const MetricsRow& epoch, const MetricsRow* validation, size_t maxEpochs, double secondsLeft,
                           size_t columns);

// "950", "12.3k", "1.25M".
std::string ShortCount(double number);

} // namespace cntk
