// Effects of signals on a process, tested with child processes.
#include "Common/File.h"
#include "Common/Interruption.h"
#include "CommonTests/TemporaryFolder.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace cntk
{

namespace
{

// Returns the wait status of a child that runs the body with our handlers and exits with 1 if the body returns. The
// child does not inherit ignored signals, which a background job of a script has.
int StatusOf(const std::function<void()>& body, int ignored = 0)
{
    const pid_t child = ::fork();
    if (child == 0)
    {
        for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE})
            std::signal(number, number == ignored ? SIG_IGN : SIG_DFL);
        InstallSignalHandlers();
        body();
        ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
}

} // namespace

TEST(Interruption, ASignalEndsTheProgramAndTakesTemporaryFilesAlong)
{
    const std::string folder =
        (std::filesystem::temp_directory_path() / ("cntk_interruption_" + std::to_string(::getpid()))).string();
    std::filesystem::create_directories(folder);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE})
    {
        const int status = StatusOf(
            [&]
            {
                AtomicFile whole(folder + "/whole");
                whole.Write("all of it");
                whole.Commit();
                AtomicFile begun(folder + "/begun");
                begun.Write("some of it");
                if (!FileExists(folder + "/begun.tmp"))
                    ::_exit(2);
                ::raise(number);
            });
        EXPECT_TRUE(WIFSIGNALED(status)) << status;
        EXPECT_EQ(WTERMSIG(status), number);
        EXPECT_TRUE(FileExists(folder + "/whole"));
        EXPECT_FALSE(FileExists(folder + "/begun"));
        EXPECT_FALSE(FileExists(folder + "/begun.tmp"));
    }
    std::filesystem::remove_all(folder);
}

// A write of many nodes has many open files.
TEST(Interruption, ASignalTakesTheTemporaryFilesOfManyOutputsAlong)
{
    const TemporaryFolder folder;
    const int status = StatusOf(
        [&]
        {
            std::vector<std::unique_ptr<AtomicFile>> files;
            for (int i = 0; i < 100; ++i)
            {
                files.push_back(std::make_unique<AtomicFile>(folder / ("out." + std::to_string(i))));
                files.back()->Stage();
            }
            ::raise(SIGTERM);
        });
    EXPECT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_TRUE(std::filesystem::is_empty(folder.Path()));
}

// Also between creating a file and marking it, and between renaming it and clearing its mark.
TEST(Interruption, ASignalTakesAlongWhatOtherThreadsAreMaking)
{
    for (int round = 0; round < 100; ++round)
    {
        const TemporaryFolder folder;
        const int status = StatusOf(
            [&]
            {
                std::vector<std::thread> writers;
                for (int i = 0; i < 3; ++i)
                {
                    writers.emplace_back(
                        [&folder, i]
                        {
                            for (;;)
                                AtomicFile(folder / ("out." + std::to_string(i))).Write("some of it");
                        });
                }
                std::this_thread::sleep_for(std::chrono::microseconds(20 * round));
                ::kill(::getpid(), SIGTERM);
                for (std::thread& writer : writers)
                    writer.join();
            });
        ASSERT_TRUE(WIFSIGNALED(status)) << status;
        ASSERT_EQ(WTERMSIG(status), SIGTERM);
        ASSERT_TRUE(std::filesystem::is_empty(folder.Path())) << round;
    }
}

TEST(Interruption, AGracefulStopTakesTheFirstSignalAndNotTheSecond)
{
    const int status = StatusOf(
        []
        {
            const GracefulStop graceful;
            if (StopRequested())
                ::_exit(2);
            ::raise(SIGTERM);
            if (!StopRequested())
                ::_exit(3);
            ::raise(SIGINT);
        });
    EXPECT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), SIGINT);
}

TEST(Interruption, ATerminalThatIsClosedTwiceIsOneWish)
{
    const int status = StatusOf(
        []
        {
            const GracefulStop graceful;
            ::raise(SIGHUP);
            ::raise(SIGHUP);
            ::_exit(StopRequested() ? 7 : 2);
        });
    EXPECT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), 7);
}

// Ctrl-C also ends the program that reads the log, and later writes to it fail.
TEST(Interruption, ALostReaderIsAWishToStopAndNeverTheSecondOne)
{
    for (const int other : {SIGPIPE, SIGINT, SIGTERM, SIGHUP})
    {
        for (const bool isLostFirst : {false, true})
        {
            const int status = StatusOf(
                [&]
                {
                    {
                        const GracefulStop graceful;
                        ::raise(isLostFirst ? SIGPIPE : other);
                        if (!StopRequested())
                            ::_exit(2);
                        ::raise(isLostFirst ? other : SIGPIPE);
                    }
                    ::raise(SIGPIPE); // the last words of a training that stopped
                    ::_exit(7);
                });
            EXPECT_TRUE(WIFEXITED(status)) << status;
            EXPECT_EQ(WEXITSTATUS(status), 7);
        }
    }
    const int status = StatusOf(
        []
        {
            const GracefulStop graceful;
            ::raise(SIGPIPE);
            ::raise(SIGINT);
            ::raise(SIGTERM);
        });
    EXPECT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(Interruption, WhatWasIgnoredStaysIgnored)
{
    const int status = StatusOf(
        []
        {
            ::raise(SIGINT);
            ::_exit(StopRequested() ? 2 : 0);
        },
        SIGINT);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

} // namespace cntk
