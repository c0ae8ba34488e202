// Numbers in the extra part of checkpoints: the same bits again, and a default for what is missing or damaged.
#include "SGD/CheckpointExtra.h"

#include <bit>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>

namespace cntk
{
namespace
{

TEST(CheckpointExtraTests, NumbersComeBackToTheBit)
{
    for (const double value :
         {0.1, -0.0, 1.0 / 3, 5e-324, std::numeric_limits<double>::max(), std::numeric_limits<double>::infinity()})
        EXPECT_EQ(std::bit_cast<uint64_t>(NumberOf({{"rate", ExactText(value)}}, "rate", 7)),
                  std::bit_cast<uint64_t>(value));
    const std::vector<double> values = {0.1, -1e300, 3};
    EXPECT_EQ(NumbersOf({{"trials", ExactTexts(values)}}, "trials"), values);
    EXPECT_TRUE(NumbersOf({{"trials", ExactTexts({})}}, "trials").empty());
}

TEST(CheckpointExtraTests, WhatCannotBeReadIsTheDefault)
{
    EXPECT_EQ(NumberOf({}, "rate", 7), 7);
    EXPECT_EQ(NumberOf({{"rate", ""}}, "rate", 7), 7);
    EXPECT_EQ(NumberOf({{"rate", "0x1p-3 and more"}}, "rate", 7), 7);
    EXPECT_EQ(TextOf({}, "updateRule"), "");
    EXPECT_TRUE(NumbersOf({}, "trials").empty());
    EXPECT_EQ(NumbersOf({{"trials", "0x1p0 0x1p1 broken 0x1p2"}}, "trials"), (std::vector<double>{1, 2}));
}

} // namespace
} // namespace cntk
