// Merging, look-up, arrays and typed values of the config tree.
#include "Common/Config/ConfigParameters.h"
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

using ::testing::ElementsAre;

std::string TextOf(const ConfigParameters& block, std::string_view name)
{
    const std::optional<ConfigValue> value = block.Find(name);
    return value ? value->Text() : "(absent)";
}

std::vector<std::string> Texts(const ConfigArray& array)
{
    std::vector<std::string> texts;
    for (const ConfigValue& element : array)
        texts.push_back(element.Text());
    return texts;
}

TEST(ConfigParametersTests, LaterScalarsWin)
{
    const auto config = ConfigParameters::Parse("a=1\nA=2\nb=(1:2)\nb=(3)");
    EXPECT_EQ(TextOf(*config, "a"), "2");
    EXPECT_EQ(TextOf(*config, "b"), "(3)");
    EXPECT_THAT(config->Names(), ElementsAre("a", "b"));
}

TEST(ConfigParametersTests, BlocksMerge)
{
    const auto config = ConfigParameters::Parse("x=[a=1]\nx=[b=2]\nX=[a=3]");
    const ConfigParameters& x = config->RequireBlock("x");
    EXPECT_EQ(TextOf(x, "a"), "3");
    EXPECT_EQ(TextOf(x, "b"), "2");
    EXPECT_EQ(TextOf(*config, "x"), "[a=1] [b=2] [a=3]");

    const auto book = ConfigParameters::Parse("params=[a=1;b=2;c=3]\nparams=[c=5;d=6;e=7]");
    const ConfigParameters& params = book->RequireBlock("params");
    EXPECT_THAT(params.Names(), ElementsAre("a", "b", "c", "d", "e"));
    EXPECT_EQ(TextOf(params, "c"), "5");
}

TEST(ConfigParametersTests, InnerBlocksMergeAndKeepOrder)
{
    const auto config =
        ConfigParameters::Parse("t=[reader=[file=a;dim=2];n=1]\nt=[reader=[file=b]]\nt=[n=2;reader=[start=3]]");
    const ConfigParameters& reader = config->RequireBlock("t").RequireBlock("reader");
    EXPECT_EQ(TextOf(reader, "file"), "b");
    EXPECT_EQ(TextOf(reader, "dim"), "2");
    EXPECT_EQ(TextOf(reader, "start"), "3");
    EXPECT_EQ(TextOf(reader, "n"), "2");
    EXPECT_EQ(reader.Path(), "text:t:reader");
}

TEST(ConfigParametersTests, BlockAndScalarReplaceEachOther)
{
    EXPECT_EQ(TextOf(*ConfigParameters::Parse("x=[a=1]\nx=5"), "x"), "5");
    const auto config = ConfigParameters::Parse("x=5\nx=[a=1]");
    EXPECT_EQ(TextOf(*config, "x"), "[a=1]");
    EXPECT_EQ(TextOf(config->RequireBlock("x"), "a"), "1");
    const auto again = ConfigParameters::Parse("x=[a=1]\nx=5\nx=[b=1]");
    EXPECT_FALSE(again->RequireBlock("x").ExistsHere("a"));
}

TEST(ConfigParametersTests, NamelessGroupsSpill)
{
    const auto config = ConfigParameters::Parse("a=[b=1] [b=2;c=3]");
    EXPECT_EQ(TextOf(config->RequireBlock("a"), "b"), "1");
    EXPECT_EQ(TextOf(*config, "b"), "2");
    EXPECT_EQ(TextOf(*config, "c"), "3");
}

