// Files are replaced as a whole or not at all. Paths may use backslashes.
#include "Common/Error.h"
#include "Common/File.h"
#include "CommonTests/TemporaryFolder.h"
#include "CommonTests/ThrownErrors.h"

#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cntk
{
namespace
{

TEST(FileTests, BackslashesInPaths)
{
    const TemporaryFolder folder;
    folder.Enter();
    folder.Write("sub/a.txt", "x");
    folder.Write("odd\\name", "y");
    EXPECT_EQ(ResolveInputPath("sub\\a.txt"), "sub/a.txt");
    EXPECT_EQ(ResolveInputPath("odd\\name"), "odd\\name");
    EXPECT_EQ(ResolveInputPath("none\\a.txt"), "none\\a.txt");
    EXPECT_EQ(ResolveInputPath("sub/a.txt"), "sub/a.txt");
    EXPECT_EQ(ResolveOutputPath("out\\m.dnn"), "out/m.dnn");
    EXPECT_EQ(ReadTextFile("sub\\a.txt"), "x");
}

TEST(FileTests, ReadTextFile)
{
    const TemporaryFolder folder;
    folder.Enter();
    folder.Write("bom.txt", "\xEF\xBB\xBFhello\n");
    folder.Write("empty.txt", "");
    EXPECT_EQ(ReadTextFile("bom.txt"), "hello\n");
    EXPECT_EQ(ReadTextFile("empty.txt"), "");
    EXPECT_GT(ReadTextFile("/proc/self/status").size(), 100u);
    EXPECT_EQ(ReportOf(ErrorKind::Data, [] { ReadTextFile("bon.txt"); }),
              "error: cannot open file 'bon.txt': No such file or directory; did you mean 'bom.txt' in folder '.'?");
    EXPECT_EQ(ReportOf(ErrorKind::Data, [] { ReadTextFile("gone/x"); }),
              "error: cannot open file 'gone/x': No such file or directory; folder 'gone' does not exist");
    EXPECT_EQ(ReportOf(ErrorKind::Data, [] { ReadTextFile("."); }), "error: '.' is a folder, expected a file");
}

TEST(FileTests, DevicesAreNoFilesButForTheNullDevice)
{
    const TemporaryFolder folder;
    folder.Enter();
    std::filesystem::create_symlink("/dev/zero", "endless");
    const std::string reason = "error: 'endless' is a device, expected a file";
    EXPECT_EQ(ReportOf(ErrorKind::Data, [] { ReadTextFile("endless"); }), reason);
    EXPECT_EQ(ReportOf(ErrorKind::Data, [] { PiecewiseFile("endless"); }), reason);
    EXPECT_EQ(ReportOf(ErrorKind::Data, [] { MappedFile("endless"); }), reason);
    EXPECT_EQ(ReportOf(ErrorKind::Data, [] { PiecewiseFile("\\dev\\zero"); }),
              "error: '/dev/zero' is a device, expected a file");
    std::filesystem::create_symlink("/dev/null", "nothing");
    EXPECT_EQ(ReadTextFile("nothing"), "");
    EXPECT_EQ(PiecewiseFile("/dev/null").Size(), 0u);
}

TEST(FileTests, CommandsAreNoFiles)
{
    const TemporaryFolder folder;
    folder.Enter();
    const std::string reason = "' is a command, expected a file, '-', or a named pipe that the command uses, too";
    EXPECT_EQ(ReportOf(ErrorKind::Config, [] { AtomicFile("|gzip > x.gz"); }), "error: '|gzip > x.gz" + reason);
    EXPECT_EQ(ReportOf(ErrorKind::Config, [] { RequireWritable("|gzip > x.gz"); }), "error: '|gzip > x.gz" + reason);
    EXPECT_EQ(ReportOf(ErrorKind::Config, [] { AtomicFile("gzip -dc x.gz|"); }), "error: 'gzip -dc x.gz|" + reason);
    EXPECT_EQ(ReportOf(ErrorKind::Config, [] { ReadTextFile("gzip -dc x.gz|"); }), "error: 'gzip -dc x.gz|" + reason);
    folder.Write("odd|", "x");
    EXPECT_EQ(ReadTextFile("odd|"), "x");
}

// Without the check, the system's functions would open the file 'x'.
TEST(FileTests, ANameWithAZeroByteIsNotAShorterOne)
{
    const TemporaryFolder folder;
    folder.Enter();
    folder.Write("x", "text");
    const std::string longer("x\0y", 3);
    const std::string message = "the file name '" + longer +
                                "' has a zero byte, expected UTF-8 or ASCII text; is what names it UTF-16, or a "
                                "binary file?";
    EXPECT_FALSE(FileExists(longer));
    EXPECT_EQ(MessageOf(ErrorKind::Data, [&] { ReadTextFile(longer); }), message);
    EXPECT_EQ(MessageOf(ErrorKind::Data, [&] { MappedFile{longer}; }), message);
    EXPECT_EQ(MessageOf(ErrorKind::Data, [&] { PiecewiseFile{longer}; }), message);
    EXPECT_EQ(MessageOf(ErrorKind::Data, [&] { AtomicFile{longer}; }), message);
    EXPECT_EQ(ReadTextFile("x"), "text");
}

TEST(FileTests, AtomicFileReplacesOnCommit)
{
    const TemporaryFolder folder;
    folder.Write("m.dnn", "old");
    {
        AtomicFile file(folder / "m.dnn");
        file.Write("new");
        EXPECT_EQ(folder.Read("m.dnn"), "old");
        EXPECT_TRUE(FileExists(folder / "m.dnn.tmp"));
        file.Commit();
    }
    EXPECT_EQ(folder.Read("m.dnn"), "new");
    EXPECT_FALSE(FileExists(folder / "m.dnn.tmp"));
}

TEST(FileTests, AtomicFileWithoutCommitLeavesNothing)
{
    const TemporaryFolder folder;
    folder.Write("m.dnn", "old");
    {
        AtomicFile file(folder / "m.dnn");
        file.Write("half");
    }
    EXPECT_EQ(folder.Read("m.dnn"), "old");
    EXPECT_FALSE(FileExists(folder / "m.dnn.tmp"));
}

TEST(FileTests, AFileOfTheSameBytesStaysAsItIs)
{
    const TemporaryFolder folder;
    const auto isChangedTo = [&](std::string_view text)
    {
        AtomicFile file(folder / "m.dnn");
        file.Write(text);
        return file.CommitIfChanged();
    };
    EXPECT_TRUE(isChangedTo("model"));
    const std::filesystem::file_time_type longAgo{};
    std::filesystem::last_write_time(folder / "m.dnn", longAgo);
    EXPECT_FALSE(isChangedTo("model"));
    EXPECT_EQ(std::filesystem::last_write_time(folder / "m.dnn"), longAgo);
    EXPECT_FALSE(FileExists(folder / "m.dnn.tmp"));
    EXPECT_TRUE(isChangedTo("longer model"));
    EXPECT_TRUE(isChangedTo("longer modeL"));
    EXPECT_EQ(folder.Read("m.dnn"), "longer modeL");
    EXPECT_NE(std::filesystem::last_write_time(folder / "m.dnn"), longAgo);
}

TEST(FileTests, StagedFilesAreWholeWithoutTheirNames)
{
    const TemporaryFolder folder;
    folder.Write("a", "old");
    {
        AtomicFile dropped(folder / "a");
        dropped.Write("half");
        dropped.Stage();
        EXPECT_EQ(folder.Read("a.tmp"), "half");
    }
    EXPECT_FALSE(FileExists(folder / "a.tmp"));
    EXPECT_EQ(folder.Read("a"), "old");
    AtomicFile file(folder / "a");
    file.Write("new");
    file.Stage();
    EXPECT_EQ(folder.Read("a"), "old");
    file.Commit();
    EXPECT_EQ(folder.Read("a"), "new");
    EXPECT_FALSE(FileExists(folder / "a.tmp"));
}

TEST(FileTests, TwoThatWriteOneFileDoNotMix)
{
    const TemporaryFolder folder;
    folder.Enter();
    {
        AtomicFile first("m.dnn");
        first.Write("first");
        EXPECT_EQ(ReportOf(ErrorKind::Device, [] { AtomicFile second("m.dnn"); }),
                  "error: cannot write file 'm.dnn': another process is writing it ('m.dnn.tmp'); wait until it ends, "
                  "or write to another path");
        EXPECT_TRUE(FileExists("m.dnn.tmp"));
        first.Commit();
    }
    EXPECT_EQ(folder.Read("m.dnn"), "first");
    // A temporary file of a killed process is overwritten, even a longer one.
    folder.Write("m.dnn.tmp", "left behind, and longer");
    AtomicFile third("m.dnn");
    third.Write("third");
    third.Commit();
    EXPECT_EQ(folder.Read("m.dnn"), "third");
    EXPECT_FALSE(FileExists("m.dnn.tmp"));
}

TEST(FileTests, AtomicFileMakesFolders)
{
    const TemporaryFolder folder;
    AtomicFile file(folder / "a\\b/c.txt");
    file.Write("x");
    file.Commit();
    EXPECT_EQ(folder.Read("a/b/c.txt"), "x");
}

TEST(FileTests, AtomicFileKeepsLinks)
{
    const TemporaryFolder folder;
    folder.Write("real/m", "old");
    std::filesystem::create_symlink(folder / "real/m", folder / "link");
    AtomicFile file(folder / "link");
    file.Write("new");
    file.Commit();
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
    EXPECT_EQ(folder.Read("real/m"), "new");
}

TEST(FileTests, AtomicFileFollowsLinksToWhatIsNotThereYet)
{
    const TemporaryFolder folder;
    std::filesystem::create_symlink("first", folder / "link");
    std::filesystem::create_symlink(folder / "real/m", folder / "first");
    AtomicFile file(folder / "link");
    file.Write("new");
    file.Commit();
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "first"));
    EXPECT_EQ(folder.Read("real/m"), "new");
}

