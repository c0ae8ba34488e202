// Scripts of the model editing language on models built from NDL.
#include "ActionsLibTests/Mel/MelFixture.h"
#include "Common/File.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

// The whole example of the book, with the names of this model.
TEST_F(MelTests, TheBooksExample)
{
    Edit(R"(
SetDefaultModel(m1)
DumpModel(m1, "original.dmp", includeData = true)
#create another hidden layer
Copy(L3.*, L4.*, copy=all)
#Hook up the layer
SetInput(L4.*.T, 1, L3.RL) # Layer 3 output to Layer 4 input
SetInput(CE.*.T, 1, L4.RL) # Layer 4 output to Top layer input
#Add mean variance normalization using in-line NDL
meanVal = Mean(features)
invstdVal = InvStdDev(features)
inputVal = PerDimMeanVarNormalization(features, meanVal,
    invstdVal)
#make the features input now take the normalized input
SetInput(L1.BFF.FF.T, 1, inputVal)
SaveModel("deep.dnn")
)");
    EXPECT_TRUE(FileExists("original.dmp"));
    const auto deep = LoadModel("deep.dnn", DataType::Float64, MakeCpuDevice({.threads = 1}));
    EXPECT_EQ(deep->Require("L4.BFF.FF.T")->Input(1)->Name(), "L3.RL");
    EXPECT_EQ(deep->Require("L4.BFF.FF.T")->Input(0)->Name(), "L4.BFF.W");
    EXPECT_EQ(deep->Require("CE.BFF.FF.T")->Input(1)->Name(), "L4.RL");
    EXPECT_EQ(deep->Require("L1.BFF.FF.T")->Input(1)->Name(), "inputVal");
    EXPECT_EQ(deep->Require("inputVal")->Input(2)->Name(), "invstdVal");
    EXPECT_EQ(Values("L4.BFF.W"), Values("L3.BFF.W"));
}

TEST_F(MelTests, CopyInPlaceKeepsLinksOfWhatWasThere)
{
    Edit("Copy(L2.*, L3.*)"); // by wildcard, existing target: the input outside stays
    EXPECT_THAT(Inputs("L3.BFF.FF.T"), ElementsAre("L3.BFF.W", "L2.RL"));
    EXPECT_EQ(Values("L3.BFF.W"), Values("L2.BFF.W"));
    Edit("Copy(L2.*, X*, copy=all)"); // new target: it is missing
    EXPECT_THAT(Names("X*"), ElementsAre("XBFF.B", "XBFF.FF.P", "XBFF.FF.T", "XBFF.W", "XRL"));
    EXPECT_THAT(Inputs("XBFF.FF.T"), ElementsAre("XBFF.W", "-"));
    EXPECT_THAT(Inputs("XBFF.FF.P"), ElementsAre("XBFF.FF.T", "XBFF.B"));
}

TEST_F(MelTests, CopyOfValues)
{
    Edit("Copy(L2.BFF.W, L3.BFF.W, copy=val)\nCopy(L1.BFF.FF.T, New, copy=value)");
    EXPECT_EQ(Values("L3.BFF.W"), Values("L2.BFF.W"));
    EXPECT_THAT(Inputs("L3.BFF.FF.T"), ElementsAre("L3.BFF.W", "L2.RL"));
    EXPECT_THAT(Inputs("New"), ElementsAre("-", "-"));
    EXPECT_THAT(ReadTextFile("log.txt"), HasSubstr("copy=value created nodes without inputs: New"));
    Edit("Copy(L*, Y*, copy=value)");
    EXPECT_THAT(ReadTextFile("log.txt"), testing::ContainsRegex("inputs: (Y[^ ,]+, ){9}Y[^ ,]+ and [0-9]+ more\n"));
}

