#include "Report/MetricsRecorder.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "Report/CsvMetrics.h"
#include "Report/JsonLines.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace cntk
{

namespace
{

std::vector<NodeAverage> WithAverages(const std::vector<NodeAverage>& nodes, const std::vector<double>& averages)
{
    std::vector<NodeAverage> with(nodes.begin(), nodes.begin() + ptrdiff_t(std::min(nodes.size(), averages.size())));
    for (size_t i = 0; i < with.size(); ++i)
        with[i].average = averages[i];
    return with;
}

bool HasEnding(const std::string& path, std::string_view ending)
{
    return ToLower(path).ends_with(ending);
}

} // namespace

void CheckMetricsPath(const std::string& path)
{
    if (HasEnding(path, ".jsonl") && !HasJsonLines())
        Fail(ErrorKind::Config, "metrics=", path,
             ": this program was built without the JSON library (Debian package nlohmann-json3-dev); a file that ends "
             "in .csv needs no library");
    if (!HasEnding(path, ".jsonl") && !HasEnding(path, ".csv"))
        Fail(ErrorKind::Config, "metrics=", path,
             ": the ending of the file decides on its kind; expected .jsonl (JSON lines) or .csv (a table)");
}

std::unique_ptr<RowFile> OpenMetricsFile(const std::string& path, Log& log)
{
    CheckMetricsPath(path);
    if (HasEnding(path, ".jsonl"))
        return std::make_unique<JsonLinesFile>(path, log);
    return std::make_unique<CsvMetricsFile>(path, log);
}

MetricsRow RowOf(const MinibatchResult& result, const TrainingBegin& training)
{
    MetricsRow row;
    row.kind = RowKind::Minibatch;
    row.epoch = result.epoch;
    row.minibatch = result.minibatch;
    row.samples = result.samples;
    row.criterion = result.criterion;
    row.nodes = WithAverages(training.evaluations, result.evaluations);
    row.seconds = result.seconds;
    row.samplesPerSecond = result.seconds > 0 ? double(result.samples) / result.seconds : 0;
    return row;
}

MetricsRow RowOf(const EpochSummary& epoch, const TrainingBegin& training)
{
    MetricsRow row;
    row.kind = RowKind::Epoch;
    row.epoch = epoch.epoch;
    row.samples = epoch.samples;
    row.samplesSeen = epoch.samplesSeen;
    row.criterion = epoch.criterion;
    row.nodes = WithAverages(training.evaluations, epoch.evaluations);
    row.learningRatePerSample = epoch.learningRatePerSample;
    row.momentumAsTimeConstant = epoch.momentumAsTimeConstant;
    row.minibatchSize = epoch.minibatchSize;
    row.seconds = epoch.seconds;
    row.secondsWaited = epoch.secondsWaited;
    return row;
}

MetricsRow RowOf(const ValidationSummary& validation, const TrainingBegin& training)
{
    MetricsRow row;
    row.kind = RowKind::Validation;
    row.epoch = validation.epoch;
    row.samples = validation.samples;
    row.criterion = validation.criterion;
    row.nodes = WithAverages(training.evaluations, validation.evaluations);
    return row;
}

MetricsRow RowOf(const EvaluationSummary& evaluation)
{
    MetricsRow row;
    row.kind = RowKind::Result;
    row.epoch = evaluation.epoch;
    row.samples = evaluation.samples;
    row.nodes = evaluation.nodes;
    row.isBest = evaluation.isBest;
    return row;
}

MetricsRow RowOf(const SavedModel& model)
{
    MetricsRow row;
    row.kind = RowKind::Model;
    row.path = model.path;
    row.bytes = model.bytes;
    row.parameters = model.parameters;
    return row;
}

void MetricsRecorder::BeginRun(const RunStart& start)
{
    for (const std::unique_ptr<RowFile>& file : m_files)
        file->BeginRun(start);
}

void MetricsRecorder::EndRun(int exitCode, const std::string& message)
{
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - m_began).count();
    for (const std::unique_ptr<RowFile>& file : m_files)
        file->EndRun(exitCode, message, seconds);
}

void MetricsRecorder::CommandBegins(const std::string& command, const std::string& /*action*/)
{
    m_command = command;
    m_hasDroppedResults = false;
}

void MetricsRecorder::TrainingBegins(const TrainingBegin& training)
{
    m_training = training;
    std::optional<ContinuationPoint> point;
    if (training.isResumed)
        point = {training.epochsDone, training.minibatchesDone};
    for (const std::unique_ptr<RowFile>& file : m_files)
        file->Drop(m_command, RowGroup::Training, point);
    if (!training.resumedModel.empty())
        AddMissingModel(training.resumedModel);
}

void MetricsRecorder::AddMissingModel(const std::string& path)
{
    for (const std::unique_ptr<RowFile>& file : m_files)
        file->AddMissingModel(m_command, path);
}

void MetricsRecorder::EvaluationEnds(const EvaluationSummary& evaluation)
{
    DropResultsOnce();
    Add(RowOf(evaluation));
}

void MetricsRecorder::ClassificationEnds(const ConfusionCounts& counts)
{
    DropResultsOnce();
    for (const std::unique_ptr<RowFile>& file : m_files)
        file->AddConfusion(m_command, counts);
}

void MetricsRecorder::Add(MetricsRow row)
{
    row.command = m_command;
    for (const std::unique_ptr<RowFile>& file : m_files)
        file->Add(row);
}

// Results replace those of an earlier run of the command.
void MetricsRecorder::DropResultsOnce()
{
    if (std::exchange(m_hasDroppedResults, true))
        return;
    for (const std::unique_ptr<RowFile>& file : m_files)
        file->Drop(m_command, RowGroup::Evaluation, std::nullopt);
}

void EventRecorder::TrainingBegins(const TrainingBegin& training)
{
    m_training = training;
    m_samplesSeen = training.samplesSeen;
    const std::string folder = m_folder + "/" + m_command;
    std::error_code error;
    const bool hasEarlierRun = std::filesystem::exists(folder, error);
    m_file.emplace(folder);
    if (training.isResumed || hasEarlierRun)
        m_file->BeginAt(training.samplesSeen); // the viewer drops later steps of earlier runs
}

void EventRecorder::EpochEnds(const EpochSummary& epoch)
{
    m_samplesSeen = epoch.samplesSeen;
    std::vector<std::pair<std::string, double>> scalars{{"train/criterion", epoch.criterion}};
    for (size_t i = 0; i < std::min(epoch.evaluations.size(), m_training.evaluations.size()); ++i)
        scalars.emplace_back("train/" + m_training.evaluations[i].name, epoch.evaluations[i]);
    scalars.emplace_back("learningRate", epoch.learningRatePerSample);
    if (epoch.seconds > 0)
        scalars.emplace_back("samplesPerSecond", double(epoch.samples) / epoch.seconds);
    m_file->Add(m_samplesSeen, scalars);
}

void EventRecorder::ValidationEnds(const ValidationSummary& validation)
{
    std::vector<std::pair<std::string, double>> scalars{{"validation/criterion", validation.criterion}};
    for (size_t i = 0; i < std::min(validation.evaluations.size(), m_training.evaluations.size()); ++i)
        scalars.emplace_back("validation/" + m_training.evaluations[i].name, validation.evaluations[i]);
    m_file->Add(m_samplesSeen, scalars);
}

} // namespace cntk
