// Sentences of decoders with known probabilities: where the best first word leads astray, ends, lengths, what cannot be
// decoded.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "SGD/Evaluation/BeamSearch.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <set>

namespace cntk
{
namespace
{

enum Word : size_t
{
    A,
    B,
    End,
    Begin
};
using Sentences = std::vector<std::vector<size_t>>;

// The next word depends on the one before it and on a vector that stands for an encoder's output:
//   after Begin: A 0.6, B 0.4;  after A: A 0.3, B 0.3, End 0.4;  after B: A 0.05, B 0.05, End 0.9
// so that "A End" (0.24) begins better than "B End" (0.36).
struct Decoder
{
    std::unique_ptr<ComputationNetwork> network =
        std::make_unique<ComputationNetwork>(DataType::Float64, MakeCpuDevice({.threads = 1}));
    std::shared_ptr<InputValueNode> words, encoded;
    ComputationNodePtr scores;

    Decoder()
    {
        words = Input("words", "");
        encoded = Input("encoded", "encoder");
        const auto table = network->Add("Times", "table", {Table(), words});
        scores =
            network->Add("Plus", "scores", {table, network->Add("Attention", "context", {encoded, encoded, table})});
        network->Validate();
    }

    std::shared_ptr<InputValueNode> Input(const std::string& name, const std::string& axis) const
    {
        NodeParameters parameters;
        parameters.Set("rows", "4");
        if (!axis.empty())
            parameters.Set("dynamicAxis", axis);
        return std::dynamic_pointer_cast<InputValueNode>(network->Add("InputValue", name, {}, parameters));
    }

    ComputationNodePtr Table() const
    {
        const double none = std::log(1e-12);
        std::vector<double> values; // a column for each word before
        for (const double p : {0.3, 0.3, 0.4, 0.0, 0.05, 0.05, 0.9, 0.0, 0.25, 0.25, 0.25, 0.25, 0.6, 0.4, 0.0, 0.0})
            values.push_back(p > 0 ? std::log(p) : none);
        auto node = std::dynamic_pointer_cast<LearnableParameterNode>(network->AddParameter("P", {4, 4}));
        node->Values().FromHost(values);
        return node;
    }

    // Decodes sentences; `added` is added to the scores.
    Sentences Decode(size_t beamWidth, const std::vector<std::vector<double>>& added, size_t maxLength = 5,
                     std::optional<size_t> endWord = End, ComputationNodePtr output = nullptr) const
    {
        BeamSearch search(*network, output ? output : scores, words, {encoded}, beamWidth);
        std::vector<SentenceToDecode> sentences;
        for (const std::vector<double>& values : added)
            sentences.push_back({Begin, maxLength, {values}});
        return search.Decode(sentences, endWord);
    }

    std::string ErrorOf(const ComputationNodePtr& output) const
    {
        return cntk::MessageOf(ErrorKind::Model, [&] { Decode(1, {c_nothing}, 5, End, output); });
    }

