// Model files: the original's own files, round trips, refusals on their full text, and damage at every byte.
#include "Common/Error.h"
#include "Common/File.h"
#include "CommonTests/ThrownErrors.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/BatchNormalizationNode.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"
#include "ComputationNetworkTests/Files/ModelFileFixture.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

namespace fs = std::filesystem;

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

// Training also sets precomputed statistics, and the number of minibatches behind running statistics.
TEST_F(ModelFileTests, ReloadsStatisticsByName)
{
    const auto network = std::make_unique<ComputationNetwork>(DataType::Float32, m_device);
    const auto x = network->AddInput("x", TensorShape{2});
    const auto mean = std::dynamic_pointer_cast<PrecomputeNode>(network->Add("Mean", "mean", {x}));
    std::vector<ComputationNodePtr> inputs = {x};
    for (const char* name : {"scale", "bias", "runMean", "runInvStdDev"})
    {
        inputs.push_back(network->AddParameter(name, TensorShape{2, 1}));
        dynamic_cast<LearnableParameterNode&>(*inputs.back()).SetLearningRateMultiplier(0);
    }
    const auto normalization =
        std::dynamic_pointer_cast<BatchNormalizationNode>(network->Add("BatchNormalization", "y", inputs));
    network->Validate();
    mean->SetComputed(std::vector<double>{3, 4});
    normalization->SetMinibatches(17);
    SaveModel(*network, Path("trained.dnn"));
    mean->SetComputed(std::vector<double>{5, 6});
    normalization->SetMinibatches(99);
    ReloadParameters(*network, Path("trained.dnn"));
    EXPECT_EQ(mean->Values().ToHost(), (std::vector<double>{3, 4}));
    EXPECT_EQ(normalization->Minibatches(), 17u);
}

TEST_F(ModelFileTests, RefusesToReloadOtherSizes)
{
    SmallFile(DataType::Float32);
    for (const auto& [shape, text] : {std::pair(TensorShape{4, 4}, "4 x 4"), {TensorShape{2, 4}, "2 x 4"}})
    {
        ComputationNetwork network(DataType::Float32, m_device);
        network.AddParameter("w", shape);
        EXPECT_EQ(Testing::MessageOf([&] { ReloadParameters(network, Path("small.dnn")); }),
                  "parameter 'w' is 2 x 3 in the model file '" + Path("small.dnn") + "', but " + text +
                      " in the network");
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
    WriteBytes(Path("m.dnn.ckp"),
               ModelBytes().Mark("BVersion").Number(uint64_t(2)).Mark("EVersion").Mark("BCKP").Text());
    EXPECT_EQ(LoadError("m.dnn.ckp"),
              "'m.dnn.ckp' is a training checkpoint (version 2), which holds the learner's state "
              "and no network; give the model file 'm.dnn'");
    WriteBytes(Path("old.ckp"), ModelBytes().Mark("BCKP").Text());
    EXPECT_EQ(LoadError("old.ckp"),
              "'old.ckp' is a training checkpoint (version 1), which holds the learner's state and "
              "no network; give the model file 'old' (which does not exist here)");
}

TEST_F(ModelFileTests, SaysThatAModelIsNewer)
{
    WriteBytes(Path("new.dnn"), ModelBytes().Version(15).Number(uint64_t(1)).Text());
    EXPECT_EQ(LoadError("new.dnn"),
              "'new.dnn' is a model of version 15, written by a later program; expected version 1 "
              "to 14; give a model saved by an earlier program");
    WriteBytes(Path("zero.dnn"), ModelBytes().Version(0).Number(uint64_t(1)).Text());
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
    WriteBytes(
        Path("a.dnn"),
        ModelBytes().Version(8).Number(uint64_t(1)).Mark("BNodeList").Mark("float").Mark("Sigmoyd").Mark("h").Text());
    EXPECT_EQ(LoadError("a.dnn"), "unknown node type 'Sigmoyd'; did you mean 'Sigmoid'?");
    try
    {
        LoadModel(Path("a.dnn"), DataType::Float32, m_device);
        FAIL() << "no error";
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
    const std::string mark = ModelBytes().Mark("EMAT").Text();
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
    WriteBytes(Path("a.dnn"), ModelBytes().Version(8).Number(~uint64_t(0)).Mark("BNodeList").Text());
    EXPECT_EQ(LoadError("a.dnn"),
              "model file 'a.dnn' is damaged at byte 52: expected the number of nodes (at most 5 fit "
              "into the 20 bytes left), found 18446744073709551615");
}

TEST_F(ModelFileTests, RefusesANodeWhoseInputsAreNotListed)
{
    std::string bytes = SmallFile(DataType::Float32);
    const std::string inputsOfZ = ModelBytes().Mark("z").Number(uint64_t(2)).Text();
    const size_t at = bytes.find(inputsOfZ);
    ASSERT_NE(at, std::string::npos);
    bytes[at] = 'c'; // which the file lists again
    WriteBytes(Path("a.dnn"), bytes);
    EXPECT_EQ(LoadError("a.dnn"), "node 'z' (Times) has no inputs; it needs at least 2");
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
    EXPECT_EQ(MessageOf(ErrorKind::Model, [&] { SaveModel(*network, Path("small.dnn")); }),
              "cannot save the network to '" + Path("small.dnn") +
                  "': node 'z' (Times) lacks an input, and such a file could not be read");
    EXPECT_EQ(ReadBytes(Path("small.dnn")), before);
    EXPECT_FALSE(FileExists(Path("small.dnn.tmp")));
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
