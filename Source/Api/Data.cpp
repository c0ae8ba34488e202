// Packing of samples and sequences into the engine's minibatches, and the way back.
#include "Api/Data.h"

#include "Common/Error.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace cntk::Api
{

size_t InputData::Samples() const
{
    return IsFrames() ? count : std::accumulate(lengths.begin(), lengths.end(), size_t(0));
}

void InputFeeder::Feed(InputValueNode& node, const InputData& data, const SequencePacking& packing)
{
    if (!data.sparse.empty())
        return FeedSparse(node, data, packing);
    VisitType(data.type, [&](auto tag) { FeedDense<decltype(tag)>(node, data, packing); });
}

template <class ElemType>
void InputFeeder::FeedDense(InputValueNode& node, const InputData& data, const SequencePacking& packing)
{
    const size_t rows = node.SampleElements();
    if (data.IsFrames())
        return node.ReferToDense(static_cast<const ElemType*>(data.blocks.front()), rows, data.count);
    const size_t bytes = rows * sizeof(ElemType), columns = packing.Columns();
    m_values.resize(columns * bytes);
    if (data.Samples() != columns) // gaps
        std::memset(m_values.data(), 0, m_values.size());
    for (size_t sequence = 0; sequence < data.count; sequence++)
    {
        const SequencePacking::Place place = packing.Places()[sequence];
        const std::byte* const block = static_cast<const std::byte*>(data.blocks[sequence]);
        for (size_t step = 0; step < data.lengths[sequence]; step++)
            std::memcpy(m_values.data() + ((place.begin + step) * packing.Rows() + place.row) * bytes,
                        block + step * bytes, bytes);
    }
    node.ReferToDense(reinterpret_cast<const ElemType*>(m_values.data()), rows, columns);
}

void InputFeeder::FeedSparse(InputValueNode& node, const InputData& data, const SequencePacking& packing)
{
    // The sample of each column; gaps have none.
    struct Sample
    {
        const SparseRows* block = nullptr;
        size_t row = 0;
    };
    std::vector<Sample> samples(data.IsFrames() ? data.count : packing.Columns());
    for (size_t sequence = 0; sequence < data.count; sequence++)
        if (data.IsFrames())
            samples[sequence] = {&data.sparse.front(), sequence};
        else
            for (size_t step = 0; step < data.lengths[sequence]; step++)
            {
                const SequencePacking::Place place = packing.Places()[sequence];
                samples[(place.begin + step) * packing.Rows() + place.row] = {&data.sparse[sequence], step};
            }
    const size_t size = SizeOf(data.type);
    m_values.clear();
    m_rows.clear();
    m_starts.assign(1, 0);
    for (const Sample& sample : samples)
    {
        if (sample.block != nullptr)
        {
            const size_t first = size_t(sample.block->starts[sample.row]);
            const size_t end = size_t(sample.block->starts[sample.row + 1]);
            const std::byte* const values = static_cast<const std::byte*>(sample.block->values);
            m_values.insert(m_values.end(), values + first * size, values + end * size);
            m_rows.insert(m_rows.end(), sample.block->columns + first, sample.block->columns + end);
        }
        m_starts.push_back(int32_t(m_rows.size()));
    }
    VisitType(data.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  node.SetSparse(reinterpret_cast<const T*>(m_values.data()), m_rows.data(), m_starts.data(),
                                 node.SampleElements(), samples.size());
              });
}

SequencePlaces::SequencePlaces(const MBLayout& layout)
{
    if (layout.IsFrameMode())
    {
        for (size_t column = 0; column < layout.Columns(); column++)
            places.push_back({column, 1});
        return;
    }
    stride = layout.ParallelSequences();
    for (const SequenceInfo& sequence : layout.Sequences())
    {
        if (sequence.id == SequenceInfo::c_gap)
            continue;
        if (places.size() <= sequence.id)
            places.resize(sequence.id + 1);
        places[sequence.id] = {size_t(sequence.begin) * stride + sequence.row, size_t(sequence.end - sequence.begin)};
    }
}

} // namespace cntk::Api
