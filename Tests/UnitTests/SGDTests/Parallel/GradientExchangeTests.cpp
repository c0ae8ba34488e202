// Sums of the workers' gradients equal the gradient that one process computes from the whole minibatch.
#include "CommonTests/ThrownErrors.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "SGD/Parallel/GradientExchange.h"
#include "SGDTests/Parallel/ThreadWorkers.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <optional>

namespace cntk
{

namespace
{

using Words = std::vector<int32_t>;

// A table of six words, whose gradient has the columns of the minibatch's words, and a bias, whose gradient is dense.
struct Model
{
    Model() : network(DataType::Float64, MakeCpuDevice({.threads = 1}))
    {
        network.Layout()->InitAsFrameMode(1);
        x = std::dynamic_pointer_cast<InputValueNode>(network.AddInput("x", {6}, true));
        table = AddParameter("E", {2, 6});
        bias = AddParameter("b", {2});
        const auto sum = network.Add("Plus", "z", {network.Add("Times", "p", {table, x}), bias});
        criterion = network.Add("SumElements", "c", {network.Add("Tanh", "t", {sum})});
        network.Validate();
        evaluator.emplace(network, std::vector<ComputationNodePtr>{criterion},
                          EvaluatorOptions{.training = true, .keepValues = {}, .backwardRoot = criterion});
    }

    std::shared_ptr<LearnableParameterNode> AddParameter(const std::string& name, const TensorShape& shape)
    {
        auto node = std::dynamic_pointer_cast<LearnableParameterNode>(network.AddParameter(name, shape));
        std::vector<double> values(shape.Elements());
        for (size_t i = 0; i < values.size(); i++)
            values[i] = 0.1 * double(i % 7) - 0.3;
        node->Values().FromHost(values);
        return node;
    }

    void Backward(const Words& words)
    {
        network.Layout()->InitAsFrameMode(words.size());
        Words starts(words.size() + 1);
        for (size_t i = 0; i < starts.size(); i++)
            starts[i] = int32_t(i);
        const std::vector<double> ones(words.size(), 1.0);
        x->SetSparse(ones.data(), words.data(), starts.data(), 6, words.size());
        evaluator->Forward();
        evaluator->Backward(criterion);
    }

    ComputationNetwork network;
    std::shared_ptr<InputValueNode> x;
    std::shared_ptr<LearnableParameterNode> table, bias;
    ComputationNodePtr criterion;
    std::optional<Evaluator> evaluator;
};

struct Gradients
{
    explicit Gradients(Model& model) : touched(model.table->GradientColumns().columns)
    {
        for (const auto& node : model.evaluator->Parameters())
        {
            const MatrixView gradient = node->Gradient();
            std::vector<double> elements(gradient.Elements());
            gradient.device->CopyToHost(elements.data(), gradient.data, elements.size() * sizeof(double));
            values.insert(values.end(), elements.begin(), elements.end());
        }
    }

