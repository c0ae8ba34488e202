// Epochs of single records with sparse streams.
#include "Readers/ReaderLib/SparseRecordReader.h"

#include "Common/Error.h"
#include "Common/Log.h"

#include <algorithm>
#include <numeric>

namespace cntk
{
namespace
{

constexpr size_t c_smallFileBytes = 1 << 20; // prefetching does not pay

} // namespace

template <class ElemType>
SparseRecordReader<ElemType>::SparseRecordReader(std::unique_ptr<ISparseRecordSource<ElemType>> source,
                                                 SparseRecordOptions options, Log& log)
    : m_source(std::move(source)), m_options(std::move(options)), m_walk(*m_source, m_options.walk), m_pipe(log)
{
}

template <class ElemType>
void SparseRecordReader<ElemType>::StartEpoch(const EpochRequest& request)
{
    m_pipe.Stop();
    m_wanted = ChooseStreams(m_options.readerName, m_source->Streams(), request.wanted);
    EpochRequest ours = request;
    if (m_options.minibatchSize > 0)
        ours.minibatchSize = m_options.minibatchSize;
    ours.minibatchSize = std::max(ours.minibatchSize / m_options.groupSize, size_t(1)) * m_options.groupSize;
    m_walk.Start(ours);
    m_pipe.Start([this](Slot& slot) { return Fill(slot); }, m_source->FileBytes() > c_smallFileBytes);
}

template <class ElemType>
bool SparseRecordReader<ElemType>::GetMinibatch(HostMinibatch<ElemType>& minibatch)
{
    return m_pipe.Next(minibatch);
}

template <class ElemType>
size_t SparseRecordReader<ElemType>::TotalSamples()
{
    std::lock_guard lock(m_sourceMutex);
    return m_source->Extend(SIZE_MAX);
}

// Runs in the prefetch thread or in the caller's.
template <class ElemType>
bool SparseRecordReader<ElemType>::Fill(Slot& slot)
{
    std::lock_guard lock(m_sourceMutex);
    if (!m_walk.Next(m_records, slot.log))
        return false;
    if (m_options.repeatsFirst)
        std::iota(m_records.begin(), m_records.end(), size_t(0));
    slot.Prepare(m_source->Streams().size());
    slot.keys.clear();
    BeginBatches(slot);
    for (const size_t record : m_records)
    {
        m_source->Append(record, m_wanted, slot.streams);
        EndColumn(slot);
    }
    return true;
}

template <class ElemType>
void SparseRecordReader<ElemType>::BeginBatches(Slot& slot) const
{
    slot.layouts[0]->InitAsFrameMode(m_records.size());
    for (size_t i = 0; i < slot.streams.size(); ++i)
    {
        slot.Clear(i);
        if (!m_wanted[i])
            continue;
        StreamBatch<ElemType>& batch = slot.streams[i];
        batch.rows = m_source->Streams()[i].rows;
        batch.columns = m_records.size();
        batch.sparse = m_source->Streams()[i].sparse;
        batch.layout = slot.layouts[0];
        if (batch.sparse)
            batch.columnStarts.push_back(0);
    }
}

template <class ElemType>
void SparseRecordReader<ElemType>::EndColumn(Slot& slot) const
{
    for (size_t i = 0; i < slot.streams.size(); ++i)
    {
        StreamBatch<ElemType>& batch = slot.streams[i];
        if (!m_wanted[i] || !batch.sparse)
            continue;
        if (batch.values.size() > INT32_MAX)
            Fail(ErrorKind::Config, "minibatchSize: the values of stream '", m_source->Streams()[i].name,
                 "' in one minibatch are more than the ", INT32_MAX, " that can be in one");
        batch.columnStarts.push_back(int32_t(batch.values.size()));
    }
}

template class SparseRecordReader<float>;
template class SparseRecordReader<double>;

} // namespace cntk
