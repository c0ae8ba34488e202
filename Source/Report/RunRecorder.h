// Collects what a run leaves, and writes its report.
#pragma once

#include "Report/JsonLines.h"
#include "Report/RunRecord.h"
#include "SGD/RunListener.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace cntk
{

class Log;

class RunRecorder final : public RunListener
{
public:
    // reportPath: empty: no report. metrics: the run's rows, for the epochs of a training before it was resumed; null:
    // with a report these rows are kept in <modelPath>.history.jsonl. Both references must outlive this.
    RunRecorder(RunRecord record, std::string reportPath, const JsonLinesFile* metrics, Log& log);

    const RunRecord& Record() const { return m_record; }
    void EndRun(int exitCode, const std::string& message);

    bool WantsClassification() const override { return !m_reportPath.empty(); }
    void CommandBegins(const std::string& command, const std::string& action) override;
    void CommandEnds() override;
    void TrainingBegins(const TrainingBegin& training) override;
    void TrainingIsDone(const std::string& modelPath) override;
    void EpochEnds(const EpochSummary& epoch) override;
    void ValidationEnds(const ValidationSummary& validation) override;
    void EvaluationEnds(const EvaluationSummary& evaluation) override;
    void ClassificationEnds(const ConfusionCounts& counts) override;
    void RegionsAreKnown(const ClassRegions& regions) override;
    void ModelIsSaved(const SavedModel& model) override;
    void FileIsWritten(const std::string& path) override;

private:
    using Clock = std::chrono::steady_clock;

    CommandRecord& Current() { return m_record.commands.back(); }
    void AddRow(MetricsRow row);
    void ReadEarlierRows(const TrainingBegin& training);
    void WriteReport();
    void WriteReportIfDue();

    RunRecord m_record;
    std::string m_reportPath;
    const JsonLinesFile* m_metrics;
    Log& m_log;
    std::unique_ptr<JsonLinesFile> m_history; // of the current training
    Clock::time_point m_commandBegan;
    Clock::time_point m_nextReport; // during a command
};

} // namespace cntk
