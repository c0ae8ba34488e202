// Full messages about scripts: hints at unknown names, invalid values, arguments without effect.
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "ActionsLibTests/Ndl/NdlText.h"
#include "Common/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

// Returns the message line of the error of a script that begins with "x=Input(2, tag=feature)".
std::string MessageOf(const std::string& script)
{
    const std::string report = NdlErrorOf("x=Input(2, tag=feature)\n" + script);
    return report.substr(report.rfind('\n') + 1);
}

TEST(NdlMessagesTests, AnAxisThatIsNoneIsToldWithItsPlace)
{
    EXPECT_EQ(NdlErrorOf("words=DynamicAxis()\n"
                         "x=Input(2, dynamicAxis=wrods, tag=feature)\n"
                         "h=Tanh(x, tag=output)\n"),
              "    2 | x=Input(2, dynamicAxis=wrods, tag=feature)\n"
              "      |   ^~~~~\n"
              "net.ndl:2:3: error: input 'x' has dynamicAxis 'wrods', but there is no such node; expected the name of "
              "a DynamicAxis node, here words; did you mean 'words'?");
}

TEST(NdlMessagesTests, ValuesOfAnotherKind)
{
    EXPECT_EQ(NdlErrorOf("x=Input(2, tag=feature)\nh=Plus((x),x)\n"),
              "    2 | h=Plus((x),x)\n"
              "      |        ^~~\n"
              "net.ndl:2:8: error: a node expected as input, found the list '(x)'");
    EXPECT_EQ(MessageOf("W=Parameter((3),4)"), "net.ndl:2:13: error: a number expected, found the list '(3)'");
    EXPECT_EQ(MessageOf("h=(x, x)"), "net.ndl:2:1: error: 'h' is given a list; only FeatureNodes, LabelNodes, "
                                     "CriteriaNodes, EvalNodes and OutputNodes take one");
    EXPECT_EQ(MessageOf("OutputNodes=((x))"),
              "net.ndl:2:14: error: OutputNodes expects names of nodes, found the list '(x)'");
    EXPECT_EQ(MessageOf("OutputNodes=(Tanh(x))"),
              "net.ndl:2:14: error: OutputNodes expects names of nodes, found the call 'Tanh(x)'");
    EXPECT_EQ(MessageOf("h=Plus((x, x), x)"), "net.ndl:2:8: error: a node expected as input, found the list '(x, x)'");
    EXPECT_EQ(MessageOf("W=Parameter(Tanh(x))"), "net.ndl:2:13: error: a number expected, found the call 'Tanh(x)'");
    EXPECT_EQ(MessageOf("h=Tanh(\"x\")"), "net.ndl:2:8: error: a node expected as input, found the text \"x\"");
    EXPECT_EQ(MessageOf("h=Dropout(x, tag=Tanh(x))"),
              "net.ndl:2:18: error: a word, a number or a quoted text expected, found the call 'Tanh(x)'");
}

TEST(NdlMessagesTests, NamesThatAreDefinedAfterTheirUse)
{
    EXPECT_EQ(
        MessageOf("OutputNodes=(h)\nh=Tanh(x)"),
        "net.ndl:2:14: error: OutputNodes names an unknown node 'h'; it is defined after its use, at net.ndl:3:1; "
        "only inputs of functions may be defined later");
    EXPECT_EQ(MessageOf("F(a) { W=Parameter(n, 2)\nn=3 }\ny=F(x)"),
              "net.ndl:2:20: error: a number expected, found the unknown name 'n'; it is defined after its use, at "
              "net.ndl:3:1; only inputs of functions may be defined later");
}

TEST(NdlMessagesTests, HintsAtCharactersThatOnlyLookRight)
{
    EXPECT_EQ(
        MessageOf("c=Constant(\u20133)"),
        "net.ndl:2:12: error: a number expected, found the unknown name '\u20133'; the name has '\u2013' (U+2013)");
    EXPECT_EQ(MessageOf("h=Tanh(\u00e4)"),
              "net.ndl:2:8: error: unknown variable '\u00e4'; the name has '\u00e4' (U+00E4)");
    // A name that is only misspelt is so in any alphabet.
    EXPECT_EQ(MessageOf("gr\u00f6\u00dfe=3\nW=Parameter(gr\u00f6\u00dfee, 2)"),
              "net.ndl:3:13: error: a number expected, found the unknown name 'gr\u00f6\u00dfee'; did you mean "
              "'gr\u00f6\u00dfe'?");
}