    Words touched; // columns of the table
    std::vector<double> values;
};

Gradients OfOneProcess(const Words& words)
{
    Model model;
    model.Backward(words);
    return Gradients(model);
}

void ExpectNear(const Gradients& sums, const Gradients& expected)
{
    EXPECT_EQ(sums.touched, expected.touched);
    ASSERT_EQ(sums.values.size(), expected.values.size());
    for (size_t i = 0; i < sums.values.size(); i++)
        EXPECT_NEAR(sums.values[i], expected.values[i], 1e-14) << "element " << i;
}

// Shares of three workers. The second worker has no data in the first minibatch, the first worker none in the second.
const std::vector<std::array<Words, 3>> c_minibatches = {
    {Words{4, 1}, Words{}, Words{4}}, {Words{}, Words{2, 2}, Words{0}}, {Words{5}, Words{5}, Words{5, 3}}};

Words WholeOf(const std::array<Words, 3>& shares)
{
    Words whole;
    for (const Words& share : shares)
        whole.insert(whole.end(), share.begin(), share.end());
    return whole;
}

void BackwardOrBind(Model& model, const Words& words)
{
    if (words.empty())
        model.evaluator->BindGradients();
    else
        model.Backward(words);
}

TEST(GradientExchange, SumsOfTouchedColumnsAndOfWorkersWithoutData)
{
    ThreadWorkers::Run(3,
                       [](Workers& workers)
                       {
                           Model model;
                           GradientExchange exchange(workers, model.evaluator->Parameters());
                           for (const auto& shares : c_minibatches)
                           {
                               const Words& own = shares[workers.Rank()];
                               BackwardOrBind(model, own);
                               const size_t columns = WholeOf(shares).size();
                               EXPECT_EQ(exchange.SumGradients(!own.empty(), columns), columns);
                               ExpectNear(Gradients(model), OfOneProcess(WholeOf(shares)));
                           }
                           EXPECT_EQ(exchange.LastGradients(), 0u);
                       });
}

TEST(GradientExchange, BufferedSumsComeAMinibatchLate)
{
    ThreadWorkers::Run(3,
                       [](Workers& workers)
                       {
                           Model model;
                           GradientExchange exchange(workers, model.evaluator->Parameters(), {}, true);
                           for (size_t i = 0; i <= c_minibatches.size(); i++)
                           {
                               size_t columns = 0;
                               if (i == c_minibatches.size())
                                   columns = exchange.LastGradients();
                               else
                               {
                                   const Words& own = c_minibatches[i][workers.Rank()];
                                   BackwardOrBind(model, own);
                                   columns = exchange.SumGradients(!own.empty(), WholeOf(c_minibatches[i]).size());
                               }
                               if (i == 0)
                               {
                                   EXPECT_EQ(columns, 0u);
                                   continue;
                               }
                               const Words before = WholeOf(c_minibatches[i - 1]);
                               EXPECT_EQ(columns, before.size());
                               ExpectNear(Gradients(model), OfOneProcess(before));
                           }
                           EXPECT_EQ(exchange.LastGradients(), 0u);
                           // Gradients of an interrupted epoch are not part of the next one.
                           model.Backward({1});
                           EXPECT_EQ(exchange.SumGradients(true, 3), 0u);
                           exchange.BeginEpoch();
                           EXPECT_EQ(exchange.LastGradients(), 0u);
                       });
}

// All workers get the same bits. Quantisation errors are added later, so the mean of many sums is close to the exact
// one.
TEST(GradientExchange, FewBitsMakeGradientsDenseAndLoseLittle)
{
    ThreadWorkers::Run(
        3,
        [](Workers& workers)
        {
            Model model;
            GradientExchange exchange(workers, model.evaluator->Parameters(), QuantizerSettings{2, true});
            std::vector<double> sums, expected;
            constexpr size_t c_times = 300;
            for (size_t i = 0; i < c_times; i++)
            {
                const auto& shares = c_minibatches[i % c_minibatches.size()];
                const Words& own = shares[workers.Rank()];
                BackwardOrBind(model, own);
                exchange.SumGradients(!own.empty(), WholeOf(shares).size());
                EXPECT_TRUE(model.table->GradientColumns().all);
                const Gradients now(model), whole = OfOneProcess(WholeOf(shares));
                sums.resize(now.values.size());
                expected.resize(now.values.size());
                for (size_t k = 0; k < sums.size(); k++)
                {
                    sums[k] += now.values[k];
                    expected[k] += whole.values[k];
                }
            }
            for (size_t k = 0; k < sums.size(); k++)
                EXPECT_NEAR(sums[k] / c_times, expected[k] / c_times, 0.05) << "element " << k;
            const std::vector<double> copy = sums;
            std::vector<double> ofFirst = sums;
            workers.TakeFirst(std::as_writable_bytes(std::span(ofFirst)));
            EXPECT_EQ(ofFirst, copy);
        });
}

TEST(GradientExchange, CountsAreSumsUnlessAWorkerFails)
{
    ThreadWorkers::Run(2,
                       [](Workers& workers)
                       {
                           Model model;
                           GradientExchange exchange(workers, model.evaluator->Parameters());
                           std::vector<double> numbers{double(workers.Rank()), 2};
                           exchange.Share(numbers);
                           EXPECT_EQ(numbers, (std::vector<double>{1, 4}));
                           std::optional<Error> error;
                           if (!workers.IsFirst())
                               error.emplace(ErrorKind::Data, "no such line");
                           EXPECT_EQ(MessageOf(ErrorKind::Data, [&] { exchange.Share(numbers, error); }),
                                     "no such line");
                           EXPECT_GE(exchange.TakeSeconds(), 0);
                       });
}

} // namespace

} // namespace cntk
