// SIGINT, SIGTERM, SIGHUP, and SIGPIPE, by which whoever reads the log is known to be gone: asked once, a training
// finishes its minibatch; everything else ends at once, without leaving temporary files behind.
#pragma once

#include <csignal>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace cntk
{

// Work that can be taken up later was stopped on request. No Error: nothing is wrong. what() says how to go on.
class Interrupted : public std::runtime_error
{
public:
    using std::runtime_error::runtime_error;
};

// The exit code then (EX_TEMPFAIL: try again).
constexpr int c_interruptedExitCode = 75;

// A signal that the program was told to ignore stays ignored.
void InstallSignalHandlers();
// A signal came while a GracefulStop lived. True until the end of the program: what follows is not begun.
bool StopRequested();

// While one lives, the first signal only sets StopRequested; the second ends the program as usual, unless it is SIGHUP
// or one of the two is SIGPIPE.
class GracefulStop
{
public:
    GracefulStop();
    ~GracefulStop();
    GracefulStop(const GracefulStop&) = delete;
    GracefulStop& operator=(const GracefulStop&) = delete;
};

// While one lives, a signal that ends the program waits: around making a file and marking it, or renaming it and
// clearing its mark. Short, and none within another.
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

// A file to be removed if a signal ends the program, until the mark goes.
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

} // namespace cntk
