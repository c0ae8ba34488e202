// Label files of HTK (MLF): for each utterance its segments of states. Keeps only the segments of utterances that the
// reader reads, so that the labels of a large corpus take little memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cntk
{

class Log;

// Allows look-ups by string_view, without a temporary string.
struct TextHash
{
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <class Value>
using MapByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

// The names of states, one a line; the line number from 0 is the class id.
class StateList
{
public:
    StateList() = default;
    static StateList FromFile(const std::string& path);

    // True without a file: labels are then numbers in the fourth column.
    bool IsEmpty() const { return m_names.empty(); }
    size_t Size() const { return m_names.size(); }
    const std::vector<std::string>& Names() const { return m_names; }
    const std::string& Path() const { return m_path; }
    int64_t Find(std::string_view name) const; // -1: not found

private:
    std::string m_path;
    std::vector<std::string> m_names;
    MapByText<uint32_t> m_ids;
};

// Frames up to `end` (exclusive) have that class; a segment begins where the previous one ends.
struct LabelSegment
{
    uint32_t end;
    uint32_t classId;
};

// The keys of the utterances that the reader reads, in the order of the script file.
class UtteranceKeys
{
public:
    static constexpr size_t c_none = SIZE_MAX;

    // Returns the first utterance with that key, which is the one that Find returns.
    size_t Add(std::string_view key, size_t utterance);
    // Finds an utterance by its whole key.
    size_t Find(std::string_view key) const;
    // Finds an utterance by the last component of its path, if only one utterance has it.
    size_t FindByName(std::string_view name) const;
    // True if utterances of several folders have that last component.
    bool IsOfSeveral(std::string_view name) const;

private:
    MapByText<size_t> m_byKey;
    MapByText<size_t> m_byName;
};

// The labels of all utterances of one label stream.
class LabelTable
{
public:
    explicit LabelTable(size_t utterances) : m_ranges(utterances) {}

    // Reads the segments of the utterances in `keys`. classes: labelDim. Returns the number of entries in the file.
    // Warns of entries without a quoted name and skips them. Fails (Data) with file, line and utterance.
    size_t ReadMlf(const std::string& path, const UtteranceKeys& keys, const StateList& states, size_t classes,
                   Log& log);

    bool Has(size_t utterance) const { return m_ranges[utterance].count > 0; }
    uint32_t Frames(size_t utterance) const;
    // Gives `utterance` the labels of `other`.
    void Share(size_t utterance, size_t other) { m_ranges[utterance] = m_ranges[other]; }
    // Writes the class of each frame.
    void Expand(size_t utterance, uint32_t* classIds) const;
    // Keeps only these utterances: utterance i becomes utterances[i].
    void Keep(const std::vector<size_t>& utterances);

private:
    struct Entry
    {
        size_t first = 0; // in m_segments
        uint32_t count = 0;
        bool byWholeKey = false;
    };
    class Parser;

    std::vector<LabelSegment> m_segments;
    std::vector<Entry> m_ranges; // by utterance
};

} // namespace cntk
