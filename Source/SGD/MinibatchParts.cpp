// Rows of parallel sequences and their columns.
#include "SGD/MinibatchParts.h"

#include "Common/Error.h"

namespace cntk
{

PartRows RowsOfPart(size_t parallelSequences, size_t part, size_t parts)
{
    const size_t first = parallelSequences * part / parts;
    return {first, parallelSequences * (part + 1) / parts - first};
}

namespace
{

void TakeLayout(const MBLayout& whole, const PartRows& rows, size_t mostSequences, MBLayout& target)
{
    if (whole.IsFrameMode())
        return target.InitAsFrameMode(rows.count);
    target.Init(rows.count, whole.TimeSteps());
    for (const SequenceInfo& sequence : whole.Sequences())
    {
        if (sequence.row < rows.first || sequence.row >= rows.first + rows.count)
            continue;
        const size_t row = sequence.row - rows.first;
        if (sequence.id == SequenceInfo::c_gap)
        {
            target.AddGap(row, sequence.begin, sequence.end);
            continue;
        }
        const bool isTruncated = sequence.begin < 0 || sequence.end > ptrdiff_t(whole.TimeSteps());
        if (isTruncated && whole.ParallelSequences() != mostSequences)
            Fail(ErrorKind::Config,
                 "numSubminibatches and maxSamplesInRAM need equally many parallel sequences in all "
                 "streams when the reader truncates them; there are ",
                 mostSequences, " and ", whole.ParallelSequences());
        target.AddSequence(sequence.id, row, sequence.begin, sequence.end);
    }
}

template <class ElemType>
size_t SequencesOf(const StreamBatch<ElemType>& stream)
{
    return stream.layout ? stream.layout->ParallelSequences() : stream.columns;
}

// Columns first .. first + count of the whole go behind those of the target.
template <class ElemType>
void AppendColumns(const StreamBatch<ElemType>& whole, size_t first, size_t count, StreamBatch<ElemType>& target)
{
    target.columns += count;
    const auto values = whole.values.begin();
    if (!whole.sparse)
    {
        target.values.insert(target.values.end(), values + ptrdiff_t(first * whole.rows),
                             values + ptrdiff_t((first + count) * whole.rows));
        return;
    }
    const auto begin = whole.columnStarts[first], end = whole.columnStarts[first + count];
    const auto shift = int32_t(target.values.size()) - begin;
    for (size_t column = first; column < first + count; ++column)
        target.columnStarts.push_back(whole.columnStarts[column + 1] + shift);
    target.values.insert(target.values.end(), values + begin, values + end);
    target.rowIndices.insert(target.rowIndices.end(), whole.rowIndices.begin() + begin, whole.rowIndices.begin() + end);
}

template <class ElemType>
void TakeStream(const StreamBatch<ElemType>& whole, size_t part, size_t parts, size_t mostSequences,
                StreamBatch<ElemType>& target)
{
    target.rows = whole.rows;
    target.columns = 0;
    target.sparse = whole.sparse;
    target.values.clear();
    target.rowIndices.clear();
    target.columnStarts.assign(whole.sparse ? 1 : 0, 0);
    const size_t sequences = SequencesOf(whole);
    const size_t steps = whole.layout ? whole.layout->TimeSteps() : 1;
    const PartRows rows = RowsOfPart(sequences, part, parts);
    for (size_t time = 0; time < steps && whole.columns > 0; ++time)
        AppendColumns(whole, time * sequences + rows.first, rows.count, target);
    if (!whole.layout)
    {
        target.layout = nullptr;
        return;
    }
    if (!target.layout)
        target.layout = std::make_shared<MBLayout>();
    TakeLayout(*whole.layout, rows, mostSequences, *target.layout);
}

} // namespace

size_t PartCount(const PartSettings& settings, size_t columns, size_t parallelSequences)
{
    const size_t byColumns = (columns + settings.maxColumns - 1) / settings.maxColumns;
    const size_t wanted = settings.maxColumns >= columns ? settings.parts : std::max(settings.parts, byColumns);
    return std::clamp<size_t>(wanted, 1, std::max<size_t>(1, parallelSequences));
}

template <class ElemType>
size_t ParallelSequencesOf(const HostMinibatch<ElemType>& minibatch)
{
    size_t most = 0;
    for (const StreamBatch<ElemType>& stream : minibatch.streams)
        most = std::max(most, SequencesOf(stream));
    return most;
}

template size_t ParallelSequencesOf(const HostMinibatch<float>&);
template size_t ParallelSequencesOf(const HostMinibatch<double>&);

template <class ElemType>
void TakePart(const HostMinibatch<ElemType>& whole, size_t part, size_t parts, HostMinibatch<ElemType>& target)
{
    target.streams.resize(whole.streams.size());
    const size_t mostSequences = ParallelSequencesOf(whole);
    for (size_t i = 0; i < whole.streams.size(); ++i)
        TakeStream(whole.streams[i], part, parts, mostSequences, target.streams[i]);
}

template void TakePart(const HostMinibatch<float>&, size_t, size_t, HostMinibatch<float>&);
template void TakePart(const HostMinibatch<double>&, size_t, size_t, HostMinibatch<double>&);

} // namespace cntk
