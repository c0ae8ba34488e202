// Parsing of ARPA files, and a hash table of n-grams.
#include "Decoder/ArpaModel.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "Decoder/InputText.h"

#include <array>
#include <cmath>
#include <utility>

namespace cntk
{

namespace
{

constexpr size_t c_largestOrder = 9;
constexpr double c_zeroProbability = -99;

float NaturalLog(double base10)
{
    return base10 <= c_zeroProbability ? ArpaModel::c_impossible : float(base10 * std::log(10.0));
}

uint64_t KeyOf(uint32_t node, uint32_t word)
{
    return uint64_t(node) << 32 | word;
}

size_t SlotOf(uint64_t key)
{
    key *= 0x9E3779B97F4A7C15ull;
    return size_t(key ^ key >> 29);
}

} // namespace

class ArpaModel::Parser
{
public:
    Parser(ArpaModel& model, const std::string& path) : m_model(model), m_text(path, "language model") {}

    void Parse(const std::string& sentenceStart, const std::string& sentenceEnd)
    {
        ReadHeader();
        while (!m_hasEnded)
            ReadSection();
        if (m_section < m_model.m_order)
            m_text.FailHere("the section \\", m_section + 1, "-grams: is missing, which \\data\\ announces");
        for (const std::string& word : {sentenceStart, sentenceEnd})
            if (m_model.FindWord(word) == c_none)
                Fail(ErrorKind::Data, m_text.Path(), ":", m_unigramsLine, ": the 1-grams lack '", word,
                     "', which begins or ends sentences; -sentence-start and -sentence-end give other names");
    }

private:
    bool NextLine(const char* expected)
    {
        if (m_text.Next())
            return true;
        m_text.FailHere("the file ends here, expected ", expected);
    }

    void ReadHeader()
    {
        do
            NextLine("\\data\\, the first line of a model in ARPA format");
        while (m_text.Line() != "\\data\\");
        m_counts.push_back(0);
        for (;;)
        {
            NextLine("ngram <order>=<count>, or \\1-grams:");
            const std::string_view line = m_text.Line();
            if (line.starts_with('\\'))
                break;
            const size_t equals = line.find('=');
            const auto order = line.starts_with("ngram") && equals != std::string_view::npos
                                   ? ParseSize(Trim(line.substr(5, equals - 5)))
                                   : std::nullopt;
            const auto count = order ? ParseSize(Trim(line.substr(equals + 1))) : std::nullopt;
            if (!count)
                m_text.FailHere("'", line, "', expected ngram <order>=<count>");
            if (*order != m_counts.size() || *order > c_largestOrder)
                m_text.FailHere("n-grams of order ", *order, ", expected order ", m_counts.size(), "; orders are 1 to ",
                                c_largestOrder, " without a gap");
            m_counts.push_back(size_t(*count));
        }
        m_model.m_order = m_counts.size() - 1;
        if (m_model.m_order == 0)
            m_text.FailHere("\\data\\ announces no n-grams");
        m_model.m_nodes.emplace_back();
    }

    // Reads "\2-grams:" in the current line, and the lines up to the next section.
    void ReadSection()
    {
        const std::string_view title = m_text.Line();
        if (title == "\\end\\")
        {
            m_hasEnded = true;
            return;
        }
        const size_t dash = title.find("-grams:");
        const auto order = dash == std::string_view::npos ? std::nullopt : ParseSize(title.substr(1, dash - 1));
        if (!order)
            m_text.FailHere("'", title, "', expected \\", m_section + 1, "-grams: or \\end\\");
        if (*order != m_section + 1 || *order > m_model.m_order)
            m_text.FailHere("a section of ", *order, "-grams, but \\data\\ announces orders 1 to ", m_model.m_order,
                            " and the section before has order ", m_section);
        m_section = size_t(*order);
        if (m_section == 1)
            m_unigramsLine = m_text.LineNumber();
        size_t count = 0;
        for (;; ++count)
        {
            NextLine("\\end\\, the last line of a model in ARPA format");
            if (m_text.Line().starts_with('\\') && m_text.Count() == 1)
                break;
            ReadNGram();
        }
        if (count != m_counts[m_section])
            m_text.FailHere("the section before this line has ", count, " ", m_section, "-grams, but \\data\\ says ",
                            m_counts[m_section]);
    }

