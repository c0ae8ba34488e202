// Messages of CNTKTextFormatReader about malformed files and configs.
#include "Readers/CNTKTextFormatReader/CtfReader.h"
#include "ReadersTests/SequenceTestTools.h"

namespace cntk
{
namespace
{

class CtfMessagesTests : public ReaderTest
{
protected:
    std::unique_ptr<IDataReader<double>> Make(const std::string& block)
    {
        m_config = ConfigParameters::Parse("reader=[\n" + OnLines(block) + "\n]", "test.cntk");
        return MakeCtfReader<double>({m_config->RequireBlock("reader"), m_log});
    }
    // Returns the error for a file with the streams x (dense, 2) and s (sparse, 9), without "data: <file>:".
    std::string ErrorOf(const std::string& text, const std::string& more = "")
    {
        Write("data.txt", text);
        const std::string message = ErrorOfReading(
            [&]
            {
                return Make("file=" + Path("data.txt") +
                            " randomize=none input=[x=[dim=2 format=dense] s=[dim=9 format=sparse]] " + more);
            });
        const std::string prefix = "data: " + Path("data.txt") + ":";
        return message.rfind(prefix, 0) == 0 ? message.substr(prefix.size()) : message;
    }
    std::string ConfigErrorOf(const std::string& block)
    {
        return MessageOf([&] { Make(block); });
    }
};

TEST_F(CtfMessagesTests, MalformedSamples)
{
    EXPECT_EQ(ErrorOf("1 |x 1 2 |s 1:1\n1 |x 2,0 |s\n"), "2:6: expected a number of stream 'x', found '2,0'");
    EXPECT_EQ(ErrorOf("1 |x 1 1e309 |s 1:1\n"),
              "1:8: expected a number of stream 'x' within the range of precision=double, found '1e309'");
    EXPECT_EQ(ErrorOf("1 |x 1 2 |s 1:-1e400\n"),
              "1:15: expected a number of stream 's' within the range of precision=double, found '-1e400'");
    EXPECT_EQ(ErrorOf("1 |x 2.0f\n"), "1:6: expected a number of stream 'x', found '2.0f'");
    EXPECT_EQ(ErrorOf("1 |x 1 2 3|s 1:1\n"),
              "1:10: stream 'x' has more than dim=2 values, expected the end of the sample, found '3'");
    EXPECT_EQ(ErrorOf("1 |x 1|s 2:\n"),
              "1:12: expected a number of sparse stream 's' after ':', found the end of the row");
    EXPECT_EQ(ErrorOf("1 |x 1|s 2\n"), "1:10: expected a pair index:value of sparse stream 's', found '2'");
    EXPECT_EQ(ErrorOf("1 |x 1|s -2:1\n"), "1:10: expected a pair index:value of sparse stream 's', found '-2:1'");
    EXPECT_EQ(ErrorOf("1 |x 1|s 2.5:1\n"), "1:10: expected a pair index:value of sparse stream 's', found '2.5:1'");
    EXPECT_EQ(ErrorOf("1 |x 1|s 9:1\n"), "1:10: index 9 of sparse stream 's' is too large, expected less than dim=9");
    EXPECT_EQ(ErrorOf("1 |x 1|s 99999999999999999999:1\n"),
              "1:10: index 99999999999999999999 of sparse stream 's' is too large, expected less than dim=9");
    EXPECT_EQ(ErrorOf("1 | x 1|s 2:1\n"), "1:4: expected the name of a stream after '|', found a blank");
    EXPECT_EQ(ErrorOf("1 |x 1|s 2:1\n1 x 3\n"), "2:3: expected '|' and the name of a stream, found 'x'");
    EXPECT_EQ(ErrorOf("1 |x 1|s 2:1\n\n"),
              "2:1: expected a sequence id or '|' and the name of a stream, found a blank line");
    EXPECT_EQ(ErrorOf("1 |x 1|x 2|s 2:1\n"),
              "1:8: stream 'x' has more samples than the sequence has rows (1), expected one a row");
    EXPECT_EQ(ErrorOf("1 |s 2:1 |x 1 2"),
              "1:16: expected a newline, found the end of the file; the last sample may be cut off");
}

TEST_F(CtfMessagesTests, SequencesWithoutASample)
{
    EXPECT_EQ(ErrorOf("5 |x 1|s 1:1\n6 |x 1\n6 |x 2\n"),
              "2: sequence 6 has no sample of stream 's', expected one at least");
    EXPECT_EQ(ErrorOf("|x 1|s 1:1\n|x 1\n"), "2: the row has no sample of stream 's', expected one at least");
    EXPECT_EQ(ErrorOf("|#s S |x 1 |S 1:1\n"),
              "1: the row has no sample of stream 's', expected one at least; did you mean 'S'?");
    // The message names the malformed samples of the sequence; those of other sequences are in the log.
    for (const std::string trace : {"", " traceLevel=0"})
        EXPECT_EQ(ErrorOf("5 |x a\n5 |x 1|s 1:1\n6 |x 1|s b\n6 |x 2|s c\n", "maxErrors=9" + trace),
                  "3: sequence 6 has no sample of stream 's', expected one at least; malformed samples were dropped: " +
                      Path("data.txt") + ":3:10: expected a pair index:value of sparse stream 's', found 'b'; " +
                      Path("data.txt") + ":4:10: expected a pair index:value of sparse stream 's', found 'c'");
}

TEST_F(CtfMessagesTests, ErrorsAreToleratedUpToALimit)
{
    const std::string text = "1 |x 1 |s 1:1\n1 |x a |s 1:1\n1 |x b |s 1:x\n";
    EXPECT_EQ(ErrorOf(text, "maxErrors=3"), "no error");
    EXPECT_THAT(LogText(), testing::HasSubstr("WARNING: " + Path("data.txt") +
                                              ":3:13: expected a number of sparse stream 's' after ':', found 'x'\n"));
    EXPECT_EQ(ErrorOf(text, "maxErrors=2"), "3:13: expected a number of sparse stream 's' after ':', found 'x'; that "
                                            "is one malformed sample more than maxErrors=2");
    // A disk error leaves malformed bytes.
    Write("zeros.txt", std::string_view("1 |x 1\n\0\0\0\n2 |x 2\n", 18));
    auto reader = Make("file=" + Path("zeros.txt") + " randomize=none maxErrors=1 input=[x=[dim=1 format=dense]]");
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 4), 0), testing::ElementsAre("frames 2; 1; 2"));
}