TEST_F(MelTests, CopyFromOneNodeToMany)
{
    Edit("Copy(L2.BFF.W, L*.BFF.W, copy=value)\nCopy(L2.BFF.W, L3.*.W)"); // not onto itself
    EXPECT_EQ(Values("L3.BFF.W"), Values("L2.BFF.W"));
    EXPECT_EQ(
        ErrorOf("Copy(L2.BFF.W, Z*)"),
        "edit.mel:2:16: Setting a single input to multiple outputs requires the multiple outputs to exist. No node "
        "matches 'Z*'");
    EXPECT_THAT(ErrorOf("Copy(L2.*, Z)"), HasSubstr("The input symbols and output symbols must match"));
    EXPECT_THAT(ErrorOf("Copy(L*RL, New*)"), HasSubstr("The input symbols and output symbols must match"));
    EXPECT_THAT(ErrorOf("CopySubTree(L*RL, Root)"), HasSubstr("nodes, and 'Root' can be the copy of one only"));
    EXPECT_THAT(ErrorOf("m2=LoadModel(\"base.dnn\", format=cntk)\nCopyNodeInputs(m1.L1.RL, m2.L1.RL)"),
                HasSubstr("inputs can be copied within one model only; 'm1.L1.RL' is in model 'm1'"));
    EXPECT_THAT(ErrorOf("Copy(L2.*, *.Z)"),
                EndsWith("'L2.*' = '*.Z' not allowed; expected text before the '*' in both or in neither, and after it "
                         "likewise"));
    EXPECT_THAT(ErrorOf("Copy(m1.*, L2.*)"), HasSubstr("'m1.*' = 'L2.*' not allowed; expected text before"));
    EXPECT_EQ(
        ErrorOf("Copy(L2.RL, L3.BFF.W)"),
        "edit.mel:2:1: cannot copy node 'L2.RL' (RectifiedLinear) onto 'L3.BFF.W', which is a LearnableParameter; "
        "expected a node of the same type, or a new name");
    EXPECT_THAT(ErrorOf("Copy(L2.RL, l2.rl)"), HasSubstr("copying the node to the same network with same node name"));
}

TEST_F(MelTests, CopyBetweenModels)
{
    Edit("m2=CreateModel()\nCopy(m1.*, m2.*)\nCreateModelWithName(m3)\nCopy(m1, m3)\n"
         "SetProperty(m3.features, feature, true)\nSaveModel(m3, \"copy.dnn\")");
    EXPECT_EQ(Names("*", "m2"), Names("*"));
    EXPECT_THAT(Inputs("CE.BFF.FF.T", "m2"), ElementsAre("CE.BFF.W", "L3.RL"));
    EXPECT_EQ(Values("L1.BFF.W", "m2"), Values("L1.BFF.W"));
    EXPECT_TRUE(Network("m2").Group(NodeGroup::Criterion).empty());
    EXPECT_TRUE(FileExists("copy.dnn"));
}

TEST_F(MelTests, CopySubTree)
{
    Edit("m2=CreateModel()\nCopySubTree(L2.RL, m2, P.)\nCopySubTree(L1.RL, Root)");
    EXPECT_THAT(Names("*W", "m2"), ElementsAre("P.L1.BFF.W", "P.L2.BFF.W"));
    EXPECT_THAT(Inputs("P.L1.BFF.FF.T", "m2"), ElementsAre("P.L1.BFF.W", "P.features"));
    EXPECT_THAT(Inputs("Root"), ElementsAre("Root.L1.BFF.FF.P"));
}

TEST_F(MelTests, CopySubTreeByPatterns)
{
    // The star of the target becomes the text that the star of the source matched. Other nodes keep their whole names.
    Edit("CopySubTree(L2.*, New.*)");
    EXPECT_THAT(Names("New.*RL"), ElementsAre("New.L1.RL", "New.RL"));
    EXPECT_THAT(Inputs("New.RL"), ElementsAre("New.BFF.FF.P"));
    EXPECT_THAT(Inputs("New.BFF.FF.T"), ElementsAre("New.BFF.W", "New.L1.RL"));
    EXPECT_THAT(Inputs("New.L1.BFF.FF.T"), ElementsAre("New.L1.BFF.W", "New.features"));
    Edit("CopySubTree(L1.RL, *.copy)"); // the tail counts, too
    EXPECT_THAT(Names("*.copy"), ElementsAre("features.copy", "L1.BFF.B.copy", "L1.BFF.FF.P.copy", "L1.BFF.FF.T.copy",
                                             "L1.BFF.W.copy", "L1.RL.copy"));
    Edit("CopySubTree(L2*RL, Second*Rect)");
    EXPECT_THAT(Inputs("Second.Rect"), ElementsAre("SecondL2.BFF.FF.PRect"));
    Edit("m2=CreateModel()\nCopySubTree(L1.*, m2)"); // a model: names as they are
    EXPECT_THAT(Names("*L", "m2"), ElementsAre("L1.RL"));
    EXPECT_THAT(ErrorOf("Rename(L1.RL, L2.L1.BFF.X)\nRename(L2.BFF.W, L2.L1.BFF.W)\nCopySubTree(L2.*, New.*)"),
                HasSubstr("edit.mel:4:19: 'L2.L1.BFF.W' and 'L1.BFF.W' would both become 'New.L1.BFF.W'"));
}

