// Writes the events of a run as rows of metrics files, and as event files of TensorBoard.
#pragma once

#include "Report/EventFile.h"
#include "Report/MetricsRow.h"
#include "SGD/RunListener.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

class Log;

// Opens a metrics file; its ending decides on its kind. Fails (Config) for other endings than .jsonl and .csv.
std::unique_ptr<RowFile> OpenMetricsFile(const std::string& path, Log& log);
// Fails in the same way, but touches no file.
void CheckMetricsPath(const std::string& path);

// Rows of events. evaluations: the names of the training's nodes.
MetricsRow RowOf(const MinibatchResult& result, const TrainingBegin& training);
MetricsRow RowOf(const EpochSummary& epoch, const TrainingBegin& training);
MetricsRow RowOf(const ValidationSummary& validation, const TrainingBegin& training);
MetricsRow RowOf(const EvaluationSummary& evaluation);
MetricsRow RowOf(const SavedModel& model);

class MetricsRecorder final : public RunListener
{
public:
    explicit MetricsRecorder(std::vector<std::unique_ptr<RowFile>> files) : m_files(std::move(files)) {}

    void BeginRun(const RunStart& start);
    void EndRun(int exitCode, const std::string& message);

    bool WantsClassification() const override { return true; }
    void CommandBegins(const std::string& command, const std::string& action) override;
    void TrainingBegins(const TrainingBegin& training) override;
    void TrainingIsDone(const std::string& modelPath) override { AddMissingModel(modelPath); }
    void MinibatchesEnd(const MinibatchResult& result) override { Add(RowOf(result, m_training)); }
    void EpochEnds(const EpochSummary& epoch) override { Add(RowOf(epoch, m_training)); }
    void ValidationEnds(const ValidationSummary& validation) override { Add(RowOf(validation, m_training)); }
    void EvaluationEnds(const EvaluationSummary& evaluation) override;
    void ClassificationEnds(const ConfusionCounts& counts) override;
    void ModelIsSaved(const SavedModel& model) override { Add(RowOf(model)); }

private:
    void Add(MetricsRow row);
    void AddMissingModel(const std::string& path);
    void DropResultsOnce();

    std::vector<std::unique_ptr<RowFile>> m_files;
    std::chrono::steady_clock::time_point m_began = std::chrono::steady_clock::now();
    std::string m_command;
    bool m_hasDroppedResults = false; // of earlier runs of the command
    TrainingBegin m_training;
};

// One event file for each training, in a folder with the name of its command.
class EventRecorder final : public RunListener
{
public:
    explicit EventRecorder(std::string folder) : m_folder(std::move(folder)) {}

    void CommandBegins(const std::string& command, const std::string& /*action*/) override { m_command = command; }
    void CommandEnds() override { m_file.reset(); }
    void TrainingBegins(const TrainingBegin& training) override;
    void EpochEnds(const EpochSummary& epoch) override;
    void ValidationEnds(const ValidationSummary& validation) override;

private:
    std::string m_folder;
    std::string m_command;
    TrainingBegin m_training;
    size_t m_samplesSeen = 0;
    std::optional<EventFile> m_file;
};

} // namespace cntk
