// Lines, columns and excerpts.
#include "Common/SourceText.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

SourcePos At(const std::string& text, size_t offset, size_t length = 1)
{
    return {std::make_shared<const SourceText>("f", text), offset, length};
}

TEST(SourceTextTests, LinesAndColumns)
{
    const SourceText text("f", "ab\r\ncd\n\nx");
    EXPECT_EQ(text.LineOf(0), 1u);
    EXPECT_EQ(text.LineOf(3), 1u);
    EXPECT_EQ(text.LineOf(4), 2u);
    EXPECT_EQ(text.ColumnOf(5), 2u);
    EXPECT_EQ(text.LineOf(7), 3u);
    EXPECT_EQ(text.LineOf(100), 4u);
    EXPECT_EQ(text.ColumnOf(100), 2u);
    EXPECT_EQ(text.LineAt(1), "ab");
    EXPECT_EQ(text.LineAt(7), "");
    EXPECT_EQ(text.LineAt(8), "x");
    EXPECT_EQ(SourceText("f", "").LineAt(0), "");
}

TEST(SourceTextTests, Excerpts)
{
    EXPECT_EQ(SourcePos().Location(), "");
    EXPECT_EQ(SourcePos().Excerpt(), "");
    EXPECT_EQ(At("ab cd", 3, 2).Location(), "f:1:4");
    EXPECT_EQ(At("ab cd", 3, 2).Excerpt(), "    1 | ab cd\n      |    ^~");
    EXPECT_EQ(At("\tab\tcd", 4, 9).Excerpt(), "    1 | \tab\tcd\n      | \t  \t^~");
    EXPECT_EQ(At("ab", 2).Excerpt(), "    1 | ab\n      |   ^");
    EXPECT_EQ(At("", 0).Excerpt(), "    1 | \n      | ^");
}

TEST(SourceTextTests, LongLinesAreCut)
{
    const std::string line = std::string(200, 'x') + "here" + std::string(300, 'y');
    EXPECT_EQ(At(line, 200, 4).Excerpt(), "    1 | ..." + std::string(60, 'x') + "here" + std::string(46, 'y') +
                                              "...\n      |    " + std::string(60, ' ') + "^~~~");
    EXPECT_EQ(At(line, 0).Excerpt(), "    1 | " + std::string(110, 'x') + "...\n      | ^");
}

} // namespace
} // namespace cntk
