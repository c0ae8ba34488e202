// Tests the values of codes, their positions in words, and the quantisation error that the next round adds.
#include "SGD/Parallel/WorkerSums.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

namespace cntk
{

namespace
{

template <class ElemType>
class GradientQuantizerTest : public testing::Test
{
protected:
    using Values = std::vector<ElemType>;
    using Word = std::conditional_t<sizeof(ElemType) == 4, uint32_t, uint64_t>;
    static constexpr size_t c_width = 8 * sizeof(ElemType);

    static std::vector<QuantizerSettings> EverySetting()
    {
        std::vector<QuantizerSettings> all{{.bits = 1, .useZeroThreshold = false}};
        for (size_t bits = 1; bits < c_width; bits *= 2)
            all.push_back({.bits = bits});
        return all;
    }

    static Values Random(size_t count, uint32_t seed)
    {
        std::mt19937 engine(seed);
        std::normal_distribution<double> normal(0.1, 1);
        Values values(count);
        for (ElemType& value : values)
            value = ElemType(normal(engine));
        return values;
    }

    static std::vector<std::byte> Quantize(const QuantizerSettings& settings, const Values& values, Values& residual,
                                           size_t rows)
    {
        const GradientQuantizer<ElemType> quantizer(settings);
        std::vector<std::byte> bytes(quantizer.BytesOf(rows, rows == 0 ? 0 : values.size() / rows));
        quantizer.Quantize(values, residual, rows, bytes);
        return bytes;
    }

    static Values Dequantize(const QuantizerSettings& settings, const std::vector<std::byte>& bytes, size_t rows,
                             size_t count)
    {
        Values values(count, ElemType(99));
        GradientQuantizer<ElemType>(settings).Dequantize(bytes, rows, values, false);
        return values;
    }

    // Quantises and dequantises a column without an earlier quantisation error.
    static Values RoundTrip(const QuantizerSettings& settings, const Values& column)
    {
        Values residual(column.size());
        return Dequantize(settings, Quantize(settings, column, residual, column.size()), column.size(), column.size());
    }

    // Returns element `number` of the quantised columns, as T.
    template <class T>
    static T At(const std::vector<std::byte>& bytes, size_t number)
    {
        T value;
        std::memcpy(&value, bytes.data() + number * sizeof(T), sizeof(T));
        return value;
    }