    void ReadNGram()
    {
        const size_t order = m_section;
        if (m_text.Count() != order + 1 && m_text.Count() != order + 2)
            m_text.FailHere("'", m_text.Line(), "' has ", m_text.Count(), " fields, expected a logarithm, ", order,
                            order == 1 ? " word" : " words", " and perhaps the logarithm of a back-off weight");
        const double probability = m_text.Number(0, "base-10 logarithm");
        if (probability > 0)
            m_text.FailHere("'", m_text[0], "' is above 0, expected the base-10 logarithm of a probability");
        const double backoff = m_text.Count() == order + 2 ? m_text.Number(order + 1, "base-10 logarithm") : 0;
        uint32_t node = 0;
        for (size_t i = 1; i < order; ++i)
            node = ContextNode(node, WordAt(i));
        const uint32_t word = order == 1 ? AddWord() : WordAt(order);
        Entry& entry = m_model.Insert(node, word);
        if (!std::isnan(entry.logProbability))
            m_text.FailHere("'", m_text.Line(), "' is listed twice");
        entry.logProbability = NaturalLog(probability);
        m_model.m_nodes[node].hasChildren = true;
        if (order < m_model.m_order)
        {
            if (entry.node == c_none)
                entry.node = NewNode(node, word);
            m_model.m_nodes[entry.node].backoff = NaturalLog(backoff);
        }
    }

    uint32_t NewNode(uint32_t parent, uint32_t word)
    {
        m_model.m_nodes.push_back({.parent = parent, .word = word});
        return uint32_t(m_model.m_nodes.size() - 1);
    }

    // Returns the node of a context, which need not be listed as an n-gram.
    uint32_t ContextNode(uint32_t node, uint32_t word)
    {
        Entry& entry = m_model.Insert(node, word);
        if (entry.node == c_none)
        {
            entry.node = NewNode(node, word);
            m_model.m_nodes[node].hasChildren = true;
        }
        return entry.node;
    }

    uint32_t AddWord()
    {
        const auto [place, isNew] = m_model.m_wordIds.try_emplace(std::string(m_text[1]), m_model.m_wordIds.size());
        if (!isNew)
            m_text.FailHere("the word '", m_text[1], "' is listed twice");
        return place->second;
    }

    uint32_t WordAt(size_t field)
    {
        const uint32_t word = m_model.FindWord(m_text[field]);
        if (word == c_none)
            m_text.FailHere("the word '", m_text[field], "' is not among the 1-grams");
        return word;
    }

