// From arguments to the root block: layers, includes, overrides, and messages about wrong ones.
#include "Common/Config/ConfigFiles.h"
#include "Common/Config/PrintConfig.h"
#include "Common/Error.h"
#include "CommonTests/TemporaryFolder.h"
#include "CommonTests/ThrownErrors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

using ::testing::ElementsAre;

class ConfigFilesTests : public ::testing::Test
{
protected:
    ConfigFilesTests() { m_folder.Enter(); }

    void Write(const std::string& name, const std::string& text) { m_folder.Write(name, text); }

    std::string TextOf(const LoadedConfig& config, std::string_view block, std::string_view name)
    {
        return (block.empty() ? *config.root : config.root->RequireBlock(block)).Require(name).Text();
    }

    static std::string ReportOf(const std::vector<std::string>& arguments, ErrorKind kind)
    {
        return cntk::ReportOf(kind, [&] { LoadConfig(arguments); });
    }

    TemporaryFolder m_folder;
};

TEST_F(ConfigFilesTests, LaterLayersWin)
{
    Write("base.cntk", "Rate=0.05\ntrain=[SGD=[minibatchSize=4;rate=$Rate$]]\nName=plain");
    Write("over.cntk", "Rate=0.02\ntrain=[SGD=[minibatchSize=3]]\n");
    const std::vector<std::vector<std::string>> lines = {
        {"configFile=base.cntk+over.cntk", "Name=x"},
        {"ConfigFile=base.cntk", "configfile=over.cntk", "Name=x"},
    };
    for (const auto& arguments : lines)
    {
        const LoadedConfig config = LoadConfig(arguments);
        const ConfigParameters& sgd = config.root->RequireBlock("train").RequireBlock("SGD");
        EXPECT_EQ(sgd.Require("minibatchSize").Text(), "3");
        EXPECT_EQ(sgd.Require("rate").Text(), "0.02");
        EXPECT_EQ(TextOf(config, "", "Name"), "x");
        EXPECT_EQ(config.root->Name(), "over.cntk");
        EXPECT_THAT(config.files, ElementsAre("base.cntk", "over.cntk"));
        EXPECT_EQ(sgd.Require("minibatchSize").Where().Location(), "over.cntk:2:27");
        EXPECT_EQ(sgd.Require("rate").Where().Location(), "base.cntk:2:34");
    }
}

TEST_F(ConfigFilesTests, OverridesInNestedBlocks)
{
    Write("exp.cntk", "t=[reader=[file=a.txt;dim=2]]\nstderr=log\n");
    const LoadedConfig config = LoadConfig({"stderr=early", "configFile=exp.cntk", "t=[reader=[file=b.txt]]", "x=a b"});
    const ConfigParameters& reader = config.root->RequireBlock("t").RequireBlock("reader");
    EXPECT_EQ(reader.Require("file").Text(), "b.txt");
    EXPECT_EQ(reader.Require("dim").Text(), "2");
    EXPECT_EQ(TextOf(config, "", "stderr"), "log");
    EXPECT_EQ(TextOf(config, "", "x"), "a b");
    EXPECT_EQ(reader.Require("file").Where().Location(), "command line:1:50");
    EXPECT_EQ(reader.Require("file").Where().Excerpt(),
              "    1 | stderr=early configFile=exp.cntk t=[reader=[file=b.txt]] x=a b\n"
              "      |                                                  ^~~~~");
}

TEST_F(ConfigFilesTests, ArgumentsAlone)
{
    const LoadedConfig config = LoadConfig({"command=Test", "Test=[ action=test", "n=1#INF ]"});
    EXPECT_EQ(TextOf(config, "Test", "n"), "1#INF");
    EXPECT_EQ(config.root->RequireBlock("Test").Path(), "command line:Test");
}

