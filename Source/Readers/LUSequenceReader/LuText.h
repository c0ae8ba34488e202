// The sentences of a file of tokens and labels: read block by block, shuffled where that is wanted, and put together.
#pragma once

#include "Common/SeedStream.h"
#include "Readers/LUSequenceReader/LuOptions.h"
#include "Readers/ReaderLib/LineReader.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

class LuText
{
public:
    struct Sentence
    {
        size_t first = 0; // its first token
        size_t tokens = 0;
        size_t number = 0; // in the text, from 1
    };

    explicit LuText(const LuConfig& config);

    void Start(size_t seed, uint64_t trainingSeed = 0);

    // The sentences of the next minibatch; false at the end of the file. Only the next nbruttsineachrecurrentiter
    // unused ones are looked at; with equalLength those of the first one's length are taken.
    bool NextGroup(std::string& log);
    const std::vector<Sentence>& Group() const { return m_group; }

    // Ids of the input words of a token of the group's block, and its label.
    std::span<const int32_t> WordsOf(size_t token) const
    {
        return {m_words.data() + m_wordStarts[token], m_wordStarts[token + 1] - m_wordStarts[token]};
    }
    int32_t LabelOf(size_t token) const { return m_labels[token]; }

    size_t CountSamples();

    // The first word that has no label, with its place; empty if there is none so far.
    const std::string& LoneWord() const { return m_loneWord; }

private:
    bool ReadBlock(std::string& log);
    void ReadSentence();
    int32_t IdOf(std::string_view word, const LuVocabulary& vocabulary) const;

    const LuConfig& m_config;
    LineReader m_lines;
    std::vector<std::string_view> m_columns;
    std::string m_loneWord;
    bool m_isAtEnd = false;
    SeedStream m_seeds;
    size_t m_seed = 0;
    size_t m_minibatches = 0; // of the epoch so far
    size_t m_read = 0;        // sentences

    // The block at hand.
    std::vector<int32_t> m_words;
    std::vector<size_t> m_wordStarts; // by token
    std::vector<int32_t> m_labels;    // by token
    std::vector<Sentence> m_sentences;
    std::vector<bool> m_used;
    size_t m_next = 0; // sentences before it are used

    std::vector<Sentence> m_group;
};

} // namespace cntk
