// Distinct columns of a sparse matrix, compared in all rows or in some rows.
#include "ComputationNetwork/Evaluation/DistinctColumns.h"
#include "Math/Cpu/CpuDevice.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <type_traits>

namespace cntk::Testing
{

namespace
{

template <class T>
class DistinctValues : public testing::Test
{
};
using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(DistinctValues, ElementTypes);

} // namespace

TEST(DistinctColumns, ThoseOfDataComeFirst)
{
    const auto device = MakeCpuDevice({.threads = 1});
    SparseMatrix matrix(DataType::Float64, *device);
    // 4 | 4 | 1 (a gap) | 0 and 4 | 2 of value 3 | 4 (a gap) | 2 of value 3 | nothing
    const std::vector<double> values{1, 1, 1, 1, 1, 3, 1, 3};
    const std::vector<int32_t> rows{4, 4, 1, 0, 4, 2, 4, 2}, starts{0, 1, 2, 3, 5, 6, 7, 8, 8};
    matrix.FromHost(5, 8, values.data(), rows, starts);
    const std::vector<uint8_t> mask{1, 1, 0, 1, 1, 0, 1, 1};
    DistinctColumns distinct;
    distinct.Find(matrix, mask);
    ASSERT_EQ(distinct.Count(), 5u);
    EXPECT_EQ(distinct.CountOfData(), 4u);
    const std::vector<int32_t> numbers{0, 0, 4, 1, 2, 0, 2, 3};
    const SparseView found = distinct.Numbers();
    EXPECT_EQ(found.rows, 5u);
    EXPECT_EQ(found.columns, 8u);
    EXPECT_EQ(std::vector<int32_t>(found.rowIndices, found.rowIndices + 8), numbers);
    const SparseView places = distinct.Places();
    EXPECT_EQ(places.rows, 8u);
    EXPECT_EQ(places.columns, 4u);
    EXPECT_EQ(std::vector<int32_t>(places.columnStarts, places.columnStarts + 5),
              (std::vector<int32_t>{0, 2, 3, 5, 6}));
    EXPECT_EQ(std::vector<int32_t>(places.rowIndices, places.rowIndices + 6), (std::vector<int32_t>{0, 1, 3, 4, 6, 7}));
    const SparseView columns = distinct.Columns();
    EXPECT_EQ(std::vector<int32_t>(columns.columnStarts, columns.columnStarts + 6),
              (std::vector<int32_t>{0, 1, 3, 4, 4, 5}));
    EXPECT_EQ(std::vector<int32_t>(columns.rowIndices, columns.rowIndices + 5), (std::vector<int32_t>{4, 0, 4, 2, 1}));
    const auto* of = static_cast<const double*>(columns.values);
    EXPECT_EQ(std::vector<double>(of, of + 5), (std::vector<double>{1, 1, 1, 3, 1}));
}

// Columns of two words, each word compared separately. Row indices count from the word's first row.
TEST(DistinctColumns, SomeRowsMayCountAlone)
{
    const auto device = MakeCpuDevice({.threads = 1});
    SparseMatrix matrix(DataType::Float64, *device);
    // 4 and 5+1 | 4 and 5+2 | 1 (a gap) | 5+1 | 0 and 4 and 5+2
    const std::vector<double> values{1, 1, 1, 1, 1, 1, 1, 1, 1};
    const std::vector<int32_t> rows{4, 6, 4, 7, 1, 6, 0, 4, 7}, starts{0, 2, 4, 5, 6, 9};
    matrix.FromHost(10, 5, values.data(), rows, starts);
    const std::vector<uint8_t> mask{1, 1, 0, 1, 1};
    const auto numbers = [](const DistinctColumns& distinct)
    {
        const std::span<const int32_t> found = distinct.NumberOfEach();
        return std::vector<int32_t>(found.begin(), found.end());
    };
    const auto rowsOf = [](const SparseView& columns)
    { return std::vector<int32_t>(columns.rowIndices, columns.rowIndices + columns.columnStarts[columns.columns]); };
    DistinctColumns first, second;
    first.Find(matrix, mask, 0, 5);
    second.Find(matrix, mask, 5, 5);
    EXPECT_EQ(numbers(first), (std::vector<int32_t>{0, 0, 3, 1, 2})) << "4, nothing, 0 and 4, 1 in a gap";
    EXPECT_EQ(numbers(second), (std::vector<int32_t>{0, 1, 2, 0, 1})) << "1, 2, nothing in a gap";
    EXPECT_EQ(first.CountOfData(), 3u);
    EXPECT_EQ(second.CountOfData(), 2u);
    EXPECT_EQ(rowsOf(first.Columns()), (std::vector<int32_t>{4, 0, 4, 1}));
    EXPECT_EQ(rowsOf(second.Columns()), (std::vector<int32_t>{1, 2}));
    EXPECT_EQ(second.Columns().rows, 5u);
}

// Samples of many words, some of which are missing. Each word finds its own rows between the others'.
TEST(DistinctColumns, EachOfManyWordsHasItsOwnRows)
{
    const auto device = MakeCpuDevice({.threads = 1});
    SparseMatrix matrix(DataType::Float64, *device);
    constexpr size_t c_words = 40, c_vocabulary = 3, c_columns = 30;
    // -1: no word; 3: two words in one place.
    const auto wordOf = [](size_t column, size_t place) { return int((column * column + 7 * place) % 5) - 1; };
    std::vector<int32_t> rows, starts{0};
    for (size_t column = 0; column < c_columns; column++)
    {
        for (size_t place = 0; place < c_words; place++)
        {
            const int word = wordOf(column, place);
            const int32_t first = int32_t(place * c_vocabulary);
            if (word == 3)
                rows.insert(rows.end(), {first, first + 2});
            else if (word >= 0)
                rows.push_back(first + word);
        }
        starts.push_back(int32_t(rows.size()));
    }
    matrix.FromHost(c_words * c_vocabulary, c_columns, std::vector<double>(rows.size(), 1).data(), rows, starts);
    for (size_t place = 0; place < c_words; place++)
    {
        DistinctColumns distinct;
        distinct.Find(matrix, {}, place * c_vocabulary, c_vocabulary);
        const SparseView found = distinct.Columns();
        EXPECT_EQ(found.rows, c_vocabulary);
        for (size_t column = 0; column < c_columns; column++)
        {
            const size_t number = size_t(distinct.NumberOfEach()[column]);
            const std::vector<int32_t> own(found.rowIndices + found.columnStarts[number],
                                           found.rowIndices + found.columnStarts[number + 1]);
            const int word = wordOf(column, place);
            const std::vector<int32_t> expected = word < 0    ? std::vector<int32_t>{}
                                                  : word == 3 ? std::vector<int32_t>{0, 2}
                                                              : std::vector<int32_t>{word};
            ASSERT_EQ(own, expected) << "word " << place << " of column " << column;
        }
    }
}

// Dense data stored as sparse columns; some values are powers of two.
TYPED_TEST(DistinctValues, TellColumnsOfTheSameRowsApart)
{
    const auto device = MakeCpuDevice({.threads = 1});
    SparseMatrix matrix(std::is_same_v<TypeParam, float> ? DataType::Float32 : DataType::Float64, *device);
    constexpr size_t c_columns = 600, c_differ = 200;
    std::vector<TypeParam> values;
    std::vector<int32_t> rows, starts{0};
    for (size_t column = 0; column < c_columns; column++)
    {
        const size_t number = column * 7 % c_differ;
        const double second = number < 100 ? std::ldexp(1, int(number) - 50) : -0.01 * double(number);
        values.insert(values.end(), {TypeParam(0.5), TypeParam(second)});
        rows.insert(rows.end(), {1, 2});
        starts.push_back(int32_t(rows.size()));
    }
    matrix.FromHost(4, c_columns, values.data(), rows, starts);
    DistinctColumns distinct;
    distinct.Find(matrix, {});
    ASSERT_EQ(distinct.Count(), c_differ);
    const SparseView columns = distinct.Columns();
    for (size_t column = 0; column < c_columns; column++)
    {
        const size_t at = size_t(columns.columnStarts[distinct.NumberOfEach()[column]]);
        ASSERT_EQ(static_cast<const TypeParam*>(columns.values)[at + 1], values[2 * column + 1]) << column;
    }
}

// Thousands of columns that collide in the hash table.
TEST(DistinctColumns, FindsEachOfMany)
{
    const auto device = MakeCpuDevice({.threads = 1});
    SparseMatrix matrix(DataType::Float32, *device);
    constexpr size_t c_columns = 5000, c_words = 700;
    std::vector<int32_t> rows(c_columns), starts(c_columns + 1);
    std::iota(starts.begin(), starts.end(), 0);
    for (size_t i = 0; i < c_columns; i++)
        rows[i] = int32_t(i * i % c_words) * 4096;
    matrix.FromHost(c_words * 4096, c_columns, std::vector<float>(c_columns, 1).data(), rows, starts);
    DistinctColumns distinct;
    for (int minibatch = 0; minibatch < 2; minibatch++)
    {
        distinct.Find(matrix, {});
        const SparseView numbers = distinct.Numbers(), columns = distinct.Columns();
        std::vector<int32_t> differ = rows;
        std::sort(differ.begin(), differ.end());
        differ.erase(std::unique(differ.begin(), differ.end()), differ.end());
        ASSERT_EQ(distinct.Count(), differ.size());
        for (size_t i = 0; i < c_columns; i++)
            ASSERT_EQ(columns.rowIndices[numbers.rowIndices[i]], rows[i]);
    }
}

} // namespace cntk::Testing
