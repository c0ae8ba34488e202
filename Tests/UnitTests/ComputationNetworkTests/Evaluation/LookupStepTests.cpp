// Products of embedded words, computed for distinct words, agree with the node-by-node result.
#include "ComputationNetwork/GradientCheck.h"
#include "ComputationNetwork/Plan/MemoryPlan.h"
#include "ComputationNetworkTests/TestNetwork.h"
#include "Math/Cpu/CpuDevice.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace cntk::Testing
{

namespace
{

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double c_infinity = std::numeric_limits<double>::infinity();

// One sample's words and their values; usually one word of value 1.
using Sample = std::vector<std::pair<int32_t, double>>;

std::vector<Sample> OneHot(const std::vector<int32_t>& words)
{
    std::vector<Sample> samples;
    for (const int32_t word : words)
        samples.push_back({{word, 1}});
    return samples;
}

void SetSamples(const ComputationNodePtr& node, const std::vector<Sample>& samples)
{
    std::vector<double> values;
    std::vector<int32_t> rows, starts{0};
    for (const Sample& sample : samples)
    {
        for (const auto& [row, value] : sample)
        {
            rows.push_back(row);
            values.push_back(value);
        }
        starts.push_back(int32_t(rows.size()));
    }
    auto& input = dynamic_cast<InputValueNode&>(*node);
    input.SetSparse(values.data(), rows.data(), starts.data(), node->SampleElements(), samples.size());
}

// Samples of several words below one another.
std::vector<Sample> Windows(const std::vector<std::vector<int32_t>>& words, size_t vocabulary = 7)
{
    std::vector<Sample> samples;
    for (const std::vector<int32_t>& window : words)
    {
        samples.emplace_back();
        for (size_t i = 0; i < window.size(); i++)
            samples.back().push_back({int32_t(vocabulary * i) + window[i], 1});
    }
    return samples;
}

// All chains that can follow a product of the embedding: a loop, a bias, a bias with a non-linearity.
struct EmbeddedWords : TestNetwork
{
    explicit EmbeddedWords(size_t wordsOfSample = 1)
    {
        x = network.AddInput("x", {7 * wordsOfSample}, true);
        table = Parameter("E", {3, 7});
        embedding = Add("LookupTable", "emb", {table, x});
        const auto product = [&](const std::string& name) {
            return Add("Times", "X" + name, {Parameter("W" + name, {4, 3 * wordsOfSample}), embedding});
        };
        const auto biased = [&](const std::string& name) {
            return Add("Plus", "z" + name, {product(name), Parameter("b" + name, {4, 1})});
        };
        NodeParameters rows;
        rows.Set("rows", "4");
        past = network.AddUnconnected("PastValue", "past", rows);
        const auto gate = Add("Sigmoid", "gate", {biased("i")});
        const auto recurrent = Add("Times", "Rh", {Parameter("R", {4, 4}), past});
        const auto inner = Add("Tanh", "inner", {Add("Plus", "sum", {product("c"), recurrent})});
        const auto gated = Add("ElementTimes", "gated", {inner, gate});
        h = Add("Plus", "h", {gated, Add("Plus", "t", {recurrent, biased("o")})});
        network.SetInputs(past, {h});
        criterion = Add("TestCriterion", "criterion", {Add("Times", "y", {Parameter("V", {2, 4}), h})});
        network.Validate();
    }

    ComputationNodePtr x, table, embedding, past, h, criterion;
};

void Append(std::vector<double>& all, const std::vector<double>& more)
{
    all.insert(all.end(), more.begin(), more.end());
}

// The criterion and all gradients.
std::vector<double> RunOn(TestNetwork& net, const ComputationNodePtr& criterion, const EvaluatorOptions& options)
{
    Evaluator evaluator(net.network, {criterion}, options);
    EXPECT_EQ(evaluator.Plan().ToString().find("lookup: ") != std::string::npos, options.fuse);
    evaluator.Forward();
    evaluator.Backward(criterion);
    std::vector<double> all = ValueOf(criterion);
    for (const auto& parameter : evaluator.Parameters())
        Append(all, GradientOf(parameter));
    return all;
}

void ExpectTheSame(EmbeddedWords& net, const std::vector<size_t>& lengths, const std::vector<Sample>& samples)
{
    net.SetSequences(lengths);
    SetSamples(net.x, samples);
    ExpectNear(RunOn(net, net.criterion, Training(true)), RunOn(net, net.criterion, Training(false)));
}

std::string PlanOf(const std::vector<ComputationNodePtr>& roots, const std::vector<ComputationNodePtr>& kept = {})
{
    return EvaluationPlan::Build(roots, {.training = false, .fuse = true, .backwardRoot = {}, .keepValues = kept})
        .ToString();
}

} // namespace

// ---- the plan ----

TEST(LookupStep, AreOneStepWithTheirBiases)
{
    EmbeddedWords net;
    EXPECT_THAT(PlanOf({net.criterion}), HasSubstr("lookup: emb, Xc, Xi, zi, gate, Xo, zo\n"));
}

TEST(LookupStep, NotWhereSomebodyWantsTheEmbedding)
{
    EmbeddedWords net;
    EXPECT_THAT(PlanOf({net.criterion, net.embedding}), Not(HasSubstr("lookup: ")));
    EXPECT_THAT(PlanOf({net.criterion}, {net.embedding}), Not(HasSubstr("lookup: ")));
    const auto reader = net.Add("Tanh", "reader", {net.embedding});
    net.network.Validate();
    EXPECT_THAT(PlanOf({net.criterion, reader}), Not(HasSubstr("lookup: ")));
    EXPECT_THAT(PlanOf({net.criterion}), HasSubstr("lookup: ")) << "of these roots nobody else reads it";
}

TEST(LookupStep, OfOneWordOrSeveralButNotOfDenseOnes)
{
    TestNetwork net;
    const auto table = net.Parameter("E", {3, 7});
    const auto product = [&](const std::string& name, const ComputationNodePtr& x, size_t inner)
    {
        const auto lookup = net.Add("LookupTable", "emb" + name, {table, x});
        return net.Add("Times", "X" + name, {net.Parameter("W" + name, {2, inner}), lookup});
    };
    const auto two = product("two", net.network.AddInput("xx", {14}, true), 6);
    const auto dense = product("dense", net.Input("d", {7}), 3);
    const auto one = product("one", net.network.AddInput("x", {7}, true), 3);
    net.network.Validate();
    EXPECT_EQ(PlanOf({two}), "Wtwo\nE\nxx\nlookup: embtwo, Xtwo\n");
    EXPECT_THAT(PlanOf({dense}), Not(HasSubstr("lookup: ")));
    EXPECT_EQ(PlanOf({one}), "Wone\nE\nx\nlookup: embone, Xone\n");
}

// The weight of the second product is computed, and is not available at the place of the first product.
TEST(LookupStep, NotWhereAWeightIsComputed)
{
    TestNetwork net;
    const auto x = net.network.AddInput("x", {7}, true);
    const auto lookup = net.Add("LookupTable", "emb", {net.Parameter("E", {3, 7}), x});
    const auto first = net.Add("Times", "first", {net.Parameter("W", {2, 3}), lookup});
    const auto computed = net.Add("Tanh", "computed", {net.Parameter("V", {2, 3})});
    const auto second = net.Add("Times", "second", {computed, lookup});
    net.network.Validate();
    EXPECT_THAT(PlanOf({first, second}), Not(HasSubstr("lookup: ")));
}

TEST(Checker, RejectsReadersOfAnEmbeddingThatIsNotThere)
{
    TestNetwork net;
    const auto x = net.network.AddInput("x", {7}, true);
    const auto table = net.Parameter("E", {3, 7}), weight = net.Parameter("W", {2, 3});
    const auto lookup = net.Add("LookupTable", "emb", {table, x});
    const auto product = net.Add("Times", "p", {weight, lookup});
    const auto other = net.Add("Tanh", "other", {lookup});
    net.network.Validate();
    std::vector<PlanStep> steps;
    for (const auto& leaf : {x, table, weight})
        steps.push_back({PlanStep::Kind::Node, {leaf}, ElementwiseOp::Copy, +1});
    steps.push_back({PlanStep::Kind::Lookup, {lookup, product}, ElementwiseOp::Copy, +1});
    steps.push_back({PlanStep::Kind::Node, {other}, ElementwiseOp::Copy, +1});
    const EvaluationPlan plan = EvaluationPlan::FromSteps(steps, {product, other});
    EXPECT_EQ(MessageOf(
                  [&] {
                      CheckPlan(plan, MemoryPlan::Build(plan, {true, true, {}}));
                  }),
              "wrong evaluation plan: node 'other' reads the value of 'emb', which is fused away");
}

TEST(LookupStep, TheEmbeddingHasNoMemoryOfThePlan)
{
    EmbeddedWords net;
    const EvaluationPlan plan =
        EvaluationPlan::Build({net.criterion}, {.training = true, .fuse = true, .backwardRoot = {}, .keepValues = {}});
    const MemoryPlan memory = MemoryPlan::Build(plan, {true, true, {}});
    EXPECT_EQ(memory.SlotOfValue(net.embedding.get()), MemoryPlan::c_none);
    EXPECT_EQ(memory.SlotOfGradient(net.embedding.get()), MemoryPlan::c_none);
    EXPECT_NE(memory.SlotOfGradient(net.table.get()), MemoryPlan::c_none);
}

// ---- numbers ----

TEST(LookupStep, ComputeWhatTheNodesCompute)
{
    EmbeddedWords net;
    ExpectTheSame(net, {3, 3}, OneHot({1, 5, 1, 1, 0, 5}));
    ExpectTheSame(net, {1, 1, 1, 1}, OneHot({6, 2, 0, 4})); // all of them differ
    ExpectTheSame(net, {5}, OneHot({3, 3, 3, 3, 3}));
}

TEST(LookupStep, GapsAddNothing)
{
    EmbeddedWords net;
    // Columns of parallel sequences, step by step: gaps at 4, 7 and 8.
    ExpectTheSame(net, {3, 1, 2}, OneHot({1, 5, 1, 2, 6, 1, 5, 0, 2}));
    // A gap without a word, as readers produce it, and a gap with words that occur nowhere else.
    std::vector<Sample> samples = OneHot({1, 5, 1, 2, 6, 1, 5, 0, 2});
    samples[4] = {};
    samples[7] = {{3, 1}, {4, 1}};
    ExpectTheSame(net, {3, 1, 2}, samples);
}

// Values in gaps that are NaN or infinite must not be multiplied by zeros in a product.
TEST(LookupStep, WordsOfGapsMayBeAnything)
{
    EmbeddedWords net;
    std::vector<double> table = std::dynamic_pointer_cast<LearnableParameterNode>(net.table)->Values().ToHost();
    table[3 * 6] = c_infinity; // word 6
    std::dynamic_pointer_cast<LearnableParameterNode>(net.table)->Values().FromHost(table);
    net.SetSequences({3, 1});
    SetSamples(net.x, OneHot({1, 5, 1, 6, 2, 6}));
    Evaluator evaluator(net.network, {net.criterion}, Training(true));
    evaluator.Forward();
    evaluator.Backward(net.criterion);
    for (const auto& parameter : evaluator.Parameters())
        for (const double value : GradientOf(parameter))
            EXPECT_TRUE(std::isfinite(value)) << parameter->Name();
}

TEST(LookupStep, SamplesNeedNotBeOneHot)
{
    EmbeddedWords net;
    const Sample half{{2, 0.5}}, whole{{2, 1}}, both{{2, 1}, {4, -3}}, none{}, nothing{{2, 0}};
    ExpectTheSame(net, {4, 4}, {half, whole, both, none, half, both, nothing, none});
}

// Windows of three words. Repeating words are multiplied separately; otherwise whole windows are multiplied.
TEST(LookupStep, WordsOfWindowsRepeat)
{
    EmbeddedWords net(3);
    ExpectTheSame(net, {3, 3}, Windows({{1, 5, 1}, {1, 5, 2}, {2, 5, 1}, {1, 0, 1}, {1, 5, 1}, {2, 0, 2}}));
    ExpectTheSame(net, {1, 1, 1, 1}, Windows({{6, 2, 0}, {2, 0, 4}, {0, 4, 1}, {4, 1, 3}})); // all of them differ
    ExpectTheSame(net, {2, 2}, Windows({{3, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}}));
    // Gaps at 4, 7 and 8: without words, with several words, and with repeated words as readers produce them.
    std::vector<Sample> samples = Windows({{1, 5, 1}, {1, 5, 2}, {2, 5, 1}, {1, 0, 1}, {}, {2, 0, 2}, {1, 5, 1}});
    samples.push_back({{3, 1}, {4, 1}, {20, 2}});
    samples.push_back(samples.front());
    ExpectTheSame(net, {3, 1, 2}, samples);
    // Samples that lack the first, the second or all words, and a sample with two words in one place.
    ExpectTheSame(net, {3, 3},
                  {{{8, 1}, {15, 1}},
                   {{1, 1}, {15, 1}},
                   {},
                   {{1, 0.5}, {2, -1}, {8, 1}, {15, 1}},
                   {{1, 0.5}, {2, -1}, {8, 1}},
                   {{1, 1}, {8, 1}, {15, 3}}});
}

// Minibatches alternate between repeating words, looked up separately, and distinct words, looked up as whole windows.
TEST(LookupStep, GradientsOfWindowsAgreeWithDifferences)
{
    EmbeddedWords net(2);
    Evaluator evaluator(net.network, {net.criterion}, Training(true));
    for (const std::vector<std::vector<int32_t>>& words :
         {std::vector<std::vector<int32_t>>{{1, 5}, {1, 5}, {1, 1}, {0, 5}, {1, 5}, {0, 1}},
          {{1, 5}, {2, 4}, {3, 3}, {4, 2}, {5, 1}, {6, 0}},
          {{6, 6}, {2, 6}, {6, 2}, {6, 6}, {2, 6}, {6, 6}}})
    {
        net.SetSequences({2, 2, 1});
        SetSamples(net.x, Windows(words));
        for (const GradientComparison& one : CompareGradients(evaluator, net.criterion))
            EXPECT_NEAR(one.backpropagated, one.numeric, 1e-6 * std::max(1.0, std::abs(one.numeric)))
                << one.parameter->Name() << " (" << one.row << ", " << one.column << ")";
    }
}

TEST(LookupStep, MinibatchesMayBeEmpty)
{
    for (const size_t words : {1, 2})
    {
        TestNetwork net;
        const auto x = net.network.AddInput("x", {7 * words}, true);
        const auto lookup = net.Add("LookupTable", "emb", {net.Parameter("E", {3, 7}), x});
        const auto product = net.Add("Times", "p", {net.Parameter("W", {2, 3 * words}), lookup});
        const auto criterion = net.Add("TestCriterion", "criterion", {product});
        net.network.Validate();
        Evaluator evaluator(net.network, {criterion}, Training(true));
        for (const size_t samples : {2, 0, 3})
        {
            net.SetFrames(samples);
            SetSamples(x, Windows(std::vector(samples, std::vector<int32_t>(words, 4))));
            evaluator.Forward();
            evaluator.Backward(criterion);
            for (const auto& parameter : evaluator.Parameters())
            {
                const std::vector<double> gradient = GradientOf(parameter);
                EXPECT_EQ(std::all_of(gradient.begin(), gradient.end(), [](double value) { return value == 0; }),
                          samples == 0)
                    << parameter->Name();
            }
        }
    }
}

TEST(LookupStep, GradientsAgreeWithDifferences)
{
    EmbeddedWords net;
    Evaluator evaluator(net.network, {net.criterion}, Training(true));
    for (const std::vector<size_t>& lengths : {std::vector<size_t>{4}, std::vector<size_t>{4, 2, 3}})
    {
        net.SetSequences(lengths);
        std::vector<Sample> samples = OneHot({1, 5, 1, 1, 0, 5, 1, 2, 2, 6, 0, 3});
        samples.resize(4 * lengths.size());
        SetSamples(net.x, samples);
        for (const GradientComparison& one : CompareGradients(evaluator, net.criterion))
            EXPECT_NEAR(one.backpropagated, one.numeric, 1e-6 * std::max(1.0, std::abs(one.numeric)))
                << one.parameter->Name() << " (" << one.row << ", " << one.column << ")";
    }
}

// The bits of a column depend only on its words, not on the thread or on the other columns. Sizes at which threads
// divide the products.
TEST(LookupStep, ThreadsGiveTheSameBits)
{
    for (const size_t wordsOfSample : {1, 3})
    {
        std::vector<std::vector<int32_t>> words(2000, std::vector<int32_t>(wordsOfSample));
        for (size_t i = 0; i < words.size(); i++)
            for (size_t word = 0; word < wordsOfSample; word++)
                words[i][word] = int32_t((i + word) * (i + word) % 1009 % 900);
        std::vector<std::vector<double>> results;
        for (const int threads : {1, 2, 4})
        {
            TestNetwork net(DataType::Float32, MakeCpuDeviceWith(BestInstructionSet(), threads));
            const auto x = net.network.AddInput("x", {900 * wordsOfSample}, true);
            const auto lookup = net.Add("LookupTable", "emb", {net.Parameter("E", {50, 900}), x});
            const auto product = net.Add("Times", "p", {net.Parameter("W", {170, 50 * wordsOfSample}), lookup});
            const auto other = net.Add("Times", "q", {net.Parameter("V", {170, 50 * wordsOfSample}), lookup});
            const auto sum = net.Add("Plus", "sum", {other, net.Parameter("b", {170, 1})});
            const auto criterion = net.Add("TestCriterion", "criterion", {net.Add("Plus", "both", {product, sum})});
            net.network.Validate();
            net.SetFrames(words.size());
            SetSamples(x, Windows(words, 900));
            EXPECT_THAT(PlanOf({criterion}), HasSubstr("lookup: emb, p, q, sum\n"));
            results.push_back(RunOn(net, criterion, Training(true)));
            Append(results.back(), ValueOf(product));
            Append(results.back(), ValueOf(sum));
        }
        EXPECT_EQ(results[0], results[1]);
        EXPECT_EQ(results[0], results[2]);
    }
}

// ---- gradients with other contributions, and unneeded gradients ----

TEST(LookupStep, PartsOfAMinibatchAddUp)
{
    for (const size_t words : {1, 3})
    {
        EmbeddedWords net(words);
        const auto gradients = [&](bool fuse)
        {
            Evaluator evaluator(net.network, {net.criterion}, Training(fuse));
            std::vector<double> all;
            for (int part = 0; part < 3; part++) // the third begins anew
            {
                net.SetSequences({2, 2});
                std::vector<std::vector<int32_t>> windows;
                for (const int32_t word :
                     part == 1 ? std::vector<int32_t>{1, 6, 6, 2} : std::vector<int32_t>{1, 5, 1, 1})
                    windows.emplace_back(words, word);
                SetSamples(net.x, Windows(windows));
                evaluator.Forward();
                if (part == 1)
                    evaluator.BackwardAccumulate(net.criterion);
                else
                    evaluator.Backward(net.criterion);
                for (const auto& parameter : evaluator.Parameters())
                    Append(all, GradientOf(parameter));
            }
            return all;
        };
        ExpectNear(gradients(true), gradients(false));
    }
}

TEST(LookupStep, OnlyTheColumnsOfWordsAreTouched)
{
    EmbeddedWords net;
    net.SetSequences({3, 2});
    SetSamples(net.x, OneHot({1, 5, 1, 1, 0, 6}));
    Evaluator evaluator(net.network, {net.criterion}, Training(true));
    evaluator.Forward();
    evaluator.Backward(net.criterion);
    EXPECT_FALSE(net.table->GradientColumns().all);
    EXPECT_EQ(net.table->GradientColumns().columns, (std::vector<int32_t>{0, 1, 5})) << "6 is in a gap";

    EmbeddedWords windows(2);
    windows.SetSequences({3, 2});
    SetSamples(windows.x, Windows({{1, 5}, {1, 5}, {1, 5}, {1, 5}, {4, 5}, {6, 6}}));
    Evaluator ofWindows(windows.network, {windows.criterion}, Training(true));
    ofWindows.Forward();
    ofWindows.Backward(windows.criterion);
    EXPECT_FALSE(windows.table->GradientColumns().all);
    EXPECT_EQ(windows.table->GradientColumns().columns, (std::vector<int32_t>{1, 4, 5}));
}

// Another product shares the weights with other words: all columns hold a gradient, not only those of these words.
TEST(LookupStep, AWeightMayBeThatOfOtherWordsToo)
{
    for (const bool areOthersFirst : {false, true})
    {
        TestNetwork net;
        const auto words = net.network.AddInput("words", {7}, true), others = net.network.AddInput("others", {3}, true);
        const auto weight = net.Parameter("W", {4, 3});
        const auto ofOthers = net.Add("Times", "ofOthers", {weight, others});
        const auto product =
            net.Add("Times", "product", {weight, net.Add("LookupTable", "emb", {net.Parameter("E", {3, 7}), words})});
        const auto sum = areOthersFirst ? net.Add("ElementTimes", "sum", {ofOthers, product})
                                        : net.Add("ElementTimes", "sum", {product, ofOthers});
        const auto criterion = net.Add("TestCriterion", "criterion", {sum});
        net.network.Validate();
        net.SetSequences({2, 2});
        SetSamples(words, OneHot({1, 5, 1, 0}));
        EXPECT_THAT(PlanOf({criterion}), HasSubstr("lookup: emb, product\n"));
        Evaluator evaluator(net.network, {criterion}, Training(true));
        for (const int32_t other : {2, 0}) // nothing is left of the minibatch before
        {
            SetSamples(others, OneHot({other, other, other, other}));
            ExpectGradientsAgree(evaluator, criterion);
            EXPECT_TRUE(weight->GradientColumns().all);
        }
    }
}

// Two inputs share the table and a weight, one product occurs twice, and the table is also an ordinary factor.
TEST(LookupStep, TablesAndWeightsMayBeShared)
{
    TestNetwork net;
    const auto table = net.Parameter("E", {3, 7}), shared = net.Parameter("W", {4, 3});
    const auto a = net.network.AddInput("wordsA", {7}, true), b = net.network.AddInput("wordsB", {7}, true);
    const auto first = net.Add("LookupTable", "first", {table, a}),
               second = net.Add("LookupTable", "second", {table, b});
    const auto times = [&](const std::string& name, const ComputationNodePtr& weight, const ComputationNodePtr& of) {
        return net.Add("Times", name, {weight, of});
    };
    const auto plus = [&](const std::string& name, const ComputationNodePtr& left, const ComputationNodePtr& right) {
        return net.Add("Plus", name, {left, right});
    };
    const auto twice = plus("twice", times("p", shared, first), times("q", shared, first));
    const auto sum =
        plus("sum", twice, plus("other", times("r", shared, second), times("s", net.Parameter("V", {4, 3}), second)));
    const auto scores = net.Add("TransposeTimes", "scores", {table, times("back", net.Parameter("U", {3, 4}), sum)});
    const auto criterion = net.Add("TestCriterion", "criterion", {scores});
    net.network.Validate();
    net.SetSequences({3, 2});
    SetSamples(a, OneHot({1, 5, 1, 1, 0, 6}));
    SetSamples(b, OneHot({2, 2, 1, 3, 3, 2}));
    EXPECT_THAT(PlanOf({criterion}), HasSubstr("lookup: first, p, q\n"));
    EXPECT_THAT(PlanOf({criterion}), HasSubstr("lookup: second, r, s\n"));
    ExpectNear(RunOn(net, criterion, Training(true)), RunOn(net, criterion, Training(false)));
    EvaluatorOptions apart = Training(true); // no gradient is another's memory
    apart.shareMemory = false;
    ExpectNear(RunOn(net, criterion, apart), RunOn(net, criterion, Training(false)));
}

// A product's weight gradient waits for those of the other products. The gradient of the same column as a bias does
// not.
TEST(LookupStep, AWeightMayBeABiasToo)
{
    TestNetwork net;
    const auto words = net.network.AddInput("words", {7}, true), weight = net.Parameter("W", {4, 1});
    const auto embedding = net.Add("LookupTable", "embedding", {net.Parameter("E", {1, 7}), words});
    const auto first =
        net.Add("Plus", "first", {net.Add("Times", "p", {net.Parameter("V", {4, 1}), embedding}), weight});
    const auto second =
        net.Add("Plus", "second", {net.Add("Times", "q", {weight, embedding}), net.Parameter("b", {4, 1})});
    const auto criterion = net.Add("TestCriterion", "criterion", {net.Add("ElementTimes", "both", {first, second})});
    net.network.Validate();
    net.SetSequences({3, 2});
    SetSamples(words, OneHot({1, 5, 1, 1, 0, 6}));
    EXPECT_THAT(PlanOf({criterion}), HasSubstr("lookup: embedding, p, first, q, second\n"));
    Evaluator evaluator(net.network, {criterion}, Training(true));
    ExpectGradientsAgree(evaluator, criterion);
}

TEST(LookupStep, ParametersMayBeFixed)
{
    for (const std::vector<std::string>& fixed :
         {std::vector<std::string>{"E"}, {"Wi"}, {"E", "Wi", "bi"}, {"Wi", "Wc", "Wo"}, {"E", "Wi", "Wc", "Wo"}})
    {
        EmbeddedWords net;
        for (const std::string& name : fixed)
            std::dynamic_pointer_cast<LearnableParameterNode>(net.network.Find(name))->SetLearningRateMultiplier(0);
        ExpectTheSame(net, {3, 2}, OneHot({1, 5, 1, 1, 0, 6}));
        EmbeddedWords windows(2);
        for (const std::string& name : fixed)
            std::dynamic_pointer_cast<LearnableParameterNode>(windows.network.Find(name))->SetLearningRateMultiplier(0);
        ExpectTheSame(windows, {3, 2}, Windows({{1, 5}, {1, 1}, {1, 5}, {1, 1}, {1, 5}, {6, 1}}));
    }
}

// A product that is evaluated next to the criterion has a value and no gradient.
TEST(LookupStep, ProductsMayBeEvaluatedOnly)
{
    EmbeddedWords net;
    const auto extra = net.Add("Times", "extra", {net.Parameter("Wextra", {2, 3}), net.embedding});
    net.network.Validate();
    net.SetSequences({3, 2});
    SetSamples(net.x, OneHot({1, 5, 1, 1, 0, 6}));
    std::vector<std::vector<double>> results;
    for (const bool fuse : {true, false})
    {
        Evaluator evaluator(net.network, {extra, net.criterion}, Training(fuse));
        evaluator.Forward();
        evaluator.Backward(net.criterion);
        results.push_back(ValueOf(extra));
        for (const auto& parameter : evaluator.Parameters())
            Append(results.back(), GradientOf(parameter));
    }
    ExpectNear(results[0], results[1]);
}

// ---- memory ----

TEST(LookupStep, AllocateOnlyForLargerMinibatches)
{
    EmbeddedWords net;
    Evaluator evaluator(net.network, {net.criterion}, Training(true));
    const auto run = [&](const std::vector<int32_t>& words)
    {
        net.SetSequences({words.size()});
        SetSamples(net.x, OneHot(words));
        evaluator.Forward();
        evaluator.Backward(net.criterion);
        return evaluator.BytesAllocated();
    };
    const size_t large = run({1, 1, 1, 1, 1});
    EXPECT_EQ(run({1, 2}), large);
    EXPECT_EQ(run({0, 1, 2, 3, 4}), large) << "more words, but not more samples";
    EXPECT_GT(run({0, 1, 2, 3, 4, 5}), large);
}

} // namespace cntk::Testing
