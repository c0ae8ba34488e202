// Beam search with a decoder: the most probable sequences of words, each word being the input of the next step.
#pragma once

#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/RecurrentNodes.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace cntk
{

// What a sentence is decoded from.
struct SentenceToDecode
{
    size_t firstWord = 0;                     // the input of the first step
    size_t maxLength = 0;                     // words
    std::vector<std::vector<double>> encoded; // for each input of encoded values: columns of its rows, one a step
};

class BeamSearch
{
public:
    // decoder: not paired. output: scores of words, a softmax or what goes into one. words: the input that takes the
    // words. encoded: the inputs that stand for an encoder's values. Fails (Model) where rows of output and words
    // differ, and where output does not read the words or reads an input besides these.
    BeamSearch(ComputationNetwork& decoder, const ComputationNodePtr& output, std::shared_ptr<InputValueNode> words,
               std::vector<std::shared_ptr<InputValueNode>> encoded, size_t beamWidth);

    // The best hypothesis of each sentence, up to and with the word that ends it, else maxLength words. Fails (Model)
    // where the score of a word is no number.
    std::vector<std::vector<size_t>> Decode(const std::vector<SentenceToDecode>& sentences,
                                            std::optional<size_t> endWord);

    // A step computes the hypotheses' last words alone and goes on from the state before them; false where a node reads
    // other steps than delays do, or later ones: then a step computes the hypotheses from their beginnings.
    bool CarriesState() const { return m_carriesState; }

private:
    struct Hypothesis
    {
        std::vector<size_t> words;
        double score = 0; // log probability
        bool isOver = false;
        size_t parent = 0; // its place in the beam before
    };

    void CheckInputs() const;
    void FindState();
    void SelectState();
    void BindEncoded(const std::vector<SentenceToDecode>& sentences);
    void BindWords(size_t steps);
    void Extend(size_t sentence, const double* scores, size_t maxLength, std::optional<size_t> endWord);

    ComputationNodePtr m_output;
    std::shared_ptr<InputValueNode> m_words;
    std::vector<std::shared_ptr<InputValueNode>> m_encoded;
    size_t m_beamWidth;
    bool m_isProbability;
    Evaluator m_evaluator;
    bool m_carriesState = true;
    std::vector<std::shared_ptr<RecurrentState>> m_states;
    std::vector<std::vector<Hypothesis>> m_beams; // of each sentence, the best first
    std::vector<size_t> m_firstWords;
};

} // namespace cntk
