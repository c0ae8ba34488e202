#include "Common/Config/ConfigParameters.h"
#include "Common/Error.h"
#include "Common/FileClashes.h"
#include "CommonTests/TemporaryFolder.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

class FileClashesTests : public testing::Test
{
protected:
    std::string Path(const std::string& name) const { return m_folder / name; }
    std::string Make(const std::string& name) const
    {
        std::ofstream(Path(name)) << "x";
        return Path(name);
    }
    static std::string MessageOf(const NamedFile& written, const std::vector<NamedFile>& read)
    {
        try
        {
            RequireNotRead(written, read, {});
        }
        catch (const Error& error)
        {
            return error.Message();
        }
        return {};
    }

    TemporaryFolder m_folder;
};

TEST_F(FileClashesTests, SpellingsAndLinksAreOneFile)
{
    const std::string file = Make("a");
    std::filesystem::create_directory(Path("sub"));
    std::filesystem::create_symlink(file, Path("link"));
    EXPECT_TRUE(IsSameFile(file, file));
    EXPECT_TRUE(IsSameFile(Path("sub/../a"), file));
    EXPECT_TRUE(IsSameFile(Path("link"), file));
    EXPECT_TRUE(IsSameFile(Path("not/there"), Path("not/./there")));
    EXPECT_FALSE(IsSameFile(Make("b"), file));
    EXPECT_FALSE(IsSameFile("", ""));
    EXPECT_FALSE(IsSameFile("-", "-"));
    EXPECT_FALSE(IsSameFile("/dev/null", "/dev/null"));
}

TEST_F(FileClashesTests, FilesOfABlock)
{
    const std::string a = Make("a"), b = Make("b");
    const auto config = ConfigParameters::Parse("R=[\nfile=" + a + "\nother=" + Path("none") +
                                                "\nlost=$nobody$\nx=[\nmap=" + b + "\n]\n]\noutside=" + a);
    const ConfigParameters& block = config->RequireBlock("R");
    const std::vector<NamedFile> files = FilesNamedIn(block);
    ASSERT_EQ(files.size(), 2u);
    EXPECT_EQ(files[0].key, "R:file");
    EXPECT_EQ(files[1].key, "R:x:map");
    EXPECT_EQ(files[1].path, b);
    EXPECT_EQ(block.UnreadEntries().size(), 4u) << "to be found is not to be read";
}

TEST_F(FileClashesTests, ScriptsInAList)
{
    const std::string a = Make("a"), b = Make("b"), odd = Make("x+y");
    const auto config = ConfigParameters::Parse("editPath=" + a + " + " + b + "+" + Path("none") + "\nfile=" + odd);
    const std::vector<NamedFile> files = FilesNamedIn(*config);
    ASSERT_EQ(files.size(), 3u);
    EXPECT_EQ(files[0].path, a);
    EXPECT_EQ(files[1].path, b);
    EXPECT_EQ(files[2].path, odd);
}

TEST_F(FileClashesTests, Refusal)
{
    const std::string a = Make("a");
    EXPECT_EQ(MessageOf({"out", a}, {{"x", Path("b")}, {"in", a}}),
              "out would overwrite '" + a + "', which is in as well; expected another file");
    EXPECT_EQ(MessageOf({"out", Path("c")}, {{"in", a}}), "");
}

TEST_F(FileClashesTests, WritersKnowTheirReaders)
{
    const std::string a = Make("a");
    const auto config =
        ConfigParameters::Parse("C=[\nencoderReader=[\nfile=" + a + "\n]\nwriter=[\nfile=" + a + "\n]\n]");
    const ConfigParameters& writer = config->RequireBlock("C").RequireBlock("writer");
    EXPECT_THROW(RequireNotReadByOthers(writer, {"file", a}, {}), Error);
    EXPECT_NO_THROW(RequireNotReadByOthers(writer, {"file", Path("b")}, {}));
    EXPECT_NO_THROW(RequireNotReadByOthers(*config, {"file", a}, {}));
    const auto other = ConfigParameters::Parse("modelPath=" + a + "\nC=[\nwriter=[\nfile=" + a + "\n]\n]");
    EXPECT_THROW(RequireNotReadByOthers(other->RequireBlock("C").RequireBlock("writer"), {"file", a}, {}), Error);
}

TEST_F(FileClashesTests, ListsAreGoneThroughOnceAndOnlyForAnOutputThatIsThere)
{
    const std::string a = Make("a"), b = Make("b");
    std::filesystem::create_symlink(a, Path("link"));
    size_t visits = 0;
    ListedFiles files;
    files.Add(
        [&](const ListedFileVisitor& visit)
        {
            ++visits;
            visit(a, "read as features (in.scp:1)");
            visit(Path("missing"), "read as features (in.scp:2)");
            visit(Path("link"), "read as features (in.scp:3)");
        });
    EXPECT_EQ(files.WhyRead(Path("new")), "");
    EXPECT_EQ(files.WhyRead(Path("missing")), "");
    EXPECT_EQ(files.WhyRead("-"), "");
    EXPECT_EQ(visits, 0u);
    for (const std::string& path : {a, Path("link"), Path("./a")})
        EXPECT_EQ(files.WhyRead(path), "read as features (in.scp:1)") << path;
    EXPECT_EQ(files.WhyRead(b), "");
    EXPECT_EQ(visits, 1u);
    EXPECT_NO_THROW(files.RequireNone({"wfile", b}, {}));
    try
    {
        files.RequireNone({"wfile", a}, {});
        ADD_FAILURE();
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Message(),
                  "wfile would overwrite '" + a + "', which is read as features (in.scp:1); expected another file");
    }
}

} // namespace
} // namespace cntk