TEST_F(ConfigFilesTests, IncludesAreReplacedInPlace)
{
    Write("exp.cntk", "a=1\ninclude=more.cntk # note\nb=2\ntrain=[\ninclude=sub/sgd.cntk\n]\n");
    Write("more.cntk", "\xEF\xBB\xBFinclude=deep.cntk\nb=more\na=more");
    Write("deep.cntk", "c=deep");
    Write("sub/sgd.cntk", "SGD=[\n n=1 ]");
    const LoadedConfig config = LoadConfig({"configFile=exp.cntk"});
    EXPECT_EQ(TextOf(config, "", "a"), "more");
    EXPECT_EQ(TextOf(config, "", "b"), "2");
    EXPECT_EQ(TextOf(config, "", "c"), "deep");
    EXPECT_EQ(config.root->RequireBlock("train").RequireBlock("SGD").Require("n").Where().Location(),
              "sub/sgd.cntk:2:4");
    EXPECT_EQ(config.root->Name(), "exp.cntk");
    EXPECT_EQ(RawConfigText(*config.root), "a=1\nc=deep\nb=more\na=more\nb=2\ntrain=[\nSGD=[\n n=1 ]\n]\n");
}

TEST_F(ConfigFilesTests, EachFileIsIncludedOnce)
{
    Write("a.cntk", "include=b.cntk+c.cntk\n");
    Write("b.cntk", "include=c.cntk\nx=b");
    Write("c.cntk", "include=b.cntk\ny=c");
    const LoadedConfig config = LoadConfig({"configFile=a.cntk"});
    const std::string again = "Warning: Config file included multiple times.  Not including config file again: ";
    EXPECT_THAT(config.notices, ElementsAre(again + "b.cntk", again + "c.cntk"));
    EXPECT_EQ(RawConfigText(*config.root), "y=c\nx=b\n");
}

TEST_F(ConfigFilesTests, IncludeOnlyAtTheFirstColumn)
{
    Write("a.cntk", " include=none.cntk\nx=[include=other]");
    EXPECT_EQ(TextOf(LoadConfig({"configFile=a.cntk"}), "", "include"), "none.cntk");
    Write("b.cntk", "y=1");
    EXPECT_EQ(TextOf(LoadConfig({"include=b.cntk"}), "", "y"), "1");
}

TEST_F(ConfigFilesTests, IncludeErrors)
{
    Write("a.cntk", "x=1\ninclude=gone.cntk\n");
    EXPECT_EQ(ReportOf({"configFile=a.cntk"}, ErrorKind::Config),
              "    2 | include=gone.cntk\n      | ^~~~~~~~~~~~~~~~~\n"
              "a.cntk:2:1: error: included file 'gone.cntk' does not exist; looked for '" +
                  (m_folder / "gone.cntk") + "', working directory is '" + m_folder.Path() + "'");
    Write("b.cntk", "include=$x$.cntk\n");
    EXPECT_EQ(ReportOf({"configFile=b.cntk"}, ErrorKind::Config),
              "    1 | include=$x$.cntk\n      | ^~~~~~~~~~~~~~~~\n"
              "b.cntk:1:1: error: variables cannot be used in an include line, found '$x$.cntk'");
    Write("c.cntk", "include=\n");
    EXPECT_EQ(ReportOf({"configFile=c.cntk"}, ErrorKind::Config),
              "    1 | include=\n      | ^~~~~~~~\n"
              "c.cntk:1:1: error: the include line names no file; expected include=<file>[+<file>...]");
    Write("sub/d.cntk", "include=e.cntk\n");
    Write("sub/e.cntk", "x=1");
    EXPECT_EQ(TextOf(LoadConfig({"configFile=sub/d.cntk"}), "", "x"), "1") << "found beside the including file";
    Write("e.cntk", "x=2");
    EXPECT_EQ(TextOf(LoadConfig({"configFile=sub/d.cntk"}), "", "x"), "2") << "the working directory comes first";
}

