// Messages about unread keys.
#include "Common/Config/UnusedKeys.h"
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

OptionInfo Row(std::string name, std::string type = "number", std::vector<std::string> aliases = {})
{
    OptionInfo info;
    info.name = std::move(name);
    info.type = std::move(type);
    info.aliases = std::move(aliases);
    return info;
}

const std::vector<KnownBlock>& Known()
{
    static const std::vector<KnownBlock> c_known = {
        {"", {}, {Row("command", "list of texts"), Row("stderr", "text"), Row("hyperCompressMemory", "bool")}},
        {"Train", {}, {Row("action"), Row("modelPath"), Row("SGD", "block"), Row("reader", "block")}},
        {"Write", {}, {Row("action"), Row("outputNodeNames", "list of texts"), Row("reader", "block")}},
        {"SGD",
         {"Train"},
         {Row("minibatchSize", "schedule of sizes"), Row("learningRatesPerMB", "schedule of numbers"), Row("maxEpochs"),
          Row("AutoAdjust", "block"), Row("dropoutRate", "schedule of numbers")}},
        {"AutoAdjust", {"SGD"}, {Row("autoAdjustLR"), Row("numPrevLearnRates", "size", {"numPrevLearnRate"})}},
        {"reader", {}, {Row("readerType"), Row("file")}},
        {"*", {"reader"}, {Row("dim"), Row("start")}},
        {"NDLNetworkBuilder", {"Train"}, {Row("run")}},
    };
    return c_known;
}

// Reads the root's command, and in each block its known keys and all known blocks.
void ReadAll(const ConfigParameters& block, const std::vector<std::string>& names)
{
    for (const std::string& name : names)
    {
        const size_t colon = name.find(':');
        if (colon == std::string::npos)
            block.FindHere(name);
        else
            ReadAll(block.RequireBlock(name.substr(0, colon)), {name.substr(colon + 1)});
    }
}

std::vector<std::string> Unused(const std::string& text, const std::vector<std::string>& readNames)
{
    const auto config = ConfigParameters::Parse(text, "exp.cntk");
    ReadAll(*config, readNames);
    std::vector<std::string> found;
    for (const UnusedKey& key : FindUnusedKeys(*config, Known()))
        found.push_back(key.where.Location() + ": " + key.message);
    return found;
}

TEST(UnusedKeysTests, WhatBelongsToTheRoot)
{
    EXPECT_THAT(Unused("command=Train\nTrain=[action=train\n  SGD=[\n    hyperCompressMemory=true\n]]",
                       {"command", "Train:action", "Train:SGD:maxEpochs"}),
                ElementsAre("exp.cntk:4:5: 'hyperCompressMemory' is not read in block 'Train:SGD'; it belongs in the "
                            "root of the config"));
}

// A block that accepts a key without effect is suggested only if no other block knows the key.
TEST(UnusedKeysTests, BlocksThatTakeAKeyWithoutEffect)
{
    std::vector<KnownBlock> known = Known();
    known[0].options.push_back(Row("deviceId"));
    known.push_back({"builder", {"Train"}, {Row("deviceId"), Row("old")}});
    for (OptionInfo& option : known.back().options)
        option.hasNoEffect = true;
    known[1].options.push_back(Row("deviceId"));
    const auto config = ConfigParameters::Parse("Train=[SGD=[deviceId=0;old=1;maxEpochs=1]]", "exp.cntk");
    ReadAll(*config, {"Train:SGD:maxEpochs"});
    std::vector<std::string> found;
    for (const UnusedKey& key : FindUnusedKeys(*config, known))
        found.push_back(key.message);
    EXPECT_THAT(found, ElementsAre("'deviceId' is not read in block 'Train:SGD'; it belongs in the root of the "
                                   "config or the block Train",
                                   "'old' is not read in block 'Train:SGD'; it belongs in the block builder"));
}

TEST(UnusedKeysTests, MisspeltKeys)
{
    EXPECT_THAT(Unused("command=Train\nTrain=[action=train\n  SGD=[\n    minbatchSize=256\n    numPrevLearnRats=1\n    "
                       "xyzzy=1\n]]",
                       {"command", "Train:action", "Train:SGD:maxEpochs"}),
                ElementsAre("exp.cntk:4:5: unknown key 'minbatchSize' in block 'Train:SGD'; did you mean "
                            "'minibatchSize'?",
                            "exp.cntk:5:5: unknown key 'numPrevLearnRats' in block 'Train:SGD'; did you mean "
                            "'numPrevLearnRates'?",
                            "exp.cntk:6:5: unknown key 'xyzzy' in block 'Train:SGD'"));
}

