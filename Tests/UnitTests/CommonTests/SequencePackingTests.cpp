// First-fit packing of sequences.
#include "Common/MBLayout.h"

#include <gtest/gtest.h>
#include <random>
#include <string>

namespace cntk
{
namespace
{

std::string Packed(const std::vector<uint32_t>& lengths)
{
    SequencePacking packing;
    packing.Pack(lengths);
    MBLayout layout;
    packing.Fill(layout, lengths);
    EXPECT_EQ(layout.Columns(), packing.Columns());
    if (layout.IsFrameMode())
        return "frames " + std::to_string(layout.Columns());
    std::string text = std::to_string(layout.ParallelSequences()) + "x" + std::to_string(layout.TimeSteps());
    for (const SequenceInfo& info : layout.Sequences())
        text += (info.id == SequenceInfo::c_gap ? " gap" : " row") + std::to_string(info.row) + "[" +
                std::to_string(info.begin) + "," + std::to_string(info.end) + ")";
    return text;
}

TEST(SequencePackingTests, EachGoesIntoTheFirstRowWithRoom)
{
    EXPECT_EQ(Packed({}), "0x0");
    EXPECT_EQ(Packed({1, 1, 1}), "frames 3");
    EXPECT_EQ(Packed({5}), "1x5 row0[0,5)");
    EXPECT_EQ(Packed({2, 4, 1, 1, 2}), "3x4 row0[0,2) row1[0,4) row0[2,3) row0[3,4) row2[0,2) gap2[2,4)");
}

TEST(SequencePackingTests, NothingIsLeftOfTheMinibatchBefore)
{
    SequencePacking packing;
    packing.Pack(std::vector<uint32_t>{2, 4, 3});
    packing.Pack(std::vector<uint32_t>{1, 2});
    EXPECT_EQ(packing.Rows(), 2u);
    EXPECT_EQ(packing.TimeSteps(), 2u);
    EXPECT_EQ(packing.Places()[0].begin, 0u);
    EXPECT_EQ(packing.Places()[1].row, 1u);
    packing.Pack({});
    EXPECT_EQ(packing.Columns(), 0u);
}

TEST(SequencePackingTests, NothingOverlapsAndNoRowIsWasted)
{
    std::mt19937 random(7);
    for (int round = 0; round < 20; ++round)
    {
        std::vector<uint32_t> lengths(200);
        for (uint32_t& length : lengths)
            length = 1 + random() % 30;
        SequencePacking packing;
        packing.Pack(lengths);
        // Applies the plain rule without shortcuts.
        std::vector<uint32_t> used;
        for (size_t i = 0; i < lengths.size(); ++i)
        {
            size_t row = 0;
            while (row < used.size() && used[row] + lengths[i] > packing.TimeSteps())
                ++row;
            if (row == used.size())
                used.push_back(0);
            ASSERT_EQ(packing.Places()[i].row, row);
            ASSERT_EQ(packing.Places()[i].begin, used[row]);
            used[row] += lengths[i];
        }
        ASSERT_EQ(packing.Rows(), used.size());
    }
}

} // namespace
} // namespace cntk
