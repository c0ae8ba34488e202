// The symbolic graph: shapes, checks at once, loops, sessions. Tests/PythonTests test the operations one by one.
#include "Api/Operations.h"
#include "Api/Session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk::Api
{

namespace
{

using testing::ElementsAre;
using testing::HasSubstr;

struct Graph : testing::Test
{
    NodePtr Input(const Shape& shape, const std::string& name, const std::string& axis = c_defaultAxis)
    {
        return MakeInput(context, shape, axis, DataType::Float64, false, name);
    }
    NodePtr Parameter(const Shape& shape, const std::vector<double>& values)
    {
        return MakeParameter(
            context, std::make_shared<ParameterData>(context.CurrentDevice(), DataType::Float64, shape, values), "");
    }
    NodePtr Make(OperationPtr operation, std::vector<NodePtr> inputs, std::string name = "")
    {
        return MakeOperation(context, std::move(operation), std::move(inputs), std::move(name));
    }
    static std::shared_ptr<InputData> Frames(const std::vector<double>& values, size_t count)
    {
        auto data = std::make_shared<InputData>();
        data->type = DataType::Float64;
        data->count = count;
        data->blocks = {values.data()};
        return data;
    }
    std::vector<double> Evaluate(const NodePtr& root, const Session::Arguments& arguments, size_t elements)
    {
        const auto session = Session::Get(context, {root}, {});
        session->Feed(arguments);
        session->Forward();
        std::vector<double> values(elements);
        void* block = values.data();
        session->CopyRoot(0, {&block, 1});
        return values;
    }
    template <class Body>
    static std::string MessageOf(const Body& body)
    {
        try
        {
            body();
        }
        catch (const Error& error)
        {
            return error.Message();
        }
        return "";
    }

    Context context;
};

TEST(ShapesTest, FollowNumpy)
{
    EXPECT_EQ(ToText({}), "()");
    EXPECT_EQ(ToText({3}), "(3,)");
    EXPECT_EQ(EngineShape({2, 3}), (TensorShape{3, 2}));
    EXPECT_EQ(EngineShape({}), (TensorShape{1}));
    EXPECT_EQ(FromEngine(TensorShape{3, 2}), (Shape{2, 3}));
    EXPECT_EQ(Broadcast({5, 1, 3}, {2, 1}), (Shape{5, 2, 3}));
    EXPECT_EQ(Broadcast({2}, {3}), std::nullopt);
    EXPECT_EQ(AxisOf(-1, {4, 5}, "x"), 1u);
}

TEST_F(Graph, ChecksOperationsAtOnce)
{
    const NodePtr x = Input({2, 3}, "x");
    const NodePtr product = Make(Times(1), {x, Parameter({3}, {1, 1, 1})});
    EXPECT_EQ(product->value.shape, (Shape{2}));
    EXPECT_EQ(product->value.axis, c_defaultAxis);
    EXPECT_THAT(MessageOf(
                    [&] {
                        Make(Binary("Plus"), {x, Parameter({4}, {1, 1, 1, 1})}, "sum");
                    }),
                HasSubstr("the shapes (2, 3) and (4,) do not broadcast"));
    EXPECT_THAT(MessageOf(
                    [&] {
                        Make(Binary("Plus"), {x, Input({2, 3}, "y", "t")});
                    }),
                HasSubstr("their dynamic axes '*' and 't' differ"));
}

TEST_F(Graph, SessionsShareParametersAndAreCached)
{
    const NodePtr x = Input({2}, "x");
    const NodePtr w = Parameter({2}, {1, 2});
    const NodePtr y = Make(Binary("ElementTimes"), {x, w});
    const std::vector<double> values = {1, 2, 3, 4};
    const Session::Arguments arguments = {{x->uid, Frames(values, 2)}};
    EXPECT_THAT(Evaluate(y, arguments, 4), ElementsAre(1, 4, 3, 8));
    const auto session = Session::Get(context, {y}, {});
    w->parameter->SetValues({10, 10});
    EXPECT_THAT(Evaluate(y, arguments, 4), ElementsAre(10, 20, 30, 40));
    EXPECT_EQ(Session::Get(context, {y}, {}), session);

    SessionOptions options;
    options.wanted = {w};
    const auto gradients = Session::Get(context, {y}, options);
    EXPECT_NE(gradients, session);
    gradients->Feed(arguments);
    gradients->Forward();
    gradients->Backward();
    std::vector<double> gradient(2);
    void* block = gradient.data();
    gradients->CopyGradient(0, {&block, 1});
    EXPECT_THAT(gradient, ElementsAre(4, 6));
}

TEST_F(Graph, IsFreedWithItsLastReference)
{
    std::weak_ptr<Node> input;
    {
        NodePtr x = Input({1}, "x");
        input = x;
        NodePtr y = x;
        for (int i = 0; i < 100000; i++) // deep graphs are freed without recursion
        {
            auto next = std::make_shared<Node>(context, Node::Role::Operation, DataType::Float64, "");
            next->inputs = {std::move(y)};
            y = std::move(next);
        }
        const NodePtr z = Make(Unary("Tanh"), {x}, "z");
        const std::vector<double> values = {1};
        Evaluate(z, {{x->uid, Frames(values, 1)}}, 1); // the cached session does not keep the graph
    }
    EXPECT_TRUE(input.expired());
}

TEST_F(Graph, ClosesLoopsByName)
{
    const NodePtr x = Input({}, "x");
    const NodePtr past = MakeOperation(context, Delay("PastValue", 0, 1, "h"), {}, "");
    EXPECT_FALSE(past->value.shape);
    const NodePtr h = Make(Binary("Plus"), {x, past}, "h");
    EXPECT_EQ(h->value.shape, Shape{});
    EXPECT_EQ(past->value.axis, c_defaultAxis);
    const NodePtr open =
        Make(Binary("Plus"), {x, MakeOperation(context, Delay("PastValue", 0, 1, "hiden"), {}, "")}, "hidden");
    EXPECT_FALSE(open->value.shape);
    EXPECT_THAT(MessageOf([&] { Session::Get(context, {open}, {}); }), HasSubstr("did you mean 'hidden'?"));
}

} // namespace

} // namespace cntk::Api