// An alias is suggested if it is near and the parameter's own name is not.
TEST(UnusedKeysTests, MisspeltAliases)
{
    std::vector<KnownBlock> known = Known();
    known.push_back({"builder", {"Train"}, {Row("layerTypes", "text", {"nodeType"}), Row("layerSizes")}});
    known.push_back({"LUreader", {"Train"}, {Row("start", "bool", {"beginingSequence"})}});
    const auto config = ConfigParameters::Parse("Train=[SGD=[nodeTyp=x;maxEpochs=1];builder=[nodeTyp=x;layerSizes=1];"
                                                "LUreader=[beginingSequenc=1;start=1];numPrevLearnRat=1;action=train]",
                                                "exp.cntk");
    ReadAll(*config, {"Train:SGD:maxEpochs", "Train:builder:layerSizes", "Train:LUreader:start", "Train:action"});
    std::vector<std::string> found;
    for (const UnusedKey& key : FindUnusedKeys(*config, known))
        found.push_back(key.message);
    EXPECT_THAT(found,
                ElementsAre("unknown key 'nodeTyp' in block 'Train:SGD'; did you mean 'nodeType'?",
                            "unknown key 'nodeTyp' in block 'Train:builder'; did you mean 'nodeType'?",
                            "unknown key 'beginingSequenc' in block 'Train:LUreader'; did you mean 'beginingSequence'?",
                            "unknown key 'numPrevLearnRat' in block 'Train'; did you mean 'numPrevLearnRates'?"));
}

TEST(UnusedKeysTests, SlipsThatMayBeWhyABlockCannotBeRead)
{
    const auto config = ConfigParameters::Parse("Train=[action=train\n SGD=[minbatchSize=4;xyzzy=1;file=x;maxEpochs=1\n"
                                                " learningRatesPerMB=1;2]]",
                                                "exp.cntk");
    ReadAll(*config, {"Train:action", "Train:SGD:maxEpochs"});
    std::vector<std::string> found;
    for (const UnusedKey& key : FindLikelySlips(*config, Known()))
        found.push_back(key.where.Location() + ": " + key.message);
    EXPECT_THAT(found, ElementsAre("exp.cntk:2:7: unknown key 'minbatchSize' in block 'Train:SGD'; did you mean "
                                   "'minibatchSize'?",
                                   "exp.cntk:3:23: 'learningRatesPerMB=1;2' in block 'Train:SGD' falls into "
                                   "'learningRatesPerMB=1', '2': the elements of a list are separated by ':', write "
                                   "learningRatesPerMB=1:2"));
}

TEST(UnusedKeysTests, MisspeltInclude)
{
    EXPECT_THAT(Unused("incude=a.cntk\nTrain=[action=train\nincldue=b.cntk\n]", {"Train:action"}),
                ElementsAre("exp.cntk:1:1: unknown key 'incude' at the root of the config; did you mean 'include'?",
                            "exp.cntk:3:1: unknown key 'incldue' in block 'Train'; did you mean 'include'?"));
    const auto config = ConfigParameters::Parse("incude=a.cntk\nxyzzy=1", "exp.cntk");
    EXPECT_EQ(FindLikelySlips(*config, Known()).size(), 1u);
}

TEST(UnusedKeysTests, MisplacedKeys)
{
    EXPECT_THAT(
        Unused("Train=[action=train\n AutoAdjust=[autoAdjustLR=none]\n SGD=[file=x;dim=2]]\n"
               "Write=[action=write\n NDLNetworkBuilder=[run=n]\n dropoutRate=0.1]",
               {"Train:action", "Train:SGD:maxEpochs", "Write:action"}),
        ElementsAre("exp.cntk:2:2: 'AutoAdjust' is not read in block 'Train'; it belongs in the block SGD",
                    "exp.cntk:3:7: 'file' is not read in block 'Train:SGD'; it belongs in the block reader",
                    "exp.cntk:3:14: 'dim' is not read in block 'Train:SGD'; it belongs in a block inside reader",
                    "exp.cntk:5:2: 'NDLNetworkBuilder' is not read in block 'Write'; it belongs in the block "
                    "Train",
                    "exp.cntk:6:2: 'dropoutRate' is not read in block 'Write'; it belongs in the block SGD"));
}

