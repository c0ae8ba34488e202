// One thread that makes items ahead of the one who takes them. Items are swapped, so their buffers go round and nothing
// is allocated once they have grown. An exception in the thread is rethrown in Next, after the items made before it.
#pragma once

#include <array>
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

    // Waits until the thread is idle and forgets the items not taken.
    void Stop()
    {
        std::unique_lock lock(m_mutex);
        m_running = false;
        m_changed.wait(lock, [this] { return !m_busy; });
        m_ready = 0;
        m_error = nullptr;
    }

    // Swaps the next item with the caller's. False at the end.
    bool Next(Item& item)
    {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [this] { return m_ready > 0 || m_ended; });
        if (m_ready == 0)
        {
            if (m_error)
                std::rethrow_exception(std::exchange(m_error, nullptr));
            return false;
        }
        std::swap(item, m_items[m_first]);
        m_first = (m_first + 1) % m_items.size();
        --m_ready;
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
            m_changed.wait(lock, [this] { return m_quit || (m_running && !m_ended && m_ready < m_items.size()); });
            if (m_quit)
                return;
            Item& item = m_items[(m_first + m_ready) % m_items.size()]; // not the taker's: those are the first m_ready
            m_busy = true;
            lock.unlock();
            bool made = false;
            std::exception_ptr error;
            try
            {
                made = m_fill(item);
            }
            catch (...)
            {
                error = std::current_exception();
            }
            lock.lock();
            m_busy = false;
            if (made)
                ++m_ready;
            else
                m_ended = true;
            m_error = error;
            m_changed.notify_all();
        }
    }

    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::thread m_thread;
    std::function<bool(Item&)> m_fill;
    std::array<Item, 2> m_items;
    size_t m_first = 0; // the oldest item ready
    size_t m_ready = 0;
    bool m_running = false;
    bool m_busy = false;
    bool m_ended = false; // fill has said so or failed
    bool m_quit = false;
    std::exception_ptr m_error;
};

} // namespace cntk
