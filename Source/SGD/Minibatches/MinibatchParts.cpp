#include "SGD/Minibatches/MinibatchParts.h"

#include "Common/Error.h"
#include "Common/MBLayout.h"

#include <cstdint>

namespace cntk
{

PartRows RowsOfPart(size_t parallelSequences, size_t part, size_t parts)
{
    const size_t first = parallelSequences * part / parts;
    return {first, parallelSequences * (part + 1) / parts - first};
}

std::vector<SequenceInfo> SequencesById(const MBLayout* layout, size_t columns)
{
    std::vector<SequenceInfo> sequences;
    if (layout == nullptr || layout->IsFrameMode())
        for (size_t i = 0; i < columns; ++i)
            sequences.push_back({i, i, 0, 1});
    else if (columns > 0)
        for (const SequenceInfo& sequence : layout->Sequences())
            if (sequence.id != SequenceInfo::c_gap)
                sequences.push_back(sequence);
    std::sort(sequences.begin(), sequences.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    return sequences;
}

namespace
{

void TakeLayout(const MBLayout& whole, const PartRows& rows, MBLayout& target)
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
            target.AddGap(row, sequence.begin, sequence.end);
        else
            target.AddSequence(sequence.id, row, sequence.begin, sequence.end);
    }
}

template <class ElemType>
size_t SequencesOf(const StreamBatch<ElemType>& stream)
{
    return stream.layout ? stream.layout->ParallelSequences() : stream.columns;
}

// Appends columns first .. first + count of the whole to the target.
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
void Clear(const StreamBatch<ElemType>& whole, StreamBatch<ElemType>& target)
{
    target.rows = whole.rows;
    target.columns = 0;
    target.sparse = whole.sparse;
    target.values.clear();
    target.rowIndices.clear();
    target.columnStarts.assign(whole.sparse ? 1 : 0, 0);
    if (!whole.layout)
        target.layout = nullptr;
    else if (!target.layout)
        target.layout = std::make_shared<MBLayout>();
}

template <class ElemType>
void TakeRows(const StreamBatch<ElemType>& whole, size_t part, size_t parts, StreamBatch<ElemType>& target)
{
    Clear(whole, target);
    const size_t sequences = SequencesOf(whole);
    const size_t steps = whole.layout ? whole.layout->TimeSteps() : 1;
    const PartRows rows = RowsOfPart(sequences, part, parts);
    for (size_t time = 0; time < steps && whole.columns > 0; ++time)
        AppendColumns(whole, time * sequences + rows.first, rows.count, target);
    if (whole.layout)
        TakeLayout(*whole.layout, rows, *target.layout);
}

template <class ElemType>
const StreamBatch<ElemType>& LeadOf(const HostMinibatch<ElemType>& minibatch)
{
    return *std::max_element(minibatch.streams.begin(), minibatch.streams.end(),
                             [](const auto& a, const auto& b) { return a.columns < b.columns; });
}

template <class ElemType>
std::vector<SequenceInfo> SequencesOfStream(const StreamBatch<ElemType>& stream)
{
    return SequencesById(stream.layout.get(), stream.columns);
}

// Copies the sequences at these indices of SequencesById and packs them again.
template <class ElemType>
void TakeSequences(const StreamBatch<ElemType>& whole, const std::vector<size_t>& numbers,
                   StreamBatch<ElemType>& target)
{
    Clear(whole, target);
    const std::vector<SequenceInfo> sequences = SequencesOfStream(whole);
    std::vector<uint32_t> lengths;
    for (const size_t number : numbers)
        lengths.push_back(uint32_t(sequences[number].end - sequences[number].begin));
    SequencePacking packing;
    packing.Pack(lengths);
    constexpr size_t c_gap = SIZE_MAX;
    std::vector<size_t> sources(packing.Columns(), c_gap);
    for (size_t i = 0; i < numbers.size(); ++i)
    {
        const SequenceInfo& sequence = sequences[numbers[i]];
        const SequencePacking::Place& place = packing.Places()[i];
        for (size_t time = 0; time < lengths[i]; ++time)
            sources[(place.begin + time) * packing.Rows() + place.row] =
                (size_t(sequence.begin) + time) * SequencesOf(whole) + sequence.row;
    }
    for (const size_t source : sources)
    {
        if (source != c_gap)
        {
            AppendColumns(whole, source, 1, target);
            continue;
        }
        ++target.columns;
        if (whole.sparse)
            target.columnStarts.push_back(target.columnStarts.back());
        else
            target.values.resize(target.values.size() + whole.rows);
    }
    if (whole.layout)
        packing.Fill(*target.layout, lengths);
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
    return SequencesOf(LeadOf(minibatch));
}

template <class ElemType>
bool HasCutSequences(const HostMinibatch<ElemType>& minibatch)
{
    for (const StreamBatch<ElemType>& stream : minibatch.streams)
        if (stream.columns > 0 && stream.layout && !stream.layout->IsFrameMode())
            for (const SequenceInfo& sequence : stream.layout->Sequences())
                if (sequence.begin < 0 || sequence.end > ptrdiff_t(stream.layout->TimeSteps()))
                    return true;
    return false;
}

template bool HasCutSequences(const HostMinibatch<float>&);
template bool HasCutSequences(const HostMinibatch<double>&);

template size_t ParallelSequencesOf(const HostMinibatch<float>&);
template size_t ParallelSequencesOf(const HostMinibatch<double>&);

template <class ElemType>
void TakePart(const HostMinibatch<ElemType>& whole, size_t part, size_t parts, Axes axes,
              HostMinibatch<ElemType>& target)
{
    target.streams.resize(whole.streams.size());
    const StreamBatch<ElemType>& lead = LeadOf(whole);
    const size_t count = SequencesOfStream(lead).size();
    const auto isTable = [&](const StreamBatch<ElemType>& stream)
    { return count > 1 && SequencesOfStream(stream).size() == 1; };
    const bool isCut = HasCutSequences(whole);
    if (isCut)
        for (const StreamBatch<ElemType>& stream : whole.streams)
            if (stream.columns > 0 && !isTable(stream) && SequencesOf(stream) != SequencesOf(lead))
                Fail(ErrorKind::Config,
                     "numSubminibatches and maxSamplesInRAM need equally many parallel sequences in all "
                     "streams when the reader truncates them; there are ",
                     SequencesOf(lead), " and ", SequencesOf(stream));
    const bool isByRows = isCut || axes == Axes::One;
    std::vector<size_t> numbers;
    if (!isByRows)
    {
        const PartRows rows = RowsOfPart(SequencesOf(lead), part, parts);
        const std::vector<SequenceInfo> sequences = SequencesOfStream(lead);
        for (size_t i = 0; i < sequences.size(); ++i)
            if (sequences[i].row >= rows.first && sequences[i].row < rows.first + rows.count)
                numbers.push_back(i);
    }
    for (size_t i = 0; i < whole.streams.size(); ++i)
    {
        const StreamBatch<ElemType>& stream = whole.streams[i];
        if (isByRows || isTable(stream) || stream.columns == 0)
            TakeRows(stream, part, parts, target.streams[i]);
        else if (SequencesOfStream(stream).size() == count)
            TakeSequences(stream, numbers, target.streams[i]);
        else
            Fail(ErrorKind::Config,
                 "numSubminibatches and maxSamplesInRAM need the same sequences in all streams; in "
                 "one minibatch one of them has ",
                 SequencesOfStream(stream).size(), ", another ", count);
    }
    target.lattices = whole.lattices;
    if (!isByRows && !whole.lattices.empty()) // sequences have new ids
    {
        target.lattices.clear();
        const std::vector<SequenceInfo> sequences = SequencesOfStream(lead);
        for (const size_t number : numbers)
            target.lattices.push_back(whole.lattices[sequences[number].id]);
    }
}

template void TakePart(const HostMinibatch<float>&, size_t, size_t, Axes, HostMinibatch<float>&);
template void TakePart(const HostMinibatch<double>&, size_t, size_t, Axes, HostMinibatch<double>&);

} // namespace cntk
