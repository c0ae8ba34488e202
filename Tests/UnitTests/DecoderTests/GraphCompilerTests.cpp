// Compilation of graphs, their images, and errors of both.
#include "DecoderTests/DecoderTestTools.h"

#include <cstring>

namespace cntk
{
namespace
{

using testing::ElementsAre;
using testing::HasSubstr;

class GraphCompilerTests : public DecoderTest
{
protected:
    GraphCompilerTests() { Write("transitions", "[s] -0.5 -1\n[t] -0.4 -1.1\nx1 -0.3 -1\nx2 -0.3 -1\n"); }

    std::string ErrorOf(const std::string& acceptor)
    {
        Write("acceptor", acceptor);
        return MessageFor([&] { Compile(); });
    }
    std::string ErrorOfImage(const std::string& bytes)
    {
        Write("damaged.dg", bytes);
        return MessageFor([&] { DecodingGraph graph(Path("damaged.dg")); });
    }
};

TEST_F(GraphCompilerTests, ReadsTheTextAndDropsWhatNoSentenceUses)
{
    // States with gaps, blanks and tabs, trailing blanks, carriage returns, empty lines; node 40 leads nowhere, and
    // nothing leads to node 50.
    Write("acceptor", "7 9 <s> 0.5\r\n\n9\t3\t[s]\t0.25  \n9 3 [t]\n3 40 [t]\n3 3 [t] 2\n3 9 w 1\n50 3 [t]\n3 0.75\n");
    Compile();
    const DecodingGraph graph(Path("graph.dg"));
    EXPECT_EQ(graph.NodeCount(), 3U);
    EXPECT_EQ(graph.ArcCount(), 3U);
    EXPECT_THAT(graph.Words(), ElementsAre("<s>", "w"));
    EXPECT_THAT(graph.StateNames(), ElementsAre("s", "t"));
    EXPECT_FLOAT_EQ(graph.SelfScores()[1], -0.4F);
    ASSERT_EQ(graph.WordArcsOf(0).size(), 1U);
    EXPECT_FLOAT_EQ(graph.WordArcsOf(0)[0].cost, 0.5F);
    const uint32_t node = graph.WordArcsOf(0)[0].node;
    ASSERT_EQ(graph.ArcsOf(node).size(), 2U);
    EXPECT_FLOAT_EQ(graph.ArcsOf(node)[0].cost, 0.0F); // by rising cost
    EXPECT_FLOAT_EQ(graph.ArcsOf(node)[1].cost, 0.25F);
    EXPECT_FLOAT_EQ(graph.FinalCost(graph.Places()[0].node), 0.75F);
    EXPECT_EQ(graph.FewestFrames(), 1U);
    EXPECT_THAT(LogText(), HasSubstr("States = 3; Arcs = 5; HMM states = 2; Words = 2; LookAhead = unknown; Silences = "
                                     "unknown; Bytes = "));
    EXPECT_THAT(LogText(), HasSubstr("acceptor:1: the word arc has a cost, but there is no -lookahead-file"));
}

TEST_F(GraphCompilerTests, TellsTheLineOfMistakes)
{
    EXPECT_EQ(ErrorOf("0 1 [s]\n1 2 <eps>\n2\n"),
              "data: acceptor:2: the label '<eps>' is an epsilon; epsilons are not allowed: fstrmepsilon removes them");
    EXPECT_THAT(ErrorOf("0 1 0\n1\n"), HasSubstr("acceptor:1: the label '0' is an epsilon"));
    EXPECT_THAT(ErrorOf("0 1 [s] 1 2\n1\n"), HasSubstr("acceptor:1: '0 1 [s] 1 2' has 5 fields, expected"));
    EXPECT_THAT(ErrorOf("0 1 [s] x\n1\n"), HasSubstr("acceptor:1: 'x' is no number, expected a cost"));
    EXPECT_THAT(ErrorOf("0 1 [s] nan\n1\n"), HasSubstr("acceptor:1: 'nan' is no number"));
    EXPECT_THAT(ErrorOf("0 a [s]\n1\n"), HasSubstr("acceptor:1: 'a' is no number of a state"));
    EXPECT_THAT(ErrorOf(""), HasSubstr("is empty: it has no start"));
    EXPECT_THAT(ErrorOf("0 1 [s]\n"), HasSubstr("acceptor:1: the file ends without a final state"));
    EXPECT_THAT(ErrorOf("0 1 [s]\n2\n"),
                HasSubstr("no final state can be reached from the start, state 0 (acceptor:1)"));
    EXPECT_THAT(ErrorOf("0 1 [s]\n1 2 a\n2 1 b\n1\n"), HasSubstr("acceptor:3: a cycle of word arcs through state 1"));
    EXPECT_EQ(
        ErrorOf("0 1 [s]\n1 2 [u]\n2 3 [v]\n3\n"),
        "data: the transition file 'transitions' lacks the state 'u' of the acceptor and 1 more; add a line with the "
        "state and its two logarithms");
    Write("acceptor", "0 1 s\n1 2 [s]\n2\n");
    Compile();
    EXPECT_THAT(LogText(), HasSubstr("'s' is a word, but also a state: brackets missing?"));
}

TEST_F(GraphCompilerTests, TellsTheLineOfMistakesInTables)
{
    Write("acceptor", "0 1 [s]\n1\n");
    Write("lookahead", "a -1\nb 0.5\n");
    EXPECT_THAT(MessageFor([&] { Compile(); }), HasSubstr("lookahead:2: '0.5' is above 0"));
    Write("lookahead", "a -0\nb\n");
    EXPECT_THAT(MessageFor([&] { Compile(); }), HasSubstr("lookahead:2: 'b' has 1 field, expected"));
    Write("lookahead", "a -1\n");
    Write("transitions", "s -0.5 -1\nt x -1\n");
    EXPECT_THAT(MessageFor([&] { Compile(); }), HasSubstr("transitions:2: 'x' is no number"));
    Write("transitions", "s -0.5 -1\nt -0.5 0.1\n");
    EXPECT_THAT(MessageFor([&] { Compile(); }), HasSubstr("transitions:2: '0.1' is above 0"));
    Write("transitions", "s -0.5 -1\n[s] -0.5 -1\n");
    EXPECT_THAT(MessageFor([&] { Compile(); }), HasSubstr("transitions:2: '[s]' is listed twice"));
    Write("map", "[s] 0\n[t] 1\ns 2\n");
    EXPECT_THAT(MessageFor([&] { ReadStateMap(Path("map")); }), HasSubstr("map:3: 's' is listed twice"));
}

TEST_F(GraphCompilerTests, ReadsOnlyWholeImagesOfItsVersion)
{
    Write("acceptor", "0 1 <s>\n1 2 [s]\n2\n");
    Compile();
    const std::string image = ReadTextFile(Path("graph.dg"));
    EXPECT_EQ(ErrorOfImage("0 1 <s>\n1 2 [s]\n2\n"),
              "data: graph 'damaged.dg' is no binary graph, but looks like the text of an acceptor; compile it with "
              "-precompile true");
    for (size_t size = 0; size < image.size(); size += 7)
        EXPECT_THAT(ErrorOfImage(image.substr(0, size)), HasSubstr("compile it with -precompile true")) << size;
    EXPECT_THAT(ErrorOfImage(image + "x"), HasSubstr("its header says"));
    std::string other = image;
    other[8] = 77;
    EXPECT_THAT(ErrorOfImage(other), HasSubstr("has version 77"));
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i)
    {
        other = image;
        const size_t at = 8 + random() % (image.size() - 8);
        other[at] = char(other[at] ^ (1 << random() % 8));
        EXPECT_THAT(ErrorOfImage(other), HasSubstr("compile it with -precompile true")) << at;
    }
    EXPECT_THAT(MessageFor([&] { DecodingGraph graph(Path("none.dg")); }), HasSubstr("does not exist"));
}

// The arcs that the cost of silence is charged on, as texts "state>state".
std::vector<std::string> ChargedArcs(const DecodingGraph& graph)
{
    std::vector<std::string> charged;
    const auto add = [&](uint32_t from, uint32_t node)
    {
        for (const GraphArc& arc : graph.ArcsOf(node))
            if (arc.LeavesSilence())
                charged.push_back(graph.StateNames()[from] + ">" + graph.StateNames()[arc.State()]);
    };
    for (const GraphPlace& place : graph.Places())
    {
        add(place.state, place.node);
        for (const GraphWordArc& arc : graph.WordArcsOf(place.node))
            add(place.state, arc.node);
    }
    std::sort(charged.begin(), charged.end());
    return charged;
}

TEST_F(GraphCompilerTests, ChargesOptionalSilencesOnce)
{
    Write("models", "sil x1 x2\nA s\nB t\n");
    // <s> stands in the first silence. An optional silence follows B. The last one, for </s>, is optional silence's
    // twin.
    Write("acceptor", "0 1 [x1]\n1 2 <s>\n2 3 [x2]\n3 4 [s]\n4 5 w\n5 6 [t]\n6 3 [x1]\n6 7 [x1]\n7 3 [x2]\n7 8 [x2]\n"
                      "6 4 [s]\n8 9 </s>\n9\n");
    Compile();
    EXPECT_THAT(ChargedArcs(DecodingGraph(Path("graph.dg"))), ElementsAre("x1>s", "x2>s"));
    EXPECT_THAT(LogText(), HasSubstr("Silences = known"));
}

} // namespace
} // namespace cntk