    ArpaModel& m_model;
    InputText m_text;
    std::vector<size_t> m_counts; // by order; the first is unused
    size_t m_section = 0;
    size_t m_unigramsLine = 0;
    bool m_hasEnded = false;
};

ArpaModel::ArpaModel(const std::string& path, const std::string& sentenceStart, const std::string& sentenceEnd)
    : m_path(path), m_table(1024)
{
    Parser(*this, path).Parse(sentenceStart, sentenceEnd);
    FillFilter();
    LinkNodes();
    const Entry* const start = Find(0, FindWord(sentenceStart));
    m_startHistory = start->node;
}

uint32_t ArpaModel::FindWord(std::string_view word) const
{
    const auto found = m_wordIds.find(std::string(word));
    return found == m_wordIds.end() ? c_none : found->second;
}

const ArpaModel::Entry* ArpaModel::Find(uint32_t node, uint32_t word) const
{
    if (node == 0)
        return &m_unigrams[word];
    const uint64_t key = KeyOf(node, word);
    const size_t hash = SlotOf(key);
    if (const size_t bit = hash & (64 * m_filter.size() - 1); (m_filter[bit / 64] >> bit % 64 & 1) == 0)
        return nullptr;
    const size_t mask = m_table.size() - 1;
    for (size_t slot = hash & mask;; slot = (slot + 1) & mask)
    {
        if (m_table[slot].key == key)
            return &m_table[slot];
        if (m_table[slot].key == c_emptyKey)
            return nullptr;
    }
}

ArpaModel::Entry& ArpaModel::Insert(uint32_t node, uint32_t word)
{
    if (node == 0)
    {
        if (word == m_unigrams.size()) // a new word
            m_unigrams.push_back({KeyOf(node, word), std::numeric_limits<float>::quiet_NaN(), c_none});
        return m_unigrams[word];
    }
    if (2 * (m_used + 1) > m_table.size())
        Grow();
    const uint64_t key = KeyOf(node, word);
    const size_t mask = m_table.size() - 1;
    size_t slot = SlotOf(key) & mask;
    for (; m_table[slot].key != c_emptyKey; slot = (slot + 1) & mask)
        if (m_table[slot].key == key)
            return m_table[slot];
    ++m_used;
    m_table[slot] = {key, std::numeric_limits<float>::quiet_NaN(), c_none};
    return m_table[slot];
}

void ArpaModel::Grow()
{
    std::vector<Entry> old(2 * m_table.size());
    old.swap(m_table);
    const size_t mask = m_table.size() - 1;
    for (const Entry& entry : old)
        if (entry.key != c_emptyKey)
        {
            size_t slot = SlotOf(entry.key) & mask;
            while (m_table[slot].key != c_emptyKey)
                slot = (slot + 1) & mask;
            m_table[slot] = entry;
        }
}

uint32_t ArpaModel::ContextOf(uint32_t node) const
{
    while (node != 0 && !m_nodes[node].hasChildren && m_nodes[node].backoff == 0)
        node = m_nodes[node].shorter;
    return node;
}

void ArpaModel::FillFilter()
{
    m_filter.assign(m_table.size() / 16, 0); // four bits for each slot
    for (const Entry& entry : m_table)
        if (entry.key != c_emptyKey)
        {
            const size_t bit = SlotOf(entry.key) & (64 * m_filter.size() - 1);
            m_filter[bit / 64] |= uint64_t(1) << bit % 64;
        }
}

void ArpaModel::LinkNodes()
{
    // The longest node of a shorter context with this word. A parent precedes its children.
    const auto shorterOf = [&](uint32_t parent, uint32_t word) -> uint32_t
    {
        while (parent != 0)
        {
            parent = m_nodes[parent].shorter;
            if (const Entry* const entry = Find(parent, word); entry != nullptr && entry->node != c_none)
                return entry->node;
        }
        return 0;
    };
    for (size_t i = 1; i < m_nodes.size(); ++i)
        m_nodes[i].shorter = shorterOf(m_nodes[i].parent, m_nodes[i].word);
    for (std::vector<Entry>* const entries : {&m_unigrams, &m_table})
        for (Entry& entry : *entries)
            if (entry.key != c_emptyKey)
                entry.node = ContextOf(
                    entry.node != c_none ? entry.node : shorterOf(uint32_t(entry.key >> 32), uint32_t(entry.key)));
}

ArpaModel::Step ArpaModel::Extend(uint32_t history, uint32_t word) const
{
    float backoff = 0;
    uint32_t longest = c_none;
    for (uint32_t node = history;; node = m_nodes[node].shorter)
    {
        if (const Entry* const entry = Find(node, word); entry != nullptr)
        {
            if (longest == c_none)
                longest = entry->node;
            if (!std::isnan(entry->logProbability))
                return {backoff + entry->logProbability, longest};
        }
        if (node == 0)
            return {};
        backoff += m_nodes[node].backoff;
    }
}

std::vector<float> ArpaModel::LargestLogProbabilities() const
{
    std::vector<size_t> lengths(m_nodes.size(), 0); // words of each context; a parent precedes its children
    std::vector<float> backoffs(m_order + 1, 0);    // the largest above 0, by the length of the context
    for (size_t i = 1; i < m_nodes.size(); ++i)
    {
        lengths[i] = lengths[m_nodes[i].parent] + 1;
        backoffs[lengths[i]] = std::max(backoffs[lengths[i]], m_nodes[i].backoff);
    }
    std::vector<std::vector<float>> listed(m_order, std::vector<float>(m_wordIds.size(), c_impossible));
    for (const std::vector<Entry>* const entries : {&m_unigrams, &m_table})
        for (const Entry& entry : *entries)
            if (entry.key != c_emptyKey && !std::isnan(entry.logProbability))
            {
                float& largest = listed[lengths[entry.key >> 32]][uint32_t(entry.key)];
                largest = std::max(largest, entry.logProbability);
            }
    std::vector<float> bounds = listed[0];
    for (size_t length = 1; length < m_order; ++length)
        for (size_t word = 0; word < bounds.size(); ++word)
            bounds[word] = std::max(bounds[word] + backoffs[length], listed[length][word]);
    return bounds;
}

} // namespace cntk
