// Lines as records: blank lines, line ends, the last line, lazy search, missing and empty files.
#include "Readers/ReaderLib/LineIndex.h"
#include "ReadersTests/ReaderTestTools.h"

namespace cntk
{
namespace
{

class LineIndexTests : public ReaderTest
{
protected:
    std::string Line(const LineIndex& index, size_t record)
    {
        const size_t offset = index.OffsetOf(record);
        return std::string(index.Text().substr(offset, index.NextLine(offset) - offset));
    }
};

TEST_F(LineIndexTests, FindsRecords)
{
    LineIndex index(Write("data.txt", "1\n\n 2\r\n  \r\n\t\n3"));
    EXPECT_EQ(index.Extend(SIZE_MAX), 3u);
    EXPECT_TRUE(index.IsComplete());
    EXPECT_EQ(Line(index, 0), "1\n");
    EXPECT_EQ(Line(index, 1), " 2\r\n");
    EXPECT_EQ(Line(index, 2), "3");
    EXPECT_EQ(index.LineNumber(index.OffsetOf(2)), 6u);
}

TEST_F(LineIndexTests, TrailingBlankLinesAreNoRecords)
{
    LineIndex index(Write("data.txt", "\xEF\xBB\xBF"
                                      "1\n2\n\n   \n"));
    EXPECT_EQ(index.Extend(1), 1u);
    EXPECT_FALSE(index.IsComplete());
    EXPECT_EQ(index.Extend(2), 2u);
    EXPECT_TRUE(index.IsComplete());
    EXPECT_EQ(Line(index, 0), "1\n");
}

TEST_F(LineIndexTests, ManyRecords)
{
    std::string text;
    for (int i = 0; i < 1000; ++i)
        text += std::to_string(i) + (i % 7 == 0 ? "\n\n" : "\n");
    LineIndex index(Write("data.txt", text));
    EXPECT_EQ(index.Extend(100), 100u);
    EXPECT_EQ(Line(index, 99), "99\n");
    EXPECT_EQ(index.Extend(SIZE_MAX), 1000u);
    for (size_t i = 0; i < 1000; ++i)
        ASSERT_EQ(Line(index, i), std::to_string(i) + "\n");
}

TEST_F(LineIndexTests, MissingAndEmptyFiles)
{
    Write("train.txt", "1\n");
    const std::string empty = Write("empty.txt", "");
    const std::string blank = Write("blank.txt", " \n\t\r\n");
    EXPECT_THAT(MessageOf([&] { LineIndex index(Path("trian.txt")); }),
                testing::AllOf(testing::StartsWith("data: data file '" + Path("trian.txt") + "' does not exist"),
                               testing::HasSubstr("train.txt")));
    EXPECT_EQ(MessageOf([&] { LineIndex index(empty); }), "data: data file '" + empty + "' is empty");
    EXPECT_EQ(MessageOf([&] { LineIndex index(blank); }), "data: data file '" + blank + "' has blank lines only");
}

} // namespace
} // namespace cntk
