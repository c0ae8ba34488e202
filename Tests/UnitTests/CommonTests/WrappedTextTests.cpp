#include "Common/WrappedText.h"

#include <gtest/gtest.h>

namespace cntk
{

TEST(WrappedTextTest, LinesBreakAtBlanks)
{
    EXPECT_EQ(Wrapped("one two three four", 0, 0, 9), "one two\nthree\nfour");
    EXPECT_EQ(Wrapped("one  two\n three", 2, 0, 9), "one two\n  three");
}

TEST(WrappedTextTest, TheFirstLineMayBeginBeforeOrAfterTheIndent)
{
    EXPECT_EQ(Wrapped("1 two three", 4, 2, 12), "1 two\n    three");
    EXPECT_EQ(Wrapped("one two", 2, 8, 12), "one\n  two");
}

TEST(WrappedTextTest, LongWordsStayWhole)
{
    EXPECT_EQ(Wrapped("a/long/path b", 1, 0, 5), "a/long/path\n b");
    EXPECT_EQ(Wrapped("", 3, 0), "");
}

} // namespace cntk
