// Model files: the original's own files, round trips, refusals on their full text, and damage at every byte.
#include "Common/Error.h"
#include "Common/File.h"
#include "CommonTests/TemporaryFolder.h"
#include "ComputationNetwork/BinaryStream.h"
#include "ComputationNetwork/Evaluator.h"
#include "ComputationNetwork/ForeignFiles.h"
#include "ComputationNetwork/ModelFile.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <initializer_list>
#include <unistd.h>

namespace cntk
{
namespace
{

namespace fs = std::filesystem;

class ModelFileTests : public ::testing::Test
{
protected:
    ModelFileTests()
        : m_folder(fs::temp_directory_path() / ("ModelFileTests." + std::to_string(::getpid()) + "." +
                                                ::testing::UnitTest::GetInstance()->current_test_info()->name()))
    {
        fs::create_directories(m_folder);
    }
    ~ModelFileTests() override { fs::remove_all(m_folder); }

    std::string Path(const std::string& name) const { return (m_folder / name).string(); }

    // Message of the error with the test's folder taken out.
    std::string LoadError(const std::string& name, DataType type = DataType::Float32) const
    {
        try
        {
            LoadModel(Path(name), type, m_device);
        }
        catch (const Error& error)
        {
            EXPECT_EQ(error.Kind(), ErrorKind::Model);
            std::string message = error.Message();
            const std::string folder = m_folder.string() + "/";
            for (size_t at = message.find(folder); at != std::string::npos; at = message.find(folder))
                message.erase(at, folder.size());
            return message;
        }
        return "no error";
    }

    std::unique_ptr<ComputationNetwork> SmallNetwork(DataType type) const
    {
        auto network = std::make_unique<ComputationNetwork>(type, m_device);
        const auto features = network->AddInput("features", TensorShape{3});
        const auto labels = network->AddInput("labels", TensorShape{2});
        const auto weights = network->AddParameter("W", TensorShape{2, 3});
        std::dynamic_pointer_cast<LearnableParameterNode>(weights)->InitUniform(1, 1);
        const auto product = network->Add("Times", "z", {weights, features});
        const auto criterion = network->Add("SquareError", "c", {labels, product});
        network->AddToGroup(NodeGroup::Feature, features);
        network->AddToGroup(NodeGroup::Label, labels);
        network->AddToGroup(NodeGroup::Criterion, criterion);
        network->AddToGroup(NodeGroup::Output, product);
        network->Validate();
        return network;
    }
    std::string SmallFile(DataType type) const
    {
        SaveModel(*SmallNetwork(type), Path("small.dnn"));
        return ReadBytes(Path("small.dnn"));
    }

