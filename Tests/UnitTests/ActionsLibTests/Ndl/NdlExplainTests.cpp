// Full error messages about valid scripts that describe invalid networks.
#include "ActionsLib/JobParts/ErrorPlaces.h"
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "ActionsLibTests/Ndl/NdlText.h"
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

TEST(NdlExplainTests, WhereShapesThatDisagreeComeFrom)
{
    EXPECT_EQ(NdlErrorOf("x=Input(4, tag=feature)\nW=Parameter(3, 4)\nB=Parameter(2)\nT=Times(W, x)\nS=Sigmoid(T)\n"
                         "P=Plus(S, B)\n"),
              "note: while validating P = Plus(S [3 x *], B [2])\n"
              "note: 'S' [3 x *] is Sigmoid(T) at net.ndl:5:3\n"
              "note: 'B' [2] is Parameter(2) at net.ndl:3:3\n"
              "    6 | P=Plus(S, B)\n"
              "      |   ^~~~\n"
              "net.ndl:6:3: error: Plus cannot combine 'S' [3] and 'B' [2]: dimension 1 is 3 in one and 2 in the "
              "other; expected equal sizes, or 1 in one of them");
}

TEST(NdlExplainTests, TheMacrosAroundShapesThatDisagree)
{
    EXPECT_EQ(NdlErrorOf("F(x, r, c)\n{\n  W=Parameter(r,\n              c)\n  F=Times(W, x)\n}\n"
                         "Two(x) { A=F(x, 5, 4); B=F(A, 2, 6) }\nx=Input(4, tag=feature)\ny=Two(x)\n"),
              "note: while validating y.B.F = Times(y.B.W [2 x 6], y.A.F [5 x *])\n"
              "note: 'y.B.W' [2 x 6] is Parameter(r, c) at net.ndl:3:5, in macro 'F' called at net.ndl:7:26, in macro "
              "'Two' called at net.ndl:9:3\n"
              "note: 'y.A.F' [5 x *] is Times(W, x) at net.ndl:5:5, in macro 'F' called at net.ndl:7:12, in macro "
              "'Two' called at net.ndl:9:3\n"
              "note: in macro 'F', called at net.ndl:7:26\n"
              "note: in macro 'Two', called at net.ndl:9:3\n"
              "    5 |   F=Times(W, x)\n"
              "      |     ^~~~~\n"
              "net.ndl:5:5: error: the inner dimensions of Times('y.B.W' [2 x 6], 'y.A.F' [5]) disagree: the left "
              "operand has 6 columns, the right one 5 rows");
}

TEST(NdlExplainTests, LoopsWithoutDelay)
{
    EXPECT_EQ(NdlErrorOf("x=Input(4, tag=feature)\nF(a)=Tanh(a)\na=Plus(x, c)\nb=F(a)\nc=Sigmoid(b)\n"),
              "note: 'a' is Plus(x, c) at net.ndl:3:3\n"
              "note: 'b.unnamed1' is Tanh(a) at net.ndl:2:6, in macro 'F' called at net.ndl:4:3\n"
              "note: 'c' is Sigmoid(b) at net.ndl:5:3\n"
              "    2 | F(a)=Tanh(a)\n"
              "      |      ^~~~\n"
              "net.ndl:2:6: error: the nodes b.unnamed1 (Tanh), a (Plus), c (Sigmoid) form a loop without a delay; a "
              "recurrent loop needs a PastValue or FutureValue node");
    EXPECT_EQ(NdlErrorOf("x=Input(4, tag=feature)\na=Plus(x, a)\n"),
              "note: 'a' is Plus(x, a) at net.ndl:2:3\n"
              "    2 | a=Plus(x, a)\n"
              "      |   ^~~~\n"
              "net.ndl:2:3: error: the nodes a (Plus) form a loop without a delay; a recurrent loop needs a "
              "PastValue or FutureValue node");
}

