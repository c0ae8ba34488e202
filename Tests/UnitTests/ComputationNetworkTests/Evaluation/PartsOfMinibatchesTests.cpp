// Recurrent nodes in minibatches computed in parts of some parallel sequences each. Every sequence continues from its
// own state, independently of the other parts.
#include "ComputationNetwork/Nodes/RecurrentNodes.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <utility>

namespace cntk::Testing
{

namespace
{

// Begin and end of each row's sequence, relative to its minibatch of two steps.
using Rows = std::vector<std::pair<ptrdiff_t, ptrdiff_t>>;

constexpr size_t c_stepsOfMinibatch = 2, c_parts = 2;

// Each part has half of the rows.
const std::vector<Rows> c_rowsOfMinibatches = {
    {{0, 4}, {0, 4}},
    {{-2, 2}, {-2, 2}},
    {{0, 2}, {0, 2}, {0, 4}, {0, 6}}, // more rows; those of the first part end here
    {{0, 6}, {0, 4}, {-2, 2}, {-2, 4}},
    {{-2, 4}, {-2, 2}, {0, 2}, {-4, 2}}, // those of the second part end here
    {{-4, 4}, {0, 2}, {0, 2}, {0, 4}},
    {{0, 2}, {0, 4}}, // fewer rows
    {{0, 2}, {-2, 2}},
};

// A node's value is a function of the sequence's inputs up to the current step.
void ExpectSequencesGoOn(TestNetwork& net, const ComputationNodePtr& x, const ComputationNodePtr& y,
                         const std::function<double(const std::vector<double>&)>& expected, bool isRestored)
{
    auto& state = dynamic_cast<RecurrentState&>(*y);
    MBLayout& layout = *net.network.Layout();
    Evaluator evaluator(net.network, {y}, Checked(false));
    std::vector<std::vector<double>> numbers(4); // of each row's sequence
    double number = 0;
    layout.BeginPass();
    for (size_t minibatch = 0; minibatch < c_rowsOfMinibatches.size(); minibatch++)
    {
        const Rows& all = c_rowsOfMinibatches[minibatch];
        const size_t rows = all.size() / c_parts;
        for (size_t first = 0; first < all.size(); first += rows)
        {
            layout.Init(rows, c_stepsOfMinibatch);
            for (size_t row = 0; row < rows; row++)
                layout.AddSequence(first + row, row, all[first + row].first, all[first + row].second);
            layout.BeginMinibatch();
            std::vector<double> data, values;
            for (size_t time = 0; time < c_stepsOfMinibatch; time++)
                for (size_t row = first; row < first + rows; row++)
                {
                    if (all[row].first == ptrdiff_t(time))
                        numbers[row].clear();
                    data.push_back(number += 0.125);
                    numbers[row].push_back(number);
                    values.push_back(expected(numbers[row]));
                }
            SetInput(x, data);
            state.SetWindow({first, all.size()});
            evaluator.Forward();
            evaluator.Forward(); // computing a part again changes nothing
            SCOPED_TRACE("minibatch " + std::to_string(minibatch) + ", part from row " + std::to_string(first));
            ExpectNear(ValueOf(y), values, 1e-14);
        }
        state.SetWindow({});
        if (!isRestored)
            continue;
        std::string bytes;
        state.SaveState(bytes);
        const char* position = bytes.data();
        state.RestoreState(position, bytes.data() + bytes.size());
        EXPECT_EQ(position, bytes.data() + bytes.size());
    }
}

} // namespace

TEST(PartsOfMinibatches, PastValuesAreThoseOfTheSequence)
{
    for (const bool isRestored : {false, true})
        for (const size_t step : {1, 2, 3})
        {
            SCOPED_TRACE(step);
            TestNetwork net;
            NodeParameters parameters;
            parameters.Set("timeStep", std::to_string(step));
            parameters.Set("defaultHiddenActivity", "-0.5");
            const auto x = net.Input("x", {1});
            const auto y = net.network.Add("PastValue", "y", {x}, parameters);
            net.network.Validate();
            ExpectSequencesGoOn(
                net, x, y,
                [&](const std::vector<double>& numbers)
                { return numbers.size() > step ? numbers[numbers.size() - 1 - step] : -0.5; },
                isRestored);
        }
}

// With weights of zero all gates are 1/2: c = (c' + tanh(x + h')) / 2, h = tanh(c) / 2.
TEST(PartsOfMinibatches, CellsOfAnLstmAreThoseOfTheSequence)
{
    for (const bool isRestored : {false, true})
    {
        TestNetwork net;
        const auto x = net.Input("x", {1});
        const auto weights = [&](const char* name, std::vector<double> values)
        {
            const auto node =
                std::dynamic_pointer_cast<LearnableParameterNode>(net.Parameter(name, {1, values.size()}));
            node->Values().FromHost(values);
            return node;
        };
        const auto y = net.Add("LSTM", "y",
                               {x, weights("i", {0, 0, 0, 0}), weights("f", {0, 0, 0, 0}), weights("o", {0, 0, 0, 0}),
                                weights("c", {0, 1, 1})});
        net.network.Validate();
        ExpectSequencesGoOn(
            net, x, y,
            [](const std::vector<double>& numbers)
            {
                double c = double(0.1f), h = 0;
                for (const double number : numbers)
                {
                    c = (c + std::tanh(number + h)) / 2;
                    h = std::tanh(c) / 2;
                }
                return h;
            },
            isRestored);
    }
}

} // namespace cntk::Testing
