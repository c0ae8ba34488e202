// Quantisation runs several loops over a column while the column is in the cache. The loops visit all parameters in
// each minibatch, so this file has the compiler flags of kernels, and the loops are written for vector instructions.
#include "SGD/Parallel/WorkerSums.h"

#include "Common/Error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <type_traits>

namespace cntk
{

namespace
{

constexpr double c_narrowestRange = 1e-36;
constexpr double c_deviationsInRange = 5; // standard deviations on either side of the mean, for several bits
constexpr size_t c_wordsAtOnce = 16;

template <class ElemType>
using CodeWord = std::conditional_t<sizeof(ElemType) == sizeof(uint32_t), uint32_t, uint64_t>;

template <class ElemType>
struct ColumnRange
{
    ElemType lower;
    ElemType upper;
};

template <class ElemType>
struct OneBitRange
{
    ColumnRange<ElemType> range;
    ElemType threshold; // values of at least this have bit 1
};

// Converts between values and codes of a range. Computes in double, because the width of a float range can overflow.
template <class ElemType>
class CodesOfRange
{
public:
    CodesOfRange(const ColumnRange<ElemType>& range, size_t bits)
        : m_lower(double(range.lower)), m_levels(std::ldexp(1.0, int(bits)))
    {
        const double width = double(range.upper) - m_lower;
        if (width < c_narrowestRange)
            return;
        m_step = width / m_levels;
        m_perStep = m_levels / width;
    }