    // Returns the code of a row of the first column by the definition in WorkerSums.h.
    static Word CodeOf(const std::vector<std::byte>& bytes, size_t row, size_t rows, size_t bits)
    {
        const size_t words = (rows * bits + c_width - 1) / c_width;
        return (At<Word>(bytes, 2 + row % words) >> (row / words * bits)) & ((Word(1) << bits) - 1);
    }
};
using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(GradientQuantizerTest, ElementTypes);

constexpr QuantizerSettings c_byZero{};
constexpr QuantizerSettings c_byMean{.useZeroThreshold = false};

} // namespace

TYPED_TEST(GradientQuantizerTest, AColumnHasARangeAndWholeWords)
{
    constexpr size_t c_size = sizeof(TypeParam);
    for (const QuantizerSettings& settings : TestFixture::EverySetting())
    {
        const GradientQuantizer<TypeParam> quantizer(settings);
        const size_t codes = TestFixture::c_width / settings.bits;
        EXPECT_EQ(quantizer.BytesOf(1, 1), 3 * c_size);
        EXPECT_EQ(quantizer.BytesOf(codes, 1), 3 * c_size);
        EXPECT_EQ(quantizer.BytesOf(codes + 1, 1), 4 * c_size);
        EXPECT_EQ(quantizer.BytesOf(10 * codes, 7), 7 * 12 * c_size);
        EXPECT_EQ(quantizer.BytesOf(5, 0), 0u);
        EXPECT_EQ(quantizer.BytesOf(0, 5), 0u);
    }
}

TYPED_TEST(GradientQuantizerTest, OneBitByZeroGivesTheMeansOfNegativeAndOtherValues)
{
    using Values = std::vector<TypeParam>;
    Values residual(5);
    const auto bytes = this->Quantize(c_byZero, {-1, 2, -3, 4, 6}, residual, 5);
    EXPECT_EQ(this->template At<TypeParam>(bytes, 0), -5) << "1 - 2 * 3";
    EXPECT_EQ(this->template At<TypeParam>(bytes, 1), 7);
    EXPECT_EQ(this->template At<typename TestFixture::Word>(bytes, 2), 0b11010u);
    EXPECT_EQ(this->Dequantize(c_byZero, bytes, 5, 5), (Values{-2, 4, -2, 4, 4}));
    EXPECT_EQ(residual, (Values{1, -2, -1, 0, 2}));
}

TYPED_TEST(GradientQuantizerTest, OneBitByZeroTakesZeroForTheMeanOfNoValues)
{
    using Values = std::vector<TypeParam>;
    EXPECT_EQ(this->RoundTrip(c_byZero, {1, 2, 6}), (Values{3, 3, 3}));
    EXPECT_EQ(this->RoundTrip(c_byZero, {-1, -2, -6}), (Values{-3, -3, -3}));
    EXPECT_EQ(this->RoundTrip(c_byZero, {0, 0}), (Values{0, 0}));
    EXPECT_EQ(this->RoundTrip(c_byZero, {TypeParam(-0.0), 4, -1}), (Values{2, 2, -1})) << "-0 is not below 0";
}

TYPED_TEST(GradientQuantizerTest, OneBitByMeanGivesTheMeanDeviationToEitherSide)
{
    using Values = std::vector<TypeParam>;
    Values residual(4);
    const auto bytes = this->Quantize(c_byMean, {3, 1, 6, 2}, residual, 4);
    EXPECT_EQ(this->template At<TypeParam>(bytes, 0), 0) << "3 - 2 * 1.5";
    EXPECT_EQ(this->template At<TypeParam>(bytes, 1), 6);
    EXPECT_EQ(this->template At<typename TestFixture::Word>(bytes, 2), 0b0101u) << "the mean itself is not below it";
    EXPECT_EQ(this->Dequantize(c_byMean, bytes, 4, 4), (Values{4.5, 1.5, 4.5, 1.5}));
    EXPECT_EQ(residual, (Values{-1.5, -0.5, 1.5, 0.5}));
    EXPECT_EQ(this->RoundTrip(c_byMean, {7, 7, 7}), (Values{7, 7, 7}));
}

// With mean 0 and standard deviation 1 the range is -5 to 5.
TYPED_TEST(GradientQuantizerTest, SeveralBitsDivideFiveStandardDeviationsToEitherSide)
{
    using Values = std::vector<TypeParam>;
    Values residual(6);
    const auto two = this->Quantize({.bits = 2}, {1, -1, 1, -1, 1, -1}, residual, 6);
    EXPECT_EQ(this->template At<TypeParam>(two, 0), -5);
    EXPECT_EQ(this->template At<TypeParam>(two, 1), 5);
    EXPECT_EQ(this->template At<typename TestFixture::Word>(two, 2), 0b01'10'01'10'01'10u);
    EXPECT_EQ(this->Dequantize({.bits = 2}, two, 6, 6), (Values{1.25, -1.25, 1.25, -1.25, 1.25, -1.25}));
    EXPECT_EQ(residual, (Values{-0.25, 0.25, -0.25, 0.25, -0.25, 0.25}));
    EXPECT_EQ(this->RoundTrip({.bits = 4}, {1, -1}), (Values{0.9375, -0.9375}));
}

TYPED_TEST(GradientQuantizerTest, ValuesBeyondFiveStandardDeviationsSaturate)
{
    for (const QuantizerSettings& settings : TestFixture::EverySetting())
    {
        if (settings.bits == 1)
            continue;
        for (const double sign : {1.0, -1.0})
        {
            std::vector<TypeParam> column(100), residual(100);
            column[70] = TypeParam(sign);
            const auto bytes = this->Quantize(settings, column, residual, 100);
            const double deviation = std::sqrt(0.01 - 0.0001), levels = std::ldexp(1.0, int(settings.bits));
            const auto lower = double(this->template At<TypeParam>(bytes, 0));
            const auto upper = double(this->template At<TypeParam>(bytes, 1));
            EXPECT_NEAR(lower, sign * 0.01 - 5 * deviation, 1e-7);
            EXPECT_NEAR(upper, sign * 0.01 + 5 * deviation, 1e-7);
            EXPECT_EQ(double(this->CodeOf(bytes, 70, 100, settings.bits)), sign > 0 ? levels - 1 : 0);
            const double half = (upper - lower) / levels / 2;
            EXPECT_NEAR(double(residual[70]), sign > 0 ? 1 - (upper - half) : -1 - (lower + half), 1e-7);
        }
    }
}

// Compares words, values and dequantised columns with their definitions, bit for bit.
TYPED_TEST(GradientQuantizerTest, RowsAreInterleavedOverWords)
{
    for (const QuantizerSettings& settings : TestFixture::EverySetting())
        for (const size_t rows : {1, 2, 7, 31, 32, 33, 63, 64, 65, 100, 511, 512, 513, 1000, 1500})
        {
            SCOPED_TRACE(testing::Message() << settings.bits << " bits, " << rows << " rows");
            const auto column = this->Random(rows, uint32_t(rows));
            std::vector<TypeParam> residual(rows);
            const auto bytes = this->Quantize(settings, column, residual, rows);
            const auto values = this->Dequantize(settings, bytes, rows, rows);
            const auto lower = double(this->template At<TypeParam>(bytes, 0));
            const auto upper = double(this->template At<TypeParam>(bytes, 1));
            const double levels = std::ldexp(1.0, int(settings.bits)), step = (upper - lower) / levels;
            double mean = 0;
            for (const TypeParam value : column)
                mean += double(value) / double(rows);
            for (size_t row = 0; row < rows; ++row)
            {
                const double value = double(column[row]);
                const auto code = double(this->CodeOf(bytes, row, rows, settings.bits));
                if (settings.bits == 1)
                    ASSERT_EQ(code != 0, value >= (settings.useZeroThreshold ? 0 : mean)) << row;
                else if (step > 0) // floor((v - lower) / step) up to rounding
                {
                    ASSERT_GE(value - lower, (code - 1e-6) * step) << row;
                    ASSERT_LE(value - lower, (code + 1 + 1e-6) * step) << row;
                }
                ASSERT_EQ(values[row], TypeParam(step > 0 ? lower + (code + 0.5) * step : lower)) << row;
            }
        }
}

TYPED_TEST(GradientQuantizerTest, TheResidualIsWhatWasLost)
{
    for (const QuantizerSettings& settings : TestFixture::EverySetting())
        for (const size_t rows : {1, 5, 32, 33, 100, 700})
            for (const size_t columns : {0, 1, 3})
            {
                const auto values = this->Random(rows * columns, 1), before = this->Random(rows * columns, 2);
                auto residual = before;
                const auto bytes = this->Quantize(settings, values, residual, rows);
                const auto made = this->Dequantize(settings, bytes, rows, values.size());
                for (size_t i = 0; i < values.size(); ++i)
                {
                    const TypeParam sum = values[i] + before[i];
                    ASSERT_EQ(residual[i], sum - made[i]) << settings.bits << " bits, element " << i << " of " << rows;
                }
            }
}

// Quantises one gradient repeatedly. The mean over the rounds approaches the gradient, because the error does not grow.
TYPED_TEST(GradientQuantizerTest, WhatIsLostComesInLaterRounds)
{
    constexpr size_t c_rows = 40, c_columns = 3, c_rounds = 2000;
    for (const QuantizerSettings& settings : TestFixture::EverySetting())
    {
        const auto values = this->Random(c_rows * c_columns, 3);
        std::vector<TypeParam> residual(values.size()), sum(values.size());
        for (size_t round = 0; round < c_rounds; ++round)
        {
            const auto bytes = this->Quantize(settings, values, residual, c_rows);
            GradientQuantizer<TypeParam>(settings).Dequantize(bytes, c_rows, sum, true);
        }
        for (size_t i = 0; i < values.size(); ++i)
        {
            EXPECT_NEAR(double(sum[i] / c_rounds), double(values[i]), 0.02) << settings.bits << " bits";
            EXPECT_NEAR(double(sum[i] + residual[i]) / c_rounds, double(values[i]), 1e-4) << settings.bits << " bits";
        }
    }
}

// Tests target memory of any alignment.
TYPED_TEST(GradientQuantizerTest, ColumnsStandForThemselves)
{
    constexpr size_t c_rows = 45, c_columns = 5, c_first = 2, c_count = 2;
    for (const QuantizerSettings& settings : TestFixture::EverySetting())
    {
        const GradientQuantizer<TypeParam> quantizer(settings);
        const auto values = this->Random(c_rows * c_columns, 4);
        std::vector<TypeParam> residual(values.size());
        const size_t begin = 1 + quantizer.BytesOf(c_rows, c_first), size = quantizer.BytesOf(c_rows, c_count);
        std::vector<std::byte> bytes(1 + quantizer.BytesOf(c_rows, c_columns));
        quantizer.Quantize(values, residual, c_rows, std::span(bytes).subspan(1));
        std::vector<TypeParam> all(values.size()), some(c_rows * c_count, TypeParam(0.5)), expected;
        quantizer.Dequantize(std::span(bytes).subspan(1), c_rows, all, false);
        quantizer.Dequantize(std::span(bytes).subspan(begin, size), c_rows, some, true);
        for (size_t i = c_first * c_rows; i < (c_first + c_count) * c_rows; ++i)
            expected.push_back(all[i] + TypeParam(0.5));
        EXPECT_EQ(some, expected) << settings.bits << " bits";
    }
}

TYPED_TEST(GradientQuantizerTest, ANarrowRangeStandsForItsLowerEnd)
{
    using Values = std::vector<TypeParam>;
    const TypeParam tiny = TypeParam(1e-37), small = TypeParam(1e-36);
    for (const QuantizerSettings& settings : {c_byZero, c_byMean})
    {
        EXPECT_EQ(this->RoundTrip(settings, {tiny, -tiny}), (Values{-2 * tiny, -2 * tiny}));
        EXPECT_EQ(this->RoundTrip(settings, {small, -small}), (Values{small, -small}));
    }
    for (const QuantizerSettings& settings : TestFixture::EverySetting())
    {
        EXPECT_EQ(this->RoundTrip(settings, {0, 0, 0}), (Values{0, 0, 0})) << settings.bits << " bits";
        EXPECT_EQ(this->RoundTrip(settings, {0.375}), (Values{0.375})) << settings.bits << " bits";
        EXPECT_EQ(this->RoundTrip(settings, {-8}), (Values{-8})) << settings.bits << " bits";
    }
}

// Columns with NaN or infinite values dequantise to such values. Other columns are not affected.
TYPED_TEST(GradientQuantizerTest, ColumnsThatAreNotFiniteComeBackAsSuch)
{
    using Limits = std::numeric_limits<TypeParam>;
    constexpr size_t c_rows = 50;
    for (const QuantizerSettings& settings : TestFixture::EverySetting())
        for (const TypeParam bad : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()})
        {
            auto values = this->Random(2 * c_rows, 5);
            values[20] = bad;
            std::vector<TypeParam> residual(values.size());
            const auto made =
                this->Dequantize(settings, this->Quantize(settings, values, residual, c_rows), c_rows, values.size());
            for (size_t row = 0; row < c_rows; ++row)
            {
                EXPECT_FALSE(std::isfinite(made[row])) << settings.bits << " bits, " << bad;
                EXPECT_TRUE(std::isfinite(made[c_rows + row])) << settings.bits << " bits, " << bad;
            }
        }
}

} // namespace cntk
