// Element-wise nodes: floors and edges, broadcasting errors, shape inference.
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/ElementwiseNodes.h"
#include "ComputationNetworkTests/TestNetwork.h"
#include "CudaEmulation/EmulatedGpu.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk::Testing
{

namespace
{

using testing::ElementsAre;

// The value and the gradient (of the sum) of a node over a column of numbers.
struct Applied
{
    std::vector<double> value;
    std::vector<double> gradient;
};

Applied Apply(const std::string& type, const std::vector<double>& numbers)
{
    TestNetwork net;
    const ComputationNodePtr x = net.Parameter("x", {numbers.size()});
    dynamic_cast<LearnableParameterNode&>(*x).Values().FromHost(numbers);
    const ComputationNodePtr y = net.Add(type, "y", {x});
    const ComputationNodePtr sum = net.Add("SumElements", "sum", {y});
    net.network.Validate();
    EvaluatorOptions options;
    options.training = true;
    options.keepValues = {y};
    Evaluator evaluator(net.network, {sum}, options);
    evaluator.Forward();
    evaluator.Backward(sum);
    return {ValueOf(y), GradientOf(x)};
}

TEST(ElementwiseNodesTest, KeepTheOriginalsFloors)
{
    // Numbers in single precision, in networks of double precision too.
    const double lowest = double(-85.1f), floor = double(1e-37f);
    EXPECT_THAT(Apply("Log", {0, -1, 1e-38}).value, ElementsAre(lowest, lowest, lowest));
    EXPECT_NE(floor, 1e-37);
    EXPECT_EQ(Apply("Log", {std::nextafter(floor, 0)}).value[0], lowest);
    EXPECT_NEAR(Apply("Log", {floor}).value[0], std::log(floor), 1e-13);
    EXPECT_NEAR(Apply("Log", {0}).gradient[0], std::exp(-lowest), 1e23);
    EXPECT_THAT(Apply("Reciprocal", {0, 2}).value, ElementsAre(0, 0.5));
    EXPECT_THAT(Apply("Reciprocal", {0, 2}).gradient, ElementsAre(0, -0.25));
    EXPECT_THAT(Apply("Sqrt", {-4, 4}).value, ElementsAre(0, 2));
    EXPECT_THAT(Apply("RectifiedLinear", {-1, 0, 1}).gradient, ElementsAre(0, 0, 1));
    EXPECT_THAT(Apply("Abs", {-2, 0, 2}).gradient, ElementsAre(-1, 0, 1));
    EXPECT_THAT(Apply("Sigmoid", {-1e4, 0, 1e4}).value, ElementsAre(0, 0.5, 1));
    EXPECT_THAT(Apply("Tanh", {-1e4, 1e4}).value, ElementsAre(-1, 1));
}

TEST(ElementwiseNodesTest, OperandsMustFit)
{
    TestNetwork net;
    net.Add("Plus", "sum", {net.Parameter("a", {3, 2}), net.Parameter("b", {3, 5})});
    EXPECT_EQ(MessageOf([&] { net.network.Validate(); }),
              "Plus cannot combine 'a' [3 x 2] and 'b' [3 x 5]: dimension 2 is 2 in one and 5 in the other; expected "
              "equal sizes, or 1 in one of them");
    TestNetwork products; // the book repeats columns in sums only
    products.Add("ElementTimes", "product", {products.Parameter("a", {3, 2}), products.Parameter("b", {3, 4})});
    EXPECT_EQ(MessageOf([&] { products.network.Validate(); }),
              "ElementTimes cannot combine 'a' [3 x 2] and 'b' [3 x 4]: dimension 2 is 2 in one and 4 in the other; "
              "expected equal sizes, or 1 in one of them");
}

TEST(ElementwiseNodesTest, ColumnsOfTheNarrowerMatrixAreRepeatedOneByOne)
{
    TestNetwork net;
    const auto set = [&](const char* name, const TensorShape& shape, const std::vector<double>& values)
    {
        const ComputationNodePtr node = net.Parameter(name, shape);
        std::dynamic_pointer_cast<LearnableParameterNode>(node)->Values().FromHost(values);
        return node;
    };
    const ComputationNodePtr wide = set("wide", {1, 6}, {1, 2, 3, 4, 5, 6});
    const ComputationNodePtr narrow = set("narrow", {1, 2}, {10, 20});
    const ComputationNodePtr difference = net.Add("Minus", "difference", {narrow, wide});
    const ComputationNodePtr criterion = net.Add("SumElements", "criterion", {difference});
    net.network.Validate();
    EvaluatorOptions options;
    options.training = true;
    options.keepValues = {difference};
    Evaluator evaluator(net.network, {criterion}, options);
    evaluator.Forward();
    evaluator.Backward(criterion);
    EXPECT_THAT(ValueOf(difference), ElementsAre(9, 8, 7, 16, 15, 14));
    EXPECT_THAT(GradientOf(narrow), ElementsAre(3, 3));
    EXPECT_THAT(GradientOf(wide), ElementsAre(-1, -1, -1, -1, -1, -1));
}

TEST(ElementwiseNodesTest, TakeDenseInputsOnly)
{
    TestNetwork net;
    net.Add("Sigmoid", "y", {net.network.AddInput("words", {10}, true)});
    EXPECT_EQ(
        MessageOf([&] { net.network.Validate(); }),
        "input 'words' is sparse, but Sigmoid takes dense values as x; sparse values go into FutureValue (x), "
        "LookupTable (x), PackedIndex (target), PastValue (x), ReconcileDynamicAxis (layout), ScatterPacked (cond), "
        "Times (B), TransposeTimes (B); or make it dense: InputValue in place of SparseInputValue");
}

TEST(ElementwiseNodesTest, AParameterTakesTheOtherOperandsShape)
{
    TestNetwork net;
    net.SetFrames(2);
    const ComputationNodePtr bias = net.network.AddParameter("b", {0, 1});
    const ComputationNodePtr sum = net.Add("Plus", "sum", {net.Input("x", {3}), bias});
    net.network.Validate();
    EXPECT_EQ(bias->SampleLayout(), (TensorShape{3, 1}));
    EXPECT_EQ(sum->SampleLayout(), (TensorShape{3, 1}));
}

// A fused chain computes neither the product nor the sum, yet the bias' gradient flows through the sum.
TEST(ElementwiseNodesTest, ABiasInAFusedChainSkipsGaps)
{
    std::vector<std::vector<double>> gradients;
    for (const bool fuse : {true, false})
    {
        TestNetwork net;
        net.SetSequences({3, 1, 2});
        const ComputationNodePtr bias = net.Parameter("b", {4, 1});
        const ComputationNodePtr product = net.Add("Times", "p", {net.Parameter("W", {4, 2}), net.Input("x", {2})});
        const ComputationNodePtr hidden = net.Add("Sigmoid", "h", {net.Add("Plus", "z", {product, bias})});
        const ComputationNodePtr criterion = net.Add("SquareError", "c", {hidden, net.Input("labels", {4})});
        net.network.Validate();
        net.FillInputs();
        EvaluatorOptions options;
        options.training = true;
        options.fuse = fuse;
        Evaluator evaluator(net.network, {criterion}, options);
        evaluator.Forward();
        evaluator.Backward(criterion);
        gradients.push_back(GradientOf(bias));
    }
    for (size_t i = 0; i < 4; i++)
        EXPECT_NEAR(gradients[0][i], gradients[1][i], 1e-12);
}

// The number of GPU operations does not grow with the number of gaps. The gradients of a bias, a diagonal, a factor
// and stacked rows are sums over all samples. Gaps contain NaN.
TEST(ElementwiseNodesTest, SumsOverSamplesAreOneOnAGpu)
{
    constexpr size_t rows = 4, steps = 8;
    struct Found
    {
        std::vector<double> gradients;
        size_t launches = 0;
    };
    const auto run = [](std::shared_ptr<Device> device, const CudaEmulation::WorkCounts& counts, ptrdiff_t length)
    {
        TestNetwork net(DataType::Float64, std::move(device));
        const ComputationNodePtr d = net.Parameter("d", {3, 1}), b = net.Parameter("b", {3, 1});
        const ComputationNodePtr f = net.Parameter("f", {1, 1}), r = net.Parameter("r", {2, 1});
        const ComputationNodePtr product = net.Add("DiagTimes", "dx", {d, net.Input("x", {3})});
        const ComputationNodePtr sum = net.Add("Plus", "z", {product, b});
        const ComputationNodePtr scaled = net.Add("ElementTimes", "fz", {f, sum});
        const ComputationNodePtr stack = net.Add("RowStack", "fzr", {scaled, r});
        const ComputationNodePtr criterion = net.Add("SquareError", "c", {net.Input("labels", {5, 1}), stack});
        net.network.Validate();
        MBLayout& layout = *net.network.Layout();
        layout.Init(rows, steps);
        for (size_t row = 0; row < rows; row++)
            layout.AddSequence(row, row, 0, row == 2 ? length : ptrdiff_t(steps));
        layout.AddGap(2, length, steps);
        net.FillInputs();
        Evaluator evaluator(net.network, {criterion}, Training(false));
        Found found;
        const size_t before = counts.kernels + counts.copies;
        evaluator.Forward();
        evaluator.Backward(criterion);
        found.launches = counts.kernels + counts.copies - before;
        for (const ComputationNodePtr& parameter : {d, b, f, r})
            for (const double value : GradientOf(parameter))
                found.gradients.push_back(value);
        return found;
    };
    size_t launches[2] = {};
    for (const ptrdiff_t length : {7, 2})
    {
        auto owned = std::make_unique<EmulatedRuntime>(EmulatedMemory::Open);
        const CudaEmulation::WorkCounts& counts = owned->Counts();
        const Found onGpu = run(MakeEmulatedGpu(std::move(owned)), counts, length);
        const Found onCpu = run(nullptr, CudaEmulation::WorkCounts(), length);
        ExpectNear(onGpu.gradients, onCpu.gradients);
        launches[length == 7 ? 0 : 1] = onGpu.launches;
    }
    EXPECT_EQ(launches[0], launches[1]);
}

TEST(ElementwiseNodesTest, OldNamesAreElementTimes)
{
    TestNetwork net;
    for (const char* name : {"Scale", "RowElementTimes", "ColumnElementTimes"})
        EXPECT_EQ(net.network.Registry().Find(name)->name, "ElementTimes");
    const ComputationNodePtr node = net.Add("ReLU", "y", {net.Parameter("x", {3})});
    EXPECT_EQ(node->TypeName(), "RectifiedLinear");
    EXPECT_EQ(ElementwiseOpOf(*node), ElementwiseOp::RectifiedLinear);
    EXPECT_EQ(ElementwiseOpOf(*node->Input(0)), std::nullopt);
}

} // namespace

} // namespace cntk::Testing
