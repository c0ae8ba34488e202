// Packing of samples and sequences into the engine's minibatches, and the way back.
#include "Api/Data.h"

#include "Common/Error.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>

namespace cntk::Api
{

namespace
{

template <class From, class To>
void CopyElements(const From* from, size_t count, To* to)
{
    constexpr size_t c_block = 16; // compilers vectorize a loop of fixed length
    size_t done = 0;
    if constexpr (!std::is_same_v<From, To>)
        for (; done + c_block <= count; done += c_block)
            for (size_t i = 0; i < c_block; i++)
                to[done + i] = To(from[done + i]);
    std::copy_n(from + done, count - done, to + done);
}

// Copies the steps of a block to columns that lie `stride` elements apart.
template <class From, class To>
void CopySteps(const From* from, const BlockForm& form, size_t steps, size_t rows, To* to, size_t stride)
{
    if (form.element == 1)
    {
        if (size_t(form.step) == rows && stride == rows)
            return CopyElements(from, steps * rows, to);
        for (size_t step = 0; step < steps; step++, from += form.step, to += stride)
            CopyElements(from, rows, to);
        return;
    }
    constexpr size_t c_tile = 16; // steps, whose elements are neighbours in Fortran's order
    for (size_t first = 0; first < steps; first += c_tile)
        for (size_t row = 0; row < rows; row++)
        {
            const From* element = from + ptrdiff_t(first) * form.step + ptrdiff_t(row) * form.element;
            for (size_t step = first; step < std::min(first + c_tile, steps); step++, element += form.step)
                to[step * stride + row] = To(*element);
        }
}

template <class ElemType>
void CopyBlock(const InputData& data, size_t block, size_t steps, size_t rows, ElemType* to, size_t stride)
{
    const BlockForm form = data.forms.empty() ? BlockForm{data.type, ptrdiff_t(rows), 1} : data.forms[block];
    VisitType(form.type, [&](auto tag)
              { CopySteps(static_cast<const decltype(tag)*>(data.blocks[block]), form, steps, rows, to, stride); });
}

// Clears the columns after the last sequence of each row of the packing.
template <class ElemType>
void ClearGaps(const InputData& data, const SequencePacking& packing, size_t rows, ElemType* target)
{
    std::vector<size_t> used(packing.Rows());
    for (size_t sequence = 0; sequence < data.count; sequence++)
    {
        const SequencePacking::Place place = packing.Places()[sequence];
        used[place.row] = std::max(used[place.row], size_t(place.begin) + data.lengths[sequence]);
    }
    for (size_t row = 0; row < used.size(); row++)
        for (size_t step = used[row]; step < packing.TimeSteps(); step++)
            std::fill_n(target + (step * packing.Rows() + row) * rows, rows, ElemType(0));
}

} // namespace

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
ElemType* InputFeeder::Buffer(size_t elements)
{
    if (m_values.size() < elements * sizeof(ElemType))
        m_values.resize(elements * sizeof(ElemType));
    return reinterpret_cast<ElemType*>(m_values.data());
}

template <class ElemType>
void InputFeeder::FeedDense(InputValueNode& node, const InputData& data, const SequencePacking& packing)
{
    const size_t rows = node.SampleElements();
    if (data.IsFrames() && data.forms.empty())
        return FeedColumns(node, data, data.count);
    const size_t columns = data.IsFrames() ? data.count : packing.Columns();
    ElemType* const target = Buffer<ElemType>(columns * rows);
    if (data.IsFrames())
        CopyBlock(data, 0, columns, rows, target, rows);
    else
    {
        if (data.Samples() != columns)
            ClearGaps(data, packing, rows, target);
        for (size_t sequence = 0; sequence < data.count; sequence++)
        {
            const SequencePacking::Place place = packing.Places()[sequence];
            CopyBlock(data, sequence, data.lengths[sequence], rows,
                      target + (place.begin * packing.Rows() + place.row) * rows, packing.Rows() * rows);
        }
    }
    node.ReferToDense(target, rows, columns);
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