TEST_F(MelTests, CopySubTreeIntoAnUnknownModel)
{
    EXPECT_EQ(ErrorOf("CopySubTree(L2.RL, q, z.)"), "edit.mel:2:20: there is no model 'q'; models: m1");
    Edit("CopySubTree(L1.RL, m1.*, z.)");
    EXPECT_THAT(Names("z*RL"), ElementsAre("z.L1.RL"));
}

TEST_F(MelTests, CopyOntoANodeWithMoreInputs)
{
    Edit("two=RowStack(L1.RL, L2.RL)\nthree=RowStack(L1.RL, L2.RL, L3.RL)\nfour=RowStack(L1.RL, L1.RL)\n"
         "Copy(two, three)\nCopy(three, four)");
    EXPECT_THAT(Inputs("three"), ElementsAre("L1.RL", "L2.RL", "L3.RL"));
    EXPECT_THAT(Inputs("four"), ElementsAre("L1.RL", "L1.RL"));
    EXPECT_THAT(ErrorOf("Copy(L1.RL, \"\")"), HasSubstr("a name is empty, expected a node, a model"));
    EXPECT_THAT(ErrorOf("Rename(L1.RL, \"\")"), HasSubstr("edit.mel:2:15: a name is empty"));
    EXPECT_EQ(ErrorOf("Copy(L1.RL, L2.RL, copy=all, copyFlag=value)"),
              "edit.mel:2:39: 'copyFlag' is given twice: 'all' and 'value'. Valid parameters: "
              "CopyNode(from, to, [copy=all|value])");
}

TEST_F(MelTests, Inputs)
{
    Edit("SetInputs(Err, labels, L1.RL)\nCopyInputs(L2.RL, L3.RL)\nSetNodeInput(L*.T, 1, features)");
    EXPECT_THAT(Inputs("Err"), ElementsAre("labels", "L1.RL"));
    EXPECT_THAT(Inputs("L3.RL"), ElementsAre("L2.BFF.FF.P"));
    EXPECT_THAT(Inputs("L2.BFF.FF.T"), ElementsAre("L2.BFF.W", "features"));
    EXPECT_THAT(ErrorOf("SetInput(Err, 2, features)"), HasSubstr("has no input 2; it has 2 inputs, counted from 0"));
    EXPECT_EQ(ErrorOf("SetInput(Err, x, features)"), "edit.mel:2:15: 'x' is no input, expected a whole number from 0");
    EXPECT_THAT(ErrorOf("SetInput(Err, 1, L*)"), HasSubstr("expected a single one"));
    EXPECT_THAT(ErrorOf("m2=LoadModel(base.dnn)\nSetInput(Err, 1, m2.features)"),
                HasSubstr("'m2.features' is in model 'm2', expected a node of model 'm1'"));
}

// A saved model with too many inputs could not be loaded again.
TEST_F(MelTests, InputsThatAreTooMany)
{
    EXPECT_EQ(ErrorOf("CopyInputs(L1.BFF.FF.P, L2.RL)"),
              "edit.mel:2:25: node 'L2.RL' (RectifiedLinear) cannot take the inputs of 'L1.BFF.FF.P' (Plus): those are "
              "2, expected 1 at most");
    EXPECT_THAT(ErrorOf("CopyInputs(L1.RL, L1.BFF.B)"),
                HasSubstr("node 'L1.BFF.B' (LearnableParameter) cannot take the inputs of 'L1.RL' (RectifiedLinear): "
                          "those are 1, expected 0 at most"));
    EXPECT_EQ(ErrorOf("CopyInputs(L1.RL, L1.BFF.FF.P)\nSaveModel(m1, out.dnn)"),
              "edit.mel:3:1: model 'm1' cannot be saved to 'out.dnn', network is malformed: 'L1.BFF.FF.P' "
              "(Plus) has 1 input, expected 2; connect nodes with SetInput or SetInputs, or delete them");
    EXPECT_FALSE(FileExists("out.dnn"));
    Edit("CopyInputs(L2.BFF.FF.T, L3.BFF.FF.T)\nSaveModel(m1, out.dnn)\nm2=LoadModel(out.dnn)");
    EXPECT_THAT(Inputs("L3.BFF.FF.T", "m2"), ElementsAre("L2.BFF.W", "L1.RL"));
}