// Such a link may lead to a disk that is not mounted.
TEST(FileTests, AFolderThatIsALinkToNothingIsTold)
{
    const TemporaryFolder folder;
    std::filesystem::create_symlink(folder / "scratch", folder / "exp");
    EXPECT_EQ(ReportOf(ErrorKind::Device, [&] { MakeFoldersFor(folder / "exp/m/net.dnn"); }),
              "error: cannot create folder '" + (folder / "exp/m") + "' for file '" + (folder / "exp/m/net.dnn") +
                  "': File exists; '" + (folder / "exp") + "' is a link to '" + (folder / "scratch") +
                  "', which does not exist");
}

TEST(FileTests, FullDevice)
{
    if (!FileExists("/dev/full"))
        GTEST_SKIP() << "no /dev/full here";
    EXPECT_EQ(ReportOf(ErrorKind::Device,
                       []
                       {
                           AtomicFile file("/dev/full");
                           file.Write("x");
                           file.Commit();
                       }),
              "error: cannot write file '/dev/full': No space left on device");
}

TEST(FileTests, FailedWriteKeepsThePreviousFile)
{
    const TemporaryFolder folder;
    folder.Enter();
    folder.Write("m.dnn", "old");
    rlimit before = {};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit small = before;
    small.rlim_cur = 4096;
    ::setrlimit(RLIMIT_FSIZE, &small);
    const std::string report = ReportOf(ErrorKind::Device,
                                        []
                                        {
                                            AtomicFile file("m.dnn");
                                            file.Write(std::string(100000, 'x'));
                                            file.Commit();
                                        });
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(report, "error: cannot write file 'm.dnn': File too large; the previous file, if any, is intact");
    EXPECT_EQ(folder.Read("m.dnn"), "old");
    EXPECT_FALSE(FileExists("m.dnn.tmp"));
}

