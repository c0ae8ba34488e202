#include "Report/RunRecorder.h"

#include "Common/File.h"
#include "Common/Log.h"
#include "Report/MetricsRecorder.h"
#include "Report/ReportPage.h"

#include <algorithm>

namespace cntk
{

namespace
{

double SecondsSince(std::chrono::steady_clock::time_point begin)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace

RunRecorder::RunRecorder(RunRecord record, std::string reportPath, const JsonLinesFile* metrics, Log& log)
    : m_record(std::move(record)), m_reportPath(std::move(reportPath)), m_metrics(metrics), m_log(log)
{
}

void RunRecorder::CommandBegins(const std::string& command, const std::string& action)
{
    m_commandBegan = Clock::now();
    m_record.commands.emplace_back();
    Current().name = command;
    Current().action = action;
}

void RunRecorder::CommandEnds()
{
    m_history.reset();
    Current().hasEnded = true;
    Current().seconds = SecondsSince(m_commandBegan);
    WriteReport();
}

void RunRecorder::TrainingBegins(const TrainingBegin& training)
{
    Current().training = training;
    ReadEarlierRows(training);
    WriteReport();
}

void RunRecorder::ReadEarlierRows(const TrainingBegin& training)
{
    if (m_metrics != nullptr)
        Current().epochs = m_metrics->Epochs(Current().name);
    else if (!m_reportPath.empty() && HasJsonLines())
    {
        m_history = std::make_unique<JsonLinesFile>(training.modelPath + ".history.jsonl", m_log);
        std::optional<ContinuationPoint> point;
        if (training.isResumed)
            point = {training.epochsDone, training.minibatchesDone};
        m_history->Drop("", RowGroup::Training, point);
        Current().epochs = m_history->Epochs("");
    }
    for (MetricsRow& row : Current().epochs)
        for (NodeAverage& node : row.nodes)
            for (const NodeAverage& evaluation : training.evaluations)
                if (evaluation.name == node.name)
                    node.type = evaluation.type;
}

void RunRecorder::TrainingIsDone(const std::string& modelPath)
{
    Current().finishedModel = modelPath;
    if (m_metrics != nullptr)
        Current().epochs = m_metrics->Epochs(Current().name);
    else if (const std::string history = modelPath + ".history.jsonl";
             !m_reportPath.empty() && HasJsonLines() && FileExists(history))
        Current().epochs = JsonLinesFile(history, m_log).Epochs("");
}

void RunRecorder::AddRow(MetricsRow row)
{
    row.command = Current().name;
    if (m_history != nullptr)
        m_history->Add(row);
    Current().epochs.push_back(std::move(row));
}

void RunRecorder::EpochEnds(const EpochSummary& epoch)
{
    CommandRecord& command = Current();
    ++command.epochsHere;
    command.secondsHere += epoch.seconds;
    command.secondsWaited += epoch.secondsWaited;
    command.samplesHere += epoch.samples;
    command.bytes = epoch.bytes;
    AddRow(RowOf(epoch, *command.training));
    WriteReportIfDue();
}

void RunRecorder::ValidationEnds(const ValidationSummary& validation)
{
    AddRow(RowOf(validation, *Current().training));
}

void RunRecorder::EvaluationEnds(const EvaluationSummary& evaluation)
{
    Current().results.push_back(evaluation);
}

void RunRecorder::ClassificationEnds(const ConfusionCounts& counts)
{
    Current().confusions.push_back(counts);
}

void RunRecorder::RegionsAreKnown(const ClassRegions& regions)
{
    Current().regions = regions;
}

void RunRecorder::ModelIsSaved(const SavedModel& model)
{
    std::erase_if(Current().models, [&](const SavedModel& before) { return before.path == model.path; });
    Current().models.push_back(model);
}

void RunRecorder::FileIsWritten(const std::string& path)
{
    Current().files.push_back(path);
}

void RunRecorder::EndRun(int exitCode, const std::string& message)
{
    if (!m_record.commands.empty() && !Current().hasEnded)
        Current().seconds = SecondsSince(m_commandBegan);
    m_record.exitCode = exitCode;
    m_record.message = message;
    WriteReport();
}

// Writing during a command takes at most a four-hundredth of the time.
void RunRecorder::WriteReportIfDue()
{
    if (!m_reportPath.empty() && Clock::now() >= m_nextReport)
        WriteReport();
}

void RunRecorder::WriteReport()
{
    m_record.seconds = SecondsSince(m_record.began);
    m_record.warnings = m_log.Warnings();
    if (m_reportPath.empty())
        return;
    constexpr int c_shareOfTime = 400;
    constexpr std::chrono::seconds c_shortest{2};
    const Clock::time_point before = Clock::now();
    AtomicFile file(m_reportPath);
    file.Write(ReportPage(m_record));
    file.Commit();
    const Clock::time_point now = Clock::now();
    m_nextReport = now + std::max<Clock::duration>(c_shareOfTime * (now - before), c_shortest);
}

} // namespace cntk