    inline static const std::vector<double> c_nothing = {0, 0, 0, 0};
};

TEST(BeamSearchTest, TheBestWordEachTimeIsNotTheBestSentence)
{
    const Decoder decoder;
    EXPECT_EQ(decoder.Decode(1, {Decoder::c_nothing}), (Sentences{{A, End}}));
    EXPECT_EQ(decoder.Decode(2, {Decoder::c_nothing}), (Sentences{{B, End}}));
    // More hypotheses than there are words.
    EXPECT_EQ(decoder.Decode(9, {Decoder::c_nothing}), (Sentences{{B, End}}));
}

// They lie side by side, end at different steps and have different numbers of vectors.
TEST(BeamSearchTest, EachSentenceIsDecodedAsIfAlone)
{
    const Decoder decoder;
    const std::vector<double> onlyA = {9, 0, 0, 0}, onlyB = {0, 9, 0, 0};
    const std::vector<double> twice = {0, 9, 0, 0, 0, 9, 0, 0}; // equal vectors: whatever their weights are
    const Sentences expected = {{A, A, A, A, A}, {B, End}, {B, B, B, B, B}, {B, B, B, B, B}};
    EXPECT_EQ(decoder.Decode(2, {onlyA, Decoder::c_nothing, twice, onlyB}), expected);
    for (const size_t beamWidth : {1, 2, 3})
    {
        Sentences alone;
        for (const std::vector<double>& values : {onlyA, Decoder::c_nothing, twice, onlyB})
            alone.push_back(decoder.Decode(beamWidth, {values}).front());
        EXPECT_EQ(decoder.Decode(beamWidth, {onlyA, Decoder::c_nothing, twice, onlyB}), alone) << beamWidth;
    }
}

TEST(BeamSearchTest, SentencesEndAtTheLengthOrWhereNoWordEndsThem)
{
    const Decoder decoder;
    EXPECT_EQ(decoder.Decode(2, {Decoder::c_nothing}, 1), (Sentences{{A}}));
    EXPECT_EQ(decoder.Decode(2, {Decoder::c_nothing}, 0), (Sentences{{}}));
    EXPECT_EQ(decoder.Decode(1, {Decoder::c_nothing}, 3, std::nullopt).front().size(), 3u);
    EXPECT_EQ(decoder.Decode(1, {}), Sentences{});
}

TEST(BeamSearchTest, ProbabilitiesAreTakenAsTheyAre)
{
    const Decoder decoder;
    const auto softmax = decoder.network->Add("Softmax", "softmax", {decoder.scores});
    decoder.network->Validate();
    EXPECT_EQ(decoder.Decode(1, {Decoder::c_nothing}, 5, End, softmax), (Sentences{{A, End}}));
    EXPECT_EQ(decoder.Decode(2, {Decoder::c_nothing}, 5, End, softmax), (Sentences{{B, End}}));
    // 0.36 is a larger product than 0.4 * 0.3 * 0.3, and 0.4 + 0.9 a smaller sum than 0.6 + 0.3 + 0.3 + 0.4.
    EXPECT_EQ(decoder.Decode(9, {Decoder::c_nothing}, 5, End, softmax), (Sentences{{B, End}}));
}

// The next word depends on all words before: by delays of one and two steps, and by a layer of memory cells.
struct RecurrentDecoder : Decoder
{
    explicit RecurrentDecoder(unsigned seed) : m_random(seed)
    {
        const auto delay = [&](const char* name, const char* timeStep)
        {
            NodeParameters parameters;
            parameters.Set("rows", "4");
            parameters.Set("timeStep", timeStep);
            return network->AddUnconnected("PastValue", name, parameters);
        };
        const auto one = delay("one", "1"), two = delay("two", "2");
        const auto times = [&](const char* name, const ComputationNodePtr& node) {
            return network->Add("Times", name, {Weights({4, 4}), node});
        };
        const auto both = network->Add("Plus", "both", {times("R1", one), times("R2", two)});
        const auto in = network->Add("Plus", "in", {both, times("W", words)});
        const auto h = network->Add("Tanh", "h", {in});
        network->SetInputs(one, {h});
        network->SetInputs(two, {h});
        const auto cells = network->Add("LSTM", "cells",
                                        {network->Add("Plus", "seen", {h, network->Require("context")}),
                                         Weights({4, 10}), Weights({4, 10}), Weights({4, 10}), Weights({4, 9})});
        next = network->Add("Plus", "next", {times("V", cells), scores});
        even = network->Add("Plus", "even", {times("Vc", cells), times("Vh", h)});
        // The same, but computed from the beginning each time.
        whole = network->Add("TimeReverse", "again", {network->Add("TimeReverse", "reversed", {next})});
        evenWhole = network->Add("TimeReverse", "evenAgain", {network->Add("TimeReverse", "evenReversed", {even})});
        network->Validate();
    }

    ComputationNodePtr Weights(const TensorShape& shape)
    {
        auto node = network->AddParameter("w" + std::to_string(network->size()), shape);
        std::vector<double> values(shape.Elements());
        for (double& value : values)
            value = 4 * (double(m_random()) / double(m_random.max()) - 0.5);
        std::dynamic_pointer_cast<LearnableParameterNode>(node)->Values().FromHost(values);
        return node;
    }

    // Log probability of a sentence.
    double ScoreOf(const std::vector<size_t>& sentence, const std::vector<double>& added) const
    {
        Evaluator evaluator(*network, {next});
        MBLayout& layout = *words->GetMBLayout();
        layout.Init(1, sentence.size());
        layout.AddSequence(0, 0, 0, ptrdiff_t(sentence.size()));
        layout.BeginPass();
        std::vector<double> values(4 * sentence.size(), 0);
        for (size_t i = 0; i < sentence.size(); ++i)
            values[4 * i + (i == 0 ? size_t(Begin) : sentence[i - 1])] = 1;
        words->SetDense(values.data(), 4, sentence.size());
        encoded->GetMBLayout()->Init(1, 1);
        encoded->GetMBLayout()->AddSequence(0, 0, 0, 1);
        encoded->SetDense(added.data(), 4, 1);
        evaluator.Forward();
        Matrix copy(0, 0, DataType::Float64, next->GetDevice());
        copy.CopyFrom(next->Value());
        const std::vector<double> scored = copy.ToHost();
        double sum = 0;
        for (size_t i = 0; i < sentence.size(); ++i)
        {
            double all = 0;
            for (size_t word = 0; word < 4; ++word)
                all += std::exp(scored[4 * i + word]);
            sum += scored[4 * i + sentence[i]] - std::log(all);
        }
        return sum;
    }

