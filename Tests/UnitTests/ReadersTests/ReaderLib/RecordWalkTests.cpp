// Epochs and minibatches over records: sweeps, cuts, shuffled blocks, workers.
#include "Readers/ReaderLib/RecordWalk.h"
#include "ReadersTests/ReaderTestTools.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

namespace cntk
{
namespace
{

// Data of a fixed size; counts how many records were looked up.
class Counter final : public IRecordCounter
{
public:
    explicit Counter(size_t total) : m_total(total) {}
    size_t Extend(size_t wanted) override { return m_known = std::max(m_known, std::min(wanted, m_total)); }
    size_t Known() const override { return m_known; }
    bool IsComplete() const override { return m_known == m_total; }

private:
    size_t m_total;
    size_t m_known = 0;
};

using Minibatches = std::vector<std::vector<size_t>>;

Minibatches Epoch(RecordWalk& walk, EpochRequest request)
{
    walk.Start(request);
    Minibatches minibatches;
    std::vector<size_t> records;
    std::string log;
    while (walk.Next(records, log))
        minibatches.push_back(records);
    return minibatches;
}

std::vector<size_t> Flat(const Minibatches& minibatches)
{
    std::vector<size_t> all;
    for (const auto& records : minibatches)
        all.insert(all.end(), records.begin(), records.end());
    return all;
}

std::vector<size_t> Sorted(std::vector<size_t> values)
{
    std::sort(values.begin(), values.end());
    return values;
}

std::vector<size_t> Sizes(const Minibatches& minibatches)
{
    std::vector<size_t> sizes;
    for (const auto& records : minibatches)
        sizes.push_back(records.size());
    return sizes;
}

std::vector<size_t> Iota(size_t count)
{
    std::vector<size_t> values(count);
    std::iota(values.begin(), values.end(), 0u);
    return values;
}

EpochRequest Request(size_t epoch, size_t minibatchSize, size_t epochSize = c_wholeDataSet)
{
    EpochRequest request;
    request.epoch = epoch;
    request.minibatchSize = minibatchSize;
    request.epochSize = epochSize;
    return request;
}

const RecordWalkOptions c_inOrder{0, false};

TEST(RecordWalkTests, WholeDataSetInOrder)
{
    Counter counter(10);
    RecordWalk walk(counter, c_inOrder);
    for (size_t epoch : {0, 1, 7})
        EXPECT_EQ(Epoch(walk, Request(epoch, 4)), (Minibatches{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
    EXPECT_EQ(Epoch(walk, Request(0, 4, 0)).size(), 3u); // 0 also means the whole data set
}

TEST(RecordWalkTests, SmallEpochsContinueThePreviousOne)
{
    Counter counter(10);
    RecordWalk walk(counter, c_inOrder);
    EXPECT_EQ(Epoch(walk, Request(0, 3, 6)), (Minibatches{{0, 1, 2}, {3, 4, 5}}));
    EXPECT_EQ(counter.Known(), 6u); // reads no more than needed
    EXPECT_EQ(Epoch(walk, Request(1, 3, 6)), (Minibatches{{6, 7, 8}, {9}, {0, 1}}));
    EXPECT_EQ(Epoch(walk, Request(2, 3, 6)), (Minibatches{{2, 3, 4}, {5, 6, 7}}));
    EXPECT_EQ(Epoch(walk, Request(3, 3, 6)), (Minibatches{{8, 9}, {0, 1, 2}, {3}}));
    EXPECT_EQ(Epoch(walk, Request(1, 3, 6)), (Minibatches{{6, 7, 8}, {9}, {0, 1}})); // again the same
}

TEST(RecordWalkTests, LargeEpochsSweepMoreThanOnce)
{
    Counter counter(10);
    RecordWalk walk(counter, c_inOrder);
    EXPECT_EQ(Sizes(Epoch(walk, Request(0, 4, 14))), (std::vector<size_t>{4, 4, 2, 4}));
    EXPECT_EQ(Epoch(walk, Request(1, 4, 14)).front(), (std::vector<size_t>{4, 5, 6, 7}));
    EXPECT_EQ(Flat(Epoch(walk, Request(0, 7, 35))).size(), 35u);
}

TEST(RecordWalkTests, FullMinibatchesRunAcrossTheEnd)
{
    Counter counter(10);
    RecordWalk walk(counter, {0, true});
    EXPECT_EQ(Epoch(walk, Request(0, 4)), (Minibatches{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 0, 1}}));
    EXPECT_EQ(walk.EpochSize(), 12u);
    EXPECT_EQ(Epoch(walk, Request(1, 4)).front(), (std::vector<size_t>{2, 3, 4, 5}));
    EXPECT_EQ(Epoch(walk, Request(0, 4, 6)).size(), 2u);
    EXPECT_EQ(walk.EpochSize(), 8u);
    EXPECT_EQ(Epoch(walk, MakeRequestOnce(4)), (Minibatches{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
}

TEST(RecordWalkTests, ShuffleIsAPermutationOfTheEpoch)
{
    Counter counter(10);
    for (size_t range :
         {RecordWalkOptions::c_autoRange, size_t(10), size_t(5), size_t(4), size_t(3), size_t(1), size_t(99)})
    {
        RecordWalk walk(counter, {range, false});
        for (size_t epoch = 0; epoch < 5; ++epoch)
        {
            for (size_t minibatchSize : {1, 3, 4, 10, 64})
            {
                EXPECT_EQ(Sorted(Flat(Epoch(walk, Request(epoch, minibatchSize)))), Iota(10));
                EXPECT_EQ(Flat(Epoch(walk, Request(epoch, minibatchSize, 7))).size(), 7u);
                EXPECT_EQ(Flat(Epoch(walk, Request(epoch, minibatchSize, 23))).size(), 23u);
            }
        }
    }
}

TEST(RecordWalkTests, AHugeMinibatchIsAllRecords)
{
    Counter counter(10);
    for (const RecordWalkOptions& options : {RecordWalkOptions{}, c_inOrder})
    {
        RecordWalk walk(counter, options);
        for (size_t minibatchSize : {size_t(1000000000), size_t(100000000000000), SIZE_MAX})
        {
            walk.Start(Request(1, minibatchSize));
            std::vector<size_t> records;
            std::string log;
            EXPECT_TRUE(walk.Next(records, log));
            EXPECT_EQ(Sorted(records), Iota(10));
            EXPECT_LE(records.capacity(), 10u);
            EXPECT_FALSE(walk.Next(records, log));
        }
        EXPECT_EQ(Sizes(Epoch(walk, Request(0, SIZE_MAX, 25))), (std::vector<size_t>{10, 10, 5}));
    }
}

TEST(RecordWalkTests, ImpossibleSizes)
{
    Counter counter(10);
    RecordWalk full(counter, {0, true});
    EXPECT_EQ(MessageOf([&] { full.Start(Request(0, 100000000000000)); }),
              "config: minibatchSize: a minibatch of 100000000000000 records is too large; at most 2147483647 records "
              "can be in one");
    EXPECT_EQ(MessageOf([&] { full.Start(Request(0, SIZE_MAX)); }),
              "config: minibatchSize: a minibatch of 18446744073709551615 records is too large; at most 2147483647 "
              "records can be in one");
    RecordWalk partial(counter, c_inOrder);
    EXPECT_EQ(MessageOf([&] { partial.Start(Request(5, 4, 1000000000000000000)); }),
              "config: epochSize=1000000000000000000 is too large: epoch 6 would end beyond sample "
              "4611686018427387903");
}

TEST(RecordWalkTests, WindowSmallerThanTheEpochShufflesWithinBlocks)
{
    Counter counter(100);
    RecordWalk walk(counter, {10, false});
    const std::vector<size_t> records = Flat(Epoch(walk, Request(1, 5)));
    for (size_t block = 0; block < 10; ++block)
    {
        std::vector<size_t> part(records.begin() + ptrdiff_t(10 * block), records.begin() + ptrdiff_t(10 * block) + 10);
        part = Sorted(part);
        EXPECT_EQ(part.front(), 10 * block);
        EXPECT_EQ(part.back(), 10 * block + 9);
    }
    EXPECT_NE(records, Iota(100));
}

TEST(RecordWalkTests, ShuffleLogs)
{
    Counter counter(40);
    RecordWalk walk(counter, {});
    walk.Start(Request(2, 8));
    std::vector<size_t> records;
    std::string log;
    EXPECT_TRUE(walk.Next(records, log));
    EXPECT_EQ(log, "RandomOrdering: 4 retries for 40 elements (10.0%) to ensure window condition\n"
                   "RandomOrdering: recached sequence for seed 2: 0, 19, ...\n");
    log.clear();
    EXPECT_TRUE(walk.Next(records, log));
    EXPECT_EQ(log, "");
}

TEST(RecordWalkTests, EpochsOfAShuffleDifferAndRepeat)
{
    Counter counter(40);
    RecordWalk walk(counter, {});
    const Minibatches first = Epoch(walk, Request(1, 8));
    const Minibatches second = Epoch(walk, Request(2, 8));
    EXPECT_NE(first, second);
    EXPECT_EQ(Epoch(walk, Request(1, 8)), first);
    EXPECT_EQ(Epoch(walk, Request(0, 8)), first); // seeds 0 and 1 are equal to the C library
}

TEST(RecordWalkTests, WorkersTakeSlicesOfEachMinibatch)
{
    Counter counter(10);
    for (const RecordWalkOptions& options : {RecordWalkOptions{}, c_inOrder})
    {
        RecordWalk walk(counter, options);
        const Minibatches whole = Epoch(walk, Request(3, 4));
        for (size_t workers : {2, 3, 7})
        {
            Minibatches joined(whole.size());
            for (size_t rank = 0; rank < workers; ++rank)
            {
                EpochRequest request = Request(3, 4);
                request.rank = rank;
                request.workers = workers;
                const Minibatches share = Epoch(walk, request);
                ASSERT_EQ(share.size(), whole.size()); // a worker without samples still takes part
                for (size_t i = 0; i < share.size(); ++i)
                    joined[i].insert(joined[i].end(), share[i].begin(), share[i].end());
            }
            EXPECT_EQ(joined, whole);
        }
    }
}

} // namespace
} // namespace cntk
