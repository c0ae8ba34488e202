// Minibatches of parallel utterances: whole ones, or pieces with the state carried over (truncated back-propagation
// through time).
#include "Common/Error.h"
#include "Readers/HTKMLFReader/HtkBatches.h"
#include "Readers/ReaderLib/MinibatchPipe.h"

#include <algorithm>

namespace cntk
{
namespace
{

// An utterance that is being delivered.
struct Utterance
{
    HtkChunkDataPtr data;
    size_t firstFrame = 0; // in the chunk
    size_t frames = 0;
    size_t corpusIndex = 0;
};

// The utterances of an epoch, in the order of its sweeps, in groups of about minibatchSize frames.
class UtteranceWalk
{
public:
    UtteranceWalk(const HtkConfig& config, HtkChunkStore& store)
        : m_store(store), m_total(store.Corpus().TotalFrames()),
          m_range(config.reader.readMethod == HtkReadMethod::None ? 0 : config.reader.randomize.range)
    {
    }

    HtkEpoch Start(const EpochRequest& request)
    {
        if (request.trainingSeed != m_request.trainingSeed)
            m_sweep = SIZE_MAX; // the order changes
        m_request = request;
        const PlaceRange epoch =
            PositionsOfEpoch(request, IsWholeDataSet(request) ? m_total : request.epochSize, "frame");
        m_end = epoch.end;
        m_place = SIZE_MAX;
        EnterSweep(epoch.begin / m_total);
        // Skips to the first utterance that begins in the epoch.
        while (m_next < m_order.size() && m_position < epoch.begin)
            Advance();
        if (m_next == m_order.size())
            EnterSweep(m_sweep + 1);
        return {epoch, m_position};
    }

    // Takes the next utterances of this worker; false at the end of the epoch.
    bool Next(std::vector<Utterance>& group)
    {
        group.clear();
        while (group.empty())
        {
            if (m_position >= m_end)
                return false;
            const size_t wanted = std::min(m_request.minibatchSize, m_end - m_position);
            size_t frames = 0;
            do
            {
                frames += FramesOf(m_order[m_next]);
                Take(group);
                Advance();
            } while (m_next < m_order.size() && frames + FramesOf(m_order[m_next]) < wanted);
            if (m_next == m_order.size())
                EnterSweep(m_sweep + 1);
        }
        return true;
    }

private:
    size_t CorpusIndex(const PlacedUtterance& utterance) const
    {
        return m_store.Chunks()[m_placed[utterance.place].chunk].firstUtterance + utterance.utterance;
    }
    size_t FramesOf(const PlacedUtterance& utterance) const { return m_store.Corpus().Frames(CorpusIndex(utterance)); }

    void EnterSweep(size_t sweep)
    {
        m_next = 0;
        m_position = sweep * m_total;
        m_place = SIZE_MAX;
        if (m_sweep == sweep)
            return;
        m_sweep = sweep;
        m_placed = PlaceChunks<GlibcRand>(m_store.Chunks(), m_range, sweep, m_request.trainingSeed);
        m_order = PlaceUtterances<GlibcRand>(m_store.Chunks(), m_placed, m_range, sweep, m_request.trainingSeed);
    }

    void Advance()
    {
        m_position += FramesOf(m_order[m_next]);
        ++m_next;
    }

    void Take(std::vector<Utterance>& group)
    {
        const PlacedUtterance& utterance = m_order[m_next];
        if (utterance.place % m_request.workers != m_request.rank)
            return;
        // Finds the place whose window counts at this position.
        size_t place = m_place == SIZE_MAX ? 0 : m_place;
        while (place + 1 < m_placed.size() && m_placed[place + 1].firstUtterance <= m_next)
            ++place;
        if (place != m_place)
        {
            m_store.KeepWindow(m_placed, place);
            m_place = place;
        }
        const HtkChunkDataPtr& data = m_store.Load(m_placed[utterance.place].chunk);
        group.push_back({data, data->FirstFrame(utterance.utterance), FramesOf(utterance), CorpusIndex(utterance)});
    }

    HtkChunkStore& m_store;
    size_t m_total;
    size_t m_range;
    EpochRequest m_request;
    size_t m_end = 0;
    size_t m_sweep = SIZE_MAX;
    std::vector<PlacedChunk> m_placed;
    std::vector<PlacedUtterance> m_order;
    size_t m_next = 0;     // in m_order
    size_t m_position = 0; // its first frame, counted over all sweeps
    size_t m_place = SIZE_MAX;
};

// One of the parallel sequences: its current group of utterances, one after another.
struct Channel
{
    std::vector<Utterance> group;
    size_t frames = 0;  // of the group
    size_t current = 0; // utterance in the group
    size_t cursor = 0;  // delivered frames of it
};

// Consecutive frames of an utterance in a row of the minibatch.
struct Stretch
{
    Utterance utterance;
    size_t row = 0;
    size_t time = 0;
    size_t first = 0; // frame of the utterance
    size_t count = 0;
};

template <class ElemType>
class UtteranceBatches final : public HtkBatches<ElemType>
{
public:
    UtteranceBatches(const HtkConfig& config, HtkChunkStore& store)
        : m_store(store), m_walk(config, store), m_columns(store.Corpus(), store.Wanted()),
          m_parallel(config.reader.parallelSequences), m_isTruncated(config.reader.truncated),
          m_truncationLength(config.reader.truncated ? config.reader.truncationLength : 0)
    {
    }