TEST_F(MelTests, DeleteAndSave)
{
    EXPECT_EQ(ErrorOf("Delete(L3.*, nothing.*)"),
              "edit.mel:2:14: FindSymbols could not find a symbol for nothing.*: model 'm1' has no such node");
    EXPECT_EQ(ErrorOf("Remove(L3.*)\nSaveModel(m1, out.dnn)"),
              "edit.mel:3:1: model 'm1' cannot be saved to 'out.dnn', network is malformed: input 1 of "
              "'CE.BFF.FF.T' (Times) is not connected; connect nodes with SetInput or SetInputs, or delete them");
    EXPECT_FALSE(FileExists("out.dnn"));
    Edit("DeleteNode(L3.*)\nSetInput(CE.*.T, 1, L2.RL)\nSaveModel(m1, out.dnn)");
    EXPECT_TRUE(FileExists("out.dnn"));
    // Connected, but impossible.
    EXPECT_THAT(ErrorOf("SetInput(CE.*.T, 1, features)\nSaveModel(m1, out2.dnn)"),
                HasSubstr("Times('CE.BFF.W' [2 x 4], 'features' [3]) disagree"));
    EXPECT_FALSE(FileExists("out2.dnn"));
    EXPECT_EQ(
        ErrorOf("Delete(*)\nSaveModel(m1, out2.dnn)"),
        "edit.mel:3:1: model 'm1' cannot be saved to 'out2.dnn': it has no nodes; expected some, copied from another "
        "model or described by NDL");
    EXPECT_THAT(ErrorOf("SetInput(L1.BFF.W, 0, features)"),
                HasSubstr("'L1.BFF.W' (LearnableParameter) takes no inputs"));
}

TEST_F(MelTests, SaveModelRefusesInvalidNetworks)
{
    EXPECT_THAT(ErrorOf("Delete(L3.RL)\nCopyInputs(L3.BFF.W, Err)\nSaveModel(m1, out.dnn)"),
                HasSubstr("network is malformed: input 1 of 'CE.BFF.FF.T' (Times) is not connected, 'Err' "
                          "(ErrorPrediction) has 0 inputs, expected 2 at least; connect nodes with SetInput"));
    EXPECT_THAT(ErrorOf("D=Plus(features, L1.RL)\nSaveModel(m1, out.dnn)"), HasSubstr("Plus cannot combine"));
    EXPECT_THAT(ErrorOf("P=PastValue(4, 1, L1.RL)\nQ=Plus(P, L2.RL)\nR=Plus(Q, L2.RL)\nSetInput(P, 0, R)\n"
                        "SetInput(Q, 0, R)\nSaveModel(m1, out.dnn)"),
                HasSubstr("the nodes Q (Plus), R (Plus) form a loop without a delay"));
    EXPECT_FALSE(FileExists("out.dnn"));
}

TEST_F(MelTests, Rename)
{
    Edit("Rename(L3.*, Layer3.*)\nRename(m1.features, Data)");
    EXPECT_THAT(Names("L3*"), ElementsAre());
    EXPECT_THAT(Inputs("CE.BFF.FF.T"), ElementsAre("CE.BFF.W", "Layer3.RL"));
    EXPECT_THAT(Inputs("L1.BFF.FF.T"), ElementsAre("L1.BFF.W", "Data"));
    EXPECT_THAT(ErrorOf("Rename(Err, labels)"), HasSubstr("RenameNode: Target name already exists."));
}

