// Loops of random nodes: merging and fusing does not change results, and gradients agree with differences.
#include "ComputationNetwork/GradientCheck.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace cntk::Testing
{

namespace
{

constexpr size_t c_minibatches = 2; // sequences go on from the first in the second

// Only integers, because distributions differ from library to library.
class Draw
{
public:
    explicit Draw(unsigned seed) : m_random(seed) {}

    size_t Below(size_t end) { return m_random() % end; }
    bool Chance(size_t percent) { return Below(100) < percent; }
    template <class T>
    const T& Of(const std::vector<T>& list)
    {
        return list[Below(list.size())];
    }

private:
    std::mt19937 m_random;
};

// Some delays of one direction, and nodes that read them, each other, an input, outside nodes and parameters. Most
// nodes are element-wise and form chains; products, gates and changes of the number of rows interrupt the chains.
class RandomLoop : public TestNetwork
{
public:
    // smooth: without kinks, at which differences are meaningless.
    RandomLoop(unsigned seed, bool smooth) : m_draw(seed), m_isSmooth(smooth)
    {
        m_rows = m_draw.Of(std::vector<size_t>{1, 2, 3, 5, 8, 17});
        m_isPast = m_draw.Chance(60);
        AddDelays();
        const auto x = Input("x", {m_rows});
        m_same.push_back(x);
        m_outside.push_back(x);
        for (size_t i = 0; i < m_draw.Below(4); i++)
            AddOutside();
        m_same.insert(m_same.end(), m_outside.begin() + 1, m_outside.end());
        const size_t count = 4 + m_draw.Below(20);
        for (size_t i = 0; i < count; i++)
            AddNode();
        for (const auto& delay : m_delays) // a loop without data would have no time
            network.SetInputs(delay, {Add(m_draw.Chance(50) ? "Plus" : "Minus", Name(), {Recent(), x})});
        auto sum = Recent();
        for (size_t i = 0; i < 1 + m_draw.Below(3); i++)
            sum = Add("Plus", Name(), {sum, m_draw.Of(m_same)});
        criterion = Add("TestCriterion", "criterion", {sum});
        network.Validate();
    }

    bool IsPast() const { return m_isPast; }

    ComputationNodePtr criterion;

private:
    std::string Name() { return "n" + std::to_string(m_names++); }

    void AddDelays()
    {
        for (size_t i = 0; i < 1 + m_draw.Below(4); i++)
        {
            NodeParameters parameters;
            parameters.Set("rows", std::to_string(m_rows));
            parameters.Set("timeStep", std::to_string(1 + m_draw.Below(m_draw.Chance(70) ? 1 : 3)));
            parameters.Set("defaultHiddenActivity", m_draw.Chance(50) ? "0" : "0.25");
            m_delays.push_back(network.AddUnconnected(m_isPast ? "PastValue" : "FutureValue", Name(), parameters));
        }
        m_same = m_delays;
    }

    void AddOutside()
    {
        const ComputationNodePtr input = m_draw.Of(m_outside);
        const size_t kind = m_draw.Below(4);
        m_outside.push_back(kind == 0   ? Product(m_rows, input)
                            : kind == 1 ? Rearranged(input)
                            : kind == 2 ? Add("Plus", Name(), {Product(m_rows, input), Parameter(Name(), {m_rows, 1})})
                                        : Add("Minus", Name(), {Product(m_rows, input), Product(m_rows, input)}));
    }

    // Nodes that require contiguous gradients.
    ComputationNodePtr Rearranged(const ComputationNodePtr& node)
    {
        if (m_rows == 1 || m_draw.Chance(30))
            return Add("RowStack", Name(), {node});
        const size_t first = 1 + m_draw.Below(m_rows - 1);
        const auto rows = [&](size_t begin, size_t count) -> ComputationNodePtr
        {
            if (m_draw.Chance(50))
                return Product(count, node);
            NodeParameters parameters;
            parameters.Set("startIndex", std::to_string(begin));
            parameters.Set("numRows", std::to_string(count));
            return network.Add("RowSlice", Name(), {node}, parameters);
        };
        return Add("RowStack", Name(), {rows(0, first), rows(first, m_rows - first)});
    }

    // Several products of one operand, each added to an outside node, as in an LSTM.
    ComputationNodePtr Gates()
    {
        const ComputationNodePtr operand = m_draw.Chance(60) ? m_draw.Of(m_delays) : Recent();
        ComputationNodePtr sum;
        for (size_t i = 0; i < 2 + m_draw.Below(3); i++)
        {
            ComputationNodePtr gate = Add("Plus", Name(), {Product(m_rows, operand), m_draw.Of(m_outside)});
            if (m_draw.Chance(50))
                gate = m_draw.Chance(30) ? Rearranged(gate) : Add(Unary(), Name(), {gate});
            sum = sum ? Add("Plus", Name(), {sum, gate}) : gate;
        }
        return Add("Tanh", Name(), {sum});
    }

    // Usually one of the last nodes, as in a chain.
    const ComputationNodePtr& Recent()
    {
        const size_t reach = m_draw.Chance(70) ? std::min<size_t>(3, m_same.size()) : m_same.size();
        return m_same[m_same.size() - 1 - m_draw.Below(reach)];
    }

    const std::string& Unary()
    {
        static const std::vector<std::string> smooth = {"Sigmoid", "Tanh", "Cosine", "Negate"},
                                              all = {"Sigmoid", "Tanh", "Cosine", "Negate", "Abs", "RectifiedLinear"};
        return m_draw.Of(m_isSmooth ? smooth : all);
    }

    void AddNode()
    {
        const size_t kind = m_draw.Below(100);
        const auto square = [&](size_t rows, size_t columns) { return Parameter(Name(), {rows, columns}); };
        const auto squash = [&](const ComputationNodePtr& node) { return Add("Tanh", Name(), {node}); };
        ComputationNodePtr node;
        if (kind < 5)
            node = Gates();
        else if (kind < 10)
            node = Rearranged(Recent());
        else if (kind < 30)
            node = Add(Unary(), Name(), {Recent()});
        else if (kind < 50)
            node = Add(m_draw.Chance(50) ? "Plus" : "Minus", Name(), {Recent(), m_draw.Of(m_same)});
        else if (kind < 60)
            node = Add("ElementTimes", Name(), {squash(Recent()), squash(m_draw.Of(m_same))});
        else if (kind < 70) // a column or a number that stands for all samples
            node = Add(m_draw.Chance(50) ? "Plus" : "ElementTimes", Name(),
                       {Recent(), square(m_draw.Chance(30) ? 1 : m_rows, 1)});
        else if (kind < 76)
            node = Add("DiagTimes", Name(), {square(m_rows, 1), Recent()});
        else if (kind < 80)
            node = Add("Scale", Name(), {square(1, 1), Recent()});
        else if (kind < 90)
            node = squash(Add("Times", Name(), {square(m_rows, m_rows), Recent()}));
        else if (kind < 93)
            node = Add("Softmax", Name(), {Recent()});
        else if (kind < 97) // rows of another number
            node = Add("Times", Name(),
                       {square(m_rows, m_rows + 2),
                        Add(Unary(), Name(),
                            {Add("Plus", Name(), {Product(m_rows + 2, Recent()), Product(m_rows + 2, Recent())})})});
        else // one row for all
            node = Add("ElementTimes", Name(), {squash(Product(1, Recent())), Recent()});
        m_same.push_back(node);
    }

    ComputationNodePtr Product(size_t rows, const ComputationNodePtr& node)
    {
        return Add("Times", Name(), {Parameter(Name(), {rows, m_rows}), node});
    }

    Draw m_draw;
    bool m_isSmooth;
    bool m_isPast = true;
    size_t m_rows = 1;
    size_t m_names = 0;
    std::vector<ComputationNodePtr> m_delays, m_outside, m_same; // nodes of m_rows rows
};

// Rows of sequences with gaps in between, for minibatch i. Some begin before the minibatch or continue after it.
void SetRandomLayout(MBLayout& layout, unsigned seed, size_t minibatch, size_t leastRows = 1)
{
    Draw draw(seed * 7 + 1);
    const size_t rows = leastRows + draw.Below(5), steps = 1 + draw.Below(7);
    const ptrdiff_t begin = ptrdiff_t(minibatch * steps), end = begin + ptrdiff_t(steps);
    layout.Init(rows, steps);
    size_t id = 0;
    const auto cut = [&](ptrdiff_t time) { return std::clamp(time, begin, end) - begin; };
    for (size_t row = 0; row < rows; row++)
    {
        const ptrdiff_t all = ptrdiff_t(c_minibatches * steps);
        for (ptrdiff_t time = 0; time < all;)
        {
            const ptrdiff_t next = std::min<ptrdiff_t>(all, time + 1 + ptrdiff_t(draw.Below(2 * steps)));
            const bool isGap = draw.Chance(20) && time > 0;
            id++;
            if (next > begin && time < end)
            {
                if (isGap)
                    layout.AddGap(row, cut(time), cut(next));
                else
                    layout.AddSequence(id, row, time - begin, next - begin);
            }
            time = next;
        }
    }
    layout.BeginMinibatch();
}

EvaluatorOptions Options(bool merged)
{
    EvaluatorOptions options;
    options.training = true;
    options.checkPlan = true;
    options.poisonMemory = true;
    options.fuse = merged;
    return options;
}

// Returns the criterion and gradients of both minibatches. Each is computed twice, which must not change anything.
std::vector<double> RunLoop(RandomLoop& loop, unsigned seed, const EvaluatorOptions& options)
{
    Evaluator evaluator(loop.network, {loop.criterion}, options);
    std::vector<double> all;
    loop.network.Layout()->BeginPass();
    for (size_t minibatch = 0; minibatch < c_minibatches; minibatch++)
    {
        SetRandomLayout(*loop.network.Layout(), seed, minibatch);
        loop.FillInputs(seed + unsigned(minibatch));
        for (int time = 0; time < 2; time++)
        {
            evaluator.Forward();
            evaluator.Backward(loop.criterion);
        }
        const std::vector<double> value = ValueOf(loop.criterion);
        all.insert(all.end(), value.begin(), value.end());
        for (const auto& parameter : evaluator.Parameters())
        {
            const std::vector<double> gradient = GradientOf(parameter);
            all.insert(all.end(), gradient.begin(), gradient.end());
        }
    }
    return all;
}

// Applies momentum to all parameters: during the backward pass where it requests an update, else after it.
class TestUpdates final : public GradientUpdates
{
public:
    explicit TestUpdates(Evaluator& evaluator) : m_evaluator(evaluator)
    {
        for (const auto& parameter : evaluator.Parameters())
        {
            const Matrix& values = parameter->Values();
            m_smoothed.emplace_back(values.Rows(), values.Columns(), values.Type(), parameter->GetDevice());
        }
        m_isDone.resize(m_smoothed.size());
    }

    ProductUpdate UpdateOf(const ComputationNode& node) override
    {
        const auto& all = m_evaluator.Parameters();
        const auto at =
            size_t(std::find_if(all.begin(), all.end(), [&](const auto& p) { return p.get() == &node; }) - all.begin());
        EXPECT_FALSE(m_isDone.at(at)) << "the parameter has one gradient";
        m_isDone[at] = true;
        m_count++;
        return {.parameter = all[at]->Values(),
                .smoothed = m_smoothed[at],
                .rate = c_rate,
                .momentum = c_momentum,
                .keepsGradient = false};
    }

    void UpdateRest()
    {
        for (size_t i = 0; i < m_isDone.size(); i++)
        {
            const auto& parameter = m_evaluator.Parameters()[i];
            if (!m_isDone[i])
                Ops::MomentumUpdate(parameter->Values(), m_smoothed[i], parameter->Gradient(), c_rate, c_momentum);
            m_isDone[i] = false;
        }
    }

    size_t Count() const { return m_count; }
    const std::vector<Matrix>& Smoothed() const { return m_smoothed; }

private:
    static constexpr double c_rate = 0.01, c_momentum = 0.5;

    Evaluator& m_evaluator;
    std::vector<Matrix> m_smoothed;
    std::vector<bool> m_isDone;
    size_t m_count = 0; // updates behind gradients, in all
};

// Returns parameters and smoothed gradients after some minibatches; counts the updates during the backward pass.
std::vector<double> TrainLoop(unsigned seed, const EvaluatorOptions& options, bool behind, size_t& count)
{
    RandomLoop loop(seed, true);
    Evaluator evaluator(loop.network, {loop.criterion}, options);
    TestUpdates updates(evaluator);
    loop.network.Layout()->BeginPass();
    for (size_t minibatch = 0; minibatch < c_minibatches; minibatch++)
    {
        SetRandomLayout(*loop.network.Layout(), seed, minibatch, 16);
        loop.FillInputs(seed + unsigned(minibatch));
        evaluator.Forward();
        evaluator.Backward(loop.criterion, behind ? &updates : nullptr);
        updates.UpdateRest();
    }
    std::vector<double> all;
    const auto append = [&](const Matrix& matrix)
    {
        const std::vector<double> values = matrix.ToHost();
        all.insert(all.end(), values.begin(), values.end());
    };
    for (const auto& parameter : evaluator.Parameters())
        append(parameter->Values());
    for (const Matrix& smoothed : updates.Smoothed())
        append(smoothed);
    count += updates.Count();
    return all;
}

} // namespace

TEST(RandomLoops, UpdatesBehindGradientsGiveTheSameBits)
{
    size_t behind = 0, none = 0;
    for (unsigned seed = 2001; seed <= 2300; seed++)
        for (const bool merged : {true, false})
            ASSERT_EQ(TrainLoop(seed, Options(merged), true, behind), TrainLoop(seed, Options(merged), false, none))
                << "seed " << seed << ", merged " << merged;
    EXPECT_GT(behind, 200u) << "by products of steps enough";
    EXPECT_EQ(none, 0u);
}

TEST(RandomLoops, ComputeTheSameNodeByNode)
{
    size_t loops = 0;
    for (unsigned seed = 1; seed <= 400; seed++)
    {
        RandomLoop loop(seed, false);
        const std::vector<double> merged = RunLoop(loop, seed, Options(true)),
                                  apart = RunLoop(loop, seed, Options(false));
        ASSERT_EQ(merged.size(), apart.size());
        ASSERT_TRUE(std::isfinite(apart[0])) << "seed " << seed;
        double largest = 1;
        for (const double value : apart)
            largest = std::max(largest, std::abs(value));
        for (size_t i = 0; i < merged.size(); i++)
            ASSERT_NEAR(merged[i], apart[i], 1e-11 * largest) << "seed " << seed << ", number " << i;
        loops += merged.size() > 2 ? 1 : 0;
    }
    EXPECT_GT(loops, 350u) << "nearly all have parameters";
}

TEST(RandomLoops, GradientsAgreeWithDifferences)
{
    for (unsigned seed = 1001; seed <= 1060; seed++)
    {
        RandomLoop loop(seed, true);
        loop.network.Layout()->BeginPass();
        SetRandomLayout(*loop.network.Layout(), seed, 0);
        loop.FillInputs(seed);
        Evaluator evaluator(loop.network, {loop.criterion}, Options(true));
        if (evaluator.Parameters().empty())
            continue;
        double largest = 1e-3;
        const auto comparisons = CompareGradients(evaluator, loop.criterion, {.elementsPerParameter = 3});
        for (const GradientComparison& one : comparisons)
            largest = std::max(largest, std::abs(one.numeric));
        for (const GradientComparison& one : comparisons)
            ASSERT_NEAR(one.backpropagated, one.numeric, 1e-6 * largest)
                << "seed " << seed << ": " << one.Describe(*loop.criterion);
    }
}

} // namespace cntk::Testing