    HtkEpoch Start(const EpochRequest& request) override
    {
        if (m_isTruncated) // every minibatch has its full length, however short the data are
            RequireColumns(std::max(request.minibatchSize, m_truncationLength), "frames");
        EpochRequest ours = request;
        m_withLattices = request.withLattices && m_store.Corpus().HasLattices();
        size_t all = m_parallel[request.epoch];
        if (m_truncationLength > 0)
        {
            ours.minibatchSize = m_truncationLength;
            all = std::max<size_t>(request.workers, request.minibatchSize / m_truncationLength);
        }
        if (all < request.workers)
            Fail(ErrorKind::Config, "nbruttsineachrecurrentiter=", all, " is less than the number of workers, ",
                 request.workers);
        m_rows = all / request.workers + (request.rank < all % request.workers ? 1 : 0);
        m_minibatchSize = ours.minibatchSize;
        const HtkEpoch epoch = m_walk.Start(ours);
        m_channels.resize(m_rows);
        for (Channel& channel : m_channels)
            Renew(channel);
        return epoch;
    }

    bool Fill(MinibatchSlot<ElemType>& slot) override
    {
        m_stretches.clear();
        m_used.assign(m_rows, 0);
        const size_t steps = m_isTruncated ? CollectPieces(slot.log) : CollectWhole();
        if (m_stretches.empty())
            return false;
        Deliver(slot, steps);
        return true;
    }

private:
    bool Renew(Channel& channel)
    {
        const bool hasData = m_walk.Next(channel.group);
        channel.frames = 0;
        channel.current = 0;
        channel.cursor = 0;
        for (const Utterance& utterance : channel.group)
            channel.frames += utterance.frames;
        return hasData;
    }

    // Appends up to `most` frames of the channel to the row.
    void Move(Channel& channel, size_t row, size_t most)
    {
        while (most > 0 && channel.frames > 0)
        {
            const Utterance& utterance = channel.group[channel.current];
            const size_t count = std::min(most, utterance.frames - channel.cursor);
            m_stretches.push_back({utterance, row, m_used[row], channel.cursor, count});
            m_used[row] += count;
            most -= count;
            channel.frames -= count;
            channel.cursor += count;
            if (channel.cursor == utterance.frames)
            {
                ++channel.current;
                channel.cursor = 0;
            }
        }
    }

    // Puts one group into each row, then further groups wherever there is room.
    size_t CollectWhole()
    {
        size_t steps = 0;
        for (const Channel& channel : m_channels)
            steps = std::max(steps, channel.frames);
        for (size_t row = 0; row < m_rows; ++row)
        {
            if (m_channels[row].frames == 0)
                continue;
            Move(m_channels[row], row, steps);
            Renew(m_channels[row]);
        }
        for (size_t source = 0; source < m_rows;)
        {
            Channel& channel = m_channels[source];
            size_t row = 0;
            while (row < m_rows && m_used[row] + channel.frames >= steps)
                ++row;
            if (channel.frames == 0 || row == m_rows)
            {
                ++source;
                continue;
            }
            Move(channel, row, channel.frames);
            Renew(channel);
        }
        return steps;
    }

    // Takes the next minibatchSize frames of each row. After the end of an utterance the next one begins.
    size_t CollectPieces(std::string& log)
    {
        const size_t steps = m_minibatchSize;
        for (size_t row = 0; row < m_rows; ++row)
        {
            Channel& channel = m_channels[row];
            const bool continues = channel.frames > steps;
            Move(channel, row, steps);
            if (continues || !Renew(channel) || m_used[row] == steps)
                continue;
            Move(channel, row, steps - m_used[row]);
            if (channel.frames > 0)
                continue;
            if (m_used[row] < steps)
                AppendWarning(log, row, steps);
            Renew(channel);
        }
        return steps;
    }

    void AppendWarning(std::string& log, size_t row, size_t steps) const
    {
        log += Concat("HTKMLFReader: Packing a second utterance did still not fill all time slots of sequence ", row,
                      " (", m_used[row], " of ", steps, "); the rest stays empty\n");
    }

