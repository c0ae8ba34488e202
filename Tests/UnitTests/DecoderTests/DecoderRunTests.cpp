// Whole runs: the tiny task, the reference results of the speech corpus, alignment, threads, utterances that fail.
#include "Common/Htk/HtkFile.h"
#include "Common/Htk/ScpFile.h"
#include "Common/Text.h"
#include "Decoder/Decoder.h"
#include "DecoderTests/DecoderTestTools.h"

#include <fstream>
#include <sstream>

namespace cntk
{
namespace
{

using testing::HasSubstr;

class ListedScores final : public ScoreSource
{
public:
    ListedScores() = default;
    explicit ListedScores(std::vector<UtteranceScores> utterances) : all(std::move(utterances)) {}

    std::vector<UtteranceScores> all;
    size_t rows = 0;

    size_t Utterances() const override { return all.size(); }
    size_t Rows() const override { return rows; }
    bool Next(UtteranceScores& scores) override
    {
        if (m_next == all.size())
            return false;
        scores = all[m_next++];
        return true;
    }

private:
    size_t m_next = 0;
};

std::vector<std::vector<std::string>> RowsOfTable(const std::string& path)
{
    std::vector<std::vector<std::string>> rows;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
    {
        rows.emplace_back();
        for (const std::string_view field : Split(line, '\t'))
            rows.back().emplace_back(field);
    }
    return rows;
}

class DecoderRunTests : public DecoderTest
{
protected:
    // The options of exact search.
    DecodeOptions Exact() const
    {
        DecodeOptions options;
        options.graph = Path("graph.dg");
        options.beam = 40;
        options.wordEndBeamFrac = 1;
        options.silCost = 0;
        options.acweight = 0.5;
        options.outscores = Path("scores.tsv");
        options.outmlf = Path("out.mlf");
        options.traceLevel = 0;
        return options;
    }

    DecodeSummary Run(const DecodeOptions& options, ListedScores scores)
    {
        Decoder decoder(options, m_log);
        return decoder.Decode(scores);
    }

    std::string m_shared = SharedSpeechFolder();
};

// The task of ten frames that can be followed by hand.
class TinyTests : public DecoderRunTests
{
protected:
    TinyTests()
    {
        Write("acceptor", "0 1 <s>\n1 2 [sil]\n2 3 [a]\n3 4 go\n4 2 [b]\n2 5 [c] 0.2231436\n5 6 no\n6 2 [b]\n2 7 a\n"
                          "7 2 [a]\n2 8 [sil]\n8 9 </s>\n9\n");
        Write("transitions", "[sil] -0.3566749 -1.2039728\n[a] -0.6931472 -0.6931472\n[b] -0.5108256 -0.9162907\n"
                             "[c] -0.2231436 -1.6094379\n");
        Write("models", "sil sil\na a\nb b\nc c\n");
        Write("map", "[sil] 0\n[a] 1\n[b] 2\n[c] 3\n");
        Write("lm", "\\data\\\nngram 1=5\nngram 2=6\n\n\\1-grams:\n-0.6989700 </s>\n-99 <s> -0.3010300\n"
                    "-0.6989700 a -0.1760913\n-0.5228787 go -0.3979400\n-0.5228787 no 0\n\n\\2-grams:\n"
                    "-0.3979400 <s> go\n-0.6989700 <s> no\n-0.3010300 go no\n-0.5228787 go </s>\n-0.3010300 a go\n"
                    "-0.6989700 no </s>\n\n\\end\\\n");
        Compile();
    }

