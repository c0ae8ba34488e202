// Minibatches of whole sequences, and of pieces of sequences (truncated).
#include "Readers/CNTKTextFormatReader/CtfReader.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "Common/Text.h"

#include <algorithm>
#include <cstring>

namespace cntk
{
namespace
{

constexpr const char* c_readerName = "CNTKTextFormatReader";

CtfIndex OpenIndex(const CtfConfig& config)
{
    const CtfReaderOptions& options = config.reader;
    return WithPosition(config.fileWhere,
                        [&] { return CtfIndex(options.file, options.skipSequenceIds, options.chunkSizeInBytes); });
}

} // namespace

template <class ElemType>
CtfReader<ElemType>::CtfReader(const ReaderContext& context)
    : m_log(context.log), m_config(ReadCtfConfig(context)), m_index(OpenIndex(m_config)), m_store(m_index, m_config),
      m_order(m_index, m_config.reader.randomize.range), m_pipe(context.log)
{
    for (const CtfStream& stream : m_config.streams)
    {
        StreamInfo info;
        info.name = stream.name;
        info.rows = stream.dim;
        info.sparse = stream.sparse;
        info.source = stream.source;
        m_streams.push_back(std::move(info));
    }
    if (m_config.reader.traceLevel > 1)
        m_log.Print("%s: %zu samples in %zu sequences, %zu chunks: %s\n", c_readerName, m_index.Samples(),
                    m_index.Sequences().size(), m_index.Chunks().size(), m_config.reader.file.c_str());
}

template <class ElemType>
void CtfReader<ElemType>::StartEpoch(const EpochRequest& request)
{
    m_pipe.Stop();
    m_wanted = ChooseStreams(c_readerName, m_streams, request.wanted);
    m_store.SetWanted(m_wanted);
    m_store.ChooseMode(m_config.reader.randomize.range);
    const CtfReaderOptions& options = m_config.reader;
    EpochRequest ours = request;
    if (!options.truncated)
    {
        m_order.Start(ours);
        m_pipe.Start([this](Slot& slot) { return FillWhole(slot); }, options.prefetch);
        return;
    }
    const bool hasLength = options.truncationLength > 0;
    m_timeSteps = hasLength ? options.truncationLength : request.minibatchSize;
    if (hasLength)
        // as many rows as the options ask for, however few sequences there are
        RequireColumns(request.minibatchSize, "samples");
    const size_t rows =
        hasLength ? std::max<size_t>(1, request.minibatchSize / options.truncationLength) : options.parallelSequences;
    m_rows.assign(rows, {});
    ours.minibatchSize = 1; // one sequence at a time
    m_order.Start(ours);
    m_pipe.Start([this](Slot& slot) { return FillTruncated(slot); }, options.prefetch);
}

template <class ElemType>
void CtfReader<ElemType>::AddKey(Slot& slot, const CtfData<ElemType>& data, uint32_t sequence) const
{
    if (m_index.HasIds())
        slot.keys.push_back(std::to_string(data.ids[sequence]));
}

// Runs in the prefetch thread or in the caller's.
template <class ElemType>
bool CtfReader<ElemType>::FillWhole(Slot& slot)
{
    slot.Prepare(m_streams.size());
    slot.keys.clear();
    if (!m_order.Next(m_picks))
        return false;
    if (!m_scratch || m_scratch.use_count() > 1)
        m_scratch = std::make_shared<CtfData<ElemType>>();
    m_scratch->Clear(m_streams.size());
    m_data.clear();
    m_sequences.resize(m_picks.size());
    for (size_t i = 0; i < m_picks.size(); ++i)
    {
        m_data.push_back(m_store.Get(m_picks[i], m_scratch, m_sequences[i]));
        AddKey(slot, *m_data.back(), m_sequences[i]);
    }
    slot.log += m_store.TakeLog();

    size_t first = m_streams.size(); // the first wanted stream
    for (size_t stream = 0; stream < m_streams.size(); ++stream)
    {
        if (!m_wanted[stream])
        {
            slot.Clear(stream);
            continue;
        }
        m_lengths.clear();
        for (size_t i = 0; i < m_picks.size(); ++i)
            m_lengths.push_back(uint32_t(m_data[i]->streams[stream].SamplesOf(m_sequences[i])));
        const bool isShared = first < m_streams.size() && m_lengths == m_firstLengths;
        MBLayoutPtr& layout = isShared ? slot.layouts[first] : slot.layouts[stream];
        m_packing.Pack(m_lengths);
        if (!isShared)
            m_packing.Fill(*layout, m_lengths);
        if (first == m_streams.size())
        {
            first = stream;
            m_firstLengths = m_lengths;
        }
        m_pieces.clear();
        for (size_t i = 0; i < m_picks.size(); ++i)
        {
            const SequencePacking::Place& place = m_packing.Places()[i];
            m_pieces.push_back({m_data[i].get(), m_sequences[i], 0, m_lengths[i], place.row, place.begin});
        }
        slot.streams[stream].layout = layout;
        FillStream(slot, stream, m_packing.Rows(), m_packing.TimeSteps());
    }
    m_data.clear(); // releases the chunks
    return true;
}

// Puts the next sequence of the epoch into the row; false if there is none.
template <class ElemType>
bool CtfReader<ElemType>::Refill(Row& row)
{
    row = {};
    do
    {
        if (!m_order.Next(m_picks))
            return false;
    } while (m_picks.empty()); // another worker's
    auto scratch = std::make_shared<CtfData<ElemType>>();
    scratch->Clear(m_streams.size());
    row.data = m_store.Get(m_picks[0], scratch, row.sequence);
    const auto lengthOf = [&](size_t stream) { return row.data->streams[stream].SamplesOf(row.sequence); };
    const size_t first = size_t(std::find(m_wanted.begin(), m_wanted.end(), true) - m_wanted.begin());
    row.length = lengthOf(first);
    for (size_t stream = first + 1; stream < m_streams.size(); ++stream)
    {
        if (m_wanted[stream] && lengthOf(stream) != row.length)
            Fail(ErrorKind::Data, m_config.reader.file, ": sequence ", row.data->ids[row.sequence], " has ",
                 Counted(row.length, "sample"), " of stream '", m_config.streams[first].alias, "' and ",
                 lengthOf(stream), " of stream '", m_config.streams[stream].alias,
                 "'; expected the same number, since truncated=true cuts them together");
    }
    return true;
}

template <class ElemType>
bool CtfReader<ElemType>::FillTruncated(Slot& slot)
{
    slot.Prepare(m_streams.size());
    slot.keys.clear();
    m_pieces.clear();
    m_data.clear();
    size_t timeSteps = 0;
    for (size_t r = 0; r < m_rows.size(); ++r)
    {
        Row& row = m_rows[r];
        size_t time = 0;
        while (time < m_timeSteps && (row.cursor < row.length || Refill(row)))
        {
            const size_t count = std::min(m_timeSteps - time, row.length - row.cursor);
            m_pieces.push_back({row.data.get(), row.sequence, row.cursor, count, r, time});
            m_data.push_back(row.data); // the row may continue with another sequence
            row.cursor += count;
            time += count;
        }
        timeSteps = std::max(timeSteps, time);
    }
    slot.log += m_store.TakeLog();
    if (timeSteps == 0)
        return false;
    const auto isCut = [](const Row& row) { return row.cursor < row.length; };
    const bool hasPiecesBetween =
        m_pieces.back().row > m_pieces.front().row && std::any_of(m_rows.begin(), m_rows.end(), isCut);
    if (m_config.forWriting && hasPiecesBetween && !std::exchange(m_hasWarnedOfPieces, true))
        slot.log += Concat("WARNING: ", c_readerName, ": with truncated=true and ", m_rows.size(),
                           "parallel sequences, pieces of sequences alternate in the output; truncated=false writes "
                           "whole sequences, one after another\n");
    const size_t first = size_t(std::find(m_wanted.begin(), m_wanted.end(), true) - m_wanted.begin());
    MBLayout& layout = *slot.layouts[first];
    layout.Init(m_rows.size(), timeSteps);
    for (size_t i = 0; i < m_pieces.size(); ++i)
    {
        const Piece& piece = m_pieces[i];
        const ptrdiff_t begin = ptrdiff_t(piece.time) - ptrdiff_t(piece.first);
        const size_t length = piece.data->streams[first].SamplesOf(piece.sequence);
        layout.AddSequence(i, piece.row, begin, begin + ptrdiff_t(length));
        AddKey(slot, *piece.data, piece.sequence);
        const bool isLastOfRow = i + 1 == m_pieces.size() || m_pieces[i + 1].row != piece.row;
        if (isLastOfRow)
            layout.AddGap(piece.row, ptrdiff_t(piece.time + piece.count), ptrdiff_t(timeSteps));
    }
    for (size_t r = 0; r < m_rows.size(); ++r)
    {
        const auto isInRow = [&](const Piece& piece) { return piece.row == r; };
        if (std::none_of(m_pieces.begin(), m_pieces.end(), isInRow))
            layout.AddGap(r, 0, ptrdiff_t(timeSteps));
    }
    for (size_t stream = 0; stream < m_streams.size(); ++stream)
    {
        if (!m_wanted[stream])
        {
            slot.Clear(stream);
            continue;
        }
        slot.streams[stream].layout = slot.layouts[first];
        FillStream(slot, stream, m_rows.size(), timeSteps);
    }
    m_data.clear();
    return true;
}

template <class ElemType>
void CtfReader<ElemType>::FillStream(Slot& slot, size_t stream, size_t rows, size_t timeSteps)
{
    StreamBatch<ElemType>& batch = slot.streams[stream];
    RequireColumns(rows * timeSteps, "samples");
    batch.rows = m_streams[stream].rows;
    batch.columns = rows * timeSteps;
    batch.sparse = m_streams[stream].sparse;
    if (batch.sparse)
        FillSparse(batch, stream, rows);
    else
        FillDense(batch, stream, rows);
}

template <class ElemType>
void CtfReader<ElemType>::FillDense(StreamBatch<ElemType>& batch, size_t stream, size_t rows) const
{
    const size_t dim = batch.rows;
    if (batch.layout->HasGaps())
        batch.values.assign(batch.columns * dim, ElemType(0));
    else
        batch.values.resize(batch.columns * dim);
    for (const Piece& piece : m_pieces)
    {
        const auto& data = piece.data->streams[stream];
        const ElemType* source = data.values.data() + (data.sequenceStarts[piece.sequence] + piece.first) * dim;
        ElemType* target = batch.values.data() + (piece.time * rows + piece.row) * dim;
        for (size_t i = 0; i < piece.count; ++i)
        {
            std::memcpy(target, source, dim * sizeof(ElemType));
            source += dim;
            target += rows * dim;
        }
    }
}

template <class ElemType>
void CtfReader<ElemType>::FillSparse(StreamBatch<ElemType>& batch, size_t stream, size_t rows) const
{
    // Counts the values of each column, then computes their places, then copies the values.
    batch.columnStarts.assign(batch.columns + 1, 0);
    const auto forEachSample = [&](auto&& body)
    {
        for (const Piece& piece : m_pieces)
        {
            const auto& data = piece.data->streams[stream];
            const size_t* starts = data.sampleStarts.data() + data.sequenceStarts[piece.sequence] + piece.first;
            size_t column = piece.time * rows + piece.row;
            for (size_t i = 0; i < piece.count; ++i, column += rows)
                body(data, starts[i], starts[i + 1] - starts[i], column);
        }
    };
    size_t total = 0;
    forEachSample(
        [&](const auto&, size_t, size_t count, size_t column)
        {
            batch.columnStarts[column + 1] = int32_t(count);
            total += count;
        });
    if (total > INT32_MAX)
        Fail(ErrorKind::Config, "minibatchSize: a minibatch with ", Counted(total, "value"), " of stream '",
             m_config.streams[stream].alias, "' is too large; at most ", INT32_MAX, " values can be in one");
    for (size_t column = 0; column < batch.columns; ++column)
        batch.columnStarts[column + 1] += batch.columnStarts[column];
    batch.values.resize(total);
    batch.rowIndices.resize(total);
    forEachSample(
        [&](const auto& data, size_t first, size_t count, size_t column)
        {
            const size_t target = size_t(batch.columnStarts[column]);
            std::copy_n(data.values.data() + first, count, batch.values.data() + target);
            std::copy_n(data.rowIndices.data() + first, count, batch.rowIndices.data() + target);
        });
}

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeCtfReader(const ReaderContext& context)
{
    return std::make_unique<CtfReader<ElemType>>(context);
}

template class CtfReader<float>;
template class CtfReader<double>;
template std::unique_ptr<IDataReader<float>> MakeCtfReader<float>(const ReaderContext&);
template std::unique_ptr<IDataReader<double>> MakeCtfReader<double>(const ReaderContext&);

} // namespace cntk