TEST_F(MelTests, Properties)
{
    Edit("SetProperty(*.W, NeedsGradient, false)\nSetProp(L1.BFF.B, learningRate, 0.5)\n"
         "SetProperty(L2.RL, Output, true)\nSetProperty(CE.SM, FinalCriterion, false)\n"
         "SetProperty(Err, EvaluationEval, F)\nSetProperty(L3.RL, Eval, true)\nSetProperty(Err, MultiSeq, true)");
    EXPECT_EQ(Multiplier("L2.BFF.W"), 0);
    EXPECT_EQ(Multiplier("L1.BFF.B"), 0.5f);
    EXPECT_THAT(Group(NodeGroup::Output), ElementsAre("CE.BFF.FF.P", "L2.RL"));
    EXPECT_TRUE(Group(NodeGroup::Criterion).empty());
    EXPECT_THAT(Group(NodeGroup::Evaluation), ElementsAre("L3.RL"));
    // Below an inner node, not only below a root.
    Edit("SetPropertyForSubTree(L2.RL, computeGradient, 0)");
    EXPECT_EQ(Multiplier("L1.BFF.W"), 0);
    EXPECT_EQ(Multiplier("L3.BFF.W"), 1);
    EXPECT_EQ(ErrorOf("SetProperty(Err, colour, true)"),
              "edit.mel:2:18: Invalid property, colour, is not supported; expected one of ComputeGradient, "
              "NeedsGradient, NeedGradient, LearningRateMultiplier, Feature, Label, FinalCriterion, Criterion, "
              "Criteria, Evaluation, Eval, Output");
    EXPECT_THAT(ErrorOf("SetProperty(Err, eval, maybe)"), HasSubstr("'maybe' is no property value"));
    EXPECT_THAT(ErrorOf("SetPropertyForSubTree(CE.SM, output, true)"), HasSubstr("is not supported for a sub-tree"));
}

TEST_F(MelTests, PropertiesWithoutEffect)
{
    Edit("SetProperty(L1.RL, ComputeGradient, false)\nSetProperty(L1.*, ComputeGradient, false)\n"
         "SetPropertyForSubTree(features, LearningRateMultiplier, 2)\nSetProperty(L1.BFF.W, Feature, true)\n"
         "SetProperty(L1.BFF.W, Feature, false)\nSetProperty(L1.RL, Criterion, true)\nSaveModel(out.dnn)\n"
         "SetProperty(L2.BFF.FF.*, Label, true)\nSetProperty(labels, Label, true)");
    const std::string log = ReadTextFile("log.txt");
    EXPECT_THAT(log, HasSubstr("edit.mel:2:13: ComputeGradient has no effect: 'L1.RL' names no parameter"));
    EXPECT_THAT(log, testing::Not(HasSubstr("edit.mel:3")));
    EXPECT_THAT(log, HasSubstr("edit.mel:4:23: LearningRateMultiplier has no effect: 'features' names no parameter"));
    EXPECT_THAT(log, HasSubstr("edit.mel:5:13: 'L1.BFF.W' (LearnableParameter) is no input node; no reader gives data "
                               "for it as a Feature"));
    EXPECT_THAT(log,
                HasSubstr("edit.mel:9:13: 'L2.BFF.FF.P' (Plus), 'L2.BFF.FF.T' (Times) are no input nodes; no reader "
                          "gives data for them as a Label"));
    EXPECT_THAT(log, testing::Not(HasSubstr("edit.mel:10:")));
    EXPECT_THAT(log, testing::Not(HasSubstr("edit.mel:6")));
    EXPECT_THAT(log, HasSubstr("edit.mel:8:1: the criterion 'L1.RL' (RectifiedLinear) of model 'm1' is not a single "
                               "number but [4 x 1 x *]; training will refuse it"));
    EXPECT_THAT(log, testing::Not(HasSubstr("the criterion 'CE.SM'")));
}

TEST_F(MelTests, MultipliersAreFiniteNumbers)
{
    for (const char* value : {"inf", "1e39", "1e400", "nan", "-1", "much"})
        EXPECT_THAT(ErrorOf(std::string("SetProperty(*.W, LearningRateMultiplier, ") + value + ")"),
                    HasSubstr(std::string("edit.mel:2:42: '") + value + "' is no learning rate multiplier"))
            << value;
    Edit("SetProperty(*.W, LearningRateMultiplier, 3e38)");
    EXPECT_EQ(Multiplier("L1.BFF.W"), 3e38f);
}

TEST_F(MelTests, InlineNdl)
{
    Edit("x=3\nHDim=4\nL4=RBFF(L3.RL, HDim, HDim)\nSetInput(CE.*.T, 1, L4)\nSetInput(L1.BFF.FF.P, 1, x)\n"
         "s=Plus(later, L1.BFF.B)\nlater=Sigmoid(L1.RL)");
    EXPECT_THAT(Inputs("CE.BFF.FF.T"), ElementsAre("CE.BFF.W", "L4.RL"));
    EXPECT_THAT(Inputs("L1.BFF.FF.P"), ElementsAre("L1.BFF.FF.T", "x"));
    EXPECT_EQ(Values("x"), std::vector<double>{3});
    EXPECT_THAT(Inputs("s"), ElementsAre("later", "L1.BFF.B"));
    EXPECT_THAT(ErrorOf("s=Plus(nowhere, L1.RL)\nDumpNode(*, x.txt)"), EndsWith("unknown variable 'nowhere'"));
    EXPECT_THAT(ErrorOf("m2=[\na=Input(2, tag=feature)\nb=Sigmoid(a)\n]\nSetDefaultModel(m2)\n"
                        "s=Tanh(nowhere)\nDumpNode(*, x.txt)"),
                EndsWith("unknown variable 'nowhere'"));
}

