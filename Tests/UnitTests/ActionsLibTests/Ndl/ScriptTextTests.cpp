// Places of a script with variables, as the user wrote it.
#include "ActionsLib/Mel/MelEditor.h"
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "ActionsLib/Ndl/NdlParser.h"
#include "Common/Error.h"
#include "CommonTests/TemporaryFolder.h"
#include "CommonTests/ThrownErrors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

using testing::HasSubstr;

// Returns the part of the source to which a range of the script belongs.
std::string Shown(const ScriptText& script, std::string_view stretch)
{
    const size_t begin = script.Text().find(stretch);
    const SourcePos where = script.At(begin, begin + stretch.size());
    return where.Location() + " " + std::string(where.text->Text().substr(where.offset, where.length));
}

TEST(ScriptText, WithoutVariablesIsTheSource)
{
    const auto source = std::make_shared<SourceText>("a.mel", "one two\nthree");
    const ScriptText script(source);
    EXPECT_EQ(script.Text(), source->Text());
    EXPECT_EQ(Shown(script, "two"), "a.mel:1:5 two");
    EXPECT_EQ(Shown(script, "three"), "a.mel:2:1 three");
}

TEST(ScriptText, PlacesAreThoseInTheSource)
{
    const auto block = ConfigParameters::Parse("long=a.value.of.many.letters\nx=1\n", "exp.cntk");
    const auto source = std::make_shared<SourceText>("a.mel", "f($long$, b) g($x$:$x$) # $none$\n$long$h(c)$x$");
    const ScriptText script(source, 0, source->Text().size(), *block);
    EXPECT_THAT(std::string(script.Text()), HasSubstr("f(a.value.of.many.letters, b) g(1:1) "));
    EXPECT_EQ(Shown(script, "f("), "a.mel:1:1 f(");
    EXPECT_EQ(Shown(script, "value"), "a.mel:1:3 $long$"); // a part of a value is the whole reference
    EXPECT_EQ(Shown(script, "b)"), "a.mel:1:11 b)");
    EXPECT_EQ(Shown(script, "letters, b"), "a.mel:1:3 $long$, b");
    EXPECT_EQ(Shown(script, "1:1"), "a.mel:1:16 $x$:$x$");
    EXPECT_EQ(Shown(script, ":1"), "a.mel:1:19 :$x$");
    EXPECT_EQ(Shown(script, "h(c)"), "a.mel:2:7 h(c)"); // not what stands in front of it
    EXPECT_EQ(Shown(script, "h(c)1"), "a.mel:2:7 h(c)$x$");
    EXPECT_EQ(script.At(script.size(), script.size() + 1).Location(), "a.mel:2:14");
}

// Otherwise than in a config, where the root's value wins: as the original looks names up for the block of the script.
TEST(ScriptText, TheBlocksOwnVariablesWin)
{
    const auto config = ConfigParameters::Parse(
        "modelPath=root\nx=1\ny=$x$\nEdit=[ modelPath=own; x=2; z=$x$$modelPath$; Inner=[ x=3 ] ]\n", "exp.cntk");
    const auto source = std::make_shared<SourceText>("a.mel", "$modelPath$ $x$ $y$ $z$");
    const ConfigParameters& edit = config->RequireBlock("Edit");
    const auto textFor = [&](const ConfigParameters& block)
    { return std::string(ScriptText(source, 0, source->Text().size(), block).Text()); };
    EXPECT_EQ(textFor(edit), "own 2 1 1root"); // the values themselves are config
    EXPECT_EQ(textFor(edit.RequireBlock("Inner")), "own 3 1 1root");
    EXPECT_EQ(edit.ResolveVariables("$modelPath$ $x$", {}), "root 1");
}

TEST(ScriptText, AStretchOfAFile)
{
    const auto block = ConfigParameters::Parse("x=10\n", "exp.cntk");
    const auto source = std::make_shared<SourceText>("exp.cntk", "net=[\n $x$ here\n] # $none$ there");
    const ScriptText script(source, 4, 13, *block);
    EXPECT_EQ(script.Text(), "[\n 10 here\n]");
    EXPECT_EQ(Shown(script, "here"), "exp.cntk:2:6 here");
    EXPECT_EQ(Shown(script, "]"), "exp.cntk:3:1 ]");
}

