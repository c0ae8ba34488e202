// The pool of threads: each task runs once, whatever the threads do, also if workers get no core.
#include "Math/Cpu/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace cntk
{

namespace
{

// Keeps the pool's workers from running, as other programs on all cores would: each worker waits in a signal handler.
class HeldWorkers
{
public:
    explicit HeldWorkers(ThreadPool& pool)
    {
        std::vector<pthread_t> threads(size_t(pool.Threads()));
        std::atomic<size_t> arrived = 0;
        pool.Run(threads.size(),
                 [&](size_t, size_t thread)
                 {
                     threads[thread] = pthread_self();
                     for (++arrived; arrived < threads.size();) // so that each thread has one of the tasks
                         std::this_thread::yield();
                 });
        EXPECT_EQ(pipe(m_ends), 0);
        struct sigaction action = {};
        action.sa_flags = SA_SIGINFO;
        action.sa_sigaction = [](int, siginfo_t* info, void*)
        {
            const int error = errno;
            auto* const self = static_cast<HeldWorkers*>(info->si_value.sival_ptr);
            char byte = 0;
            ++self->m_held;
            while (read(self->m_ends[0], &byte, 1) < 0 && errno == EINTR)
            {
            }
            --self->m_held;
            errno = error;
        };
        sigaction(SIGUSR1, &action, &m_former);
        sigval value;
        value.sival_ptr = this;
        for (size_t thread = 1; thread < threads.size(); ++thread)
            EXPECT_EQ(pthread_sigqueue(threads[thread], SIGUSR1, value), 0);
        while (m_held + 1 < int(threads.size()))
            std::this_thread::yield();
    }
    ~HeldWorkers()
    {
        close(m_ends[1]); // all reads end
        while (m_held > 0)
            std::this_thread::yield();
        close(m_ends[0]);
        sigaction(SIGUSR1, &m_former, nullptr);
    }

private:
    int m_ends[2];
    std::atomic<int> m_held = 0;
    struct sigaction m_former = {};
};

} // namespace

TEST(ThreadPool, RunsEachTaskOnce)
{
    for (const int threads : {1, 2, 4, 9})
    {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.Threads(), threads);
        for (const size_t tasks : {0, 1, 2, 7, 100})
            for (int repeat = 0; repeat < 200; ++repeat)
            {
                std::vector<std::atomic<int>> seen(tasks);
                pool.Run(tasks,
                         [&](size_t task, size_t thread)
                         {
                             ASSERT_LT(thread, size_t(threads));
                             ++seen[task];
                         });
                for (const std::atomic<int>& count : seen)
                    ASSERT_EQ(count, 1);
            }
    }
}

TEST(ThreadPool, WorkIsVisibleToTheCaller)
{
    ThreadPool pool(4);
    std::vector<size_t> values(1000);
    for (size_t round = 1; round < 500; ++round)
    {
        pool.Run(values.size(), [&](size_t task, size_t) { values[task] = task * round; });
        for (size_t i = 0; i < values.size(); ++i)
            ASSERT_EQ(values[i], i * round);
    }
}

// A late worker reads the ticket of the last job while the next job, with more tasks, is being published.
TEST(ThreadPool, AJobWithMoreTasksMayFollowDirectly)
{
    ThreadPool pool(8);
    size_t counts[64];
    for (size_t round = 0; round < 300000; ++round)
    {
        const size_t tasks = round % 2 == 0 ? 40 + round % 20 : 2 + round % 3;
        std::fill_n(counts, tasks, 0);
        if (round % 2 == 0)
        {
            const size_t expected[8] = {round};
            pool.Run(tasks, [&, round](size_t task, size_t) { counts[task] += expected[0] == round; });
        }
        else
            pool.Run(tasks, [&](size_t task, size_t) { ++counts[task]; });
        for (size_t task = 0; task < tasks; ++task)
            ASSERT_EQ(counts[task], 1u) << "task " << task << " of " << tasks << ", round " << round;
    }
}