TEST_F(MelTests, SnippetsAndSeveralModels)
{
    Edit(R"(
m2 = [
    Twice(x)
    [
        T = Plus(x, x)   # a macro for all models
    ]
    features=Input(3, tag=feature)
    out=Twice(features)
    OutputNodes=(out)
]
double=Twice(L1.RL)      # in m1, the default model
SetDefaultModel(m2)
more=Twice(out)
SaveModel(m2, "m2.dnn")
UnloadModel(m2, m9)
)");
    EXPECT_THAT(Inputs("double.T"), ElementsAre("L1.RL", "L1.RL"));
    const auto m2 = LoadModel("m2.dnn", DataType::Float64, MakeCpuDevice({.threads = 1}));
    EXPECT_EQ(m2->Require("more.T")->Input(0)->Name(), "out.T");
    EXPECT_EQ(m_editor->Models().Find("m2"), nullptr);
    EXPECT_THAT(ReadTextFile("log.txt"), HasSubstr("WARNING: model m9 does not exist."));
}

TEST_F(MelTests, SnippetsFromFiles)
{
    m_folder.Write("a.ndl", "load=macs\nrun=net\nmacs=[\nHalf(x)\n[\nh=Sigmoid(x)\n]\n]\nnet=[\nf=Input(2, "
                            "tag=feature)\n]\nother=[\ng=Input(5)\n]\n");
    m_folder.Write("b.ndl", "f=Input(7)\n");
    Edit("LoadNDLSnippet(a, \"a.ndl\")\nLoadNDLSnippet(o, a.ndl, section=other)\nLoadNDLSnippet(b, b.ndl)");
    EXPECT_THAT(Names("*", "a"), ElementsAre("f"));
    EXPECT_THAT(Names("*", "o"), ElementsAre("g"));
    EXPECT_THAT(Names("*", "b"), ElementsAre("f"));
    EXPECT_EQ(ErrorOf("LoadNDLSnippet(a, a.ndl, section=othr)"),
              "edit.mel:2:34: NDL file 'a.ndl' has no section 'othr'; did you mean 'other'?");
}

TEST_F(MelTests, SnippetsFromFilesKnowTheSectionsThatTheirFilesLoad)
{
    const std::string sections = "macs=[\nDim=4\nHalf(x)\n[\nh=Sigmoid(x)\n]\n]\n"
                                 "net=[\nf=Input(Dim, tag=feature)\na=Half(f)\n]\n";
    m_folder.Write("run.ndl", "load=macs\nrun=net\n" + sections);
    m_folder.Write("first.ndl", "load=macs\n" + sections);
    m_folder.Write("wrong.ndl", "load=mac:other\nrun=net\n" + sections);
    Edit("LoadNDLSnippet(a, run.ndl)\nLoadNDLSnippet(b, run.ndl, section=net)"); // its macros are read twice
    EXPECT_THAT(Names("*", "a"), ElementsAre("a.h", "f"));
    EXPECT_THAT(Names("*", "b"), ElementsAre("a.h", "f"));
    Edit("LoadNDLSnippet(c, first.ndl)");
    EXPECT_THAT(Names("*", "c"), ElementsAre("a.h", "f"));
    m_folder.Write("other.ndl", "Half(x)\n[\nh=Tanh(x)\n]\nf=Input(2)\n");
    EXPECT_EQ(ErrorOf("LoadNDLSnippet(a, run.ndl)\nLoadNDLSnippet(b, other.ndl)"),
              "other.ndl:1:1: macro 'Half' is already defined at run.ndl:5:1");
    EXPECT_EQ(ErrorOf("LoadNDLSnippet(a, wrong.ndl)"),
              "wrong.ndl:1:1: NDL file 'wrong.ndl' has no section 'mac'; did you mean 'macs'?");
}

