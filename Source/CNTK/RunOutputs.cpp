#include "CNTK/RunOutputs.h"

#include "ActionsLib/JobParts/ErrorPlaces.h"
#include "CNTK/LogHeader.h"
#include "Common/AllowedCores.h"
#include "Common/Config/PrintConfig.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Interruption.h"
#include "Common/Text.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <new>
#include <sstream>

namespace cntk
{

namespace
{

// Config values that name the outputs, and their paths.
std::vector<NamedFile> OutputsOf(const RootOptions& options)
{
    std::vector<NamedFile> files;
    if (!options.report.empty())
        files.push_back({"report", ResolveOutputPath(options.report)});
    for (const std::string& path : options.metrics)
        files.push_back({"metrics", ResolveOutputPath(path)});
    return files;
}

// Files that the run writes besides its outputs about itself.
std::vector<NamedFile> OtherOutputs(const RootOptions& options, const std::vector<PlannedJob>& jobs)
{
    std::vector<NamedFile> files;
    for (const PlannedJob& planned : jobs)
        for (const std::string& path : planned.job->Outputs())
            files.push_back({"an output of command '" + planned.command + "'", path});
    if (!options.doneFile.empty())
        files.push_back({"doneFile", options.doneFile});
    return files;
}

std::string TimeWithZone()
{
    std::string time = TimeStamp("%Y-%m-%dT%H:%M:%S%z"); // "...+0100"
    return time.insert(time.size() - 2, ":");
}

std::string DeviceText(const ProgramContext& program)
{
    std::vector<std::string> devices;
    for (const std::shared_ptr<Device>& device : program.devices)
        devices.push_back(device->Describe());
    if (program.anyDevice != nullptr && devices.empty())
        devices.push_back(program.anyDevice->Describe());
    return devices.empty() ? "CPU" : Join(devices, "; ");
}

RunStart StartOf(const RootOptions& options, const LoadedConfig& config, const std::vector<std::string>& arguments,
                 const ProgramContext& program)
{
    RunStart start;
    start.time = TimeWithZone();
    start.version = VersionName();
    start.compiler = CompilerName();
    start.host = HostName();
    start.commandLine = arguments;
    start.precision = NameOf(options.precision);
    start.device = DeviceText(program);
    start.threads = size_t(program.cpu.threads > 0 ? program.cpu.threads : AllowedCores());
    start.trainingSeed = options.trainingSeed;
    start.config = PrintConfig(*config.root);
    start.commands = options.command;
    return start;
}

// The machine and the program, then what the log's header says.
std::vector<std::pair<std::string, std::string>> EnvironmentOf(const RunStart& start)
{
    std::vector<std::pair<std::string, std::string>> environment;
    std::istringstream lines(EnvironmentText());
    for (std::string line; std::getline(lines, line);)
    {
        const size_t colon = line.find(": ");
        if (colon == std::string::npos)
            environment.emplace_back("version", line);
        else
            environment.emplace_back(line.substr(0, colon), line.substr(colon + 2));
    }
    environment.emplace_back("host", start.host);
    environment.emplace_back("started", start.time);
    environment.emplace_back("command line", Join(start.commandLine, " "));
    environment.emplace_back("precision", start.precision);
    environment.emplace_back("device", start.device);
    environment.emplace_back("threads", std::to_string(start.threads));
    environment.emplace_back("trainingSeed", start.trainingSeed == 0 ? "0 (the original's streams)"
                                                                     : std::to_string(start.trainingSeed));
    return environment;
}

std::vector<DataFile> DataFilesOf(const ConfigParameters& root)
{
    std::vector<DataFile> files;
    for (const NamedFile& named : FilesNamedIn(root))
    {
        std::error_code error;
        const std::string path = ResolveInputPath(named.path);
        const auto bytes = std::filesystem::file_size(path, error);
        if (error || !std::filesystem::is_regular_file(path, error))
            continue;
        const auto changed = std::filesystem::last_write_time(path, error);
        const std::time_t seconds =
            std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::system_clock::duration>(
                std::chrono::file_clock::to_sys(changed)));
        std::tm local{};
        localtime_r(&seconds, &local);
        char text[64];
        files.push_back({named.key, path, size_t(bytes),
                         std::string(text, std::strftime(text, sizeof text, c_timeFormat, &local))});
    }
    return files;
}

RunRecord RecordOf(const RootOptions& options, const LoadedConfig& config, const RunStart& start)
{
    RunRecord record;
    record.start = start;
    std::vector<std::string> names;
    for (const std::string& file : config.files)
        names.push_back(std::filesystem::path(file).filename().string());
    record.title = names.empty() ? "run of " + Join(start.commands, ", ") : Join(names, " + ");
    if (!options.report.empty())
    {
        record.environment = EnvironmentOf(start);
        record.dataFiles = DataFilesOf(*config.root);
    }
    for (const NamedFile& file : OutputsOf(options))
        record.files.push_back(file.path);
    if (!options.tensorBoard.empty())
        record.files.push_back(ResolveOutputPath(options.tensorBoard) + "/");
    return record;
}

} // namespace

