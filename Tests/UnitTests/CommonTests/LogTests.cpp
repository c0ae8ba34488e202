// Log lines, warnings and time stamps. Tests have no terminal, so no progress line may appear.
#include "Common/Error.h"
#include "Common/Log.h"
#include "CommonTests/TemporaryFolder.h"
#include "CommonTests/ThrownErrors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

TEST(LogTests, PrintsToStandardError)
{
    ::testing::internal::CaptureStderr();
    {
        Log log;
        log.Print("Epoch[%2d of %d]: %s\n", 1, 10, "x");
        log.Print("%s", std::string(2000, 'y').c_str());
        log.Warn("odd");
        log.Warn("odd");
        log.ShowProgress("50%");
        log.Write("end\n");
        EXPECT_FALSE(log.IsRedirected());
        EXPECT_FALSE(log.HasTerminal());
    }
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "Epoch[ 1 of 10]: x\n" + std::string(2000, 'y') + "\nWARNING: odd\nend\n");
}

TEST(LogTests, RedirectsToAFile)
{
    const TemporaryFolder folder;
    {
        Log log;
        log.RedirectTo(folder / "a\\x.log");
        EXPECT_TRUE(log.IsRedirected());
        log.Print("one\n");
        EXPECT_EQ(folder.Read("a/x.log"), "one\n");
        log.ShowProgress("50%");
        log.RedirectTo(folder / "new/y.log");
        log.Print("two\n");
    }
    EXPECT_EQ(folder.Read("a/x.log"), "one\n");
    EXPECT_EQ(folder.Read("new/y.log"), "two\n");
}

TEST(LogTests, AnExistingLogIsContinuedAfterALineWithTheTime)
{
    const TemporaryFolder folder;
    folder.Write("empty.log", "");
    for (const char* text : {"one\n", "two\n"})
    {
        Log log;
        log.RedirectTo(folder / "empty.log");
        log.Print("%s", text);
    }
    EXPECT_THAT(folder.Read("empty.log"),
                ::testing::MatchesRegex("one\n\n=+ next run: 20../../.. ..:..:.. =+\n\ntwo\n"));
}

TEST(LogTests, RedirectionThatFails)
{
    const TemporaryFolder folder;
    folder.Enter();
    folder.Write("dir/x", "");
    Log log;
    EXPECT_EQ(ReportOf(ErrorKind::Device, [&] { log.RedirectTo("dir"); }),
              "error: cannot write log file 'dir': Is a directory");
    EXPECT_FALSE(log.IsRedirected());
}

class FullLogTests : public ::testing::Test
{
protected:
    template <class Body>
    static void ExpectNoSpace(Body&& body)
    {
        EXPECT_EQ(MessageOf(ErrorKind::Device, [&] { body(); }),
                  "cannot write log file '/dev/full': No space left on device");
    }
};

TEST_F(FullLogTests, TheNextPrintTellsIt)
{
    Log log;
    log.RedirectTo("/dev/full");
    log.Print("one\n");
    ExpectNoSpace([&] { log.Print("two\n"); });
    log.Print("three\n"); // told once: the report of the failure must not fail again
    log.Finish();
}

TEST_F(FullLogTests, TheEndOfTheRunTellsIt)
{
    Log log;
    log.SetTimestamping(true);
    log.RedirectTo("/dev/full");
    log.Print("no newline");
    ExpectNoSpace([&] { log.Finish(); });
}

TEST_F(FullLogTests, WhileAnotherErrorIsReportedNothingIsThrown)
{
    Log log;
    log.RedirectTo("/dev/full");
    log.Print("one\n");
    try
    {
        Fail(ErrorKind::Data, "odd");
    }
    catch (const Error& error)
    {
        EXPECT_NO_THROW(log.Print("%s\n", error.what()));
        EXPECT_NO_THROW(log.Finish());
    }
    ExpectNoSpace([&] { log.Finish(); });
}

TEST(LogTests, AWholeLogFinishesWithoutError)
{
    const TemporaryFolder folder;
    Log log;
    log.RedirectTo(folder / "x.log");
    log.Print("no newline");
    log.Finish();
    EXPECT_EQ(folder.Read("x.log"), "no newline");
}

TEST(LogTests, TimeStampsInFrontOfLines)
{
    const TemporaryFolder folder;
    Log log;
    log.RedirectTo(folder / "x.log");
    log.SetTimestamping(true);
    log.Print("one\n\nt");
    log.Print("wo\n");
    const std::string stamp = "[0-9][0-9]/[0-9][0-9]/20[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9]: ";
    EXPECT_THAT(folder.Read("x.log"), ::testing::MatchesRegex(stamp + "one\n\n" + stamp + "two\n"));
}

} // namespace
} // namespace cntk
