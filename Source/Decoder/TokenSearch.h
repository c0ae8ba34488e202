// Token passing over the graph, frame by frame (book 6.1): beams, limits of tokens, look-ahead and slack. A token is a
// place, a history of the language model, a score and a slack. Belongs to one thread.
#pragma once

#include "Decoder/DecodingGraph.h"
#include "Decoder/SearchTrace.h"
#include "Decoder/WordScorer.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cntk
{

struct SearchSettings
{
    float acweight = 0.0667F;
    float beam = 15;
    float wordBeam = 5; // behind word arcs
    float slackDecay = 0.9F;
    float silenceCost = 0;
    size_t maxTokens = 20000;
    size_t minTokens = 200;
    bool keepsLinks = false; // for lattices
    float latticeBeam = 8;
};

// Counts of one utterance.
struct SearchCounts
{
    size_t frames = 0;
    size_t tokens = 0;        // kept, over all frames
    size_t framesAtMost = 0;  // frames in which maxTokens pruned
    size_t framesWidened = 0; // frames in which minTokens widened the beam
};

class TokenSearch
{
public:
    // rowOfState: the row of each state in a column of scores.
    TokenSearch(const DecodingGraph& graph, const std::vector<uint32_t>& rowOfState, const SearchSettings& settings);

    void Begin(WordScorer& scorer);
    // scores: one column.
    void Advance(const float* scores);
    // Ends the utterance: only tokens in final states count. Without one, all tokens of the last frame are ends.
    void Finish();

    bool IsPartial() const { return m_isPartial; }
    const SearchTrace& Trace() const { return m_trace; }
    const SearchCounts& Counts() const { return m_counts; }

private:
    static uint64_t TokenKey(uint32_t where, uint32_t history) { return uint64_t(where) << 32 | history; }

    struct Token
    {
        float score; // relative to the best token of the frame
        float slack;
        uint32_t place;
        uint32_t node;  // of the place
        uint32_t state; // of the place, as in GraphArc
        uint32_t history;
        uint32_t trace;

        uint32_t State() const { return state & ~c_wordsFollowBit; }
    };
    struct Candidate
    {
        uint64_t key; // place and history
        float score;
        float slack;
        uint32_t state;
        uint32_t previous; // token of the trace, or with c_wordTokenBit a crossing
        uint32_t link;     // the first of the other ways here; c_noToken: none

        uint64_t Key() const { return key; }
        uint32_t Place() const { return uint32_t(key >> 32); }
        uint32_t History() const { return uint32_t(key); }
    };
    // A path behind a word arc.
    struct Crossing
    {
        float score;
        float slack;
        uint32_t wordArc;
        uint32_t node;
        uint32_t history;
        uint32_t previous; // token of the trace, or with c_wordTokenBit another crossing
        uint32_t trace;    // c_noToken: not in the trace yet
        uint32_t link;     // same as in Candidate

        uint64_t Key() const { return TokenKey(wordArc, history); }
    };
    // Another way to a candidate or crossing than the best one.
    struct CandidateLink
    {
        uint32_t from; // as `previous`
        uint32_t next; // of the same candidate; c_noToken: the last
        float score;
    };
    struct CachedStep
    {
        uint32_t history = UINT32_MAX;
        uint32_t word = UINT32_MAX;
        WordScorer::Step step;
    };

    void WeighScores(const float* scores);
    void SetThreshold(float width);
    void CrossWords();
    void AddCrossings(uint32_t node, float score, float slack, uint32_t history, uint32_t previous);
    void CommitCrossings(float wordBeam);
    uint32_t TraceOf(uint32_t previous) const;
    template <class Item>
    void Improve(Item& item, float score, float slack, uint32_t previous, std::vector<CandidateLink>& links) const;
    void CommitLinks(uint32_t first, const std::vector<CandidateLink>& links, float score, uint32_t token);
    const WordScorer::Step& StepOf(uint32_t history, uint32_t word);
    void EnterPlaces();
    void EnterFrom(uint32_t node, float score, float slack, uint32_t history, uint32_t previous);
    float BoundFrom(uint32_t node, float score) const;
    void Relax(uint32_t place, uint32_t state, uint32_t history, float score, float slack, uint32_t previous);
    void Store(uint64_t key, uint32_t state, float score, float slack, uint32_t previous);
    void SelectAndCommit();
    float CutOff(bool& isEnough);
    float LowestValue() const;
    void Commit(float cutOff);
    void DropBeyondMost(float cutOff);
    void ClearSlots(size_t expected);
    template <class Item>
    uint32_t& FindSlot(uint64_t key, const std::vector<Item>& items);
    template <class Item>
    void AddItem(uint32_t& slot, std::vector<Item>& items, const Item& item);

    const DecodingGraph& m_graph;
    const std::vector<uint32_t>& m_rowOfState;
    const SearchSettings m_settings;
    WordScorer* m_scorer = nullptr;
    SearchTrace m_trace;
    SearchCounts m_counts;
    bool m_isPartial = false;
    uint32_t m_startHistory = 0;

    std::vector<Token> m_tokens;        // of the last frame
    std::vector<uint32_t> m_wordTokens; // tokens in front of word arcs
    std::vector<Crossing> m_crossings;
    std::vector<CandidateLink> m_crossingLinks;
    std::vector<Candidate> m_candidates;
    std::vector<CandidateLink> m_links;
    std::vector<uint32_t> m_slots; // hash table of candidates or crossings: number plus 1, or 0
    size_t m_bestToken = 0;
    std::vector<CachedStep> m_cache;
    std::vector<float> m_acoustic; // by state, weighted
    float m_bestAcoustic = 0;
    float m_bestCrossing = 0;
    float m_largestGain = 0; // by which a language model may exceed the look-ahead of a word
    float m_wordMargin = 0;  // by which the successors of a crossing may exceed its score without the language model
    float m_best = 0;        // among the candidates
    float m_threshold = 0;   // of score + slack
    float m_width = 0;       // m_best - m_threshold
    float m_lastWidth = 0;   // that the frame before needed for minTokens
    bool m_hasRejected = false;
};

} // namespace cntk
