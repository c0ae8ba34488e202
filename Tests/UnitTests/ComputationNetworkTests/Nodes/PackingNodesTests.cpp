// Where, PackedIndex, GatherPacked, ScatterPacked: the frames they pick, the layouts they make, gradients through them,
// and what is wrong with their data.
#include "ComputationNetwork/Evaluation/GradientCheck.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace cntk::Testing
{

namespace
{

constexpr double c_gap = -9;

std::vector<double> WithoutNaN(std::vector<double> values)
{
    for (double& value : values)
        if (std::isnan(value))
            value = c_gap;
    return values;
}

// Data and a condition on the same layout, and the frames picked.
struct PackingNetwork : TestNetwork
{
    PackingNetwork()
    {
        x = Input("x", {2});
        cond = Input("cond", {1});
        where = Add("Where", "where", {cond});
        index = Add("PackedIndex", "index", {x, where});
        gathered = Add("GatherPacked", "gathered", {index, x});
    }
    // Rows: sequences of 2 and 3 frames; one of 4, a gap.
    void SetLayout()
    {
        MBLayout& layout = *network.Layout();
        layout.Init(2, 5);
        layout.AddSequence(7, 0, 0, 2);
        layout.AddSequence(8, 0, 2, 5);
        layout.AddSequence(9, 1, 0, 4);
        layout.AddGap(1, 4, 5);
        std::vector<double> data = SomeData(20);
        data[18] = data[19] = std::numeric_limits<double>::quiet_NaN();
        SetInput(x, data);
        //  step      0     1     2     3     4
        SetInput(cond, {0, 1, 1, 0, 1, 2, 0, 3, -1, std::numeric_limits<double>::quiet_NaN()});
    }

    ComputationNodePtr x, cond, where, index, gathered;
};

} // namespace

TEST(PackingNodes, PickFramesAndPackThemAnew)
{
    PackingNetwork net;
    net.network.Validate();
    net.SetLayout();
    EvaluatorOptions options = Checked(false);
    options.keepValues = {net.where, net.index};
    Evaluator evaluator(net.network, {net.gathered}, options);
    for (size_t again = 0; again < 2; again++)
    {
        evaluator.Forward();
        // Sequence 7 keeps frame 1, sequence 8 frames 0 and 2, sequence 9 frames 0, 2 and 3: the longest makes 3 steps,
        // and the first two share a row.
        const MBLayout& layout = *net.where->GetMBLayout();
        EXPECT_EQ(layout.ParallelSequences(), 2u);
        EXPECT_EQ(layout.TimeSteps(), 3u);
        const std::vector<SequenceInfo> expected = {{7, 0, 0, 1}, {8, 0, 1, 3}, {9, 1, 0, 3}};
        EXPECT_EQ(layout.Sequences(), expected);
        EXPECT_EQ(ValueOf(net.where), (std::vector<double>{1, 0, 0, 2, 2, 3}));
        EXPECT_EQ(ValueOf(net.index), (std::vector<double>{2, 1, 4, 5, 8, 7}));
        const std::vector<double> x = SomeData(20);
        EXPECT_EQ(ValueOf(net.gathered),
                  (std::vector<double>{x[4], x[5], x[2], x[3], x[8], x[9], x[10], x[11], x[16], x[17], x[14], x[15]}));
    }
}

TEST(PackingNodes, GapsAreMarked)
{
    PackingNetwork net;
    net.network.Validate();
    net.SetLayout();
    SetInput(net.cond, {0, 1, 1, 1, 1, 1, 0, 1, 1, 0});
    EvaluatorOptions options = Checked(false);
    options.keepValues = {net.where};
    Evaluator evaluator(net.network, {net.index}, options);
    evaluator.Forward();
    EXPECT_EQ(net.where->GetMBLayout()->ColumnMask(), (std::vector<uint8_t>{1, 1, 1, 1, 1, 1, 0, 1}));
    EXPECT_EQ(WithoutNaN(ValueOf(net.where)), (std::vector<double>{1, 0, 0, 1, 2, 2, c_gap, 3}));
    EXPECT_EQ(ValueOf(net.index), (std::vector<double>{2, 1, 4, 3, 8, 5, -1, 7}));
}

TEST(PackingNodes, FramesOnTheirOwnStayThat)
{
    PackingNetwork net;
    net.network.Validate();
    net.SetFrames(3);
    SetInput(net.x, {1, 2, 3, 4, 5, 6});
    SetInput(net.cond, {1, 1, 1});
    Evaluator evaluator(net.network, {net.gathered}, Checked(false));
    evaluator.Forward();
    EXPECT_TRUE(net.gathered->GetMBLayout()->IsFrameMode());
    EXPECT_EQ(ValueOf(net.gathered), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

// The last frame of each sequence meets a label of each: the layouts are compared when the picked one is made, not
// while its memory is only reserved, and the steps of one each are those of frame mode.
TEST(PackingNodes, AFrameOfEachSequenceMeetsItsLabel)
{
    PackingNetwork net;
    NodeParameters parameters;
    parameters.Set("rows", "2");
    parameters.Set("dynamicAxis", "sentences");
    const ComputationNodePtr labels = net.network.Add("InputValue", "labels", {}, parameters);
    const ComputationNodePtr same = net.Add("ReconcileDynamicAxis", "same", {net.gathered, labels});
    const ComputationNodePtr sum = net.Add("Plus", "sum", {same, labels});
    net.network.Validate();
    Evaluator evaluator(net.network, {sum}, Checked(false));
    for (const size_t shorter : {size_t(0), size_t(1)}) // the layouts change from minibatch to minibatch
    {
        net.SetSequences({2, 3 - shorter});
        std::vector<double> cond(net.network.Layout()->Columns());
        std::vector<double> data(2 * cond.size());
        std::vector<double> expected;
        for (size_t row = 0; row < 2; row++)
        {
            const size_t last = (row == 0 ? 1 : 2 - shorter) * 2 + row;
            cond[last] = 1;
            data[2 * last] = double(10 + row);
            data[2 * last + 1] = double(20 + row);
            expected.insert(expected.end(), {double(110 + row), double(120 + row)});
        }
        SetInput(net.x, data);
        SetInput(net.cond, cond);
        net.network.Layout("sentences")->InitAsFrameMode(2);
        SetInput(labels, {100, 100, 100, 100});
        evaluator.Forward();
        EXPECT_EQ(ValueOf(sum), expected);
    }
    net.network.Layout("sentences")->InitAsFrameMode(3);
    SetInput(labels, {1, 2, 3, 4, 5, 6});
    EXPECT_EQ(MessageOf([&] { evaluator.Forward(); }),
              "ReconcileDynamicAxis 'same': the minibatch layouts of 'gathered' and 'labels' differ: sequence 2 has 0 "
              "samples of 'gathered' and 1 of 'labels'; expected the same sequences of the same lengths");
}

// Frames picked by one condition beside those picked by another: the layouts are compared when both are made, and not
// when the second is still that of the minibatch before.
TEST(PackingNodes, FramesPickedByTwoConditionsMeet)
{
    PackingNetwork net;
    const auto other = net.Input("other", {1});
    const auto where = net.Add("Where", "where2", {other});
    const auto picked = net.Add("GatherPacked", "gathered2", {net.Add("PackedIndex", "index2", {net.x, where}), net.x});
    const auto same = net.Add("ReconcileDynamicAxis", "same", {picked, net.gathered});
    const auto sum = net.Add("Plus", "sum", {net.gathered, same});
    net.network.Validate();
    Evaluator evaluator(net.network, {sum}, Checked(false));
    net.SetSequences({3, 2});
    SetInput(net.x, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0}); // sequences (1 2, 5 6, 9 10) and (3 4, 7 8)
    SetInput(net.cond, {1, 0, 1, 1, 0, 0});
    SetInput(other, {0, 1, 1, 0, 1, 0});
    evaluator.Forward();
    EXPECT_EQ(ValueOf(sum), (std::vector<double>{1 + 5, 2 + 6, 7 + 3, 8 + 4, 5 + 9, 6 + 10, 0, 0}));
    SetInput(net.cond, {0, 1, 0, 0, 1, 0});
    SetInput(other, {1, 0, 0, 1, 0, 0});
    evaluator.Forward();
    EXPECT_EQ(ValueOf(sum), (std::vector<double>{9 + 1, 10 + 2, 3 + 7, 4 + 8}));
    SetInput(net.cond, {1, 1, 1, 0, 0, 0}); // two frames of the first sequence, the other condition one
    EXPECT_EQ(
        MessageOf([&] { evaluator.Forward(); }),
        "ReconcileDynamicAxis 'same': the minibatch layouts of 'gathered2' and 'gathered' differ: sequence 0 has 1 "
        "sample of 'gathered2' and 2 of 'gathered'; expected the same sequences of the same lengths");
}

// Attention looks its sequences up when both layouts are there.
TEST(PackingNodes, AttentionToThePickedFrames)
{
    PackingNetwork net;
    const ComputationNodePtr context = net.Add("Attention", "context", {net.gathered, net.gathered, net.x});
    net.network.Validate();
    Evaluator evaluator(net.network, {context}, Checked(false));
    net.SetSequences({3, 2});
    // The columns of a step: first sequence, second sequence. One frame of each is picked, so it is all that is seen.
    SetInput(net.x, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0});
    SetInput(net.cond, {0, 0, 1, 1, 0, 0});
    evaluator.Forward();
    EXPECT_EQ(ValueOf(context), (std::vector<double>{5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 0, 0}));
}

// A recurrent layer over the frames picked, put back among all frames: gradients with gaps, and minibatches whose
// layouts change.
TEST(PackingNodes, GradientsThroughALoopOverThePickedFrames)
{
    for (const bool isLstm : {false, true})
    {
        PackingNetwork net;
        const auto z = net.Add("Times", "z", {net.Parameter("W", {2, 2}), net.x});
        net.network.SetInputs(net.gathered, {net.index, z});
        ComputationNodePtr h;
        if (isLstm)
            h = net.Add("LSTM", "h",
                        {net.gathered, net.Parameter("i", {2, 6}), net.Parameter("f", {2, 6}),
                         net.Parameter("o", {2, 6}), net.Parameter("c", {2, 5})});
        else
        {
            const auto before = net.Add("PastValue", "before", {net.gathered});
            h = net.Add(
                "Tanh", "h",
                {net.Add("Plus", "s", {net.gathered, net.Add("Times", "Rh", {net.Parameter("R", {2, 2}), before})})});
            net.network.SetInput(before, 0, h);
        }
        const auto scattered = net.Add("ScatterPacked", "scattered", {net.cond, net.index, h});
        const auto both = net.Add("Plus", "both", {scattered, z});
        const auto criterion =
            net.Add("Plus", "criterion",
                    {net.Add("TestCriterion", "criterion1", {both}), net.Add("TestCriterion", "criterion2", {h})});
        net.network.Validate();
        Evaluator evaluator(net.network, {criterion}, Checked(true));
        const auto expectAgreement = [&]
        {
            for (const GradientComparison& one : CompareGradients(evaluator, criterion))
                EXPECT_NEAR(one.backpropagated, one.numeric, 1e-6 * std::max(1.0, std::abs(one.numeric)))
                    << one.parameter->Name() << " (" << one.row << ", " << one.column << ")";
        };
        net.SetLayout();
        expectAgreement();
        net.SetSequences({4, 1, 3});
        net.FillInputs(2);
        SetInput(net.cond, {0, 1, 0, 1, 0, 2, 0, 0, 3, 0, 0, 0});
        expectAgreement();
        net.SetLayout();
        expectAgreement();
    }
}

TEST(PackingNodes, PickFromWhatWasPicked)
{
    PackingNetwork net;
    const auto second = net.Add("Where", "second", {net.where}); // all frames picked but a sequence's first
    const auto index = net.Add("PackedIndex", "index2", {net.gathered, second});
    const auto gathered = net.Add("GatherPacked", "gathered2", {index, net.gathered});
    net.network.Validate();
    net.SetLayout();
    Evaluator evaluator(net.network, {gathered}, Checked(false));
    evaluator.Forward();
    const std::vector<double> x = SomeData(20);
    EXPECT_EQ(gathered->GetMBLayout()->Sequences(),
              (std::vector<SequenceInfo>{{7, 0, 0, 1}, {8, 0, 1, 2}, {9, 1, 0, 2}}));
    EXPECT_EQ(ValueOf(gathered), (std::vector<double>{x[4], x[5], x[10], x[11], x[16], x[17], x[14], x[15]}));
}

// Any negative number names no column.
TEST(PackingNodes, NegativeNumbersNameNoColumn)
{
    TestNetwork net;
    const auto x = net.Input("x", {1}), numbers = net.Input("numbers", {1});
    const auto gathered = net.Add("GatherPacked", "gathered", {numbers, x});
    const auto scattered = net.Add("ScatterPacked", "scattered", {x, numbers, x});
    net.network.Validate();
    net.SetFrames(4);
    SetInput(x, {1, 2, 3, 4});
    SetInput(numbers, {-2, 3, -1, 0});
    Evaluator evaluator(net.network, {gathered, scattered}, Checked(false));
    evaluator.Forward();
    EXPECT_EQ(ValueOf(gathered), (std::vector<double>{0, 4, 0, 1}));
    EXPECT_EQ(ValueOf(scattered), (std::vector<double>{4, 0, 0, 2}));
}

// Sequences of the minibatch before are none of this one.
TEST(PackingNodes, TargetsAreThoseOfTheMinibatch)
{
    TestNetwork net;
    const auto x = net.Input("x", {1});
    NodeParameters parameters;
    parameters.Set("rows", "1");
    parameters.Set("dynamicAxis", "picked");
    const auto places = net.network.Add("InputValue", "places", {}, parameters);
    const auto index = net.Add("PackedIndex", "index", {x, places});
    net.network.Validate();
    Evaluator evaluator(net.network, {index}, Checked(false));
    const auto run = [&](size_t target, size_t named)
    {
        MBLayout &data = *net.network.Layout(), &axis = *net.network.Layout("picked");
        data.Init(1, 2);
        data.AddSequence(target, 0, 0, 2);
        axis.Init(1, 1);
        axis.AddSequence(named, 0, 0, 1);
        SetInput(x, {1, 2});
        SetInput(places, {1});
        evaluator.Forward();
        return ValueOf(index);
    };
    EXPECT_EQ(run(7, 7), std::vector<double>{1});
    EXPECT_EQ(MessageOf([&] { run(8, 7); }),
              "PackedIndex 'index': the target 'x' has no sequence 7, of which 'places' names positions");
}

TEST(PackingNodes, DataThatCannotBePacked)
{
    const auto messageOf = [](const std::function<void(PackingNetwork&)>& change)
    {
        PackingNetwork net;
        net.network.Validate();
        net.SetLayout();
        change(net);
        Evaluator evaluator(net.network, {net.gathered}, Checked(false));
        return MessageOf([&] { evaluator.Forward(); });
    };
    EXPECT_EQ(messageOf(
                  [](PackingNetwork& net) {
                      SetInput(net.cond, {0, 1, 1, 0, 0, 2, 0, 3, 0, 1});
                  }),
              "Where 'where' picks no frame of sequence 8: its input is 0 in all 3 frames; expected at least one other "
              "number in each sequence");
    EXPECT_EQ(messageOf(
                  [](PackingNetwork& net)
                  {
                      MBLayout& layout = *net.network.Layout();
                      layout.Init(2, 5);
                      layout.AddSequence(0, 0, 0, 7);
                      layout.AddSequence(1, 1, 0, 5);
                  }),
              "Where 'where' needs whole sequences, but sequence 0 goes beyond the minibatch; train and read without "
              "truncation");
    EXPECT_EQ(messageOf(
                  [](PackingNetwork& net)
                  {
                      MBLayout& layout = *net.network.Layout();
                      layout.Init(2, 5);
                      layout.AddSequence(0, 0, -2, 5);
                      layout.AddSequence(1, 1, 0, 5);
                  }),
              "Where 'where' needs whole sequences, but sequence 0 goes beyond the minibatch; train and read without "
              "truncation");

    TestNetwork net;
    const auto x = net.Input("x", {2}), numbers = net.Input("numbers", {1});
    const auto index = net.Add("PackedIndex", "index", {x, numbers});
    const auto gathered = net.Add("GatherPacked", "gathered", {numbers, x});
    const auto scattered = net.Add("ScatterPacked", "scattered", {x, numbers, x});
    net.network.Validate();
    net.SetSequences({2, 1});
    net.FillInputs();
    SetInput(numbers, {0, 0, 2, 0});
    {
        Evaluator evaluator(net.network, {index}, Checked(false));
        EXPECT_EQ(MessageOf([&] { evaluator.Forward(); }),
                  "PackedIndex 'index': sequence 0 of 'x' has no frame 2 in this minibatch; expected 0 to 1");
    }
    SetInput(numbers, {0, 1.5, 2, 0});
    for (const auto& [node, text] :
         {std::pair(gathered, "GatherPacked 'gathered'"), {scattered, "ScatterPacked 'scattered'"}})
    {
        Evaluator evaluator(net.network, {node}, Checked(false));
        EXPECT_EQ(MessageOf([&] { evaluator.Forward(); }),
                  std::string(text) +
                      ": 'numbers' names column 1.5; expected whole numbers below 4, or negative ones for none");
    }
}

TEST(PackingNodes, ShapesThatDoNotFit)
{
    const auto messageOf = [](const std::string& type, const std::vector<std::string>& inputs)
    {
        TestNetwork net;
        net.Input("x", {2});
        net.Input("n", {1});
        net.Parameter("W", {2, 3});
        std::vector<ComputationNodePtr> nodes;
        for (const std::string& name : inputs)
            nodes.push_back(net.network.Require(name));
        net.Add(type, "node", nodes);
        return MessageOf([&] { net.network.Validate(); });
    };
    EXPECT_EQ(messageOf("Where", {"x"}), "Where takes one number per frame as its input 'cond', but got 'x' [2]");
    EXPECT_EQ(messageOf("Where", {"W"}), "Where takes one number per frame as its input 'cond', but got 'W' [2 x 3]");
    EXPECT_EQ(messageOf("PackedIndex", {"W", "n"}),
              "PackedIndex needs minibatch data as its input 'target', but 'W' [2 x 3] is the same at all times");
    EXPECT_EQ(messageOf("PackedIndex", {"x", "x"}),
              "PackedIndex takes one number per frame as its input 'index', but got 'x' [2]");
    EXPECT_EQ(messageOf("GatherPacked", {"x", "x"}),
              "GatherPacked takes one number per frame as its input 'index', but got 'x' [2]");
    EXPECT_EQ(messageOf("ScatterPacked", {"W", "n", "x"}),
              "ScatterPacked needs minibatch data as its input 'cond', but 'W' [2 x 3] is the same at all times");
    EXPECT_EQ(messageOf("ScatterPacked", {"x", "n", "W"}),
              "ScatterPacked needs a number for each frame of its source, but 'n' and 'W' have different minibatch "
              "layouts");
}

} // namespace cntk::Testing
