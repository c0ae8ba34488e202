// Selection of criterion and evaluation nodes, and their sums.
#include "Common/Error.h"
#include "SGD/Evaluation/Criteria.h"
#include "SGDTests/TrainingFixture.h"

namespace cntk
{

namespace
{

class CriteriaTest : public TrainingTest
{
protected:
    template <class Body>
    static std::string MessageOf(Body&& body)
    {
        try
        {
            body();
        }
        catch (const Error& error)
        {
            return error.Message();
        }
        return "no error";
    }
};

} // namespace

TEST_F(CriteriaTest, TheNetworksCriterionAndEvaluationsAreTaken)
{
    const auto network = Classifier();
    const TrainingNodes nodes = SelectTrainingNodes(*network, "", "");
    EXPECT_EQ(nodes.criterion->Name(), "ce");
    ASSERT_EQ(nodes.evaluations.size(), 1u);
    EXPECT_EQ(nodes.evaluations[0]->Name(), "err");
    EXPECT_EQ(nodes.Roots().back(), nodes.criterion);
}

TEST_F(CriteriaTest, NamesReplaceThem)
{
    const auto network = Classifier();
    TrainingNodes nodes = SelectTrainingNodes(*network, "ERR", "ce");
    EXPECT_EQ(nodes.criterion->Name(), "err");
    EXPECT_EQ(nodes.evaluations[0]->Name(), "ce");
    nodes = SelectTrainingNodes(*network, "err", "");
    EXPECT_TRUE(nodes.evaluations.empty()); // a criterion is no evaluation
}

TEST_F(CriteriaTest, SeveralCriteriaOfWhichOneIsTrainedAreTold)
{
    const auto network = Classifier();
    EXPECT_EQ(DescribeUntrainedCriteria(*network, ""), "");
    const auto inputs = network->Require("ce")->Inputs();
    network->AddToGroup(NodeGroup::Criterion, network->Add("SquareError", "sq", {inputs[0], inputs[1]}));
    network->AddToGroup(NodeGroup::Criterion, network->Require("err"));
    EXPECT_EQ(DescribeUntrainedCriteria(*network, ""),
              "of the network's criterion nodes only 'ce' is trained, not 'sq', 'err'; trainCriterionNodeName names "
              "another one, and a sum of several (Plus, with Scale for their weights) is one criterion");
    EXPECT_EQ(DescribeUntrainedCriteria(*network, "sq"), "") << "that was asked for";

    TrainingRequest request = ClassifierRequest(1);
    request.buildNetwork = [this]
    {
        auto several = Classifier();
        several->AddToGroup(NodeGroup::Criterion, several->Require("err"));
        return several;
    };
    Run(request);
    EXPECT_NE(LogText().find("only 'ce' is trained, not 'err'; "), std::string::npos);
}

TEST_F(CriteriaTest, LabelsThatStandSecondAreTold)
{
    const auto network = Classifier();
    const ComputationNodePtr ce = network->Require("ce");
    EXPECT_EQ(DescribeSwappedLabels(*network, *ce), "");
    const std::string labels = ce->Inputs()[0]->Name(), z = ce->Inputs()[1]->Name();
    const auto swapped = network->Add("CrossEntropyWithSoftmax", "swapped", {ce->Inputs()[1], ce->Inputs()[0]});
    EXPECT_EQ(DescribeSwappedLabels(*network, *swapped),
              "the criterion 'swapped' takes '" + z + "' for the labels and '" + labels +
                  "' for what is trained; expected CrossEntropyWithSoftmax(" + labels + ", " + z + ")");
    const auto square = network->Add("SquareError", "square", {ce->Inputs()[1], ce->Inputs()[0]});
    EXPECT_EQ(DescribeSwappedLabels(*network, *square), "");

    TrainingRequest request = ClassifierRequest(1);
    request.options.trainCriterionNodeName = "swapped";
    request.buildNetwork = [this]
    {
        auto other = Classifier();
        const auto inputs = other->Require("ce")->Inputs();
        other->Add("CrossEntropyWithSoftmax", "swapped", {inputs[1], inputs[0]});
        return other;
    };
    Run(request);
    EXPECT_NE(LogText().find("WARNING: the criterion 'swapped' takes '"), std::string::npos);
}

// The data say how many samples there are, even if nothing is computed from them.
TEST_F(CriteriaTest, ACriterionOfParametersReadsFeaturesAndLabels)
{
    const auto network = Classifier();
    const ComputationNodePtr criterion = network->Require("ce");
    EXPECT_EQ(NodesToRead(*network, {criterion}), std::vector{criterion});
    const ComputationNodePtr parameter = network->AddParameter("alone", {2, 2});
    const ComputationNodePtr norm = network->Add("MatrixL2Reg", "norm", {parameter});
    std::vector<ComputationNodePtr> expected{norm};
    for (const NodeGroup group : {NodeGroup::Feature, NodeGroup::Label})
        for (const ComputationNodePtr& node : network->Group(group))
            expected.push_back(node);
    EXPECT_GT(expected.size(), 1u);
    EXPECT_EQ(NodesToRead(*network, {norm}), expected);
    EXPECT_EQ(NodesToRead(*network, {norm, criterion}), (std::vector{norm, criterion}));
}

TEST_F(CriteriaTest, WithoutCriterionTheCandidatesAreNamed)
{
    const auto network = Classifier();
    network->RemoveFromGroup(NodeGroup::Criterion, network->Require("ce"));
    EXPECT_EQ(
        MessageOf([&] { SelectTrainingNodes(*network, "", ""); }),
        "the network has no criterion node to train; candidates: 'ce' (CrossEntropyWithSoftmax), 'err' "
        "(ErrorPrediction); tag one with tag=\"criterion\" in the network description, list it in CriterionNodes, "
        "or set trainCriterionNodeName in the SGD block");
}

TEST_F(CriteriaTest, AnUnknownNameIsAnsweredWithTheOptionAndTheCandidates)
{
    const auto network = Classifier();
    const std::string candidates = "candidates: 'ce' (CrossEntropyWithSoftmax), 'err' (ErrorPrediction)";
    EXPECT_EQ(MessageOf([&] { SelectTrainingNodes(*network, "foobar", ""); }),
              "trainCriterionNodeName names 'foobar', but there is no such node in the network; " + candidates);
    EXPECT_EQ(MessageOf([&] { SelectTrainingNodes(*network, "", "errr"); }),
              "evalCriterionNodeName names 'errr', but there is no such node in the network; did you mean 'err'?; " +
                  candidates);
    EXPECT_EQ(MessageOf(
                  [&] {
                      SelectEvaluationNodes(*network, {"ce", "foobar"});
                  }),
              "evalNodeNames names 'foobar', but there is no such node in the network; " + candidates);
    try
    {
        SelectTrainingNodes(*network, "foobar", "");
        FAIL();
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Kind(), ErrorKind::Config);
    }
}

TEST_F(CriteriaTest, NodesThatAreNoNumberAreRefused)
{
    const auto network = Classifier();
    EXPECT_EQ(
        MessageOf([&] { SelectTrainingNodes(*network, "H1", ""); }),
        "training criterion 'H1' (Sigmoid) has dimension 5 x 1 x *; criterion nodes to evaluate must have dimension "
        "1x1");
    EXPECT_EQ(MessageOf([&] { SelectEvaluationNodes(*network, {"features"}); }),
              "node 'features' (InputValue) has dimension 2 x *; criterion nodes to evaluate must have dimension 1x1");
}

TEST_F(CriteriaTest, EvaluationTakesEvaluationNodesThenCriteria)
{
    const auto network = Classifier();
    const auto all = SelectEvaluationNodes(*network, {});
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0]->Name(), "err");
    EXPECT_EQ(all[1]->Name(), "ce");
    EXPECT_EQ(SelectEvaluationNodes(*network, {"ce"}).size(), 1u);
    EXPECT_THROW(SelectEvaluationNodes(*network, {"nothing"}), Error);
}

} // namespace cntk
