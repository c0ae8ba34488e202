// Lines across pieces, line ends, and the pipe that delivers minibatches.
#include "Common/DataFile.h"
#include "Readers/ReaderLib/MinibatchPipe.h"
#include "ReadersTests/SequenceTestTools.h"

#include <random>

namespace cntk
{
namespace
{

using testing::ElementsAre;

using DataFileTests = ReaderTest;

TEST_F(DataFileTests, LinesOfAllLengths)
{
    std::vector<std::string> lines;
    std::string text = "\xEF\xBB\xBF";
    for (const size_t length : {0u, 3u, 100000u, 1u, 300000u, 262144u, 262143u, 0u, 5u})
    {
        lines.push_back(std::string(length, char('a' + lines.size())));
        text += lines.back() + (lines.size() % 2 == 0 ? "\r\n" : "\n");
    }
    text.pop_back(); // the last line has no newline
    LineReader reader(Write("lines.txt", text));
    for (int round = 0; round < 2; ++round)
    {
        std::string_view line;
        for (size_t i = 0; i < lines.size(); ++i)
        {
            ASSERT_TRUE(reader.Next(line));
            ASSERT_EQ(line, lines[i]) << i;
            ASSERT_EQ(reader.LineNumber(), i + 1);
        }
        EXPECT_EQ(reader.Location(line.substr(2)), Path("lines.txt") + ":9:3");
        EXPECT_FALSE(reader.Next(line));
        reader.Rewind();
    }
    EXPECT_EQ(MessageOf([&] { LineReader(Write("empty.txt", "")); }),
              "data: data file '" + Path("empty.txt") + "' is empty");
    EXPECT_EQ(MessageOf([&] { LineReader(Path("nothing.txt")); }),
              "data: data file '" + Path("nothing.txt") + "' does not exist");
}

// All words of such files would be unknown, without an error.
TEST_F(DataFileTests, RefusesOtherThanPlainText)
{
    const auto messageOf = [&](std::string_view text)
    { return MessageOf([&] { LineReader(Write("text.txt", text)); }); };
    const std::string name = "data: data file '" + Path("text.txt") + "' ";
    EXPECT_EQ(messageOf(std::string_view("\xFF\xFE<\0/\0", 6)), name + "is UTF-16 text, expected UTF-8 or ASCII");
    EXPECT_EQ(messageOf("\x1F\x8B\x08"), "data: file '" + Path("text.txt") +
                                             "' is compressed by gzip, but incomplete: it ends at byte 3, 0 bytes into "
                                             "the text");
    EXPECT_EQ(messageOf("\x1F\x8B"), name + "is compressed in a way that the program does not read; unpack it");
    EXPECT_EQ(messageOf(std::string_view("a\nb\0", 4)),
              name + "has a zero byte in line 2, expected UTF-8 or ASCII text; is it UTF-16, or a binary file?");
    EXPECT_EQ(messageOf("</s> a </s>\r</s> b </s>\r"),
              name + "has carriage returns without newlines, the first as byte 12; expected lines that end with LF or "
                     "CR LF");
    EXPECT_EQ(messageOf("</s> a </s>\r"), "no error");
}

// Script files of HTK may come from old systems.
TEST_F(DataFileTests, ListsMayEndLinesWithReturns)
{
    const std::string longLine(300000, 'x');
    LineReader reader(Write("list.scp", "\xEF\xBB\xBF"
                                        "a\rb\r\n\r\r\n" +
                                            longLine + "\r\nlast\r"),
                      "script file");
    std::vector<std::string> lines;
    for (std::string_view line; reader.Next(line);)
        lines.emplace_back(line);
    EXPECT_EQ(lines, (std::vector<std::string>{"a", "b", "", "", longLine, "last"}));
    EXPECT_EQ(reader.Location(), Path("list.scp") + ":6");
    LineReader empty(Write("empty.scp", ""), "script file");
    std::string_view line;
    EXPECT_FALSE(empty.Next(line));
    EXPECT_EQ(MessageOf([&] { LineReader(Path("nothing.scp"), "script file"); }),
              "data: script file '" + Path("nothing.scp") + "' does not exist");
}

TEST_F(DataFileTests, Tokens)
{
    std::vector<std::string_view> tokens{"old"};
    SplitTokens(" a\t\tbc \r", tokens);
    EXPECT_THAT(tokens, ElementsAre("a", "bc"));
    SplitTokens(" \t", tokens);
    EXPECT_TRUE(tokens.empty());
}

TEST_F(DataFileTests, PipeDeliversInOrderAndPassesErrorsOn)
{
    for (const bool ahead : {false, true})
    {
        MinibatchPipe<float> pipe(m_log);
        int made = 0;
        pipe.Start(
            [&](MinibatchSlot<float>& slot)
            {
                slot.Prepare(1);
                slot.streams[0].values.assign(1, float(made));
                slot.log += "item " + std::to_string(made) + "\n";
                if (++made == 4)
                    Fail(ErrorKind::Data, "the fourth one");
                return true;
            },
            ahead);
        HostMinibatch<float> minibatch;
        for (int i = 0; i < 3; ++i)
        {
            ASSERT_TRUE(pipe.Next(minibatch));
            EXPECT_EQ(minibatch.streams.at(0).values.at(0), float(i));
        }
        EXPECT_EQ(MessageOf([&] { pipe.Next(minibatch); }), "data: the fourth one");
        pipe.Stop();
    }
    EXPECT_THAT(LogText(), testing::HasSubstr("item 0\nitem 1\nitem 2\n"));
}

} // namespace
} // namespace cntk
