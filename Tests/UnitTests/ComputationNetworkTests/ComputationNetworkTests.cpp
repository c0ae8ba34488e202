// The graph: names, editing, groups, shape inference and the messages of each mistake.
#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk::Testing
{
namespace
{

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> NamesOf(const std::vector<ComputationNodePtr>& nodes)
{
    std::vector<std::string> names;
    for (const ComputationNodePtr& node : nodes)
        names.push_back(node->Name());
    return names;
}

// h = Sigmoid(W x + b), ce = criterion of it
struct SmallNetwork : TestNetwork
{
    SmallNetwork()
    {
        x = Input("x", {3});
        w = Parameter("W", {2, 3});
        b = Parameter("B", {2, 1});
        product = Add("Times", "W*x", {w, x});
        sum = Add("Plus", "z", {product, b});
        h = Add("Sigmoid", "h", {sum});
        criterion = Add("TestCriterion", "ce", {h});
    }
    ComputationNodePtr x, w, b, product, sum, h, criterion;
};

TEST(ComputationNetwork, FindsNodesInAnyCaseAndListsThemByName)
{
    SmallNetwork net;
    EXPECT_EQ(net.network.Find("w*X"), net.product);
    EXPECT_EQ(net.network.Find("nothing"), nullptr);
    EXPECT_THAT(NamesOf(net.network.Nodes()), ElementsAre("B", "ce", "h", "W", "W*x", "x", "z"));
}

TEST(ComputationNetwork, RequireNamesWhatIsNear)
{
    TestNetwork net;
    net.Input("features", {3});
    net.Input("labels", {2});
    EXPECT_EQ(MessageOf([&] { net.network.Require("feature"); }),
              "there is no node 'feature' in the network; did you mean 'features'?");
}

TEST(ComputationNetwork, NamesUnnamedNodes)
{
    TestNetwork net;
    auto x = net.Input("x", {3});
    EXPECT_EQ(net.Add("Sigmoid", "", {x})->Name(), "AutoName0");
    EXPECT_EQ(net.Add("Sigmoid", "", {x})->Name(), "AutoName1");
    net.Add("Sigmoid", "autoname2", {x});
    EXPECT_EQ(net.Add("Sigmoid", "", {x})->Name(), "AutoName3");
}

TEST(ComputationNetwork, RefusesNamesThatDifferOnlyByCase)
{
    SmallNetwork net;
    EXPECT_EQ(MessageOf([&] { net.Add("Tanh", "H", {net.x}); }),
              "the node name 'H' is already used by node 'h' (Sigmoid); names are compared without case");
    EXPECT_EQ(MessageOf([&] { net.network.Rename(net.sum, "ce"); }),
              "the node name 'ce' is already used by node 'ce' (TestCriterion); names are compared without case");
}

TEST(ComputationNetwork, RefusesUnknownTypesAndWrongInputs)
{
    SmallNetwork net;
    EXPECT_EQ(MessageOf([&] { net.Add("Sigmoyd", "s", {net.x}); }),
              "unknown node type 'Sigmoyd'; did you mean 'Sigmoid'?");
    EXPECT_EQ(MessageOf([&] { net.Add("Plus", "p", {net.x}); }), "node 'p': Plus takes 2 inputs, but 1 is given");
    EXPECT_EQ(MessageOf(
                  [&] {
                      net.Add("Sigmoid", "s", {net.x, net.h});
                  }),
              "node 's': Sigmoid takes 1 input, but 2 are given");
    EXPECT_EQ(net.network.Find("s"), nullptr);
    TestNetwork other;
    auto stranger = other.Input("stranger", {3});
    EXPECT_EQ(MessageOf([&] { net.Add("Sigmoid", "s", {stranger}); }),
              "node 'stranger' does not belong to this network");
    EXPECT_EQ(MessageOf([&] { net.network.SetInput(net.h, 1, net.x); }),
              "node 'h' (Sigmoid) has no input 1; it has 1 input, counted from 0");
}

TEST(ComputationNetwork, FindsPatterns)
{
    TestNetwork net;
    for (const char* name : {"L1.W", "L1.B", "L2.W", "L1.sub.W", "W"})
        net.Input(name, {1});
    EXPECT_THAT(NamesOf(net.network.FindPattern("L1.*")), ElementsAre("L1.B", "L1.sub.W", "L1.W"));
    EXPECT_THAT(NamesOf(net.network.FindPattern("*.w")), ElementsAre("L1.sub.W", "L1.W", "L2.W"));
    EXPECT_THAT(NamesOf(net.network.FindPattern("l1.*.W")), ElementsAre("L1.sub.W"));
    EXPECT_THAT(NamesOf(net.network.FindPattern("w")), ElementsAre("W"));
    EXPECT_THAT(NamesOf(net.network.FindPattern("*")), ElementsAre("L1.B", "L1.sub.W", "L1.W", "L2.W", "W"));
    EXPECT_THAT(NamesOf(net.network.FindPattern("L*b*W")), ElementsAre("L1.sub.W"));
    EXPECT_TRUE(net.network.FindPattern("L3*").empty());
    EXPECT_TRUE(net.network.FindPattern("L1.W*W").empty()); // one text is not head and tail at once
}

TEST(ComputationNetwork, RenamesNodes)
{
    SmallNetwork net;
    const uint64_t version = net.network.StructureVersion();
    net.network.Rename(net.h, "Hidden");
    EXPECT_EQ(net.network.Find("hidden"), net.h);
    EXPECT_EQ(net.network.Find("h"), nullptr);
    net.network.Rename(net.h, "HIDDEN"); // only the case
    EXPECT_EQ(net.h->Name(), "HIDDEN");
    EXPECT_GT(net.network.StructureVersion(), version);
    EXPECT_EQ(MessageOf([&] { net.network.Rename(net.sum, "hidden"); }),
              "the node name 'hidden' is already used by node 'HIDDEN' (Sigmoid); names are compared without case");
    EXPECT_EQ(net.network.Find("hidden"), net.h);
    EXPECT_EQ(net.network.Find(net.sum->Name()), net.sum);
}

TEST(ComputationNetwork, DeletedNodesAreStrangers)
{
    SmallNetwork net;
    const size_t size = net.network.size();
    net.network.Delete({net.sum, net.h, net.sum});
    EXPECT_EQ(net.network.size(), size - 2);
    EXPECT_EQ(net.network.Find("h"), nullptr);
    EXPECT_EQ(net.criterion->Input(0), nullptr);
    EXPECT_EQ(MessageOf([&] { net.network.SetInput(net.criterion, 0, net.h); }),
              "node 'h' does not belong to this network");
    net.Add("Tanh", "h", {net.product}); // the name is free again
}

TEST(ComputationNetwork, DeletedInputsMustBeReplaced)
{
    SmallNetwork net;
    net.network.AddToGroup(NodeGroup::Output, net.sum);
    net.network.Delete(net.sum);
    EXPECT_TRUE(net.network.Group(NodeGroup::Output).empty());
    EXPECT_EQ(
        MessageOf([&] { net.network.Validate(); }),
        "input 0 of node 'h' (Sigmoid) is missing: the node it was connected to has been deleted; connect another "
        "with SetNodeInput");
    net.network.SetInput(net.h, 0, net.product);
    net.network.Validate();
    EXPECT_EQ(net.criterion->Input(0)->Input(0), net.product);
}

TEST(ComputationNetwork, ReplaceMovesConsumersAndGroups)
{
    SmallNetwork net;
    net.network.AddToGroup(NodeGroup::Output, net.h);
    auto inserted = net.Add("Tanh", "inserted", {net.h});
    net.network.Replace(net.h, inserted);
    EXPECT_EQ(net.criterion->Input(0), inserted);
    EXPECT_EQ(inserted->Input(0), net.h); // not itself
    EXPECT_THAT(NamesOf(net.network.Group(NodeGroup::Output)), ElementsAre("inserted"));
}

TEST(ComputationNetwork, GroupsHoldNodesOnce)
{
    SmallNetwork net;
    net.network.AddToGroup(NodeGroup::Criterion, net.criterion);
    net.network.AddToGroup(NodeGroup::Criterion, net.criterion);
    EXPECT_EQ(net.network.Group(NodeGroup::Criterion).size(), 1u);
    net.network.RemoveFromGroup(NodeGroup::Criterion, net.criterion);
    EXPECT_TRUE(net.network.Group(NodeGroup::Criterion).empty());
    net.network.AddToGroup(NodeGroup::Output, {net.h, net.sum, net.h, net.product});
    net.network.AddToGroup(NodeGroup::Output, {net.sum, net.criterion});
    EXPECT_THAT(net.network.Group(NodeGroup::Output), ElementsAre(net.h, net.sum, net.product, net.criterion));
    net.network.RemoveFromGroup(NodeGroup::Output, {net.product, net.h, net.x});
    EXPECT_THAT(net.network.Group(NodeGroup::Output), ElementsAre(net.sum, net.criterion));
}

TEST(ComputationNetwork, RootsAreWhatSomethingAsksForByName)
{
    SmallNetwork net;
    net.Add("Tanh", "aside", {net.sum});
    const ComputationNodePtr mean = net.Add("Mean", "mean", {net.x});
    net.Add("Minus", "centred", {net.x, mean});
    net.network.AddToGroup(NodeGroup::Feature, net.x);
    net.network.AddToGroup(NodeGroup::Output, net.h);
    EXPECT_THAT(NamesOf(net.network.Roots()), ElementsAre("aside", "ce", "centred", "h", "mean"));
    EXPECT_THAT(NamesOf(ComputationNetwork::Below({net.criterion})), ElementsAre("W", "x", "W*x", "B", "z", "h", "ce"));
}

TEST(ComputationNetwork, ValidateInfersShapesAndParameters)
{
    TestNetwork net;
    auto x = net.Input("x", {3});
    auto w = net.network.AddParameter("W", {2, 0});
    auto b = net.network.AddParameter("B", {0, 0});
    auto z = net.Add("Plus", "z", {net.Add("Times", "p", {w, x}), b});
    net.network.Validate();
    EXPECT_EQ(w->SampleLayout().ToString(), "2 x 3");
    EXPECT_EQ(b->SampleLayout()[0], 2u);
    EXPECT_EQ(z->SampleLayout()[0], 2u);
    EXPECT_EQ(z->GetMBLayout(), net.network.Layout());
    EXPECT_EQ(net.network.DescribeShape(*z), "[2 x 1 x *]");
    EXPECT_EQ(net.network.DescribeShape(*x), "[3 x *]");
}

TEST(ComputationNetwork, ValidateInfersShapesAroundLoops)
{
    TestNetwork net;
    auto x = net.Input("x", {3});
    auto r = net.Parameter("R", {2, 2});
    auto u = net.Parameter("U", {2, 3});
    // h = Tanh(U x + R delay(h)), entered with the delay first
    auto delay = net.Add("TestDelay", "delay", {x});
    auto h = net.Add("Tanh", "h",
                     {net.Add("Plus", "z", {net.Add("Times", "Rh", {r, delay}), net.Add("Times", "Ux", {u, x})})});
    net.network.SetInput(delay, 0, h);
    net.network.Validate();
    EXPECT_EQ(delay->SampleLayout()[0], 2u);
    EXPECT_EQ(delay->GetMBLayout(), net.network.Layout());
}

TEST(ComputationNetwork, ErrorsInShapesNameTheNodeAndItsInputs)
{
    TestNetwork net;
    auto product = net.Add("Times", "p", {net.Parameter("W", {2, 5}), net.Input("x", {3})});
    net.Add("Tanh", "t", {product});
    const std::string report = ReportOf([&] { net.network.Validate(); });
    EXPECT_THAT(report, HasSubstr("while validating p = Times(W [2 x 5], x [3 x *])"));
    EXPECT_THAT(report, HasSubstr("5"));
}

TEST(ComputationNetwork, UnknownDimensionsAreAnError)
{
    TestNetwork net;
    net.network.AddParameter("W", {0, 0});
    EXPECT_THAT(MessageOf([&] { net.network.Validate(); }), HasSubstr("parameter 'W'"));
}

TEST(ComputationNetwork, InputsOfDifferentAxesCannotMeet)
{
    TestNetwork net;
    auto a = net.Input("a", {3});
    NodeParameters parameters;
    parameters.Set("rows", "3");
    parameters.Set("cols", "1");
    parameters.Set("dynamicAxis", "other");
    auto b = net.network.Add("InputValue", "b", {}, parameters);
    net.Add("Plus", "sum", {a, b});
    EXPECT_EQ(ReportOf([&] { net.network.Validate(); }),
              "note: while validating sum = Plus(a [3 x *], b [3 x *other])\n"
              "error: inputs 'a' and 'b' have different minibatch layouts (different dynamic axes); they cannot be "
              "combined; ReconcileMBLayout gives one of them the other's layout where their sequences have the same "
              "lengths");
}

ComputationNodePtr AddInputOfAxis(TestNetwork& net, const std::string& name, const std::string& axis)
{
    NodeParameters parameters;
    parameters.Set("rows", "3");
    parameters.Set("dynamicAxis", axis);
    return net.network.Add("InputValue", name, {}, parameters);
}

TEST(ComputationNetwork, InputsOfOneAxisShareItsLayout)
{
    TestNetwork net;
    const auto axis = net.network.Add("DynamicAxis", "words", {});
    auto a = AddInputOfAxis(net, "a", "words");
    auto b = AddInputOfAxis(net, "b", "Words"); // names are compared without case
    auto c = net.Input("c", {3});
    net.Add("Plus", "sum", {a, b});
    net.network.Validate();
    EXPECT_EQ(a->GetMBLayout(), b->GetMBLayout());
    EXPECT_EQ(a->GetMBLayout(), axis->GetMBLayout());
    EXPECT_NE(a->GetMBLayout(), c->GetMBLayout());
    net.network.Rename(axis, "text");
    net.network.Validate();
    EXPECT_EQ(a->GetMBLayout(), axis->GetMBLayout());
    EXPECT_EQ(net.network.Describe(*b), "b = InputValue()");
    EXPECT_EQ(net.network.DescribeShape(*b), "[3 x *text]");
}

TEST(ComputationNetwork, AnAxisThatIsNoneIsAnError)
{
    TestNetwork net;
    AddInputOfAxis(net, "a", "wrods");
    net.network.Validate(); // no axis is declared: names alone keep the layouts apart
    net.network.Add("DynamicAxis", "words", {});
    net.network.Add("DynamicAxis", "letters", {});
    EXPECT_EQ(MessageOf([&] { net.network.Validate(); }),
              "input 'a' has dynamicAxis 'wrods', but there is no such node; expected the name of a DynamicAxis node, "
              "here letters or words; did you mean 'words'?");
    TestNetwork other;
    AddInputOfAxis(other, "a", "b");
    other.Input("b", {3});
    EXPECT_EQ(MessageOf([&] { other.network.Validate(); }),
              "input 'a' has dynamicAxis 'b', which is a node of type InputValue; expected the name of a DynamicAxis "
              "node");
}

TEST(ComputationNetwork, DeepNetworksNeedNoStack)
{
    TestNetwork net;
    ComputationNodePtr top = net.Input("x", {3});
    for (size_t i = 0; i < 20000; i++)
        top = net.Add("Sigmoid", "s" + std::to_string(i), {top});
    net.network.Validate();
    EXPECT_EQ(ComputationNetwork::Below({top}).size(), 20001u);
    EXPECT_EQ(top->SampleLayout()[0], 3u);
}

TEST(NodeParameters, ReadTypedValues)
{
    NodeParameters parameters;
    parameters.Set("Rows", "3");
    parameters.Set("scale", "0.5");
    parameters.Set("flag", "true");
    EXPECT_EQ(parameters.Integer("rows", 1), 3);
    EXPECT_EQ(parameters.Integer("cols", 7), 7);
    EXPECT_EQ(parameters.Real("SCALE", 1), 0.5);
    EXPECT_TRUE(parameters.Boolean("flag", false));
    EXPECT_EQ(parameters.Text("rows"), "3");
    EXPECT_EQ(parameters.Text("none", "x"), "x");
    EXPECT_EQ(MessageOf([&] { parameters.Integer("scale", 1); }),
              "parameter 'scale' is '0.5'; expected a whole number");
    EXPECT_EQ(MessageOf([&] { parameters.Real("flag", 1); }), "parameter 'flag' is 'true'; expected a number");
    EXPECT_EQ(MessageOf([&] { parameters.Boolean("rows", true); }),
              "parameter 'rows' is '3'; expected true or false (also t, f, 1, 0)");
}

TEST(NodeRegistry, RefusesNamesTwice)
{
    NodeRegistry registry;
    NodeType type;
    type.name = "One";
    type.aliases = {"Two"};
    registry.Add(type);
    EXPECT_NE(registry.Find("TWO"), nullptr);
    EXPECT_EQ(registry.Find("Three"), nullptr);
    type.name = "two";
    type.aliases = {};
    EXPECT_EQ(MessageOf([&] { registry.Add(type); }), "the node type name 'two' is registered twice");
}

} // namespace
} // namespace cntk::Testing