// An earlier run has written these files, so the config may name them only for this purpose.
void CheckRunOutputs(const RootOptions& options, const LoadedConfig& config, const std::vector<PlannedJob>& jobs,
                     OutputCheck check)
{
    const ConfigParameters& root = *config.root;
    const std::vector<NamedFile> outputs = OutputsOf(options);
    std::vector<NamedFile> read = FilesNamedIn(root);
    std::erase_if(read, [](const NamedFile& file)
                  { return EqualsIgnoreCase(file.key, "report") || EqualsIgnoreCase(file.key, "metrics"); });
    for (const std::string& file : config.files)
        read.push_back({"configFile", file});
    const std::vector<NamedFile> others = OtherOutputs(options, jobs);
    read.insert(read.end(), others.begin(), others.end());
    for (const NamedFile& output : outputs)
    {
        const SourcePos where = root.WhereOf(output.key);
        if (output.key == "metrics")
            AtPlace([&] { CheckMetricsPath(output.path); }, where);
        RequireNotRead(output, read, where);
        if (check == OutputCheck::NamesAndWriting)
            AtPlace([&] { RequireWritable(output.path); }, where);
        read.push_back(output);
    }
    if (options.tensorBoard.empty())
        return;
    const SourcePos where = root.WhereOf("tensorBoard");
    if (!HasEventFiles())
        FailAt(where, ErrorKind::Config,
               "tensorBoard: this program was built without protozero (Debian package libprotozero-dev), so it writes "
               "no event files");
    if (check == OutputCheck::NamesAndWriting)
        AtPlace([&] { RequireWritable(ResolveOutputPath(options.tensorBoard) + "/events"); }, where);
}

bool RunListeners::WantsClassification() const
{
    return std::any_of(m_listeners.begin(), m_listeners.end(),
                       [](const RunListener* listener) { return listener->WantsClassification(); });
}

RunOutputs::RunOutputs(const RootOptions& options, const LoadedConfig& config,
                       const std::vector<std::string>& arguments, const std::vector<PlannedJob>& jobs,
                       const ProgramContext& program, Log& log)
    : m_log(log)
{
    CheckRunOutputs(options, config, jobs, OutputCheck::NamesAndWriting);
    const bool isShort = log.Style() == LogStyle::Short;
    if (options.report.empty() && options.metrics.empty() && options.tensorBoard.empty() && !isShort)
        return;
    m_start = StartOf(options, config, arguments, program);
    std::vector<std::unique_ptr<RowFile>> files;
    const JsonLinesFile* lines = nullptr;
    for (const std::string& path : options.metrics)
    {
        files.push_back(OpenMetricsFile(ResolveOutputPath(path), log));
        if (lines == nullptr)
            lines = dynamic_cast<const JsonLinesFile*>(files.back().get());
    }
    if (!files.empty())
    {
        m_metrics = std::make_unique<MetricsRecorder>(std::move(files));
        m_listeners.Add(*m_metrics);
    }
    if (!options.tensorBoard.empty())
    {
        m_events = std::make_unique<EventRecorder>(ResolveOutputPath(options.tensorBoard));
        m_listeners.Add(*m_events);
    }
    if (options.report.empty() && !isShort)
        return;
    m_recorder =
        std::make_unique<RunRecorder>(RecordOf(options, config, m_start),
                                      options.report.empty() ? "" : ResolveOutputPath(options.report), lines, log);
    m_listeners.Add(*m_recorder);
    if (!isShort)
        return;
    m_shortLog = std::make_unique<ShortLog>(m_recorder->Record(), log);
    m_listeners.Add(*m_shortLog);
}

void RunOutputs::Begin()
{
    if (m_metrics != nullptr)
        m_metrics->BeginRun(m_start);
}

void RunOutputs::End(int exitCode, const std::string& message)
{
    if (m_recorder != nullptr)
        m_recorder->EndRun(exitCode, message);
    if (m_metrics != nullptr)
        m_metrics->EndRun(exitCode, message);
    if (m_shortLog != nullptr && exitCode == 0)
        m_shortLog->EndRun();
}

// Called while an exception is handled; its own errors are dropped, since the first one is reported.
void RunOutputs::EndWithError()
{
    int exitCode = ExitCodeOf(ErrorKind::Internal);
    std::string message = "unknown error";
    try
    {
        throw;
    }
    catch (const Error& error)
    {
        exitCode = ExitCodeOf(error.Kind());
        message = error.Report();
        message = message.substr(message.rfind('\n') + 1);
    }
    catch (const Interrupted& stop)
    {
        exitCode = c_interruptedExitCode;
        message = stop.what();
    }
    catch (const std::bad_alloc&)
    {
        exitCode = ExitCodeOf(ErrorKind::Device);
        message = "out of memory";
    }
    catch (const std::exception& error)
    {
        message = error.what();
    }
    try
    {
        End(exitCode, message);
    }
    catch (const Error&)
    {
        // The disk may be full, which then was the first error, too.
    }
}

} // namespace cntk