TEST(FileTests, FolderThatCannotBeMade)
{
    const TemporaryFolder folder;
    folder.Enter();
    folder.Write("file", "x");
    EXPECT_EQ(ReportOf(ErrorKind::Device, [] { MakeFoldersFor("file/sub/x"); }),
              "error: cannot create folder 'file/sub' for file 'file/sub/x': Not a directory");
    EXPECT_EQ(ReportOf(ErrorKind::Device, [] { AtomicFile("file/x"); }),
              "error: cannot create folder 'file' for file 'file/x': Not a directory");
    MakeFoldersFor("plain");
    // The path is longer than the system allows.
    std::string longPath;
    for (int i = 0; i < 50; ++i)
        longPath += std::string(100, 'd') + "/";
    EXPECT_EQ(MessageOf(ErrorKind::Device, [&] { MakeFoldersFor(longPath + "x"); }),
              "cannot create folder '" + longPath.substr(0, longPath.size() - 1) + "' for file '" + longPath +
                  "x': File name too long");
}

TEST(FileTests, FolderThatIsNotWritable)
{
    if (::geteuid() == 0)
        GTEST_SKIP() << "root may write everywhere";
    const TemporaryFolder folder;
    folder.Enter();
    folder.Write("locked/m", "old");
    ::chmod("locked", 0500);
    EXPECT_EQ(ReportOf(ErrorKind::Device, [] { AtomicFile("locked/m"); }),
              "error: cannot write file 'locked/m': Permission denied");
    ::chmod("locked", 0700);
    EXPECT_EQ(folder.Read("locked/m"), "old");
}

