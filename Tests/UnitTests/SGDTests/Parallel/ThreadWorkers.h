// Workers that are threads of the test and communicate through memory.
#pragma once

#include "Common/Workers.h"

#include <barrier>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace cntk
{

class ThreadWorkers final : public Workers
{
public:
    // Runs work in so many threads, each with a worker, and rethrows the first exception. Work that fails in some
    // threads only must not leave the others waiting.
    static void Run(size_t count, const std::function<void(Workers&)>& work)
    {
        Meeting meeting(count);
        std::vector<std::thread> threads;
        std::vector<std::exception_ptr> errors(count);
        for (size_t rank = 0; rank < count; ++rank)
            threads.emplace_back(
                [&, rank]
                {
                    try
                    {
                        ThreadWorkers worker(meeting, rank);
                        work(worker);
                    }
                    catch (...)
                    {
                        errors[rank] = std::current_exception();
                        meeting.barrier.arrive_and_drop();
                    }
                });
        for (std::thread& thread : threads)
            thread.join();
        for (const std::exception_ptr& error : errors)
            if (error)
                std::rethrow_exception(error);
    }

    size_t Rank() const override { return m_rank; }
    size_t Count() const override { return m_meeting.sent.size(); }
    size_t CountOnThisMachine() const override { return Count(); }
    std::string Describe() const override { return "threads"; }

    void Exchange(std::span<const std::span<const std::byte>> sent,
                  std::span<const std::span<std::byte>> received) override
    {
        m_meeting.sent[m_rank] = sent;
        m_meeting.barrier.arrive_and_wait();
        for (size_t i = 0; i < Count(); ++i)
        {
            if (i == m_rank)
                continue;
            const std::span<const std::byte> piece = m_meeting.sent[i][m_rank];
            if (piece.size() != received[i].size())
                throw std::logic_error("a worker sends another size than is expected");
            std::copy(piece.begin(), piece.end(), received[i].begin());
        }
        m_meeting.barrier.arrive_and_wait();
    }
    void Wait() override { m_meeting.barrier.arrive_and_wait(); }
    // Worker 0 creates the meeting place of all.
    std::unique_ptr<Workers> Another() override
    {
        if (m_rank == 0)
            m_meeting.next = std::make_unique<Meeting>(Count());
        Wait();
        std::unique_ptr<Workers> other(new ThreadWorkers(*m_meeting.next, m_rank));
        Wait();
        return other;
    }
    [[noreturn]] void Abort(int) override { std::abort(); }

private:
    struct Meeting
    {
        explicit Meeting(size_t count) : barrier(ptrdiff_t(count)), sent(count) {}
        std::barrier<> barrier;
        std::vector<std::span<const std::span<const std::byte>>> sent;
        std::unique_ptr<Meeting> next; // of the workers that Another returns
    };
    ThreadWorkers(Meeting& meeting, size_t rank) : m_meeting(meeting), m_rank(rank) {}

    Meeting& m_meeting;
    size_t m_rank;
};

} // namespace cntk