TEST(NdlExplainTests, LoopsWithDelaysInOppositeDirections)
{
    EXPECT_EQ(
        NdlErrorOf("x=Input(4, tag=feature)\nF(a)=Plus(a, after)\nh=Plus(x, both)\nbefore=PastValue(4, h)\n"
                   "after=FutureValue(4, h)\nboth=F(before)\ny=Sigmoid(h)\n"),
        "note: 'h' is Plus(x, both) at net.ndl:3:3\n"
        "note: 'before' is PastValue(4, h) at net.ndl:4:8\n"
        "note: 'after' is FutureValue(4, h) at net.ndl:5:7\n"
        "note: 'both.unnamed1' is Plus(a, after) at net.ndl:2:6, in macro 'F' called at net.ndl:6:6\n"
        "    5 | after=FutureValue(4, h)\n"
        "      |       ^~~~~~~~~~~\n"
        "net.ndl:5:7: error: the delay nodes 'before' (PastValue) and 'after' (FutureValue) of one recurrent loop "
        "point in opposite directions; the nodes of the loop are before (PastValue), after (FutureValue), "
        "both.unnamed1 (Plus), h (Plus)");
}

TEST(NdlExplainTests, LoopsWhoseDimensionsGrow)
{
    EXPECT_EQ(NdlErrorOf("x=Input(4, tag=feature)\nh=RowStack(past, x)\npast=PastValue(2, h)\n"),
              "note: 'h' is RowStack(past, x) at net.ndl:2:3\n"
              "note: 'past' is PastValue(2, h) at net.ndl:3:6\n"
              "    3 | past=PastValue(2, h)\n"
              "      |      ^~~~~~~~~\n"
              "net.ndl:3:6: error: the dimensions of a recurrent loop contradict each other: with [2] of 'past' "
              "(PastValue) its input 'h' (RowStack) gets [6]; expected the same; the nodes of the loop are past "
              "(PastValue), h (RowStack)");
}

TEST(NdlExplainTests, LoopsThatCannotBeSteppedInTime)
{
    EXPECT_EQ(NdlErrorOf("x=Input(4, tag=feature)\nback=TimeReverse(past)\nh=Plus(x, back)\npast=PastValue(4, h)\n"),
              "note: 'back' is TimeReverse(past) at net.ndl:2:6\n"
              "note: 'h' is Plus(x, back) at net.ndl:3:3\n"
              "note: 'past' is PastValue(4, h) at net.ndl:4:6\n"
              "    2 | back=TimeReverse(past)\n"
              "      |      ^~~~~~~~~~~\n"
              "net.ndl:2:6: error: node 'back' (TimeReverse) needs the whole minibatch at once and cannot be part of a "
              "recurrent loop; the nodes of the loop are past (PastValue), back (TimeReverse), h (Plus)");
}

// Errors point to the argument in the call of the macro.
TEST(NdlExplainTests, UnknownArgumentsOfMacros)
{
    const std::string macros = "F(x, r, c) { W=Parameter(r, c); F=Times(W, x) }\nG(x, h) { L=F(x, h, 784) }\n"
                               "features=Input(784, tag=feature)\n";
    EXPECT_EQ(NdlErrorOf(macros + "y=G(featurs, 3)\n"),
              "note: in macro 'F', called at net.ndl:2:13\n"
              "note: in macro 'G', called at net.ndl:4:3\n"
              "    4 | y=G(featurs, 3)\n"
              "      |     ^~~~~~~\n"
              "net.ndl:4:5: error: unknown variable 'featurs'; did you mean 'features'?");
    EXPECT_EQ(NdlErrorOf(macros + "HDim=3\ny=G(features, HDin)\n"),
              "note: in macro 'F', called at net.ndl:2:13\n"
              "note: in macro 'G', called at net.ndl:5:3\n"
              "    5 | y=G(features, HDin)\n"
              "      |               ^~~~\n"
              "net.ndl:5:15: error: a number expected, found the unknown name 'HDin'; did you mean 'HDim'?");
}