// A sample that is parsed again in the next epoch counts as one error.
TEST_F(CtfMessagesTests, ErrorsAreCountedOnce)
{
    Write("data.txt", "1 |x 1\n1 |x a\n2 |x 2\n");
    auto reader = Make("file=" + Path("data.txt") +
                       " maxErrors=1 chunkSizeInBytes=10 numChunksToCache=1 input=[x=[dim=1 format=dense]]");
    for (size_t epoch = 0; epoch < 3; ++epoch)
        EXPECT_EQ(ReadStream(*reader, MakeRequest(epoch, 1), 0).size(), 2u);
}

TEST_F(CtfMessagesTests, FilesThatCannotBeRead)
{
    EXPECT_EQ(ErrorOf(""), "data: data file '" + Path("data.txt") + "' is empty");
    EXPECT_EQ(ErrorOf("\xFF\xFE|\0x"),
              "data: data file '" + Path("data.txt") + "' is UTF-16 text, expected UTF-8 or ASCII");
    EXPECT_EQ(ErrorOf("99999999999999999999999 |x 1\n"),
              "1: the sequence id is too large, expected a number below 2^64");
    EXPECT_EQ(ErrorOf("18446744073709551616 |x 1\n"), ErrorOf("99999999999999999999999 |x 1\n"));
    EXPECT_EQ(ErrorOf("18446744073709551610 |x 1 |s 1:1\n18446744073709551615 |x 1 |s 1:1\n"), "no error");
    EXPECT_THAT(ConfigErrorOf("file=" + Path("dta.txt") + " input=[x=[dim=1 format=dense]]"),
                testing::HasSubstr("data: data file '" + Path("dta.txt") + "' does not exist"));
}