TEST_F(ConfigFilesTests, FileWithoutItsKey)
{
    Write("a.cntk", "x=1");
    EXPECT_EQ(TextOf(LoadConfig({"y=2", "a.cntk"}), "", "x"), "1");
    Write("b.cntk", "x=3");
    EXPECT_EQ(TextOf(LoadConfig({"a.cntk+b.cntk"}), "", "x"), "3");
    EXPECT_EQ(TextOf(LoadConfig({"a.cntk", "b.cntk", "x=4"}), "", "x"), "4");
    // A missing file is reported, too, if no config file is given.
    EXPECT_EQ(
        ReportOf({"y=2", "aa.cntk"}, ErrorKind::Usage),
        "    1 | y=2 aa.cntk\n      |     ^~~~~~~\n"
        "command line:1:5: error: argument 2 'aa.cntk' is no name=value, and no file of that name exists; a config "
        "file is given by its name or as configFile=<file>; did you mean 'a.cntk' or 'b.cntk' in folder '.'?");
    Write("makeMode", "no config");
    EXPECT_EQ(TextOf(LoadConfig({"configFile=a.cntk", "makeMode"}), "", "makeMode"), "true");
}

TEST_F(ConfigFilesTests, EmptyConfigFileArgument)
{
    EXPECT_EQ(
        ReportOf({"configFile=", "exp.cntk"}, ErrorKind::Usage),
        "    1 | configFile= exp.cntk\n      | ^~~~~~~~~~~\n"
        "command line:1:1: error: argument 1 'configFile=' names no file; expected configFile=<file>[+<file>...], "
        "without blanks around '='; a blank before 'exp.cntk' makes it an argument of its own");
    EXPECT_EQ(
        ReportOf({"configFile=", "command=Train"}, ErrorKind::Usage),
        "    1 | configFile= command=Train\n      | ^~~~~~~~~~~\n"
        "command line:1:1: error: argument 1 'configFile=' names no file; expected configFile=<file>[+<file>...], "
        "without blanks around '='");
    EXPECT_EQ(ReportOf({"a=1", "configFile", "=", "exp.cntk"}, ErrorKind::Usage),
              "    1 | a=1 configFile = exp.cntk\n      |     ^~~~~~~~~~\n"
              "command line:1:5: error: argument 2 'configFile' names no file; expected "
              "configFile=<file>[+<file>...], without blanks around '='; a blank before '=' makes it an argument of "
              "its own");
    Write("a.cntk", "x=1");
    EXPECT_EQ(ReportOf({"configFile=a.cntk+"}, ErrorKind::Usage),
              "    1 | configFile=a.cntk+\n      | ^~~~~~~~~~~~~~~~~~\n"
              "command line:1:1: error: argument 1 'configFile=a.cntk+' has an empty file name in its list; expected "
              "configFile=<file>[+<file>...], without blanks around '='");
    EXPECT_EQ(TextOf(LoadConfig({"configFile= a.cntk "}), "", "x"), "1");
}

TEST_F(ConfigFilesTests, MissingConfigFile)
{
    Write("simple.cntk", "x=1");
    EXPECT_EQ(ReportOf({"configFile=simpel.cntk"}, ErrorKind::Config),
              "    1 | configFile=simpel.cntk\n      | ^~~~~~~~~~~~~~~~~~~~~~\n"
              "command line:1:1: error: config file 'simpel.cntk' does not exist; looked for '" +
                  (m_folder / "simpel.cntk") + "', working directory is '" + m_folder.Path() +
                  "'; did you mean 'simple.cntk' in folder '.'?");
    EXPECT_EQ(ReportOf({"configFile=no/where.cntk"}, ErrorKind::Config),
              "    1 | configFile=no/where.cntk\n      | ^~~~~~~~~~~~~~~~~~~~~~~~\n"
              "command line:1:1: error: config file 'no/where.cntk' does not exist; looked for '" +
                  (m_folder / "no/where.cntk") + "', working directory is '" + m_folder.Path() +
                  "'; folder 'no' does not exist");
    EXPECT_EQ(ReportOf({"configFile=" + m_folder.Path()}, ErrorKind::Config).substr(0, 12), "    1 | conf");
}

