// Columns of minibatches.
#include "Common/Error.h"
#include "Readers/HTKMLFReader/HtkBatches.h"
#include "Readers/ReaderLib/VectorCopy.h"

#include <algorithm>
#include <numeric>

namespace cntk
{
namespace
{

constexpr int32_t c_noClass = -1; // marks a gap until Finish

} // namespace

template <class ElemType>
void HtkColumns<ElemType>::Prepare(MinibatchSlot<ElemType>& slot, size_t columns, bool hasGaps)
{
    RequireColumns(columns, "frames");
    const size_t features = m_corpus.Features().size();
    slot.Prepare(m_wanted.size());
    for (size_t i = 0; i < m_wanted.size(); ++i)
    {
        StreamBatch<ElemType>& batch = slot.streams[i];
        const HtkLabelStream* const labels = i < features ? nullptr : &m_corpus.Labels()[i - features];
        const size_t used = m_wanted[i] ? columns : 0;
        batch.columns = used;
        batch.rows = !m_wanted[i] ? 0 : labels != nullptr ? labels->rows : m_corpus.Features()[i]->Rows();
        batch.sparse = labels != nullptr && labels->targets.empty();
        if (batch.sparse)
        {
            batch.rowIndices.assign(used, c_noClass);
            continue;
        }
        batch.values.resize(used * batch.rows);
        if (hasGaps)
            std::fill(batch.values.begin(), batch.values.end(), ElemType(0));
    }
}

template <class ElemType>
void HtkColumns<ElemType>::Copy(MinibatchSlot<ElemType>& slot, const HtkChunkData& chunk, size_t frame,
                                size_t column) const
{
    const size_t features = m_corpus.Features().size();
    for (size_t i = 0; i < slot.streams.size(); ++i)
    {
        if (!m_wanted[i])
            continue;
        StreamBatch<ElemType>& batch = slot.streams[i];
        if (batch.sparse)
        {
            batch.rowIndices[column] = int32_t(chunk.ClassId(i - features, frame));
            continue;
        }
        const float* const source = i < features ? chunk.Window(i, frame)
                                                 : m_corpus.Labels()[i - features].targets.data() +
                                                       chunk.ClassId(i - features, frame) * batch.rows;
        CopyVector(source, batch.rows, batch.values.data() + column * batch.rows, source);
    }
}

template <class ElemType>
void HtkColumns<ElemType>::Copy(MinibatchSlot<ElemType>& slot, const std::vector<Frame>& frames)
{
    const size_t features = m_corpus.Features().size();
    const size_t columns = frames.size();
    m_sources.resize(columns);
    for (size_t i = 0; i < slot.streams.size(); ++i)
    {
        if (!m_wanted[i])
            continue;
        StreamBatch<ElemType>& batch = slot.streams[i];
        if (batch.sparse)
        {
            for (size_t column = 0; column < columns; ++column)
                batch.rowIndices[column] = int32_t(frames[column].chunk->ClassId(i - features, frames[column].frame));
            continue;
        }
        // Does all look-ups first, since they do not wait for each other.
        for (size_t column = 0; column < columns; ++column)
        {
            const Frame& frame = frames[column];
            m_sources[column] = i < features ? frame.chunk->Window(i, frame.frame)
                                             : m_corpus.Labels()[i - features].targets.data() +
                                                   frame.chunk->ClassId(i - features, frame.frame) * batch.rows;
        }
        for (size_t column = 0; column < columns; ++column)
        {
            const float* const next = m_sources[std::min(column + c_vectorsAhead, columns - 1)];
            CopyVector(m_sources[column], batch.rows, batch.values.data() + column * batch.rows, next);
        }
    }
}

template <class ElemType>
void HtkColumns<ElemType>::Finish(MinibatchSlot<ElemType>& slot) const
{
    for (size_t i = 0; i < slot.streams.size(); ++i)
    {
        StreamBatch<ElemType>& batch = slot.streams[i];
        batch.layout = m_wanted[i] ? slot.layouts[0] : nullptr;
        if (!batch.sparse)
            continue;
        batch.columnStarts.resize(batch.columns + 1);
        int32_t count = 0;
        for (size_t column = 0; column < batch.columns; ++column)
        {
            batch.columnStarts[column] = count;
            if (batch.rowIndices[column] != c_noClass)
                batch.rowIndices[size_t(count++)] = batch.rowIndices[column];
        }
        batch.columnStarts[batch.columns] = count;
        batch.rowIndices.resize(size_t(count));
        batch.values.assign(size_t(count), ElemType(1));
    }
}

template class HtkColumns<float>;
template class HtkColumns<double>;

} // namespace cntk
