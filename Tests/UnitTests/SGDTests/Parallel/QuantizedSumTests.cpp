// Tests sums over workers: in full precision, and in few bits against a simulation of the engine sheet's steps.
#include "SGD/Parallel/WorkerSums.h"
#include "SGDTests/Parallel/ThreadWorkers.h"

#include <gtest/gtest.h>
#include <mutex>
#include <random>

namespace cntk
{

namespace
{

using Shape = QuantizedSum<double>::Shape;

std::vector<double> Random(size_t count, uint32_t seed)
{
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    std::vector<double> values(count);
    for (double& value : values)
        value = normal(engine);
    return values;
}

TEST(Stripes, DifferByAtMostOneItem)
{
    const auto lengths = [](size_t whole, size_t workers)
    {
        std::vector<size_t> counts;
        size_t next = 0;
        for (size_t i = 0; i < workers; ++i)
        {
            EXPECT_EQ(StripeOf(whole, i, workers).first, next);
            counts.push_back(StripeOf(whole, i, workers).count);
            next += counts.back();
        }
        return counts;
    };
    EXPECT_EQ(lengths(11, 4), (std::vector<size_t>{3, 3, 3, 2}));
    EXPECT_EQ(lengths(2, 3), (std::vector<size_t>{1, 1, 0}));
    EXPECT_EQ(lengths(8, 4), (std::vector<size_t>{2, 2, 2, 2}));
}

TEST(SumOverWorkers, AddsInTheOrderOfRanks)
{
    // (1 + 2^-24) + 2^-24 is 1 in float, 1 + (2^-24 + 2^-24) is not.
    const float tiny = std::ldexp(1.0f, -24);
    for (const size_t size : {size_t(1), size_t(2), size_t(7)})
    {
        std::mutex mutex;
        ThreadWorkers::Run(3,
                           [&](Workers& workers)
                           {
                               std::vector<float> values(size, workers.IsFirst() ? 1.0f : tiny), scratch;
                               SumOverWorkers<float>(workers, values, scratch);
                               const std::lock_guard lock(mutex);
                               EXPECT_EQ(values, std::vector<float>(size, 1.0f));
                           });
    }
}

// Computes a quantised sum in one thread with the quantiser alone.
class Simulation
{
public:
    Simulation(size_t workers, QuantizerSettings settings, std::vector<Shape> shapes)
        : m_workers(workers), m_quantizer(settings), m_shapes(std::move(shapes)), m_lost(workers), m_sumLost(workers)
    {
    }

    std::vector<double> Sum(const std::vector<std::vector<double>>& values)
    {
        std::vector<double> sums;
        for (size_t i = 0, at = 0; i < m_shapes.size(); ++i)
        {
            const auto& [rows, columns] = m_shapes[i];
            for (size_t column = 0; column < columns; ++column, at += rows)
                for (const double value : SumColumn(values, at, rows))
                    sums.push_back(value);
        }
        return sums;
    }

private:
    // Columns are quantised one by one, so it does not matter which worker owns a column.
    std::vector<double> SumColumn(const std::vector<std::vector<double>>& values, size_t at, size_t rows)
    {
        std::vector<double> sum(rows);
        for (size_t worker = 0; worker < m_workers; ++worker)
            for (const double& value : Through(m_lost[worker], &values[worker][at], at, rows))
                sum[size_t(&value - m_column.data())] += value;
        return Through(m_sumLost[0], sum.data(), at, rows);
    }

    const std::vector<double>& Through(std::vector<double>& lost, const double* values, size_t at, size_t rows)
    {
        lost.resize(std::max(lost.size(), at + rows));
        std::vector<std::byte> bytes(m_quantizer.BytesOf(rows, 1));
        m_quantizer.Quantize({values, rows}, {lost.data() + at, rows}, rows, bytes);
        m_column.resize(rows);
        m_quantizer.Dequantize(bytes, rows, m_column, false);
        return m_column;
    }

    size_t m_workers;
    GradientQuantizer<double> m_quantizer;
    std::vector<Shape> m_shapes;
    std::vector<std::vector<double>> m_lost, m_sumLost;
    std::vector<double> m_column;
};

TEST(QuantizedSum, FollowsTheSheet)
{
    const std::vector<Shape> shapes{{5, 7}, {3, 1}, {1, 4}};
    const size_t elements = 5 * 7 + 3 + 4;
    for (const QuantizerSettings settings : {QuantizerSettings{1, true}, QuantizerSettings{1, false},
                                             QuantizerSettings{4, true}, QuantizerSettings{32, true}})
        for (const size_t count : {size_t(2), size_t(3), size_t(5)})
        {
            std::vector<std::vector<double>> expected;
            Simulation simulation(count, settings, shapes);
            const auto valuesOf = [&](size_t round, size_t rank)
            { return Random(elements, uint32_t(100 * round + rank)); };
            for (size_t round = 0; round < 4; ++round)
            {
                std::vector<std::vector<double>> values;
                for (size_t rank = 0; rank < count; ++rank)
                    values.push_back(valuesOf(round, rank));
                expected.push_back(simulation.Sum(values));
            }
            std::mutex mutex;
            ThreadWorkers::Run(count,
                               [&](Workers& workers)
                               {
                                   QuantizedSum<double> sum(workers, settings, shapes);
                                   for (int epoch = 0; epoch < 2; ++epoch)
                                   {
                                       for (size_t round = 0; round < 4; ++round)
                                       {
                                           std::vector<double> values = valuesOf(round, workers.Rank());
                                           sum.Sum(values);
                                           const std::lock_guard lock(mutex);
                                           EXPECT_EQ(values, expected[round]) << settings.bits << " bits";
                                       }
                                       sum.Reset();
                                   }
                               });
        }
}

// Quantisation errors are added later, so the mean of many rounds is close to the exact sum.
TEST(QuantizedSum, OfManyRoundsApproachesTheExactSum)
{
    ThreadWorkers::Run(3,
                       [](Workers& workers)
                       {
                           constexpr int c_rounds = 400;
                           QuantizedSum<double> sum(workers, {}, {{4, 3}});
                           const std::vector<double> values = Random(12, uint32_t(workers.Rank()));
                           std::vector<double> total(12), expected(12);
                           for (int round = 0; round < c_rounds; ++round)
                           {
                               std::vector<double> own = values;
                               sum.Sum(own);
                               for (size_t i = 0; i < total.size(); ++i)
                                   total[i] += own[i] / c_rounds;
                           }
                           for (uint32_t rank = 0; rank < 3; ++rank)
                           {
                               const std::vector<double> others = Random(12, rank);
                               for (size_t i = 0; i < total.size(); ++i)
                                   expected[i] += others[i];
                           }
                           for (size_t i = 0; i < total.size(); ++i)
                               EXPECT_NEAR(total[i], expected[i], 0.1) << i;
                       });
}

} // namespace

} // namespace cntk
