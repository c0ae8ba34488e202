#include "SGD/Parallel/QuantizedSum.h"

#include "Common/Error.h"

#include <algorithm>

namespace cntk
{

template <class ElemType>
QuantizedSum<ElemType>::QuantizedSum(Workers& workers, QuantizerSettings settings, std::vector<Shape> shapes)
    : m_workers(workers), m_quantizer(settings), m_shapes(std::move(shapes)), m_sent(workers.Count()),
      m_received(workers.Count())
{
    size_t elements = 0;
    for (const Shape& shape : m_shapes)
        elements += shape.rows * shape.columns;
    m_lost.resize(elements);
    m_sumLost.resize(elements);
    m_sum.resize(BytesOfStripes(workers.Rank()));
    for (size_t i = 0; i < workers.Count(); ++i)
    {
        m_sent[i].resize(BytesOfStripes(i));
        m_received[i].resize(std::max(BytesOfStripes(i), m_sum.size())); // first of own stripes, then of theirs
    }
}

template <class ElemType>
template <class Visit>
void QuantizedSum<ElemType>::VisitStripes(size_t rank, const Visit& visit) const
{
    size_t begin = 0;
    for (const Shape& shape : m_shapes)
    {
        const Stripe stripe = StripeOf(shape.columns, rank, m_workers.Count());
        visit(begin + stripe.first * shape.rows, shape.rows, stripe.count);
        begin += shape.rows * shape.columns;
    }
}

template <class ElemType>
size_t QuantizedSum<ElemType>::BytesOfStripes(size_t rank) const
{
    size_t bytes = 0;
    VisitStripes(rank, [&](size_t, size_t rows, size_t columns) { bytes += m_quantizer.BytesOf(rows, columns); });
    return bytes;
}

template <class ElemType>
void QuantizedSum<ElemType>::Reset()
{
    std::fill(m_lost.begin(), m_lost.end(), ElemType(0));
    std::fill(m_sumLost.begin(), m_sumLost.end(), ElemType(0));
}

template <class ElemType>
void QuantizedSum<ElemType>::QuantizeFor(size_t rank, std::span<ElemType> values)
{
    std::span<std::byte> target(m_sent[rank]);
    VisitStripes(rank,
                 [&](size_t first, size_t rows, size_t columns)
                 {
                     const size_t bytes = m_quantizer.BytesOf(rows, columns);
                     m_quantizer.Quantize(values.subspan(first, rows * columns),
                                          std::span(m_lost).subspan(first, rows * columns), rows, target.first(bytes));
                     target = target.subspan(bytes);
                 });
}

// Of own stripes what all workers have sent, in the order of ranks; then what all get of it.
template <class ElemType>
void QuantizedSum<ElemType>::SumOwn(std::span<ElemType> values)
{
    size_t at = 0;
    VisitStripes(m_workers.Rank(),
                 [&](size_t first, size_t rows, size_t columns)
                 {
                     const size_t bytes = m_quantizer.BytesOf(rows, columns);
                     const std::span<ElemType> sum = values.subspan(first, rows * columns);
                     for (size_t i = 0; i < m_workers.Count(); ++i)
                     {
                         const auto& source = i == m_workers.Rank() ? m_sent[i] : m_received[i];
                         m_quantizer.Dequantize(std::span(source).subspan(at, bytes), rows, sum, i > 0);
                     }
                     m_quantizer.Quantize(sum, std::span(m_sumLost).subspan(first, rows * columns), rows,
                                          std::span(m_sum).subspan(at, bytes));
                     at += bytes;
                 });
}

template <class ElemType>
void QuantizedSum<ElemType>::Sum(std::span<ElemType> values)
{
    CNTK_ASSERT(values.size() == m_lost.size());
    const size_t count = m_workers.Count(), rank = m_workers.Rank();
    std::vector<std::span<const std::byte>> sent(count);
    std::vector<std::span<std::byte>> received(count);
    for (size_t i = 0; i < count; ++i)
    {
        QuantizeFor(i, values);
        sent[i] = m_sent[i];
        received[i] = std::span(m_received[i]).first(m_sum.size());
    }
    m_workers.Exchange(sent, received);
    SumOwn(values);
    for (size_t i = 0; i < count; ++i)
    {
        sent[i] = m_sum;
        received[i] = std::span(m_received[i]).first(m_sent[i].size());
    }
    m_workers.Exchange(sent, received);
    for (size_t i = 0; i < count; ++i)
    {
        std::span<const std::byte> source = i == rank ? std::span<const std::byte>(m_sum) : received[i];
        VisitStripes(i,
                     [&](size_t first, size_t rows, size_t columns)
                     {
                         const size_t bytes = m_quantizer.BytesOf(rows, columns);
                         m_quantizer.Dequantize(source.first(bytes), rows, values.subspan(first, rows * columns),
                                                false);
                         source = source.subspan(bytes);
                     });
    }
}

template class QuantizedSum<float>;
template class QuantizedSum<double>;

} // namespace cntk
