// The dump and the DOT graph, character by character; the original's own dump where it is at hand.
#include "Common/Error.h"
#include "CommonTests/TemporaryFolder.h"
#include "CommonTests/ThrownErrors.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Files/NetworkReport.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace cntk
{
namespace
{

namespace fs = std::filesystem;

class NetworkReportTests : public ::testing::Test
{
protected:
    NetworkReportTests() : m_folder(fs::temp_directory_path() / ("NetworkReportTests." + std::to_string(::getpid())))
    {
        fs::create_directories(m_folder);
        const auto features = m_network.AddInput("features", TensorShape{2});
        const auto weights = m_network.Add<LearnableParameterNode>("LearnableParameter", "W*x");
        weights->SetParameterShape(TensorShape{2, 2});
        weights->Values().FromHost(std::vector<double>{1, 0.1, -3, 1e-20});
        const auto mean = m_network.Add<MeanNode>("Mean", "m", {features});
        m_network.Validate();
        mean->SetComputed(std::vector<double>{0.5, 0.25});
        const auto product = m_network.Add("Times", "z", {weights, features});
        m_network.AddToGroup(NodeGroup::Feature, features);
        m_network.AddToGroup(NodeGroup::Output, product);
        m_network.Validate();
    }
    ~NetworkReportTests() override { fs::remove_all(m_folder); }

    std::string Dump(const std::vector<ComputationNodePtr>& nodes, const DumpOptions& options) const
    {
        const std::string path = (m_folder / "dump.txt").string();
        DumpNodes(nodes, options, path);
        return ReadBytes(path);
    }

    fs::path m_folder;
    ComputationNetwork m_network{DataType::Float32, MakeCpuDevice()};
};

const std::string c_rule(68, '#');

TEST_F(NetworkReportTests, DumpsAsTheOriginal)
{
    EXPECT_EQ(Dump(m_network.Nodes(), {}),
              " \nfeatures=InputValue [ 2 ]"
              " \nm=Mean ( features ) [2]   HasComputed=true \n 0.5 \n 0.25 \n " +
                  c_rule +
                  " \nW*x=LearnableParameter [2,2]   learningRateMultiplier=1.000000  NeedsGradient=true"
                  " \n 1 -3 \n 0.100000001 9.99999968e-21 \n " +
                  c_rule + " \nz=Times ( W*x , features )");
    EXPECT_EQ(Dump({m_network.Require("w*x")}, {.printValues = false, .printMetadata = true}),
              " \nW*x=LearnableParameter [2,2]   learningRateMultiplier=1.000000  NeedsGradient=true");
    EXPECT_EQ(Dump({m_network.Require("w*x"), m_network.Require("z")}, {.printValues = true, .printMetadata = false}),
              " \n 1 -3 \n 0.100000001 9.99999968e-21 \n");
}

TEST_F(NetworkReportTests, WritesNullForAMissingInput)
{
    m_network.Delete(m_network.Require("W*x"));
    EXPECT_EQ(Dump({m_network.Require("z")}, {}), " \nz=Times ( NULL , features )");
}

TEST_F(NetworkReportTests, SelectsByRegex)
{
    EXPECT_EQ(FindNodesByRegex(m_network, "[mz]|W.*").size(), 3u);
    EXPECT_TRUE(FindNodesByRegex(m_network, "w.*").empty());
    EXPECT_TRUE(FindNodesByRegex(m_network, "feat").empty());
    EXPECT_EQ(MessageOf(ErrorKind::Config, [&] { FindNodesByRegex(m_network, "a("); }).substr(0, 35),
              "'a(' is no valid regular expression");
    EXPECT_EQ(MessageOf(ErrorKind::Config, [&] { FindNodesByRegex(m_network, "*W"); }),
              "'*W' is no valid regular expression: '*' repeats what stands before it; any text is "
              "'.*', as in '.*W'");
}

// Whoever tries all ways to read the names never ends.
TEST_F(NetworkReportTests, ExpressionsWithManyWaysToReadAName)
{
    m_network.AddParameter(std::string(100, 'a'), {1});
    for (const char* many : {"(a+)+", "(a|aa)*", "(a*)*", "(.*a){12}"})
    {
        EXPECT_EQ(FindNodesByRegex(m_network, many).size(), 1u) << many;
        EXPECT_TRUE(FindNodesByRegex(m_network, std::string(many) + "b").empty()) << many;
    }
    EXPECT_EQ(FindNodesByRegex(m_network, "(a+)\\1").size(), 1u); // what was read before, once more
    EXPECT_EQ(FindNodesByRegex(m_network, "(?=a)a.*").size(), 1u);
}

TEST_F(NetworkReportTests, RefusesToPrintNothing)
{
    EXPECT_EQ(MessageOf(ErrorKind::Config, [&] { Dump({}, {.printValues = false, .printMetadata = false}); }),
              "printValues and printMetadata are both false; there is nothing to print");
}

TEST_F(NetworkReportTests, DrawsTheGraph)
{
    EXPECT_EQ(
        DotGraph(m_network),
        " strict digraph {\n"
        " rankdir = BT ;  \n"
        " // special nodes \n"
        " node [ shape = box     , color = gray , style = \"filled, rounded\"  ]; \"W*x\" ; \n"
        " node [ shape = ellipse , color = red  , fillcolor = white ]; \"features\" ; \n"
        "   node [ shape = box    , color = black, style = \"dashed, filled\",  fillcolor= limegreen ] ;\"m\" ; \n"
        "   node [ shape = ellipse, color = blue, fillcolor = white, style = solid ];  \n"
        " \n"
        "// add labels and operation name\n"
        "  \"features\" [ label = \"features [2 x *]\\nInputValue\" ] ;\n"
        "  \"m\" [ label = \"m [2]\\nMean\" ] ;\n"
        "  \"W*x\" [ label = \"W*x [2 x 2]\\nLearnableParameter\" ] ;\n"
        "  \"z\" [ label = \"z [2 x *]\\nTimes\" ] ;\n"
        " subgraph {\n"
        " \t\t rank=source ;  \"features\"  \n"
        "}\n"
        " subgraph {\n"
        " \t\t rank=sink ;  \"z\"  \n"
        "}\n"
        " \"W*x\" -> \"z\" ; \n"
        " \"features\" -> \"z\" ; \n"
        " \n"
        "}\n");
}

// Only arcs of nodes that a criterion or output reaches are drawn, or all arcs if the network has neither.
TEST_F(NetworkReportTests, DrawsArcsOfWhatTheGroupsReach)
{
    EXPECT_EQ(DotGraph(m_network).find("-> \"m\""), std::string::npos);
    m_network.RemoveFromGroup(NodeGroup::Output, m_network.Require("z"));
    EXPECT_NE(DotGraph(m_network).find("\"features\" -> \"m\" ; \n"), std::string::npos);
}

TEST_F(NetworkReportTests, DumpsTheOriginalsModelAsTheOriginalDid)
{
    const char* shared = std::getenv("CNTK_TEST_SHARED");
    const fs::path folder = fs::path(shared ? shared : "") / "golden" / "action_dumpnode";
    if (shared == nullptr || !fs::exists(folder))
        GTEST_SKIP() << "CNTK_TEST_SHARED names no folder with golden cases";
    const auto network = LoadModel((folder / "start" / "base.dnn").string(), DataType::Float64, MakeCpuDevice());
    EXPECT_EQ(Dump(network->Nodes(), {}), ReadBytes(folder / "expected" / "all.txt"));
    EXPECT_EQ(Dump(network->Nodes(), {.printValues = false, .printMetadata = true}),
              ReadBytes(folder / "expected" / "bare.txt"));
    EXPECT_EQ(Dump({network->Require("L1.BFF1.W")}, {}), ReadBytes(folder / "expected" / "one.txt"));
}

} // namespace
} // namespace cntk