TEST(NdlMessagesTests, ListsThatAreNone)
{
    EXPECT_EQ(NdlErrorOf("x=Input(2, tag=feature)\nOutputNode=(x)\n"),
              "    2 | OutputNode=(x)\n"
              "      | ^~~~~~~~~~\n"
              "net.ndl:2:1: error: 'OutputNode' is given a list; only FeatureNodes, LabelNodes, CriteriaNodes, "
              "EvalNodes and OutputNodes take one; did you mean 'OutputNodes'?");
}

TEST(NdlMessagesTests, ArgumentsOfMacrosThatDoNotFit)
{
    EXPECT_EQ(NdlErrorOf("F(a) { T=Tanh(a) }\nx=Input(2, tag=feature)\ny=F((x, x))\n"),
              "note: in macro 'F', called at net.ndl:3:3\n"
              "    3 | y=F((x, x))\n"
              "      |     ^~~~~~\n"
              "net.ndl:3:5: error: a node expected, found the list '(x, x)'");
    EXPECT_EQ(MessageOf("G(m) { W=Parameter(m, 2) }\nF(n) { g=G(n) }\ny=F(x)"),
              "net.ndl:4:5: error: a number expected, but 'x' is a node");
    EXPECT_EQ(MessageOf("F(a) { n=2; W=Parameter(n, 2); T=Times(W, a) }\ny=F(x, n=x)"),
              "net.ndl:2:25: error: a number expected, but 'n' is the text 'x'");
}

TEST(NdlMessagesTests, WordsOfOtherLanguages)
{
    EXPECT_EQ(MessageOf("// a comment"),
              "net.ndl:2:1: error: '=' or '(' expected after '//', found 'a'; a comment begins with '#'");
    EXPECT_EQ(MessageOf("\"h\"=Tanh(x)"), "net.ndl:2:1: error: a name without quotes expected at the beginning of a "
                                          "statement, found '\"'");
}

TEST(NdlMessagesTests, MacrosThatMakeNoNode)
{
    EXPECT_EQ(MessageOf("F(a) { n=3 }\nh=Tanh(F(x))"),
              "net.ndl:3:8: error: a node expected as input, but macro 'F' has none: its body has no call");
    EXPECT_EQ(MessageOf("F(a) { n=3 }\nh=F(x, tag=output)"),
              "net.ndl:3:8: error: a tag is given to a macro without a node: its body has no call");
    EXPECT_EQ(MessageOf("F(a, b)=Plus(a, b)\nh=F(x, b=x)"),
              "net.ndl:3:3: error: macro F cannot take 1 argument; expected F(a, b), defined at net.ndl:2:1");
}

TEST(NdlMessagesTests, BoundsTheSizeOfANetwork)
{
    std::string script = "x=Input(2, tag=feature)\nM0(a)=Plus(a, a)\n";
    for (int i = 1; i < 12; i++)
        script += Concat("M", i, "(a) { b=M", i - 1, "(a); c=M", i - 1, "(b) }\n");
    NdlContext context;
    context.most = 1000;
    EXPECT_EQ(BuildFromNdl(script + "y=M8(x)\n", &context)->size(), 257u);
    try
    {
        BuildFromNdl(script + "y=M11(x)\n", &context);
        FAIL();
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Message(), "the network would have more than 1000 calls of macros");
        EXPECT_EQ(error.Where().Location(), "net.ndl:2:7");
        EXPECT_EQ(error.Notes().back(), "in macro 'M11', called at net.ndl:14:3");
    }
    try
    {
        context.most = 3;
        BuildFromNdl("x=Input(2, tag=feature)\na=Tanh(x)\nb=Tanh(x)\nc=Tanh(x)\n", &context);
        FAIL();
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Report(), "    4 | c=Tanh(x)\n"
                                  "      |   ^~~~\n"
                                  "net.ndl:4:3: error: the network would have more than 3 nodes");
    }
}