TEST_F(MelTests, SectionsOfAScript)
{
    Run("load=macs\nedit=first:second\nmacs=[\nHalf(x)\n[\nh=Sigmoid(x)\n]\n]\nsecond=[\nhalf=Half(L1.RL)\n"
        "DumpNode(half.h, half.txt)\n]\nfirst=[\nm1=LoadModel(base.dnn)\n]\n");
    EXPECT_TRUE(FileExists("half.txt"));
    EXPECT_THAT(Inputs("half.h"), ElementsAre("L1.RL"));
}

TEST_F(MelTests, AbbreviationsAndCase)
{
    Edit("SETDEFAULTM(M1)\nDumpN(l1.rl, a.txt)\nDump(m1, b.txt)\nRenam(Err, E2)\nSaveDefault(c.dnn, form=cn)");
    EXPECT_TRUE(FileExists("a.txt") && FileExists("b.txt") && FileExists("c.dnn"));
    // Half of nine letters are four.
    Edit("m2=Load(base.dnn)\nSave(m2, d.dnn)");
    EXPECT_TRUE(FileExists("d.dnn"));
    EXPECT_THAT(ErrorOf("SetP(Err, output, true)"), HasSubstr("Unknown Editor function SetP; did you mean"));
    EXPECT_EQ(ErrorOf("Dmp(m1, x)"), "edit.mel:2:1: Unknown Editor function Dmp; did you mean 'Dump'?");
    EXPECT_EQ(ErrorOf("Rename(Err)"),
              "edit.mel:2:1: Invalid number of parameters (1). Valid parameters: Rename(from, to)");
    EXPECT_EQ(ErrorOf("Copy(a, b, cpy=all)"), "edit.mel:2:16: CopyNode has no optional parameter 'cpy'. Valid "
                                              "parameters: CopyNode(from, to, [copy=all|value]); did you mean 'copy'?");
    EXPECT_EQ(ErrorOf("Copy(a, b"), "edit.mel:2:5: the '(' opened here is not closed");
    EXPECT_EQ(ErrorOf("x"), "edit.mel:2:1: '(' or '=' expected after 'x', found the end of the text");
    EXPECT_THAT(ErrorOf("SaveModel(m7, x.dnn)"), HasSubstr("there is no model 'm7'; models: m1"));
}

TEST_F(MelTests, NamesOfModelsAndNodes)
{
    Edit(
        "SetProperty(m1.L1.*.W, computeGradient, false)\nSetProperty(M1*, computeGradient, true)\nDumpNode(m1, x.txt)");
    EXPECT_EQ(Multiplier("L1.BFF.W"), 1);
    // A tail that is one character longer than a name does not match it.
    EXPECT_EQ(ErrorOf("SetProperty(*.features, feature, true)"),
              "edit.mel:2:13: FindSymbols could not find a symbol for *.features: model 'm1' has no such node");
    EXPECT_THAT(ErrorOf("SetProperty(L*.*.W, computeGradient, false)"), HasSubstr("has several '*'"));
    Run("m1=LoadModel(base.dnn)\nm1=LoadModel(base.dnn)\nDumpNode(L1.RL, y.txt)");
    EXPECT_THAT(ReadTextFile("log.txt"), HasSubstr("WARNING: conflicting model name m1."));
    EXPECT_TRUE(FileExists("y.txt"));
}

TEST_F(MelTests, ReviseParameter)
{
    m_folder.Write("b.txt", "1\n2\n3\n4\n");
    Edit("ReviseParameter(L1.BFF.B, b.txt)\nReviseParameter(*.T, b.txt)");
    EXPECT_EQ(Values("L1.BFF.B"), (std::vector<double>{1, 2, 3, 4}));
    EXPECT_THAT(ReadTextFile("log.txt"), HasSubstr("it is a Times node"));
}

TEST_F(MelTests, RevisedParametersAreNumbers)
{
    m_folder.Write("b.txt", "1\n2\nnan\n4\n");
    EXPECT_EQ(ErrorOf("ReviseParameter(L1.BFF.B, b.txt)"),
              "edit.mel:2:1: file 'b.txt', line 3, column 1: found nan, expected a number");
}

TEST_F(MelTests, CheckingWritesNothing)
{
    Run("m1=LoadModel(base.dnn)\nDumpModel(m1, d.txt)\nRename(L3.*, Top.*)\nSaveModel(m1, e.dnn)\n",
        MelEditor::Mode::Check);
    EXPECT_FALSE(FileExists("d.txt") || FileExists("e.dnn"));
    EXPECT_NE(Network("m1").Find("Top.RL"), nullptr);
}

