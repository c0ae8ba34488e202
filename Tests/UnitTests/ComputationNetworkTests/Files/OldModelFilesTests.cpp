// Models of versions and dialects that are not written any more, or not yet: written by hand.
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "ComputationNetworkTests/Files/ModelFileFixture.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <initializer_list>

namespace cntk
{
namespace
{

class OldModelFiles : public ModelFileTests
{
};

TEST_F(OldModelFiles, ReadsTheOldDialect)
{
    ModelBytes file;
    file.Version(2).Number(uint64_t(3)).Mark("BNodeList");
    file.Mark("LearnableParameter").Mark("W").Number(uint8_t(1)).Number(uint64_t(2)).Number(uint64_t(2));
    file.Number('d').Mark("BMAT").Number(uint64_t(4)).Mark("W").Number(int32_t(0)).Number(uint64_t(2));
    file.Number(uint64_t(2));
    for (const float value : {1.0f, 2.0f, 3.0f, 4.0f})
        file.Number(value);
    file.Mark("EMAT");
    file.Mark("InputValue").Mark("x").Number(uint64_t(2)).Number(uint64_t(5));
    file.Number(uint64_t(1)).Number(uint64_t(2)).Number(uint64_t(1)); // width, height, channels
    file.Mark("Scale").Mark("y").Mark("ENodeList").Mark("BRelation");
    file.Mark("W").Number(uint64_t(0)).Mark("x").Number(uint64_t(0));
    file.Mark("y").Number(uint64_t(2)).Mark("x").Mark("X").Mark("ERelation").Mark("BRootNodes");
    file.Mark("BFeatureNodes").Number(uint64_t(1)).Mark("x").Mark("EFeatureNodes");
    file.Mark("BLabelNodes").Number(uint64_t(0)).Mark("ELabelNodes");
    file.Mark("BCriteriaNodes").Number(uint64_t(0)).Mark("ECriteriaNodes");
    file.Mark("BNodesReqMultiSeqHandling").Number(uint64_t(0)).Mark("ENodesReqMultiSeqHandling");
    file.Mark("BEvalNodes").Number(uint64_t(0)).Mark("EEvalNodes");
    file.Mark("BOutputNodes").Number(uint64_t(1)).Mark("y").Mark("EOutputNodes");
    file.Mark("ERootNodes").Mark("ECN");
    WriteBytes(Path("old.dnn"), file.Text());

    const auto network = LoadModel(Path("old.dnn"), DataType::Float64, m_device);
    const auto weights = std::dynamic_pointer_cast<LearnableParameterNode>(network->Require("W"));
    EXPECT_EQ(weights->Values().ToHost(), (std::vector<double>{1, 2, 3, 4}));
    EXPECT_EQ(weights->GetDataType(), DataType::Float64);
    EXPECT_EQ(network->Require("x")->SampleLayout().ToString(), "2");
    EXPECT_EQ(network->Require("y")->TypeName(), "ElementTimes");
    EXPECT_EQ(network->Group(NodeGroup::Output).size(), 1u);
}

// Plain inputs are stored as images of one column there. As such they would make rows x rows numbers of a sum with a
// vector; only where windows look at them they are images. Their rows, stacked, are one image behind the other.
TEST_F(OldModelFiles, InputsOfTheOldDialectAreImagesForWindowsOnly)
{
    ModelBytes file;
    file.Version(2).Number(uint64_t(8)).Mark("BNodeList");
    file.OldParameter("b", 2, 1, {10, 20}).OldParameter("k", 1, 2, {1, 3}); // one map, a kernel of 1 x 1 x 2
    file.OldInput("plain", 1, 2, 1).OldInput("image", 1, 2, 2);
    file.Mark("Sigmoid").Mark("s").Mark("Plus").Mark("sum").Mark("RowStack").Mark("stack");
    file.Mark("Convolution").Mark("windows").Number(uint64_t(1)).Number(uint64_t(1)); // the kernel's width and height
    file.Number(uint64_t(1)).Number(uint64_t(1)).Number(uint64_t(1)).Number(uint8_t(0)).Number(uint64_t(0));
    file.Mark("ENodeList").Mark("BRelation");
    file.Relation("b", {}).Relation("k", {}).Relation("plain", {}).Relation("image", {}).Relation("s", {"image"});
    file.Relation("sum", {"plain", "b"}).Relation("stack", {"image", "image"}).Relation("windows", {"k", "s"});
    file.Mark("ERelation").Mark("BRootNodes").Mark("ELabelNodes").Mark("BCriteriaNodes").Number(uint64_t(0));
    file.Mark("ECriteriaNodes").Mark("ERootNodes").Mark("ECN");
    WriteBytes(Path("old.dnn"), file.Text());

    SaveModel(*LoadModel(Path("old.dnn"), DataType::Float64, m_device), Path("new.dnn"));
    for (const char* name : {"old.dnn", "new.dnn"})
    {
        const auto network = LoadModel(Path(name), DataType::Float64, m_device);
        EXPECT_EQ(network->Require("plain")->SampleLayout().ToString(), "2") << name;
        EXPECT_EQ(network->Require("image")->SampleLayout().ToString(), "2 x 1 x 2") << name;
        EXPECT_EQ(network->Require("sum")->SampleElements(), 2u) << name;
        EXPECT_EQ(network->Require("windows")->SampleElements(), 2u) << name;
        EXPECT_EQ(network->Require("stack")->SampleLayout().ToString(), "2 x 1 x 4") << name;
        network->Layout()->InitAsFrameMode(1);
        const std::vector<double> data = {1, 2, 3, 4};
        dynamic_cast<InputValueNode&>(*network->Require("image")).SetDense(data.data(), 4, 1);
        Evaluator evaluator(*network, {network->Require("stack")}, {});
        evaluator.Forward();
        EXPECT_EQ(Testing::HostCopy(network->Require("stack")->Value()), (std::vector<double>{1, 2, 3, 4, 1, 2, 3, 4}));
    }
}

// Returns the value of a node for one sample.
std::vector<double> ValueOfSample(ComputationNetwork& network, const char* inputName, const std::vector<double>& sample,
                                  const char* name)
{
    network.Layout()->InitAsFrameMode(1);
    dynamic_cast<InputValueNode&>(*network.Require(inputName)).SetDense(sample.data(), sample.size(), 1);
    Evaluator evaluator(network, {network.Require(name)}, {});
    evaluator.Forward();
    return Testing::HostCopy(network.Require(name)->Value());
}

// Pooling has the sizes of its window in eight bytes each.
TEST_F(OldModelFiles, InputsOfPoolingInTheOldDialectAreImages)
{
    for (const auto& [type, expected] : std::initializer_list<std::pair<const char*, std::vector<double>>>{
             {"MaxPooling", {3, 8}}, {"AveragePooling", {2, 5}}})
    {
        ModelBytes file;
        file.Version(2).Number(uint64_t(2)).Mark("BNodeList").OldInput("image", 1, 2, 2).Mark(type).Mark("pool");
        for (const uint64_t size : {1, 2, 1, 1}) // width and height of the window, its steps
            file.Number(size);
        file.Mark("ENodeList").Mark("BRelation").Relation("image", {}).Relation("pool", {"image"}).Mark("ERelation");
        file.Mark("BRootNodes").Mark("ELabelNodes").Mark("BCriteriaNodes").Number(uint64_t(0));
        file.Mark("ECriteriaNodes").Mark("ERootNodes").Mark("ECN");
        WriteBytes(Path("old.dnn"), file.Text());
        const auto network = LoadModel(Path("old.dnn"), DataType::Float64, m_device);
        EXPECT_EQ(network->Require("image")->SampleLayout().ToString(), "2 x 1 x 2") << type;
        EXPECT_EQ(ValueOfSample(*network, "image", {1, 2, 3, 8}, "pool"), expected) << type;
    }
}

// A number or an image made of a vector is added to an image; the vector itself is none.
TEST_F(OldModelFiles, VectorsBelowTheImagesOfTheOldDialectAreVectors)
{
    for (const std::string type : {"Times", "TransposeTimes", "LookupTable", "Reshape"})
    {
        const uint64_t rows = type == "TransposeTimes" ? 4 : 1;
        ModelBytes file;
        file.Version(2).Number(uint64_t(8)).Mark("BNodeList").OldParameter("b", 4, 1, {10, 20, 30, 40});
        file.OldParameter("W", rows, 4 / rows, {1, 2, 3, 4}).OldInput("x", 1, 4, 1).OldInput("image", 1, 2, 2);
        file.Mark(type).Mark("made");
        if (type == "Reshape")
            file.Number(uint64_t(4)).Number(uint64_t(1)).Number(uint64_t(2)).Number(uint64_t(2));
        file.Mark("Plus").Mark("shifted").Mark("MaxPooling").Mark("pool");
        for (int i = 0; i < 4; i++)
            file.Number(uint64_t(1));
        file.Mark("Plus").Mark("sum").Mark("ENodeList").Mark("BRelation");
        file.Relation("b", {}).Relation("W", {}).Relation("x", {}).Relation("image", {});
        if (type == "Reshape")
            file.Relation("made", {"x"});
        else
            file.Relation("made", {"W", "x"});
        file.Relation("shifted", {"image", "made"}).Relation("pool", {"shifted"}).Relation("sum", {"x", "b"});
        file.Mark("ERelation").Mark("BRootNodes").Mark("ELabelNodes").Mark("BCriteriaNodes").Number(uint64_t(0));
        file.Mark("ECriteriaNodes").Mark("ERootNodes").Mark("ECN");
        WriteBytes(Path("old.dnn"), file.Text());
        const auto network = LoadModel(Path("old.dnn"), DataType::Float64, m_device);
        EXPECT_EQ(network->Require("x")->SampleLayout().ToString(), "4") << type;
        EXPECT_EQ(network->Require("pool")->SampleLayout().ToString(), "2 x 1 x 2") << type;
        EXPECT_EQ(ValueOfSample(*network, "x", {1, 2, 3, 4}, "sum"), (std::vector<double>{11, 22, 33, 44})) << type;
    }
}

// Rows of an image are those of its column: whole lines of the image, or they are refused.
TEST_F(OldModelFiles, SlicesOfImagesOfTheOldDialectAreWholeLines)
{
    const auto write = [&](uint64_t begin, uint64_t rows)
    {
        ModelBytes file;
        file.Version(2).Number(uint64_t(3)).Mark("BNodeList").OldInput("image", 1, 3, 2);
        file.Mark("MaxPooling").Mark("pool");
        for (int i = 0; i < 4; i++)
            file.Number(uint64_t(1));
        file.Mark("RowSlice").Mark("slice").Number(begin).Number(rows).Mark("ENodeList").Mark("BRelation");
        file.Relation("image", {}).Relation("pool", {"image"}).Relation("slice", {"pool"}).Mark("ERelation");
        file.Mark("BRootNodes").Mark("ELabelNodes").Mark("BCriteriaNodes").Number(uint64_t(0));
        file.Mark("ECriteriaNodes").Mark("ERootNodes").Mark("ECN");
        WriteBytes(Path("old.dnn"), file.Text());
    };
    write(2, 4);
    const auto network = LoadModel(Path("old.dnn"), DataType::Float64, m_device);
    EXPECT_EQ(network->Require("slice")->SampleLayout().ToString(), "2 x 1 x 2");
    EXPECT_EQ(ValueOfSample(*network, "image", {1, 2, 3, 4, 5, 6}, "slice"), (std::vector<double>{3, 4, 5, 6}));
    write(2, 3);
    EXPECT_THAT(LoadError("old.dnn"),
                testing::HasSubstr("RowSlice of an old model file takes the rows 2 to 4 of 'pool'"));
    write(1, 2);
    EXPECT_THAT(LoadError("old.dnn"),
                testing::HasSubstr("RowSlice of an old model file takes the rows 1 to 2 of 'pool'"));
}

// Files of August 2015: rows of a slice in 64 bits, no axes, and a Reshape that is LegacyReshape today.
TEST_F(OldModelFiles, ReadsShapeNodesOfTheOldDialect)
{
    ModelBytes file;
    file.Version(2).Number(uint64_t(6)).Mark("BNodeList");
    file.Mark("InputValue").Mark("x").Number(uint64_t(4)).Number(uint64_t(3));
    file.Number(uint64_t(1)).Number(uint64_t(4)).Number(uint64_t(1)); // width, height, channels
    file.Mark("RowSlice").Mark("lower").Number(uint64_t(2)).Number(uint64_t(2));
    file.Mark("RowSlice").Mark("upper").Number(uint64_t(0)).Number(uint64_t(1));
    file.Mark("RowStack").Mark("stack");
    file.Mark("Parallel").Mark("pair");
    file.Mark("Reshape").Mark("cut").Number(uint64_t(4)).Number(uint64_t(2)).Number(uint64_t(2)).Number(uint64_t(1));
    file.Mark("ENodeList").Mark("BRelation").Mark("x").Number(uint64_t(0));
    file.Mark("lower").Number(uint64_t(1)).Mark("x").Mark("upper").Number(uint64_t(1)).Mark("x");
    file.Mark("stack").Number(uint64_t(3)).Mark("lower").Mark("upper").Mark("x");
    file.Mark("pair").Number(uint64_t(2)).Mark("upper").Mark("lower");
    file.Mark("cut").Number(uint64_t(1)).Mark("x").Mark("ERelation").Mark("BRootNodes");
    for (const char* group : {"FeatureNodes", "LabelNodes", "CriteriaNodes", "NodesReqMultiSeqHandling", "EvalNodes"})
        file.Mark((std::string("B") + group).c_str()).Number(uint64_t(0)).Mark((std::string("E") + group).c_str());
    file.Mark("BOutputNodes").Number(uint64_t(3)).Mark("stack").Mark("pair").Mark("cut").Mark("EOutputNodes");
    file.Mark("ERootNodes").Mark("ECN");
    WriteBytes(Path("old.dnn"), file.Text());

    const auto network = LoadModel(Path("old.dnn"), DataType::Float64, m_device);
    EXPECT_EQ(network->Require("lower")->TypeName(), "Slice");
    EXPECT_EQ(network->Require("pair")->TypeName(), "RowStack");
    EXPECT_EQ(network->Require("cut")->TypeName(), "LegacyReshape");
    network->Layout()->InitAsFrameMode(2);
    network->Validate();
    const std::vector<double> data = {1, 2, 3, 4, 5, 6, 7, 8};
    dynamic_cast<InputValueNode&>(*network->Require("x")).SetDense(data.data(), 4, 2);
    const auto valueOf = [&](const std::string& name)
    {
        const ComputationNodePtr node = network->Require(name);
        EvaluatorOptions options;
        options.keepValues = {node};
        Evaluator evaluator(*network, {node}, options);
        evaluator.Forward();
        return Testing::HostCopy(node->Value());
    };
    EXPECT_EQ(valueOf("lower"), (std::vector<double>{3, 4, 7, 8}));
    EXPECT_EQ(valueOf("stack"), (std::vector<double>{3, 4, 1, 1, 2, 3, 4, 7, 8, 5, 5, 6, 7, 8}));
    EXPECT_EQ(valueOf("pair"), (std::vector<double>{1, 3, 4, 5, 7, 8}));
    EXPECT_EQ(valueOf("cut"), data);
    EXPECT_EQ(network->Require("cut")->SampleElements(), 4u);
}

// The dialect shows in the rows of parameters and inputs; the marks were spelled as today before it changed.
TEST_F(OldModelFiles, ReadsTheOldDialectWithTheMarksOfToday)
{
    ModelBytes file;
    file.Version(2).Number(uint64_t(2)).Mark("BNodeList").OldInput("x", 1, 4, 1);
    file.Mark("Reshape").Mark("y").Number(uint64_t(4)).Number(uint64_t(2)).Number(uint64_t(2)).Number(uint64_t(1));
    file.Mark("ENodeList").Mark("BRelation").Relation("x", {}).Relation("y", {"x"}).Mark("ERelation");
    file.Mark("BRootNodes").Mark("ELabelNodes").Mark("BCriterionNodes").Number(uint64_t(0)).Mark("ECriterionNodes");
    file.Mark("ERootNodes").Mark("ECN");
    WriteBytes(Path("old.dnn"), file.Text());
    const auto network = LoadModel(Path("old.dnn"), DataType::Float32, m_device);
    EXPECT_EQ(network->Require("x")->SampleLayout().ToString(), "4");
    EXPECT_EQ(network->Require("y")->SampleLayout().ToString(), "1 x 2 x 2");
}

// A Reshape without an image has zeros for its width, height and channels there. As a shape of a newer file they would
// announce the older form of one.
TEST_F(OldModelFiles, ReshapeWithoutImageOfTheOldDialectIsReadableWhenSavedAgain)
{
    ModelBytes file;
    file.Version(2).Number(uint64_t(2)).Mark("BNodeList");
    file.Mark("InputValue").Mark("x").Number(uint64_t(4)).Number(uint64_t(3));
    file.Number(uint64_t(1)).Number(uint64_t(4)).Number(uint64_t(1)); // width, height, channels
    file.Mark("Reshape").Mark("y").Number(uint64_t(4)).Number(uint64_t(0)).Number(uint64_t(0)).Number(uint64_t(0));
    file.Mark("ENodeList").Mark("BRelation").Mark("x").Number(uint64_t(0));
    file.Mark("y").Number(uint64_t(1)).Mark("x").Mark("ERelation").Mark("BRootNodes");
    file.Mark("ELabelNodes").Mark("BCriteriaNodes").Number(uint64_t(0)).Mark("ECriteriaNodes");
    file.Mark("ERootNodes").Mark("ECN");
    WriteBytes(Path("old.dnn"), file.Text());

    SaveModel(*LoadModel(Path("old.dnn"), DataType::Float32, m_device), Path("new.dnn"));
    const auto network = LoadModel(Path("new.dnn"), DataType::Float32, m_device);
    network->Validate();
    EXPECT_EQ(network->Require("y")->SampleLayout().ToString(), "4");
    SaveModel(*network, Path("again.dnn"));
    EXPECT_EQ(ReadBytes(Path("again.dnn")), ReadBytes(Path("new.dnn")));
}

// From version 11 on a Where has the name of its axis, and version 8 is written without it.
TEST_F(OldModelFiles, ReadsTheAxisNameOfWhere)
{
    ModelBytes file;
    file.Version(11).Number(uint64_t(2)).Mark("BNodeList").Mark("float").Mark("InputValue").Mark("x");
    file.Number(uint64_t(0)).Number(uint64_t(0)).Number(uint32_t(1)).Number(uint32_t(1)); // the shape [1]
    file.Number(uint32_t(1)).Mark("").Number(0.0f);
    file.Mark("float").Mark("Where").Mark("y").Mark("picked").Mark("ENodeList");
    file.Mark("BRelation").Mark("x").Number(uint64_t(0)).Mark("y").Number(uint64_t(1)).Mark("x").Mark("ERelation");
    file.Mark("BRootNodes").Mark("ELabelNodes").Mark("ERootNodes").Mark("ECN");
    WriteBytes(Path("later.dnn"), file.Text());

    SaveModel(*LoadModel(Path("later.dnn"), DataType::Float32, m_device), Path("saved.dnn"));
    const auto network = LoadModel(Path("saved.dnn"), DataType::Float32, m_device);
    EXPECT_EQ(network->Require("y")->Input(0)->Name(), "x");
}

// CNTK v1.1 reads two forms that it never writes: the older form of a shape in a newer file, and the end mark of a
// group that has no begin mark.
TEST_F(OldModelFiles, ReadsWhatTheOriginalTolerates)
{
    ModelBytes file;
    file.Version(8).Number(uint64_t(1)).Mark("BNodeList").Mark("float").Mark("InputValue").Mark("x");
    file.Number(uint64_t(0)).Number(uint64_t(0));
    file.Number(uint64_t(4)).Number(uint64_t(3)).Number(uint64_t(2)); // width, height, channels
    file.Number(uint32_t(1)).Mark("").Mark("ENodeList");
    file.Mark("BRelation").Mark("x").Number(uint64_t(0)).Mark("ERelation").Mark("BRootNodes");
    file.Mark("BFeatureNodes").Number(uint64_t(1)).Mark("x").Mark("EFeatureNodes");
    file.Mark("ELabelNodes").Mark("ERootNodes").Mark("ECN");
    WriteBytes(Path("odd.dnn"), file.Text());
    const auto network = LoadModel(Path("odd.dnn"), DataType::Float32, m_device);
    EXPECT_EQ(network->Require("x")->SampleLayout().ToString(), "2 x 4 x 3");
    EXPECT_EQ(network->Group(NodeGroup::Feature).size(), 1u);
    EXPECT_TRUE(network->Group(NodeGroup::Label).empty());
}

// Encoders and decoders of August 2015 list the nodes that the other network takes values from.
TEST_F(OldModelFiles, ReadsTheGroupOfPairNodes)
{
    const auto write = [&](const char* pairNode)
    {
        ModelBytes file;
        file.Version(2).Number(uint64_t(2)).Mark("BNodeList").OldInput("x", 1, 4, 1).Mark("PairNetwork").Mark("p");
        file.Mark("ENodeList").Mark("BRelation").Relation("x", {}).Relation("p", {"x"}).Mark("ERelation");
        file.Mark("BRootNodes").Mark("ELabelNodes").Mark("BCriteriaNodes").Number(uint64_t(0)).Mark("ECriteriaNodes");
        file.Mark("BNodesReqMultiSeqHandling").Number(uint64_t(1)).Mark("p").Mark("ENodesReqMultiSeqHandling");
        file.Mark("BOutputNodes").Number(uint64_t(1)).Mark("P").Mark("EOutputNodes");
        file.Mark("BPairNodes").Number(uint64_t(1)).Mark(pairNode).Mark("EPairNodes").Mark("ERootNodes").Mark("ECN");
        WriteBytes(Path("paired.dnn"), file.Text());
    };
    write("p");
    const auto network = LoadModel(Path("paired.dnn"), DataType::Float32, m_device);
    EXPECT_EQ(network->Group(NodeGroup::Output), std::vector{network->Require("p")});
    SaveModel(*network, Path("saved.dnn"));
    EXPECT_EQ(LoadModel(Path("saved.dnn"), DataType::Float32, m_device)->Nodes().size(), 2u);
    write("q");
    EXPECT_THAT(LoadError("paired.dnn"), testing::HasSubstr("expected the name of a node of this file, found 'q'"));
}

// Autumn 2015 wrote version 2, too, with rows of 0 in front of a shape; its Reshape is that of today.
TEST_F(OldModelFiles, ReadsTheLaterDialectOfVersionTwo)
{
    ModelBytes file;
    file.Version(2).Number(uint64_t(3)).Mark("BNodeList");
    file.Mark("LearnableParameter").Mark("b").Number(uint8_t(1)).Number(uint64_t(0)).Number(uint64_t(0));
    file.Number(uint32_t(2)).Number(uint32_t(2)).Number(uint32_t(1)); // the shape [2 x 1]
    file.Number('d').Mark("BMAT").Number(uint64_t(4)).Mark("b").Number(int32_t(0));
    file.Number(uint64_t(2)).Number(uint64_t(1)).Number(10.0f).Number(20.0f).Mark("EMAT");
    file.Mark("InputValue").Mark("x").Number(uint64_t(0)).Number(uint64_t(0)).Number(uint32_t(1)).Number(uint32_t(6));
    file.Mark("Reshape").Mark("y").Number(int32_t(0)).Number(int32_t(0)); // all dimensions, by [3 x 2]
    file.Number(uint32_t(2)).Number(uint32_t(3)).Number(uint32_t(2)).Mark("ENodeList").Mark("BRelation");
    file.Relation("b", {}).Relation("x", {}).Relation("y", {"x"}).Mark("ERelation").Mark("BRootNodes");
    file.Mark("ELabelNodes").Mark("BCriterionNodes").Number(uint64_t(0)).Mark("ECriterionNodes");
    file.Mark("ERootNodes").Mark("ECN");
    WriteBytes(Path("later.dnn"), file.Text());
    const auto network = LoadModel(Path("later.dnn"), DataType::Float32, m_device);
    EXPECT_EQ(network->Require("y")->TypeName(), "Reshape");
    EXPECT_EQ(network->Require("y")->SampleLayout().ToString(), "3 x 2");
    EXPECT_EQ(network->Require("x")->SampleLayout().ToString(), "6");
    EXPECT_EQ(dynamic_cast<LearnableParameterNode&>(*network->Require("b")).Values().ToHost(),
              (std::vector<double>{10, 20}));
}

// Before version 7 no record says its precision: the first matrix of the file tells that of a delay's start value.
TEST_F(OldModelFiles, MatricesTellThePrecisionOfStartValues)
{
    ModelBytes file;
    file.Version(2).Number(uint64_t(3)).Mark("BNodeList").OldInput("x", 1, 2, 1);
    file.Mark("PastValue").Mark("past").Number(int32_t(1)).Number(uint64_t(2)).Number(uint64_t(1)).Number(0.75);
    file.OldParameter("b", 2, 1, {10, 20}).Mark("ENodeList").Mark("BRelation");
    file.Relation("x", {}).Relation("past", {"x"}).Relation("b", {}).Mark("ERelation").Mark("BRootNodes");
    file.Mark("ELabelNodes").Mark("BCriteriaNodes").Number(uint64_t(0)).Mark("ECriteriaNodes");
    file.Mark("ERootNodes").Mark("ECN");
    WriteBytes(Path("double.dnn"), file.Text());
    for (const DataType type : {DataType::Float32, DataType::Float64})
    {
        const auto network = LoadModel(Path("double.dnn"), type, m_device);
        EXPECT_EQ(dynamic_cast<DelayNode&>(*network->Require("past")).InitialValue(), 0.75);
        EXPECT_EQ(dynamic_cast<LearnableParameterNode&>(*network->Require("b")).Values().ToHost(),
                  (std::vector<double>{10, 20}));
    }
}

// Version 7 has the precision in each record, and no axes of inputs yet.
TEST_F(OldModelFiles, ReadsVersionSeven)
{
    ModelBytes file;
    file.Version(7).Number(uint64_t(2)).Mark("BNodeList").Mark("double").Mark("InputValue").Mark("x");
    file.Number(uint64_t(0)).Number(uint64_t(0)).Number(uint32_t(1)).Number(uint32_t(3));
    file.Mark("double").Mark("PastValue").Mark("past").Number(int32_t(2));
    file.Number(uint32_t(1)).Number(uint32_t(3)).Number(-1.5).Mark("ENodeList").Mark("BRelation");
    file.Relation("x", {}).Relation("past", {"x"}).Mark("ERelation");
    file.Mark("BRootNodes").Mark("ELabelNodes").Mark("ERootNodes").Mark("ECN");
    WriteBytes(Path("seven.dnn"), file.Text());
    const auto network = LoadModel(Path("seven.dnn"), DataType::Float32, m_device);
    const auto& past = dynamic_cast<DelayNode&>(*network->Require("past"));
    EXPECT_EQ(past.InitialValue(), -1.5);
    EXPECT_EQ(past.TimeStep(), 2u);
    EXPECT_EQ(past.SampleLayout().ToString(), "3");
}

// [3 x 2] with the elements given by their place of the minor index, two stretches or three.
std::string SparseModel(int32_t format, std::initializer_list<float> values, std::initializer_list<uint64_t> indices,
                        std::initializer_list<uint64_t> starts)
{
    ModelBytes file;
    file.Version(8).Number(uint64_t(1)).Mark("BNodeList").Mark("float").Mark("LearnableParameter").Mark("W");
    file.Number(1.0f).Number(uint32_t(2)).Number(uint32_t(3)).Number(uint32_t(2));
    file.Number('s').Mark("BMAT").Number(uint64_t(4)).Mark("nnmatrix").Number(format);
    file.Number(uint64_t(values.size())).Number(uint64_t(2)).Number(uint64_t(3)); // elements, columns, rows
    for (const float value : values)
        file.Number(value);
    for (const auto& numbers : {indices, starts})
        for (const uint64_t number : numbers)
            file.Number(number);
    file.Mark("EMAT").Mark("ENodeList").Mark("BRelation").Relation("W", {}).Mark("ERelation");
    return file.Mark("BRootNodes").Mark("ERootNodes").Mark("ECN").Text();
}

// Their format says in its lowest bit whether the elements are those of rows, one after another.
TEST_F(OldModelFiles, ReadsSparseMatricesOfGpuBuilds)
{
    const auto valuesOf = [&](const std::string& model)
    {
        WriteBytes(Path("s.dnn"), model);
        const auto network = LoadModel(Path("s.dnn"), DataType::Float32, m_device);
        return dynamic_cast<LearnableParameterNode&>(*network->Require("W")).Values().ToHost();
    };
    EXPECT_EQ(valuesOf(SparseModel(6, {5, 6}, {2, 0}, {0, 1, 2})), (std::vector<double>{0, 0, 5, 6, 0, 0}));
    EXPECT_EQ(valuesOf(SparseModel(7, {5, 6, 7}, {1, 0, 1}, {0, 1, 1, 3})), (std::vector<double>{0, 0, 6, 5, 0, 7}));
    EXPECT_EQ(valuesOf(SparseModel(6, {}, {}, {})), std::vector<double>(6, 0.0));
}

TEST_F(OldModelFiles, RefusesSparseMatricesOutOfBounds)
{
    const auto errorOf = [&](const std::string& model)
    {
        WriteBytes(Path("s.dnn"), model);
        const std::string message = LoadError("s.dnn");
        return message.substr(std::min(message.find("expected"), message.size()));
    };
    EXPECT_EQ(errorOf(SparseModel(6, {5, 6}, {3, 0}, {0, 1, 2})),
              "expected an index of a sparse matrix below 3, found 3");
    EXPECT_EQ(errorOf(SparseModel(7, {5, 6}, {1, 2}, {0, 1, 2, 2})),
              "expected an index of a sparse matrix below 2, found 2");
    EXPECT_EQ(errorOf(SparseModel(6, {5, 6}, {2, 0}, {0, 1, 3})),
              "expected ascending offsets of a sparse matrix, at most 2, found 1 and 3");
    EXPECT_EQ(errorOf(SparseModel(6, {5, 6}, {2, 0}, {0, 2, 1})),
              "expected ascending offsets of a sparse matrix, at most 2, found 2 and 1");
}

// Sparse matrices become dense, so the bytes of the file alone do not bound their memory.
TEST_F(OldModelFiles, BoundsTheDenseFormOfSparseMatrices)
{
    const auto withColumns = [&](uint64_t columns)
    {
        std::string model = SparseModel(6, {}, {}, {});
        const std::string header("\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 24); // 0 elements, 3 x 2
        const size_t place = model.find(header);
        model.replace(place + 8, 8, reinterpret_cast<const char*>(&columns), 8);
        WriteBytes(Path("s.dnn"), model);
        return LoadError("s.dnn");
    };
    for (const uint64_t columns : {uint64_t(3000000), uint64_t(4294967295), uint64_t(1) << 62, UINT64_MAX})
        EXPECT_THAT(
            withColumns(columns),
            testing::HasSubstr(Concat("its dense form into 64 times the size of the file and 64 MiB), found 3 x ",
                                      columns, " with 0 elements")));
}

} // namespace
} // namespace cntk