    DecodeOptions Options() const
    {
        DecodeOptions options = Exact();
        options.beam = 1000;
        options.lm = Path("lm");
        options.cntkmap = Path("map");
        return options;
    }
    // Frames that are clear: the state of each frame is 4 better than the others.
    static UtteranceScores Clear(const std::string& name, const std::vector<int>& states)
    {
        UtteranceScores scores;
        scores.name = name;
        scores.rows = 4;
        scores.frames = states.size();
        for (const int state : states)
            for (int row = 0; row < 4; ++row)
                scores.values.push_back(row == state ? 2.0F : -2.0F);
        return scores;
    }
};

TEST_F(TinyTests, WritesWordsStatesAndTables)
{
    DecodeOptions options = Options();
    options.detailedAlignment = true;
    options.outctm = Path("out.ctm");
    options.outnbest = Path("nbest.tsv");
    options.nbest = 3;
    options.latticePrefix = Path("lattice");
    const DecodeSummary summary = Run(options, ListedScores({Clear("one", {0, 0, 1, 2, 2, 0})}));
    EXPECT_EQ(summary.failed, 0U);
    EXPECT_EQ(ReadTextFile(Path("out.mlf")),
              "#!MLF!#\n\"*/one.rec\"\n0 200000 sil 4.000000 sil 4.000000 <s>\n"
              "200000 300000 a 2.000000 a 2.000000 go\n300000 500000 b 4.000000 b 4.000000\n"
              "500000 600000 sil 2.000000 sil 2.000000 </s>\n.\n");
    const auto ctm = RowsOfTable(Path("out.ctm"));
    ASSERT_EQ(ctm.size(), 2U);
    EXPECT_EQ(Join({ctm[1].begin(), ctm[1].begin() + 5}, " "), "one 1 0.020 0.030 go");
    const auto scores = RowsOfTable(Path("scores.tsv"));
    EXPECT_EQ(scores[1][6], "go");
    const auto nbest = RowsOfTable(Path("nbest.tsv"));
    EXPECT_EQ(nbest[1][2], scores[1][2]);
    EXPECT_EQ(ReadTextFile(Path("latticetoc")), "one=" + Path("lattice0") + "\n");
    EXPECT_THAT(ReadTextFile(Path("lattice0")),
                HasSubstr("UTTERANCE=one\nacscale=0.5 lmscale=1 prscale=1 wdpenalty=0\n"));
    options.detailedAlignment = false;
    Run(options, ListedScores({Clear("one", {0, 0, 1, 2, 2, 0})}));
    EXPECT_EQ(ReadTextFile(Path("out.mlf")), "#!MLF!#\n\"*/one.rec\"\n200000 500000 go 6.000000\n.\n");
}

TEST_F(TinyTests, NamesUtterancesThatFailAndDecodesTheOthers)
{
    ListedScores scores;
    scores.all = {Clear("good", {0, 1, 2, 0}), Clear("short", {0}), Clear("empty", {}), Clear("partial", {0, 1, 2, 2}),
                  Clear("last", {0, 1, 2, 0})};
    scores.all[0].problem = "the file is gone";
    scores.all[3].values.assign(16, 0.0F);
    DecodeOptions options = Options();
    const DecodeSummary summary = Run(options, scores);
    EXPECT_EQ(summary.utterances, 5U);
    EXPECT_EQ(summary.failed, 1U);
    EXPECT_EQ(summary.firstFailure, "utterance 'good': the file is gone");
    EXPECT_EQ(RowsOfTable(Path("scores.tsv")).back()[0], "last");
    EXPECT_THAT(LogText(), HasSubstr("Utterance[2 of 5] short: it has 1 frame, the shortest sentence needs 2"));
    scores.all[0] = Clear("narrow", {0, 1, 2, 0});
    scores.all[0].rows = 2;
    EXPECT_THAT(Run(options, scores).firstFailure, HasSubstr("its scores have 2 rows, but the state map names row 3"));
    scores.rows = 3;
    EXPECT_THAT(MessageFor([&] { Run(options, scores); }),
                HasSubstr("model: the state map 'map' names row 3, but the scores have 3 rows, 0 to 2"));
}

TEST_F(TinyTests, ReportsPartialResults)
{
    DecodeOptions options = Options();
    options.beam = 0.1; // loses the end
    options.minTokens = 0;
    const DecodeSummary summary = Run(options, ListedScores({Clear("cut", {0, 1, 2, 2, 1, 1})}));
    EXPECT_EQ(summary.partial, 1U);
    EXPECT_EQ(summary.failed, 0U);
    EXPECT_THAT(LogText(), HasSubstr("the result is partial"));
    options.allowPartial = false;
    EXPECT_EQ(Run(options, ListedScores({Clear("cut", {0, 1, 2, 2, 1, 1})})).failed, 1U);
}

TEST_F(TinyTests, AlignsTranscripts)
{
    DecodeOptions options = Options();
    options.lm.clear();
    options.alignMlf = Write("words.mlf", "#!MLF!#\n\"*/one.lab\"\n<s>\n0 100 no\nsil\n\"go\n.\n\"*/two.lab\"\nno\n.\n"
                                          "\"*/three.rec\"\nhello\n.\n");
    EXPECT_THAT(MessageFor([&] { Run(options, ListedScores()); }), HasSubstr("no error"));
    const DecodeSummary summary =
        Run(options,
            ListedScores({Clear("two", {0, 1, 1, 2, 2, 0}), Clear("three", {0, 1, 2, 0}), Clear("four", {0, 0, 0})}));
    EXPECT_EQ(summary.failed, 2U);
    EXPECT_THAT(ReadTextFile(Path("out.mlf")), HasSubstr("no "));
    EXPECT_THAT(LogText(), HasSubstr("three failed: the word 'hello' of its transcript is not in the graph"));
    EXPECT_THAT(LogText(), HasSubstr("four failed: it has no transcript in "));
}

TEST_F(TinyTests, TellsWordsThatTheModelLacks)
{
    std::string text = ReadTextFile(Path("lm"));
    text.replace(text.find("-0.5228787 no 0\n"), 16, "-0.5228787 xx 0\n");
    for (const std::string from : {" no\n", " no "})
        for (size_t at = text.find(from); at != std::string::npos; at = text.find(from))
            text.replace(at, 3, " xx");
    Write("lm", text);
    EXPECT_THAT(MessageFor([&] { Run(Options(), ListedScores()); }),
                HasSubstr("language model 'lm' lacks 1 word of the graph and has no '<UNK>': 'no'"));
    text.replace(text.find("-0.5228787 xx 0\n"), 16, "-0.5228787 <unk> 0\n");
    for (size_t at = text.find(" xx"); at != std::string::npos; at = text.find(" xx"))
        text.replace(at, 3, " <unk>");
    Write("lm", text);
    EXPECT_EQ(MessageFor([&] { Run(Options(), ListedScores()); }), "no error");
}

// The golden utterances of the speech corpus.
class ReferenceTests : public DecoderRunTests
{
protected:
    void SetUp() override
    {
        if (m_shared.empty())
            GTEST_SKIP() << "CNTK_TEST_SHARED has no data/synthspeech";
        DecodeOptions options;
        options.precompile = true;
        options.infsm = m_shared + "decoding/graphs/word.lookahead.hcl.gz";
        options.transitionFile = m_shared + "lang/state.transitions";
        options.lookaheadFile = m_shared + "decoding/graphs/word.lookahead";
        options.modelMap = m_shared + "lang/model.state.map";
        options.graph = Path("graph.dg");
        CompileGraph(options, m_log);
    }

