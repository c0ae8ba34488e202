// Best paths and lattices of random graphs and models against the enumeration of all paths; the tiny task; pruning.
#include "Decoder/LanguageModels.h"
#include "Decoder/LatticeBuilder.h"
#include "Decoder/TokenSearch.h"
#include "DecoderTests/DecoderTestTools.h"
#include "DecoderTests/PathEnumeration.h"

#include <set>

namespace cntk
{
namespace
{

constexpr double c_acweight = 0.5;

class SearchTests : public DecoderTest
{
protected:
    // Writes and compiles a task, and loads all tables.
    void Load(const EnumeratedTask& task)
    {
        Write("acceptor", task.AcceptorText());
        Write("transitions", task.TransitionText());
        Write("lm", task.ArpaText());
        RemoveFile(Path("lookahead"));
        if (!task.lookahead.empty())
            Write("lookahead", task.LookaheadText());
        RemoveFile(Path("models"));
        if (task.silenceCost > 0)
            Write("models", EnumeratedTask::ModelText());
        Compile();
        m_options = {};
        m_options.lm = Path("lm");
        m_options.acweight = c_acweight;
        m_tables = {};
        m_tables.graph = std::make_unique<DecodingGraph>(Path("graph.dg"));
        if (task.silenceCost > 0)
            m_tables.phones =
                PhoneTable(ReadModelMap(Path("models")), m_tables.graph->StateNames(), m_tables.graph->SilenceModels());
        m_tables.silenceCost = task.silenceCost;
        m_tables.models = std::make_unique<LanguageModels>(m_options, m_tables.graph->Words(), m_log);
        m_scores = {};
        m_scores.name = "utterance";
        m_scores.rows = 3;
        m_scores.frames = task.scores.size();
        for (const auto& frame : task.scores)
            for (const char* const label : {"[p]", "[q]", "[r]"})
                m_scores.values.push_back(float(frame.at(label)));
        m_tables.rows = 3;
        for (const std::string& state : m_tables.graph->StateNames())
            m_tables.rowOfState.push_back(state == "p" ? 0 : state == "q" ? 1 : 2);
    }

    UtteranceOutcome Decode() { return UtteranceDecoder(m_options, m_tables).Decode(m_scores); }

    void Widen()
    {
        m_options.beam = 1e4;
        m_options.wordEndBeamFrac = 1;
        m_options.maxTokens = 1000000;
    }

    // The word sequences of a lattice with their scores. Fails if one occurs twice.
    std::map<std::string, double> SentencesOf(const WordLattice& lattice)
    {
        std::map<std::string, double> sentences;
        for (const LatticeSentence& sentence : BestSentences(lattice, c_acweight, 100000))
        {
            std::string text;
            for (const uint32_t word : sentence.words)
                text += (text.empty() ? "" : " ") + m_tables.graph->Words()[word];
            EXPECT_TRUE(sentences.emplace(text, sentence.score).second) << text << " occurs twice";
        }
        return sentences;
    }

    WordLattice LatticeOf(double beam)
    {
        const SearchSettings settings{.acweight = float(c_acweight),
                                      .beam = 1e4F,
                                      .wordBeam = 1e4F,
                                      .silenceCost = float(m_tables.silenceCost),
                                      .maxTokens = 1000000,
                                      .keepsLinks = true,
                                      .latticeBeam = float(beam)};
        TokenSearch search(*m_tables.graph, m_tables.rowOfState, settings);
        LanguageScorer scorer(*m_tables.models);
        search.Begin(scorer);
        for (size_t t = 0; t < m_scores.frames; ++t)
            search.Advance(&m_scores.values[t * m_scores.rows]);
        search.Finish();
        if (search.Trace().Ends().empty())
            return {};
        return BuildLattice({.trace = search.Trace(),
                             .isPartial = search.IsPartial(),
                             .graph = *m_tables.graph,
                             .phones = m_tables.phones,
                             .silenceCost = m_tables.silenceCost,
                             .acweight = c_acweight,
                             .beam = beam,
                             .scores = m_scores,
                             .rowOfState = m_tables.rowOfState},
                            scorer);
    }