// After a missing bracket, the block of a command is inside the previous block.
TEST(UnusedKeysTests, CommandsThatStandInACommand)
{
    std::vector<KnownBlock> known = Known();
    known.push_back({"Test", {""}, {Row("action")}});
    const auto config = ConfigParameters::Parse("Train=[action=train\nTest=[action=test]\n]", "exp.cntk");
    ReadAll(*config, {"Train:action"});
    const std::vector<UnusedKey> found = FindUnusedKeys(*config, known);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].message, "'Test' is not read in block 'Train'; it belongs in the root of the config");
}

TEST(UnusedKeysTests, StreamsOfReaders)
{
    EXPECT_THAT(Unused("reader=[file=a\n features=[dim=1\n strat=0]]", {"reader:file", "reader:features:dim"}),
                ElementsAre("exp.cntk:3:2: unknown key 'strat' in block 'reader:features'; did you mean 'start'?"));
}

TEST(UnusedKeysTests, RootValuesServeOtherCommands)
{
    EXPECT_THAT(Unused("command=Train\nminibatchSize=4\nSGD=[x=1]\nhyperCompressMemory=1\nTest=[action=test;y=1]\n"
                       "macros=[ M(a) { M=Plus(a,a) } ]\nOther=[action=edit;load=macros]\nRoot=x\nTrain=[p=$Root$]",
                       {"command", "Train:p"}),
                IsEmpty());
    EXPECT_THAT(Unused("comand=Train\nstderr=x\nSDG=[maxEpochs=1]", {"stderr"}),
                ElementsAre("exp.cntk:1:1: unknown key 'comand' at the root of the config; did you mean 'command'?",
                            "exp.cntk:3:1: unused block 'SDG' at the root of the config; did you mean 'SGD'?"));
}

TEST(UnusedKeysTests, PathsAreNoNames)
{
    EXPECT_THAT(
        Unused("Train.SGD.maxEpochs=2\nSDG.maxEpochs=2\nTrain=[SGD=[maxEpochs=1]]", {"Train:SGD:maxEpochs"}),
        ElementsAre("exp.cntk:1:1: unknown key 'Train.SGD.maxEpochs' at the root of the config; a key of a block is "
                    "written Train=[SGD=[maxEpochs=...]]",
                    "exp.cntk:2:1: unknown key 'SDG.maxEpochs' at the root of the config"));
    EXPECT_THAT(
        Unused("Train:SGD:maxEpochs=2\nTrain=[SGD=[maxEpochs=1]]", {"Train:SGD:maxEpochs"}),
        ElementsAre("exp.cntk:1:1: unknown key 'Train:SGD:maxEpochs' at the root of the config; a key of a block is "
                    "written Train=[SGD=[maxEpochs=...]]"));
}

// The block of that name replaces the stray word.
TEST(UnusedKeysTests, CommandsWithWrongSeparatorAboveTheirBlocks)
{
    const std::string blocks = "Train=[action=train]\nTest=[action=test]\nPlot=[action=plot]";
    EXPECT_THAT(Unused("command=Train,Test;Plot\n" + blocks, {"command", "Train:action"}),
                ElementsAre("exp.cntk:1:15: 'command=Train,Test;Plot' at the root of the config falls into "
                            "'command=Train', 'Test', 'Plot': the elements of a list are separated by ':', write "
                            "command=Train:Test:Plot"));
    EXPECT_THAT(Unused("Test\ncommand=Train:Test\n" + blocks, {"command", "Train:action", "Test:action"}), IsEmpty());
}

TEST(UnusedKeysTests, ListsWithWrongSeparator)
{
    const std::vector<std::string> read = {"SGD:learningRatesPerMB", "SGD:maxEpochs", "Write:outputNodeNames"};
    EXPECT_THAT(
        Unused("SGD=[learningRatesPerMB=0.5;0.2*3;0.1 ; maxEpochs=3]", {read[0], read[1]}),
        ElementsAre("exp.cntk:1:29: 'learningRatesPerMB=0.5;0.2*3;0.1' in block 'SGD' falls into "
                    "'learningRatesPerMB=0.5', '0.2*3', '0.1': the elements of a list are separated by ':', write "
                    "learningRatesPerMB=0.5:0.2*3:0.1"));
    EXPECT_THAT(Unused("Write=[\noutputNodeNames=a,b\n]", {read[2]}),
                ElementsAre("exp.cntk:2:19: 'outputNodeNames=a,b' in block 'Write' falls into 'outputNodeNames=a', "
                            "'b': the elements of a list are separated by ':', write outputNodeNames=a:b"));
    EXPECT_THAT(Unused("Write=[\noutputNodeNames=a;b\n]", {read[2]}),
                ElementsAre("exp.cntk:2:19: 'outputNodeNames=a;b' in block 'Write' falls into 'outputNodeNames=a', "
                            "'b': the elements of a list are separated by ':', write outputNodeNames=a:b"));
    EXPECT_THAT(Unused("SGD=[maxEpochs=3;verbos\n0.5]", {read[1]}),
                ElementsAre("exp.cntk:1:18: unknown key 'verbos' in block 'SGD'",
                            "exp.cntk:2:1: unknown key '0.5' in block 'SGD'"));
}

