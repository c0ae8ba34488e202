// Forced alignment (-alignmlf): the transcript of an utterance takes the place of the language model. A word arc is
// open only to the next word, at probability 1.
#pragma once

#include "Decoder/DecodeOptions.h"
#include "Decoder/DecodingGraph.h"
#include "Decoder/StateTables.h"
#include "Decoder/WordScorer.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cntk
{

// The words of all utterances of an MLF. They stand in the last or only column. Words that start or end sentences, and
// silence words, are left out.
class Transcripts
{
public:
    // Fails (Data) with file and line.
    Transcripts(const std::string& path, const DecodeOptions& options);

    // Null if the utterance has no transcript. name: the last component without extension.
    const std::vector<std::string>* Find(const std::string& name) const;
    const std::string& Path() const { return m_path; }

private:
    std::string m_path;
    std::unordered_map<std::string, std::vector<std::string>> m_words;
};

class AlignmentConstraint final : public WordScorer
{
public:
    // Fails (Data) for a word that the graph lacks.
    AlignmentConstraint(const std::vector<std::string>& transcript, const DecodingGraph& graph,
                        const DecodeOptions& options);

    uint32_t Begin() override { return 0; }
    Step Extend(uint32_t history, uint32_t word) override;

private:
    // History 0: nothing said; i+1: the first i words and the sentence start; the last one: the sentence has ended.
    std::vector<uint32_t> m_words;
    uint32_t m_start = UINT32_MAX;
    uint32_t m_end = UINT32_MAX;
};

} // namespace cntk
