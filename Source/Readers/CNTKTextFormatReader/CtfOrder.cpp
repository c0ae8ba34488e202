// Shuffling the sequences, and choosing those of a minibatch.
#include "Readers/CNTKTextFormatReader/CtfOrder.h"

#include "Common/Error.h"
#include "Common/Random.h"
#include "Readers/ReaderLib/MinibatchPipe.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace cntk
{
namespace
{

// A chunk in the shuffled order. Its sequences mix with those of the chunks [windowBegin, windowEnd) of that order.
struct Window
{
    size_t firstSequence = 0; // in the shuffled order
    size_t firstSample = 0;
    size_t begin = 0;
    size_t end = 0;
};

std::vector<Window> MakeWindows(const CtfIndex& index, const std::vector<uint32_t>& chunkOrder, size_t range)
{
    const std::vector<CtfIndex::Chunk>& chunks = index.Chunks();
    std::vector<Window> windows(chunkOrder.size() + 1);
    for (size_t i = 0; i < chunkOrder.size(); ++i)
    {
        windows[i + 1].firstSequence = windows[i].firstSequence + chunks[chunkOrder[i]].sequences;
        windows[i + 1].firstSample = windows[i].firstSample + chunks[chunkOrder[i]].samples;
    }
    const size_t half = range / 2;
    for (size_t i = 0; i < chunkOrder.size(); ++i)
    {
        Window& window = windows[i];
        window.begin = i == 0 ? 0 : windows[i - 1].begin;
        window.end = i == 0 ? 1 : std::max(windows[i - 1].end, i + 1);
        while (window.begin < i && windows[window.begin].firstSample + half < window.firstSample)
            ++window.begin;
        while (window.end < chunkOrder.size() && windows[window.end + 1].firstSample <= window.firstSample + half)
            ++window.end;
    }
    return windows;
}

} // namespace

void ShuffleSequences(const CtfIndex& index, size_t range, size_t sweep, std::vector<uint32_t>& order,
                      std::vector<uint32_t>& chunkOrder, uint64_t trainingSeed)
{
    const std::vector<CtfIndex::Chunk>& chunks = index.Chunks();
    chunkOrder.resize(chunks.size());
    std::iota(chunkOrder.begin(), chunkOrder.end(), 0u);
    std::mt19937 generator{uint32_t(SeedStream(trainingSeed, "chunks")(sweep))};
    std::shuffle(chunkOrder.begin(), chunkOrder.end(), generator);
    const std::vector<Window> windows = MakeWindows(index, chunkOrder, range);

    order.clear();
    std::vector<uint32_t> places; // of a sequence: its chunk's place in the shuffled order
    places.reserve(index.Sequences().size());
    for (size_t i = 0; i < chunkOrder.size(); ++i)
    {
        const CtfIndex::Chunk& chunk = chunks[chunkOrder[i]];
        for (size_t k = 0; k < chunk.sequences; ++k)
            order.push_back(uint32_t(chunk.firstSequence + k));
        places.insert(places.end(), chunk.sequences, uint32_t(i));
    }
    // places[p] stays the chunk that owned position p; origin moves with the sequences.
    std::vector<uint32_t> origin = places;
    const auto mayStandAt = [&](uint32_t place, size_t position)
    {
        const Window& window = windows[places[position]];
        return window.begin <= place && place < window.end;
    };
    GlibcRand random(uint32_t(SeedStream(trainingSeed, "order")(sweep + 1)));
    for (size_t i = 0; i < chunkOrder.size(); ++i)
    {
        const size_t begin = windows[windows[i].begin].firstSequence;
        const size_t end = windows[windows[i].end].firstSequence;
        for (size_t t = windows[i].firstSequence; t < windows[i + 1].firstSequence; ++t)
        {
            for (;;)
            {
                const size_t j = random.Draw(begin, end);
                if (!mayStandAt(origin[j], t) || !mayStandAt(origin[t], j))
                    continue;
                std::swap(order[t], order[j]);
                std::swap(origin[t], origin[j]);
                break;
            }
        }
    }
}

void CtfOrder::EnterSweep(size_t sweep)
{
    m_position = 0;
    if (sweep == m_sweep)
        return;
    m_sweep = sweep;
    m_chunkRank.resize(m_index.Chunks().size());
    if (m_range == 0)
    {
        std::iota(m_chunkRank.begin(), m_chunkRank.end(), 0u);
        return;
    }
    ShuffleSequences(m_index, m_range, sweep, m_order, m_chunkOrder, m_request.trainingSeed);
    for (size_t i = 0; i < m_chunkOrder.size(); ++i)
        m_chunkRank[m_chunkOrder[i]] = uint32_t(i);
}

uint32_t CtfOrder::ChunkOf(uint32_t sequence) const
{
    const std::vector<CtfIndex::Chunk>& chunks = m_index.Chunks();
    const auto next =
        std::upper_bound(chunks.begin(), chunks.end(), size_t(sequence),
                         [](size_t wanted, const CtfIndex::Chunk& chunk) { return wanted < chunk.firstSequence; });
    return uint32_t(next - chunks.begin()) - 1;
}

size_t CtfOrder::SamplesAt(size_t position) const
{
    return m_index.Sequences()[SequenceAt(position)].samples;
}

// The epoch begins with the first sequence that starts at or after its first sample.
void CtfOrder::Start(const EpochRequest& request)
{
    CNTK_ASSERT(request.minibatchSize > 0 && request.rank < request.workers);
    if (m_index.Sequences().size() > UINT32_MAX)
        Fail(ErrorKind::Data, "data file '", m_index.File().Path(), "' has ", m_index.Sequences().size(),
             " sequences; at most ", UINT32_MAX, " can be read");
    if (request.trainingSeed != m_request.trainingSeed)
        m_sweep = SIZE_MAX; // the order changes
    m_request = request;
    const size_t total = m_index.Samples();
    const PlaceRange epoch = PositionsOfEpoch(request, IsWholeDataSet(request) ? total : request.epochSize);
    m_epochEnd = epoch.end;
    EnterSweep(epoch.begin / total);
    m_samples = m_sweep * total;
    const size_t count = m_index.Sequences().size();
    while (m_samples < epoch.begin && m_position < count)
        m_samples += SamplesAt(m_position++);
    if (m_position == count)
        EnterSweep(m_sweep + 1);
}

void CtfOrder::Take(std::vector<Pick>& picks)
{
    const uint32_t sequence = SequenceAt(m_position);
    const uint32_t chunk = ChunkOf(sequence);
    m_samples += m_index.Sequences()[sequence].samples;
    ++m_position;
    picks.push_back({chunk, uint32_t(sequence - m_index.Chunks()[chunk].firstSequence)});
}

bool CtfOrder::Next(std::vector<Pick>& picks)
{
    picks.clear();
    if (m_samples >= m_epochEnd)
        return false;
    const size_t count = m_index.Sequences().size();
    if (m_position == count)
        EnterSweep(m_sweep + 1);
    const size_t sweepEnd = (m_sweep + 1) * m_index.Samples();
    size_t wanted = std::min(m_request.minibatchSize, sweepEnd - m_samples);
    const size_t start = m_samples;
    m_all.clear();
    if (m_range > 0)
    {
        wanted = std::min(wanted, m_epochEnd - start);
        do
            Take(m_all);
        while (m_samples - start < wanted && m_position < count);
        for (const Pick& pick : m_all)
        {
            if (m_chunkRank[pick.chunk] % m_request.workers == m_request.rank)
                picks.push_back(pick);
        }
        return true;
    }
    do
        Take(m_all);
    while (m_position < count && m_samples - start + SamplesAt(m_position) <= wanted);
    const PlaceRange share = ShareOfWorker(m_request, m_all.size());
    picks.assign(m_all.begin() + ptrdiff_t(share.begin), m_all.begin() + ptrdiff_t(share.end));
    return true;
}

} // namespace cntk