TEST(ConfigParametersTests, LookUpGoesOutwards)
{
    const auto config = ConfigParameters::Parse("minibatchSize=4\nmodelPath=m\ntrain=[minibatchSize=8\nSGD=[n=1]]");
    const ConfigParameters& sgd = config->RequireBlock("train").RequireBlock("sgd");
    EXPECT_EQ(TextOf(sgd, "MINIBATCHSIZE"), "8");
    EXPECT_EQ(TextOf(sgd, "modelPath"), "m");
    EXPECT_FALSE(sgd.FindHere("modelPath"));
    EXPECT_TRUE(sgd.Exists("modelPath"));
    EXPECT_FALSE(sgd.ExistsHere("modelPath"));
    EXPECT_EQ(sgd.Find("minibatchSize")->KeyPath(), "train:minibatchSize");
    EXPECT_EQ(sgd.Find("modelPath")->Where().Location(), "text:2:11");
    EXPECT_EQ(sgd.WhereOf("modelPath").Location(), "text:2:11");
    EXPECT_EQ(sgd.WhereOf("maxEpochs").Location(), "text:4:1") << "what is not there has the place of its block";
    EXPECT_EQ(sgd.Parent()->Parent(), config.get());
}

TEST(ConfigParametersTests, BlocksFoundOutsideSeeTheAskingBlockFirst)
{
    const auto config = ConfigParameters::Parse("reader=[dim=2;features=[start=1]]\nSGD=[size=4]\nmode=[]\nfile=root\n"
                                                "A=[file=a;dim=3;maxEpochs=5]\nB=[file=b]\nC=[reader=[file=c]]",
                                                "exp.cntk");
    const ConfigParameters& a = config->RequireBlock("A");
    const ConfigParameters& reader = a.RequireBlock("reader");
    EXPECT_EQ(TextOf(reader, "file"), "a");
    EXPECT_EQ(TextOf(reader.RequireBlock("features"), "file"), "a") << "also in the blocks inside";
    EXPECT_EQ(TextOf(config->RequireBlock("B").RequireBlock("reader"), "file"), "b");
    EXPECT_EQ(TextOf(config->RequireBlock("reader").RequireBlock("features"), "file"), "root");
    EXPECT_FALSE(config->RequireBlock("C").RequireBlock("reader").Find("dim")) << "an own block hides the outer one";
    // The block's own values have precedence, and keep their name and position.
    EXPECT_EQ(TextOf(reader, "dim"), "2");
    EXPECT_EQ(reader.Require("dim").KeyPath(), "reader:dim");
    EXPECT_EQ(reader.Require("dim").Where().Location(), "exp.cntk:1:13");
    EXPECT_EQ(reader.WhereOf("file").Location(), "exp.cntk:5:9");
    EXPECT_FALSE(reader.ExistsHere("file"));
    EXPECT_EQ(reader.FindBlockHere("SGD"), nullptr);
    EXPECT_EQ(reader.FindBlockHere("features")->Parent(), &reader);
    EXPECT_EQ(&a.RequireBlock("Reader"), &reader);
    // A block may be found outside of a block that was itself found outside.
    const ConfigParameters& sgd = a.RequireBlock("SGD");
    EXPECT_EQ(TextOf(sgd.RequireBlock("mode"), "size"), "4");
    EXPECT_EQ(TextOf(sgd.RequireBlock("mode"), "maxEpochs"), "5");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { config->RequireBlock("B").RequireBlock("SGD").Require("maxEpochs"); }),
              "    2 | SGD=[size=4]\n      | ^~~\n"
              "exp.cntk:2:1: error: required parameter missing: exp.cntk:B:SGD:maxEpochs");
}

TEST(ConfigParametersTests, KeysReadThroughBlocksFoundOutsideAreRead)
{
    const auto config =
        ConfigParameters::Parse("reader=[dim=2;typo=1;features=[start=1]]\nA=[file=a]\nB=[file=b]", "exp.cntk");
    for (const char* name : {"A", "B"})
    {
        const ConfigParameters& reader = config->RequireBlock(name).RequireBlock("reader");
        reader.Find("file");
        reader.Find("dim");
        reader.RequireBlock("features").Find("start");
    }
    const auto unread = config->UnreadEntries();
    ASSERT_EQ(unread.size(), 1u);
    EXPECT_EQ(unread[0].name, "typo");
    EXPECT_EQ(unread[0].path, "exp.cntk:reader");
    // A value that the program sets is visible from every block.
    config->RequireBlock("A").RequireBlock("reader").Set("dim", "7");
    EXPECT_EQ(TextOf(config->RequireBlock("B").RequireBlock("reader"), "dim"), "7");
}