TEST_F(ConfigFilesTests, OtherArgumentErrors)
{
    Write("a.cntk", "x=1");
    EXPECT_EQ(ReportOf({}, ErrorKind::Usage), "error: no command-line argument given; expected "
                                              "configFile=<file>[+<file>...], without blanks around '='");
    EXPECT_EQ(ReportOf({"configFile=a.cntk", "configFile=a.cntk"}, ErrorKind::Usage),
              "    1 | configFile=a.cntk configFile=a.cntk\n      |                   ^~~~~~~~~~~~~~~~~\n"
              "command line:1:19: error: config file 'a.cntk' is given more than once on the command line");
    EXPECT_EQ(ReportOf({"--frob"}, ErrorKind::Usage),
              "    1 | --frob\n      | ^~~~~~\n"
              "command line:1:1: error: unknown option '--frob'; expected name=value, or one of the options that cntk "
              "--help lists");
    EXPECT_EQ(ReportOf({"currentDirectory=gone"}, ErrorKind::Usage),
              "    1 | currentDirectory=gone\n      | ^~~~~~~~~~~~~~~~~~~~~\n"
              "command line:1:1: error: cannot change the current directory to 'gone': No such file or directory");
    EXPECT_EQ(ReportOf({"t=[a=1"}, ErrorKind::Config),
              "    1 | t=[a=1\n      |   ^\n"
              "command line:1:3: error: no closing ']' found for the '[' that opens here");
}

TEST_F(ConfigFilesTests, ClosingBracketsTooManyAtTheEndOfAnArgument)
{
    Write("exp.cntk", "t=[SGD=[size=4]]\n");
    const LoadedConfig config = LoadConfig({"configFile=exp.cntk", "t=[SGD=[size=5]]] ]", "x=1"});
    EXPECT_EQ(config.root->RequireBlock("t").RequireBlock("SGD").Require("size").Text(), "5");
    EXPECT_EQ(TextOf(config, "", "x"), "1");
    EXPECT_THAT(config.notices,
                ElementsAre("    1 | configFile=exp.cntk t=[SGD=[size=5]]] ] x=1\n"
                            "      |                                     ^~~\n"
                            "WARNING: command line:1:37: '] ]' at the end of the argument closes no bracket and is "
                            "ignored"));
    // Brackets may close a bracket of an earlier argument, and may stand in quotes.
    const LoadedConfig parts = LoadConfig({"t=[", "size=5", "]", "x=\"]\""});
    EXPECT_EQ(TextOf(parts, "t", "size"), "5");
    EXPECT_EQ(TextOf(parts, "", "x"), "]");
    EXPECT_TRUE(parts.notices.empty());
    EXPECT_EQ(ReportOf({"t=[a=1]];b=2"}, ErrorKind::Config),
              "    1 | t=[a=1]];b=2\n      |        ^\n"
              "command line:1:8: error: unmatched ']': no bracket is open here");
}

TEST_F(ConfigFilesTests, CurrentDirectoryActsAtOnce)
{
    Write("sub/a.cntk", "x=1");
    const LoadedConfig config = LoadConfig({"currentDirectory=sub", "configFile=a.cntk"});
    EXPECT_EQ(TextOf(config, "", "x"), "1");
    EXPECT_EQ(TextOf(config, "", "currentDirectory"), "sub");
    EXPECT_THAT(config.notices, ElementsAre("Changed current directory to sub"));
}

TEST_F(ConfigFilesTests, BackslashesInPaths)
{
    Write("sub/a.cntk", "x=1");
    EXPECT_EQ(LoadConfig({"configFile=sub\\a.cntk"}).root->Name(), "a.cntk");
}

TEST_F(ConfigFilesTests, LargeConfigs)
{
    std::string text;
    size_t blocks = 0;
    for (; text.size() < 1'000'000; ++blocks)
    {
        const std::string n = std::to_string(blocks);
        text +=
            "block" + n + "=[ # note\n  file=$Root$/data" + n + ".txt\n  dims=(2:3*4)\n  inner=[a=1;b=\"x y\"]\n]\n";
    }
    Write("large.cntk", "Root=here\n" + text);
    const LoadedConfig config = LoadConfig({"configFile=large.cntk"});
    EXPECT_EQ(config.root->BlockNames().size(), blocks);
    for (size_t i = 0; i < blocks; ++i)
    {
        const std::string n = std::to_string(i);
        ASSERT_EQ(TextOf(config, "block" + n, "file"), "here/data" + n + ".txt");
    }
}

} // namespace
} // namespace cntk
