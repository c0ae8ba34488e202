// Reading, shuffling and grouping of sentences.
#include "Readers/LMSequenceReader/LmText.h"

#include "Common/Counted.h"
#include "Common/Error.h"

#include <algorithm>
#include <random>

namespace cntk
{
namespace
{

constexpr uint32_t c_none = UINT32_MAX;
constexpr size_t c_leastWords = 3; // shorter lines are no sentences
constexpr size_t c_sentencesToJudge = 100;

LineReader OpenLines(const LmConfig& config)
{
    return WithPosition(config.fileWhere, [&] { return LineReader(config.reader.file); });
}

} // namespace

LmText::LmText(const LmConfig& config) : m_config(config), m_lines(OpenLines(config)) {}

void LmText::Start(size_t seed, uint64_t trainingSeed)
{
    m_lines.Rewind();
    m_seeds = SeedStream(trainingSeed, "order");
    m_seed = seed;
    m_isAtEnd = false;
    m_sentences.clear();
    m_next = 0;
}

int32_t LmText::IdOf(std::string_view word) const
{
    const int32_t id = m_config.words.Find(word);
    if (id != Vocabulary::c_unknown)
        return id;
    if (m_config.unknownWord == Vocabulary::c_unknown)
        Fail(ErrorKind::Data, m_lines.Location(word), ": word '", word, "' is not in vocabulary '",
             m_config.words.Source(), "', and neither is unk '", m_config.reader.unk, "'", m_config.words.Hint(word));
    return m_config.unknownWord;
}

// What all sentences lack though the config names it: writeWordAndClass counts a text with the markers put around its
// lines, but the reader takes the lines as they are. Told once so many are read that it is no chance.
std::string LmText::LookForMarkers()
{
    const auto hasAny = [&](const std::string& marker, bool atEnd)
    {
        const int32_t id = m_config.words.Find(marker);
        const auto has = [&](const Sentence& s) { return m_words[s.first + (atEnd ? s.steps : 0)] == id; };
        return marker.empty() || std::any_of(m_sentences.begin(), m_sentences.end(), has);
    };
    m_markers.begin = m_markers.begin || hasAny(m_config.beginSequence, false);
    m_markers.end = m_markers.end || hasAny(m_config.endSequence, true);
    m_markers.sentences += m_sentences.size();
    m_markers.areJudged = m_isAtEnd || m_markers.sentences >= c_sentencesToJudge;
    const bool begins = m_markers.begin, ends = m_markers.end;
    if (!m_markers.areJudged || (begins && ends))
        return {};
    return Concat(
        "WARNING: LMSequenceReader: none of the ", Counted(m_markers.sentences, "sentence"), " read of '",
        m_lines.Path(), "' ", begins ? "" : Concat("begins with '", m_config.beginSequence, "' (beginSequence)"),
        begins || ends ? "" : " or ", ends ? "" : Concat("ends with '", m_config.endSequence, "' (endSequence)"),
        "; a line is read as it is: without them the model does not learn how sentences begin and end\n");
}

// Once, of what is written.
std::string LmText::TellOtherOrder()
{
    const auto standsBefore = [](const Sentence& a, const Sentence& b) { return a.line < b.line; };
    if (!m_config.forWriting || m_hasToldOrder || std::is_sorted(m_sentences.begin(), m_sentences.end(), standsBefore))
        return {};
    m_hasToldOrder = true;
    return Concat("WARNING: LMSequenceReader: sentences are shuffled whatever randomize says, and what is written does "
                  "not stand in the order of '",
                  m_lines.Path(), "'; cacheBlockSize=1 keeps that order\n");
}

bool LmText::ReadBlock(std::string& log)
{
    m_words.clear();
    m_sentences.clear();
    m_next = 0;
    size_t longest = 0;
    std::string_view line;
    while (!m_isAtEnd && m_words.size() < m_config.reader.cacheBlockSize)
    {
        if (!m_lines.Next(line))
        {
            m_isAtEnd = true;
            break;
        }
        SplitTokens(line, m_tokens);
        if (m_tokens.size() < c_leastWords)
            continue;
        if (m_tokens.size() > size_t(INT32_MAX))
            Fail(ErrorKind::Data, m_lines.Path(), ":", m_lines.LineNumber(), ": a sentence of ", m_tokens.size(),
                 " words is too long; at most ", INT32_MAX, " words can be in one");
        m_sentences.push_back({m_words.size(), uint32_t(m_tokens.size() - 1), m_lines.LineNumber()});
        longest = std::max(longest, m_tokens.size() - 1);
        for (const std::string_view word : m_tokens)
            m_words.push_back(IdOf(word));
    }
    if (m_sentences.empty())
        return false;
    if (!m_markers.areJudged)
        log += LookForMarkers();
    std::mt19937 generator{uint32_t(m_seeds(++m_seed))};
    std::shuffle(m_sentences.begin(), m_sentences.end(), generator);
    log += TellOtherOrder();
    m_heads.assign(longest + 1, c_none);
    m_successors.resize(m_sentences.size());
    for (size_t i = m_sentences.size(); i-- > 0;)
    {
        uint32_t& head = m_heads[m_sentences[i].steps];
        m_successors[i] = head;
        head = uint32_t(i);
    }
    m_used.assign(m_sentences.size(), false);
    log += Concat("LMSequenceReader: Reading epoch data... ", m_sentences.size(), " sequences read.\n");
    return true;
}

// Makes m_next a sentence that is not used yet.
bool LmText::FindNext(std::string& log)
{
    while (m_next < m_sentences.size() && m_used[m_next])
        ++m_next;
    return m_next < m_sentences.size() || ReadBlock(log);
}

size_t LmText::StepsOfNext(std::string& log)
{
    return FindNext(log) ? m_sentences[m_next].steps : 0;
}

bool LmText::NextGroup(size_t most, std::string& log)
{
    m_group.clear();
    if (!FindNext(log))
        return false;
    m_steps = m_sentences[m_next].steps;
    uint32_t& head = m_heads[m_steps]; // the first one in shuffled order is m_next
    for (; head != c_none && m_group.size() < most; head = m_successors[head])
    {
        m_group.push_back(head);
        m_used[head] = true;
    }
    return true;
}

size_t LmText::CountSamples()
{
    LineReader lines(m_lines.Path());
    size_t samples = 0;
    for (std::string_view line; lines.Next(line);)
    {
        SplitTokens(line, m_tokens);
        samples += m_tokens.size() < c_leastWords ? 0 : m_tokens.size() - 1;
    }
    return samples;
}

} // namespace cntk
