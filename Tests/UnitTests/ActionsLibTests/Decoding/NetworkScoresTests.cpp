// Scores of files and of networks: windows, batches, recurrent networks, files that cannot be read.
#include "ActionsLib/Decoding/NetworkScores.h"
#include "ActionsLib/Decoding/UtteranceFiles.h"
#include "Common/Error.h"
#include "Common/Htk/HtkFile.h"
#include "CommonTests/TemporaryFolder.h"
#include "CommonTests/ThrownErrors.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace cntk
{
namespace
{

using testing::HasSubstr;
using Column = std::vector<double>;

std::string FloatsOf(const std::vector<Column>& frames)
{
    const auto header = MakeHtkHeader(frames.size(), frames.empty() ? 2 : frames[0].size());
    std::string bytes(header.begin(), header.end());
    for (const Column& frame : frames)
        for (const double value : frame)
        {
            const auto single = float(value);
            uint32_t bits;
            std::memcpy(&bits, &single, sizeof bits);
            for (int shift = 24; shift >= 0; shift -= 8)
                bytes += char(bits >> shift);
        }
    return bytes;
}

class NetworkScoresTest : public testing::Test
{
protected:
    // Writes utterances u0, u1, ... of these lengths, one a file, of two values a frame, and their list.
    NetworkScoresTest() { m_options.infiles = m_folder / "all.scp"; }

    void WriteUtterances(const std::vector<size_t>& lengths)
    {
        std::string list;
        for (size_t i = 0; i < lengths.size(); ++i)
        {
            std::vector<Column>& frames = m_frames.emplace_back();
            for (size_t t = 0; t < lengths[i]; ++t)
                frames.push_back({std::sin(double(7 * i + t)), std::cos(double(3 * i + 2 * t))});
            m_folder.Write("u" + std::to_string(i) + ".f", FloatsOf(frames));
            list += "any/u" + std::to_string(i) + ".x=u" + std::to_string(i) + ".f\n";
        }
        m_folder.Write("all.scp", list);
    }

    const Column& Clamped(size_t utterance, ptrdiff_t frame) const
    {
        const std::vector<Column>& frames = m_frames[utterance];
        return frames[size_t(std::clamp<ptrdiff_t>(frame, 0, ptrdiff_t(frames.size()) - 1))];
    }

    // The output is the weighted sum of the window's values, and its negative.
    std::unique_ptr<ComputationNetwork> WindowNetwork(size_t window, DataType type) const
    {
        auto network = std::make_unique<ComputationNetwork>(type, MakeCpuDevice({.threads = 1}));
        const auto features = network->AddInput("features", {2 * window});
        const auto weights =
            std::dynamic_pointer_cast<LearnableParameterNode>(network->AddParameter("W", {2, 2 * window}));
        std::vector<double> values;
        for (size_t i = 0; i < 2 * window; ++i)
            values.insert(values.end(), {0.25 * double(i + 1), -0.25 * double(i + 1)});
        weights->Values().FromHost(values);
        network->AddToGroup(NodeGroup::Output, network->Add("Times", "ScaledLogLikelihood", {weights, features}));
        network->Validate();
        return network;
    }

    void ExpectWindows(ScoreSource& source, size_t window) const
    {
        UtteranceScores scores;
        for (size_t i = 0; i < m_frames.size(); ++i)
        {
            ASSERT_TRUE(source.Next(scores));
            EXPECT_EQ(scores.name, "u" + std::to_string(i));
            EXPECT_EQ(scores.problem, "");
            ASSERT_EQ(scores.frames, m_frames[i].size());
            EXPECT_EQ(scores.rows, 2u);
            EXPECT_EQ(scores.framePeriod, 100000);
            for (size_t t = 0; t < scores.frames; ++t)
            {
                double expected = 0;
                for (size_t k = 0; k < 2 * window; ++k)
                    expected += 0.25 * double(k + 1) *
                                Clamped(i, ptrdiff_t(t) + ptrdiff_t(k / 2) - ptrdiff_t(window / 2))[k % 2];
                ASSERT_NEAR(scores.values[2 * t], expected, 1e-4) << i << ", " << t;
                ASSERT_NEAR(scores.values[2 * t + 1], -expected, 1e-4);
            }
        }
        EXPECT_FALSE(source.Next(scores));
    }

    TemporaryFolder m_folder;
    DecodeOptions m_options;
    std::vector<std::vector<Column>> m_frames; // of each utterance
};

} // namespace

TEST_F(NetworkScoresTest, WindowsRepeatTheEdges)
{
    WriteUtterances({1, 2, 30, 0, 700, 400, 3, 2500, 1, 1});
    for (const size_t threads : {1, 3})
        for (const DataType type : {DataType::Float32, DataType::Float64})
            for (const size_t window : {1, 5})
            {
                m_options.threads = threads;
                m_options.dnnWindowSize = window;
                const auto source = MakeNetworkScores(m_options, WindowNetwork(window, type));
                EXPECT_EQ(source->Rows(), 2u);
                EXPECT_EQ(source->Utterances(), 10u);
                ExpectWindows(*source, window);
                EXPECT_GT(source->NetworkSeconds(), 0);
            }
}

TEST_F(NetworkScoresTest, ASourceMayBeDestroyedBeforeItsEnd)
{
    WriteUtterances(std::vector<size_t>(100, 300));
    m_options.threads = 2;
    m_options.dnnWindowSize = 1;
    UtteranceScores scores;
    const auto source = MakeNetworkScores(m_options, WindowNetwork(1, DataType::Float32));
    EXPECT_TRUE(source->Next(scores));
}

// The output of a frame is the sum of this and all earlier frames of the utterance.
TEST_F(NetworkScoresTest, RecurrentNetworksSeeWholeUtterances)
{
    WriteUtterances({4, 100, 1, 0, 900, 30});
    m_options.dnnWindowSize = 1;
    m_options.outputNode = "sum";
    auto network = std::make_unique<ComputationNetwork>(DataType::Float64, MakeCpuDevice({.threads = 1}));
    const auto features = network->AddInput("features", {2});
    const auto past = network->AddUnconnected("PastValue", "past");
    const auto sum = network->Add("Plus", "sum", {features, past});
    network->SetInputs(past, {sum});
    network->Validate();
    const auto source = MakeNetworkScores(m_options, std::move(network));
    UtteranceScores scores;
    for (const std::vector<Column>& frames : m_frames)
    {
        ASSERT_TRUE(source->Next(scores));
        ASSERT_EQ(scores.frames, frames.size());
        Column total{0, 0};
        for (size_t t = 0; t < frames.size(); ++t)
            for (size_t k = 0; k < 2; ++k)
            {
                total[k] += frames[t][k] + (t == 0 ? 0.1 : 0); // defaultHiddenActivity
                ASSERT_NEAR(scores.values[2 * t + k], total[k], 1e-4) << t;
            }
    }
    EXPECT_FALSE(source->Next(scores));
}

TEST_F(NetworkScoresTest, UnreadableFilesFailTheirUtterances)
{
    WriteUtterances({3, 4, 5});
    m_folder.Write("u0.f", "short");
    m_folder.Write("wide.f", FloatsOf({{1, 2, 3}}));
    m_folder.Write("all.scp", "u0=u0.f\nu1=u1.f[2,4]\nwide.f\ngone.f\nu2=u2.f[1,2]\n");
    m_options.dnnWindowSize = 3;
    for (const bool isNetwork : {true, false})
    {
        const auto source = isNetwork ? MakeNetworkScores(m_options, WindowNetwork(3, DataType::Float32))
                                      : std::make_unique<ScoreFileSource>(m_options);
        std::vector<std::string> problems;
        UtteranceScores scores;
        while (source->Next(scores))
            problems.push_back(scores.problem);
        ASSERT_EQ(problems.size(), 5u);
        EXPECT_THAT(problems[0], HasSubstr("u0.f"));
        EXPECT_THAT(problems[1], HasSubstr("all.scp:2: the range [2,4] reaches beyond the file"));
        if (isNetwork)
        {
            EXPECT_THAT(problems[2], HasSubstr("have 3 values, but the model takes 2"));
        }
        EXPECT_THAT(problems[3], HasSubstr("gone.f"));
        EXPECT_EQ(problems[4], "");
        EXPECT_EQ(scores.frames, 2u);
        EXPECT_EQ(scores.name, "u2");
    }
}

TEST_F(NetworkScoresTest, ScoreFilesAreDeliveredAsTheyAre)
{
    WriteUtterances({3, 0, 2});
    const auto source = std::make_unique<ScoreFileSource>(m_options);
    EXPECT_EQ(source->Rows(), 2u);
    UtteranceScores scores;
    for (const std::vector<Column>& frames : m_frames)
    {
        ASSERT_TRUE(source->Next(scores));
        ASSERT_EQ(scores.frames, frames.size());
        for (size_t t = 0; t < frames.size(); ++t)
            EXPECT_FLOAT_EQ(scores.values[2 * t + 1], float(frames[t][1]));
    }
    EXPECT_FALSE(source->Next(scores));
    EXPECT_EQ(source->NetworkSeconds(), 0);
}

TEST_F(NetworkScoresTest, PathsAreThoseOfTheListOrOfTheCurrentFolder)
{
    m_folder.Write("lists/a.scp", "one.f\nsub/two.f\nthree.f\n");
    m_folder.Write("lists/one.f", FloatsOf({{1, 2}}));
    m_folder.Write("sub/two.f", FloatsOf({{3, 4}}));
    m_folder.Write("other/three.f", FloatsOf({{5, 6}}));
    m_folder.Enter();
    m_options.infiles = "lists/a.scp";
    UtteranceScores scores;
    {
        const auto source = std::make_unique<ScoreFileSource>(m_options);
        EXPECT_TRUE(source->Next(scores) && scores.problem.empty());
        EXPECT_TRUE(source->Next(scores) && scores.problem.empty());
        EXPECT_EQ(scores.name, "two");
        EXPECT_TRUE(source->Next(scores));
        EXPECT_THAT(scores.problem, HasSubstr("lists/three.f"));
    }
    m_options.prefixPathInScp = "other";
    const auto source = std::make_unique<ScoreFileSource>(m_options);
    EXPECT_TRUE(source->Next(scores) && !scores.problem.empty());
    EXPECT_TRUE(source->Next(scores) && !scores.problem.empty());
    EXPECT_TRUE(source->Next(scores) && scores.problem.empty());
}

TEST_F(NetworkScoresTest, NodesAndWindowsThatDoNotFit)
{
    WriteUtterances({3});
    m_options.am = "m.dnn";
    const auto messageOf = [&](ErrorKind kind, const std::function<void(ComputationNetwork&)>& change)
    {
        auto network = WindowNetwork(3, DataType::Float32);
        change(*network);
        network->Validate();
        return MessageOf(kind, [&] { MakeNetworkScores(m_options, std::move(network)); });
    };
    const auto nothing = [](ComputationNetwork&) {};
    m_options.dnnWindowSize = 11;
    EXPECT_EQ(messageOf(ErrorKind::Data, nothing),
              "input 'features' of model 'm.dnn' has 6 rows, but the frames of '" + m_options.infiles +
                  "' have 2 values, which is 22 in a window of 11; expected -dnn_window_size 3");
    m_options.dnnWindowSize = 3;
    m_options.featureNode = "mfcc";
    EXPECT_EQ(messageOf(ErrorKind::Model, nothing),
              "model 'm.dnn' has no input node 'mfcc'; the inputs of 'ScaledLogLikelihood': 'features'; give "
              "-feature-node");
    m_options.featureNode = "features";
    m_options.outputNode = "Posterior";
    EXPECT_EQ(messageOf(ErrorKind::Model, nothing), "no error"); // the only output node
    const auto another = [](ComputationNetwork& network)
    { network.AddToGroup(NodeGroup::Output, network.Add("Sigmoid", "z", {network.Require("features")})); };
    EXPECT_THAT(messageOf(ErrorKind::Model, another),
                HasSubstr("has no node 'Posterior' and not exactly one output node; its output nodes: "
                          "'ScaledLogLikelihood', 'z'; give -output-node"));
    m_options.outputNode = "W";
    EXPECT_THAT(messageOf(ErrorKind::Model, nothing),
                HasSubstr("node 'W' of model 'm.dnn' has no column for each frame"));
}

} // namespace cntk