TEST(FileTests, RemoveFile)
{
    const TemporaryFolder folder;
    folder.Enter();
    folder.Write("x", "1");
    RemoveFile("x");
    EXPECT_FALSE(FileExists("x"));
    RemoveFile("x");
    folder.Write("d/x", "1");
    EXPECT_EQ(ReportOf(ErrorKind::Device, [] { RemoveFile("d"); }), "error: cannot remove file 'd': Is a directory");
}

TEST(FileTests, PiecewiseFile)
{
    const TemporaryFolder folder;
    folder.Enter();
    folder.Write("x", "content");
    const PiecewiseFile file("x");
    EXPECT_EQ(file.Size(), 7u);
    const auto read = [&](const PiecewiseFile& from, size_t offset, size_t bytes)
    {
        std::string text(bytes, ' ');
        from.Read(offset, text.data(), bytes);
        return text;
    };
    EXPECT_EQ(read(file, 0, 7), "content");
    EXPECT_EQ(read(file, 3, 2), "te");
    EXPECT_EQ(read(file, 7, 0), "");
    ASSERT_EQ(::truncate("x", 4), 0);
    EXPECT_EQ(read(file, 0, 4), "cont");
    EXPECT_EQ(ReportOf(ErrorKind::Data, [&] { read(file, 3, 2); }),
              "error: data file 'x' changed while it was read (was 7 bytes, is 4)");
    EXPECT_EQ(ReportOf(ErrorKind::Data, [] { PiecewiseFile("gone"); }),
              "error: cannot open file 'gone': No such file or directory");

    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::write(ends[1], "piped", 5), 5);
    ::close(ends[1]);
    const PiecewiseFile piped("/dev/fd/" + std::to_string(ends[0]));
    ::close(ends[0]);
    EXPECT_EQ(read(piped, 0, 5), "piped");
    EXPECT_EQ(read(piped, 1, 3), "ipe");
}

TEST(FileTests, DriveLetters)
{
    const TemporaryFolder folder;
    folder.Enter();
    for (const std::string path : {"C:\\exp\\log", "c:/log"})
    {
        EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { MakeFoldersFor(path); }),
                  "error: cannot write file '" + path + "': this system has no drives such as '" + path.substr(0, 2) +
                      "'; expected a path such as 'exp/log' or '/home/name/exp/log'");
        EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { AtomicFile{path}; }).substr(0, 24), "error: cannot write file");
    }
    EXPECT_TRUE(std::filesystem::is_empty("."));
    MakeFoldersFor("ab:/log");
    EXPECT_TRUE(std::filesystem::exists("ab:"));
}

TEST(FileTests, MappedFile)
{
    const TemporaryFolder folder;
    folder.Enter();
    folder.Write("x", "content");
    folder.Write("empty", "");
    MappedFile file("x");
    EXPECT_EQ(file.Text(), "content");
    EXPECT_EQ(file.Path(), "x");
    const MappedFile moved(std::move(file));
    EXPECT_EQ(moved.Text(), "content");
    EXPECT_EQ(MappedFile("empty").Size(), 0u);
    EXPECT_EQ(ReportOf(ErrorKind::Data, [] { MappedFile("gone"); }),
              "error: cannot open file 'gone': No such file or directory");

    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::write(ends[1], "piped", 5), 5);
    ::close(ends[1]);
    EXPECT_EQ(MappedFile("/dev/fd/" + std::to_string(ends[0])).Text(), "piped");
    ::close(ends[0]);
}

} // namespace
} // namespace cntk