    std::shared_ptr<Device> m_device = MakeCpuDevice();
    fs::path m_folder;
};

// Writes sections of a model by hand.
class Bytes
{
public:
    Bytes& Mark(std::string_view text)
    {
        const std::u16string wide = ToWide(text);
        return Append(wide.c_str(), 2 * (wide.size() + 1));
    }
    template <class T>
    Bytes& Number(T value)
    {
        return Append(&value, sizeof(value));
    }
    Bytes& Version(uint64_t version) { return Mark("BCN").Mark("BVersion").Number(version).Mark("EVersion"); }
    // Records of August 2015, in double precision.
    Bytes& OldParameter(const char* name, uint64_t rows, uint64_t columns, std::initializer_list<double> values)
    {
        Mark("LearnableParameter").Mark(name).Number(uint8_t(1)).Number(rows).Number(columns);
        Number('d').Mark("BMAT").Number(uint64_t(8)).Mark(name).Number(int32_t(0)).Number(rows).Number(columns);
        for (const double value : values)
            Number(value);
        return Mark("EMAT");
    }
    Bytes& OldInput(const char* name, uint64_t width, uint64_t height, uint64_t channels)
    {
        Mark("InputValue").Mark(name).Number(width * height * channels).Number(uint64_t(3));
        return Number(width).Number(height).Number(channels);
    }
    Bytes& Relation(const char* name, std::initializer_list<const char*> inputs)
    {
        Mark(name).Number(uint64_t(inputs.size()));
        for (const char* input : inputs)
            Mark(input);
        return *this;
    }
    const std::string& Text() const { return m_bytes; }

private:
    Bytes& Append(const void* data, size_t size)
    {
        m_bytes.append(static_cast<const char*>(data), size);
        return *this;
    }
    std::string m_bytes;
};

TEST_F(ModelFileTests, SavesAndLoadsTheSameNetwork)
{
    const auto network = SmallNetwork(DataType::Float64);
    SaveModel(*network, Path("a.dnn"));
    const auto loaded = LoadModel(Path("a.dnn"), DataType::Float64, m_device);
    ASSERT_EQ(loaded->size(), network->size());
    const auto values = [](const ComputationNetwork& net)
    { return std::dynamic_pointer_cast<LearnableParameterNode>(net.Require("w"))->Values().ToHost(); };
    EXPECT_EQ(values(*loaded), values(*network));
    EXPECT_EQ(loaded->Require("z")->Input(1), loaded->Require("features"));
    ASSERT_EQ(loaded->Group(NodeGroup::Criterion).size(), 1u);
    EXPECT_EQ(loaded->Group(NodeGroup::Criterion)[0]->Name(), "c");
    SaveModel(*loaded, Path("b.dnn"));
    EXPECT_EQ(ReadBytes(Path("a.dnn")), ReadBytes(Path("b.dnn")));
}

TEST_F(ModelFileTests, ConvertsBetweenPrecisions)
{
    SmallFile(DataType::Float64);
    const auto asDouble = LoadModel(Path("small.dnn"), DataType::Float64, m_device);
    const auto asFloat = LoadModel(Path("small.dnn"), DataType::Float32, m_device);
    const auto values = [](const ComputationNetwork& net)
    { return std::dynamic_pointer_cast<LearnableParameterNode>(net.Require("W"))->Values().ToHost(); };
    const std::vector<double> wide = values(*asDouble);
    const std::vector<double> narrow = values(*asFloat);
    ASSERT_EQ(wide.size(), narrow.size());
    for (size_t i = 0; i < wide.size(); i++)
        EXPECT_EQ(narrow[i], double(float(wide[i])));
}

// Values pass in slices of 262,144; the last one is not full.
TEST_F(ModelFileTests, LargeMatricesKeepEveryValue)
{
    for (const DataType saved : {DataType::Float32, DataType::Float64})
    {
        ComputationNetwork network(saved, m_device);
        const auto weights =
            std::dynamic_pointer_cast<LearnableParameterNode>(network.AddParameter("W", TensorShape{600, 1001}));
        weights->InitUniform(1, 1);
        network.Validate();
        SaveModel(network, Path("large.dnn"));
        for (const DataType loadedAs : {DataType::Float32, DataType::Float64})
        {
            std::vector<double> expected = weights->Values().ToHost();
            if (loadedAs == DataType::Float32)
                std::transform(expected.begin(), expected.end(), expected.begin(),
                               [](double value) { return double(float(value)); });
            const auto loaded = LoadModel(Path("large.dnn"), loadedAs, m_device);
            EXPECT_TRUE(std::dynamic_pointer_cast<LearnableParameterNode>(loaded->Require("W"))->Values().ToHost() ==
                        expected);
        }
    }
}

TEST_F(ModelFileTests, ReloadsParametersByName)
{
    SmallFile(DataType::Float32);
    const auto network = SmallNetwork(DataType::Float32);
    const auto weights = std::dynamic_pointer_cast<LearnableParameterNode>(network->Require("W"));
    const std::vector<double> before = weights->Values().ToHost();
    const void* memory = weights->Values().View().data;
    weights->InitFixed(7);
    ReloadParameters(*network, Path("small.dnn"));
    EXPECT_EQ(weights->Values().ToHost(), before);
    EXPECT_EQ(weights->Values().View().data, memory);
}

TEST_F(ModelFileTests, RefusesToReloadOtherSizes)
{
    SmallFile(DataType::Float32);
    ComputationNetwork network(DataType::Float32, m_device);
    network.AddParameter("w", TensorShape{4, 4});
    try
    {
        ReloadParameters(network, Path("small.dnn"));
        FAIL();
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Message(),
                  "parameter 'w' is 2 x 3 in the model file '" + Path("small.dnn") + "', but 4 x 4 in the network");
    }
}

// ---- refusals ----

TEST_F(ModelFileTests, SaysThatThereIsNoSuchFile)
{
    WriteBytes(Path("small.dnn"), "");
    EXPECT_EQ(LoadError("smal.dnn"),
              "model file 'smal.dnn' does not exist; did you mean 'small.dnn' in folder '" + m_folder.string() + "'?");
    EXPECT_EQ(LoadError("gone/x.dnn"), "model file 'gone/x.dnn' does not exist; folder 'gone' does not exist");
}

TEST_F(ModelFileTests, RefusesWhatIsNoRegularFile)
{
    fs::create_directories(Path("folder"));
    EXPECT_EQ(LoadError("folder"), "model file 'folder' is no regular file but a folder");
    fs::create_symlink("/dev/zero", Path("endless"));
    EXPECT_EQ(LoadError("endless"), "model file 'endless' is no regular file");
}

TEST_F(ModelFileTests, SaysThatACheckpointIsNoModel)
{
    WriteBytes(Path("m.dnn"), "x");
    WriteBytes(Path("m.dnn.ckp"), Bytes().Mark("BVersion").Number(uint64_t(2)).Mark("EVersion").Mark("BCKP").Text());
    EXPECT_EQ(LoadError("m.dnn.ckp"),
              "'m.dnn.ckp' is a training checkpoint (version 2), which holds the learner's state "
              "and no network; give the model file 'm.dnn'");
    WriteBytes(Path("old.ckp"), Bytes().Mark("BCKP").Text());
    EXPECT_EQ(LoadError("old.ckp"),
              "'old.ckp' is a training checkpoint (version 1), which holds the learner's state and "
              "no network; give the model file 'old' (which does not exist here)");
}

TEST_F(ModelFileTests, SaysThatAModelIsNewer)
{
    WriteBytes(Path("new.dnn"), Bytes().Version(18).Number(uint64_t(1)).Text());
    EXPECT_EQ(LoadError("new.dnn"),
              "'new.dnn' is a model of version 18, written by a later program; expected version 1 "
              "to 14; give a model saved by an earlier program");
    WriteBytes(Path("zero.dnn"), Bytes().Version(0).Number(uint64_t(1)).Text());
    EXPECT_EQ(LoadError("zero.dnn"),
              "model file 'zero.dnn' is damaged at byte 26: expected a version (1 to 14), found 0");
}

TEST_F(ModelFileTests, SaysWhatAForeignFileIs)
{
    WriteBytes(Path("empty"), "");
    EXPECT_EQ(LoadError("empty"), "'empty' is empty; expected a model file");
    WriteBytes(Path("exp.cntk"), "\n# my experiment\ncommand=Train\n");
    EXPECT_EQ(LoadError("exp.cntk"), "'exp.cntk' is a text file that begins with '# my experiment'; expected a model "
                                     "file, as the actions train and edit write them");
    WriteBytes(Path("a.dbn"), std::string("DBN\nsome comment\0BDBN", 21));
    EXPECT_EQ(LoadError("a.dbn"), "'a.dbn' is a DBN file, not a model; convert it with action=convertdbn and give the "
                                  "model made from it");
    WriteBytes(Path("a.gz"), "\x1f\x8b\x08");
    EXPECT_EQ(LoadError("a.gz"), "'a.gz' is a gzip-compressed file; unpack it and give the model inside");
    WriteBytes(Path("a.bin"), std::string("\x7f"
                                          "ELF\x02\x01\x01\x00\x00\x00",
                                          10));
    EXPECT_EQ(LoadError("a.bin"),
              "'a.bin' is no model file: expected the mark 'BCN' at byte 0, found the bytes 7f 45 4c 46 02 01 01 00");
    WriteBytes(Path("v2.dnn"), std::string("\x08\x01\x12\x11\x0a\x07version\x12\x06\x08\x01", 17));
    EXPECT_EQ(LoadError("v2.dnn"),
              "'v2.dnn' is a CNTK 2 model (protobuf); expected a model of format version 1 to 14, as "
              "CNTK 1 saved them");
}

TEST_F(ModelFileTests, NamesAnUnknownNodeType)
{
    WriteBytes(Path("a.dnn"),
               Bytes().Version(8).Number(uint64_t(1)).Mark("BNodeList").Mark("float").Mark("Sigmoyd").Mark("h").Text());
    EXPECT_EQ(LoadError("a.dnn"), "unknown node type 'Sigmoyd'; did you mean 'Sigmoid'?");
    try
    {
        LoadModel(Path("a.dnn"), DataType::Float32, m_device);
    }
    catch (const Error& error)
    {
        ASSERT_EQ(error.Notes().size(), 1u);
        EXPECT_EQ(error.Notes()[0], "in the record of node 'h' (Sigmoyd) of model file '" + Path("a.dnn") + "'");
    }
}

TEST_F(ModelFileTests, NamesByteAndExpectationOfDamage)
{
    const std::string whole = SmallFile(DataType::Float32);
    std::string bytes = whole;
    const std::string mark = Bytes().Mark("EMAT").Text();
    const size_t at = bytes.find(mark);
    ASSERT_NE(at, std::string::npos);
    bytes[at + 6] = 'X';
    WriteBytes(Path("bad.dnn"), bytes);
    EXPECT_EQ(LoadError("bad.dnn"), "model file 'bad.dnn' is damaged at byte " + std::to_string(at) +
                                        ": expected the mark 'EMAT', found 'EMAX'");
    WriteBytes(Path("short.dnn"), std::string_view(whole).substr(0, at - 3));
    EXPECT_EQ(LoadError("short.dnn"), "model file 'short.dnn' is damaged at byte " + std::to_string(at - 40) +
                                          ": expected the size of a matrix (its values must fit into the 21 bytes "
                                          "left), found 2 x 3");
    WriteBytes(Path("cut.dnn"), std::string_view(whole).substr(0, whole.size() - 4));
    EXPECT_EQ(LoadError("cut.dnn"), "model file 'cut.dnn' is damaged at byte " + std::to_string(whole.size() - 8) +
                                        ": expected the mark 'ECN', found the bytes 45 00 43 00");
}

TEST_F(ModelFileTests, RefusesCountsThatTheFileCannotHold)
{
    WriteBytes(Path("a.dnn"), Bytes().Version(8).Number(~uint64_t(0)).Mark("BNodeList").Text());
    EXPECT_EQ(LoadError("a.dnn"),
              "model file 'a.dnn' is damaged at byte 52: expected the number of nodes (at most 5 fit "
              "into the 20 bytes left), found 18446744073709551615");
}

TEST_F(ModelFileTests, EveryPrefixIsAnError)
{
    const std::string whole = SmallFile(DataType::Float32);
    for (size_t size = 0; size < whole.size(); size++)
    {
        WriteBytes(Path("prefix.dnn"), std::string_view(whole).substr(0, size));
        ASSERT_THROW(LoadModel(Path("prefix.dnn"), DataType::Float32, m_device), Error) << size << " bytes";
    }
}

// Not every changed byte is noticed (values may be anything), but none may crash or allocate without measure.
TEST_F(ModelFileTests, SurvivesEveryDamagedByte)
{
    const std::string whole = SmallFile(DataType::Float32);
    size_t errors = 0;
    for (size_t at = 0; at < whole.size(); at++)
    {
        std::string bytes = whole;
        bytes[at] = char(uint8_t(bytes[at]) ^ (at % 2 == 0 ? 0x01u : 0x80u));
        WriteBytes(Path("bad.dnn"), bytes);
        try
        {
            LoadModel(Path("bad.dnn"), DataType::Float32, m_device);
        }
        catch (const Error&)
        {
            errors++;
        }
    }
    EXPECT_GT(errors, whole.size() / 4);
}

TEST_F(ModelFileTests, LeavesTheOldFileWhenSavingFails)
{
    const std::string before = SmallFile(DataType::Float32);
    auto network = SmallNetwork(DataType::Float32);
    network->Delete(network->Require("W"));
    try
    {
        SaveModel(*network, Path("small.dnn"));
        FAIL();
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Message(), "cannot save the network to '" + Path("small.dnn") +
                                       "': node 'z' (Times) lacks an input, and such a file could not be read");
    }
    EXPECT_EQ(ReadBytes(Path("small.dnn")), before);
    EXPECT_FALSE(FileExists(Path("small.dnn.tmp")));
}

