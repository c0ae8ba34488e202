// One thread that makes the next item while the last one is used. Items are swapped, so their buffers go round and
// nothing is allocated once they have grown; one item waits at a time, since items are what memory is spent on. An
// exception in the thread is rethrown in Next, after the items made before it.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace cntk
{

template <class Item>
class Prefetcher
{
public:
    Prefetcher() = default;
    ~Prefetcher()
    {
        Stop();
        {
            std::lock_guard lock(m_mutex);
            m_quit = true;
        }
        m_changed.notify_all();
        if (m_thread.joinable())
            m_thread.join();
    }
    Prefetcher(const Prefetcher&) = delete;
    Prefetcher& operator=(const Prefetcher&) = delete;

    // From now on the thread calls fill (false: that was all) as long as there is room. What it uses belongs to the
    // thread until Stop returns.
    void Start(std::function<bool(Item&)> fill)
    {
        Stop();
        {
            std::lock_guard lock(m_mutex);
            m_fill = std::move(fill);
            m_running = true;
            m_ended = false;
        }
        if (!m_thread.joinable())
            m_thread = std::thread([this] { Work(); });
        m_changed.notify_all();
    }

    // Waits until the thread is idle and forgets the item not taken.
    void Stop()
    {
        std::unique_lock lock(m_mutex);
        m_running = false;
        m_changed.wait(lock, [this] { return !m_busy; });
        m_isReady = false;
        m_error = nullptr;
    }

    // Swaps the next item with the caller's. False at the end.
    bool Next(Item& item)
    {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [this] { return m_isReady || m_ended; });
        if (!m_isReady)
        {
            if (m_error)
                std::rethrow_exception(std::exchange(m_error, nullptr));
            return false;
        }
        std::swap(item, m_item);
        m_isReady = false;
        lock.unlock();
        m_changed.notify_all();
        return true;
    }

private:
    void Work()
    {
        std::unique_lock lock(m_mutex);
        for (;;)
        {
            m_changed.wait(lock, [this] { return m_quit || (m_running && !m_ended && !m_isReady); });
            if (m_quit)
                return;
            m_busy = true;
            lock.unlock();
            bool made = false;
            std::exception_ptr error;
            try
            {
                made = m_fill(m_item); // nobody else touches it until it is ready
            }
            catch (...)
            {
                error = std::current_exception();
            }
            lock.lock();
            m_busy = false;
            m_isReady = made;
            m_ended = !made;
            m_error = error;
            m_changed.notify_all();
        }
    }

    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::thread m_thread;
    std::function<bool(Item&)> m_fill;
    Item m_item{};
    bool m_isReady = false;
    bool m_running = false;
    bool m_busy = false;
    bool m_ended = false; // fill has said so or failed
    bool m_quit = false;
    std::exception_ptr m_error;
};

} // namespace cntk