TEST(UnusedKeysTests, ListsOfNumbersWithWrongSeparatorAreAnError)
{
    const auto reportOf = [](const std::string& list, const std::string& name)
    {
        const auto config = ConfigParameters::Parse("verbos=1\nSGD=[" + list + "]", "exp.cntk");
        ReadAll(*config, {"SGD:" + name});
        Log log;
        return ReportOf(ErrorKind::Config, [&] { CheckUnusedKeys(*config, Known(), log); });
    };
    const std::string list = ": the elements of a list are separated by ':', write ";
    EXPECT_THAT(reportOf("learningRatesPerMB=0.2,0.1*5,0.05", "learningRatesPerMB"),
                EndsWith("exp.cntk:2:29: error: 'learningRatesPerMB=0.2,0.1*5,0.05' in block 'SGD' falls into "
                         "'learningRatesPerMB=0.2', '0.1*5', '0.05'" +
                         list + "learningRatesPerMB=0.2:0.1*5:0.05"));
    EXPECT_THAT(reportOf("minibatchSize=256,512", "minibatchSize"),
                EndsWith(list + "minibatchSize=256:512, or for a fraction minibatchSize=256.512"));
    EXPECT_THAT(reportOf("minibatchSize=256:128*2;512", "minibatchSize"),
                EndsWith(list + "minibatchSize=256:128*2:512"));
    EXPECT_THAT(reportOf("maxEpochs=0,5", "maxEpochs"),
                EndsWith(": expected one number, write for a fraction maxEpochs=0.5"));
    EXPECT_EQ(reportOf("learningRatesPerMB=0.2;verbose=1,2x", "learningRatesPerMB"), "no error");
}

TEST(UnusedKeysTests, TextBehindAValue)
{
    EXPECT_THAT(
        Unused("SGD=[minibatchSize=(1:2)*3\nmaxEpochs=\"3\" x]", {"SGD:minibatchSize", "SGD:maxEpochs"}),
        ElementsAre("exp.cntk:1:25: '*3' in block 'SGD' is not part of the value of 'minibatchSize', which ends "
                    "with the ')' before it",
                    "exp.cntk:2:15: 'x' in block 'SGD' is not part of the value of 'maxEpochs', which ends "
                    "with the '\"' before it"));
}

TEST(UnusedKeysTests, StrictConfigIsAnError)
{
    Log log;
    const auto config = ConfigParameters::Parse("strictConfig=true\ncomand=x\nstder=y", "exp.cntk");
    EXPECT_EQ(ReportOf(ErrorKind::Config, [&] { CheckUnusedKeys(*config, Known(), log); }),
              "note: exp.cntk:3:1: unknown key 'stder' at the root of the config; did you mean 'stderr'?\n"
              "note: strictConfig=true (exp.cntk:1:14) makes unused keys an error\n"
              "    2 | comand=x\n      | ^~~~~~\n"
              "exp.cntk:2:1: error: unknown key 'comand' at the root of the config; did you mean 'command'?");
}

TEST(UnusedKeysTests, WarningsGoToTheLog)
{
    const auto config = ConfigParameters::Parse("comand=x\nTest=[action=test;p=$gone$]", "exp.cntk");
    ::testing::internal::CaptureStderr();
    {
        Log log;
        CheckUnusedKeys(*config, Known(), log);
    }
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "WARNING: exp.cntk:1:1: unknown key 'comand' at the root of the config; did you mean 'command'?\n"
              "WARNING: exp.cntk:2:21: no variable found with the name 'gone' for 'Test:p', which this run does not "
              "use\n");
}

} // namespace
} // namespace cntk
