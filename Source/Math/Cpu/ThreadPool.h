// The one pool of threads that all CPU kernels share. Workers spin for a moment after a job, since the next one usually
// follows at once, then sleep: a waiting thread never takes a core from a busy neighbour for long. Where neighbours
// keep taking the workers' cores away in the middle of jobs, the caller does the next jobs alone.
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

    // That a job can have; inside of a task of RunApart one.
    int Threads() const { return m_isApart ? 1 : int(m_workers.size()) + 1; }
    // The number of the calling thread, which is in no task but one of RunApart.
    size_t Caller() const;

    // Calls job(task, thread) for each task in [0, tasks), the caller taking part (as thread 0). Tasks are handed out
    // in order; a worker that the system does not schedule is not waited for unless it has begun a task. A job must not
    // throw. Allocates nothing.
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

    // The same for tasks that run jobs themselves: each of those stays on the thread of its task.
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

    // For a task that needs the results of one drawn before it: that one has begun, so its end is near.
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

    // From inside of a task: what part of its job's work it has just done, for jobs whose tasks each do as much as they
    // can. All of their tasks call it, if with 0.
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
    static void Relax(int spins); // gives way if it takes long: more threads than free cores
    using Function = void (*)(void* body, size_t task, size_t thread);
    void RunShared(size_t tasks, Function function, void* body);
    bool IsBetterAlone();
    void NoteJob(Clock::duration alone, Clock::duration together);
    void Work(size_t thread);
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
    // The caller's alone.
    Clock::duration m_waited{}; // in tasks of this job
    double m_share = -1;        // of this job's work, as noted; below 0: not noted
    Clock::time_point m_aloneUntil{};
};

} // namespace cntk
