#include "ActionsLib/Actions/TrainingJob.h"

#include "ActionsLib/JobParts/CommandSettings.h"
#include "ActionsLib/JobParts/NetworkSource.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Interruption.h"
#include "Common/Text.h"

#include <cstdio>

namespace cntk
{

OptionTable<TrainingJobOptions> TrainingJobOptions::Options()
{
    return {
        Opt("makeMode", &TrainingJobOptions::makeMode,
            "true: resume from the newest usable model, do nothing if the final model exists; false: train from the "
            "start")};
}

TrainingJob::TrainingJob(const CommandContext& command)
    : m_command(command), m_traceLevel(TraceLevelOf(command)), m_sgd(RequireSgdBlock(command))
{
    RegisterDevice(command);
    m_request.options = ReadSgdOptions(command, m_sgd);
    m_request.modelPath = RequireTrainedModelPath(command);
    m_modelPlace = PlaceOfTrainedModel(command);
    m_request.makeMode = ReadOptions<TrainingJobOptions>(command.block).makeMode;
    const DeclaredOutputs& outputs = command.program.outputs;
    if (m_request.makeMode)
        m_startWriter = outputs.WriterOf(m_request.modelPath);
    if (m_request.makeMode && m_startWriter.empty())
        m_startWriter = outputs.WriterOfEpochModel(m_request.modelPath);
    m_request.dataType = command.program.dataType;
    m_request.trainingSeed = TrainingSeedOf(command);
    m_request.fsAdagradColumns = &command.program.fsAdagradColumns;
}

TrainingFiles TrainingJob::Files() const
{
    return TrainingFiles(ResolveOutputPath(m_request.modelPath), m_request.options.maxEpochs);
}

bool TrainingJob::OpensData() const
{
    const TrainingFiles files = Files();
    const bool isOver =
        files.FindResumePoint() == files.MaxEpochs() || !m_command.program.outputs.WriterOf(files.FinalModel()).empty();
    return !m_request.makeMode || !isOver;
}

void TrainingJob::RequireKept(const NamedFile& original) const
{
    const TrainingFiles files = Files();
    const std::optional<size_t> resumed = m_request.makeMode ? files.FindResumePoint() : std::nullopt;
    const std::string path = CanonicalPath(original.path), begin = CanonicalPath(files.FinalModel()) + ".";
    const auto epochs = path.starts_with(begin) ? ParseSize(std::string_view(path).substr(begin.size())) : std::nullopt;
    if (epochs && *epochs < files.MaxEpochs() && (!resumed || *epochs > *resumed))
        RequireNotRead({"modelPath", files.Model(*epochs)}, {original}, m_modelPlace);
}

void TrainingJob::LogReady(const ComputationNetwork& network, bool isLoaded) const
{
    LogNetwork(m_command.program.log, network, m_traceLevel);
    m_command.program.log.Print("\n%s model with %d nodes on %s.\n", isLoaded ? "Loaded" : "Created",
                                int(network.size()), DeviceWords(*m_request.device).c_str());
}

void TrainingJob::RunTraining()
{
    ProgramContext& program = m_command.program;
    const GracefulStop graceful;
    m_request.stopRequested = StopRequested;
    m_request.workers = program.workers;
    m_request.listener = program.listener;
    const size_t before = program.epochsDone;
    // Percent of the epochs of all trainings of the run, and the first evaluation node's value in percent.
    if (program.progressTracing)
        m_request.epochDone = [&program, before](const EpochReport& report)
        {
            const size_t done = before + report.epoch + 1;
            std::printf("PROGRESS: %.2f%%\n", 100.0 * double(done) / double(program.epochsTotal));
            if (!report.evaluations.empty())
                std::printf("EVALERR: %.7f%%\n", 100 * report.evaluations[0]);
            std::fflush(stdout);
        };
    Train(m_request, program.log);
    program.epochsDone = before + m_request.options.maxEpochs;
}

} // namespace cntk
