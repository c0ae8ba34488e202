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
};

namespace
{

static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<TemporaryFiles*>::is_always_lock_free);
TemporaryFiles g_ownTemporaries;
std::atomic<TemporaryFiles*> g_temporaries{&g_ownTemporaries};
std::atomic<int> g_graceful{0};
std::atomic<int> g_signal{0};

extern "C" void OnStopSignal(int number)
{
    const int keptError = errno;
    int none = 0;
    if (g_graceful.load() > 0 && g_signal.compare_exchange_strong(none, number))
        return;
    // A terminal that is closed may say so twice, by its shell and by the system; that is no second wish.
    if (g_graceful.load() > 0 && number == SIGHUP)
        return;
    for (const TemporarySlot& slot : TemporaryFilesInUse().slots)
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
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
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