TEST(NdlExplainTests, SparseInputsThatAreNotTaken)
{
    EXPECT_EQ(NdlErrorOf("words=SparseInput(4, tag=feature)\nh=Sigmoid(words)\n").substr(0, 160),
              "note: while validating h = Sigmoid(words [4 x *])\n"
              "note: 'words' [4 x *] is SparseInput(4, tag=feature) at net.ndl:1:7\n"
              "    2 | h=Sigmoid(words)\n"
              "      |   ^~~~~~~");
}

TEST(NdlExplainTests, ADelayInALoopThatDeclaresNoSize)
{
    EXPECT_EQ(NdlErrorOf("x=Input(4, tag=feature)\npast=PastValue(0, h)\nh=RowStack(past, x)\n"),
              "note: while validating past = PastValue(h [0 x *])\n"
              "note: 'h' [0 x *] is RowStack(past, x) at net.ndl:3:3\n"
              "    2 | past=PastValue(0, h)\n"
              "      |      ^~~~~~~~~\n"
              "net.ndl:2:6: error: the dimensions [0] of node 'past' are not known, and nothing determines them; a "
              "delay in a loop says its size itself: PastValue(rows, h)");
}

// Several delays with wrong declared sizes settle one after another.
TEST(NdlExplainTests, DelaysOfDelays)
{
    NdlContext context;
    const auto network =
        BuildNetworkFromNdlText("x=Input(2, tag=feature)\na=PastValue(3, h)\nb=PastValue(4, a)\nc=PastValue(5, b)\n"
                                "d=PastValue(6, c)\nh=Plus(x, RowSlice(0, 1, d))\n",
                                "net.ndl", DataType::Float32, MakeCpuDevice(), &context);
    EXPECT_EQ(network->Require("d")->SampleLayout(), (TensorShape{2}));
}

TEST(NdlExplainTests, PlacesOfNodes)
{
    NdlContext context;
    const auto network = BuildNetworkFromNdlText("F(a) { T=Tanh(a) }\nG(a) { y=F(a, tag=output) }\n"
                                                 "x=Input(2, tag=feature)\nz=G(x)\n",
                                                 "net.ndl", DataType::Float32, MakeCpuDevice(), &context);
    const NdlPlace* const place = context.FindPlace(*network->Require("z.y.T"));
    ASSERT_NE(place, nullptr);
    EXPECT_EQ(place->where.Location(), "net.ndl:1:10");
    EXPECT_EQ(*place->callers, (std::vector<std::string>{"in macro 'F', called at net.ndl:2:10",
                                                         "in macro 'G', called at net.ndl:4:3"}));
    // Each of two networks, such as encoder and decoder, has its own places.
    const auto other = BuildNetworkFromNdlText("y=Input(2)\nx=Input(2, tag=feature)\n", "other.ndl", DataType::Float32,
                                               MakeCpuDevice(), &context);
    EXPECT_EQ(context.FindPlace(*network->Require("x"))->where.Location(), "net.ndl:3:3");
    EXPECT_EQ(context.FindPlace(*other->Require("x"))->where.Location(), "other.ndl:2:3");
    EXPECT_EQ(context.FindPlace(*other->AddParameter("w", TensorShape{1})), nullptr);
}

TEST(NdlExplainTests, ErrorsOfNodesGetTheirPlaces)
{
    NdlContext context;
    const auto network = BuildNetworkFromNdlText("F(a) { T=Tanh(a) }\nx=Input(2, tag=feature)\nz=F(x)\n", "net.ndl",
                                                 DataType::Float32, MakeCpuDevice(), &context);
    const auto reportOf = [&](const ComputationNode& node)
    {
        return ReportOf(ErrorKind::Data,
                        [&] { AtPlacesOfNodes(context, [&] { FailOf(node, ErrorKind::Data, "too small"); }); });
    };
    EXPECT_EQ(reportOf(*network->Require("z.T")), "note: in macro 'F', called at net.ndl:3:3\n"
                                                  "    1 | F(a) { T=Tanh(a) }\n"
                                                  "      |          ^~~~\n"
                                                  "net.ndl:1:10: error: too small");
    EXPECT_EQ(reportOf(*network->AddParameter("w", TensorShape{1})), "error: too small");
}

} // namespace
} // namespace cntk
