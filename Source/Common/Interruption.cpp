// A signal handler may touch nothing but lock-free atomics and memory of fixed place: the only mutable globals there
// are.
#include "Common/Interruption.h"

#include "Common/TemporaryFiles.h"

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
    std::array<TemporarySlot, 256> slots; // a write of several hundred nodes may leave some behind
    std::atomic<int> held{0};             // threads within HeldSignals
    std::atomic<bool> isEnding{false};    // from here on nobody makes a file
};

namespace
{

static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<TemporaryFiles*>::is_always_lock_free);
// Signal handlers get nothing else to know things by. NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
TemporaryFiles g_ownTemporaries;
std::atomic<TemporaryFiles*> g_temporaries{&g_ownTemporaries};
std::atomic<int> g_graceful{0};
std::atomic<int> g_signal{0};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

constexpr std::array c_stopSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

// Whether the program goes on, to stop where it can be taken up again.
bool IsStopNoted(int number)
{
    // Ctrl-C ends whoever reads the log (tee), too: what is still to be said fails, no more.
    if (number == SIGPIPE && g_signal.load() != 0)
        return true;
    if (g_graceful.load() == 0)
        return false;
    // A terminal that is closed may say so twice, by its shell and by the system; that is no second wish.
    int noted = 0;
    if (g_signal.compare_exchange_strong(noted, number) || number == SIGHUP)
        return true;
    // Nobody wished for what a lost reader means: Ctrl-C may have ended that one first.
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
    // Other threads may be about to mark what they made. Not longer than a second: a disk that hangs is no reason to
    // stay.
    for (int waited = 0; files.held.load() > 0 && waited < 1000; ++waited)
        ::poll(nullptr, 0, 1);
    for (const TemporarySlot& slot : files.slots)
    {
        if (slot.state.load() == TemporarySlot::Used)
            ::unlink(slot.path.data());
    }
    // The signal arrives anew when this handler returns, and ends the program.
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
    // A file that may not grow as large as it must (ulimit -f) is an error of the write, as a full disk is.
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

// This thread's own signals wait in the mask; those that other threads take, in the handler.
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
