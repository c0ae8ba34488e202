// Several loops over a column at a time, which stays in the cache between them. All parameters go through them in each
// minibatch: they are compiled as kernels are, and written so that compilers turn them into vector instructions.
#include "SGD/Parallel/GradientQuantizer.h"

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
constexpr double c_deviationsInRange = 5; // to either side of the mean, of several bits
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
    ElemType threshold; // the bit of values from here on is set
};

// The codes of a range, and what they stand for. In double, so that no range of float is too wide or too narrow.
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

    // Values outside of the range have the code nearest to them; a NaN has one, too.
    CodeWord<ElemType> CodeOf(ElemType value) const
    {
        const double place = (double(value) - m_lower) * m_perStep;
        const double inRange = place >= 0 ? (place < m_levels ? place : m_levels - 1) : 0;
        return CodeWord<ElemType>(std::make_signed_t<CodeWord<ElemType>>(inRange));
    }
    ElemType ValueOf(CodeWord<ElemType> code) const
    {
        using Signed = std::make_signed_t<CodeWord<ElemType>>; // converted by a vector instruction
        return ElemType(m_lower + (double(Signed(code)) + 0.5) * m_step);
    }

private:
    double m_lower;
    double m_levels;
    double m_step = 0;
    double m_perStep = 0;
};

// The sum of term(value) over a column, in as many parts as the processor has additions under way.
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

// The range whose two codes stand for center -+ distance.
template <class ElemType>
ColumnRange<ElemType> AroundCenter(double center, double distance)
{
    return {ElemType(center - 2 * distance), ElemType(center + 2 * distance)};
}

// A NaN counts among the values that are not negative, so that their mean shows it.
template <class ElemType>
OneBitRange<ElemType> RangeByZero(std::span<const ElemType> column)
{
    const double ofNegative = Sum(column, [](double value) { return value < 0 ? value : 0; });
    const double ofOthers = Sum(column, [](double value) { return value < 0 ? 0 : value; });
    const double negative = Sum(column, [](double value) { return value < 0 ? 1.0 : 0.0; });
    const double others = double(column.size()) - negative;
    const double mean0 = negative > 0 ? ofNegative / negative : 0;
    const double mean1 = others > 0 ? ofOthers / others : 0;
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

// Calls encode(row) for each row, which gives its code.
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

// One of two values without a branch, which would be a wrong guess each other time.
template <class ElemType>
ElemType Select(CodeWord<ElemType> code, ElemType value0, ElemType value1)
{
    using Word = CodeWord<ElemType>;
    const Word bits0 = std::bit_cast<Word>(value0), bits1 = std::bit_cast<Word>(value1);
    return std::bit_cast<ElemType>(bits0 ^ ((bits0 ^ bits1) & (Word(0) - code)));
}

// Packs the codes of a column, and leaves in it what they lose.
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

} // namespace cntk
