// Beam search with a decoder: finds the most probable word sequences, where each word is the input of the next step.
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

// Input of the decoder for one sentence.
struct SentenceToDecode
{
    size_t firstWord = 0;                     // input of the first step
    size_t maxLength = 0;                     // words
    std::vector<std::vector<double>> encoded; // for each encoder input: its columns, one per step
};

class BeamSearch
{
public:
    // decoder: not paired. output: scores of words, a softmax or the input of one. words: the input node for the words.
    // encoded: the input nodes for an encoder's values. Fails (Model) if output and words have different numbers of
    // rows, if output does not read the words, or if it reads any other input.
    BeamSearch(ComputationNetwork& decoder, const ComputationNodePtr& output, std::shared_ptr<InputValueNode> words,
               std::vector<std::shared_ptr<InputValueNode>> encoded, size_t beamWidth);

    // Returns the best hypothesis of each sentence, up to and including the end word, or maxLength words. Fails (Model)
    // if the score of a word is NaN.
    std::vector<std::vector<size_t>> Decode(const std::vector<SentenceToDecode>& sentences,
                                            std::optional<size_t> endWord);

    // True: a step computes only the last words of the hypotheses and continues from the previous state. False if a
    // node reads steps in another way than delays do, or reads later steps: each step then computes the hypotheses from
    // their beginnings.
    bool CarriesState() const { return m_carriesState; }

private:
    struct Hypothesis
    {
        std::vector<size_t> words;
        double score = 0; // log probability
        bool isOver = false;
        size_t parent = 0; // place in the previous beam
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
    std::vector<std::vector<Hypothesis>> m_beams; // one per sentence, best hypothesis first
    std::vector<size_t> m_firstWords;
};

} // namespace cntk
