// Tables of states, models and words that stand in text files (book 6.2.1): transitions, state map, model state map and
// look-ahead scores. Names of states are kept without the brackets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cntk
{

struct Transition
{
    double self = 0;    // ln of the self loop
    double forward = 0; // ln of the way forward
};

struct ModelStates
{
    std::string name;
    std::vector<std::string> states; // from left to right
};

// "aa_s2" for "[aa_s2]" and for "aa_s2".
std::string_view WithoutBrackets(std::string_view name);

// Each function fails (Data) with file and line.
// Lines "[aa_s2] -0.472614 -0.976494": state, ln of the self loop, ln of the way forward.
std::unordered_map<std::string, Transition> ReadTransitions(const std::string& path);
// Lines "[aa_s2] 0": state and row of the network's output.
std::unordered_map<std::string, size_t> ReadStateMap(const std::string& path);
// Lines "aa aa_s2 aa_s3 aa_s4": model and its states.
std::vector<ModelStates> ReadModelMap(const std::string& path);
// Lines "word -1.5": word and ln of its best probability, at most 0.
std::unordered_map<std::string, double> ReadLookahead(const std::string& path);

// The places of states in models: which states continue a phone, and which are silence.
class PhoneTable
{
public:
    PhoneTable() = default;
    // states: names by number; silenceModels: names of models.
    PhoneTable(const std::vector<ModelStates>& models, const std::vector<std::string>& states,
               const std::vector<std::string>& silenceModels);

    // False without a model state map: each visit of a state is then a phone of its own, without a name.
    bool IsKnown() const { return !m_modelNames.empty(); }
    // True if all models with this state are silence models.
    bool IsSilence(uint32_t state) const { return IsKnown() && m_isSilence[state]; }
    bool HasSilence() const;
    // True if `next` may follow `state` within one instance of a model.
    bool Continues(uint32_t state, uint32_t next) const;
    // True if some silence model has both states.
    bool ShareSilence(uint32_t state, uint32_t other) const;
    // True if all models with this state end with it.
    bool EndsModels(uint32_t state) const;
    // The model that these consecutive states are an instance of; empty if there is none.
    std::string NameOf(const std::vector<uint32_t>& states) const;

private:
    struct Place
    {
        uint32_t model;
        uint32_t position;
    };
    std::vector<std::string> m_modelNames;
    std::vector<uint32_t> m_modelSizes;
    std::vector<bool> m_isSilenceModel;
    std::vector<std::vector<Place>> m_places; // by state
    std::vector<bool> m_isSilence;            // by state
};

} // namespace cntk