TEST(ConfigParametersTests, DefaultStopsTheSearch)
{
    const auto config = ConfigParameters::Parse("z=1\ns=[z=default]\nt=[z=Default]");
    EXPECT_FALSE(config->RequireBlock("s").Find("z"));
    EXPECT_EQ(TextOf(config->RequireBlock("t"), "z"), "Default");
    EXPECT_EQ(config->RequireBlock("s").Require("z").Text(), "default");
    // Blocks may have the value default, too. Other scalars are ignored.
    const auto blocks = ConfigParameters::Parse("A=[x=1]\ns=[A=default]\nt=[A=3]");
    EXPECT_EQ(blocks->RequireBlock("s").FindBlock("A"), nullptr);
    EXPECT_EQ(TextOf(blocks->RequireBlock("t").RequireBlock("A"), "x"), "1");
}

TEST(ConfigParametersTests, ScalarsAreNoBlocks)
{
    const auto config = ConfigParameters::Parse("parallelTrain=true\nSGD=[a=1]\nq=\"[a=1]\"");
    EXPECT_EQ(config->RequireBlock("SGD").FindBlock("ParallelTrain"), nullptr);
    EXPECT_EQ(config->FindBlock("q"), nullptr);
    EXPECT_THAT(config->BlockNames(), ElementsAre("SGD"));
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { config->RequireBlock("parallelTrain"); }),
              "    1 | parallelTrain=true\n      |               ^~~~\n"
              "text:1:15: error: 'parallelTrain' is 'true', expected a block: [ name=value ... ]");
}

TEST(ConfigParametersTests, MissingParameters)
{
    const auto config = ConfigParameters::Parse("Train=[\n  SGD=[minbatchSize=4]\n  file=\"\"\n]", "exp.cntk");
    const ConfigParameters& sgd = config->RequireBlock("Train").RequireBlock("SGD");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { sgd.Require("minibatchSize"); }),
              "    2 |   SGD=[minbatchSize=4]\n      |   ^~~\n"
              "exp.cntk:2:3: error: required parameter missing: exp.cntk:Train:SGD:minibatchSize; did you mean "
              "'minbatchSize'?");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { config->Require("command"); }),
              "error: required parameter missing: exp.cntk:command");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { sgd.Require("file"); }),
              "    3 |   file=\"\"\n      |         ^\n"
              "exp.cntk:3:9: error: required parameter missing: exp.cntk:Train:SGD:file: the value of 'Train:file' is "
              "empty");
}

TEST(ConfigParametersTests, Booleans)
{
    for (const char* text : {"t", "True", "TRUE", "true", "T", "1", "tRue"})
        EXPECT_TRUE(ConfigParameters::Parse(std::string("b=") + text)->Require("b").AsBool()) << text;
    for (const char* text : {"f", "False", "FALSE", "false", "F", "0", "\"\""})
        EXPECT_FALSE(ConfigParameters::Parse(std::string("b=") + text)->Find("b")->AsBool()) << text;
    EXPECT_TRUE(ConfigParameters::Parse("b")->Require("b").AsBool());
    const auto config = ConfigParameters::Parse("Train=[\n\tb=yes ]", "exp.cntk");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { config->RequireBlock("Train").Require("b").AsBool(); }),
              "    2 | \tb=yes ]\n      | \t  ^~~\n"
              "exp.cntk:2:4: error: 'Train:b' is 'yes', expected a boolean: true, t or 1, false, f or 0, in any case");
}

