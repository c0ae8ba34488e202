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
    std::string Line(LineIndex& index, size_t record)
    {
        const LineIndex::Piece piece = index.Read(record, 1);
        EXPECT_EQ(piece.records, 1u);
        return std::string(piece.text.substr(0, NextLine(piece.text, 0)));
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
    EXPECT_EQ(index.LineNumber(index.Read(2, 1).offset), 6u);
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

// Lines and gaps longer than a piece of the file.
TEST_F(LineIndexTests, LongLinesAndGaps)
{
    const std::string text = std::string(600000, 'x') + "\n" + std::string(700000, ' ') + "\n  " +
                             std::string(300000, 'y') + "\n" + std::string(300000, '\n') + "z";
    LineIndex index(Write("data.txt", text));
    EXPECT_EQ(index.Extend(1), 1u);
    EXPECT_EQ(Line(index, 0), std::string(600000, 'x') + "\n");
    EXPECT_EQ(index.Extend(SIZE_MAX), 3u);
    EXPECT_EQ(Line(index, 1), "  " + std::string(300000, 'y') + "\n");
    EXPECT_EQ(Line(index, 2), "z");
    EXPECT_EQ(index.LineNumber(index.Read(2, 1).offset), 300004u);
    LineIndex blank(Write("data.txt", std::string(600000, ' ') + "\n1"));
    EXPECT_EQ(blank.Extend(SIZE_MAX), 1u);
    EXPECT_EQ(Line(blank, 0), "1");
}

TEST_F(LineIndexTests, ReadsInPieces)
{
    std::string text;
    for (int i = 0; i < 2000; ++i)
        text += std::to_string(i) + " " + std::string(1000, 'x') + "\n";
    LineIndex index(Write("data.txt", text));
    ASSERT_EQ(index.Extend(SIZE_MAX), 2000u);
    for (size_t first = 3; first < 1990;)
    {
        const LineIndex::Piece piece = index.Read(first, 1990 - first);
        ASSERT_GT(piece.records, 1u);
        ASSERT_LE(first + piece.records, 1990u);
        ASSERT_LT(piece.text.size(), 300000u);
        size_t at = 0;
        for (size_t i = 0; i < piece.records; ++i)
        {
            ASSERT_TRUE(piece.text.substr(at).starts_with(std::to_string(first + i) + " x"));
            at = NextLine(piece.text, at);
        }
        first += piece.records;
    }
}

TEST_F(LineIndexTests, FileThatShrinksOrIsRewritten)
{
    std::string text;
    for (int i = 0; i < 100000; ++i)
        text += std::to_string(i) + "\n";
    const std::string path = Write("data.txt", text);
    LineIndex index(path);
    ASSERT_EQ(index.Extend(60000), 60000u);
    std::filesystem::resize_file(path, 1000);
    const std::string message = "data: data file '" + path + "' changed while it was read (";
    EXPECT_EQ(MessageOf([&] { index.Extend(SIZE_MAX); }), message + "was 588890 bytes, is 1000)");
    EXPECT_EQ(MessageOf([&] { index.Read(30000, 1); }), message + "was 588890 bytes, is 1000)");
    EXPECT_EQ(Line(index, 0), "0\n"); // still there
    Write("data.txt", std::string(588890, ' '));
    EXPECT_EQ(MessageOf([&] { index.Read(30001, 1); }), message + "still 588890 bytes)");
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
