// TimeReverse, CRF against all paths, the decoder against all paths.
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetworkTests/TestNetwork.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace cntk::Testing
{

namespace
{

// One sequence of three steps, two labels.
struct Tagger : TestNetwork
{
    Tagger()
    {
        labels = Input("labels", {2});
        scores = Input("scores", {2});
        transitions = Parameter("transitions", {2, 2});
        crf = Add("CRF", "crf", {labels, scores, transitions});
        decoder = Add("SequenceDecoder", "decoder", {labels, scores, transitions});
        network.Validate();
        network.Layout()->Init(1, 3);
        network.Layout()->AddSequence(0, 0, 0, 3);
        SetInput(scores, m_scores);
    }
    void SetLabels(size_t a, size_t b, size_t c)
    {
        std::vector<double> values(6);
        values[a] = values[2 + b] = values[4 + c] = 1;
        SetInput(labels, values);
    }
    // Returns the score of a path. `before` is the label before the first one.
    double Score(size_t before, size_t a, size_t b, size_t c) const
    {
        const std::vector<double> t = ValueOf(transitions);
        return m_scores[a] + m_scores[2 + b] + m_scores[4 + c] + t[before * 2 + a] + t[a * 2 + b] + t[b * 2 + c];
    }

    std::vector<double> m_scores{0.3, -0.2, 0.7, 0.9, -0.4, 0.1};
    ComputationNodePtr labels, scores, transitions, crf, decoder;
};

} // namespace

// The positions follow from the layout, which differs in each minibatch.
TEST(TimeReverse, FollowsTheLayoutOfEachMinibatch)
{
    TestNetwork net;
    const auto x = net.Input("x", {1});
    const auto reversed = net.Add("TimeReverse", "reversed", {x});
    net.network.Validate();
    Evaluator evaluator(net.network, {reversed}, Checked(false));
    MBLayout& layout = *net.network.Layout();
    const auto reverse = [&](const std::vector<SequenceInfo>& sequences)
    {
        layout.Init(1, 5);
        for (const SequenceInfo& sequence : sequences)
            layout.AddSequence(sequence.id, sequence.row, sequence.begin, sequence.end);
        SetInput(x, {1, 2, 3, 4, 5});
        evaluator.Forward();
        return ValueOf(reversed);
    };
    EXPECT_EQ(reverse({{0, 0, 0, 5}}), (std::vector<double>{5, 4, 3, 2, 1}));
    EXPECT_EQ(reverse({{1, 0, 0, 2}, {2, 0, 2, 5}}), (std::vector<double>{2, 1, 5, 4, 3}));
    EXPECT_EQ(reverse({{3, 0, 0, 3}}), (std::vector<double>{3, 2, 1, 0, 0}));
}

TEST(Crf, IsTheLogProbabilityAmongAllPaths)
{
    Tagger net;
    Evaluator evaluator(net.network, {net.crf});
    for (size_t path = 0; path < 8; path++)
    {
        const size_t a = path & 1, b = path >> 1 & 1, c = path >> 2;
        net.SetLabels(a, b, c);
        evaluator.Forward();
        double sum = 0;
        for (size_t other = 0; other < 8; other++)
            sum += std::exp(net.Score(a, other & 1, other >> 1 & 1, other >> 2));
        EXPECT_NEAR(ValueOf(net.crf)[0], std::log(sum) - net.Score(a, a, b, c), 1e-12) << "path " << path;
    }
}

TEST(SequenceDecoder, FindsTheBestPathBetweenFirstAndLastLabel)
{
    Tagger net;
    Evaluator evaluator(net.network, {net.decoder});
    for (size_t ends = 0; ends < 4; ends++)
    {
        const size_t a = ends & 1, c = ends >> 1;
        net.SetLabels(a, 0, c);
        evaluator.Forward();
        const size_t b = net.Score(a, a, 0, c) > net.Score(a, a, 1, c) ? 0 : 1;
        std::vector<double> expected(6);
        expected[a] = expected[2 + b] = expected[4 + c] = 1;
        EXPECT_EQ(ValueOf(net.decoder), expected) << "ends " << ends;
    }
}

TEST(Crf, RefusesTransitionsOfAnotherSize)
{
    TestNetwork net;
    const auto labels = net.Input("labels", {2});
    const auto scores = net.Input("scores", {2});
    net.Add("CRF", "crf", {labels, scores, net.Parameter("transitions", {2, 3})});
    EXPECT_EQ(MessageOf([&] { net.network.Validate(); }),
              "CRF needs transitions [2 x 2] (to x from) as its third input, but got 'transitions' [2 x 3]");
}

TEST(TimeReverse, ReversesEachSequence)
{
    TestNetwork net;
    const auto x = net.Input("x", {1});
    const auto reversed = net.Add("TimeReverse", "reversed", {x});
    net.network.Validate();
    MBLayout& layout = *net.network.Layout();
    layout.Init(2, 4);
    layout.AddSequence(0, 0, 0, 4);
    layout.AddSequence(1, 1, 0, 1);
    layout.AddSequence(2, 1, 1, 3);
    layout.AddGap(1, 3, 4);
    SetInput(x, {1, 10, 2, 20, 3, 30, 4, std::numeric_limits<double>::quiet_NaN()});
    Evaluator evaluator(net.network, {reversed});
    evaluator.Forward();
    EXPECT_EQ(ValueOf(reversed), (std::vector<double>{4, 10, 3, 30, 2, 20, 1, 0}));
}

} // namespace cntk::Testing
