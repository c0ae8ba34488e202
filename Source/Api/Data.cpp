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
    if (data.form == InputData::Form::Packed)
        return FeedColumns(node, data, data.layout->Columns());
    if (data.IsFrames() && data.sparse.size() == 1)
        return FeedColumns(node, data, data.count);
    if (!data.sparse.empty())
        return FeedSparse(node, data, packing);
    VisitType(data.type, [&](auto tag) { FeedDense<decltype(tag)>(node, data, packing); });
}

// Columns that are already in the engine's order.
void InputFeeder::FeedColumns(InputValueNode& node, const InputData& data, size_t columns)
{
    const size_t rows = data.rows == 0 ? node.SampleElements() : data.rows;
    VisitType(data.type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  if (data.sparse.empty())
                      return node.ReferToDense(static_cast<const T*>(data.blocks.front()), rows, columns);
                  const SparseRows& sparse = data.sparse.front();
                  node.SetSparse(static_cast<const T*>(sparse.values), sparse.columns, sparse.starts, rows, columns);
              });
}

template <class ElemType>
void InputFeeder::FeedDense(InputValueNode& node, const InputData& data, const SequencePacking& packing)
{
    if (data.IsFrames())
        return FeedColumns(node, data, data.count);
    const size_t rows = node.SampleElements();
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
    std::vector<Sample> samples(packing.Columns());
    for (size_t sequence = 0; sequence < data.count; sequence++)
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
        const size_t begin = size_t(std::max<ptrdiff_t>(sequence.begin, 0));
        const size_t end = std::min(size_t(sequence.end), layout.TimeSteps()); // truncated sequences go on
        places[sequence.id] = {begin * stride + sequence.row, end - begin};
    }
}

} // namespace cntk::Api
