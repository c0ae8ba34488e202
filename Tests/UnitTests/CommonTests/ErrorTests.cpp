// Reports of errors, as the user sees them.
#include "Common/Error.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

TEST(ErrorTests, ExitCodes)
{
    EXPECT_EQ(ExitCodeOf(ErrorKind::Usage), 2);
    EXPECT_EQ(ExitCodeOf(ErrorKind::Config), 3);
    EXPECT_EQ(ExitCodeOf(ErrorKind::Data), 4);
    EXPECT_EQ(ExitCodeOf(ErrorKind::Model), 5);
    EXPECT_EQ(ExitCodeOf(ErrorKind::Device), 6);
    EXPECT_EQ(ExitCodeOf(ErrorKind::Internal), 70);
    EXPECT_STREQ(NameOf(ErrorKind::Usage), "usage");
    EXPECT_STREQ(NameOf(ErrorKind::Config), "config");
    EXPECT_STREQ(NameOf(ErrorKind::Data), "data");
    EXPECT_STREQ(NameOf(ErrorKind::Model), "model");
    EXPECT_STREQ(NameOf(ErrorKind::Device), "device");
    EXPECT_STREQ(NameOf(ErrorKind::Internal), "internal");
}

TEST(ErrorTests, ReportEndsWithTheMessage)
{
    const auto source = std::make_shared<const SourceText>("exp.cntk", "SGD=[\n        minbatchSize = 256\n]");
    Error error(ErrorKind::Config, "unknown option 'minbatchSize'", {source, 14, 12});
    error.AddNote("inner");
    error.AddNote("while preparing command 'Train'");
    EXPECT_EQ(error.Report(), "note: inner\n"
                              "note: while preparing command 'Train'\n"
                              "    2 |         minbatchSize = 256\n"
                              "      |         ^~~~~~~~~~~~\n"
                              "exp.cntk:2:9: error: unknown option 'minbatchSize'");
    EXPECT_STREQ(error.what(), "unknown option 'minbatchSize'");
}

TEST(ErrorTests, NotesAreAddedOnTheWayUp)
{
    try
    {
        WithNote([] { Fail(ErrorKind::Model, "node '", "W1", "': ", 3, " inputs"); }, [] { return std::string("up"); });
        FAIL();
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Report(), "note: up\nerror: node 'W1': 3 inputs");
        EXPECT_EQ(error.Kind(), ErrorKind::Model);
        EXPECT_FALSE(error.Where());
    }
    EXPECT_EQ(WithNote([] { return 5; }, [] { return std::string(); }), 5);
}

TEST(ErrorTests, ControlCharactersAreShownByTheirCodes)
{
    Error error(ErrorKind::Data, std::string("a\0b \x1b[2J \x7f d\u00fc\n\te", 17));
    error.AddNote("\r");
    EXPECT_EQ(error.Report(), "note: \\x0d\nerror: a\\x00b \\x1b[2J \\x7f d\u00fc\\x0a\te");
    const auto source = std::make_shared<const SourceText>("two\nlines", "a\x1b[2J b\n");
    EXPECT_EQ(Error(ErrorKind::Config, "no 'b'", {source, 6, 1}).Report(), "    1 | a?[2J b\n"
                                                                           "      |       ^\n"
                                                                           "two\\x0alines:1:7: error: no 'b'");
}

TEST(ErrorTests, OfAHugeMessageTheEndsAreShown)
{
    const std::string whole(4000, 'x');
    EXPECT_EQ(Error(ErrorKind::Data, whole).Report(), "error: " + whole);
    EXPECT_EQ(Error(ErrorKind::Data, "file '" + std::string(1000000, 'x') + "' is empty").Report(),
              "error: file '" + std::string(2994, 'x') + "[... 996016 bytes ...]" + std::string(990, 'x') +
                  "' is empty");
}

} // namespace
} // namespace cntk