// Scratch memory is selected by the number of a thread, so numbers must be distinct.
TEST(ThreadPool, IndependentTasksStayOnTheirThread)
{
    for (const int threads : {1, 2, 4, 9})
    {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.Caller(), 0u);
        std::vector<std::atomic<int>> busy(static_cast<size_t>(threads));
        for (const size_t tasks : {0, 1, 2, 7})
            for (int repeat = 0; repeat < 300; ++repeat)
            {
                std::vector<std::atomic<int>> seen(tasks);
                pool.RunApart(tasks,
                              [&](size_t task)
                              {
                                  const auto self = std::this_thread::get_id();
                                  const size_t own = pool.Caller();
                                  EXPECT_EQ(busy[own].fetch_add(1), 0);
                                  EXPECT_TRUE(own == 0 || pool.Threads() == 1);
                                  size_t sum = 0;
                                  // The caller may run more than one task, or all of them.
                                  if (pool.Threads() == 1)
                                  {
                                      pool.Run(5,
                                               [&](size_t number, size_t thread)
                                               {
                                                   EXPECT_EQ(thread, own);
                                                   EXPECT_EQ(std::this_thread::get_id(), self);
                                                   sum += number;
                                               });
                                      EXPECT_EQ(sum, 10u);
                                  }
                                  ++seen[task];
                                  --busy[own];
                              });
                for (const std::atomic<int>& count : seen)
                    ASSERT_EQ(count, 1);
            }
        EXPECT_EQ(pool.Threads(), threads);
        std::atomic<int> done = 0;
        pool.Run(20, [&](size_t, size_t) { ++done; });
        EXPECT_EQ(done, 20);
    }
}

TEST(ThreadPool, WakesSleepingWorkers)
{
    ThreadPool pool(3);
    for (int round = 0; round < 20; ++round)
    {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        std::atomic<int> done = 0;
        pool.Run(50, [&](size_t, size_t) { ++done; });
        ASSERT_EQ(done, 50);
    }
}

// Other programs use all cores. The caller does not wait for a worker without a core; otherwise this test would never
// end.
TEST(ThreadPool, DoesNotWaitForWorkersWithoutACore)
{
    for (const int threads : {2, 5})
    {
        ThreadPool pool(threads);
        {
            const HeldWorkers held(pool);
            for (int repeat = 0; repeat < 100; ++repeat)
            {
                size_t byCaller = 0;
                pool.Run(50, [&](size_t, size_t thread) { byCaller += thread == 0; });
                ASSERT_EQ(byCaller, 50u);
                pool.RunApart(3, [&](size_t) { ++byCaller; });
                ASSERT_EQ(byCaller, 53u);
            }
        }
        std::atomic<int> done = 0;
        for (int repeat = 0; repeat < 100; ++repeat)
            pool.Run(50, [&](size_t, size_t) { ++done; });
        EXPECT_EQ(done, 5000);
    }
}

// The tasks report that the caller did all of the work. By the number of tasks it did half, so no time would have been
// lost.
TEST(ThreadPool, CountsTheWorkOfTheCallerByItsTasks)
{
    if (c_finerSplit > 1)
        GTEST_SKIP() << "under ThreadSanitizer the caller always shares the work";
    ThreadPool pool(2);
    bool wentAlone = false;
    for (int attempt = 0; attempt < 20 && !wentAlone; ++attempt)
    {
        std::atomic<size_t> arrived = 0;
        pool.Run(2,
                 [&](size_t, size_t thread)
                 {
                     pool.NoteShare(thread, 0);
                     for (++arrived; arrived < 2;) // so that each thread has one of the tasks
                         std::this_thread::yield();
                     std::this_thread::sleep_for(std::chrono::milliseconds(thread == 0 ? 40 : 70));
                     pool.NoteShare(thread, 1);
                 });
        std::atomic<size_t> byCaller = 0;
        pool.Run(20,
                 [&](size_t, size_t thread)
                 {
                     byCaller += thread == 0;
                     std::this_thread::sleep_for(std::chrono::milliseconds(1));
                 });
        wentAlone = byCaller == 20;
    }
    EXPECT_TRUE(wentAlone);
}

} // namespace cntk
