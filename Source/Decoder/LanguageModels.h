// One ARPA model, or several with weights (-lm-collection): P(w | h) = sum of weight_k P_k(w | h_k). Shared by all
// threads; each thread has a LanguageScorer.
#pragma once

#include "Common/Log.h"
#include "Decoder/ArpaModel.h"
#include "Decoder/DecodeOptions.h"
#include "Decoder/WordScorer.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace cntk
{

class LanguageModels
{
public:
    // Reads -lm or -lm-collection, and finds the graph's words in the models. A word that no model lists is the
    // unknown word. Fails (Data) if there is none, with the first five such words.
    LanguageModels(const DecodeOptions& options, const std::vector<std::string>& graphWords, Log& log);

    size_t Count() const { return m_members.size(); }

private:
    friend class LanguageScorer;
    struct Member
    {
        ArpaModel model;
        double weight;
        std::vector<uint32_t> wordIds; // by word of the graph; ArpaModel::c_none: probability 0
    };

    void ReadCollection(const DecodeOptions& options, Log& log);
    void FindWords(const DecodeOptions& options, const std::vector<std::string>& graphWords);

    std::vector<Member> m_members;
    std::vector<float> m_largest; // by word of the graph: an upper bound of its log probability after any history
    uint32_t m_startWord = ArpaModel::c_none; // of the graph
    bool m_startIsEnd = false;                // one word has both roles; it starts a sentence only at the beginning
};

// Numbers the combinations of the models' histories. Number 0 is the history before the sentence start.
class LanguageScorer final : public WordScorer
{
public:
    explicit LanguageScorer(const LanguageModels& models);

    uint32_t Begin() override;
    Step Extend(uint32_t history, uint32_t word) override;
    float LargestLogProbability(uint32_t word) const override { return m_models.m_largest[word]; }
    bool KeepsHistories() const override { return true; }

private:
    uint32_t NumberOf(const std::vector<uint32_t>& histories);

    const LanguageModels& m_models;
    std::vector<uint32_t> m_histories; // those of all models, by number
    std::unordered_map<std::string, uint32_t> m_numbers;
    std::vector<uint32_t> m_next; // scratch
};

} // namespace cntk
