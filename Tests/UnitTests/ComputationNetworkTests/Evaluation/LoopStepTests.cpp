// Loops with merged delays and products agree with the node-by-node result.
#include "ComputationNetwork/Evaluation/GradientCheck.h"
#include "ComputationNetwork/Evaluation/LoopStep.h"
#include "ComputationNetworkTests/TestNetwork.h"
#include "Math/Cpu/CpuDevice.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>

namespace cntk::Testing
{

namespace
{

// An LSTM as the builders create it: one delay for each gate, peepholes by DiagTimes.
struct Lstm : TestNetwork
{
    explicit Lstm(const std::string& delayType = "PastValue", DataType type = DataType::Float64,
                  std::shared_ptr<Device> device = nullptr, size_t size = 4)
        : TestNetwork(type, std::move(device))
    {
        x = Input("x", {3});
        const auto delay = [&](const std::string& name)
        {
            NodeParameters parameters;
            parameters.Set("rows", std::to_string(size));
            return network.AddUnconnected(delayType, name, parameters);
        };
        std::vector<ComputationNodePtr> pastHidden, pastCell;
        for (const char* gate : {"i", "f", "o", "c"})
        {
            pastHidden.push_back(delay(std::string("h.") + gate));
            pastCell.push_back(delay(std::string("c.") + gate));
        }
        const auto sum = [&](const std::string& gate, const ComputationNodePtr& past)
        {
            product[gate] = Add("Times", "R" + gate, {Parameter("WR" + gate, {size, size}), past});
            const auto input = Add("Times", "X" + gate, {Parameter("WX" + gate, {size, 3}), x});
            return Add("Plus", "s" + gate,
                       {Add("Plus", "t" + gate, {input, Parameter("b" + gate, {size, 1})}), product[gate]});
        };
        const auto gate = [&](const std::string& name, const ComputationNodePtr& past, const ComputationNodePtr& cell)
        {
            const auto peephole = Add("DiagTimes", "P" + name, {Parameter("WP" + name, {size, 1}), cell});
            return Add("Sigmoid", "gate." + name, {Add("Plus", "u" + name, {sum(name, past), peephole})});
        };
        const auto added = Add("ElementTimes", "added",
                               {gate("i", pastHidden[0], pastCell[0]), Add("Tanh", "g", {sum("c", pastHidden[3])})});
        const auto kept = Add("ElementTimes", "kept", {gate("f", pastHidden[1], pastCell[1]), pastCell[2]});
        const auto cell = Add("Plus", "cell", {kept, added});
        const auto extra = Add("Minus", "extra", {cell, pastCell[3]}); // a fourth reader of the delayed cell
        h = Add("ElementTimes", "h", {gate("o", pastHidden[2], cell), Add("Tanh", "tanh", {extra})});
        for (const auto& past : pastHidden)
            network.SetInputs(past, {h});
        for (const auto& past : pastCell)
            network.SetInputs(past, {cell});
        criterion = Add("TestCriterion", "criterion", {Add("Times", "y", {Parameter("V", {2, size}), h})});
        network.Validate();
    }

