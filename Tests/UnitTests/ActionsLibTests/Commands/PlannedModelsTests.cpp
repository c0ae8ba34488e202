// The models that a run will have written, for the checks of its later commands.
#include "ActionsLib/Commands/PlannedModels.h"
#include "Common/File.h"
#include "CommonTests/TemporaryFolder.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <filesystem>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

class PlannedModelsTests : public testing::Test
{
protected:
    PlannedModelsTests() { m_folder.Enter(); }

    static std::unique_ptr<ComputationNetwork> Network(const std::string& name)
    {
        auto network = std::make_unique<ComputationNetwork>(DataType::Float64, MakeCpuDevice({.threads = 1}));
        network->AddParameter(name, TensorShape{2, 3});
        return network;
    }
    // The name of the only node of the model planned; "-": none is, "?": it is not known.
    std::string NodeOf(const std::string& path) const
    {
        const PlannedModel* const model = m_planned.Find(path);
        if (model == nullptr)
            return "-";
        if (!model->IsKnown())
            return "?";
        return model->Load(path, DataType::Float32, MakeCpuDevice({.threads = 1}))->Nodes().at(0)->Name();
    }

    TemporaryFolder m_folder;
    PlannedModels m_planned;
};

TEST_F(PlannedModelsTests, TheLastToBeWrittenIsFoundByAnySpelling)
{
    m_planned.BeginCommand("First");
    m_planned.Save("folder/m.dnn", *Network("a"));
    m_planned.BeginCommand("Second");
    m_planned.Save("./folder/../folder/m.dnn", *Network("b"));
    EXPECT_EQ(NodeOf(std::filesystem::current_path() / "folder/m.dnn"), "b");
    EXPECT_EQ(m_planned.Find("folder/m.dnn")->command, "Second");
    m_planned.SaveUnknown("folder/m.dnn");
    EXPECT_EQ(NodeOf("folder/m.dnn"), "?");
    EXPECT_EQ(m_planned.Find("folder/m.dnn")->WhyUnknown("m.dnn"),
              "model 'm.dnn' is not known before command 'Second' has run");
    EXPECT_EQ(NodeOf("m.dnn"), "-");
    EXPECT_FALSE(FileExists("folder/m.dnn"));
}

TEST_F(PlannedModelsTests, ValuesThatAreTrainedAreNotKept)
{
    ComputationNetwork network(DataType::Float64, MakeCpuDevice({.threads = 1}));
    const auto add = [&network](const std::string& name, const TensorShape& shape, float multiplier)
    {
        const ComputationNodePtr node = network.AddParameter(name, shape);
        auto& parameter = dynamic_cast<LearnableParameterNode&>(*node);
        parameter.Values().FromHost(std::vector<double>(shape.Elements(), 0.5));
        parameter.SetLearningRateMultiplier(multiplier);
    };
    add("constant", TensorShape{2, 1}, 0);
    add("trained", TensorShape{300, 200}, 1);
    m_planned.Save("m.dnn", network);
    EXPECT_LT(m_planned.Find("m.dnn")->outline->size(), 1000u);
    const auto loaded = m_planned.Find("m.dnn")->Load("m.dnn", DataType::Float64, MakeCpuDevice({.threads = 1}));
    const auto valuesOf = [&loaded](const std::string& name)
    { return std::dynamic_pointer_cast<LearnableParameterNode>(loaded->Require(name))->Values().ToHost(); };
    EXPECT_EQ(valuesOf("constant"), std::vector<double>(2, 0.5));
    EXPECT_EQ(valuesOf("trained"), std::vector<double>(300 * 200, 0.0));
    EXPECT_EQ(loaded->Require("trained")->SampleLayout(), (TensorShape{300, 200}));
}

TEST_F(PlannedModelsTests, ATrainingWritesTheModelsOfItsEpochs)
{
    m_planned.SaveTrained(TrainingFiles("m.dnn", 1000000000), 0, Network("a").get());
    EXPECT_EQ(NodeOf("m.dnn"), "a");
    EXPECT_EQ(NodeOf("m.dnn.0"), "a");
    EXPECT_EQ(NodeOf("m.dnn.999999999"), "a");
    EXPECT_EQ(NodeOf("m.dnn.1000000000"), "-");
    EXPECT_EQ(NodeOf("m.dnn.x"), "-");
    m_planned.SaveTrained(TrainingFiles("n.dnn", 3), 2, nullptr);
    EXPECT_EQ(NodeOf("n.dnn.1"), "-");
    EXPECT_EQ(NodeOf("n.dnn.2"), "?");
    EXPECT_EQ(NodeOf("n.dnn"), "?");
}

TEST_F(PlannedModelsTests, ATrainingBeginsWithTheNewestModel)
{
    const TrainingFiles files("m.dnn", 3);
    EXPECT_EQ(m_planned.FindResumePoint(files), std::nullopt);
    const auto write = [](const std::string& path) { SaveModel(*Network("a"), path); };
    write("m.dnn.0");
    EXPECT_EQ(m_planned.FindResumePoint(files), 0u);
    write("m.dnn.1");
    EXPECT_EQ(m_planned.FindResumePoint(files), 1u);
    // An edit writes the first model anew: the one behind it will be older.
    m_planned.Save("m.dnn.0", *Network("b"));
    EXPECT_EQ(m_planned.FindResumePoint(files), 0u);
    write("m.dnn");
    EXPECT_EQ(m_planned.FindResumePoint(files), 3u); // nothing is left to train
    std::filesystem::remove("m.dnn");
    m_planned.Save("m.dnn.2", *Network("b"));
    EXPECT_EQ(m_planned.FindResumePoint(files), 2u);
    EXPECT_EQ(m_planned.FindResumePoint(TrainingFiles("m.dnn", 1)), 0u);
    m_planned.SaveTrained(files, 0, Network("c").get());
    EXPECT_EQ(m_planned.FindResumePoint(files), 3u);
    EXPECT_EQ(NodeOf("m.dnn.2"), "c");
    EXPECT_EQ(m_planned.FindResumePoint(TrainingFiles("m.dnn", 5)), 5u); // its final model has no number
}

} // namespace
} // namespace cntk
