// Hand-over without locks: the caller publishes a round, threads draw task numbers from one counter.
#include "Math/Cpu/ThreadPool.h"

#include "Common/StartThread.h"

#include <algorithm>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cntk
{

namespace
{

// Some 30 microseconds: longer than the pause between two products of a training step, shorter than anything a
// neighbour would notice.
constexpr int c_spins = 2000;

// After a job that took longer than the caller alone would have needed for it, and by no less than this, a worker must
// have lost its core. The caller then works alone for some times what was lost: then little of the time is lost at
// worst, and workers that have slept so long get their cores back at once.
constexpr std::chrono::microseconds c_leastStall(200);
constexpr int c_aloneForLost = 4;
constexpr std::chrono::milliseconds c_longestAlone(200);

inline void Pause()
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

void SleepWhile(std::atomic<uint32_t>& word, uint32_t value)
{
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void WakeAll(std::atomic<uint32_t>& word)
{
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1 << 30, nullptr, nullptr, 0);
}

constexpr uint64_t c_closed = 0xffffffff; // a task that no round has

constexpr uint64_t Ticket(uint32_t round, uint64_t task)
{
    return uint64_t(round) << 32 | task;
}

} // namespace

ThreadPool::ThreadPool(int threads)
{
    try
    {
        for (int thread = 1; thread < threads; ++thread)
            m_workers.push_back(StartThread([this, thread] { Work(size_t(thread)); }));
    }
    catch (...)
    {
        StopWorkers();
        throw;
    }
}

ThreadPool::~ThreadPool()
{
    StopWorkers();
}

void ThreadPool::StopWorkers()
{
    m_stopping.store(true);
    m_round.fetch_add(1);
    WakeAll(m_round);
    for (std::thread& worker : m_workers)
        worker.join();
}

size_t ThreadPool::Caller() const
{
    if (m_isApart)
        for (size_t i = 0; i < m_workers.size(); ++i)
            if (m_workers[i].get_id() == std::this_thread::get_id())
                return i + 1;
    return 0;
}

void ThreadPool::Relax(int spins)
{
    if (spins < c_spins)
        Pause();
    else
        std::this_thread::yield();
}

void ThreadPool::RunShared(size_t tasks, Function function, void* body)
{
    const uint32_t round = m_round.load(std::memory_order_relaxed) + 1;
    // Closed first: a worker that is late and compares the last round's ticket with this round's number of tasks must
    // find another ticket when it draws.
    m_next.store(Ticket(round, c_closed), std::memory_order_relaxed);
    m_tasks.store(tasks, std::memory_order_release);
    m_function.store(function, std::memory_order_relaxed);
    m_body.store(body, std::memory_order_relaxed);
    m_unfinished.store(tasks, std::memory_order_relaxed);
    m_next.store(Ticket(round, 0), std::memory_order_release);
    m_round.store(round, std::memory_order_seq_cst);
    if (m_sleepers.load(std::memory_order_seq_cst) > 0)
        WakeAll(m_round);

    m_waited = {};
    m_share = -1;
    const Clock::time_point began = Clock::now();
    const size_t own = TakeTasks(round, 0);
    const Clock::duration working = Clock::now() - began - m_waited;
    WaitUntil([this] { return m_unfinished.load(std::memory_order_acquire) == 0; });
    const double share = m_share >= 0 ? m_share : double(own) / double(tasks);
    if (share > 0)
        NoteJob(Clock::duration(int64_t(double(working.count()) / share)), Clock::now() - began);
}

bool ThreadPool::IsBetterAlone()
{
    return c_finerSplit == 1 && m_aloneUntil != Clock::time_point{} && Clock::now() < m_aloneUntil;
}

void ThreadPool::NoteJob(Clock::duration alone, Clock::duration together)
{
    const Clock::duration lost = together - alone;
    if (lost >= c_leastStall)
        m_aloneUntil = Clock::now() + std::min<Clock::duration>(c_aloneForLost * lost, c_longestAlone);
}

size_t ThreadPool::TakeTasks(uint32_t round, size_t thread)
{
    for (size_t taken = 0;; ++taken)
    {
        uint64_t next = m_next.load(std::memory_order_acquire);
        do
        {
            if (uint32_t(next >> 32) != round || uint32_t(next) >= m_tasks.load(std::memory_order_acquire))
                return taken;
        } while (!m_next.compare_exchange_weak(next, next + 1, std::memory_order_acq_rel, std::memory_order_acquire));
        m_function.load(std::memory_order_relaxed)(m_body.load(std::memory_order_relaxed), uint32_t(next), thread);
        m_unfinished.fetch_sub(1, std::memory_order_acq_rel);
        if (c_finerSplit > 1)
            std::this_thread::sleep_for(std::chrono::microseconds(1)); // another thread takes the next task
    }
}

void ThreadPool::Work(size_t thread)
{
    uint32_t seen = 0;
    for (;;)
    {
        uint32_t round = m_round.load(std::memory_order_acquire);
        for (int spins = 0; round == seen && spins < c_spins; ++spins)
        {
            Pause();
            round = m_round.load(std::memory_order_acquire);
        }
        if (round == seen)
        {
            m_sleepers.fetch_add(1, std::memory_order_seq_cst);
            while ((round = m_round.load(std::memory_order_seq_cst)) == seen)
                SleepWhile(m_round, seen);
            m_sleepers.fetch_sub(1, std::memory_order_relaxed);
        }
        if (m_stopping.load())
            return;
        seen = round;
        TakeTasks(round, thread);
    }
}

} // namespace cntk