TEST_F(CtfMessagesTests, TruncatedStreamsMustHaveOneLength)
{
    for (const std::string other : {"frameMode", "skipSequenceIds"})
        EXPECT_THAT(ErrorOf("3 |x 1 |s 1:1\n", "truncated=true " + other + "=true"),
                    testing::EndsWith("truncated=true cuts sequences into pieces, but with " + other +
                                      "=true each row is a sequence of its own; expected one of the two"));
    EXPECT_EQ(ErrorOf("3 |x 1 |s 1:1\n3 |x 1\n", "truncated=true"),
              " sequence 3 has 2 samples of stream 'x' and 1 of stream 's'; expected the same number, since "
              "truncated=true cuts them together");
    Write("data.txt", "3 |x 1\n");
    auto reader =
        Make("file=" + Path("data.txt") + " truncated=true truncationLength=1 input=[x=[dim=1 format=dense]]");
    EXPECT_EQ(MessageOf([&] { reader->StartEpoch(MakeRequest(0, size_t(1) << 62)); }),
              "config: minibatchSize: a minibatch of 4611686018427387904 samples is too large; at most 2147483647 "
              "samples can be in one");
}

TEST_F(CtfMessagesTests, Configs)
{
    Write("data.txt", "|x 1\n");
    const std::string file = "file=" + Path("data.txt");
    EXPECT_THAT(ConfigErrorOf(file), testing::HasSubstr("config: the reader has no streams"));
    EXPECT_EQ(
        ConfigErrorOf(file + " x=[dim=1 format=dense] y=[dim=1 format=dense]"),
        "config: the blocks of streams, here x, y, must stand inside a block input; expected input=[ x=[ ... ] ... ]");
    EXPECT_THAT(ConfigErrorOf(file + " input=[x=[dim=1 format=thick]]"), testing::HasSubstr("thick"));
    EXPECT_THAT(ConfigErrorOf(file + " input=[x=[format=dense]]"), testing::HasSubstr("dim"));
    EXPECT_EQ(ConfigErrorOf(file + " input=[x=[dim=1 format=dense] y=[alias=x dim=1 format=dense]]"),
              "config: 'y' and 'x' have the same name in the file, 'x'; each stream needs its own");
    EXPECT_EQ(ConfigErrorOf(file + " input=[x=[alias=\"a b\" dim=1 format=dense]]"),
              "config: 'x': the name 'a b' cannot occur in the file: a stream's name has no blanks and no '|'");
}

// The recorded file of malformed rows: its remaining rows are delivered.
TEST_F(CtfMessagesTests, TheOriginalsMalformedRows)
{
    const std::string data = Shared("data/ctf/invalid_inputs.txt");
    if (!FileExists(data))
        GTEST_SKIP() << "no shared test data";
    auto reader = Make("file=" + data +
                       " maxErrors=99999 randomize=none input=[A=[dim=1 format=dense] B=[dim=10 format=sparse]]");
    HostMinibatch<double> minibatch;
    reader->StartEpoch(MakeRequest(0, 1));
    std::vector<size_t> samples;
    while (reader->GetMinibatch(minibatch))
        samples.push_back(minibatch.streams[0].layout->ActualSamples());
    ASSERT_EQ(samples.size(), 7u);
    EXPECT_EQ(samples[4], 1u); // the only well-formed sequence, id 5
    EXPECT_THAT(LogText(), testing::HasSubstr(":2:13: index 10 of sparse stream 'B' is too large"));
    EXPECT_THAT(LogText(), testing::HasSubstr(":6:15: expected a number of sparse stream 'B' after ':', found ':2'"));
}

} // namespace
} // namespace cntk
