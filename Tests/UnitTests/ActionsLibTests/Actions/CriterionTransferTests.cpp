// A model gets the criterion of another network: what of the old one stays, and which nodes are the same ones.
#include "ActionsLib/Actions/CriterionTransfer.h"
#include "ComputationNetwork/ComputationNetwork.h"

#include <gtest/gtest.h>
#include <memory>

namespace cntk
{

namespace
{

using Names = std::vector<std::string>;

// features, labels, z = W * features, and a criterion on z.
struct Model
{
    explicit Model(const char* criterionName, const char* criterionType = "SquareError")
        : network(DataType::Float64, MakeCpuDevice({.threads = 1}))
    {
        features = network.AddInput("features", {2});
        labels = network.AddInput("labels", {2});
        z = network.Add("Times", "z", {network.AddParameter("W", {2, 2}), features});
        criterion = network.Add(criterionType, criterionName, {labels, z});
        network.AddToGroup(NodeGroup::Feature, features);
        network.AddToGroup(NodeGroup::Label, labels);
        network.AddToGroup(NodeGroup::Criterion, criterion);
    }
    Names In(NodeGroup group) const
    {
        Names names;
        for (const ComputationNodePtr& node : network.Group(group))
            names.push_back(node->Name());
        return names;
    }

    ComputationNetwork network;
    ComputationNodePtr features, labels, z, criterion;
};

} // namespace

TEST(CriterionTransferTest, TheOldCriterionGoes)
{
    Model model("old"), described("new", "CrossEntropyWithSoftmax");
    EXPECT_EQ(TakeCriterion(model.network, described.network), Names());
    EXPECT_EQ(model.In(NodeGroup::Criterion), Names{"new"});
    EXPECT_EQ(model.network.Find("old"), nullptr);
    model.network.Validate();
}

// It is a node for evaluation as well, or an input of one.
TEST(CriterionTransferTest, AnOldCriterionThatIsUsedStays)
{
    for (const bool isInput : {false, true})
    {
        Model model("old"), described("new");
        const ComputationNodePtr evaluation =
            isInput ? model.network.Add("Log", "logarithm", {model.criterion}) : model.criterion;
        model.network.AddToGroup(NodeGroup::Evaluation, evaluation);
        TakeCriterion(model.network, described.network);
        EXPECT_EQ(model.In(NodeGroup::Criterion), Names{"new"});
        EXPECT_EQ(model.In(NodeGroup::Evaluation), Names{isInput ? "logarithm" : "old"});
        EXPECT_EQ(model.network.Find("old"), model.criterion);
        model.network.Validate();
    }
}

// The first criterion is the one that is trained.
TEST(CriterionTransferTest, TheNewCriterionComesBeforeTheModelsOtherOnes)
{
    Model model("first"), described("new");
    for (const char* name : {"second", "third"})
        model.network.AddToGroup(NodeGroup::Criterion, model.network.Add("SquareError", name, {model.labels, model.z}));
    TakeCriterion(model.network, described.network);
    EXPECT_EQ(model.In(NodeGroup::Criterion), (Names{"new", "second", "third"}));
}

// Nodes without names of their own: a loop that is the same one but for the last node that is looked at.
TEST(CriterionTransferTest, ALoopOfNodesWithoutNamesIsTakenAsAWhole)
{
    for (const bool isSame : {true, false})
    {
        Model model("old"), described("new");
        for (Model* of : {&model, &described})
        {
            ComputationNetwork& network = of->network;
            const auto past = network.AddUnconnected("PastValue", "AutoName2");
            const auto other = network.Add(isSame || of == &model ? "Tanh" : "Sigmoid", "AutoName3", {of->z});
            const auto sum = network.Add("Plus", "AutoName1", {past, other});
            network.SetInputs(past, {sum});
            network.SetInputs(of->criterion, {of->labels, sum});
        }
        const Names copied = TakeCriterion(model.network, described.network);
        model.network.Validate();
        const ComputationNodePtr criterion = model.network.Require("new");
        if (isSame)
        {
            EXPECT_EQ(copied, Names());
            EXPECT_EQ(criterion->Input(1), model.network.Require("AutoName1"));
            continue;
        }
        EXPECT_EQ(copied, (Names{"new.AutoName1", "new.AutoName2", "new.AutoName3"}));
        const ComputationNodePtr sum = model.network.Require("new.AutoName1");
        EXPECT_EQ(criterion->Input(1), sum);
        EXPECT_EQ(sum->Input(0), model.network.Require("new.AutoName2"));
        EXPECT_EQ(sum->Input(0)->Input(0), sum);
        EXPECT_EQ(sum->Input(1)->TypeName(), "Sigmoid");
        EXPECT_EQ(sum->Input(1)->Input(0), model.z);
    }
}

} // namespace cntk
