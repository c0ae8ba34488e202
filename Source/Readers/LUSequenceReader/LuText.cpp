// Reading, shuffling and grouping of sentences.
#include "Readers/LUSequenceReader/LuText.h"

#include "Common/Error.h"

#include <algorithm>
#include <random>

namespace cntk
{
namespace
{

constexpr size_t c_blockLines = 50000;

LineReader OpenLines(const LuConfig& config)
{
    return WithPosition(config.fileWhere, [&] { return LineReader(config.reader.file); });
}

} // namespace

LuText::LuText(const LuConfig& config) : m_config(config), m_lines(OpenLines(config)) {}

void LuText::Start(size_t seed, uint64_t trainingSeed)
{
    m_lines.Rewind();
    m_isAtEnd = false;
    m_seeds = SeedStream(trainingSeed, "order");
    m_seed = seed;
    m_minibatches = 0;
    m_read = 0;
    m_sentences.clear();
    m_next = 0;
}

int32_t LuText::IdOf(std::string_view word, const LuVocabulary& vocabulary) const
{
    std::string_view wanted = word;
    if (vocabulary.options.useWordMap)
    {
        const auto mapped = m_config.wordMap.find(std::string(word));
        wanted = mapped == m_config.wordMap.end() ? std::string_view(m_config.reader.unk) : mapped->second;
    }
    const int32_t id = vocabulary.words.Find(wanted);
    if (id != Vocabulary::c_unknown)
        return id;
    if (vocabulary.unknownWord == Vocabulary::c_unknown)
        Fail(ErrorKind::Data, m_lines.Location(word), ": '", wanted, "'",
             wanted == word ? std::string() : Concat(" (from '", word, "' by the word map)"), " is not in the tokens '",
             vocabulary.words.Source(), "' of '", vocabulary.name, "', and neither is unk '", m_config.reader.unk, "'",
             vocabulary.words.Hint(wanted));
    return vocabulary.unknownWord;
}

// Up to a blank line or a token that ends it; none where the text ends before.
void LuText::ReadSentence()
{
    const size_t first = m_labels.size();
    std::string_view line;
    for (bool isOpen = true; isOpen;)
    {
        if (!m_lines.Next(line))
        {
            m_isAtEnd = true;
            break;
        }
        SplitTokens(line, m_columns);
        if (m_columns.empty() && m_labels.size() > first)
            break;
        if (m_columns.size() < 2) // a word without a label is passed over
        {
            if (!m_columns.empty() && m_loneWord.empty())
                m_loneWord = Concat(m_lines.Location(m_columns[0]), ": '", m_columns[0], "'");
            continue;
        }
        for (size_t i = 0; i + 1 < m_columns.size(); ++i)
            m_words.push_back(IdOf(m_columns[i], m_config.input));
        m_wordStarts.push_back(m_words.size());
        m_labels.push_back(IdOf(m_columns.back(), m_config.output));
        const auto ends = [](std::string_view word, const LuVocabulary& vocabulary)
        { return !vocabulary.options.endSequence.empty() && word == vocabulary.options.endSequence; };
        isOpen = !ends(m_columns.back(), m_config.output) && !ends(m_columns.front(), m_config.input);
    }
    if (m_labels.size() > first)
        m_sentences.push_back({first, m_labels.size() - first, ++m_read});
}

bool LuText::ReadBlock(std::string& log)
{
    m_words.clear();
    m_wordStarts.assign(1, 0);
    m_labels.clear();
    m_sentences.clear();
    m_next = 0;
    const size_t start = m_lines.LineNumber();
    while (!m_isAtEnd && m_lines.LineNumber() - start < c_blockLines)
        ReadSentence();
    if (m_sentences.empty())
        return false;
    if (m_config.shuffle)
    {
        std::minstd_rand0 generator{uint32_t(m_seeds(m_seed + m_minibatches))};
        std::shuffle(m_sentences.begin(), m_sentences.end(), generator);
    }
    m_used.assign(m_sentences.size(), false);
    if (m_config.reader.traceLevel > 0)
        log += Concat("LUSequenceReader: ", m_lines.LineNumber() - start, " lines read, ", m_sentences.size(),
                      " sequences with a total of ", m_labels.size(), " tokens.\n");
    return true;
}

bool LuText::NextGroup(std::string& log)
{
    m_group.clear();
    while (m_next < m_sentences.size() && m_used[m_next])
        ++m_next;
    if (m_next == m_sentences.size() && !ReadBlock(log))
        return false;
    ++m_minibatches;
    size_t seen = 0;
    for (size_t i = m_next; i < m_sentences.size() && seen < m_config.reader.parallelSequences; ++i)
    {
        if (m_used[i])
            continue;
        ++seen;
        if (m_config.reader.equalLength && m_sentences[i].tokens != m_sentences[m_next].tokens)
            continue;
        m_used[i] = true;
        m_group.push_back(m_sentences[i]);
    }
    return true;
}

size_t LuText::CountSamples()
{
    LineReader lines(m_lines.Path());
    size_t samples = 0;
    for (std::string_view line; lines.Next(line);)
    {
        SplitTokens(line, m_columns);
        samples += m_columns.size() >= 2 ? 1 : 0;
    }
    return samples;
}

} // namespace cntk
