// $name$: scopes, recursion, loops, and texts that are no variables.
#include "Common/Config/ConfigParameters.h"
#include "Common/Config/ConfigTree.h"
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

std::string Resolved(const ConfigParameters& block, std::string_view name)
{
    return block.Require(name).Text();
}

TEST(VariablesTests, Vectors)
{
    const auto config = ConfigParameters::Parse("A=$B$\nB=$C$\nC=Hello\nP=$A$\\$B$.log\nD=$none\nE=cost$5\n"
                                                "S=[q=$A$;w=[e=$C$]]\nz=default\nQ=\"$A$ $B$\"\nL=(1:$n$)\nn=2:3");
    EXPECT_EQ(Resolved(*config, "P"), "Hello\\Hello.log");
    EXPECT_EQ(Resolved(*config, "D"), "$none");
    EXPECT_EQ(Resolved(*config, "E"), "cost$5");
    EXPECT_EQ(Resolved(*config, "S"), "[q=Hello;w=[e=Hello]]");
    EXPECT_EQ(Resolved(config->RequireBlock("S").RequireBlock("w"), "e"), "Hello");
    EXPECT_FALSE(config->Find("z"));
    EXPECT_EQ(Resolved(*config, "Q"), "Hello Hello");
    EXPECT_EQ(config->Require("L").AsArray().size(), 3u);
    EXPECT_EQ(config->ResolveVariables("-$a$-", {}), "-Hello-");
}

TEST(VariablesTests, RootWinsElseInnermost)
{
    const auto config = ConfigParameters::Parse("x=ROOT\nS=[ x=INNER; y=$x$; v=1; T=[ v=2; u=$v$; w=$x$ ] ]");
    const ConfigParameters& block = config->RequireBlock("S");
    EXPECT_EQ(Resolved(block, "y"), "ROOT");
    EXPECT_EQ(Resolved(block.RequireBlock("T"), "u"), "2");
    EXPECT_EQ(Resolved(block.RequireBlock("T"), "w"), "ROOT");
    EXPECT_EQ(Resolved(*ConfigParameters::Parse("S=[ x=INNER; y=$x$ ]"), "S"), "[ x=INNER; y=INNER ]");
    const auto between = ConfigParameters::Parse("S=[ x=BETWEEN; T=[ y=$x$ ] ]");
    EXPECT_EQ(Resolved(between->RequireBlock("S").RequireBlock("T"), "y"), "BETWEEN");
}

// The root's value has precedence, same as in blocks inside of the command.
TEST(VariablesTests, BlocksFoundOutsideSeeTheAskingBlock)
{
    const auto config = ConfigParameters::Parse("reader=[file=$dir$/x;map=$set$]\nset=root\n"
                                                "A=[dir=a;set=own]\nB=[dir=b]");
    EXPECT_EQ(config->RequireBlock("A").RequireBlock("reader").Require("file").Text(), "a/x");
    EXPECT_EQ(config->RequireBlock("B").RequireBlock("reader").Require("file").Text(), "b/x");
    EXPECT_EQ(config->RequireBlock("A").RequireBlock("reader").Require("map").Text(), "root");
}

TEST(VariablesTests, InScriptsTheInnermostWins)
{
    const auto config = ConfigParameters::Parse("x=ROOT\ny=ROOT\nS=[ x=INNER; T=[ z=1 ] ]");
    EXPECT_EQ(ConfigTree::ResolveScript(config->RequireBlock("S").RequireBlock("T"), "$x$ $y$", {}), "INNER ROOT");
}

// A variable is used if any text names it, in any case, or if a script has read its value.
TEST(VariablesTests, WhatIsInsertedIsRead)
{
    const auto config = ConfigParameters::Parse("Dir=x\nofScript=y\nfile=$DIR$/f\nleft=z");
    EXPECT_EQ(config->ResolveVariables("$ofScript$", {}), "y");
    std::vector<std::string> unread;
    for (const ConfigParameters::Unread& entry : config->UnreadEntries())
        unread.push_back(entry.name);
    EXPECT_THAT(unread, ::testing::ElementsAre("file", "left"));
}

// Names at the root keep their variables. Names in blocks get the values.
TEST(VariablesTests, NamesAtTheRootAreNotResolved)
{
    const auto config = ConfigParameters::Parse("a=x\n$a$=5\nS=[$a$=6]");
    EXPECT_FALSE(config->FindHere("x"));
    EXPECT_EQ(config->FindHere("$a$")->AsInt(), 5);
    EXPECT_EQ(config->RequireBlock("S").FindHere("x")->AsInt(), 6);
}

TEST(VariablesTests, FoundValueIsResolvedInItsOwnPlace)
{
    const auto config = ConfigParameters::Parse("file=$dir$/f\ndir=root\nS=[dir=inner; g=$file$; file=$file$x]");
    EXPECT_EQ(Resolved(config->RequireBlock("S"), "g"), "root/f");
    EXPECT_EQ(Resolved(config->RequireBlock("S"), "file"), "root/fx");
}