TEST(ConfigParametersTests, Numbers)
{
    const auto number = [](const char* text)
    { return ConfigParameters::Parse(std::string("n=") + text)->Find("n")->AsDouble(); };
    EXPECT_TRUE(std::isinf(number("1#INF")));
    EXPECT_LT(number("-1#INF"), 0);
    EXPECT_EQ(number("0x10"), 16);
    EXPECT_EQ(number("1e-12"), 1e-12);
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { number("1.5abc"); }),
              "    1 | n=1.5abc\n      |   ^~~~~~\n"
              "text:1:3: error: 'n' is '1.5abc', expected a number such as 0.5, 1e-3, inf or 1#INF");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { number("\"\""); }),
              "    1 | n=\"\"\n      |    ^\n"
              "text:1:4: error: 'n' is '', expected a number such as 0.5, 1e-3, inf or 1#INF");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [] { ConfigParameters::Parse("n=3000000000")->Require("n").AsInt(); }),
              "    1 | n=3000000000\n      |   ^~~~~~~~~~\n"
              "text:1:3: error: 'n' is '3000000000', expected a whole number between -2147483648 and 2147483647");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [] { ConfigParameters::Parse("n=-1")->Require("n").AsSize(); }),
              "    1 | n=-1\n      |   ^~\n"
              "text:1:3: error: 'n' is '-1', expected a whole number that is not negative");
    EXPECT_EQ(ConfigParameters::Parse("n=18446744073709551615")->Require("n").AsSize(), SIZE_MAX);
    EXPECT_EQ(ConfigParameters::Parse("n=+5")->Require("n").AsInt(), 5);
}

TEST(ConfigParametersTests, SeveralParametersOnALineAreToldHowToSeparateThem)
{
    const auto config =
        ConfigParameters::Parse("sgd=[ maxEpochs=3 minibatchSize = 5 ]\nrates=0.1 momentum=0.9\nb=true x=1");
    EXPECT_EQ(MessageOf(ErrorKind::Config, [&] { config->RequireBlock("sgd").Require("maxEpochs").AsSize(); }),
              "'sgd:maxEpochs' is '3 minibatchSize = 5', expected a whole number that is not negative; "
              "parameters that share a line are separated by ';', here before 'minibatchSize'");
    EXPECT_EQ(MessageOf(ErrorKind::Config, [&] { config->Require("rates").AsArray()[0].AsDouble(); }),
              "'rates' is '0.1 momentum=0.9', expected a number such as 0.5, 1e-3, inf or 1#INF; "
              "parameters that share a line are separated by ';', here before 'momentum'");
    EXPECT_NE(MessageOf(ErrorKind::Config, [&] { config->Require("b").AsBool(); }).find("here before 'x'"),
              std::string::npos);
}

TEST(ConfigParametersTests, Arrays)
{
    const auto config = ConfigParameters::Parse("rates=0.5:0.2*20:0.1\nlayers=$in$:512*3:$out$\nin=10\nout=2\n"
                                                "some=3:4\nall=2:$some$*2\nblocks=( [a=1] : [a=2] )\ne=()");
    const ConfigArray rates = config->Require("rates").AsArray();
    EXPECT_EQ(rates.size(), 22u);
    EXPECT_EQ(rates[0].AsDouble(), 0.5);
    EXPECT_EQ(rates[20].AsDouble(), 0.2);
    EXPECT_EQ(rates[21].AsDouble(), 0.1);
    EXPECT_EQ(rates[1000].AsDouble(), 0.1);
    EXPECT_EQ(rates[1].Where().Location(), "text:1:11");
    EXPECT_THAT(Texts(config->Require("layers").AsArray()), ElementsAre("10", "512", "512", "512", "2"));
    // A whole list may stand in quotes. A star without a number is then part of a name.
    const auto quoted = [](const std::string& list)
    { return Texts(ConfigParameters::Parse("a=\"" + list + "\"")->Require("a").AsArray()); };
    EXPECT_THAT(quoted("10:512*3:2"), ElementsAre("10", "512", "512", "512", "2"));
    EXPECT_THAT(quoted("W0*features"), ElementsAre("W0*features"));
    EXPECT_THAT(quoted("W0*features:b*2:W0*features+B0"), ElementsAre("W0*features", "b", "b", "W0*features+B0"));
    EXPECT_THAT(Texts(config->Require("all").AsArray()), ElementsAre("2", "3", "4", "4"));
    const ConfigArray blocks = config->Require("blocks").AsArray();
    ASSERT_EQ(blocks.size(), 2u);
    EXPECT_EQ(blocks[1].Text(), "[a=2]");
    EXPECT_TRUE(config->Require("e").AsArray().empty());
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { config->Require("e").AsArray()[0]; }),
              "error: an element of an empty array was requested");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [] { ConfigParameters::Parse("a=1:2*99999999999")->Require("a").AsArray(); }),
              "    1 | a=1:2*99999999999\n      |     ^~~~~~~~~~~~~\n"
              "text:1:5: error: 'a' has more than 1000000 elements");
}