TEST(NdlMessagesTests, ValuesOfParametersThatCannotBe)
{
    EXPECT_EQ(NdlErrorOf("x=Input(2, tag=feature)\nW=Parameter(2, 2, initOnCPUOnly=perhaps)\n"),
              "    2 | W=Parameter(2, 2, initOnCPUOnly=perhaps)\n"
              "      |                                 ^~~~~~~\n"
              "net.ndl:2:33: error: parameter 'initOnCPUOnly' is 'perhaps'; expected true or false (also t, f, 1, 0)");
    EXPECT_EQ(MessageOf("W=Parameter(2, 2, needsGradient=maybe)"),
              "net.ndl:2:33: error: parameter 'needGradient' is 'maybe'; expected true or false (also t, f, 1, 0)");
    EXPECT_EQ(MessageOf("h=PastValue(2, x, timeStep=1.5)"),
              "net.ndl:2:28: error: parameter 'timeStep' is '1.5'; expected a whole number");
    try
    {
        BuildFromNdl("x=Input(2, tag=feature)\nW=Parameter(2, 2, init=fromFile, initFromFilePath=no/such.txt)\n");
        FAIL();
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Where().Location(), "net.ndl:2:3");
    }
    EXPECT_EQ(MessageOf("W=Parameter(2, 2, init=gausian)"),
              "net.ndl:2:3: error: parameter 'init' is 'gausian'; expected uniform, gaussian, fixedValue, zero or "
              "fromFile; did you mean 'gaussian'?");
    EXPECT_EQ(MessageOf("F(n) { y=ImageInput(4, 4, 1); h=MaxPooling(y, 2, 2, n, 2) }\nz=F(0)"),
              "net.ndl:2:33: error: parameter 'stepW' is 0; expected 1 or more");
    EXPECT_EQ(
        MessageOf("y=ErrorPrediction(x, x, 0)"),
        "net.ndl:2:3: error: the third input of ErrorPrediction, topK, is 0 ('unnamed1'); expected a whole number, "
        "1 or more");
    EXPECT_EQ(
        MessageOf("k=Constant(1.5)\ny=ErrorPrediction(x, x, k)"),
        "net.ndl:3:3: error: the third input of ErrorPrediction, topK, is 1.5 ('k'); expected a whole number, 1 or "
        "more");
    EXPECT_EQ(
        MessageOf("y=ImageInput(4, 4, 1)\nh=AveragePooling(y, 2, 2, 2, 3)"),
        "net.ndl:3:3: error: the stride along the height is 3, more than the 2 of the window, so that parts of the "
        "image would not be read; expected 2 or less");
    EXPECT_EQ(
        MessageOf("y=ImageInput(4, 4, 1)\nh=Convolution(Parameter(0, 0), y, 2, 2, 3, 4, 1, zeroPadding=true)"),
        "net.ndl:3:3: error: the stride along the width is 4, more than the 2 of the window, so that parts of the "
        "image would not be read; expected 2 or less");
}

std::vector<std::string> WarningsOf(const std::string& script)
{
    NdlContext context;
    BuildFromNdl("x=Input(2, tag=feature)\n" + script, &context);
    return context.warnings;
}

TEST(NdlMessagesTests, WarnsOfRolesThatHaveNoEffect)
{
    using ::testing::ElementsAre;
    EXPECT_THAT(WarningsOf("h=Tanh(x, tag=label)"),
                ElementsAre("net.ndl:2:3: label node 'h' is a Tanh and no input, so the reader does not fill it"));
    EXPECT_THAT(WarningsOf("h=Tanh(x)\nout=h"), ElementsAre());
}

TEST(NdlMessagesTests, WarnsOfStartValuesThatAreNotTaken)
{
    using ::testing::ElementsAre;
    EXPECT_THAT(WarningsOf("W=Parameter(2, 2, value=3)"),
                ElementsAre("net.ndl:2:19: value=3 has no effect: init is uniform; expected init=fixedValue"));
    EXPECT_THAT(WarningsOf("W=Parameter(2, 2, initFromFilePath=w.txt, init=gaussian)"),
                ElementsAre("net.ndl:2:19: initFromFilePath=w.txt has no effect: init is gaussian; expected "
                            "init=fromFile"));
    EXPECT_THAT(WarningsOf("W=Parameter(2, 2, init=fixedValue, value=1e400)"),
                ElementsAre("net.ndl:2:42: '1e400' is beyond the range of numbers and counts as infinity"));
    EXPECT_THAT(WarningsOf("W=Constant(-1e400)"),
                ElementsAre("net.ndl:2:12: '-1e400' is beyond the range of numbers and counts as infinity"));
    EXPECT_THAT(WarningsOf("W=Constant(1#INF)\nV=Constant(-inf)"), ElementsAre());
}

} // namespace
} // namespace cntk