    ComputationNodePtr x, h, criterion;
    std::map<std::string, ComputationNodePtr> product;
};

std::vector<double> RunLstm(Lstm& net, EvaluatorOptions options)
{
    Evaluator evaluator(net.network, {net.criterion}, options);
    evaluator.Forward();
    evaluator.Backward(net.criterion);
    std::vector<double> all = ValueOf(net.criterion);
    for (const auto& parameter : evaluator.Parameters())
    {
        const std::vector<double> gradient = GradientOf(parameter);
        all.insert(all.end(), gradient.begin(), gradient.end());
    }
    return all;
}

} // namespace

TEST(LoopStep, MergedLoopsComputeTheSame)
{
    for (const char* type : {"PastValue", "FutureValue"})
        for (const std::vector<size_t>& lengths :
             {std::vector<size_t>{5}, std::vector<size_t>{4, 1, 3}, std::vector<size_t>{2, 2}})
        {
            Lstm net(type);
            net.SetSequences(lengths);
            net.FillInputs();
            ExpectNear(RunLstm(net, Training(true)), RunLstm(net, Training(false)));
        }
}

TEST(LoopStep, GradientsAgreeWithDifferences)
{
    Lstm net;
    Evaluator evaluator(net.network, {net.criterion}, Training(true));
    for (const std::vector<size_t>& lengths : {std::vector<size_t>{3}, std::vector<size_t>{4, 2, 3}})
    {
        net.SetSequences(lengths);
        net.FillInputs();
        for (const GradientComparison& one : CompareGradients(evaluator, net.criterion))
            EXPECT_NEAR(one.backpropagated, one.numeric, 1e-6 * std::max(1.0, std::abs(one.numeric)))
                << one.parameter->Name() << " (" << one.row << ", " << one.column << ")";
    }
}

// Sequences that all begin in this minibatch, or whose first one claims to continue although no minibatch preceded.
void SetBeginnings(Lstm& net, size_t sequences, size_t steps, bool firstGoesOn)
{
    MBLayout& layout = *net.network.Layout();
    layout.Init(sequences, steps);
    for (size_t s = 0; s < sequences; s++)
        layout.AddSequence(s, s, s == 0 && firstGoesOn ? -1 : 0, ptrdiff_t(steps));
    net.FillInputs();
}

// If all sequences begin, one column of a product stands for all columns, with the same bits.
TEST(LoopStep, OneColumnStandsForAllThatBegin)
{
    for (const int threads : {1, 4})
        for (const size_t sequences : {2, 10, 61})
        {
            std::vector<std::vector<double>> results;
            for (const bool firstGoesOn : {false, true})
            {
                const auto device = MakeCpuDeviceWith(BestInstructionSet(), threads);
                Lstm net("PastValue", DataType::Float32, device, 70);
                SetBeginnings(net, sequences, 3, firstGoesOn);
                EvaluatorOptions options;
                options.poisonMemory = true;
                Evaluator evaluator(net.network, {net.h}, options);
                evaluator.Forward();
                results.push_back(ValueOf(net.h));
            }
            EXPECT_EQ(results[0], results[1]) << sequences << " sequences, " << threads << " threads";
        }
}

// Enough sequences for each thread to get some: the bits equal those of one thread, minibatch after minibatch.
TEST(LoopStep, ThreadsShareOutTheSequences)
{
    for (const char* type : {"PastValue", "FutureValue"})
        for (const bool hasGaps : {false, true})
        {
            std::vector<size_t> lengths(53, 5);
            for (size_t i = 0; hasGaps && i < lengths.size(); i++)
                lengths[i] = 1 + i % 5;
            Lstm one(type, DataType::Float32, MakeCpuDevice({.threads = 1}));
            Lstm four(type, DataType::Float32, MakeCpuDeviceWith(BestInstructionSet(), 4));
            EvaluatorOptions options = Training(true);
            for (int minibatch = 0; minibatch < 3; minibatch++)
            {
                std::vector<std::vector<double>> results;
                for (Lstm* net : {&one, &four})
                {
                    net->SetSequences(lengths);
                    net->FillInputs();
                    results.push_back(RunLstm(*net, options));
                }
                EXPECT_EQ(results[0], results[1]);
            }
        }
}

// Only their own time step reads the sums before a gate, and their gradients share the product's memory.
TEST(LoopStep, ValuesReadWithinOneStepHaveMemoryOfOneStep)
{
    Lstm net;
    net.SetSequences({6, 6, 5});
    net.FillInputs();
    Evaluator evaluator(net.network, {net.criterion}, Training(true));
    evaluator.Forward();
    evaluator.Backward(net.criterion);
    const auto find = [&](const char* name) { return net.network.Find(name); };
    EXPECT_EQ(find("uf")->Value().columns, 3u);
    EXPECT_EQ(find("sf")->Value().columns, 3u);
    EXPECT_EQ(net.product["f"]->Value().columns, 3u);
    EXPECT_EQ(find("gate.f")->Value().columns, 18u) << "its gradient wants it";
    EXPECT_EQ(find("cell")->Value().columns, 18u) << "the next time step reads it";
    for (const char* sum : {"sf", "uf"})
        EXPECT_EQ(find(sum)->Gradient().data, net.product["f"]->Gradient().data) << sum;
    EXPECT_EQ(find("kept")->Gradient().data, find("cell")->Gradient().data);
    EXPECT_EQ(find("tanh")->Gradient().columns, 3u);
    EXPECT_EQ(find("cell")->Gradient().columns, 18u) << "the time step before adds to it";
}

// Gradients of products are rows of one matrix, which only some node types can use. Other nodes, inside and outside of
// the loop, keep contiguous gradients; here two matrices in a RowStack.
TEST(LoopStep, GradientsOfOtherNodesAreInOnePiece)
{
    for (const bool isOutside : {false, true})
    {
        TestNetwork net;
        const auto x = net.Input("x", {3});
        NodeParameters parameters;
        parameters.Set("rows", "4");
        const auto past = net.network.AddUnconnected("PastValue", "past", parameters);
        const auto stack =
            [&](const std::string& name, const ComputationNodePtr& first, const ComputationNodePtr& second)
        {
            const std::string top = name + ".top", bottom = name + ".bottom";
            return net.Add(
                "RowStack", name,
                {net.Add("Times", top, {net.Parameter(top + ".W", {1, first->SampleElements()}), first}),
                 net.Add("Times", bottom, {net.Parameter(bottom + ".W", {3, second->SampleElements()}), second})});
        };
        const auto product = [&](const std::string& name, const ComputationNodePtr& of, size_t columns) {
            return net.Add("Times", name, {net.Parameter(name + ".W", {4, columns}), of});
        };
        std::vector<ComputationNodePtr> gates;
        for (const std::string gate : {"a", "b"})
        {
            const auto input = isOutside ? stack("in." + gate, x, x) : product("in." + gate, x, 3);
            const auto sum = net.Add("Plus", "sum." + gate, {input, product("recurrent." + gate, past, 4)});
            gates.push_back(isOutside ? net.Add("Tanh", "gate." + gate, {sum})
                                      : net.Add("RowStack", "gate." + gate, {sum}));
        }
        const auto h = net.Add("Tanh", "h", {net.Add("Plus", "both", {gates[0], gates[1]})});
        net.network.SetInputs(past, {h});
        const auto criterion = net.Add("TestCriterion", "criterion", {h});
        net.network.Validate();
        net.SetSequences({4, 2, 3});
        net.FillInputs();
        const auto run = [&](bool merged)
        {
            Evaluator evaluator(net.network, {criterion}, Training(merged));
            evaluator.Forward();
            evaluator.Backward(criterion);
            std::vector<double> all = ValueOf(criterion);
            for (const auto& parameter : evaluator.Parameters())
            {
                const std::vector<double> gradient = GradientOf(parameter);
                all.insert(all.end(), gradient.begin(), gradient.end());
            }
            return all;
        };
        ExpectNear(run(true), run(false));
    }
}

TEST(LoopStep, ValuesThatOthersReadKeepTheirMemory)
{
    Lstm net;
    net.SetSequences({4, 2});
    net.FillInputs();
    const auto values = [&](bool merged)
    {
        EvaluatorOptions options;
        options.fuse = merged;
        options.keepValues = {net.product["i"], net.network.Find("h.f"), net.network.Find("c.i"),
                              net.network.Find("uf")};
        Evaluator evaluator(net.network, {net.h}, options);
        evaluator.Forward();
        std::vector<double> all = ValueOf(net.h);
        for (const ComputationNodePtr& node : options.keepValues)
        {
            const MatrixView view = node->Value();
            EXPECT_TRUE(view.IsContiguous());
            const std::vector<double> more = HostCopy(view.Columns(0, 4)); // the steps without gaps
            all.insert(all.end(), more.begin(), more.end());
        }
        return std::vector<double>(all.begin(), all.end());
    };
    std::vector<double> a = values(true), b = values(false);
    for (std::vector<double>* list : {&a, &b})
        list->erase(std::remove_if(list->begin(), list->end(), [](double value) { return std::isnan(value); }),
                    list->end());
    ExpectNear(a, b);
}

TEST(LoopStep, AllocateOnlyForLargerMinibatches)
{
    Lstm net;
    Evaluator evaluator(net.network, {net.criterion}, Training(true));
    const auto run = [&](const std::vector<size_t>& lengths)
    {
        net.SetSequences(lengths);
        net.FillInputs();
        evaluator.Forward();
        evaluator.Backward(net.criterion);
        return evaluator.BytesAllocated();
    };
    const size_t large = run({6, 5, 4});
    EXPECT_EQ(run({3, 2}), large);
    EXPECT_EQ(run({6, 6, 6}), large);
    EXPECT_GT(run({7, 7, 7}), large);
}

// Equal numbers of columns with more of them per time step: 2 x 6, 3 x 4, 6 x 2.
TEST(LoopStep, MemoryOfOneStepFollowsTheParallelSequences)
{
    Lstm net;
    Evaluator evaluator(net.network, {net.criterion}, Training(true));
    for (const std::vector<size_t>& lengths : {std::vector<size_t>{6, 5}, std::vector<size_t>{4, 3, 4},
                                               std::vector<size_t>{2, 2, 1, 2, 2, 2}, std::vector<size_t>{6, 6}})
    {
        net.SetSequences(lengths);
        net.FillInputs();
        evaluator.Forward();
        evaluator.Backward(net.criterion);
        EXPECT_EQ(net.network.Find("uf")->Value().columns, lengths.size());
        std::vector<double> all = ValueOf(net.criterion);
        for (const auto& parameter : evaluator.Parameters())
        {
            const std::vector<double> gradient = GradientOf(parameter);
            all.insert(all.end(), gradient.begin(), gradient.end());
        }
        Lstm fresh;
        fresh.SetSequences(lengths);
        fresh.FillInputs();
        ExpectNear(all, RunLstm(fresh, Training(false)));
    }
}

// Gradients inside a loop are not zeroed if the first contribution overwrites them.
TEST(LoopStep, PreviousGradientsAreOverwritten)
{
    Lstm net;
    Evaluator evaluator(net.network, {net.criterion}, Training(true));
    const auto run = [&](const std::vector<size_t>& lengths)
    {
        net.SetSequences(lengths);
        net.FillInputs();
        evaluator.Forward();
        evaluator.Backward(net.criterion);
        std::vector<double> all;
        for (const auto& parameter : evaluator.Parameters())
        {
            const std::vector<double> gradient = GradientOf(parameter);
            all.insert(all.end(), gradient.begin(), gradient.end());
        }
        return all;
    };
    const std::vector<double> first = run({4, 2, 3});
    run({5, 5});
    EXPECT_EQ(run({4, 2, 3}), first);
}

// One node is read twice by another node, one by a delay of two steps and by a node of the same step. The loop has a
// bias, a repeated row, and no element-wise node at its end.
TEST(LoopStep, ChainsOfAllKindsComputeTheSame)
{
    for (const char* type : {"PastValue", "FutureValue"})
    {
        TestNetwork net;
        const auto x = net.Input("x", {3});
        NodeParameters parameters;
        parameters.Set("rows", "3");
        const auto past = net.network.AddUnconnected(type, "past", parameters);
        parameters.Set("timeStep", "2");
        const auto older = net.network.AddUnconnected(type, "older", parameters);
        const auto product = net.Add("Times", "Wp", {net.Parameter("W", {3, 3}), past});
        const auto sum = net.Add("Plus", "s", {net.Add("Plus", "b+", {product, net.Parameter("b", {3, 1})}), x});
        const auto squared = net.Add("ElementTimes", "squared", {sum, sum});
        const auto scaled = net.Add("ElementTimes", "scaled", {net.Parameter("scale", {1, 1}), squared});
        const auto mixed = net.Add("Minus", "mixed", {net.Add("Tanh", "tanh", {scaled}), older});
        const auto h = net.Add("Sigmoid", "h", {net.Add("Plus", "m+", {mixed, net.Add("Abs", "abs", {mixed})})});
        const auto soft = net.Add("Softmax", "soft", {h});
        net.network.SetInputs(past, {soft});
        net.network.SetInputs(older, {mixed});
        const auto criterion = net.Add("TestCriterion", "criterion", {net.Add("Plus", "out", {soft, sum})});
        net.network.Validate();
        net.SetSequences({5, 1, 3});
        net.FillInputs();
        const auto run = [&](bool merged)
        {
            Evaluator evaluator(net.network, {criterion}, Training(merged));
            std::vector<double> all;
            for (int i = 0; i < 2; i++)
            {
                evaluator.Forward();
                evaluator.Backward(criterion);
                all = ValueOf(criterion);
                for (const auto& parameter : evaluator.Parameters())
                {
                    const std::vector<double> gradient = GradientOf(parameter);
                    all.insert(all.end(), gradient.begin(), gradient.end());
                }
            }
            return all;
        };
        ExpectNear(run(true), run(false));
    }
}

TEST(LoopStep, EvaluatorsTakeTurns)
{
    Lstm net;
    net.SetSequences({4, 2, 3});
    net.FillInputs();
    Evaluator merged(net.network, {net.criterion}, Training(true)),
        plain(net.network, {net.criterion}, Training(false));
    const auto run = [&](Evaluator& evaluator)
    {
        evaluator.Forward();
        evaluator.Backward(net.criterion);
        return GradientOf(net.network.Find("WRi"));
    };
    const std::vector<double> first = run(merged);
    ExpectNear(run(plain), first);
    ExpectNear(run(merged), first);
}

} // namespace cntk::Testing
