// SIGINT, SIGTERM, SIGHUP and SIGPIPE (the reader of the log has ended). After the first signal a training finishes its
// minibatch. Other work ends at once and leaves no temporary files.
#pragma once

#include <csignal>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace cntk
{

// Thrown when work that can be resumed was stopped on request. Not an Error. what() explains how to resume.
class Interrupted : public std::runtime_error
{
public:
    using std::runtime_error::runtime_error;
};

// Exit code after Interrupted (EX_TEMPFAIL: try again).
constexpr int c_interruptedExitCode = 75;

// Signals that are ignored at the start of the program stay ignored.
void InstallSignalHandlers();
// True after a signal came while a GracefulStop existed, until the end of the program. No further work begins.
bool StopRequested();

// While an object exists, the first signal only sets StopRequested. The second signal ends the program, unless it is
// SIGHUP or one of the two is SIGPIPE.
class GracefulStop
{
public:
    GracefulStop();
    ~GracefulStop();
    GracefulStop(const GracefulStop&) = delete;
    GracefulStop& operator=(const GracefulStop&) = delete;
};

// While an object exists, signals that end the program wait. Encloses creating and marking a file, or renaming it and
// clearing its mark. Objects must be short-lived and not nested.
class HeldSignals
{
public:
    HeldSignals();
    ~HeldSignals();
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

private:
    sigset_t m_before;
};

// Marks a file for removal if a signal ends the program, until Clear or destruction.
class TemporaryFileMark
{
public:
    TemporaryFileMark() = default;
    ~TemporaryFileMark() { Clear(); }
    TemporaryFileMark(const TemporaryFileMark&) = delete;
    TemporaryFileMark& operator=(const TemporaryFileMark&) = delete;

    void Set(const std::string& path);
    void Clear();

private:
    static constexpr size_t c_none = static_cast<size_t>(-1);
    size_t m_slot = c_none;
};

// The marked files. A plugin has its own copy of this code, whose signal handler is never called, so the program gives
// its own list to each plugin.
struct TemporaryFiles;

TemporaryFiles& TemporaryFilesInUse();
// Called before the first file is written. PluginExports.h exports it from every plugin as ShareTemporaryFiles.
void UseTemporaryFiles(TemporaryFiles& files);

using ShareTemporaryFilesFunction = void (*)(TemporaryFiles& files);

} // namespace cntk
