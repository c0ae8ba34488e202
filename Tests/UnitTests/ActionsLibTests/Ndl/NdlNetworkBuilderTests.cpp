// Scripts to networks: structure, names, groups and seeds, the places where scripts stand, and errors on their full
// text.
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "ActionsLibTests/Ndl/NdlText.h"
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace cntk
{
namespace
{

namespace fs = std::filesystem;

// "name=Type(inputs) ..." in name order.
std::string Show(const ComputationNetwork& network)
{
    std::string text;
    for (const ComputationNodePtr& node : network.Nodes())
    {
        text += node->Name() + "=" + node->TypeName() + "(";
        for (size_t i = 0; i < node->InputCount(); i++)
            text += (i > 0 ? "," : "") + node->Input(i)->Name();
        text += ") ";
    }
    return text;
}

std::string GroupOf(const ComputationNetwork& network, NodeGroup group)
{
    std::string text;
    for (const ComputationNodePtr& node : network.Group(group))
        text += node->Name() + " ";
    return text;
}

std::vector<double> ValuesOf(const ComputationNetwork& network, const std::string& name)
{
    return std::dynamic_pointer_cast<LearnableParameterNode>(network.Require(name))->Values().ToHost();
}

const std::string c_simple = "SDim=3\n"
                             "LDim=2\n"
                             "features=Input(SDim, tag=feature)\n"
                             "labels=Input(LDim, tag=label)\n"
                             "W=Parameter(LDim, SDim)\n"
                             "B=Parameter(LDim, 1, init=fixedValue, value=0.5)\n"
                             "T=Times(W, features)\n"
                             "z=Plus(T, B)\n"
                             "ce=CrossEntropyWithSoftmax(labels, z, tag=criteria)\n"
                             "err=ErrorPrediction(labels, z, tag=eval, tag=output)\n";

TEST(NdlNetworkBuilderTests, BuildsASimpleNetwork)
{
    const auto network = BuildFromNdl(c_simple);
    EXPECT_EQ(Show(*network),
              "B=LearnableParameter() ce=CrossEntropyWithSoftmax(labels,z) "
              "err=ErrorPrediction(labels,z) features=InputValue() labels=InputValue() T=Times(W,features) "
              "W=LearnableParameter() z=Plus(T,B) ");
    EXPECT_EQ(GroupOf(*network, NodeGroup::Feature), "features ");
    EXPECT_EQ(GroupOf(*network, NodeGroup::Label), "labels ");
    EXPECT_EQ(GroupOf(*network, NodeGroup::Criterion), "ce ");
    EXPECT_EQ(GroupOf(*network, NodeGroup::Evaluation), "err ");
    EXPECT_EQ(GroupOf(*network, NodeGroup::Output), "err ");
    EXPECT_EQ(network->Require("W")->SampleLayout(), (TensorShape{2, 3}));
    EXPECT_EQ(network->Require("features")->SampleLayout(), (TensorShape{3}));
    EXPECT_EQ(ValuesOf(*network, "B"), (std::vector<double>{0.5, 0.5}));
}

TEST(NdlNetworkBuilderTests, CountsSeedsInScriptOrder)
{
    NdlContext context;
    const std::string script = "x=Input(1, tag=feature)\n"
                               "A=Parameter(2,2)\n"
                               "F=Parameter(2,2, randomSeed=7)\n"
                               "C=Parameter(2,2, init=fixedValue, value=1)\n"
                               "G=Parameter(2,2, init=gaussian, initValueScale=2)\n";
    const auto network = BuildFromNdl(script, &context);
    const auto expected = [&](uint64_t seed, bool isGaussian)
    {
        ComputationNetwork other(DataType::Float64, MakeCpuDevice());
        const auto node = std::dynamic_pointer_cast<LearnableParameterNode>(other.AddParameter("p", TensorShape{2, 2}));
        isGaussian ? node->InitGaussian(seed, 2) : node->InitUniform(seed, 1);
        return node->Values().ToHost();
    };
    EXPECT_EQ(ValuesOf(*network, "A"), expected(1, false));
    EXPECT_EQ(ValuesOf(*network, "F"), expected(7, false));
    EXPECT_EQ(ValuesOf(*network, "G"), expected(2, true));
    EXPECT_EQ(context.counts.nextRandomSeed, 3u);
    EXPECT_EQ(ValuesOf(*BuildFromNdl(script, &context), "A"), expected(3, false));
}

TEST(NdlNetworkBuilderTests, ATrainingSeedMovesAllRandomValuesAndKeepsTheirCount)
{
    const std::string script = "x=Input(1, tag=feature)\n"
                               "A=Parameter(2,2)\n"
                               "F=Parameter(2,2, randomSeed=7)\n"
                               "C=Parameter(2,2, init=fixedValue, value=1)\n"
                               "G=Parameter(2,2, init=gaussian, initValueScale=2)\n";
    const auto valuesWith = [&](uint64_t trainingSeed, const char* parameter)
    {
        NdlContext context;
        context.startValueSeeds = SeedStream(trainingSeed, "start values");
        const auto network = BuildFromNdl(script, &context);
        EXPECT_EQ(context.counts.nextRandomSeed, 3u);
        return ValuesOf(*network, parameter);
    };
    for (const char* parameter : {"A", "F", "G"})
    {
        EXPECT_NE(valuesWith(1, parameter), valuesWith(0, parameter)) << parameter;
        EXPECT_NE(valuesWith(1, parameter), valuesWith(2, parameter)) << parameter;
        EXPECT_EQ(valuesWith(1, parameter), valuesWith(1, parameter)) << parameter;
    }
    EXPECT_EQ(valuesWith(1, "C"), valuesWith(0, "C"));
    ComputationNetwork other(DataType::Float64, MakeCpuDevice());
    const auto node = std::dynamic_pointer_cast<LearnableParameterNode>(other.AddParameter("p", TensorShape{2, 2}));
    node->InitUniform(SeedStream(5, "start values")(7), 1);
    EXPECT_EQ(valuesWith(5, "F"), node->Values().ToHost()) << "a parameter's own seed is a number of the stream";
}

TEST(NdlNetworkBuilderTests, AcceptsConstantsWhereNodesAreExpected)
{
    const auto network = BuildFromNdl("x=Input(2, tag=feature)\nk=0.5\nc=Constant(-3)\nd=Constant(2, rows=2, cols=1)\n"
                                      "e=Constant(4, 2, 1)\ny=Scale(0.25, x)\nw=ElementTimes(k, y)\nv=Plus(w, c)\n");
    EXPECT_EQ(ValuesOf(*network, "c"), (std::vector<double>{-3}));
    EXPECT_EQ(ValuesOf(*network, "d"), (std::vector<double>{2, 2}));
    EXPECT_EQ(ValuesOf(*network, "e"), (std::vector<double>{4, 4}));
    EXPECT_EQ(network->Require("y")->TypeName(), "ElementTimes");
    EXPECT_EQ(ValuesOf(*network, network->Require("y")->Input(0)->Name()), (std::vector<double>{0.25}));
    EXPECT_EQ(ValuesOf(*network, network->Require("w")->Input(0)->Name()), (std::vector<double>{0.5}));
    EXPECT_FALSE(network->Require("c")->IsTrainableLeaf());
}

TEST(NdlNetworkBuilderTests, NumbersOfInputsAndImages)
{
    const auto network = BuildFromNdl("a=Input(784, 32, tag=feature)\nb=Input(3,4,5)\nc=ImageInput(6,7,3)\n"
                                      "d=Image(6,7,3,1,imageLayout=CHW)\ne=SparseInput(9)\nf=Parameter(4)\n");
    EXPECT_EQ(network->Require("a")->SampleLayout(), (TensorShape{784}));
    EXPECT_EQ(network->Require("b")->SampleLayout(), (TensorShape{3, 4, 5}));
    EXPECT_EQ(network->Require("c")->SampleLayout(), (TensorShape{3, 6, 7}));
    EXPECT_EQ(network->Require("d")->SampleLayout(), (TensorShape{6, 7, 3}));
    EXPECT_EQ(network->Require("e")->TypeName(), "SparseInputValue");
    EXPECT_EQ(network->Require("f")->SampleLayout(), (TensorShape{4}));
}

TEST(NdlNetworkBuilderTests, NestedCallsAreUnnamed)
{
    const auto network = BuildFromNdl("x=Input(2, tag=feature)\ny=Sigmoid(Plus(x, x))\n");
    EXPECT_EQ(Show(*network), "unnamed1=Plus(x,x) x=InputValue() y=Sigmoid(unnamed1) ");
}

TEST(NdlNetworkBuilderTests, AliasRenames)
{
    const auto network = BuildFromNdl("x=Input(2, tag=feature)\na=Sigmoid(x)\nout=a\ny=Tanh(a)\nz=Exp(out)\n");
    EXPECT_EQ(Show(*network), "out=Sigmoid(x) x=InputValue() y=Tanh(out) z=Exp(out) ");
}

TEST(NdlNetworkBuilderTests, NodeArrays)
{
    const auto network =
        BuildFromNdl("x=Input(2)\nl=Input(2)\nc=SquareError(l, x)\nFeatureNodes=x\nLabelNodes=(l)\n"
                     "CriteriaNodes=(c)\nEvalNodes=(c)\nOutputNodes=(x:c)\nNodesReqMultiSeqHandling=(c)\n");
    EXPECT_EQ(GroupOf(*network, NodeGroup::Feature), "x ");
    EXPECT_EQ(GroupOf(*network, NodeGroup::Criterion), "c ");
    EXPECT_EQ(GroupOf(*network, NodeGroup::Output), "x c ");
    EXPECT_EQ(network->Require("x")->Name(), "x");
}

// Wherever the arrays stand. The first criterion is the one that is trained.
TEST(NdlNetworkBuilderTests, TaggedNodesComeBeforeThoseOfNodeArrays)
{
    const auto network =
        BuildFromNdl("x=Input(2, tag=feature)\nl=Input(2, tag=label)\na=SquareError(l, x)\nCriteriaNodes=(a)\n"
                     "OutputNodes=(x)\nb=SumElements(x, tag=criteria, tag=output)\nc=Tanh(x, tag=output)\n");
    EXPECT_EQ(GroupOf(*network, NodeGroup::Criterion), "b a ");
    EXPECT_EQ(GroupOf(*network, NodeGroup::Output), "b c x ");
}

TEST(NdlNetworkBuilderTests, ForwardReferences)
{
    const auto network = BuildFromNdl("x=Input(2, tag=feature)\ny=Plus(later, x)\nlater=Sigmoid(x)\n");
    EXPECT_EQ(network->Require("y")->Input(0), network->Require("later"));
}

// ---- macros ----

TEST(NdlNetworkBuilderTests, MacrosNameTheirNodesByPath)
{
    const auto network =
        BuildFromNdl("BFF(input, rows, cols)\n{\n  W=Parameter(rows, cols)\n  B=Parameter(rows, 1)\n"
                     "  T=Times(W, input)\n  P=Plus(T, B)\n}\n"
                     "RBFF(input, rows, cols)\n{\n  F=BFF(input, rows, cols)\n  RL=RectifiedLinear(F)\n}\n"
                     "HDim=4\nx=Input(3, tag=feature)\nL1=RBFF(x, HDim, 3)\ny=Sigmoid(L1)\nv=Tanh(L1.F.T)\n");
    EXPECT_EQ(
        Show(*network),
        "L1.F.B=LearnableParameter() L1.F.P=Plus(L1.F.T,L1.F.B) L1.F.T=Times(L1.F.W,x) "
        "L1.F.W=LearnableParameter() L1.RL=RectifiedLinear(L1.F.P) v=Tanh(L1.F.T) x=InputValue() y=Sigmoid(L1.RL) ");
}

TEST(NdlNetworkBuilderTests, MacrosReturnTheLocalOfTheirNameOrTheLastCall)
{
    const auto network = BuildFromNdl("A(x) { A=Exp(x); B=Tanh(x) }\nB(x)=Exp(Tanh(x))\nx=Input(2, tag=feature)\n"
                                      "a=A(x)\nc=Plus(a, B(x))\n");
    EXPECT_EQ(network->Require("c")->Input(0)->Name(), "a.A");
    EXPECT_EQ(network->Require("c")->Input(1)->TypeName(), "Exp");
}

TEST(NdlNetworkBuilderTests, MacrosTakeCallsTagsAndNumbersByName)
{
    const auto network = BuildFromNdl("M(x) { n=2; W=Parameter(n, 3); T=Times(W, x) }\nx=Input(3, tag=feature)\n"
                                      "a=M(Sigmoid(x), tag=output)\nb=M(x, n=5)\n");
    EXPECT_EQ(network->Require("a.W")->SampleLayout(), (TensorShape{2, 3}));
    EXPECT_EQ(network->Require("b.W")->SampleLayout(), (TensorShape{5, 3}));
    EXPECT_EQ(GroupOf(*network, NodeGroup::Output), "a.T ");
    EXPECT_EQ(network->Require("a.T")->Input(1)->TypeName(), "Sigmoid");
}

// The default stays where nothing is given; a constant that the macro does not define is told.
TEST(NdlNetworkBuilderTests, ConstantsOfMacrosAreNumbersOrWords)
{
    NdlContext context;
    const auto network =
        BuildFromNdl("M(x) { n=2; mode=\"fixedValue\"; W=Parameter(n, 3, init=mode, value=n); T=Times(W, x) }\n"
                     "x=Input(3, tag=feature)\na=M(x)\nb=M(x, n=1, mode=zero, depth=3)\n",
                     &context);
    EXPECT_EQ(ValuesOf(*network, "a.W"), (std::vector<double>{2, 2, 2, 2, 2, 2}));
    EXPECT_EQ(ValuesOf(*network, "b.W"), (std::vector<double>{0, 0, 0}));
    ASSERT_EQ(context.warnings.size(), 1u);
    EXPECT_EQ(context.warnings[0], "net.ndl:4:24: macro 'M' defines no constant 'depth'; it is ignored");
}

TEST(NdlNetworkBuilderTests, MacrosMayFollowTheirUse)
{
    const auto network = BuildFromNdl("x=Input(2, tag=feature)\ny=Outer(x)\nOuter(a) { Outer=Inner(a) }\n"
                                      "Inner(a)=Tanh(Sigmoid(a))\n");
    EXPECT_EQ(network->Require("y.Outer.unnamed1")->TypeName(), "Sigmoid");
}

TEST(NdlNetworkBuilderTests, MacroParametersMayBeNamedLikeFunctions)
{
    const auto network = BuildFromNdl("x=Input(2, tag=feature)\nM(input, sigmoid, times) { T=Times(times, input); "
                                      "M=Plus(T, sigmoid) }\ny=M(x, Parameter(3), Parameter(3, 2))\n");
    EXPECT_EQ(network->Require("y.T")->SampleLayout(), (TensorShape{3}));
    EXPECT_EQ(network->Require("y.T")->Input(1), network->Require("x"));
}

TEST(NdlNetworkBuilderTests, AliasesRenameWholeMacros)
{
    const auto network =
        BuildFromNdl("Inner(a) { W=Parameter(2, 2); T=Times(W, a) }\nOuter(a) { I=Inner(a); S=Sigmoid(I) }\n"
                     "x=Input(2, tag=feature)\ny=Outer(x)\nfinal=y\nz=Tanh(final.I.T)\nv=Tanh(y.I)\n");
    EXPECT_EQ(Show(*network), "final.I.T=Times(final.I.W,x) final.I.W=LearnableParameter() final.S=Sigmoid(final.I.T) "
                              "v=Tanh(final.I.T) x=InputValue() z=Tanh(final.I.T) ");
}

// The book tags a node a second time so.
TEST(NdlNetworkBuilderTests, TheSameCallWithAnotherTag)
{
    const auto network = BuildFromNdl("M(a) { S=SumElements(a) }\nx=Input(2, tag=feature)\nce=M(x, tag=Criteria)\n"
                                      "CE = M( x, tag=eval )\nce=M(x, tag=MultiSeq)\n");
    EXPECT_EQ(GroupOf(*network, NodeGroup::Criterion), "ce.S ");
    EXPECT_EQ(GroupOf(*network, NodeGroup::Evaluation), "ce.S ");
    EXPECT_EQ(network->size(), 2u);
}

TEST(NdlNetworkBuilderTests, ConstantsInsideMacrosAreReachable)
{
    const auto network = BuildFromNdl("Sizes() { SDim=3; HDim=4 }\ncon=Sizes()\nx=Input(con.SDim, tag=feature)\n");
    EXPECT_EQ(network->Require("x")->SampleLayout(), (TensorShape{3}));
}

// ---- errors ----

TEST(NdlNetworkBuilderTests, ExplainsUnknownNames)
{
    EXPECT_EQ(NdlErrorOf("x=Input(2, tag=feature)\ny=Sigmoyd(x)\n"),
              "    2 | y=Sigmoyd(x)\n"
              "      |   ^~~~~~~\n"
              "net.ndl:2:3: error: unknown function or macro 'Sigmoyd'; did you mean 'Sigmoid'?");
    EXPECT_EQ(NdlErrorOf("features=Input(2, tag=feature)\ny=Sigmoid(feature)\n"),
              "    2 | y=Sigmoid(feature)\n"
              "      |           ^~~~~~~\n"
              "net.ndl:2:11: error: unknown variable 'feature'; did you mean 'features'?");
    EXPECT_EQ(NdlErrorOf("SDim=2\nx=Input(SDin, tag=feature)\n"),
              "    2 | x=Input(SDin, tag=feature)\n"
              "      |         ^~~~\n"
              "net.ndl:2:9: error: a number expected, found the unknown name 'SDin'; did you mean 'SDim'?");
    EXPECT_EQ(NdlErrorOf("x=Input(2, tag=feature)\nOutputNodes=(y)\n"),
              "    2 | OutputNodes=(y)\n"
              "      |              ^\n"
              "net.ndl:2:14: error: OutputNodes names an unknown node 'y'");
}

TEST(NdlNetworkBuilderTests, ExplainsWrongCounts)
{
    EXPECT_EQ(NdlErrorOf("x=Input(2, tag=feature)\ny=Plus(x)\n"),
              "    2 | y=Plus(x)\n"
              "      |   ^~~~\n"
              "net.ndl:2:3: error: Plus cannot take 1 argument; expected Plus(a, b)");
    EXPECT_EQ(
        NdlErrorOf("x=Input()\n"),
        "    1 | x=Input()\n"
        "      |   ^~~~~\n"
        "net.ndl:1:3: error: Input cannot take 0 arguments; expected Input(rows, [cols] (without effect), or dim1, "
        "dim2, dim3, ...)");
    EXPECT_EQ(NdlErrorOf("Lin(w, x, b)=Plus(Times(w, x), b)\nx=Input(2, tag=feature)\ny=Lin(x, x)\n"),
              "    3 | y=Lin(x, x)\n"
              "      |   ^~~\n"
              "net.ndl:3:3: error: macro Lin cannot take 2 arguments; expected Lin(w, x, b), defined at net.ndl:1:1");
}

TEST(NdlNetworkBuilderTests, ExplainsNamesDefinedTwice)
{
    EXPECT_EQ(NdlErrorOf("x=Input(2, tag=feature)\nX=3\n"),
              "    2 | X=3\n"
              "      | ^\n"
              "net.ndl:2:1: error: 'X' is already defined at net.ndl:1:1");
    EXPECT_EQ(NdlErrorOf("F(x)=Exp(x)\nf(y)=Tanh(y)\n"),
              "    2 | f(y)=Tanh(y)\n"
              "      | ^\n"
              "net.ndl:2:1: error: macro 'f' is already defined at net.ndl:1:1");
    EXPECT_EQ(NdlErrorOf("x=Input(2)\nFeatureNodes=(x)\nFeatureNodes=(x)\n"),
              "    3 | FeatureNodes=(x)\n"
              "      | ^~~~~~~~~~~~\n"
              "net.ndl:3:1: error: 'FeatureNodes' is already defined at net.ndl:2:1; list all its nodes in one place");
    EXPECT_EQ(NdlErrorOf("Sigmoid=3\n"), "    1 | Sigmoid=3\n"
                                         "      | ^~~~~~~\n"
                                         "net.ndl:1:1: error: the name 'Sigmoid' is reserved: it is also the name of a "
                                         "function");
}

// Functions that not all versions of the original have: their names are free.
TEST(NdlNetworkBuilderTests, NamesOfNewerFunctionsMayBeTheScripts)
{
    EXPECT_EQ(Show(*BuildFromNdl("LSTM(x, c)=[ G=Sigmoid(x)\n LSTM=ElementTimes(G, c) ]\n"
                                 "Pass(x)=Negate(x)\nx=Input(2, tag=feature)\nSlice=Tanh(x)\ny=LSTM(Slice, Pass(x))\n"
                                 "Trace=RowSlice(0, 1, y)\n")),
              "Slice=Tanh(x) Trace=Slice(y.LSTM) unnamed1.unnamed2=Negate(x) x=InputValue() y.G=Sigmoid(Slice) "
              "y.LSTM=ElementTimes(y.G,unnamed1.unnamed2) ");
    EXPECT_EQ(NdlErrorOf("x=Input(2, tag=feature)\nSlice(a)=Tanh(a)\nz=Slice(x, 2)\n"),
              "    3 | z=Slice(x, 2)\n"
              "      |   ^~~~~\n"
              "net.ndl:3:3: error: macro Slice cannot take 2 arguments; expected Slice(a), defined at net.ndl:2:1");
    EXPECT_EQ(NdlErrorOf("SumElements(a)=Tanh(a)\n"),
              "    1 | SumElements(a)=Tanh(a)\n"
              "      | ^~~~~~~~~~~\n"
              "net.ndl:1:1: error: macro 'SumElements' has the name of a built-in function, which cannot be redefined");
}

TEST(NdlNetworkBuilderTests, ExplainsTagsAndParameters)
{
    EXPECT_EQ(
        NdlErrorOf("x=Input(2, tag=featur)\n"),
        "    1 | x=Input(2, tag=featur)\n"
        "      |                ^~~~~~\n"
        "net.ndl:1:16: error: unknown tag 'featur'; expected feature, label, criterion (criteria), eval or output; "
        "did you mean 'feature'?");
    EXPECT_EQ(NdlErrorOf("x=Input(-2, tag=feature)\n"),
              "    1 | x=Input(-2, tag=feature)\n"
              "      |         ^~\n"
              "net.ndl:1:9: error: a dimension is -2; expected a whole number, 0 "
              "(to be inferred) or more");
    NdlContext context;
    BuildFromNdl("x=Input(2, tag=feature)\nW=Parameter(2,2,initvaluescal=3)\n", &context);
    ASSERT_EQ(context.warnings.size(), 1u);
    EXPECT_EQ(context.warnings[0],
              "net.ndl:2:17: Parameter has no parameter 'initvaluescal'; it is ignored; did you mean 'init' or "
              "'initValueScale'?");
}

TEST(NdlNetworkBuilderTests, ExplainsMacroMistakes)
{
    EXPECT_EQ(
        NdlErrorOf("HDim=3\nM(x) { W=Parameter(HDim, 2) }\nx=Input(2, tag=feature)\ny=M(x)\n"),
        "note: in macro 'M', called at net.ndl:4:3\n"
        "    2 | M(x) { W=Parameter(HDim, 2) }\n"
        "      |                    ^~~~\n"
        "net.ndl:2:20: error: a number expected, found the unknown name 'HDim'; macro 'M' sees its own names only: "
        "make 'HDim' one of its parameters");
    EXPECT_EQ(NdlErrorOf("M(x) { y=N(x) }\nN(x)=M(x)\nx=Input(2, tag=feature)\ny=M(x)\n"),
              "note: in macro 'N', called at net.ndl:1:10\n"
              "note: in macro 'M', called at net.ndl:4:3\n"
              "    2 | N(x)=M(x)\n"
              "      |      ^\n"
              "net.ndl:2:6: error: macro 'M' calls itself: M -> N -> M; macros cannot be recursive");
    EXPECT_NE(NdlErrorOf("M(x) { y=Exp(x) }\nf=Input(2, tag=feature)\nL=M(L.x)\n").find("unknown variable"),
              std::string::npos);
}

TEST(NdlNetworkBuilderTests, WantsAFeature)
{
    EXPECT_EQ(
        NdlErrorOf("l=Input(2, tag=label)\nx=Input(2)\n"),
        "    2 | x=Input(2)\n"
        "      |   ^~~~~\n"
        "net.ndl:2:3: error: the network has no feature node; write tag=feature on an input, such as 'x' here, or "
        "FeatureNodes=(x)");
    EXPECT_EQ(
        NdlErrorOf("F(n) { x=Input(n) }\ny=F(3)\n"),
        "note: in macro 'F', called at net.ndl:2:3\n"
        "    1 | F(n) { x=Input(n) }\n"
        "      |          ^~~~~\n"
        "net.ndl:1:10: error: the network has no feature node; write tag=feature on an input, such as 'y.x' here, "
        "or FeatureNodes=(y.x)");
    EXPECT_EQ(NdlErrorOf("x=3\n"), "error: the network has no feature node and no input at all; define one, such as "
                                   "features=Input(dimension, tag=feature)");
    EXPECT_EQ(NdlErrorOf("l=Input(3, tag=label)\n"),
              "error: the network has no feature node; its only inputs are labels; define one more, such as "
              "features=Input(dimension, tag=feature)");
}

// ---- where scripts stand ----

class NdlFilesTests : public ::testing::Test
{
protected:
    NdlFilesTests() : m_folder(fs::temp_directory_path() / ("NdlFilesTests." + std::to_string(::getpid())))
    {
        fs::create_directories(m_folder);
    }
    ~NdlFilesTests() override { fs::remove_all(m_folder); }

    std::string Write(const std::string& name, const std::string& text) const
    {
        std::ofstream(m_folder / name) << text;
        return (m_folder / name).string();
    }
    static std::unique_ptr<ComputationNetwork> BuildFrom(const std::string& config)
    {
        const auto root = ConfigParameters::Parse(config, "exp.cntk");
        return BuildNetworkFromNdl(root->RequireBlock("Train").RequireBlock("NDLNetworkBuilder"), DataType::Float32,
                                   MakeCpuDevice());
    }
    static std::string BuildError(const std::string& config)
    {
        return ReportOf(ErrorKind::Config, [&] { BuildFrom(config); });
    }

    fs::path m_folder;
};

TEST_F(NdlFilesTests, AFileWithVariables)
{
    const std::string path = Write("net.ndl", "x=Input($dim$, tag=feature)\n");
    const auto network = BuildFrom("dim=7\nTrain=[ NDLNetworkBuilder=[ networkDescription=\"" + path + "\" ] ]");
    EXPECT_EQ(network->Require("x")->SampleLayout(), (TensorShape{7}));
}

TEST_F(NdlFilesTests, VariablesInCommentsAreNone)
{
    const std::string config = "dim=7\nTrain=[ NDLNetworkBuilder=[ networkDescription=\"";
    const std::string text = "# load=$OldMacros$\nx=Input($dim$, tag=feature) # was $HiddenDim$\n";
    const std::string path = Write("net.ndl", text);
    EXPECT_EQ(BuildFrom(config + path + "\" ] ]")->Require("x")->SampleLayout(), (TensorShape{7}));
    // Comments keep their room: what follows is where it was.
    EXPECT_THAT(BuildError(config + Write("bad.ndl", text + "y=Nosuch(x) # $no$\n") + "\" ] ]"),
                testing::HasSubstr("bad.ndl:3:3: "));
    EXPECT_THAT(BuildError(config + Write("undefined.ndl", text + "  y=Input($no$)\n") + "\" ] ]"),
                testing::HasSubstr("undefined.ndl:3:11: "));
    // A comment sign inside quotes, or inside a word, is none.
    EXPECT_THAT(BuildError(config + Write("quoted.ndl", "x=Input(\"1 # $no$\")\n") + "\" ] ]"),
                testing::HasSubstr("'no'"));
    EXPECT_THAT(BuildError(config + Write("word.ndl", "x=Input(1#$no$)\n") + "\" ] ]"), testing::HasSubstr("'no'"));
}

TEST_F(NdlFilesTests, SectionsInTheConfig)
{
    const std::string config =
        "shared=[ Lin(w, x)=[ P=Times(w, x) ] ; SDim=3 ]\n"
        "Train=[ NDLNetworkBuilder=[\n run=net ; load=shared\n net=[\n"
        "   x=Input(SDim, tag=feature) # the data\n   W=Parameter(2, SDim)\n   y=Lin(W, x)\n ]\n] ]";
    EXPECT_EQ(Show(*BuildFrom(config)), "W=LearnableParameter() x=InputValue() y.P=Times(W,x) ");
}

TEST_F(NdlFilesTests, SectionsInAFile)
{
    const std::string macros = Write("macros.ndl", "Lin(w, x)=[ P=Times(w, x) ]\nignored=3\n");
    const std::string path =
        Write("net.ndl", "load=sizes\nrun=small\nsizes=[ SDim=3 ]\n"
                         "small=[ x=Input(SDim, tag=feature) ]\n"
                         "large=[ x=Input(SDim, tag=feature)\n W=Parameter(2, SDim)\n y=Lin(W, x) ]\n");
    EXPECT_EQ(BuildFrom("Train=[ NDLNetworkBuilder=[ networkDescription=\"" + path + "\" ] ]")->size(), 1u);
    const auto large = BuildFrom("Train=[ NDLNetworkBuilder=[ networkDescription=\"" + path + "\" ; ndlMacros=\"" +
                                 macros + "\" ; run=large ] ]");
    EXPECT_EQ(Show(*large), "W=LearnableParameter() x=InputValue() y.P=Times(W,x) ");
}

TEST_F(NdlFilesTests, ErrorsPointIntoTheConfig)
{
    EXPECT_EQ(BuildError("Train=[ NDLNetworkBuilder=[\n run=net\n net=[\n   # data\n   x=Input(3, tag=feature)\n"
                         "   y=Sigmoid(xx)\n ]\n] ]"),
              "    6 |    y=Sigmoid(xx)\n"
              "      |              ^~\n"
              "exp.cntk:6:14: error: unknown variable 'xx'");
    EXPECT_EQ(BuildError("Train=[ NDLNetworkBuilder=[\n run=nett\n net=[ x=Input(3, tag=feature) ]\n] ]"),
              "    2 |  run=nett\n"
              "      |      ^~~~\n"
              "exp.cntk:2:6: error: there is no section 'nett', which run= names; did you mean 'net'?");
    EXPECT_EQ(BuildError("Train=[ NDLNetworkBuilder=[\n load=macro; run=net\n net=[ x=Input(3, tag=feature) ]\n] ]"),
              "    2 |  load=macro; run=net\n"
              "      |       ^~~~~\n"
              "exp.cntk:2:7: error: there is no section 'macro', which load= names");
    EXPECT_EQ(BuildError("Train=[ NDLNetworkBuilder=[ a=1 ] ]"),
              "    1 | Train=[ NDLNetworkBuilder=[ a=1 ] ]\n"
              "      |         ^~~~~~~~~~~~~~~~~\n"
              "exp.cntk:1:9: error: 'NDLNetworkBuilder' has neither networkDescription= (a file) nor run= (a section)");
    EXPECT_EQ(BuildError("Train=[ NDLNetworkBuilder=[ networkDescription=absent/net.ndl ] ]"),
              "    1 | Train=[ NDLNetworkBuilder=[ networkDescription=absent/net.ndl ] ]\n"
              "      |                                                ^~~~~~~~~~~~~~\n"
              "exp.cntk:1:48: error: NDL file 'absent/net.ndl' does not exist; folder 'absent' does not exist");
}

std::vector<std::string> WarningsOfConfig(const std::string& config, std::string* nodes = nullptr)
{
    const auto root = ConfigParameters::Parse(config, "exp.cntk");
    NdlContext context;
    const auto network = BuildNetworkFromNdl(root->RequireBlock("Train").RequireBlock("NDLNetworkBuilder"),
                                             DataType::Float32, MakeCpuDevice(), &context);
    if (nodes)
        *nodes = Show(*network);
    return context.warnings;
}

// Blocks of one name merge, in configs and so in files of sections.
TEST_F(NdlFilesTests, SectionsOfOneName)
{
    using ::testing::ElementsAre;
    const std::string config = "Train=[ NDLNetworkBuilder=[ run=net; load=sizes ] ]\ndim=3\n"
                               "net=[\n x=Input($dim$, tag=feature)\n]\nsizes=[ R=2 ]\n"
                               "net=[\n W=Parameter(R, $dim$) # weights\n y=Times(W, x)\n]\n";
    std::string nodes;
    EXPECT_THAT(WarningsOfConfig(config, &nodes), ElementsAre());
    EXPECT_EQ(nodes, "W=LearnableParameter() x=InputValue() y=Times(W,x) ");

    const std::string path = Write("net.ndl", "run=net\nload=a\nload=sizes\nsizes=[ R=2 ]\n"
                                              "net=[ x=Input(3, tag=feature) ]\nNet=[ W=Parameter(R, 3) ]\n");
    EXPECT_THAT(WarningsOfConfig("Train=[ NDLNetworkBuilder=[ networkDescription=\"" + path + "\" ] ]", &nodes),
                ElementsAre());
    EXPECT_EQ(nodes, "W=LearnableParameter() x=InputValue() ");
}

TEST_F(NdlFilesTests, ErrorsInSectionsOfOneNamePointIntoTheConfig)
{
    const std::string config = "Train=[ NDLNetworkBuilder=[ run=net ] ]\n"
                               "net=[\n x=Input($dim$, tag=feature)\n y=Tanh(x)\n]\ndim=3\n"
                               "net=[\n z=Tanh($node$)\n]\nnode=y\n";
    const auto errorWith = [&](const std::string& text, const std::string& other)
    {
        std::string changed = config;
        return BuildError(changed.replace(changed.find(text), text.size(), other));
    };
    EXPECT_EQ(errorWith("Tanh(x)", "Tanh(x) bad"), "    4 |  y=Tanh(x) bad\n"
                                                   "      |            ^\n"
                                                   "exp.cntk:4:12: error: the end of the statement expected, found "
                                                   "'b'; statements are separated by a newline, ';' or ','");
    EXPECT_EQ(errorWith("node=y", "node=v"), "    8 |  z=Tanh($node$)\n"
                                             "      |         ^~~~~~\n"
                                             "exp.cntk:8:9: error: unknown variable 'v'");
}

TEST_F(NdlFilesTests, SectionsThatAreNone)
{
    using ::testing::HasSubstr;
    const std::string path = (m_folder / "net.ndl").string();
    const auto errorOf = [&](const std::string& text)
    {
        Write("net.ndl", text);
        return BuildError("Train=[ NDLNetworkBuilder=[ networkDescription=\"" + path + "\" ] ]\nwidth=3\n");
    };
    EXPECT_THAT(errorOf("run=net\nnet={ x=Input(2) }\n"),
                HasSubstr("net.ndl:2:1: error: 'net', which run= names, is no section; expected net=[ ... ]"));
    EXPECT_THAT(errorOf("run=a:b\na=[ ]\nb=[ ]\n"),
                HasSubstr("net.ndl:1:5: error: run= names one section, found the list 'a:b'"));
    EXPECT_THAT(errorOf("run=width\n"), HasSubstr("net.ndl:1:1: error: 'width' (exp.cntk:2:7), which run= names, is no "
                                                  "section; expected width=[ ... ]"));
    EXPECT_THAT(errorOf("a=[ ]\nb=[ ]\n"), HasSubstr("net.ndl:1:1: error: the file has sections, but no 'run=' that "
                                                     "names one; its sections: 'a', 'b'"));
    Write("net.ndl", "run=net\nHDim=3\nF(x)=Tanh(x)\nnet=[ x=Input(2, tag=feature); y=F(x) ]\nTanh(x)\n");
    EXPECT_THAT(
        WarningsOfConfig("Train=[ NDLNetworkBuilder=[ networkDescription=\"" + path + "\" ] ]"),
        ::testing::ElementsAre(path + ":2:1: 'HDim' is outside of the sections and is ignored; run= names 'net'",
                               path + ":5:1: 'Tanh(x)' is outside of the sections and is ignored; run= names 'net'"));
}

// load= of the file, and of the block, which overrides it.
TEST_F(NdlFilesTests, LoadOfASectionThatIsNotThere)
{
    const std::string path =
        Write("net.ndl", "sizes=[ SDim=3 ]\nrun=small\nload=size\nsmall=[ x=Input(3, tag=feature) ]\n");
    EXPECT_THAT(BuildError("Train=[ NDLNetworkBuilder=[ networkDescription=\"" + path + "\" ] ]"),
                ::testing::HasSubstr(
                    "net.ndl:3:1: error: there is no section 'size', which load= names; did you mean 'sizes'?"));
    EXPECT_THAT(BuildError("Train=[ NDLNetworkBuilder=[ load=sizs; networkDescription=\"" + path + "\" ] ]"),
                ::testing::HasSubstr(
                    "exp.cntk:1:34: error: there is no section 'sizs', which load= names; did you mean 'sizes'?"));
}

// Every script of the golden cases builds, as far as its node types exist.
TEST_F(NdlFilesTests, MacrosAndNumbersThatStandWhereNothingIsRead)
{
    const std::string macros = Write("macros.ndl", "k=2\nunits=[ Unit(x)=Tanh(x) ]\nLin(w, x)=Times(w, x)\n");
    const std::string path = Write("net.ndl", "run=a\nlayers=[ Layer(x)=Sigmoid(x) ]\nj=3\n"
                                              "a=[ x=Input(3, tag=feature)\n W=Parameter(k, 3) ]\n"
                                              "b=[ x=Input(3, tag=feature)\n y=Unit(x) ]\n"
                                              "c=[ x=Input(3, tag=feature)\n y=Layer(x) ]\n"
                                              "d=[ x=Input(3, tag=feature)\n W=Parameter(j, 3) ]\n"
                                              "e=[ x=Input(3, tag=feature)\n y=Lin(Parameter(2, 3), x) ]\n");
    const auto config = [&](const std::string& run)
    {
        return "Train=[ NDLNetworkBuilder=[ networkDescription=\"" + path + "\" ; ndlMacros=\"" + macros +
               "\" ; run=" + run + " ] ]";
    };
    const auto errorOf = [&](const std::string& run)
    {
        const std::string error = BuildError(config(run));
        return error.substr(error.find(": error: ") + 9);
    };
    EXPECT_EQ(errorOf("a"), "a number expected, found the unknown name 'k'");
    EXPECT_EQ(errorOf("b"), "unknown function or macro 'Unit'");
    EXPECT_EQ(errorOf("c"), "unknown function or macro 'Layer'");
    std::string nodes;
    EXPECT_EQ(WarningsOfConfig(config("e"), &nodes),
              (std::vector<std::string>{macros + ":1:1: 'k' is ignored: files of ndlMacros provide macros only",
                                        macros + ":2:1: 'units' is ignored: files of ndlMacros provide macros only",
                                        path + ":3:1: 'j' is outside of the sections and is ignored; run= names "
                                               "'e'"}));
    EXPECT_NE(nodes.find("Times("), std::string::npos);
}

TEST_F(NdlFilesTests, GoldenScripts)
{
    const char* shared = std::getenv("CNTK_TEST_SHARED");
    if (shared == nullptr || !fs::exists(fs::path(shared) / "golden"))
        GTEST_SKIP() << "CNTK_TEST_SHARED names no folder with golden cases";
    size_t built = 0, missing = 0;
    const fs::path before = fs::current_path();
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(shared) / "golden"))
    {
        if (entry.path().extension() != ".ndl")
            continue;
        fs::current_path(entry.path().parent_path());
        SCOPED_TRACE(entry.path().string());
        try
        {
            BuildFrom("Train=[ NDLNetworkBuilder=[ networkDescription=" + entry.path().filename().string() + " ] ]");
            built++;
        }
        catch (const Error& error)
        {
            // Macro files and snippets are no networks; some types are still to come.
            const std::string& message = error.Message();
            EXPECT_TRUE(message.starts_with("unknown function") || message.starts_with("the network has no feature") ||
                        message.starts_with("no variable found") || message.starts_with("the file has sections"))
                << error.Report();
            missing++;
        }
    }
    fs::current_path(before);
    std::printf("%zu built, %zu not\n", built, missing);
    EXPECT_GE(built, 40u);
}

} // namespace
} // namespace cntk
