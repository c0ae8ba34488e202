// Transcripts, and the chain of their words.
#include "Decoder/AlignmentConstraint.h"

#include "Common/Error.h"
#include "Common/Htk/ScpFile.h"
#include "Common/Text.h"
#include "Decoder/InputText.h"

#include <algorithm>

namespace cntk
{

Transcripts::Transcripts(const std::string& path, const DecodeOptions& options) : m_path(path)
{
    InputText text(path, "label file");
    if (!text.Next() || text.Line() != "#!MLF!#")
        text.FailHere("the first line is no #!MLF!#, expected an HTK label file");
    std::vector<std::string>* words = nullptr;
    while (text.Next())
    {
        const std::string_view line = text.Line();
        if (words == nullptr)
        {
            std::string_view name = line;
            if (name.size() >= 2 && name.front() == '"' && name.back() == '"')
                name = name.substr(1, name.size() - 2);
            else if (text.Count() > 1)
                text.FailHere("'", line, "', expected the name of an utterance in quotes");
            const std::string key = KeyOfName(name);
            words = &m_words[std::string(LastComponent(key))];
            words->clear();
            continue;
        }
        if (line == ".")
        {
            words = nullptr;
            continue;
        }
        const std::string_view word = text[text.Count() - 1];
        const bool isLeftOut = word == options.sentenceStart || word == options.sentenceEnd || word == "<s>" ||
                               word == "</s>" ||
                               std::any_of(options.silenceModels.begin(), options.silenceModels.end(),
                                           [&](const std::string& silence) { return silence == word; });
        if (!isLeftOut)
            words->emplace_back(word);
    }
    if (words != nullptr)
        text.FailHere("the file ends within an utterance, expected a line with '.'");
}

const std::vector<std::string>* Transcripts::Find(const std::string& name) const
{
    const auto found = m_words.find(name);
    return found == m_words.end() ? nullptr : &found->second;
}

AlignmentConstraint::AlignmentConstraint(const std::vector<std::string>& transcript, const DecodingGraph& graph,
                                         const DecodeOptions& options)
{
    const std::vector<std::string>& words = graph.Words();
    const auto numberOf = [&](const std::string& word)
    {
        const auto found = std::find(words.begin(), words.end(), word);
        return found == words.end() ? UINT32_MAX : uint32_t(found - words.begin());
    };
    m_start = numberOf(options.sentenceStart);
    m_end = numberOf(options.sentenceEnd);
    for (const std::string& word : transcript)
    {
        m_words.push_back(numberOf(word));
        if (m_words.back() == UINT32_MAX)
            Fail(ErrorKind::Data, "the word '", word, "' of its transcript is not in the graph");
    }
}

WordScorer::Step AlignmentConstraint::Extend(uint32_t history, uint32_t word)
{
    const uint32_t said = history == 0 ? 0 : history - 1;
    if (word == m_start && history == 0)
        return {0.0F, 1};
    if (said < m_words.size() && word == m_words[said])
        return {0.0F, said + 2};
    if (word == m_end && said == m_words.size())
        return {0.0F, said + 2};
    return {};
}

} // namespace cntk