    // Returns the best of all sentences up to that length.
    std::vector<size_t> BestOfAll(const std::vector<double>& added, size_t maxLength) const
    {
        std::vector<size_t> best;
        double bestScore = -std::numeric_limits<double>::infinity();
        std::vector<std::vector<size_t>> beginnings{{}};
        while (!beginnings.empty())
        {
            std::vector<size_t> sentence = std::move(beginnings.back());
            beginnings.pop_back();
            if (!sentence.empty() && (sentence.back() == End || sentence.size() == maxLength))
            {
                const double score = ScoreOf(sentence, added);
                if (score > bestScore)
                    best = sentence, bestScore = score;
                continue;
            }
            for (const size_t word : {A, B, End, Begin})
            {
                beginnings.push_back(sentence);
                beginnings.back().push_back(word);
            }
        }
        return best;
    }

    ComputationNodePtr next, whole;
    ComputationNodePtr even, evenWhole; // the state alone says what comes next, and no word is out of the question

private:
    std::mt19937 m_random;
};

TEST(BeamSearchTest, StateGoesOnWithItsHypothesis)
{
    const std::vector<std::vector<double>> several = {{0.5, 0, -0.5, 0}, {0, 1, 0, 0}, {0, 0, -1, 0.3, 1, 0, -1, 0.5}};
    std::set<Sentences> different;
    for (unsigned seed = 1; seed <= 12; ++seed)
    {
        const RecurrentDecoder decoder(seed);
        ASSERT_TRUE(BeamSearch(*decoder.network, decoder.next, decoder.words, {decoder.encoded}, 2).CarriesState());
        ASSERT_FALSE(BeamSearch(*decoder.network, decoder.whole, decoder.words, {decoder.encoded}, 2).CarriesState());
        for (const size_t beamWidth : {1, 2, 3, 7})
        {
            const Sentences found = decoder.Decode(beamWidth, several, 9, End, decoder.next);
            EXPECT_EQ(found, decoder.Decode(beamWidth, several, 9, End, decoder.whole)) << seed << ", " << beamWidth;
            different.insert(found);
        }
        // Uses one hypothesis for each sentence of three words.
        EXPECT_EQ(decoder.Decode(64, {several[0]}, 3, End, decoder.next), Sentences{decoder.BestOfAll(several[0], 3)})
            << seed;
    }
    EXPECT_GT(different.size(), 12u) << "the width matters";
}

// The best hypotheses of a step are seldom those that were the best before: each must find the state of its own words.
TEST(BeamSearchTest, StateFollowsHypothesesThatOvertakeOthers)
{
    for (unsigned seed = 1; seed <= 12; ++seed)
    {
        const RecurrentDecoder decoder(seed);
        for (const size_t beamWidth : {2, 3, 5})
            EXPECT_EQ(decoder.Decode(beamWidth, {Decoder::c_nothing, {0, 1, 0, 0}}, 7, std::nullopt, decoder.even),
                      decoder.Decode(beamWidth, {Decoder::c_nothing, {0, 1, 0, 0}}, 7, std::nullopt, decoder.evenWhole))
                << seed << ", " << beamWidth;
    }
}

TEST(BeamSearchTest, ScoresThatAreNoNumbersAreAnError)
{
    const Decoder decoder;
    const std::vector<double> bad = {0, 0, std::nan(""), 0}, infinite = {0, INFINITY, 0, 0};
    const auto message = [&](const std::vector<std::vector<double>>& added)
    { return cntk::MessageOf(ErrorKind::Model, [&] { decoder.Decode(2, added); }); };
    EXPECT_EQ(message({Decoder::c_nothing, bad}), "the score of word 0 is no number (nan) at step 1 of sentence 2; the "
                                                  "values of node 'scores' (Plus) are not finite");
    EXPECT_EQ(message({infinite}), "the score of word 0 is no number (nan) at step 1 of sentence 1; the values of node "
                                   "'scores' (Plus) are not finite");
}

TEST(BeamSearchTest, WhatCannotBeDecodedIsAnError)
{
    const Decoder decoder;
    ComputationNetwork& network = *decoder.network;
    const auto other = decoder.Input("other", "");
    const auto more = network.Add("Plus", "more", {decoder.scores, other});
    const auto apart = network.Add("Tanh", "apart", {decoder.encoded});
    const auto few = network.Add("Times", "few", {network.AddParameter("Rows", {3, 4}), decoder.words});
    network.Validate();
    EXPECT_EQ(decoder.ErrorOf(more), "the scores of words, 'more' (Plus), are computed from input 'other'; a sentence "
                                     "is decoded from its words ('words') and the encoder alone");
    EXPECT_EQ(decoder.ErrorOf(apart),
              "node 'apart' (Tanh) does not read the words of 'words'; expected the scores of the next word");
    EXPECT_EQ(decoder.ErrorOf(few), "a word of 'few' (3 rows) cannot be the next input of 'words' (4 rows); expected "
                                    "the same words in both");
    EXPECT_EQ(decoder.ErrorOf(decoder.words),
              "node 'words' (InputValue) has no value for each word; expected the scores of words");
}

} // namespace
} // namespace cntk
