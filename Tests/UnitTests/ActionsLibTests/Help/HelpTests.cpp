// Help knows every name that configs, networks and scripts may use.
#include "ActionsLib/Action.h"
#include "ActionsLib/Help/Help.h"
#include "ActionsLib/Help/HelpEntry.h"
#include "ActionsLib/Mel/MelCommands.h"
#include "ActionsLib/Ndl/NdlFunctions.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(HelpTest, EveryFunctionHasItsOwnText)
{
    const NodeRegistry& registry = NodeRegistry::Standard();
    for (const std::string& name : NdlFunctionNames(registry))
    {
        SCOPED_TRACE(name);
        const std::string text = FunctionHelp(name);
        const NodeType& type = *FindNdlFunction(registry, name).type;
        // The signature first, under this name or the one that this is another name of.
        const std::string called = text.substr(0, text.find('('));
        EXPECT_TRUE(EqualsIgnoreCase(called, name) || text.find(name) != std::string::npos) << text;
        EXPECT_EQ(FindNdlFunction(registry, called).type, &type);
        EXPECT_TRUE(called == type.name || text.find("Makes a node of type: " + type.name) != std::string::npos);
        EXPECT_THAT(text, HasSubstr("tag=feature"));
        EXPECT_THAT(text, Not(HasSubstr("\n\n\n")));
        for (const NodeParameterInfo& parameter : NdlNamedParameters(FindNdlFunction(registry, name)))
            EXPECT_THAT(text,
                        AnyOf(HasSubstr("\n  " + parameter.name + " "), HasSubstr("\n  " + parameter.name + "\n")));
    }
}

// The help on a node type shows shapes of its tests.
TEST(HelpTest, TypesShowShapes)
{
    for (const NodeType& type : NodeRegistry::Standard().Types())
        if (!type.traits.isLeaf)
        {
            EXPECT_THAT(FunctionHelp(type.name), HasSubstr("\nShapes, * for the minibatch: "));
            EXPECT_THAT(FunctionHelp(type.name), HasSubstr("\nMay be sparse: "));
        }
}

TEST(HelpTest, AFunctionWithTheNameOfAnotherNodeTypeIsToldFromIt)
{
    const std::string text = FunctionHelp("reshape");
    EXPECT_THAT(text, StartsWith("Reshape(x, numRows, {imageWidth=0"));
    const size_t second = text.find("\nReshape, a node type\n");
    ASSERT_NE(second, std::string::npos) << text;
    const std::string function = text.substr(0, second), type = text.substr(second);
    EXPECT_THAT(function, HasSubstr("Makes a node of type: LegacyReshape"));
    EXPECT_THAT(function, HasSubstr("x [6 x *] -> [2 x *]"));
    EXPECT_THAT(function, Not(HasSubstr("beginAxis ")));
    EXPECT_THAT(type, HasSubstr("no function of networks makes it"));
    EXPECT_THAT(type, HasSubstr("x [2 x 6 x *] -> [4 x 3 x *]"));
    EXPECT_THAT(type, Not(HasSubstr("numRows ")));
    EXPECT_THAT(FunctionHelp("LegacyReshape"), HasSubstr("Functions that make it, too: Reshape"));
    EXPECT_THAT(NodesPage(), HasSubstr("\n## Reshape in models\n"));
    EXPECT_THAT(NodesPage(), HasSubstr("| [Reshape](#reshape-in-models) |"));
}

TEST(HelpTest, ParametersHaveTheirInitialisers)
{
    for (const char* name : {"Parameter", "ImageParameter", "SparseParameter"})
        for (const char* word : {"uniform", "gaussian", "fixedValue", "zero", "fromFile"})
            EXPECT_THAT(FunctionHelp(name), HasSubstr(word));
}

TEST(HelpTest, KnowsActionsBlocksCommandsAndParameters)
{
    for (const Action& action : Actions())
    {
        EXPECT_THAT(HelpText(action.name), HasSubstr("action=" + action.name));
        for (const std::string& block : action.blocks)
            EXPECT_THAT(HelpText(block), HasSubstr(block + "=[ ... ]   in "));
        for (const OptionInfo& option : action.options)
            EXPECT_THAT(HelpText(option.name), HasSubstr("\n  action " + action.name));
    }
    for (const BlockRecord& block : Blocks())
        for (const OptionInfo& option : block.options)
            EXPECT_THAT(HelpText(option.name), HasSubstr(option.type == "block" ? option.name
                                                         : block.parent.empty() ? "\n  " + block.name
                                                                                : "\n  block " + block.name));
    for (const MelCommandInfo& command : MelCommands())
        for (const std::string& name : command.names)
            EXPECT_THAT(HelpText(name), HasSubstr(command.usage + "\n\n" + command.doc.substr(0, 10)));
    EXPECT_THAT(HelpText("SGD"), StartsWith("SGD=[ ... ]   in train, adapt, trainSequence, trainEncoderDecoder, "));
    EXPECT_THAT(HelpText("NDLNetworkBuilder"), StartsWith("NDLNetworkBuilder=[ ... ]   in train, trainSequence, "));
    EXPECT_THAT(HelpText("AutoAdjust"), StartsWith("AutoAdjust=[ ... ]   in SGD\n"));
    EXPECT_THAT(HelpText("maxepochs"), StartsWith("Parameter maxepochs\n\n  block SGD"));
    EXPECT_THAT(HelpText("outputRank"), HasSubstr("function Times "));
    EXPECT_THAT(HelpText(""), HasSubstr("ReviseParameter"));
    // Words that are values, and blocks that readers have.
    EXPECT_THAT(HelpText("AdaGrad"), AllOf(StartsWith("Parameters that speak of AdaGrad\n\n  gradUpdateType "),
                                           Not(HasSubstr("\n  rms_gamma "))));
    EXPECT_THAT(HelpText("classlm"), HasSubstr("\n  rnnType "));
    EXPECT_THAT(HelpText("Features"),
                AllOf(StartsWith("features=[ ... ]   in a reader block\n"),
                      HasSubstr("\n  UCIFastReader             file, dim, start, columns, missing\n")));
}

TEST(HelpTest, KnowsNearNames)
{
    const auto messageOf = [](const char* topic)
    {
        try
        {
            return HelpText(topic);
        }
        catch (const Error& error)
        {
            return error.Message();
        }
    };
    EXPECT_EQ(messageOf("Tims"), "no help on 'Tims'; cntk --help lists actions, blocks, readers, functions of networks "
                                 "and commands of the edit action; did you mean 'Times'?");
    EXPECT_THAT(messageOf("maxEpoch"), HasSubstr("did you mean 'maxEpochs'?"));
    EXPECT_THAT(messageOf("SetPropety"), HasSubstr("did you mean 'SetProperty'?"));
}

} // namespace
} // namespace cntk
