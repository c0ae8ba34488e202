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

TEST(SourceTextTests, TheCaretStandsUnderTheWordWhateverTheLettersBefore)
{
    EXPECT_EQ(At("größe=x", 8).Excerpt(), "    1 | größe=x\n      |       ^");
    EXPECT_EQ(At("größe=x", 8).Location(), "f:1:9");
    EXPECT_EQ(At("größe=x", 0, 7).Excerpt(), "    1 | größe=x\n      | ^~~~~");
    EXPECT_EQ(At("模型\tö=x", 10).Excerpt(), "    1 | 模型\tö=x\n      |     \t  ^");
    EXPECT_EQ(At("e\u0301=x", 4).Excerpt(), "    1 | e\u0301=x\n      |   ^");
    EXPECT_EQ(At("\xff\x80=x", 3).Excerpt(), "    1 | \xff\x80=x\n      |   ^");
}

TEST(SourceTextTests, NoLetterIsCutInTwo)
{
    std::string line;
    for (int i = 0; i < 200; ++i)
        line += "ö";
    const auto letters = [&](size_t count) { return line.substr(0, 2 * count); };
    EXPECT_EQ(At("x" + line, 0).Excerpt(), "    1 | x" + letters(54) + "...\n      | ^");
    EXPECT_EQ(At(line + "x" + line, 400).Excerpt(),
              "    1 | ..." + letters(30) + "x" + letters(24) + "...\n      |    " + std::string(30, ' ') + "^");
    EXPECT_EQ(At(line + "xx" + line, 401).Excerpt(),
              "    1 | ..." + letters(30) + "xx" + letters(24) + "...\n      |    " + std::string(31, ' ') + "^");
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