    // Values outside the range get the nearest code. NaN gets code 0.
    CodeWord<ElemType> CodeOf(ElemType value) const
    {
        const double place = (double(value) - m_lower) * m_perStep;
        const double inRange = place >= 0 ? (place < m_levels ? place : m_levels - 1) : 0;
        return CodeWord<ElemType>(std::make_signed_t<CodeWord<ElemType>>(inRange));
    }
    ElemType ValueOf(CodeWord<ElemType> code) const
    {
        using Signed = std::make_signed_t<CodeWord<ElemType>>; // has a vector instruction for the conversion
        return ElemType(m_lower + (double(Signed(code)) + 0.5) * m_step);
    }

private:
    double m_lower;
    double m_levels;
    double m_step = 0;
    double m_perStep = 0;
};

// Sums term(value) over a column, in as many partial sums as the processor runs additions at once.
template <class ElemType, class Term>
double Sum(std::span<const ElemType> column, Term term)
{
    constexpr size_t c_lanes = 8;
    double sums[c_lanes] = {};
    size_t row = 0;
    for (; row + c_lanes <= column.size(); row += c_lanes)
        for (size_t lane = 0; lane < c_lanes; ++lane)
            sums[lane] += term(double(column[row + lane]));
    for (size_t lane = 0; row < column.size(); ++row, ++lane)
        sums[lane] += term(double(column[row]));
    return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

template <class ElemType>
double Mean(std::span<const ElemType> column)
{
    return Sum(column, [](double value) { return value; }) / double(column.size());
}

// Returns the range whose two codes stand for center -+ distance.
template <class ElemType>
ColumnRange<ElemType> AroundCenter(double center, double distance)
{
    return {ElemType(center - 2 * distance), ElemType(center + 2 * distance)};
}

// Counts NaN as not negative, so that the mean of the others becomes NaN.
template <class ElemType>
OneBitRange<ElemType> RangeByZero(std::span<const ElemType> column)
{
    const double sumOfNegative = Sum(column, [](double value) { return value < 0 ? value : 0; });
    const double sumOfOthers = Sum(column, [](double value) { return value < 0 ? 0 : value; });
    const double negative = Sum(column, [](double value) { return value < 0 ? 1.0 : 0.0; });
    const double others = double(column.size()) - negative;
    const double mean0 = negative > 0 ? sumOfNegative / negative : 0;
    const double mean1 = others > 0 ? sumOfOthers / others : 0;
    const double center = (mean0 + mean1) / 2;
    return {AroundCenter<ElemType>(center, mean1 - center), 0};
}

template <class ElemType>
OneBitRange<ElemType> RangeByMean(std::span<const ElemType> column)
{
    const double mean = Mean(column);
    const double deviations = Sum(column, [mean](double value) { return std::abs(value - mean); });
    return {AroundCenter<ElemType>(mean, deviations / double(column.size())), ElemType(mean)};
}

template <class ElemType>
ColumnRange<ElemType> RangeOfManyBits(std::span<const ElemType> column)
{
    const double mean = Mean(column);
    const double squares = Sum(column, [mean](double value) { return (value - mean) * (value - mean); });
    const double reach = c_deviationsInRange * std::sqrt(squares / double(column.size()));
    return {ElemType(mean - reach), ElemType(mean + reach)};
}

template <class ElemType>
size_t WordsOf(size_t rows, size_t bits)
{
    const size_t codes = 8 * sizeof(ElemType) / bits;
    return (rows + codes - 1) / codes;
}

template <class ElemType>
size_t BytesOfColumn(size_t rows, size_t bits)
{
    return sizeof(ColumnRange<ElemType>) + WordsOf<ElemType>(rows, bits) * sizeof(ElemType);
}

// Packs the codes that encode(row) returns.
template <class ElemType, class Encode>
void Pack(size_t rows, size_t bits, std::byte* target, Encode encode)
{
    using Word = CodeWord<ElemType>;
    const size_t words = WordsOf<ElemType>(rows, bits);
    for (size_t first = 0; first < words; first += c_wordsAtOnce)
    {
        const size_t wordsHere = std::min(c_wordsAtOnce, words - first);
        Word packed[c_wordsAtOnce] = {};
        for (size_t row = first, shift = 0; row < rows; row += words, shift += bits)
        {
            const size_t count = std::min(wordsHere, rows - row);
            for (size_t k = 0; k < count; ++k)
                packed[k] |= encode(row + k) << shift;
        }
        std::memcpy(target + first * sizeof(Word), packed, wordsHere * sizeof(Word));
    }
}

// Calls decode(row, code) for each row.
template <class ElemType, class Decode>
void Unpack(size_t rows, size_t bits, const std::byte* source, Decode decode)
{
    using Word = CodeWord<ElemType>;
    const size_t words = WordsOf<ElemType>(rows, bits);
    const Word mask = (Word(1) << bits) - 1;
    for (size_t first = 0; first < words; first += c_wordsAtOnce)
    {
        const size_t wordsHere = std::min(c_wordsAtOnce, words - first);
        Word packed[c_wordsAtOnce];
        std::memcpy(packed, source + first * sizeof(Word), wordsHere * sizeof(Word));
        for (size_t row = first, shift = 0; row < rows; row += words, shift += bits)
        {
            const size_t count = std::min(wordsHere, rows - row);
            for (size_t k = 0; k < count; ++k)
                decode(row + k, (packed[k] >> shift) & mask);
        }
    }
}

// Selects one of two values without a branch: the processor would mispredict every second one.
template <class ElemType>
ElemType Select(CodeWord<ElemType> code, ElemType value0, ElemType value1)
{
    using Word = CodeWord<ElemType>;
    const Word bits0 = std::bit_cast<Word>(value0), bits1 = std::bit_cast<Word>(value1);
    return std::bit_cast<ElemType>(bits0 ^ ((bits0 ^ bits1) & (Word(0) - code)));
}

// Packs the codes of a column and leaves the quantisation error in the column.
template <class ElemType>
void QuantizeOneBit(std::span<ElemType> column, bool useZeroThreshold, std::byte* target)
{
    const std::span<const ElemType> values = column;
    const OneBitRange<ElemType> oneBit = useZeroThreshold ? RangeByZero(values) : RangeByMean(values);
    const CodesOfRange<ElemType> codes(oneBit.range, 1);
    const ElemType value0 = codes.ValueOf(0), value1 = codes.ValueOf(1), threshold = oneBit.threshold;
    std::memcpy(target, &oneBit.range, sizeof(oneBit.range));
    Pack<ElemType>(column.size(), 1, target + sizeof(oneBit.range),
                   [=, at = column.data()](size_t row)
                   {
                       const CodeWord<ElemType> code = at[row] >= threshold;
                       at[row] -= Select(code, value0, value1);
                       return code;
                   });
}

template <class ElemType>
void QuantizeManyBits(std::span<ElemType> column, size_t bits, std::byte* target)
{
    const ColumnRange<ElemType> range = RangeOfManyBits(std::span<const ElemType>(column));
    const CodesOfRange<ElemType> codes(range, bits);
    std::memcpy(target, &range, sizeof(range));
    Pack<ElemType>(column.size(), bits, target + sizeof(range),
                   [=, at = column.data()](size_t row)
                   {
                       const CodeWord<ElemType> code = codes.CodeOf(at[row]);
                       at[row] -= codes.ValueOf(code);
                       return code;
                   });
}

// Calls put(row, value) for each row.
template <class ElemType, class Put>
void DequantizeColumn(const std::byte* source, size_t rows, size_t bits, Put put)
{
    ColumnRange<ElemType> range;
    std::memcpy(&range, source, sizeof(range));
    const CodesOfRange<ElemType> codes(range, bits);
    const std::byte* const words = source + sizeof(range);
    if (bits == 1)
        Unpack<ElemType>(rows, 1, words,
                         [=, value0 = codes.ValueOf(0), value1 = codes.ValueOf(1)](size_t row, CodeWord<ElemType> code)
                         { put(row, Select(code, value0, value1)); });
    else
        Unpack<ElemType>(rows, bits, words,
                         [=](size_t row, CodeWord<ElemType> code) { put(row, codes.ValueOf(code)); });
}

} // namespace

template <class ElemType>
GradientQuantizer<ElemType>::GradientQuantizer(QuantizerSettings settings) : m_settings(settings)
{
    CNTK_ASSERT(std::has_single_bit(settings.bits) && settings.bits < 8 * sizeof(ElemType));
}

template <class ElemType>
size_t GradientQuantizer<ElemType>::BytesOf(size_t rows, size_t columns) const
{
    return rows == 0 ? 0 : columns * BytesOfColumn<ElemType>(rows, m_settings.bits);
}

template <class ElemType>
void GradientQuantizer<ElemType>::Quantize(std::span<const ElemType> values, std::span<ElemType> residual, size_t rows,
                                           std::span<std::byte> target) const
{
    if (values.empty())
        return;
    CNTK_ASSERT(rows > 0 && values.size() % rows == 0 && residual.size() == values.size());
    CNTK_ASSERT(target.size() == BytesOf(rows, values.size() / rows));
    std::byte* to = target.data();
    for (size_t first = 0; first < values.size(); first += rows, to += BytesOfColumn<ElemType>(rows, m_settings.bits))
    {
        const std::span<ElemType> column = residual.subspan(first, rows);
        std::transform(column.begin(), column.end(), values.begin() + first, column.begin(), std::plus<>());
        if (m_settings.bits == 1)
            QuantizeOneBit(column, m_settings.useZeroThreshold, to);
        else
            QuantizeManyBits(column, m_settings.bits, to);
    }
}

template <class ElemType>
void GradientQuantizer<ElemType>::Dequantize(std::span<const std::byte> source, size_t rows, std::span<ElemType> target,
                                             bool add) const
{
    if (target.empty())
        return;
    CNTK_ASSERT(rows > 0 && target.size() % rows == 0 && source.size() == BytesOf(rows, target.size() / rows));
    const std::byte* from = source.data();
    for (size_t first = 0; first < target.size(); first += rows, from += BytesOfColumn<ElemType>(rows, m_settings.bits))
    {
        ElemType* const column = target.data() + first;
        if (add)
            DequantizeColumn<ElemType>(from, rows, m_settings.bits,
                                       [column](size_t row, ElemType value) { column[row] += value; });
        else
            DequantizeColumn<ElemType>(from, rows, m_settings.bits,
                                       [column](size_t row, ElemType value) { column[row] = value; });
    }
}

template class GradientQuantizer<float>;
template class GradientQuantizer<double>;

Stripe StripeOf(size_t whole, size_t rank, size_t workers)
{
    const size_t each = whole / workers, rest = whole % workers;
    return {each * rank + std::min(rank, rest), each + (rank < rest ? 1 : 0)};
}

// Receives the other workers' parts of the own stripe in scratch, one after another.
template <class ElemType>
void SumOverWorkers(Workers& workers, std::span<ElemType> values, std::vector<ElemType>& scratch)
{
    const size_t count = workers.Count(), rank = workers.Rank();
    const auto stripeOf = [&](size_t i)
    {
        const Stripe stripe = StripeOf(values.size(), i, count);
        return values.subspan(stripe.first, stripe.count);
    };
    const std::span<ElemType> own = stripeOf(rank);
    if (scratch.size() < own.size() * count)
        scratch.resize(own.size() * count);
    std::vector<std::span<const std::byte>> sent(count);
    std::vector<std::span<std::byte>> received(count);
    for (size_t i = 0; i < count; ++i)
    {
        sent[i] = std::as_bytes(stripeOf(i));
        received[i] = std::as_writable_bytes(std::span(scratch).subspan(i * own.size(), own.size()));
    }
    workers.Exchange(sent, received);
    std::copy(own.begin(), own.end(), scratch.begin() + ptrdiff_t(rank * own.size()));
    std::copy(scratch.begin(), scratch.begin() + ptrdiff_t(own.size()), own.begin());
    for (size_t i = 1; i < count; ++i)
        for (size_t k = 0; k < own.size(); ++k)
            own[k] += scratch[i * own.size() + k];
    for (size_t i = 0; i < count; ++i)
    {
        sent[i] = std::as_bytes(own);
        received[i] = std::as_writable_bytes(stripeOf(i));
    }
    workers.Exchange(sent, received);
}

template void SumOverWorkers(Workers&, std::span<float>, std::vector<float>&);
template void SumOverWorkers(Workers&, std::span<double>, std::vector<double>&);

template <class ElemType>
QuantizedSum<ElemType>::QuantizedSum(Workers& workers, QuantizerSettings settings, std::vector<Shape> shapes)
    : m_workers(workers), m_quantizer(settings), m_shapes(std::move(shapes)), m_sent(workers.Count()),
      m_received(workers.Count())
{
    size_t elements = 0;
    for (const Shape& shape : m_shapes)
        elements += shape.rows * shape.columns;
    m_residual.resize(elements);
    m_sumResidual.resize(elements);
    m_sum.resize(BytesOfStripes(workers.Rank()));
    for (size_t i = 0; i < workers.Count(); ++i)
    {
        m_sent[i].resize(BytesOfStripes(i));
        m_received[i].resize(std::max(BytesOfStripes(i), m_sum.size())); // first own stripes, then theirs
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
    std::fill(m_residual.begin(), m_residual.end(), ElemType(0));
    std::fill(m_sumResidual.begin(), m_sumResidual.end(), ElemType(0));
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
                                          std::span(m_residual).subspan(first, rows * columns), rows,
                                          target.first(bytes));
                     target = target.subspan(bytes);
                 });
}

// Sums the own stripes of all workers in the order of ranks and quantises the sums.
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
                     m_quantizer.Quantize(sum, std::span(m_sumResidual).subspan(first, rows * columns), rows,
                                          std::span(m_sum).subspan(at, bytes));
                     at += bytes;
                 });
}

template <class ElemType>
void QuantizedSum<ElemType>::Sum(std::span<ElemType> values)
{
    CNTK_ASSERT(values.size() == m_residual.size());
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
