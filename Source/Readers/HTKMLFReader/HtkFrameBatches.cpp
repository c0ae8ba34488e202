// Minibatches of single frames: sweeps over the data, each in its own order.
#include "Common/Error.h"
#include "Common/Random.h"
#include "Common/Text.h"
#include "Readers/HTKMLFReader/HtkBatches.h"
#include "Readers/ReaderLib/MinibatchPipe.h"
#include "Readers/ReaderLib/RecordWalk.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace cntk
{
namespace
{

// Positions continue from sweep to sweep; position p is in sweep p / (all frames).
template <class ElemType>
class FrameBatches final : public HtkBatches<ElemType>
{
public:
    FrameBatches(const HtkConfig& config, HtkChunkStore& store)
        : m_store(store), m_columns(store.Corpus(), store.Wanted()), m_total(store.Corpus().TotalFrames()),
          m_range(config.reader.readMethod == HtkReadMethod::None ? 0 : config.reader.randomize.range),
          m_isRolling(config.reader.readMethod == HtkReadMethod::RollingWindow), m_isFull(config.reader.fullMinibatches)
    {
    }

    HtkEpoch Start(const EpochRequest& request) override
    {
        const size_t minibatchSize = request.minibatchSize;
        if (request.trainingSeed != m_request.trainingSeed)
        {
            m_order.reset(); // the orders change
            m_otherOrder.reset();
        }
        m_request = request;
        m_data.assign(m_data.size(), nullptr); // chunks may be read again with further streams
        const bool isWhole = IsWholeDataSet(request);
        size_t epochSize = isWhole ? m_total : request.epochSize;
        if (m_isFull)
        {
            if (minibatchSize > m_total)
                Fail(ErrorKind::Config, "minibatchMode=full: a minibatch of ", Counted(minibatchSize, "frame"),
                     " is larger than the data, which have ", Counted(m_total, "frame"));
            // Each sweep skips its last frames that do not fill a minibatch. The epoch is longer by the skipped frames.
            const size_t skipped = m_total % minibatchSize;
            epochSize = isWhole ? m_total - skipped : epochSize + skipped * ((epochSize - 1) / (m_total - skipped));
        }
        const PlaceRange epoch = PositionsOfEpoch(request, epochSize, "frame");
        m_position = epoch.begin;
        m_end = epoch.end;
        return {epoch, m_position};
    }

    bool Fill(MinibatchSlot<ElemType>& slot) override
    {
        size_t count = 0;
        for (;;)
        {
            if (m_position >= m_end)
                return false;
            const size_t leftInSweep = m_total - m_position % m_total;
            count = std::min({m_request.minibatchSize, m_end - m_position, leftInSweep});
            if (!m_isFull || count == m_request.minibatchSize)
                break;
            Advance(count); // too few for a minibatch
        }
        EnterSweep(m_position / m_total, m_position % m_total);
        const size_t begin = m_position % m_total;
        Collect(begin, begin + count);
        Advance(count);

        m_columns.Prepare(slot, m_frames.size(), false);
        m_columns.Copy(slot, m_frames);
        slot.layouts[0]->InitAsFrameMode(m_frames.size());
        slot.keys.clear();
        m_columns.Finish(slot);
        return true;
    }

private:
    using Frame = typename HtkColumns<ElemType>::Frame;

    // The order of a sweep, and the current place in it.
    struct SweepOrder
    {
        size_t sweep = 0;
        bool isUsedUp = false;         // it was delivered to its end
        std::vector<uint32_t> rolling; // used by rollingWindow; other methods use the members below
        std::vector<PlacedChunk> placed;
        std::optional<FrameShuffle<GlibcRand>> shuffle;
        size_t place = SIZE_MAX; // the current chunk

        bool CanResumeAt(size_t otherSweep, size_t position) const
        {
            return sweep == otherSweep && (place == SIZE_MAX || position >= placed[place].begin);
        }
    };

    void Advance(size_t count)
    {
        const size_t sweep = m_position / m_total;
        m_position += count;
        if (m_order && m_order->sweep == sweep && m_position / m_total != sweep)
            m_order->isUsedUp = true;
    }

    // Keeps an unfinished order beside the current one: searches for a learning rate alternate between two sweeps, and
    // shuffling costs as much as some minibatches.
    void EnterSweep(size_t sweep, size_t position)
    {
        if (m_order && m_order->CanResumeAt(sweep, position))
            return;
        m_data.clear(); // by place
        if (!m_order || m_order->isUsedUp)
            m_order = std::move(m_otherOrder);
        else
            std::swap(m_order, m_otherOrder);
        if (m_order && m_order->CanResumeAt(sweep, position))
        {
            if (m_order->place != SIZE_MAX)
                EnterWindow(m_order->place);
            return;
        }
        m_order = std::make_unique<SweepOrder>();
        m_order->sweep = sweep;
        if (!m_isRolling)
        {
            m_order->placed = PlaceChunks<GlibcRand>(m_store.Chunks(), m_range, sweep, m_request.trainingSeed);
            m_order->shuffle.emplace(m_order->placed, m_range, sweep, m_request.trainingSeed);
        }
        else if (m_range > 0)
        {
            const SeedStream seeds(m_request.trainingSeed, "order");
            ShuffleWithinWindow(m_order->rolling, m_total, m_range, GlibcRand(uint32_t(seeds(sweep))));
        }
        else
        {
            m_order->rolling.resize(m_total);
            std::iota(m_order->rolling.begin(), m_order->rolling.end(), 0u);
        }
    }

    // Collects this worker's share of the frames at the sweep's positions [begin, end).
    void Collect(size_t begin, size_t end)
    {
        m_frames.clear();
        m_frames.reserve(std::min(m_request.minibatchSize, m_total));
        if (m_isRolling)
        {
            const HtkChunkData& data = *m_store.Load(0);
            const PlaceRange share = ShareOfWorker(m_request, end - begin);
            for (size_t position = begin + share.begin; position < begin + share.end; ++position)
                m_frames.push_back({&data, m_order->rolling[position]});
            return;
        }
        m_held.clear();
        for (size_t position = begin; position < end;)
        {
            const size_t stop = std::min(end, m_order->placed[EnterChunk(position)].end);
            for (; position < stop; ++position)
            {
                const PlacedFrame& frame = m_order->shuffle->At(position);
                if (frame.place % m_request.workers == m_request.rank)
                    m_frames.push_back({DataOf(frame.place), frame.frame});
            }
        }
    }

    size_t EnterChunk(size_t position)
    {
        size_t place = m_order->place == SIZE_MAX ? 0 : m_order->place;
        while (m_order->placed[place].end <= position)
            ++place;
        if (place != m_order->place)
        {
            m_order->shuffle->Reach(place);
            // A minibatch that spans chunks still needs the data from the previous window.
            for (const HtkChunkDataPtr& data : m_data)
                if (data && !m_frames.empty())
                    m_held.push_back(data);
            EnterWindow(place);
            m_order->place = place;
        }
        return place;
    }

    void EnterWindow(size_t place)
    {
        m_store.KeepWindow(m_order->placed, place);
        m_data.assign(m_order->placed.size(), nullptr);
    }

    const HtkChunkData* DataOf(size_t place)
    {
        HtkChunkDataPtr& data = m_data[place];
        if (!data)
            data = m_store.Load(m_order->placed[place].chunk);
        return data.get();
    }

    HtkChunkStore& m_store;
    HtkColumns<ElemType> m_columns;
    size_t m_total;
    size_t m_range;
    bool m_isRolling;
    bool m_isFull;
    EpochRequest m_request;
    size_t m_position = 0;
    size_t m_end = 0;

    std::unique_ptr<SweepOrder> m_order;
    std::unique_ptr<SweepOrder> m_otherOrder; // unfinished
    std::vector<HtkChunkDataPtr> m_data;      // by place, of the order's window
    std::vector<HtkChunkDataPtr> m_held;      // of the current minibatch
    std::vector<Frame> m_frames;
};

} // namespace

template <class ElemType>
std::unique_ptr<HtkBatches<ElemType>> MakeHtkFrameBatches(const HtkConfig& config, HtkChunkStore& store)
{
    return std::make_unique<FrameBatches<ElemType>>(config, store);
}

template std::unique_ptr<HtkBatches<float>> MakeHtkFrameBatches<float>(const HtkConfig&, HtkChunkStore&);
template std::unique_ptr<HtkBatches<double>> MakeHtkFrameBatches<double>(const HtkConfig&, HtkChunkStore&);

} // namespace cntk
