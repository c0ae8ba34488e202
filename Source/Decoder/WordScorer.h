// Scores words given their history, during the search: language models, or the transcript of a forced alignment.
#pragma once

#include <cstdint>
#include <limits>

namespace cntk
{

// Belongs to one thread. Words are those of the graph.
class WordScorer
{
public:
    struct Step
    {
        float logProbability = -std::numeric_limits<float>::infinity(); // minus infinity: the word cannot follow
        uint32_t history = 0;                                           // after the word
    };

    virtual ~WordScorer() = default;
    // Begins an utterance. Returns the history at its beginning, before the word that starts a sentence.
    virtual uint32_t Begin() = 0;
    virtual Step Extend(uint32_t history, uint32_t word) = 0;
    // An upper bound of the word's log probability after any history.
    virtual float LargestLogProbability(uint32_t /*word*/) const { return 0; }
    // True if a history has the same meaning in all utterances.
    virtual bool KeepsHistories() const { return false; }
};

} // namespace cntk
