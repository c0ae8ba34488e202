// Products of embedded words, computed for the words that differ, are what each node alone would compute.
#include "ComputationNetwork/DistinctColumns.h"
#include "ComputationNetwork/GradientCheck.h"
#include "ComputationNetwork/MemoryPlan.h"
#include "ComputationNetworkTests/TestNetwork.h"
#include "Math/Cpu/CpuDevice.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

namespace cntk::Testing
{

namespace
{

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double c_infinity = std::numeric_limits<double>::infinity();

// One sample's words and their values; most often one word of value 1.
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

// Every way in which a product of the embedding can go on: into a loop, with a bias, with a non-linearity behind that.
struct EmbeddedWords : TestNetwork
{
    EmbeddedWords()
    {
        x = network.AddInput("x", {7}, true);
        table = Parameter("E", {3, 7});
        embedding = Add("LookupTable", "emb", {table, x});
        const auto product = [&](const std::string& name) {
            return Add("Times", "X" + name, {Parameter("W" + name, {4, 3}), embedding});
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

TEST(LookupProducts, AreOneStepWithTheirBiases)
{
    EmbeddedWords net;
    EXPECT_THAT(PlanOf({net.criterion}), HasSubstr("lookup: emb, Xc, Xi, zi, gate, Xo, zo\n"));
}

TEST(LookupProducts, NotWhereSomebodyWantsTheEmbedding)
{
    EmbeddedWords net;
    EXPECT_THAT(PlanOf({net.criterion, net.embedding}), Not(HasSubstr("lookup: ")));
    EXPECT_THAT(PlanOf({net.criterion}, {net.embedding}), Not(HasSubstr("lookup: ")));
    const auto reader = net.Add("Tanh", "reader", {net.embedding});
    net.network.Validate();
    EXPECT_THAT(PlanOf({net.criterion, reader}), Not(HasSubstr("lookup: ")));
    EXPECT_THAT(PlanOf({net.criterion}), HasSubstr("lookup: ")) << "of these roots nobody else reads it";
}

TEST(LookupProducts, NotOfSeveralWordsNorOfDenseOnes)
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
    EXPECT_THAT(PlanOf({two}), Not(HasSubstr("lookup: ")));
    EXPECT_THAT(PlanOf({dense}), Not(HasSubstr("lookup: ")));
    EXPECT_EQ(PlanOf({one}), "Wone\nE\nx\nlookup: embone, Xone\n");
}

// The weight of the second product is itself computed, and is not there yet where the first product stands.
TEST(LookupProducts, NotWhereAWeightIsComputed)
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

TEST(LookupProducts, TheEmbeddingHasNoMemoryOfThePlan)
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

TEST(LookupProducts, ComputeWhatTheNodesCompute)
{
    EmbeddedWords net;
    ExpectTheSame(net, {3, 3}, OneHot({1, 5, 1, 1, 0, 5}));
    ExpectTheSame(net, {1, 1, 1, 1}, OneHot({6, 2, 0, 4})); // all of them differ
    ExpectTheSame(net, {5}, OneHot({3, 3, 3, 3, 3}));
}

TEST(LookupProducts, GapsAddNothing)
{
    EmbeddedWords net;
    // Columns are sequences side by side, step by step: gaps at 4, 7 and 8.
    ExpectTheSame(net, {3, 1, 2}, OneHot({1, 5, 1, 2, 6, 1, 5, 0, 2}));
    // A gap without a word, as readers leave them, and one of words that are nowhere else.
    std::vector<Sample> samples = OneHot({1, 5, 1, 2, 6, 1, 5, 0, 2});
    samples[4] = {};
    samples[7] = {{3, 1}, {4, 1}};
    ExpectTheSame(net, {3, 1, 2}, samples);
}

// What is not finite in a gap alone must not meet zeros in a product.
TEST(LookupProducts, WordsOfGapsMayBeAnything)
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

TEST(LookupProducts, SamplesNeedNotBeOneHot)
{
    EmbeddedWords net;
    const Sample half{{2, 0.5}}, whole{{2, 1}}, both{{2, 1}, {4, -3}}, none{}, nothing{{2, 0}};
    ExpectTheSame(net, {4, 4}, {half, whole, both, none, half, both, nothing, none});
}

TEST(LookupProducts, MinibatchesMayBeEmpty)
{
    TestNetwork net;
    const auto x = net.network.AddInput("x", {7}, true);
    const auto lookup = net.Add("LookupTable", "emb", {net.Parameter("E", {3, 7}), x});
    const auto product = net.Add("Times", "p", {net.Parameter("W", {2, 3}), lookup});
    const auto criterion = net.Add("TestCriterion", "criterion", {product});
    net.network.Validate();
    Evaluator evaluator(net.network, {criterion}, Training(true));
    for (const size_t samples : {2, 0, 3})
    {
        net.SetFrames(samples);
        SetSamples(x, OneHot(std::vector<int32_t>(samples, 4)));
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

TEST(LookupProducts, GradientsAgreeWithDifferences)
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

// The bits of a column depend on its word alone, whoever computes it beside which others: sizes at which threads share
// out the products.
TEST(LookupProducts, ThreadsGiveTheSameBits)
{
    std::vector<int32_t> words(2000);
    for (size_t i = 0; i < words.size(); i++)
        words[i] = int32_t(i * i % 1009 % 900);
    std::vector<std::vector<double>> results;
    for (const int threads : {1, 4})
    {
        TestNetwork net(DataType::Float32, MakeCpuDeviceWith(BestInstructionSet(), threads));
        const auto x = net.network.AddInput("x", {900}, true);
        const auto lookup = net.Add("LookupTable", "emb", {net.Parameter("E", {150, 900}), x});
        const auto product = net.Add("Times", "p", {net.Parameter("W", {170, 150}), lookup});
        const auto other = net.Add("Times", "q", {net.Parameter("V", {170, 150}), lookup});
        const auto sum = net.Add("Plus", "sum", {other, net.Parameter("b", {170, 1})});
        net.network.Validate();
        net.SetFrames(words.size());
        SetSamples(x, OneHot(words));
        Evaluator evaluator(net.network, {product, sum}, {});
        EXPECT_THAT(evaluator.Plan().ToString(), HasSubstr("lookup: emb, p, q, sum\n"));
        evaluator.Forward();
        std::vector<double> all = ValueOf(product);
        Append(all, ValueOf(sum));
        results.push_back(all);
    }
    EXPECT_EQ(results[0], results[1]);
}

// ---- gradients that others add to, and those that nobody wants ----

TEST(LookupProducts, PartsOfAMinibatchAddUp)
{
    EmbeddedWords net;
    const auto gradients = [&](bool fuse)
    {
        Evaluator evaluator(net.network, {net.criterion}, Training(fuse));
        std::vector<double> all;
        for (int part = 0; part < 3; part++) // the third begins anew
        {
            net.SetSequences({2, 2});
            SetSamples(net.x, OneHot(part == 1 ? std::vector<int32_t>{1, 6, 6, 2} : std::vector<int32_t>{1, 5, 1, 1}));
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

TEST(LookupProducts, OnlyTheColumnsOfWordsAreTouched)
{
    EmbeddedWords net;
    net.SetSequences({3, 2});
    SetSamples(net.x, OneHot({1, 5, 1, 1, 0, 6}));
    Evaluator evaluator(net.network, {net.criterion}, Training(true));
    evaluator.Forward();
    evaluator.Backward(net.criterion);
    EXPECT_FALSE(net.table->GradientColumns().all);
    EXPECT_EQ(net.table->GradientColumns().columns, (std::vector<int32_t>{0, 1, 5})) << "6 is in a gap";
}

// Two inputs share the table and a weight, one product is there twice, and the table is an ordinary factor, too.
TEST(LookupProducts, TablesAndWeightsMayBeShared)
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

TEST(LookupProducts, ParametersMayBeFixed)
{
    for (const std::vector<std::string>& fixed :
         {std::vector<std::string>{"E"}, {"Wi"}, {"E", "Wi", "bi"}, {"Wi", "Wc", "Wo"}, {"E", "Wi", "Wc", "Wo"}})
    {
        EmbeddedWords net;
        for (const std::string& name : fixed)
            std::dynamic_pointer_cast<LearnableParameterNode>(net.network.Find(name))->SetLearningRateMultiplier(0);
        ExpectTheSame(net, {3, 2}, OneHot({1, 5, 1, 1, 0, 6}));
    }
}

// A product that is evaluated beside the criterion has a value and no gradient.
TEST(LookupProducts, ProductsMayBeEvaluatedOnly)
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

TEST(LookupProducts, AllocateOnlyForLargerMinibatches)
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

TEST(DistinctColumns, ThoseOfDataComeFirst)
{
    const auto device = MakeCpuDevice({.threads = 1});
    SparseMatrix matrix(DataType::Float64, *device);
    // 4 | 4 | 1 (a gap) | 0 and 4 | 2 of value 3 | 4 (a gap) | 2 of value 3 | nothing
    const std::vector<double> values{1, 1, 1, 1, 1, 3, 1, 3};
    const std::vector<int32_t> rows{4, 4, 1, 0, 4, 2, 4, 2}, starts{0, 1, 2, 3, 5, 6, 7, 8, 8};
    matrix.FromHost(5, 8, values.data(), rows, starts);
    const std::vector<uint8_t> mask{1, 1, 0, 1, 1, 0, 1, 1};
    DistinctColumns distinct;
    distinct.Find(matrix, mask);
    ASSERT_EQ(distinct.Count(), 5u);
    EXPECT_EQ(distinct.CountOfData(), 4u);
    const std::vector<int32_t> numbers{0, 0, 4, 1, 2, 0, 2, 3};
    const SparseView found = distinct.Numbers();
    EXPECT_EQ(found.rows, 5u);
    EXPECT_EQ(found.columns, 8u);
    EXPECT_EQ(std::vector<int32_t>(found.rowIndices, found.rowIndices + 8), numbers);
    const SparseView places = distinct.Places();
    EXPECT_EQ(places.rows, 8u);
    EXPECT_EQ(places.columns, 4u);
    EXPECT_EQ(std::vector<int32_t>(places.columnStarts, places.columnStarts + 5),
              (std::vector<int32_t>{0, 2, 3, 5, 6}));
    EXPECT_EQ(std::vector<int32_t>(places.rowIndices, places.rowIndices + 6), (std::vector<int32_t>{0, 1, 3, 4, 6, 7}));
    const SparseView columns = distinct.Columns();
    EXPECT_EQ(std::vector<int32_t>(columns.columnStarts, columns.columnStarts + 6),
              (std::vector<int32_t>{0, 1, 3, 4, 4, 5}));
    EXPECT_EQ(std::vector<int32_t>(columns.rowIndices, columns.rowIndices + 5), (std::vector<int32_t>{4, 0, 4, 2, 1}));
    const auto* of = static_cast<const double*>(columns.values);
    EXPECT_EQ(std::vector<double>(of, of + 5), (std::vector<double>{1, 1, 1, 3, 1}));
}

// Thousands of columns that fall onto one another in the hash table.
TEST(DistinctColumns, FindsEachOfMany)
{
    const auto device = MakeCpuDevice({.threads = 1});
    SparseMatrix matrix(DataType::Float32, *device);
    constexpr size_t c_columns = 5000, c_words = 700;
    std::vector<int32_t> rows(c_columns), starts(c_columns + 1);
    std::iota(starts.begin(), starts.end(), 0);
    for (size_t i = 0; i < c_columns; i++)
        rows[i] = int32_t(i * i % c_words) * 4096;
    matrix.FromHost(c_words * 4096, c_columns, std::vector<float>(c_columns, 1).data(), rows, starts);
    DistinctColumns distinct;
    for (int minibatch = 0; minibatch < 2; minibatch++)
    {
        distinct.Find(matrix, {});
        const SparseView numbers = distinct.Numbers(), columns = distinct.Columns();
        std::vector<int32_t> differ = rows;
        std::sort(differ.begin(), differ.end());
        differ.erase(std::unique(differ.begin(), differ.end()), differ.end());
        ASSERT_EQ(distinct.Count(), differ.size());
        for (size_t i = 0; i < c_columns; i++)
            ASSERT_EQ(columns.rowIndices[numbers.rowIndices[i]], rows[i]);
    }
}

} // namespace cntk::Testing
