// A thread that fills the next items while the caller uses the last one. Items are swapped, so that their buffers are
// reused and nothing is allocated once they have grown. Of large items, which dominate the memory, one waits. Of small
// items several wait, because waking a thread costs more than filling them. Then the thread sleeps until, at the recent
// pace, half of the items should be taken; Next wakes it only if that is too late. Next rethrows an exception of the
// thread after the items filled before it.
#pragma once

#include "Common/StartThread.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace cntk
{

template <class Item>
class Prefetcher
{
public:
    static constexpr size_t c_mostItems = 8;               // waiting
    static constexpr size_t c_mostBytes = size_t(1) << 20; // of the waiting items together, if there are several
    using Bytes = size_t (*)(const Item&);

    // bytes: returns the capacity of an item's buffers. Null: one item waits, whatever its size.
    explicit Prefetcher(Bytes bytes = nullptr) : m_bytes(bytes) { m_spare.reserve(c_mostItems); }
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

    // The thread calls fill (false: the end) as long as there is room. Everything that fill uses belongs to the thread
    // until Stop returns.
    void Start(std::function<bool(Item&)> fill)
    {
        Stop();
        {
            std::lock_guard lock(m_mutex);
            m_fill = std::move(fill);
            m_running = true;
            m_rests = false;
            m_ended = false;
            m_largest = 0;
            m_room = 1; // until the size of an item is known
            m_timePerItem = {};
            m_fullAt = {};
        }
        if (!m_thread.joinable())
            m_thread = StartThread([this] { Work(); });
        m_changed.notify_all();
    }

    // Waits until the thread is idle and drops the items not taken.
    void Stop()
    {
        std::unique_lock lock(m_mutex);
        m_running = false;
        m_changed.wait(lock, [this] { return !m_busy; });
        while (m_ready > 0)
            TakeFirst();
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
        TakeFirst();
        // Does not wake the thread for each item: a woken thread fills several.
        const bool wakes = m_rests && m_ready <= (m_naps ? m_room / 4 : m_room / 2);
        m_rests = m_rests && !wakes;
        lock.unlock();
        if (wakes)
            m_changed.notify_all();
        return true;
    }

private:
    // Moves the first waiting item to the spare ones, whose buffers are filled again.
    void TakeFirst()
    {
        m_spare.push_back(std::move(m_items[m_first]));
        m_items[m_first] = Item{};
        m_first = (m_first + 1) % c_mostItems;
        --m_ready;
        ++m_taken;
    }

    // Returns a spare item, or a new one until as many items exist as may be in use. Items then take turns, so that the
    // growth of buffers does not depend on which thread is faster.
    Item FreeItem()
    {
        for (; m_largest > 0 && m_made > m_room && !m_spare.empty(); --m_made) // items have become larger
            m_spare.pop_back();
        if (m_spare.empty() || m_made < m_room)
        {
            ++m_made;
            return Item{};
        }
        Item item = std::move(m_spare.front());
        m_spare.erase(m_spare.begin());
        return item;
    }

    void Add(Item item)
    {
        if (m_bytes)
            m_largest = std::max(m_largest, m_bytes(item));
        if (m_largest > 0)
            m_room = std::clamp<size_t>(c_mostBytes / m_largest, 1, c_mostItems);
        m_items[(m_first + m_ready) % c_mostItems] = std::move(item);
        ++m_ready;
        m_rests = m_ready >= m_room;
        if (m_rests && m_room > 1)
            MeasureTimePerItem();
    }

    // Measures the time per taken item between two moments without room.
    void MeasureTimePerItem()
    {
        const Clock::time_point now = Clock::now();
        if (m_fullAt != Clock::time_point{} && m_taken > m_takenAtFull)
            m_timePerItem = (now - m_fullAt) / (m_taken - m_takenAtFull);
        m_fullAt = now;
        m_takenAtFull = m_taken;
    }

    // Waits until an item may be filled.
    void Rest(std::unique_lock<std::mutex>& lock)
    {
        const auto isWanted = [this] { return m_quit || (m_running && !m_ended && !m_rests); };
        size_t before = SIZE_MAX;
        // If no item was taken during a nap, the next wait has no time limit.
        while (m_timePerItem > Clock::duration{} && !isWanted() && m_running && !m_ended && m_taken != before)
        {
            before = m_taken;
            m_naps = true;
            m_changed.wait_for(lock, m_timePerItem * std::max<size_t>(m_ready - std::min(m_ready, m_room / 2), 1),
                               isWanted);
            m_naps = false;
            m_rests = m_rests && m_ready > m_room - std::max<size_t>(m_room / 4, 1);
        }
        m_changed.wait(lock, isWanted);
    }

    void Work()
    {
        std::unique_lock lock(m_mutex);
        for (;;)
        {
            Rest(lock);
            if (m_quit)
                return;
            m_busy = true;
            Item item = FreeItem();
            lock.unlock();
            bool made = false;
            std::exception_ptr error;
            try
            {
                made = m_fill(item); // only this thread uses the item until it is added
            }
            catch (...)
            {
                error = std::current_exception();
            }
            lock.lock();
            m_busy = false;
            if (made)
                Add(std::move(item));
            else
                m_spare.push_back(std::move(item));
            m_ended = !made;
            m_error = error;
            m_changed.notify_all();
        }
    }

    using Clock = std::chrono::steady_clock;

    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::thread m_thread;
    std::function<bool(Item&)> m_fill;
    Bytes m_bytes;
    std::array<Item, c_mostItems> m_items{}; // waiting items, a ring buffer
    size_t m_first = 0;
    size_t m_ready = 0;
    std::vector<Item> m_spare; // items to be filled
    size_t m_made = 0;         // items that exist, without the caller's
    size_t m_largest = 0;
    size_t m_room = 1;    // for waiting items
    bool m_rests = false; // until enough items are taken
    bool m_naps = false;  // rests, but wakes by itself
    size_t m_taken = 0;   // items so far
    // Time between two taken items; 0: unknown. The time when there was last no room.
    Clock::duration m_timePerItem{};
    Clock::time_point m_fullAt{};
    size_t m_takenAtFull = 0;
    bool m_running = false;
    bool m_busy = false;
    bool m_ended = false; // fill has returned false or thrown
    bool m_quit = false;
    std::exception_ptr m_error;
};

} // namespace cntk
