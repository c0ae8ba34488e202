// An n-gram model in ARPA format, of any order up to 9. Probabilities become natural logarithms; a base-10 logarithm of
// -99 or less is a probability of 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cntk
{

class InputText;

class ArpaModel
{
public:
    static constexpr uint32_t c_none = UINT32_MAX;
    static constexpr float c_impossible = -std::numeric_limits<float>::infinity();

    struct Step
    {
        float logProbability = c_impossible; // ln P(word | history)
        uint32_t history = 0;                // after the word
    };

    // sentenceStart and sentenceEnd must be unigrams. Fails (Data) with file and line.
    ArpaModel(const std::string& path, const std::string& sentenceStart, const std::string& sentenceEnd);

    const std::string& Path() const { return m_path; }
    size_t Order() const { return m_order; }
    // Returns the word's number, or c_none.
    uint32_t FindWord(std::string_view word) const;

    // History after the sentence start. Equal histories give equal probabilities for all continuations: a history is
    // the longest context that the model lists.
    uint32_t StartHistory() const { return m_startHistory; }
    // P(w | h) is the listed n-gram, else bow(h) P(w | h without its oldest word).
    Step Extend(uint32_t history, uint32_t word) const;
    // For each word an upper bound of ln P(w | h) over all histories.
    std::vector<float> LargestLogProbabilities() const;

private:
    // One n-gram. NaN marks an n-gram that is not listed but begins a listed one.
    struct Entry
    {
        uint64_t key = c_emptyKey; // node of the context and word
        float logProbability = c_impossible;
        // While reading: the n-gram's node; c_none for the highest order. Then: the history after the n-gram.
        uint32_t node = c_none;
    };
    // An n-gram as a context.
    struct Node
    {
        float backoff = 0;    // ln of the back-off weight
        uint32_t shorter = 0; // node without the oldest word
        bool hasChildren = false;
        uint32_t parent = 0; // node without the newest word
        uint32_t word = 0;   // the newest word
    };
    static constexpr uint64_t c_emptyKey = UINT64_MAX;
    class Parser;

    const Entry* Find(uint32_t node, uint32_t word) const;
    Entry& Insert(uint32_t node, uint32_t word);
    void Grow();
    void FillFilter();
    // The longest context that the node's probabilities depend on.
    uint32_t ContextOf(uint32_t node) const;
    // Finds the shorter nodes, then replaces the nodes of entries by histories.
    void LinkNodes();

    std::string m_path;
    size_t m_order = 0;
    std::unordered_map<std::string, uint32_t> m_wordIds;
    std::vector<Node> m_nodes;     // node 0 is the empty context
    std::vector<Entry> m_unigrams; // by word: most n-grams are not listed and end here
    std::vector<Entry> m_table;    // longer n-grams: open addressing; a power of two
    // Bits by hash, set for the n-grams of m_table. Most lookups end here, in a thirty-second of the table's memory.
    std::vector<uint64_t> m_filter;
    size_t m_used = 0;
    uint32_t m_startHistory = 0;
};

} // namespace cntk