TEST_F(MelTests, FilesOfAScriptAreNotOverwritten)
{
    EXPECT_EQ(ErrorOf("SaveModel(m1, out.dnn)\nDump(m1, ./out.dnn)"),
              "edit.mel:3:10: the dump would overwrite './out.dnn', which is the model saved at edit.mel:2:15 as well; "
              "expected another file");
    EXPECT_NO_THROW(Run("m=LoadModel(out.dnn)"));
    EXPECT_EQ(ErrorOf("SaveDefaultModel(out.dnn)\nDumpNode(L1.*, out.dnn)"),
              "edit.mel:3:16: the dump would overwrite 'out.dnn', which is the model saved at edit.mel:2:18 as well; "
              "expected another file");
    EXPECT_EQ(ErrorOf("Dump(m1, d.txt)\nSaveModel(m1, d.txt)"),
              "edit.mel:3:15: the model would overwrite 'd.txt', which is the dump of edit.mel:2:10 as well; expected "
              "another file");
    m_folder.Write("b.txt", "1\n2\n3\n4\n");
    EXPECT_EQ(ErrorOf("ReviseParameter(L1.BFF.B, b.txt)\nSaveModel(m1, b.txt)"),
              "edit.mel:3:15: the model would overwrite 'b.txt', which is the parameter file of edit.mel:2:27 as well; "
              "expected another file");
    // Later models and dumps may replace earlier ones of the same kind.
    EXPECT_EQ(ErrorOf("SaveModel(m1, out.dnn)\nSaveModel(m1, out.dnn)\nDump(m1, d.txt)\nDump(m1, d.txt)"), "no error");
}

TEST_F(MelTests, UnknownFunctionsAreFoundBeforeTheScriptRuns)
{
    const auto check = [](const std::string& script)
    {
        try
        {
            CheckNdlFunctions({PrepareMel(std::make_shared<SourceText>("edit.mel", script))},
                              {ParseNdl(std::make_shared<SourceText>("macros.ndl", c_macros))});
        }
        catch (const Error& error)
        {
            return error.Where().Location() + ": " + error.Message();
        }
        return std::string("no error");
    };
    EXPECT_EQ(check("m=LoadModel(base.dnn)\nL4=RBFF(L3.RL, 4, 4)\ns=[ M(x) { y=Tanh(x) } ]\nz=M(Sigmoid(L4))"),
              "no error");
    EXPECT_EQ(check("m=LoadModel(base.dnn)\nz=Tanh(Sigmoyd(L3.RL))"),
              "edit.mel:2:8: unknown function or macro 'Sigmoyd'; did you mean 'Sigmoid'?");
    EXPECT_EQ(check("s=[\nz=FedForward(x)\n]"),
              "edit.mel:2:3: unknown function or macro 'FedForward'; did you mean 'FeedForward'?");
    EXPECT_EQ(check("LoadNDLSnippet(s, other.ndl)\nz=Other(x)"), "no error");
}

// A hundred commands on a model of five thousand nodes. MelBenchmark measures their time.
TEST_F(MelTests, LargeModels)
{
    std::string ndl = "features=Input(2, tag=feature)\nL0=Sigmoid(features)\n";
    for (int i = 1; i < 1250; ++i)
        ndl += "L" + std::to_string(i) + "=Layer(L" + std::to_string(i - 1) + ")\n";
    ndl += "OutputNodes=(L1249)\nLayer(x)\n[\nW=Parameter(2, 2)\nT=Times(W, x)\nS=Sigmoid(T)\nP=Plus(S, x)\n]\n";
    const auto network = BuildNetworkFromNdlText(ndl, "big.ndl", DataType::Float64, MakeCpuDevice({.threads = 1}));
    ASSERT_GT(network->size(), 4900u);
    SaveModel(*network, "big.dnn");
    std::string script;
    for (int i = 0; i < 25; ++i)
    {
        const std::string name = "X" + std::to_string(i) + ".";
        script += "Copy(L9*, " + name + "L9*)\nSetProperty(" + name + "*W, computeGradient, false)\nRename(" + name +
                  "*, Y*)\nDelete(Y*)\n";
    }
    Run("m1=LoadModel(big.dnn)\n");
    m_editor->Run(PrepareMel(std::make_shared<SourceText>("many.mel", script)));
    EXPECT_EQ(Network().size(), network->size());
}

} // namespace
} // namespace cntk
