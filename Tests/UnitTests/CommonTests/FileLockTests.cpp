// File locks: their holder, their notes, and the files that remain.
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileLock.h"
#include "CommonTests/TemporaryFolder.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace cntk
{

TEST(FileLockTests, OneHoldsItAndIsNamed)
{
    const TemporaryFolder folder;
    folder.Enter();
    {
        FileLock first;
        EXPECT_TRUE(first.Take("m.lock"));
        FileLock second;
        EXPECT_FALSE(second.Take("m.lock"));
        const std::string holder = FileLock::HolderOf("m.lock");
        EXPECT_EQ(holder.find(Concat("process ", ::getpid(), " on ")), 0u) << holder;
    }
    EXPECT_FALSE(FileExists("m.lock"));
    FileLock third;
    EXPECT_TRUE(third.Take("m.lock"));
}

TEST(FileLockTests, AFileThatNobodyHoldsIsTaken)
{
    const TemporaryFolder folder;
    folder.Enter();
    folder.Write("m.lock", "process 1 on a machine that was switched off, and many more words than that");
    {
        FileLock lock;
        EXPECT_TRUE(lock.Take("m.lock"));
        EXPECT_EQ(folder.Read("m.lock"), FileLock::HolderOf("m.lock") + "\n");
    }
    EXPECT_FALSE(FileExists("m.lock"));
    EXPECT_EQ(FileLock::HolderOf("m.lock"), "another process");
}

TEST(FileLockTests, ANoteStandsBehindTheHolder)
{
    const TemporaryFolder folder;
    folder.Enter();
    EXPECT_EQ(FileLock::NoteIn("m.lock"), "");
    FileLock lock;
    lock.Take("m.lock");
    EXPECT_EQ(FileLock::NoteIn("m.lock"), "");
    lock.Note("start model of 5");
    EXPECT_EQ(FileLock::NoteIn("m.lock"), "start model of 5");
    EXPECT_EQ(FileLock::HolderOf("m.lock").find(Concat("process ", ::getpid(), " on ")), 0u);
    EXPECT_EQ(FileLock::HolderOf("m.lock").find("start"), std::string::npos);
}

TEST(FileLockTests, AFileThatCannotBeMadeIsNoMatter)
{
    const TemporaryFolder folder;
    folder.Enter();
    FileLock lock;
    EXPECT_TRUE(lock.Take("nosuch/m.lock"));
    std::filesystem::create_directory("folder.lock");
    EXPECT_TRUE(lock.Take("folder.lock"));
    EXPECT_TRUE(FileExists("folder.lock"));
}

// A device is not locked.
TEST(FileLockTests, OnlyOrdinaryFilesAreLocked)
{
    const LockedFile first = OpenLocked("/dev/null");
    const LockedFile second = OpenLocked("/dev/null");
    EXPECT_GE(first.fd, 0);
    EXPECT_GE(second.fd, 0);
    EXPECT_FALSE(second.isBusy);
    ::close(first.fd);
    ::close(second.fd);
}

} // namespace cntk
