// From host memory to the device, in the order of the device's work and without waiting for it: the host memory may
// change as soon as a call has returned.
#pragma once

#include "Math/Gpu/GpuAllocator.h"
#include "Math/Gpu/GpuRuntime.h"

#include <cstddef>
#include <deque>
#include <vector>

namespace cntk
{

// A stream that is freed with its owner.
struct GpuOwnedStream
{
    explicit GpuOwnedStream(GpuRuntime& owner) : runtime(owner), stream(owner.MakeStream()) {}
    ~GpuOwnedStream() { runtime.FreeStream(stream); }
    GpuOwnedStream(const GpuOwnedStream&) = delete;
    GpuOwnedStream& operator=(const GpuOwnedStream&) = delete;

    GpuRuntime& runtime;
    GpuStream stream;
};

// Small pieces: through pinned memory, in the stream itself. Two halves, so that one is filled while the other is still
// read.
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

// Large pieces, a reader's minibatches: a stream of their own brings them to the device while the work before still
// runs, and the stream of the work takes them from there when its turn comes. Pinned memory and that of the device are
// rings in step with one another, large enough for several minibatches: the host waits only when it is further ahead
// than that.
class GpuTransfers
{
public:
    GpuTransfers(GpuRuntime& runtime, GpuAllocator& memory, GpuStream work);
    ~GpuTransfers();
    GpuTransfers(const GpuTransfers&) = delete;
    GpuTransfers& operator=(const GpuTransfers&) = delete;

    void Upload(void* destination, const void* host, size_t bytes);

    static constexpr size_t c_leastBytes = size_t(64) << 10; // what is smaller is not worth two events
    static constexpr size_t c_pieceBytes = size_t(16) << 20; // what is larger goes in pieces
    static constexpr size_t c_piecesInRing = 4;

private:
    struct Events
    {
        GpuEvent arrived; // on the device
        GpuEvent taken;   // from the ring: there is room again
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
    std::byte* m_there = nullptr;
    size_t m_capacity = 0;
    size_t m_next = 0;
    std::deque<Piece> m_pieces; // on their way, oldest first
    std::vector<Events> m_idleEvents;
};

} // namespace cntk
