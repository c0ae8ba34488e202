// The only mutable globals of the program: a signal handler can use only lock-free atomics and memory at fixed
// addresses.
#include "Common/Interruption.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <poll.h>
#include <unistd.h>

namespace cntk
{

struct TemporarySlot
{
    enum State : int
    {
        Free,
        Changing,
        Used
    };
    std::atomic<int> state{Free};
    std::array<char, 4096> path{};
};

struct TemporaryFiles
{
    std::array<TemporarySlot, 256> slots; // files of more nodes stay unmarked
    std::atomic<int> held{0};             // threads within HeldSignals
    std::atomic<bool> isEnding{false};    // no thread may create a file any more
};

namespace
{

static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<TemporaryFiles*>::is_always_lock_free);
// Signal handlers have no arguments of their own. NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
TemporaryFiles g_ownTemporaries;
std::atomic<TemporaryFiles*> g_temporaries{&g_ownTemporaries};
std::atomic<int> g_graceful{0};
std::atomic<int> g_signal{0};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

constexpr std::array c_stopSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

// Returns true if the program continues, to stop where it can be resumed.
bool IsStopNoted(int number)
{
    // Ctrl-C also ends the reader of the log (tee). Further log lines are lost.
    if (number == SIGPIPE && g_signal.load() != 0)
        return true;
    if (g_graceful.load() == 0)
        return false;
    // A closed terminal may send SIGHUP twice, by its shell and by the system. The second one is not a second request.
    int noted = 0;
    if (g_signal.compare_exchange_strong(noted, number) || number == SIGHUP)
        return true;
    // SIGPIPE is not a request of the user: Ctrl-C may have ended the reader of the log first.
    noted = SIGPIPE;
    return g_signal.compare_exchange_strong(noted, number);
}

extern "C" void OnStopSignal(int number)
{
    const int keptError = errno;
    if (IsStopNoted(number))
        return;
    TemporaryFiles& files = TemporaryFilesInUse();
    files.isEnding.store(true);
    // Waits up to a second for threads that are marking a new file. A longer wait could hang with the disk.
    for (int waited = 0; files.held.load() > 0 && waited < 1000; ++waited)
        ::poll(nullptr, 0, 1);
    for (const TemporarySlot& slot : files.slots)
    {
        if (slot.state.load() == TemporarySlot::Used)
            ::unlink(slot.path.data());
    }
    // Raises the signal again, which ends the program when this handler returns.
    std::signal(number, SIG_DFL);
    std::raise(number);
    errno = keptError;
}

} // namespace

TemporaryFiles& TemporaryFilesInUse()
{
    return *g_temporaries.load(std::memory_order_relaxed);
}

void UseTemporaryFiles(TemporaryFiles& files)
{
    g_temporaries.store(&files);
}

void InstallSignalHandlers()
{
    for (const int number : c_stopSignals)
    {
        struct sigaction before = {};
        if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN)
            continue;
        struct sigaction action = {};
        action.sa_handler = OnStopSignal;
        action.sa_flags = SA_RESTART;
        sigemptyset(&action.sa_mask);
        ::sigaction(number, &action, nullptr);
    }
    // A file size limit (ulimit -f) is reported as a write error, like a full disk.
    std::signal(SIGXFSZ, SIG_IGN);
}

bool StopRequested()
{
    return g_signal.load(std::memory_order_relaxed) != 0;
}

GracefulStop::GracefulStop()
{
    g_graceful.fetch_add(1);
}

GracefulStop::~GracefulStop()
{
    g_graceful.fetch_sub(1);
}

// Signals to this thread wait because of the mask. Signals to other threads wait in the handler.
HeldSignals::HeldSignals()
{
    sigset_t stops;
    sigemptyset(&stops);
    for (const int number : c_stopSignals)
        sigaddset(&stops, number);
    ::pthread_sigmask(SIG_BLOCK, &stops, &m_before);
    TemporaryFiles& files = TemporaryFilesInUse();
    files.held.fetch_add(1);
    if (!files.isEnding.load())
        return;
    files.held.fetch_sub(1);
    for (;;)
        ::pause(); // the program ends
}

HeldSignals::~HeldSignals()
{
    TemporaryFilesInUse().held.fetch_sub(1);
    ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
}

void TemporaryFileMark::Set(const std::string& path)
{
    Clear();
    std::error_code error;
    TemporaryFiles& files = TemporaryFilesInUse();
    const std::string absolute = std::filesystem::absolute(path, error).string();
    if (error || absolute.size() >= files.slots[0].path.size())
        return;
    for (size_t i = 0; i < files.slots.size(); ++i)
    {
        TemporarySlot& slot = files.slots[i];
        int expected = TemporarySlot::Free;
        if (!slot.state.compare_exchange_strong(expected, TemporarySlot::Changing))
            continue;
        std::memcpy(slot.path.data(), absolute.c_str(), absolute.size() + 1);
        slot.state.store(TemporarySlot::Used);
        m_slot = i;
        return;
    }
}

void TemporaryFileMark::Clear()
{
    if (m_slot != c_none)
        TemporaryFilesInUse().slots[m_slot].state.store(TemporarySlot::Free);
    m_slot = c_none;
}

} // namespace cntk
