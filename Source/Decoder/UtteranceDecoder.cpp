// One utterance from scores to results.
#include "Decoder/UtteranceDecoder.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "Decoder/LatticeBuilder.h"
#include "Decoder/WordLattice.h"

#include <algorithm>
#include <ctime>

namespace cntk
{

namespace
{

// CPU seconds of the calling thread, so that threads that share a core count once.
double ThreadSeconds()
{
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

constexpr double c_unitsInSecond = 1e7; // of 100 ns

// The confidence of a word is the sum of the posteriors of its arcs at the middle of its time. Every path has exactly
// one arc there.
void AddConfidences(const WordLattice& lattice, double acweight, const DecodingGraph& graph,
                    std::vector<ResultWord>& words)
{
    const std::vector<double> posteriors = PosteriorsOf(lattice, acweight);
    for (ResultWord& word : words)
    {
        const uint32_t middle = word.begin + (word.end - word.begin) / 2;
        word.confidence = 0;
        for (size_t i = 0; i < lattice.arcs.size(); ++i)
        {
            const WordLatticeArc& arc = lattice.arcs[i];
            if (arc.HasWord() && lattice.nodeFrames[arc.from] <= middle && middle < lattice.nodeFrames[arc.to] &&
                graph.Words()[arc.word] == word.word)
                word.confidence += posteriors[i];
        }
        word.confidence = std::min(word.confidence, 1.0);
    }
}

bool NeedsLattice(const DecodeOptions& options)
{
    return !options.latticePrefix.empty() || options.nbest > 0 || !options.outctm.empty();
}

SearchSettings SettingsOf(const DecodeOptions& options, double silenceCost)
{
    return {.acweight = float(options.acweight),
            .beam = float(options.beam),
            .wordBeam = float(options.beam * options.wordEndBeamFrac),
            .slackDecay = float(options.lmSlackDecay),
            .silenceCost = float(silenceCost),
            .maxTokens = options.maxTokens,
            .minTokens = options.minTokens,
            .keepsLinks = NeedsLattice(options),
            .latticeBeam = float(options.latticeBeam)};
}

} // namespace

UtteranceDecoder::UtteranceDecoder(const DecodeOptions& options, const DecoderTables& tables)
    : m_options(options), m_tables(tables),
      m_search(*tables.graph, tables.rowOfState, SettingsOf(options, tables.silenceCost)),
      m_needsLattice(NeedsLattice(options))
{
    if (tables.models != nullptr)
        m_languageScorer = std::make_unique<LanguageScorer>(*tables.models);
}

UtteranceOutcome UtteranceDecoder::Decode(const UtteranceScores& scores)
{
    UtteranceOutcome outcome;
    outcome.result.name = scores.name;
    outcome.result.frames = scores.frames;
    outcome.result.framePeriod = scores.framePeriod;
    outcome.failure = scores.problem;
    if (!scores.problem.empty())
        return outcome;
    try
    {
        if (scores.rows < m_tables.rows)
            Fail(ErrorKind::Data, "its scores have ", scores.rows, " rows, but the state map names row ",
                 m_tables.rows - 1);
        if (scores.frames == 0 || scores.frames < m_tables.fewestFrames)
        {
            outcome.warning = Concat("it has ", Counted(scores.frames, "frame"), ", the shortest sentence needs ",
                                     m_tables.fewestFrames, "; the result is empty");
            return outcome;
        }
        if (m_tables.transcripts == nullptr)
            Search(scores, *m_languageScorer, outcome);
        else
        {
            const std::vector<std::string>* const words = m_tables.transcripts->Find(scores.name);
            if (words == nullptr)
                Fail(ErrorKind::Data, "it has no transcript in ", m_tables.transcripts->Path());
            AlignmentConstraint constraint(*words, *m_tables.graph, m_options);
            Search(scores, constraint, outcome);
        }
    }
    catch (const Error& error)
    {
        outcome.failure = error.Message();
    }
    return outcome;
}

void UtteranceDecoder::Search(const UtteranceScores& scores, WordScorer& scorer, UtteranceOutcome& outcome)
{
    const double begin = ThreadSeconds();
    m_search.Begin(scorer);
    for (size_t t = 0; t < scores.frames; ++t)
        m_search.Advance(&scores.values[t * scores.rows]);
    m_search.Finish();
    outcome.counts = m_search.Counts();
    outcome.isPartial = m_search.IsPartial();
    UtteranceResult& result = outcome.result;
    const bool isLost = m_search.Trace().Ends().empty();
    if (isLost || (outcome.isPartial && !m_options.allowPartial))
        outcome.failure = isLost ? "no token is left: no path through the graph fits"
                                 : "no token is in a final state, and -allow-partial is false; a wider -beam may help";
    else
    {
        result.path = BestPathOf(m_search.Trace(), outcome.isPartial, *m_tables.graph, m_tables.silenceCost, scores,
                                 m_tables.rowOfState, scorer);
        result.segments = SegmentPath(result.path, m_tables.phones);
        result.words = WordsOf(result.path, result.segments, *m_tables.graph, m_options);
        result.hasPath = true;
        outcome.score = result.path.Parts().Total(m_options.acweight);
        if (m_needsLattice)
            AddLatticeResults(scores, scorer, outcome);
        if (outcome.isPartial)
            outcome.warning = "no token is in a final state; the result is partial: the best words so far";
    }
    outcome.searchSeconds = ThreadSeconds() - begin;
}

void UtteranceDecoder::AddLatticeResults(const UtteranceScores& scores, WordScorer& scorer, UtteranceOutcome& outcome)
{
    const DecodingGraph& graph = *m_tables.graph;
    const WordLattice lattice = BuildLattice({.trace = m_search.Trace(),
                                              .isPartial = outcome.isPartial,
                                              .graph = graph,
                                              .phones = m_tables.phones,
                                              .silenceCost = m_tables.silenceCost,
                                              .acweight = m_options.acweight,
                                              .beam = m_options.latticeBeam,
                                              .scores = scores,
                                              .rowOfState = m_tables.rowOfState},
                                             scorer);
    if (lattice.beam < m_options.latticeBeam)
        outcome.warning = Concat("its lattice would be too large; -lattice-beam was reduced to ", lattice.beam);
    UtteranceResult& result = outcome.result;
    if (!m_options.latticePrefix.empty())
        result.lattice = SlfText(lattice, graph, scores.name, m_options.acweight, scores.framePeriod / c_unitsInSecond);
    if (!m_options.outctm.empty())
        AddConfidences(lattice, m_options.acweight, graph, result.words);
    for (const LatticeSentence& sentence : BestSentences(lattice, m_options.acweight, m_options.nbest))
    {
        ResultSentence text{sentence.score, {}};
        for (const uint32_t word : sentence.words)
            if (graph.Words()[word] != m_options.sentenceStart && graph.Words()[word] != m_options.sentenceEnd)
                text.words.push_back(graph.Words()[word]);
        result.nbest.push_back(std::move(text));
    }
}

} // namespace cntk
