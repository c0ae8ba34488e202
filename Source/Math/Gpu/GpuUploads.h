// Uploads from host memory in the order of the device's work, without waiting for it. The host memory may change as
// soon as a call returns.
#pragma once

#include "Math/Gpu/GpuAllocator.h"
#include "Math/Gpu/GpuRuntime.h"

#include <cstddef>
#include <deque>
#include <vector>

namespace cntk
{

// Frees the stream when it is destroyed.
struct GpuOwnedStream
{
    explicit GpuOwnedStream(GpuRuntime& owner) : runtime(owner), stream(owner.MakeStream()) {}
    ~GpuOwnedStream() { runtime.FreeStream(stream); }
    GpuOwnedStream(const GpuOwnedStream&) = delete;
    GpuOwnedStream& operator=(const GpuOwnedStream&) = delete;

    GpuRuntime& runtime;
    GpuStream stream;
};

// Uploads small pieces through pinned memory in the stream of the work. The memory has two halves: one is filled while
// copies read the other.
class GpuStaging
{
public:
    GpuStaging(GpuRuntime& runtime, GpuStream stream);
    ~GpuStaging();
    GpuStaging(const GpuStaging&) = delete;
    GpuStaging& operator=(const GpuStaging&) = delete;

    void Upload(void* destination, const void* host, size_t bytes);

    static constexpr size_t c_halfBytes = size_t(1) << 20;

private:
    GpuRuntime& m_runtime;
    GpuStream m_stream;
    std::byte* m_pinned = nullptr;
    GpuEvent m_events[2] = {};
    bool m_isRecorded[2] = {};
    size_t m_half = 0;
    size_t m_used = 0;
};

// Uploads large pieces, such as a reader's minibatches. A second stream copies a piece from pinned memory to the device
// while earlier work still runs; the stream of the work then copies it to its destination. Both memories are rings with
// room for several minibatches. The host waits only when the rings are full.
class GpuTransfers
{
public:
    GpuTransfers(GpuRuntime& runtime, GpuAllocator& memory, GpuStream work);
    ~GpuTransfers();
    GpuTransfers(const GpuTransfers&) = delete;
    GpuTransfers& operator=(const GpuTransfers&) = delete;

    void Upload(void* destination, const void* host, size_t bytes);

    static constexpr size_t c_leastBytes = size_t(64) << 10; // smaller pieces are not worth two events
    static constexpr size_t c_pieceBytes = size_t(16) << 20; // larger uploads are split
    static constexpr size_t c_piecesInRing = 4;

private:
    struct Events
    {
        GpuEvent arrived; // the piece is on the device
        GpuEvent taken;   // the piece has left the ring
    };
    struct Piece
    {
        size_t begin;
        size_t end;
        Events events;
    };

    void UploadPiece(void* destination, const void* host, size_t bytes);
    void Grow(size_t bytes);
    void FreeRing() noexcept;
    size_t MakeRoom(size_t bytes);
    void WaitForOldest();
    Events TakeEvents();

    GpuRuntime& m_runtime;
    GpuAllocator& m_memory;
    GpuStream m_work;
    GpuOwnedStream m_copies;
    std::byte* m_pinned = nullptr;
    std::byte* m_onDevice = nullptr;
    size_t m_capacity = 0;
    size_t m_next = 0;
    std::deque<Piece> m_pieces; // in the ring, oldest first
    std::vector<Events> m_idleEvents;
};

} // namespace cntk
