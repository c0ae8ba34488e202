// Minibatch layouts: frame mode, sequences that cross the borders of a minibatch, gaps, and frame ranges.
#include "Common/MBLayout.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

TEST(MBLayoutTests, FrameModeHasOneColumnASequence)
{
    MBLayout layout;
    layout.InitAsFrameMode(5);
    EXPECT_TRUE(layout.IsFrameMode());
    EXPECT_EQ(layout.ParallelSequences(), 5u);
    EXPECT_EQ(layout.TimeSteps(), 1u);
    EXPECT_EQ(layout.ActualSamples(), 5u);
    EXPECT_FALSE(layout.HasGaps());
    EXPECT_TRUE(layout.ColumnMask().empty());
    EXPECT_TRUE(layout.Sequences().empty());
    EXPECT_FALSE(layout.IsGap(4, 0));
    EXPECT_TRUE(layout.IsBeyondStart(2, 0, 1));
    EXPECT_TRUE(layout.IsBeyondEnd(2, 0, 1));
    EXPECT_FALSE(layout.IsBeyondStart(2, 0, 0));
}

TEST(MBLayoutTests, VersionGrowsWithChangesOnly)
{
    MBLayout layout;
    layout.InitAsFrameMode(5);
    const uint64_t version = layout.Version();
    layout.InitAsFrameMode(5);
    EXPECT_EQ(layout.Version(), version);
    layout.InitAsFrameMode(4);
    EXPECT_GT(layout.Version(), version);
}

// One layout object is reused for frames and sequences with the same number of columns.
TEST(MBLayoutTests, FramesAndSequencesTakeTurns)
{
    MBLayout layout;
    for (int again = 0; again < 2; ++again)
    {
        layout.InitAsFrameMode(3);
        EXPECT_TRUE(layout.IsFrameMode());
        EXPECT_FALSE(layout.HasGaps());
        EXPECT_TRUE(layout.Sequences().empty());
        EXPECT_TRUE(layout.IsBeyondStart(0, 0, 1));
        layout.Init(3, 1);
        EXPECT_FALSE(layout.IsFrameMode());
        layout.AddSequence(4, 0, -1, 2);
        EXPECT_FALSE(layout.IsBeyondStart(0, 0, 1));
        EXPECT_FALSE(layout.IsBeyondEnd(0, 0, 1));
        EXPECT_EQ(layout.ActualSamples(), 1u);
    }
}

TEST(MBLayoutTests, SequencesAndGaps)
{
    // row 0: sequence 7 over steps 0..2, then a gap; row 1: sequence 8 that began two steps before and ends at step 1,
    // then sequence 9 that continues in the next minibatch.
    MBLayout layout;
    layout.Init(2, 4);
    EXPECT_EQ(layout.ActualSamples(), 0u);
    layout.AddSequence(7, 0, 0, 3);
    layout.AddGap(0, 3, 4);
    layout.AddSequence(8, 1, -2, 2);
    layout.AddSequence(9, 1, 2, 6);
    EXPECT_EQ(layout.Columns(), 8u);
    EXPECT_EQ(layout.ActualSamples(), 7u);
    EXPECT_TRUE(layout.HasGaps());
    EXPECT_EQ(layout.ColumnMask(), (std::vector<uint8_t>{1, 1, 1, 1, 1, 1, 0, 1}));
    EXPECT_TRUE(layout.IsGap(0, 3));
    EXPECT_FALSE(layout.IsGap(1, 3));

    EXPECT_TRUE(layout.IsBeyondStart(0, 0, 1));
    EXPECT_FALSE(layout.IsBeyondStart(0, 1, 1));
    EXPECT_TRUE(layout.IsBeyondStart(0, 1, 2));
    EXPECT_TRUE(layout.IsBeyondEnd(0, 2, 1));
    EXPECT_TRUE(layout.IsBeyondStart(0, 3, 1)); // a gap starts anew
    EXPECT_TRUE(layout.IsBeyondEnd(0, 3, 1));

    EXPECT_FALSE(layout.IsBeyondStart(1, 0, 1)); // state carried over from the minibatch before
    EXPECT_FALSE(layout.IsBeyondStart(1, 0, 2));
    EXPECT_TRUE(layout.IsBeyondStart(1, 0, 3));
    EXPECT_TRUE(layout.IsBeyondStart(1, 2, 1));
    EXPECT_TRUE(layout.IsBeyondEnd(1, 1, 1));
    EXPECT_FALSE(layout.IsBeyondEnd(1, 3, 2)); // goes on in the next minibatch
    EXPECT_TRUE(layout.IsBeyondEnd(1, 3, 3));
}

TEST(MBLayoutTests, MaskIsEmptyOnceAllIsCovered)
{
    MBLayout layout;
    layout.Init(2, 2);
    layout.AddSequence(0, 0, 0, 2);
    EXPECT_EQ(layout.ColumnMask(), (std::vector<uint8_t>{1, 0, 1, 0}));
    layout.AddSequence(1, 1, 0, 2);
    EXPECT_FALSE(layout.HasGaps());
    EXPECT_TRUE(layout.ColumnMask().empty());
    EXPECT_FALSE(layout.IsGap(1, 1));
}

TEST(MBLayoutTests, Equality)
{
    MBLayout a, b;
    a.Init(1, 3);
    a.AddSequence(0, 0, 0, 3);
    b.Init(1, 3);
    EXPECT_FALSE(a == b);
    b.AddSequence(0, 0, 0, 3);
    EXPECT_TRUE(a == b);
    for (const SequenceInfo& other : {SequenceInfo{1, 0, 0, 3}, {0, 0, -1, 3}, {0, 0, 0, 4}})
    {
        b.Init(1, 3);
        b.AddSequence(other.id, other.row, other.begin, other.end);
        EXPECT_FALSE(a == b);
    }
    b.InitAsFrameMode(3);
    EXPECT_FALSE(a == b);
}

// A list of sequences of one step each equals frame mode. A node that picks one frame per sequence makes such a list.
TEST(MBLayoutTests, ListedSequencesOfOneStepAreThoseOfFrameMode)
{
    MBLayout frames, listed;
    frames.InitAsFrameMode(2);
    listed.Init(2, 1);
    listed.AddSequence(0, 0, 0, 1);
    EXPECT_FALSE(listed == frames); // a gap
    listed.AddSequence(1, 1, 0, 1);
    EXPECT_TRUE(listed == frames);
    EXPECT_TRUE(frames == listed);
    listed.Init(2, 1);
    listed.AddSequence(1, 0, 0, 1);
    listed.AddSequence(0, 1, 0, 1);
    EXPECT_FALSE(listed == frames); // in another order
    listed.Init(2, 1);
    listed.AddSequence(0, 0, -1, 1);
    listed.AddSequence(1, 1, 0, 1);
    EXPECT_FALSE(frames == listed); // one began before
}

TEST(MBLayoutTests, FrameRangeSelectsColumns)
{
    MBLayout layout;
    layout.Init(3, 4);
    EXPECT_EQ(FrameRange::All().FirstColumn(&layout), 0u);
    EXPECT_EQ(FrameRange::All().ColumnCount(&layout, 12), 12u);
    EXPECT_EQ(FrameRange::Step(2).FirstColumn(&layout), 6u);
    EXPECT_EQ(FrameRange::Step(2).ColumnCount(&layout, 12), 3u);
    EXPECT_EQ(FrameRange::Step(2).FirstColumn(nullptr), 0u);
    EXPECT_EQ(FrameRange::Step(2).ColumnCount(nullptr, 5), 5u);
}

} // namespace
} // namespace cntk
