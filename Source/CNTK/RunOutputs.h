// The files that a run leaves about itself: report, metrics, event files; and the short log.
#pragma once

#include "ActionsLib/Action.h"
#include "ActionsLib/RootOptions.h"
#include "CNTK/Jobs.h"
#include "Report/MetricsRecorder.h"
#include "Report/RunRecorder.h"
#include "Report/ShortLog.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

// Passes each event on, in the order of the listeners.
class RunListeners final : public RunListener
{
public:
    void Add(RunListener& listener) { m_listeners.push_back(&listener); }
    bool IsEmpty() const { return m_listeners.empty(); }

    bool WantsClassification() const override;
    void CommandBegins(const std::string& command, const std::string& action) override
    {
        Pass(&RunListener::CommandBegins, command, action);
    }
    void CommandEnds() override { Pass(&RunListener::CommandEnds); }
    void TrainingBegins(const TrainingBegin& training) override { Pass(&RunListener::TrainingBegins, training); }
    void TrainingIsDone(const std::string& modelPath) override { Pass(&RunListener::TrainingIsDone, modelPath); }
    void EpochBegins(size_t epoch) override { Pass(&RunListener::EpochBegins, epoch); }
    void MinibatchesEnd(const MinibatchResult& result) override { Pass(&RunListener::MinibatchesEnd, result); }
    void EpochEnds(const EpochSummary& epoch) override { Pass(&RunListener::EpochEnds, epoch); }
    void ValidationEnds(const ValidationSummary& validation) override
    {
        Pass(&RunListener::ValidationEnds, validation);
    }
    void EvaluationEnds(const EvaluationSummary& evaluation) override
    {
        Pass(&RunListener::EvaluationEnds, evaluation);
    }
    void ClassificationEnds(const ConfusionCounts& counts) override { Pass(&RunListener::ClassificationEnds, counts); }
    void RegionsAreKnown(const ClassRegions& regions) override { Pass(&RunListener::RegionsAreKnown, regions); }
    void ModelIsSaved(const SavedModel& model) override { Pass(&RunListener::ModelIsSaved, model); }
    void FileIsWritten(const std::string& path) override { Pass(&RunListener::FileIsWritten, path); }

private:
    template <class... Parameters, class... Arguments>
    void Pass(void (RunListener::*event)(Parameters...), const Arguments&... arguments)
    {
        for (RunListener* const listener : m_listeners)
            (listener->*event)(arguments...);
    }

    std::vector<RunListener*> m_listeners;
};

enum class OutputCheck
{
    Names,          // --check, which writes nothing
    NamesAndWriting // also creates the folders of the files
};
// Fails (Config) at its place for a metrics file of unknown ending, and for a file that the config reads or another
// command writes.
void CheckRunOutputs(const RootOptions& options, const LoadedConfig& config, const std::vector<PlannedJob>& jobs,
                     OutputCheck check);

class RunOutputs
{
public:
    // Checks the outputs first.
    RunOutputs(const RootOptions& options, const LoadedConfig& config, const std::vector<std::string>& arguments,
               const std::vector<PlannedJob>& jobs, const ProgramContext& program, Log& log);

    // Null if nobody listens.
    RunListener* Listener() { return m_listeners.IsEmpty() ? nullptr : &m_listeners; }
    // Runs the body, then ends all files with the exit code and the message of an error.
    template <class Body>
    void During(const Body& body)
    {
        Begin();
        try
        {
            body();
        }
        catch (...)
        {
            EndWithError();
            throw;
        }
        End(0, "");
    }

private:
    void Begin();
    void End(int exitCode, const std::string& message);
    void EndWithError();

    Log& m_log;
    RunStart m_start;
    std::unique_ptr<MetricsRecorder> m_metrics;
    std::unique_ptr<EventRecorder> m_events;
    std::unique_ptr<RunRecorder> m_recorder;
    std::unique_ptr<ShortLog> m_shortLog;
    RunListeners m_listeners;
};

} // namespace cntk
