// Arguments of leaves: dimensions of image parameters and inputs, start values.
#include "ActionsLibTests/Ndl/NdlText.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NdlCallBinderTests, ImageParametersHaveTheImageLast)
{
    const auto network = BuildFromNdl("x=ImageInput(6, 7, 3, tag=feature)\ny=ImageInput(6, 7, 3, imageLayout=cudnn)\n"
                                      "a=ImageParameter(6, 7, 3)\nb=ImageParameter(6, 7, 3, imageLayout=CHW)\n"
                                      "c=ImageParameter(10, 6, 7, 3, init=uniform, initValueScale=2)\n"
                                      "d=ImageParameter(10, 6, 7, 3, imageLayout=\"cudnn\")\n"
                                      "e=ImageParameter(2, 10, 6, 7, 3, imageLayout=legacy)\n"
                                      "s=Times(c, x)\nt=Times(d, y)\nu=Times(e, x, outputRank=2)\n");
    const auto shapeOf = [&](const char* name) { return network->Require(name)->SampleLayout(); };
    EXPECT_EQ(shapeOf("a"), (TensorShape{3, 6, 7}));
    EXPECT_EQ(shapeOf("b"), (TensorShape{6, 7, 3}));
    EXPECT_EQ(shapeOf("c"), (TensorShape{10, 3, 6, 7}));
    EXPECT_EQ(shapeOf("d"), (TensorShape{10, 6, 7, 3}));
    EXPECT_EQ(shapeOf("e"), (TensorShape{2, 10, 3, 6, 7}));
    EXPECT_EQ(shapeOf("s"), (TensorShape{10}));
    EXPECT_EQ(shapeOf("t"), (TensorShape{10}));
    EXPECT_EQ(shapeOf("u"), (TensorShape{2, 10}));
    // The matrix of values is [first dimension x the others], in memory and in the description of the node.
    EXPECT_EQ(network->Require("c")->DescribeFields(),
              "[10,126]   learningRateMultiplier=1.000000  NeedsGradient=true");
}

TEST(NdlCallBinderTests, ImagesTakeThreeDimensionsAtLeast)
{
    EXPECT_EQ(NdlErrorOf("x=Input(4, tag=feature)\nW=ImageParameter(6, 7)\n"),
              "    2 | W=ImageParameter(6, 7)\n"
              "      |   ^~~~~~~~~~~~~~\n"
              "net.ndl:2:3: error: ImageParameter cannot take 2 arguments; expected ImageParameter([out, ...], width, "
              "height, channels)");
    EXPECT_EQ(NdlErrorOf("x=ImageInput(4, 4, 1, imageLayout=WHC, tag=feature)\n"),
              "    1 | x=ImageInput(4, 4, 1, imageLayout=WHC, tag=feature)\n"
              "      |                                   ^~~\n"
              "net.ndl:1:35: error: imageLayout is 'WHC'; expected HWC (legacy) or CHW (cudnn)");
}

TEST(NdlCallBinderTests, ColumnsOfInputsHaveNoEffect)
{
    const auto warningsOf = [](const std::string& call)
    {
        NdlContext context;
        BuildFromNdl("x=" + call + "\n", &context);
        return context.warnings;
    };
    EXPECT_THAT(warningsOf("Input(784, 32, tag=feature)"),
                ElementsAre("net.ndl:1:14: the columns of an input have no effect: each sample of this input has 784 "
                            "elements; a matrix as a sample is dims={784, 32}"));
    EXPECT_THAT(warningsOf("SparseInput(2, 4, tag=feature)").size(), 1);
    EXPECT_THAT(warningsOf("Input(784, 1, tag=feature)"), IsEmpty()); // the book's default
    EXPECT_THAT(warningsOf("Input(3, 4, 5, tag=feature)"), IsEmpty());
    EXPECT_THAT(warningsOf("Input(dims={784, 32}, tag=feature)"), IsEmpty());
}

TEST(NdlCallBinderTests, FromFileWithoutAFileIsZeroUntilSomethingSetsIt)
{
    NdlContext context;
    const auto network = BuildFromNdl("x=Input(2, tag=feature)\nW=Parameter(2, 0, init=fromFile)\ny=Times(W, x)\n"
                                      "U=Parameter(2, 2)\n",
                                      &context);
    EXPECT_THAT(context.warnings, ElementsAre("net.ndl:2:3: init=fromFile without initFromFilePath: the values are 0 "
                                              "until something else sets them, such as ReviseParameter of the edit "
                                              "action"));
    const auto weights = std::dynamic_pointer_cast<LearnableParameterNode>(network->Require("W"));
    EXPECT_EQ(weights->Values().ToHost(), std::vector<double>(4));
    EXPECT_EQ(context.counts.nextRandomSeed, 2u); // U's
}

} // namespace
} // namespace cntk
