#include "Common/Text.h"

#include <gtest/gtest.h>

namespace cntk
{

TEST(CountedTests, OneIsSingular)
{
    EXPECT_EQ(Counted(1, "row"), "1 row");
    EXPECT_EQ(Counted(0, "row"), "0 rows");
    EXPECT_EQ(Counted(21, "row"), "21 rows");
    EXPECT_EQ(Counted(2, "class"), "2 classes");
    EXPECT_EQ(Counted(2, "minibatch"), "2 minibatches");
    EXPECT_EQ(Counted(2, "epoch"), "2 epochs");
    EXPECT_EQ(Counted(1, "entry"), "1 entry");
    EXPECT_EQ(Counted(3, "entry"), "3 entries");
}

} // namespace cntk
