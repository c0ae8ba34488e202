// The order of chunks of utterances, and of the frames or utterances in them: the shuffle of CNTK v1.1 with the C
// library's rand(). A chunk may move anywhere; a frame moves only within the window of chunks around it.
#pragma once

#include "Common/Random.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cntk
{

// Consecutive utterances that are loaded together.
struct HtkChunk
{
    size_t firstUtterance = 0;
    size_t utterances = 0;
    size_t frames = 0;
};

// A chunk at its place in a sweep over the data.
struct PlacedChunk
{
    size_t chunk = 0; // index into the chunks
    size_t begin = 0; // its first frame on the time line of the sweep
    size_t end = 0;
    size_t firstUtterance = 0; // its first utterance in the order of the sweep
    // Its frames may come from the chunks at places [windowBegin, windowEnd).
    size_t windowBegin = 0;
    size_t windowEnd = 0;
};

// range: number of frames that are shuffled with each other; 0: no shuffling.
template <class Random>
std::vector<PlacedChunk> PlaceChunks(const std::vector<HtkChunk>& chunks, size_t range, size_t sweep,
                                     uint64_t trainingSeed = 0)
{
    std::vector<PlacedChunk> placed(chunks.size());
    for (size_t i = 0; i < placed.size(); ++i)
        placed[i].chunk = i;
    if (range > 0)
    {
        Random random{uint32_t(SeedStream(trainingSeed, "chunks")(sweep))};
        for (PlacedChunk& chunk : placed)
            std::swap(chunk, placed[random.Draw(0, placed.size())]);
    }
    size_t frame = 0;
    size_t utterance = 0;
    for (PlacedChunk& place : placed)
    {
        place.begin = frame;
        place.firstUtterance = utterance;
        frame += chunks[place.chunk].frames;
        utterance += chunks[place.chunk].utterances;
        place.end = frame;
    }
    const size_t half = range / 2;
    size_t begin = 0;
    size_t end = 1;
    for (size_t i = 0; i < placed.size(); ++i)
    {
        end = std::max(end, i + 1);
        while (placed[i].begin - placed[begin].begin > half)
            ++begin;
        while (end < placed.size() && placed[end].end - placed[i].begin < half)
            ++end;
        placed[i].windowBegin = std::min(begin, i);
        placed[i].windowEnd = end;
    }
    return placed;
}

inline bool IsInWindow(const PlacedChunk& window, size_t place)
{
    return place >= window.windowBegin && place < window.windowEnd;
}

// An utterance in the order of a sweep.
struct PlacedUtterance
{
    uint32_t place;     // of its chunk
    uint32_t utterance; // in its chunk
};

template <class Random>
std::vector<PlacedUtterance> PlaceUtterances(const std::vector<HtkChunk>& chunks,
                                             const std::vector<PlacedChunk>& placed, size_t range, size_t sweep,
                                             uint64_t trainingSeed = 0)
{
    std::vector<PlacedUtterance> order;
    std::vector<uint32_t> placeOfPosition; // the chunk whose window counts at that position
    for (size_t place = 0; place < placed.size(); ++place)
    {
        for (size_t i = 0; i < chunks[placed[place].chunk].utterances; ++i)
        {
            order.push_back({uint32_t(place), uint32_t(i)});
            placeOfPosition.push_back(uint32_t(place));
        }
    }
    if (range == 0)
        return order;
    Random random{uint32_t(SeedStream(trainingSeed, "order")(sweep + 1))};
    for (size_t i = 0; i < order.size(); ++i)
    {
        const PlacedChunk& here = placed[placeOfPosition[i]];
        const size_t begin = placed[here.windowBegin].firstUtterance;
        const PlacedChunk& last = placed[here.windowEnd - 1];
        const size_t end = last.firstUtterance + chunks[last.chunk].utterances;
        for (;;)
        {
            const size_t j = random.Draw(begin, end);
            if (j == i)
                break;
            if (IsInWindow(here, order[j].place) && IsInWindow(placed[placeOfPosition[j]], order[i].place))
            {
                std::swap(order[i], order[j]);
                break;
            }
        }
    }
    return order;
}

// A frame in the order of a sweep.
struct PlacedFrame
{
    uint32_t place; // of its chunk
    uint32_t frame; // in its chunk
};

// The order of the frames of a sweep. Shuffles only as far as needed and drops what was delivered, so that it holds one
// window in memory.
template <class Random>
class FrameShuffle
{
public:
    FrameShuffle(const std::vector<PlacedChunk>& placed, size_t range, size_t sweep, uint64_t trainingSeed = 0)
        : m_placed(placed), m_shuffles(range > 0), m_random(uint32_t(SeedStream(trainingSeed, "order")(sweep + 1)))
    {
    }

    // Completes the positions of chunk `place`, and drops those of chunks that no later chunk can swap with. Calls must
    // have ascending places.
    void Reach(size_t place)
    {
        Forget(place);
        while (m_nextPlace < m_placed.size() && m_placed[m_nextPlace].windowBegin <= place)
            Shuffle(m_nextPlace++);
        if (!m_shuffles)
            Extend(place);
    }

    // position: on the time line of the sweep, in a chunk that has been reached.
    const PlacedFrame& At(size_t position) const { return m_order[position - m_begin]; }

private:
    void Extend(size_t place)
    {
        for (; m_extended <= place; ++m_extended)
        {
            const PlacedChunk& chunk = m_placed[m_extended];
            for (size_t i = 0; i < chunk.end - chunk.begin; ++i)
                m_order.push_back({uint32_t(m_extended), uint32_t(i)});
        }
    }

    void Forget(size_t place)
    {
        if (place == 0)
            return;
        // Keeps the frames that the next chunk may still swap with, and the current chunk.
        size_t first = place;
        if (m_nextPlace < m_placed.size())
            first = std::min(first, m_placed[m_nextPlace].windowBegin);
        const size_t begin = m_placed[first].begin;
        if (begin <= m_begin || begin - m_begin < m_order.size() / 2)
            return;
        m_order.erase(m_order.begin(), m_order.begin() + ptrdiff_t(begin - m_begin));
        m_begin = begin;
    }

    void Shuffle(size_t place)
    {
        const PlacedChunk& here = m_placed[place];
        Extend(here.windowEnd - 1);
        if (!m_shuffles)
            return;
        const size_t begin = m_placed[here.windowBegin].begin;
        const size_t end = m_placed[here.windowEnd - 1].end;
        const bool isEverything = here.windowBegin == 0 && here.windowEnd == m_placed.size() &&
                                  m_placed.front().windowEnd == m_placed.size() && m_placed.back().windowBegin == 0;
        for (size_t position = here.begin; position < here.end; ++position)
        {
            for (;;)
            {
                const size_t other = m_random.Draw(begin, end);
                PlacedFrame& a = m_order[position - m_begin];
                PlacedFrame& b = m_order[other - m_begin];
                if (isEverything || (IsInWindow(here, b.place) && IsInWindow(m_placed[PlaceOf(other)], a.place)))
                {
                    std::swap(a, b);
                    break;
                }
            }
        }
    }

    // Returns the place of the chunk that contains a position of the time line.
    size_t PlaceOf(size_t position) const
    {
        const auto after = std::upper_bound(m_placed.begin(), m_placed.end(), position,
                                            [](size_t value, const PlacedChunk& chunk) { return value < chunk.begin; });
        return size_t(after - m_placed.begin()) - 1;
    }

    const std::vector<PlacedChunk>& m_placed;
    bool m_shuffles;
    Random m_random;
    size_t m_nextPlace = 0; // the chunk to be shuffled next
    size_t m_extended = 0;  // chunks that have entries in m_order
    size_t m_begin = 0;     // position of m_order[0]
    std::vector<PlacedFrame> m_order;
};

} // namespace cntk