class ScriptFileTests : public testing::Test
{
protected:
    ScriptFileTests() { m_folder.Enter(); }

    // Returns the error of the network that the block describes.
    static std::string NdlError(const std::string& config)
    {
        const auto root = ConfigParameters::Parse(config, "exp.cntk");
        return ReportOf(ErrorKind::Config,
                        [&] {
                            BuildNetworkFromNdl(root->RequireBlock("NDLNetworkBuilder"), DataType::Float32,
                                                MakeCpuDevice({.threads = 1}));
                        });
    }

    TemporaryFolder m_folder;
};

TEST_F(ScriptFileTests, NdlErrorsShowWhatTheUserWrote)
{
    m_folder.Write("net.ndl", "x=Input($wide$, tag=feature)\ny=Plus($node$, z) # $node$\n");
    EXPECT_EQ(NdlError("wide=1000000\nnode=x\nNDLNetworkBuilder=[networkDescription=net.ndl]"),
              "    2 | y=Plus($node$, z) # $node$\n      |                ^\n"
              "net.ndl:2:16: error: unknown variable 'z'");
    EXPECT_THAT(NdlError("wide=1000000\nnode=Nobody\nNDLNetworkBuilder=[networkDescription=net.ndl]"),
                HasSubstr("    2 | y=Plus($node$, z) # $node$\n      |        ^~~~~~\n"
                          "net.ndl:2:8: error: unknown variable 'Nobody'"));
}

TEST_F(ScriptFileTests, ErrorsInMacroFilesShowWhatTheUserWrote)
{
    m_folder.Write("net.ndl", "x=Input(2, tag=feature)\ny=Layer(x)\n");
    m_folder.Write("macros.ndl", "Layer(a)\n{\n  y=Plus($node$, Tanh(a)) bad\n}\n");
    EXPECT_THAT(NdlError("node=abcdefghijklmnop\nNDLNetworkBuilder=[ndlMacros=macros.ndl\nnetworkDescription=net.ndl]"),
                HasSubstr("macros.ndl:3:27: error: the end of the statement expected, found 'b'"));
}

TEST_F(ScriptFileTests, ErrorsInSectionsOfAConfigShowWhatTheUserWrote)
{
    EXPECT_EQ(NdlError("dim=1000000\nnet=[ # $none$\n x=Input($dim$, tag=feature) bad\n]\nNDLNetworkBuilder=[run=net]"),
              "    3 |  x=Input($dim$, tag=feature) bad\n      |                              ^\n"
              "exp.cntk:3:30: error: the end of the statement expected, found 'b'; statements are separated by a "
              "newline, ';' or ','");
}

TEST_F(ScriptFileTests, MelErrorsShowWhatTheUserWrote)
{
    const auto block = ConfigParameters::Parse("dir=/a/folder/with/a/long/name\n", "exp.cntk");
    const auto errorOf = [&](const std::string& text)
    {
        const auto source = std::make_shared<SourceText>("edit.mel", text);
        return ReportOf(ErrorKind::Config, [&] { PrepareMel(ScriptText(source, 0, text.size(), *block)); });
    };
    EXPECT_EQ(errorOf("m=LoadModel($dir$/a.dnn)\nSaveModel(m, $dir$/b.dnn, formt=cntk)\n"),
              "    2 | SaveModel(m, $dir$/b.dnn, formt=cntk)\n      |                                 ^~~~\n"
              "edit.mel:2:33: error: SaveModel has no optional parameter 'formt'. Valid parameters: SaveModel([name,] "
              "file, [format=cntk]); did you mean 'format'?");
    EXPECT_THAT(errorOf("m=LoadModel($dir$/a.dnn) y=Tanh(x)"), HasSubstr("edit.mel:1:26: error: "));
}

} // namespace
} // namespace cntk