// ---- old versions ----

TEST_F(ModelFileTests, ReadsTheOldDialect)
{
    Bytes file;
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
TEST_F(ModelFileTests, InputsOfTheOldDialectAreImagesForWindowsOnly)
{
    Bytes file;
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

// Files of August 2015: rows of a slice in 64 bits, no axes, and a Reshape that is LegacyReshape today.
TEST_F(ModelFileTests, ReadsShapeNodesOfTheOldDialect)
{
    Bytes file;
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
TEST_F(ModelFileTests, ReadsTheOldDialectWithTheMarksOfToday)
{
    Bytes file;
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
TEST_F(ModelFileTests, ReshapeWithoutImageOfTheOldDialectIsReadableWhenSavedAgain)
{
    Bytes file;
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
TEST_F(ModelFileTests, ReadsTheAxisNameOfWhere)
{
    Bytes file;
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

// What the original reads without ever writing it: the older form of a shape in a newer file, the end of a group that
// is not there.
TEST_F(ModelFileTests, ReadsWhatTheOriginalTolerates)
{
    Bytes file;
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

TEST_F(ModelFileTests, ReadsSparseMatricesOfGpuBuilds)
{
    Bytes file;
    file.Version(8).Number(uint64_t(1)).Mark("BNodeList").Mark("float").Mark("LearnableParameter").Mark("W");
    file.Number(1.0f).Number(uint32_t(2)).Number(uint32_t(3)).Number(uint32_t(2));
    file.Number('s').Mark("BMAT").Number(uint64_t(4)).Mark("nnmatrix").Number(int32_t(6));
    file.Number(uint64_t(2)).Number(uint64_t(2)).Number(uint64_t(3)); // elements, columns, rows
    file.Number(5.0f).Number(6.0f).Number(uint64_t(2)).Number(uint64_t(0));
    file.Number(uint64_t(0)).Number(uint64_t(1)).Number(uint64_t(2)).Mark("EMAT").Mark("ENodeList");
    file.Mark("BRelation").Mark("W").Number(uint64_t(0)).Mark("ERelation").Mark("BRootNodes").Mark("ERootNodes");
    WriteBytes(Path("s.dnn"), Bytes(file).Mark("ECN").Text());
    const auto network = LoadModel(Path("s.dnn"), DataType::Float32, m_device);
    EXPECT_EQ(std::dynamic_pointer_cast<LearnableParameterNode>(network->Require("W"))->Values().ToHost(),
              (std::vector<double>{0, 0, 5, 6, 0, 0}));
}

// ---- the original's own files ----

class SharedModels : public ModelFileTests
{
protected:
    void SetUp() override
    {
        const char* shared = std::getenv("CNTK_TEST_SHARED");
        if (shared == nullptr || !fs::exists(fs::path(shared) / "golden"))
            GTEST_SKIP() << "CNTK_TEST_SHARED names no folder with the original's files";
        m_shared = shared;
    }

    std::vector<std::string> Models() const
    {
        std::vector<std::string> paths;
        for (const auto& entry : fs::recursive_directory_iterator(m_shared / "golden"))
            if (entry.path().extension() == ".dnn")
                paths.push_back(entry.path().string());
        for (const auto& entry : fs::directory_iterator(m_shared / "data" / "models"))
            if (entry.path().extension() == ".dnn" || entry.path().extension() == ".cmf")
                paths.push_back(entry.path().string());
        std::sort(paths.begin(), paths.end());
        return paths;
    }

    fs::path m_shared;
};

TEST_F(SharedModels, LoadAndSaveAgainToTheSameBytes)
{
    size_t same = 0, loaded = 0, unknown = 0;
    for (const std::string& path : Models())
    {
        SCOPED_TRACE(path);
        std::unique_ptr<ComputationNetwork> network;
        try
        {
            network = LoadModel(path, DataType::Float32, m_device);
        }
        catch (const Error& error)
        {
            const bool isMissingType = error.Message().starts_with("unknown node type");
            const bool isLater = error.Message().find("by a later program") != std::string::npos ||
                                 error.Message().find("CNTK 2") != std::string::npos;
            EXPECT_TRUE(isMissingType || isLater) << error.Report();
            unknown++;
            continue;
        }
        loaded++;
        const std::string original = ReadBytes(path);
        if (original.substr(26, 1) != "\x08") // another version
            continue;
        // In the file's own precision.
        SaveModel(*network, Path("float.dnn"));
        SaveModel(*LoadModel(path, DataType::Float64, m_device), Path("double.dnn"));
        EXPECT_TRUE(ReadBytes(Path("float.dnn")) == original || ReadBytes(Path("double.dnn")) == original);
        same++;
    }
    EXPECT_GE(same, 50u);
    RecordProperty("loaded", int(loaded));
    RecordProperty("identical", int(same));
    RecordProperty("refused", int(unknown));
    std::printf("%zu loaded, %zu of them identical when saved again, %zu refused\n", loaded, same, unknown);
}

} // namespace
} // namespace cntk