// Earlier insertions are not cached.
TEST(VariablesTests, AChangedValueIsInsertedAnew)
{
    const auto config = ConfigParameters::Parse("a=$b$/f\nb=$c$\nc=1\nS=[g=$a$]");
    EXPECT_EQ(Resolved(config->RequireBlock("S"), "g"), "1/f");
    config->Set("c", "2");
    EXPECT_EQ(Resolved(config->RequireBlock("S"), "g"), "2/f");
    EXPECT_EQ(Resolved(*config, "a"), "2/f");
    config->Set("b", "3");
    EXPECT_EQ(Resolved(*config, "a"), "3/f");
}

TEST(VariablesTests, InsertedTextIsNotScannedAgain)
{
    const auto config = ConfigParameters::Parse("a=x$\nb=$a$n$");
    EXPECT_EQ(Resolved(*config, "b"), "x$n$");
}

TEST(VariablesTests, BlocksAndNamesFromVariables)
{
    const auto config = ConfigParameters::Parse(
        "features=[dim=4]\ncommon=[a=1;b=2]\nname=labels\nreader=[ f=$features$; $name$=[dim=2]; $common$ ]");
    const ConfigParameters& reader = config->RequireBlock("reader");
    EXPECT_EQ(reader.RequireBlock("f").Require("dim").AsInt(), 4);
    EXPECT_EQ(reader.RequireBlock("labels").Require("dim").AsInt(), 2);
    EXPECT_EQ(reader.FindHere("b")->AsInt(), 2);
    EXPECT_THAT(reader.BlockNames(), ::testing::ElementsAre("f", "labels"));
}

TEST(VariablesTests, MissingAndEmpty)
{
    const auto config = ConfigParameters::Parse("RunName=x\ne=\"\"\nT=[\n  path=$Rootdir$/$RunNam$\n  q=$e$\n]");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { config->RequireBlock("T").Require("path"); }),
              "    4 |   path=$Rootdir$/$RunNam$\n      |        ^~~~~~~~~\n"
              "text:4:8: error: no variable found with the name 'Rootdir' for '$Rootdir$'");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { config->ResolveVariables("$RunNam$", {}); }),
              "error: no variable found with the name 'RunNam' for '$RunNam$'; did you mean 'RunName'?");
    const auto near = ConfigParameters::Parse("RunName=x\nT=[path=$RunNam$]");
    EXPECT_THAT(ReportOf(ErrorKind::Config, [&] { near->RequireBlock("T").Require("path"); }),
                ::testing::EndsWith("for '$RunNam$'; did you mean 'RunName'?"));
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { config->RequireBlock("T").Require("q"); }),
              "    5 |   q=$e$\n      |     ^~~\n"
              "text:5:5: error: variable 'e' is empty, expected a value for '$e$'");
}

TEST(VariablesTests, OnlyUsedBlocksMatter)
{
    const auto config = ConfigParameters::Parse("Used=[a=1]\nUnused=[b=$missing$]");
    EXPECT_EQ(config->RequireBlock("Used").Require("a").AsInt(), 1);
}

TEST(VariablesTests, LoopsAreNamed)
{
    const auto config = ConfigParameters::Parse("a=$b$\nb=1$c$\nc=$a$\nself=[x=$x$]\nstart=$a$");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { config->Require("a"); }),
              "    3 | c=$a$\n      |   ^~~\n"
              "text:3:3: error: variables refer to each other in a loop: a -> b -> c -> a");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { config->Require("start"); }),
              "    3 | c=$a$\n      |   ^~~\n"
              "text:3:3: error: variables refer to each other in a loop: a -> b -> c -> a");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { config->RequireBlock("self").Require("x"); }),
              "    4 | self=[x=$x$]\n      |         ^~~\n"
              "text:4:9: error: variables refer to each other in a loop: x -> x");
    // The position is in the merged block that contains the variable.
    const auto merged = ConfigParameters::Parse("s=[a=$s$]\ns=[b=1]");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { ConfigTree::PiecesOf(*merged->FindHere("s")); }),
              "    1 | s=[a=$s$]\n      |      ^~~\n"
              "text:1:6: error: variables refer to each other in a loop: s -> s");
}

TEST(VariablesTests, BlocksOfSeveralLinesCannotBeInserted)
{
    const auto config = ConfigParameters::Parse("s=[\na=1]\nt=x$s$");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { config->Require("t"); }),
              "    3 | t=x$s$\n      |    ^~~\n"
              "text:3:4: error: variable 's' has a value of several lines (text:1:3), which cannot be inserted for "
              "'$s$'");
}

TEST(VariablesTests, GrowthIsLimited)
{
    std::string text = "v0=0123456789\n";
    for (int i = 1; i < 40; ++i)
        text += "v" + std::to_string(i) + "=$v" + std::to_string(i - 1) + "$$v" + std::to_string(i - 1) + "$\n";
    const auto config = ConfigParameters::Parse(text);
    EXPECT_THAT(ReportOf(ErrorKind::Config, [&] { config->Require("v39"); }),
                ::testing::HasSubstr("the value grows beyond 4194304 characters when its variables are inserted"));
    std::string chain = "c0=1\n";
    for (int i = 1; i < 1000; ++i)
        chain += "c" + std::to_string(i) + "=$c" + std::to_string(i - 1) + "$\n";
    EXPECT_THAT(ReportOf(ErrorKind::Config, [&] { ConfigParameters::Parse(chain)->Require("c999"); }),
                ::testing::HasSubstr("variables refer to each other more than 500 deep"));
}

} // namespace
} // namespace cntk