    DecodeOptions Options() const
    {
        DecodeOptions options = Exact();
        options.lm = m_shared + "lang/word.2gram.arpa";
        options.cntkmap = m_shared + "decoding/graphs/state.cntkmap";
        return options;
    }

    ListedScores Scores(size_t count = SIZE_MAX) const
    {
        ListedScores scores;
        const ScpFile list = ReadScpFile(m_shared + "golden/list.scp", m_shared);
        for (const ScpEntry& entry : list.entries)
        {
            if (scores.all.size() == count)
                break;
            HtkFile file(list.paths[entry.path]);
            UtteranceScores utterance;
            utterance.name = entry.key;
            utterance.rows = file.Kind().dimension;
            utterance.frames = file.Frames();
            utterance.values.resize(utterance.rows * utterance.frames);
            file.Read(0, utterance.frames, utterance.values.data());
            scores.all.push_back(utterance);
        }
        return scores;
    }

    void ExpectScores(const std::string& reference)
    {
        const auto expected = RowsOfTable(m_shared + "decoding/reference/" + reference);
        const auto found = RowsOfTable(Path("scores.tsv"));
        ASSERT_GT(found.size(), 1U);
        for (size_t i = 1; i < found.size(); ++i)
        {
            EXPECT_EQ(found[i][0], expected[i - 1][0]);
            EXPECT_NEAR(std::stod(found[i][2]), std::stod(expected[i - 1][1]), 3e-4) << found[i][0];
            const bool hasWords = expected[i - 1].size() > 2;
            EXPECT_EQ(hasWords ? found[i][6] : "", hasWords ? expected[i - 1][2] : "");
        }
    }
};

TEST_F(ReferenceTests, BestPathsWordsAndStates)
{
    DecodeOptions options = Options();
    options.detailedAlignment = true;
    Run(options, Scores());
    ExpectScores("best.words2.acweight0.5.tsv");
    EXPECT_EQ(ReadTextFile(Path("out.mlf")), ReadTextFile(m_shared + "decoding/reference/best.words2.states.mlf"));
    options.detailedAlignment = false;
    options.silCost = 1;
    options.threads = 3;
    Run(options, Scores());
    ExpectScores("best.words2.acweight0.5.silcost1.tsv");
}

TEST_F(ReferenceTests, ThreadsChangeNothing)
{
    DecodeOptions options = Options();
    options.beam = 12;
    options.latticePrefix = Path("one");
    Run(options, Scores(5));
    const std::string words = ReadTextFile(Path("out.mlf"));
    const std::string scores = ReadTextFile(Path("scores.tsv"));
    options.latticePrefix = Path("two");
    options.threads = 4;
    Run(options, Scores(5));
    EXPECT_EQ(ReadTextFile(Path("out.mlf")), words);
    EXPECT_EQ(ReadTextFile(Path("scores.tsv")), scores);
    for (const char* const number : {"0", "1", "4"})
        EXPECT_EQ(ReadTextFile(Path("one") + number), ReadTextFile(Path("two") + number));
}

TEST_F(ReferenceTests, TrigramsAndCollections)
{
    DecodeOptions options = Options();
    options.beam = 25;
    options.lm = m_shared + "lang/word.3gram.arpa";
    Run(options, Scores(6));
    ExpectScores("best.words3.acweight0.5.tsv");
    options.lm.clear();
    options.lmCollection = m_shared + "decoding/graphs/lm.collection";
    Run(options, Scores(6));
    ExpectScores("best.words2x0.6+words3x0.4.acweight0.5.tsv");
}

TEST_F(ReferenceTests, ForcedAlignment)
{
    DecodeOptions options = Options();
    options.lm.clear();
    options.alignMlf = m_shared + "mlf/test.wordonly.mlf";
    options.detailedAlignment = true;
    Run(options, Scores());
    ExpectScores("align.acweight0.5.scores.tsv");
    EXPECT_EQ(ReadTextFile(Path("out.mlf")), ReadTextFile(m_shared + "decoding/reference/align.states.mlf"));
}

TEST_F(ReferenceTests, NBestLists)
{
    DecodeOptions options = Options();
    options.nbest = 10;
    options.outnbest = Path("nbest.tsv");
    Run(options, Scores());
    const auto expected = RowsOfTable(m_shared + "decoding/reference/nbest.words2.tsv");
    std::map<std::string, std::string> found;
    for (const auto& row : RowsOfTable(Path("nbest.tsv")))
        found[row[0] + ' ' + row[3]] = row[2];
    for (const auto& row : expected)
    {
        ASSERT_TRUE(found.contains(row[0] + ' ' + row[3])) << row[0] << row[3];
        EXPECT_NEAR(std::stod(found.at(row[0] + ' ' + row[3])), std::stod(row[2]), 3e-4);
    }
    EXPECT_EQ(found.size(), expected.size() + 1); // and the header
}

} // namespace
} // namespace cntk
