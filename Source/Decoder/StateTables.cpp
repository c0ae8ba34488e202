// Parsing of tables, and the places of states in models.
#include "Decoder/StateTables.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "Decoder/InputText.h"

#include <algorithm>

namespace cntk
{

namespace
{

void RequireFields(const InputText& text, size_t count, const char* expected)
{
    if (text.Count() != count)
        text.FailHere("'", text.Line(), "' has ", Counted(text.Count(), "field"), ", expected ", expected);
}

void RequireNew(const InputText& text, bool isNew)
{
    if (!isNew)
        text.FailHere("'", text[0], "' is listed twice; keep one of the lines");
}

double LogarithmAt(const InputText& text, size_t field)
{
    if (EqualsIgnoreCase(text[field], "-inf") || EqualsIgnoreCase(text[field], "-infinity"))
        return -1e30;
    const double value = text.Number(field, "natural logarithm of a probability");
    if (value > 0)
        text.FailHere("'", text[field], "' is above 0, expected the natural logarithm of a probability");
    return value;
}

} // namespace

std::string_view WithoutBrackets(std::string_view name)
{
    if (name.size() > 2 && name.front() == '[' && name.back() == ']')
        return name.substr(1, name.size() - 2);
    return name;
}

std::unordered_map<std::string, Transition> ReadTransitions(const std::string& path)
{
    InputText text(path, "transition file");
    std::unordered_map<std::string, Transition> transitions;
    while (text.Next())
    {
        RequireFields(text, 3, "a state, the logarithm of its self loop and the logarithm of its way forward");
        const Transition transition{LogarithmAt(text, 1), LogarithmAt(text, 2)};
        RequireNew(text, transitions.try_emplace(std::string(WithoutBrackets(text[0])), transition).second);
    }
    return transitions;
}

std::unordered_map<std::string, size_t> ReadStateMap(const std::string& path)
{
    InputText text(path, "state map");
    std::unordered_map<std::string, size_t> rows;
    while (text.Next())
    {
        RequireFields(text, 2, "a state and a row of the network's output, from 0");
        const size_t row = text.WholeNumber(1, "row of the network's output, from 0");
        RequireNew(text, rows.try_emplace(std::string(WithoutBrackets(text[0])), row).second);
    }
    return rows;
}

std::vector<ModelStates> ReadModelMap(const std::string& path)
{
    InputText text(path, "model state map");
    std::vector<ModelStates> models;
    while (text.Next())
    {
        if (text.Count() < 2)
            text.FailHere("model '", text[0], "' has no states, expected a model and its states from left to right");
        ModelStates model{std::string(text[0]), {}};
        for (size_t i = 1; i < text.Count(); ++i)
            model.states.emplace_back(WithoutBrackets(text[i]));
        models.push_back(std::move(model));
    }
    return models;
}

std::unordered_map<std::string, double> ReadLookahead(const std::string& path)
{
    InputText text(path, "look-ahead file");
    std::unordered_map<std::string, double> scores;
    while (text.Next())
    {
        RequireFields(text, 2, "a word and the natural logarithm of its best probability");
        RequireNew(text, scores.try_emplace(std::string(text[0]), LogarithmAt(text, 1)).second);
    }
    return scores;
}

PhoneTable::PhoneTable(const std::vector<ModelStates>& models, const std::vector<std::string>& states,
                       const std::vector<std::string>& silenceModels)
    : m_places(states.size()), m_isSilence(states.size(), false)
{
    std::unordered_map<std::string_view, uint32_t> numbers;
    for (size_t i = 0; i < states.size(); ++i)
        numbers[states[i]] = uint32_t(i);
    for (const ModelStates& model : models)
    {
        const auto number = uint32_t(m_modelNames.size());
        m_modelNames.push_back(model.name);
        m_modelSizes.push_back(uint32_t(model.states.size()));
        m_isSilenceModel.push_back(std::find(silenceModels.begin(), silenceModels.end(), model.name) !=
                                   silenceModels.end());
        for (size_t position = 0; position < model.states.size(); ++position)
            if (const auto found = numbers.find(model.states[position]); found != numbers.end())
                m_places[found->second].push_back({number, uint32_t(position)});
    }
    for (size_t i = 0; i < states.size(); ++i)
        m_isSilence[i] =
            !m_places[i].empty() && std::all_of(m_places[i].begin(), m_places[i].end(),
                                                [&](const Place& place) { return m_isSilenceModel[place.model]; });
}

bool PhoneTable::HasSilence() const
{
    return std::find(m_isSilence.begin(), m_isSilence.end(), true) != m_isSilence.end();
}

bool PhoneTable::Continues(uint32_t state, uint32_t next) const
{
    if (!IsKnown())
        return false;
    for (const Place& place : m_places[state])
        for (const Place& other : m_places[next])
            if (place.model == other.model && place.position < other.position)
                return true;
    return false;
}

bool PhoneTable::ShareSilence(uint32_t state, uint32_t other) const
{
    for (const Place& place : m_places[state])
        for (const Place& second : m_places[other])
            if (place.model == second.model && m_isSilenceModel[place.model])
                return true;
    return false;
}

bool PhoneTable::EndsModels(uint32_t state) const
{
    return std::all_of(m_places[state].begin(), m_places[state].end(),
                       [&](const Place& place) { return place.position + 1 == m_modelSizes[place.model]; });
}

std::string PhoneTable::NameOf(const std::vector<uint32_t>& states) const
{
    if (!IsKnown() || states.empty())
        return {};
    const std::string* best = nullptr;
    for (const Place& first : m_places[states.front()])
    {
        bool hasAll = true;
        for (size_t i = 1; i < states.size() && hasAll; ++i)
            hasAll = std::any_of(m_places[states[i]].begin(), m_places[states[i]].end(),
                                 [&](const Place& place) { return place.model == first.model && place.position >= i; });
        if (hasAll && first.position == 0 && m_modelSizes[first.model] == states.size())
            return m_modelNames[first.model];
        if (hasAll && best == nullptr)
            best = &m_modelNames[first.model];
    }
    return best != nullptr ? *best : std::string();
}

} // namespace cntk