    DecodeOptions m_options;
    DecoderTables m_tables;
    UtteranceScores m_scores;
};

double BestOf(const std::map<std::string, double>& sentences)
{
    double best = -1e30;
    for (const auto& [words, score] : sentences)
        best = std::max(best, score);
    return best;
}

TEST_F(SearchTests, FindsTheBestPathOfRandomGraphs)
{
    size_t complete = 0;
    for (unsigned seed = 0; seed < 120; ++seed)
    {
        std::mt19937 random(seed);
        EnumeratedTask task = RandomTask(random, seed % 2 == 1, 1 + int(seed % 3));
        task.silenceCost = seed % 4 < 2 ? 0 : 1.5;
        const std::map<std::string, double> sentences = EnumerateSentences(task, c_acweight);
        Load(task);
        Widen();
        m_options.minTokens = seed % 4 == 0 ? 0 : 200;
        const UtteranceOutcome outcome = Decode();
        if (sentences.empty())
        {
            EXPECT_TRUE(outcome.isPartial || !outcome.failure.empty() || !outcome.warning.empty()) << seed;
            continue;
        }
        ++complete;
        ASSERT_TRUE(outcome.failure.empty()) << seed << outcome.failure;
        EXPECT_FALSE(outcome.isPartial) << seed;
        EXPECT_NEAR(outcome.score, BestOf(sentences), 1e-4) << seed;
        std::string words;
        for (const PathLabel& label : outcome.result.path.labels)
            words += (words.empty() ? "" : " ") + m_tables.graph->Words()[label.word];
        ASSERT_TRUE(sentences.contains(words)) << seed << words;
        EXPECT_NEAR(sentences.at(words), outcome.score, 1e-4) << seed;
    }
    EXPECT_GT(complete, 60U);
}

TEST_F(SearchTests, PruningNeverRaisesTheScore)
{
    size_t lost = 0;
    for (unsigned seed = 0; seed < 60; ++seed)
    {
        std::mt19937 random(seed);
        const EnumeratedTask task = RandomTask(random, seed % 2 == 1, 2);
        const std::map<std::string, double> sentences = EnumerateSentences(task, c_acweight);
        Load(task);
        for (const double beam : {0.5, 2.0, 5.0})
            for (const size_t most : {1, 3, 100})
            {
                m_options.beam = beam;
                m_options.wordEndBeamFrac = seed % 3 == 0 ? 0.33333 : 1;
                m_options.maxTokens = most;
                m_options.minTokens = seed % 5 == 0 ? 2 : 0;
                m_options.lmSlackDecay = seed % 7 == 0 ? 0 : 0.9;
                const UtteranceOutcome outcome = Decode();
                if (sentences.empty() || outcome.isPartial || !outcome.result.hasPath)
                    continue;
                EXPECT_LE(outcome.score, BestOf(sentences) + 1e-4) << seed;
                EXPECT_LE(double(outcome.counts.tokens), double(most) * double(outcome.counts.frames)) << seed;
                lost += outcome.score < BestOf(sentences) - 1e-4 ? 1 : 0;
            }
    }
    EXPECT_GT(lost, 0U); // otherwise the test shows nothing
}

TEST_F(SearchTests, LatticesHoldEachSentenceOnceWithItsScore)
{
    size_t found = 0;
    for (unsigned seed = 0; seed < 120; ++seed)
    {
        std::mt19937 random(1000 + seed);
        EnumeratedTask task = RandomTask(random, seed % 2 == 1, 1 + int(seed % 3));
        task.silenceCost = seed % 4 < 2 ? 0 : 1.5;
        const std::map<std::string, double> sentences = EnumerateSentences(task, c_acweight);
        if (sentences.empty())
            continue;
        Load(task);
        const double beam = 1 + double(seed % 5);
        const WordLattice lattice = LatticeOf(beam);
        const std::map<std::string, double> inLattice = SentencesOf(lattice);
        const double best = BestOf(sentences);
        for (const auto& [words, score] : sentences)
            if (score > best - beam + 1e-3)
            {
                ASSERT_TRUE(inLattice.contains(words)) << seed << ": " << words << ' ' << best - score;
                EXPECT_NEAR(inLattice.at(words), score, 1e-3) << seed << words;
                ++found;
            }
        const LatticeBests bests = BestsOf(lattice, c_acweight);
        EXPECT_NEAR(bests.forward.back(), best, 1e-3) << seed;
        for (const WordLatticeArc& arc : lattice.arcs)
        {
            EXPECT_LT(arc.from, arc.to);
            EXPECT_GT(bests.forward[arc.from] + arc.parts.Total(c_acweight) + bests.backward[arc.to],
                      best - beam - 2e-3);
            size_t frames = 0;
            for (const LatticeState& state : arc.states)
                frames += state.frames;
            EXPECT_EQ(frames, lattice.nodeFrames[arc.to] - lattice.nodeFrames[arc.from]);
        }
        for (const auto& [words, score] : inLattice)
        {
            ASSERT_TRUE(sentences.contains(words)) << seed << words;
            EXPECT_NEAR(sentences.at(words), score, 1e-3) << seed << words;
        }
    }
    EXPECT_GT(found, 200U);
}

TEST_F(SearchTests, WordsThatEndAtTheNextLabelKeepTheirHistories)
{
    EnumeratedTask task;
    task.arcs = {{0, 1, "<s>", 0}, {1, 2, "a", 0},   {1, 3, "b", 0},
                 {2, 4, "[p]", 0}, {3, 4, "[p]", 0}, {4, 5, "</s>", 0}};
    task.finals = {{5, 0}};
    task.transitions = {{"[p]", {-0.5, -0.9}}};
    task.ngrams = {
        {"<s>", {-99, -0.2}}, {"</s>", {-0.5, 0}}, {"a", {-0.6, -1}}, {"b", {-0.7, -0.1}}, {"a a", {-0.3, 0}}};
    task.scores = {{{"[p]", 1}, {"[q]", 0}, {"[r]", 0}}, {{"[p]", -1}, {"[q]", 0}, {"[r]", 0}}};
    const std::map<std::string, double> sentences = EnumerateSentences(task, c_acweight);
    ASSERT_EQ(sentences.size(), 2U);
    Load(task);
    const std::map<std::string, double> inLattice = SentencesOf(LatticeOf(20));
    ASSERT_EQ(inLattice.size(), 2U);
    for (const auto& [words, score] : sentences)
        EXPECT_NEAR(inLattice.at(words), score, 1e-4) << words;
}

TEST_F(SearchTests, WordArcsShortenTheShortestSentence)
{
    Write("acceptor", "0 1 [p]\n1 3 [p]\n1 2 a\n2 3 b\n3\n");
    Write("transitions", "[p] -0.5 -0.9\n");
    Compile();
    EXPECT_EQ(DecodingGraph(Path("graph.dg")).FewestFrames(), 1U);
}

TEST_F(SearchTests, PosteriorsOfParallelArcsSumToOne)
{
    std::mt19937 random(7);
    for (unsigned seed = 0; seed < 20; ++seed)
    {
        const EnumeratedTask task = RandomTask(random, true, 2);
        if (EnumerateSentences(task, c_acweight).empty())
            continue;
        Load(task);
        const WordLattice lattice = LatticeOf(6);
        const std::vector<double> posteriors = PosteriorsOf(lattice, c_acweight);
        for (uint32_t frame = 0; frame < m_scores.frames; ++frame)
        {
            double sum = 0;
            for (size_t i = 0; i < lattice.arcs.size(); ++i)
                if (lattice.nodeFrames[lattice.arcs[i].from] <= frame && frame < lattice.nodeFrames[lattice.arcs[i].to])
                    sum += posteriors[i];
            EXPECT_NEAR(sum, 1, 1e-9);
        }
    }
}

TEST_F(SearchTests, ForgetsWhatCannotBecomeAResult)
{
    SearchTrace trace;
    trace.Begin(true, 2);
    trace.BeginFrame();
    const uint32_t first = trace.Add(1, 0);
    const uint32_t second = trace.Add(2, 0);
    const uint32_t third = trace.Add(3, 0);
    trace.EndFrame();
    trace.BeginFrame();
    const uint32_t next = trace.Add(4, first);
    trace.AddLink(second, next, 1.5F);
    trace.AddLink(third, next, 2.5F); // beyond the lattice beam
    trace.EndFrame();
    std::vector<uint32_t> living{next};
    trace.Forget(living);
    EXPECT_EQ(trace.Tokens().size(), 4U);
    EXPECT_EQ(living[0], 3U);
    EXPECT_EQ(trace.FirstOfFrame(1), 3U);
    EXPECT_EQ(trace.Links().size(), 1U);
    trace.Finish({{living[0], 0}});
    EXPECT_EQ(trace.Ends().size(), 1U);
    EXPECT_EQ(trace.Tokens()[trace.Ends()[0].token].where, 4U);
    EXPECT_EQ(trace.Tokens()[trace.Tokens()[trace.Ends()[0].token].previous].where, 1U);
}

} // namespace
} // namespace cntk
