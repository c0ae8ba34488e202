// The sentences of a language model's text: read block by block, shuffled, and put together by length.
#pragma once

#include "Common/SeedStream.h"
#include "Readers/LMSequenceReader/LmOptions.h"
#include "Readers/ReaderLib/LineReader.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

class LmText
{
public:
    // Fails (Data) if the file is missing or empty.
    explicit LmText(const LmConfig& config);

    // Back to the first sentence. The blocks' seeds are seed + 1, seed + 2, ...
    void Start(size_t seed, uint64_t trainingSeed = 0);

    // The next group of sentences of one length, at most `most` of them; false at the end of the file. log gets a line
    // for each block that is read.
    bool NextGroup(size_t most, std::string& log);
    size_t GroupSize() const { return m_group.size(); }
    // Number of words less one: the last word is no input, the first one no label.
    size_t Steps() const { return m_steps; }
    // Words 0 .. Steps() of a sentence of the group.
    const int32_t* WordsOf(size_t sentence) const { return m_words.data() + m_sentences[m_group[sentence]].first; }
    // The number of its line, from 1.
    size_t LineOf(size_t sentence) const { return m_sentences[m_group[sentence]].line; }
    size_t StepsOfNext(std::string& log);

    size_t CountSamples();

private:
    struct Sentence
    {
        size_t first = 0; // in m_words
        uint32_t steps = 0;
        size_t line = 0;
    };

    // beginSequence and endSequence.
    struct Markers
    {
        size_t sentences = 0; // that were looked at
        bool begin = false;   // one of them has it
        bool end = false;
        bool areJudged = false;
    };

    bool ReadBlock(std::string& log);
    std::string LookForMarkers();
    std::string TellOtherOrder();
    int32_t IdOf(std::string_view word) const;
    bool FindNext(std::string& log);

    const LmConfig& m_config;
    LineReader m_lines;
    SeedStream m_seeds;
    size_t m_seed = 0;
    bool m_isAtEnd = false;
    Markers m_markers;
    bool m_hasToldOrder = false;
    std::vector<std::string_view> m_tokens;

    // The block at hand. Sentences of one length form a list in shuffled order: heads by length, successors by
    // sentence.
    std::vector<int32_t> m_words;
    std::vector<Sentence> m_sentences;
    std::vector<uint32_t> m_heads;
    std::vector<uint32_t> m_successors;
    std::vector<bool> m_used;
    size_t m_next = 0; // sentences before it are used

    std::vector<uint32_t> m_group;
    size_t m_steps = 0;
};

} // namespace cntk