TEST(ConfigParametersTests, SectionsInOtherLanguagesAreNotParsed)
{
    const auto config = ConfigParameters::Parse("net=[\n M(a,b) { M=Times(a,b) }\n \"odd\"=\n]\nx=1");
    EXPECT_EQ(config->Require("net").Text(), "[\n M(a,b) { M=Times(a,b) }\n \"odd\"=\n]");
    EXPECT_EQ(config->BlockNames(), std::vector<std::string>{"net"});
    EXPECT_EQ(config->UnreadEntries().size(), 1u);
}

TEST(ConfigParametersTests, ErrorsInBlocksComeAgain)
{
    const auto config = ConfigParameters::Parse("s=[a=1\nb=\n]");
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { config->RequireBlock("s").Find("a"); }),
                  "    2 | b=\n      | ^~\n"
                  "text:2:1: error: no value given for 'b'; expected b=value, or b=\"\" for an empty one");
}

TEST(ConfigParametersTests, SetOverrides)
{
    const auto config = ConfigParameters::Parse("r=[randomize=auto]");
    const ConfigParameters& reader = config->RequireBlock("r");
    reader.Set("Randomize", "none");
    reader.Set("traceLevel", "1");
    reader.Set("list", "a:b,c;d");
    EXPECT_EQ(TextOf(reader, "randomize"), "none");
    EXPECT_EQ(TextOf(reader, "traceLevel"), "1");
    EXPECT_EQ(TextOf(reader, "list"), "a:b,c;d");
    EXPECT_TRUE(config->UnreadEntries().empty());
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { reader.Require("randomize").AsInt(); }),
              "error: 'r:randomize' is 'none', expected a whole number between -2147483648 and 2147483647");
}

TEST(ConfigParametersTests, UnreadEntries)
{
    const auto config = ConfigParameters::Parse(
        "Root=out\nused=1\nnever=2\nT=[modelPath=$Root$/m\n  SGD=[a=1;b=2]\n  dead=[x=1]]\nU=[y=1]", "exp.cntk");
    config->Find("used");
    const ConfigParameters& train = config->RequireBlock("T");
    train.Find("modelPath");
    train.RequireBlock("SGD").Find("a");
    std::vector<std::string> found;
    for (const auto& unread : config->UnreadEntries())
        found.push_back(unread.path + ':' + unread.name + '@' + unread.where.Location());
    EXPECT_THAT(found, ElementsAre("exp.cntk:never@exp.cntk:3:1", "exp.cntk:T:SGD:b@exp.cntk:5:12",
                                   "exp.cntk:T:dead@exp.cntk:6:3", "exp.cntk:U@exp.cntk:7:1"));
}

TEST(ConfigParametersTests, LineEnds)
{
    const auto config = ConfigParameters::Parse("a=1\r\nb=[\r\n c=x y\r\n]\r\n");
    EXPECT_EQ(TextOf(*config, "a"), "1");
    EXPECT_EQ(TextOf(config->RequireBlock("b"), "c"), "x y");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [] { ConfigParameters::Parse("a=1\rb=2"); }),
              "    1 | a=1?b=2\n      |    ^\n"
              "text:1:4: error: a carriage return without a newline; expected lines that end with LF or CR LF");
}

} // namespace
} // namespace cntk