    void Deliver(MinibatchSlot<ElemType>& slot, size_t steps)
    {
        bool hasGaps = false;
        for (const size_t used : m_used)
            hasGaps = hasGaps || used < steps;
        m_columns.Prepare(slot, m_rows * steps, hasGaps);
        MBLayout& layout = *slot.layouts[0];
        layout.Init(m_rows, steps);
        slot.keys.resize(m_stretches.size());
        slot.lattices.assign(m_withLattices ? m_stretches.size() : 0, nullptr);
        for (size_t id = 0; id < m_stretches.size(); ++id)
        {
            const Stretch& stretch = m_stretches[id];
            const ptrdiff_t begin = ptrdiff_t(stretch.time) - ptrdiff_t(stretch.first);
            layout.AddSequence(id, stretch.row, begin, begin + ptrdiff_t(stretch.utterance.frames));
            slot.keys[id] = m_store.Corpus().Key(stretch.utterance.corpusIndex);
            if (m_withLattices)
                slot.lattices[id] = m_store.Corpus().ReadLattice(stretch.utterance.corpusIndex);
            for (size_t i = 0; i < stretch.count; ++i)
                m_columns.Copy(slot, *stretch.utterance.data, stretch.utterance.firstFrame + stretch.first + i,
                               (stretch.time + i) * m_rows + stretch.row);
        }
        for (size_t row = 0; row < m_rows; ++row)
            layout.AddGap(row, ptrdiff_t(m_used[row]), ptrdiff_t(steps));
        m_columns.Finish(slot);
        m_stretches.clear(); // releases the chunks
    }

    HtkChunkStore& m_store;
    UtteranceWalk m_walk;
    HtkColumns<ElemType> m_columns;
    Schedule<size_t> m_parallel;
    bool m_isTruncated;
    size_t m_truncationLength; // 0: minibatchSize
    bool m_withLattices = false;
    size_t m_rows = 1;
    size_t m_minibatchSize = 0;
    std::vector<Channel> m_channels;
    std::vector<Stretch> m_stretches; // of the current minibatch
    std::vector<size_t> m_used;       // steps filled, by row
};

// For the write action: each entry of the script file is a minibatch, in order.
template <class ElemType>
class FileBatches final : public HtkBatches<ElemType>
{
public:
    FileBatches(const HtkConfig& config, HtkChunkStore& store)
        : m_store(store), m_columns(store.Corpus(), store.Wanted()), m_prints(config.reader.verbosity > 0)
    {
    }

    HtkEpoch Start(const EpochRequest& request) override
    {
        if (request.workers > 1)
            Fail(ErrorKind::Config, "HTKMLFReader: writing is done by one worker, not by ", request.workers);
        m_mostFrames = request.epochSize == 0 ? c_wholeDataSet : request.epochSize;
        m_next = 0;
        m_delivered = 0;
        return {};
    }

    bool Fill(MinibatchSlot<ElemType>& slot) override
    {
        HtkCorpus& corpus = m_store.Corpus();
        if (m_next == corpus.Utterances() || m_delivered >= m_mostFrames)
            return false;
        const size_t frames = corpus.Frames(m_next);
        if (m_prints)
            slot.log += Concat("evaluate: reading ", frames, " frames of ", corpus.Features()[0]->PathOf(m_next), "\n");
        m_data.Read(corpus, {m_next, 1, frames}, m_store.Wanted(), nullptr);
        m_columns.Prepare(slot, frames, false);
        slot.layouts[0]->Init(1, frames);
        slot.layouts[0]->AddSequence(0, 0, 0, ptrdiff_t(frames));
        slot.keys.assign(1, corpus.Key(m_next));
        for (size_t i = 0; i < frames; ++i)
            m_columns.Copy(slot, m_data, i, i);
        m_columns.Finish(slot);
        m_delivered += frames;
        ++m_next;
        return true;
    }

private:
    HtkChunkStore& m_store;
    HtkColumns<ElemType> m_columns;
    bool m_prints;
    HtkChunkData m_data;
    size_t m_next = 0;
    size_t m_delivered = 0;
    size_t m_mostFrames = 0;
};

} // namespace

template <class ElemType>
std::unique_ptr<HtkBatches<ElemType>> MakeHtkUtteranceBatches(const HtkConfig& config, HtkChunkStore& store)
{
    return std::make_unique<UtteranceBatches<ElemType>>(config, store);
}

template <class ElemType>
std::unique_ptr<HtkBatches<ElemType>> MakeHtkFileBatches(const HtkConfig& config, HtkChunkStore& store)
{
    return std::make_unique<FileBatches<ElemType>>(config, store);
}

template std::unique_ptr<HtkBatches<float>> MakeHtkUtteranceBatches<float>(const HtkConfig&, HtkChunkStore&);
template std::unique_ptr<HtkBatches<double>> MakeHtkUtteranceBatches<double>(const HtkConfig&, HtkChunkStore&);
template std::unique_ptr<HtkBatches<float>> MakeHtkFileBatches<float>(const HtkConfig&, HtkChunkStore&);
template std::unique_ptr<HtkBatches<double>> MakeHtkFileBatches<double>(const HtkConfig&, HtkChunkStore&);

} // namespace cntk
