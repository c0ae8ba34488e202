// The effective config with origins, and the dumps of the log's header.
#include "Common/Config/ConfigFiles.h"
#include "Common/Config/PrintConfig.h"
#include "CommonTests/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

TEST(PrintConfigTests, ValuesWithTheirOrigin)
{
    const TemporaryFolder folder;
    folder.Enter();
    folder.Write("a.cntk",
                 "Root=out # where\ncommand=Train\nTrain=[\n  modelPath=$Root$/m\n  SGD=[n=1]\n  cmd=\"a;b\"\n]\n"
                 "net=[\n  M(a) { M=Plus(a,a) }\n]\ndims=(1:\n2)\nunknown=$gone$\nflag\n");
    folder.Write("b.cntk", "Train=[SGD=[n=2]]\n");
    const LoadedConfig config = LoadConfig({"configFile=a.cntk+b.cntk", "Train=[SGD=[m=3]]"});
    config.root->Set("traceLevel", "1");
    EXPECT_EQ(PrintConfig(*config.root),
              "Root=out                                                    # a.cntk:1\n"
              "command=Train                                               # a.cntk:2\n"
              "Train=[                                                     # command line\n"
              "    modelPath=out/m                                         # a.cntk:4\n"
              "    SGD=[                                                   # command line\n"
              "        n=2                                                 # b.cntk:1\n"
              "        m=3                                                 # command line\n"
              "    ]\n"
              "    cmd=\"a;b\"                                               # a.cntk:6\n"
              "]\n"
              "net=[\n  M(a) { M=Plus(a,a) }\n]                                                           # a.cntk:8\n"
              "dims=(1:\n2)                                                          # a.cntk:11\n"
              "unknown=$gone$                                              # a.cntk:13\n"
              "flag=true                                                   # a.cntk:14\n"
              "traceLevel=1                                                # the program\n");
}

TEST(PrintConfigTests, FedBackItGivesTheSame)
{
    const auto config = ConfigParameters::Parse("x=[|a=1;2|b=c d]\ne=\"\"\nf=\"x # y\"\np=c:\\a b\nq=(|c:\\a|d:\\b)\n"
                                                "v=$p$\\z\nt=[u=[w=1 ]]");
    const std::string once = PrintConfig(*config);
    const auto again = ConfigParameters::Parse(once);
    EXPECT_EQ(again->RequireBlock("x").Require("a").Text(), "1;2");
    EXPECT_EQ(again->Find("f")->Text(), "x # y");
    EXPECT_EQ(again->Find("v")->Text(), "c:\\a b\\z");
    EXPECT_EQ(again->Find("q")->AsArray().size(), 2u);
    EXPECT_EQ(again->RequireBlock("t").RequireBlock("u").Require("w").Text(), "1");
    EXPECT_EQ(RawConfigText(*ConfigParameters::Parse(PrintConfig(*again))), RawConfigText(*again));
}

TEST(PrintConfigTests, DumpsOfTheLogHeader)
{
    const auto config =
        ConfigParameters::Parse("command=Train:Test # c\n\nRoot=out\nTrain=[\n  p=$Root$/m  \n q=$x$;x=1\n"
                                " r=$gone$\n]\nafter=$Root$\n",
                                "simple.cntk");
    EXPECT_EQ(RawConfigText(*config),
              "command=Train:Test\nRoot=out\nTrain=[\n  p=$Root$/m\n q=$x$;x=1\n r=$gone$\n]\nafter=$Root$\n");
    EXPECT_EQ(ResolvedConfigText(*config),
              "command=Train:Test\nRoot=out\nTrain=[\n  p=out/m\n q=1;x=1\n r=$gone$\n]\nafter=out\n");
    const auto small = ConfigParameters::Parse("b=$A$\nA=x\nc=[d=$A$]", "simple.cntk");
    EXPECT_EQ(ProcessedConfigText(*small), "configparameters: simple.cntk:A=x\nconfigparameters: simple.cntk:b=x\n"
                                           "configparameters: simple.cntk:c=[d=x]\n");
}

} // namespace
} // namespace cntk
