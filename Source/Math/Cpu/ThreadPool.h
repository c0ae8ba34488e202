// The one pool of threads that all CPU kernels share. Workers spin for a moment after a job, since the next one usually
// follows at once, and then sleep, so that a waiting thread does not keep a core from other programs. If other programs
// repeatedly take the workers' cores during jobs, the caller runs the next jobs alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace cntk
{

// Belongs to one device. Run is called by one thread at a time and not from inside a job.
class ThreadPool
{
public:
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    // The threads that a job can have; 1 inside a task of RunApart.
    int Threads() const { return m_isApart ? 1 : int(m_workers.size()) + 1; }
    // The number of the calling thread. It must not be inside a task, except one of RunApart.
    size_t Caller() const;

    // Calls job(task, thread) for each task in [0, tasks). The caller takes part as thread 0. Tasks are handed out in
    // order. Nobody waits for a worker that has not begun a task. A job must not throw. Allocates nothing.
    template <class Job>
    void Run(size_t tasks, Job&& job)
    {
        if (tasks <= 1 || m_workers.empty() || m_isApart || IsBetterAlone())
        {
            const size_t thread = Caller();
            for (size_t task = 0; task < tasks; ++task)
                job(task, thread);
            return;
        }
        using Body = std::remove_reference_t<Job>;
        RunShared(
            tasks, [](void* body, size_t task, size_t thread) { (*static_cast<Body*>(body))(task, thread); },
            const_cast<std::remove_const_t<Body>*>(std::addressof(job)));
    }

    // The same for tasks that run jobs themselves. Such a job stays on the thread of its task.
    template <class Job>
    void RunApart(size_t tasks, Job&& job)
    {
        const bool isShared = tasks > 1 && !m_workers.empty() && !m_isApart;
        if (!isShared || IsBetterAlone())
        {
            for (size_t task = 0; task < tasks; ++task)
                job(task);
            return;
        }
        auto body = [&job](size_t task, size_t) { job(task); };
        m_isApart = true;
        RunShared(
            tasks,
            [](void* tasksBody, size_t task, size_t thread)
            { (*static_cast<decltype(body)*>(tasksBody))(task, thread); },
            &body);
        m_isApart = false;
    }

    // Waits, inside a task, for the results of a task that was drawn earlier and so has begun.
    template <class Condition>
    void WaitInTask(size_t thread, Condition&& condition)
    {
        if (condition())
            return;
        const Clock::time_point began = Clock::now();
        WaitUntil(condition);
        if (thread == 0)
            m_waited += Clock::now() - began;
    }

    // Adds to the share of the job's work that this thread has done, for jobs whose tasks each do as much as they can.
    // All tasks of such a job call it, some with 0.
    void NoteShare(size_t thread, double share)
    {
        if (thread == 0)
            m_share = std::max(m_share, 0.0) + share;
    }

private:
    using Clock = std::chrono::steady_clock;
    template <class Condition>
    static void WaitUntil(Condition&& condition)
    {
        for (int spins = 0; !condition(); ++spins)
            Relax(spins);
    }
    static void Relax(int spins); // yields after many spins: there are more threads than free cores
    using Function = void (*)(void* body, size_t task, size_t thread);
    void RunShared(size_t tasks, Function function, void* body);
    bool IsBetterAlone();
    void NoteJob(Clock::duration alone, Clock::duration together);
    void Work(size_t thread);
    void StopWorkers();
    size_t TakeTasks(uint32_t round, size_t thread); // how many

    // The next task and the round it belongs to in one word, so that a late worker never takes a task of another round.
    alignas(64) std::atomic<uint64_t> m_next{0};
    alignas(64) std::atomic<size_t> m_unfinished{0};
    alignas(64) std::atomic<uint32_t> m_round{0}; // workers wait for it to change
    std::atomic<int> m_sleepers{0};
    std::atomic<bool> m_stopping{false};
    std::atomic<size_t> m_tasks{0};
    std::atomic<Function> m_function{nullptr};
    std::atomic<void*> m_body{nullptr};
    std::vector<std::thread> m_workers;
    bool m_isApart = false; // the job's tasks run jobs; changes only between jobs
    // Used by the caller alone.
    Clock::duration m_waited{}; // in tasks of this job
    double m_share = -1;        // of this job's work, as noted; below 0: not noted
    Clock::time_point m_aloneUntil{};
};

// Jobs are split so many times finer under ThreadSanitizer, which finds races only in work that threads share.
#ifdef __SANITIZE_THREAD__
constexpr size_t c_finerSplit = 1024;
#else
constexpr size_t c_finerSplit = 1;
#endif
// Element operations (an addition counts 1, an exponential about 8) that are worth a thread: some 3 microseconds of
// work in the cache, more than it takes to hand them to a thread that is awake. Below twice as many one thread does it
// all.
constexpr size_t c_operationsPerThread = 32 * 1024 / c_finerSplit;
// The same where parts are added up afterwards, so that their number shows in the last bits: few sizes.
constexpr size_t c_operationsPerSum = 128 * 1024 / c_finerSplit;
// Multiply-adds of matrix products that are worth a thread: some 8 microseconds of work.
constexpr double c_multiplyAddsPerThread = 250e3 / c_finerSplit;
// Partial results of so many parts fit into arrays of fixed size.
constexpr int c_mostParts = 64;

inline int UsefulThreads(size_t operations, const ThreadPool& pool, size_t worthAThread = c_operationsPerThread)
{
    const int threads = std::min(pool.Threads(), c_mostParts);
    if (operations < 2 * worthAThread || threads <= 1)
        return 1;
    return int(std::min(operations / worthAThread, size_t(threads)));
}

// Calls body(part, begin, end) for disjoint ranges that cover [0, count) on the pool's threads; ranges begin at
// multiples of the granule. The split depends on count, granule and parts only. body must not throw.
template <class Body>
void ForEachPart(ThreadPool& pool, size_t count, size_t granule, int parts, Body&& body)
{
    const size_t granules = (count + granule - 1) / granule;
    const auto startOf = [&](size_t part) { return std::min(count, granules * part / size_t(parts) * granule); };
    if (parts <= 1)
    {
        body(0, size_t(0), count);
        return;
    }
    pool.Run(size_t(parts), [&](size_t part, size_t) { body(int(part), startOf(part), startOf(part + 1)); });
}

} // namespace cntk
