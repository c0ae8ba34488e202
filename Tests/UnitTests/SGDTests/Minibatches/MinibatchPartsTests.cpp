// Tests minibatches that are cut by their parallel sequences.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "SGD/Minibatches/MinibatchParts.h"

#include <gtest/gtest.h>

namespace cntk
{

namespace
{

// Three parallel sequences of 2, 1 and 2 steps. The values identify the columns.
HostMinibatch<float> ThreeSequences()
{
    HostMinibatch<float> minibatch;
    minibatch.streams.resize(2);
    auto layout = std::make_shared<MBLayout>();
    layout->Init(3, 2);
    layout->AddSequence(0, 0, 0, 2);
    layout->AddSequence(1, 1, 0, 1);
    layout->AddGap(1, 1, 2);
    layout->AddSequence(2, 2, 0, 2);
    minibatch.streams[0] = {.rows = 1,
                            .columns = 6,
                            .sparse = false,
                            .values = {0, 10, 20, 1, 11, 21},
                            .rowIndices = {},
                            .columnStarts = {},
                            .layout = layout};
    minibatch.streams[1] = {.rows = 4,
                            .columns = 6,
                            .sparse = true,
                            .values = {1, 2, 3, 4, 5},
                            .rowIndices = {0, 3, 1, 2, 0},
                            .columnStarts = {0, 1, 3, 3, 4, 4, 5},
                            .layout = layout};
    return minibatch;
}

} // namespace

TEST(MinibatchParts, HowMany)
{
    EXPECT_EQ(PartCount({.parts = 3}, 100, 10), 3u);
    EXPECT_EQ(PartCount({.parts = 30}, 100, 10), 10u); // at most one part per sequence
    EXPECT_EQ(PartCount({.parts = 1, .maxColumns = 30}, 100, 10), 4u);
    EXPECT_EQ(PartCount({.parts = 5, .maxColumns = 30}, 100, 10), 5u);
    EXPECT_EQ(PartCount({.parts = 1, .maxColumns = 100}, 100, 10), 1u);
}

TEST(MinibatchParts, RowsOfSequencesWithTheirColumns)
{
    const HostMinibatch<float> whole = ThreeSequences();
    HostMinibatch<float> part;
    TakePart(whole, 0, 2, Axes::One, part);
    EXPECT_EQ(part.streams[0].values, (std::vector<float>{0, 1}));
    EXPECT_EQ(part.streams[0].layout->ParallelSequences(), 1u);
    EXPECT_EQ(part.streams[1].values, (std::vector<float>{1, 4}));
    EXPECT_EQ(part.streams[1].columnStarts, (std::vector<int32_t>{0, 1, 2}));
    TakePart(whole, 1, 2, Axes::One, part);
    EXPECT_EQ(part.streams[0].columns, 4u);
    EXPECT_EQ(part.streams[0].values, (std::vector<float>{10, 20, 11, 21}));
    EXPECT_EQ(part.streams[0].layout->ActualSamples(), 3u);
    EXPECT_TRUE(part.streams[0].layout->IsGap(0, 1));
    EXPECT_EQ(part.streams[1].values, (std::vector<float>{2, 3, 5}));
    EXPECT_EQ(part.streams[1].rowIndices, (std::vector<int32_t>{3, 1, 0}));
    EXPECT_EQ(part.streams[1].columnStarts, (std::vector<int32_t>{0, 2, 2, 2, 3}));
}

// Lattices belong to the ids of sequences in the part: the original ids, or new ids if sequences are packed again.
TEST(MinibatchParts, LatticesGoWithTheirSequences)
{
    HostMinibatch<float> whole = ThreeSequences();
    for (size_t i = 0; i < 3; ++i)
        whole.lattices.push_back(std::make_shared<Lattice>());
    HostMinibatch<float> part;
    for (const Axes axes : {Axes::One, Axes::Several})
    {
        TakePart(whole, 1, 2, axes, part);
        size_t found = 0;
        for (const SequenceInfo& sequence : part.streams[0].layout->Sequences())
            if (sequence.id != SequenceInfo::c_gap)
            {
                ASSERT_LT(sequence.id, part.lattices.size());
                EXPECT_EQ(part.lattices[sequence.id], whole.lattices[sequence.end == 1 ? 1 : 2]);
                ++found;
            }
        EXPECT_EQ(found, 2u);
    }
}

TEST(MinibatchParts, SequencesThatGoOnNeedTheirPlaceAmongAll)
{
    HostMinibatch<float> whole = ThreeSequences();
    whole.streams[0].layout->Init(3, 2);
    for (size_t row = 0; row < 3; ++row)
        whole.streams[0].layout->AddSequence(row, row, 0, 5);
    HostMinibatch<float> part;
    TakePart(whole, 1, 2, Axes::One, part);
    EXPECT_EQ(part.streams[0].layout->ParallelSequences(), 2u);
    EXPECT_EQ(part.streams[0].layout->Sequences().back(), (SequenceInfo{2, 1, 0, 5}));
    whole.streams[1].layout = std::make_shared<MBLayout>();
    whole.streams[1].layout->Init(2, 3);
    for (size_t row = 0; row < 2; ++row)
        whole.streams[1].layout->AddSequence(row, row, 0, 5);
    EXPECT_EQ(MessageOf(ErrorKind::Config, [&] { TakePart(whole, 0, 2, Axes::One, part); }),
              "numSubminibatches and maxSamplesInRAM need equally many parallel sequences in all "
              "streams when the reader truncates them; there are 3 and 2");
}

// Words of four sequences in three rows, [0 and 2] [1] [3], and a label for each sequence. Cutting both by rows would
// select different sequences.
TEST(MinibatchParts, StreamsOfOtherLengthsGiveTheSameSequences)
{
    HostMinibatch<float> whole;
    whole.streams.resize(3);
    auto words = std::make_shared<MBLayout>();
    words->Init(3, 3);
    words->AddSequence(0, 0, 0, 1);
    words->AddSequence(1, 1, 0, 3);
    words->AddSequence(2, 0, 1, 3);
    words->AddSequence(3, 2, 0, 2);
    words->AddGap(2, 2, 3);
    whole.streams[0] = {.rows = 1,
                        .columns = 9,
                        .sparse = false,
                        .values = {0, 10, 30, 20, 11, 31, 21, 12, -1},
                        .rowIndices = {},
                        .columnStarts = {},
                        .layout = words};
    auto labels = std::make_shared<MBLayout>();
    labels->InitAsFrameMode(4);
    whole.streams[1] = {.rows = 5,
                        .columns = 4,
                        .sparse = true,
                        .values = {1, 1, 1, 1},
                        .rowIndices = {0, 1, 2, 3},
                        .columnStarts = {0, 1, 2, 3, 4},
                        .layout = labels};
    auto table = std::make_shared<MBLayout>(); // a table of words is in one part, so that it counts once
    table->InitAsFrameMode(1);
    whole.streams[2] = {.rows = 2,
                        .columns = 1,
                        .sparse = false,
                        .values = {7, 8},
                        .rowIndices = {},
                        .columnStarts = {},
                        .layout = table};
    EXPECT_EQ(ParallelSequencesOf(whole), 3u);
    EXPECT_FALSE(HasCutSequences(whole));
    HostMinibatch<float> part;
    TakePart(whole, 0, 2, Axes::Several, part); // the first row
    EXPECT_EQ(part.streams[0].values, (std::vector<float>{0, 20, 0, 21}));
    EXPECT_EQ(part.streams[0].layout->Sequences()[0], (SequenceInfo{0, 0, 0, 1}));
    EXPECT_EQ(part.streams[0].layout->Sequences()[1], (SequenceInfo{1, 1, 0, 2}));
    EXPECT_TRUE(part.streams[0].layout->IsGap(0, 1));
    EXPECT_EQ(part.streams[1].rowIndices, (std::vector<int32_t>{0, 2}));
    EXPECT_EQ(part.streams[1].layout->ParallelSequences(), 2u);
    EXPECT_EQ(part.streams[2].columns, 0u);
    TakePart(whole, 1, 2, Axes::Several, part);
    EXPECT_EQ(part.streams[0].values, (std::vector<float>{10, 30, 11, 31, 12, 0}));
    EXPECT_EQ(part.streams[1].rowIndices, (std::vector<int32_t>{1, 3}));
    EXPECT_EQ(part.streams[2].values, (std::vector<float>{7, 8}));
    labels->InitAsFrameMode(3);
    whole.streams[1].columns = 3;
    EXPECT_EQ(MessageOf(ErrorKind::Config, [&] { TakePart(whole, 0, 2, Axes::Several, part); }),
              "numSubminibatches and maxSamplesInRAM need the same sequences in all streams; in one "
              "minibatch one of them has 3, another 4");
}

} // namespace cntk
