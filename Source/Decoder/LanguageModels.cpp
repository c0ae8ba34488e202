// Collections of language models, and their words in the graph.
#include "Decoder/LanguageModels.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "Decoder/InputText.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace cntk
{

LanguageModels::LanguageModels(const DecodeOptions& options, const std::vector<std::string>& graphWords, Log& log)
{
    if (!options.lm.empty())
        m_members.push_back({ArpaModel(options.lm, options.sentenceStart, options.sentenceEnd), 1.0, {}});
    else
        ReadCollection(options, log);
    FindWords(options, graphWords);
    m_largest.assign(graphWords.size(), ArpaModel::c_impossible);
    for (const Member& member : m_members)
    {
        const std::vector<float> largest = member.model.LargestLogProbabilities();
        for (size_t i = 0; i < graphWords.size(); ++i)
            if (member.wordIds[i] != ArpaModel::c_none)
                m_largest[i] = std::max(m_largest[i], largest[member.wordIds[i]]);
    }
    if (m_startWord != ArpaModel::c_none)
        m_largest[m_startWord] = 0; // costs nothing
    m_startIsEnd = options.sentenceStart == options.sentenceEnd;
}

void LanguageModels::ReadCollection(const DecodeOptions& options, Log& log)
{
    InputText list(options.lmCollection, "list of language models");
    double sum = 0;
    while (list.Next())
    {
        if (list.Count() != 2)
            list.FailHere("'", list.Line(), "', expected a weight and the path of a language model");
        const double weight = list.Number(0, "weight");
        if (weight <= 0)
            list.FailHere("the weight '", list[0], "' is not above 0");
        std::filesystem::path path(ResolveInputPath(std::string(list[1])));
        if (path.is_relative())
            path = std::filesystem::path(options.lmCollection).parent_path() / path;
        const auto read = [&] {
            m_members.push_back({ArpaModel(path.string(), options.sentenceStart, options.sentenceEnd), weight, {}});
        };
        WithNote(read, [&] { return "while reading the model in " + list.Location(); });
        sum += weight;
    }
    if (m_members.empty())
        Fail(ErrorKind::Data, "list of language models '", options.lmCollection,
             "' has no entries, expected lines of weight and path");
    if (std::abs(sum - 1) > 1e-3)
    {
        log.Warn(Concat(options.lmCollection, ": the weights sum to ", sum, " and are divided by their sum"));
        for (Member& member : m_members)
            member.weight /= sum;
    }
}

void LanguageModels::FindWords(const DecodeOptions& options, const std::vector<std::string>& graphWords)
{
    std::vector<std::string> missing;
    std::vector<bool> isKnown(graphWords.size(), false);
    for (Member& member : m_members)
        for (size_t i = 0; i < graphWords.size(); ++i)
        {
            member.wordIds.push_back(member.model.FindWord(graphWords[i]));
            if (member.wordIds.back() != ArpaModel::c_none)
                isKnown[i] = true;
        }
    for (Member& member : m_members)
    {
        uint32_t unknown = member.model.FindWord(options.unknownWord);
        if (unknown == ArpaModel::c_none && EqualsIgnoreCase(options.unknownWord, "<unk>"))
            unknown = std::min(member.model.FindWord("<unk>"), member.model.FindWord("<UNK>"));
        for (size_t i = 0; i < graphWords.size(); ++i)
            if (member.wordIds[i] == ArpaModel::c_none && unknown != ArpaModel::c_none)
            {
                member.wordIds[i] = unknown;
                isKnown[i] = true;
            }
    }
    for (size_t i = 0; i < graphWords.size(); ++i)
    {
        if (graphWords[i] == options.sentenceStart)
            m_startWord = uint32_t(i);
        if (!isKnown[i])
            missing.push_back("'" + graphWords[i] + "'");
    }
    if (missing.empty())
        return;
    const size_t count = missing.size();
    missing.resize(std::min<size_t>(count, 5));
    Fail(ErrorKind::Data, "language model '", m_members.front().model.Path(), "' lacks ", Counted(count, "word"),
         " of the graph and has no '", options.unknownWord, "': ", Join(missing, ", "),
         count > missing.size() ? ", ..." : "", "; add them, or an unknown word, to the model");
}

LanguageScorer::LanguageScorer(const LanguageModels& models) : m_models(models)
{
    for (const LanguageModels::Member& member : models.m_members)
        m_next.push_back(member.model.StartHistory());
    m_histories = m_next;                                                // number 0
    m_histories.insert(m_histories.end(), m_next.begin(), m_next.end()); // number 1: after the sentence start
    m_numbers.emplace(std::string(reinterpret_cast<const char*>(m_next.data()), m_next.size() * sizeof(uint32_t)), 1);
}

uint32_t LanguageScorer::Begin()
{
    return 0;
}

uint32_t LanguageScorer::NumberOf(const std::vector<uint32_t>& histories)
{
    if (histories.size() == 1)
        return histories[0] + 2; // behind the numbers of the beginning
    const std::string key(reinterpret_cast<const char*>(histories.data()), histories.size() * sizeof(uint32_t));
    const auto [place, isNew] = m_numbers.try_emplace(key, uint32_t(m_histories.size() / histories.size()));
    if (isNew)
        m_histories.insert(m_histories.end(), histories.begin(), histories.end());
    return place->second;
}

WordScorer::Step LanguageScorer::Extend(uint32_t history, uint32_t word)
{
    if (word == m_models.m_startWord && (history == 0 || !m_models.m_startIsEnd))
        return {0.0F, 1};
    const size_t count = m_models.m_members.size();
    if (count == 1)
        m_next[0] = history < 2 ? m_histories[0] : history - 2;
    else
        m_next.assign(&m_histories[history * count], &m_histories[history * count] + count);
    double sum = 0;
    float single = ArpaModel::c_impossible;
    for (size_t k = 0; k < count; ++k)
    {
        const LanguageModels::Member& member = m_models.m_members[k];
        if (member.wordIds[word] == ArpaModel::c_none)
        {
            m_next[k] = 0; // a word that this model lacks
            continue;
        }
        const ArpaModel::Step step = member.model.Extend(m_next[k], member.wordIds[word]);
        m_next[k] = step.history;
        single = step.logProbability;
        sum += member.weight * std::exp(double(step.logProbability));
    }
    const float logProbability = count == 1 ? single : float(std::log(sum));
    if (logProbability == ArpaModel::c_impossible)
        return {};
    return {logProbability, NumberOf(m_next)};
}

} // namespace cntk
