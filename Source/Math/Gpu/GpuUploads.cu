// Rings of pinned memory: the host waits only for copies that still read the memory it is about to overwrite.
#include "Math/Gpu/GpuUploads.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cntk
{

namespace
{

constexpr size_t c_alignment = 64;

size_t Aligned(size_t bytes)
{
    return (bytes + c_alignment - 1) / c_alignment * c_alignment;
}

} // namespace

// ---- small pieces ---------------------------------------------------------------------------------------------------

GpuStaging::GpuStaging(GpuRuntime& runtime, GpuStream stream)
    : m_runtime(runtime), m_stream(stream), m_pinned(static_cast<std::byte*>(runtime.AllocatePinned(2 * c_halfBytes)))
{
    for (GpuEvent& event : m_events)
        event = runtime.MakeEvent();
}

GpuStaging::~GpuStaging()
{
    for (const GpuEvent event : m_events)
        m_runtime.FreeEvent(event);
    m_runtime.FreePinned(m_pinned);
}

void GpuStaging::Upload(void* destination, const void* host, size_t bytes)
{
    while (bytes > 0)
    {
        if (m_used == c_halfBytes)
        {
            m_runtime.Record(m_events[m_half], m_stream);
            m_isRecorded[m_half] = true;
            m_half = 1 - m_half;
            m_used = 0;
            if (m_isRecorded[m_half])
                m_runtime.Wait(m_events[m_half]);
        }
        const size_t count = std::min(bytes, c_halfBytes - m_used);
        std::byte* const pinned = m_pinned + m_half * c_halfBytes + m_used;
        std::memcpy(pinned, host, count);
        m_runtime.CopyFromPinned(destination, pinned, count, m_stream);
        m_used = std::min(c_halfBytes, Aligned(m_used + count));
        destination = static_cast<std::byte*>(destination) + count;
        host = static_cast<const std::byte*>(host) + count;
        bytes -= count;
    }
}

// ---- large pieces ---------------------------------------------------------------------------------------------------

GpuTransfers::GpuTransfers(GpuRuntime& runtime, GpuAllocator& memory, GpuStream work)
    : m_runtime(runtime), m_memory(memory), m_work(work), m_copies(runtime)
{
}

// The owner has waited for all work.
GpuTransfers::~GpuTransfers()
{
    for (const Piece& piece : m_pieces)
        m_idleEvents.push_back(piece.events);
    for (const Events& events : m_idleEvents)
    {
        m_runtime.FreeEvent(events.arrived);
        m_runtime.FreeEvent(events.taken);
    }
    FreeRing();
}

void GpuTransfers::FreeRing() noexcept
{
    if (m_capacity == 0)
        return;
    m_runtime.FreePinned(m_pinned);
    m_memory.Free(m_onDevice);
    m_capacity = 0;
}

void GpuTransfers::WaitForOldest()
{
    m_runtime.Wait(m_pieces.front().events.taken);
    m_idleEvents.push_back(m_pieces.front().events);
    m_pieces.pop_front();
}

void GpuTransfers::Grow(size_t bytes)
{
    const size_t capacity = std::bit_ceil(c_piecesInRing * bytes);
    if (capacity <= m_capacity)
        return;
    while (!m_pieces.empty())
        WaitForOldest();
    FreeRing();
    m_onDevice = static_cast<std::byte*>(m_memory.Allocate(capacity));
    try
    {
        m_pinned = static_cast<std::byte*>(m_runtime.AllocatePinned(capacity));
    }
    catch (...)
    {
        m_memory.Free(m_onDevice);
        throw;
    }
    m_capacity = capacity;
    m_next = 0;
    // Queued kernels may still use the memory, if it was freed and given out again.
    m_idleEvents.push_back(TakeEvents());
    const GpuEvent allBefore = m_idleEvents.back().taken;
    m_runtime.Record(allBefore, m_work);
    m_runtime.WaitFor(m_copies.stream, allBefore);
}

// Returns where the next piece begins. Pieces lie in the ring in their order, so the oldest ones are in the way.
size_t GpuTransfers::MakeRoom(size_t bytes)
{
    if (m_next + bytes > m_capacity)
    {
        while (!m_pieces.empty() && m_pieces.front().begin >= m_next)
            WaitForOldest();
        m_next = 0;
    }
    const size_t begin = m_next;
    while (!m_pieces.empty() && m_pieces.front().begin < begin + bytes && m_pieces.front().end > begin)
        WaitForOldest();
    m_next += bytes;
    return begin;
}

GpuTransfers::Events GpuTransfers::TakeEvents()
{
    if (m_idleEvents.empty())
        return {m_runtime.MakeEvent(), m_runtime.MakeEvent()};
    const Events events = m_idleEvents.back();
    m_idleEvents.pop_back();
    return events;
}

// Room in the ring means that the earlier piece has left it, so no copy reads either memory.
void GpuTransfers::UploadPiece(void* destination, const void* host, size_t bytes)
{
    const size_t room = Aligned(bytes);
    Grow(room);
    const size_t begin = MakeRoom(room);
    const Piece& piece = m_pieces.emplace_back(Piece{begin, begin + room, TakeEvents()});
    std::memcpy(m_pinned + begin, host, bytes);
    m_runtime.CopyFromPinned(m_onDevice + begin, m_pinned + begin, bytes, m_copies.stream);
    m_runtime.Record(piece.events.arrived, m_copies.stream);
    m_runtime.WaitFor(m_work, piece.events.arrived);
    m_runtime.Copy(destination, m_onDevice + begin, bytes, m_work);
    m_runtime.Record(piece.events.taken, m_work);
}

void GpuTransfers::Upload(void* destination, const void* host, size_t bytes)
{
    for (size_t done = 0; done < bytes; done += c_pieceBytes)
        UploadPiece(static_cast<std::byte*>(destination) + done, static_cast<const std::byte*>(host) + done,
                    std::min(bytes - done, c_pieceBytes));
}

} // namespace cntk
