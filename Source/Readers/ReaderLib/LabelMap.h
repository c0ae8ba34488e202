// The texts of a category label and their class ids (book 3.4.1). The mapping file holds one label a line, id = line
// number from 0.
// Looking a label up costs one hash and one comparison and allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class LabelMap
{
public:
    static constexpr int32_t c_unknown = -1;

    // Reads a mapping file. '#' starts a comment; commas and colons separate labels too; quotes make a label of
    // anything. Fails (Data) where a label occurs more than once, by itself or as x*3.
    static LabelMap FromFile(const std::string& path);
    static LabelMap FromText(std::string_view text, std::string source);

    // Id of the label, c_unknown if there is none.
    int32_t Find(std::string_view label) const
    {
        return label.size() == 1 ? m_oneByte[uint8_t(label[0])] : FindLonger(label);
    }
    // Id of the label, which is added if it is new.
    int32_t FindOrAdd(std::string_view label);

    size_t Size() const { return m_names.size(); }
    const std::vector<std::string>& Names() const { return m_names; }
    // The mapping file; for messages.
    const std::string& Source() const { return m_source; }

    // Writes one label a line, in quotes or braces where it would be read as something else. Fails (Data) for a label
    // that neither makes readable.
    void Save(const std::string& path) const;

    // "label 'mabye' is not in label map 'map.txt', which has 3 labels; did you mean 'maybe'?"
    std::string UnknownLabelMessage(std::string_view label) const;

private:
    void Add(std::string label);
    int32_t FindLonger(std::string_view label) const;
    static std::array<int32_t, 256> NoLabels()
    {
        std::array<int32_t, 256> ids;
        ids.fill(c_unknown);
        return ids;
    }
    size_t SlotOf(std::string_view label) const; // its slot or the free one where it belongs
    void Grow();

    std::vector<std::string> m_names;
    std::string m_source;
    std::array<int32_t, 256> m_oneByte = NoLabels();
    std::vector<int32_t> m_slots; // open addressing, a power of two; c_unknown is free
};

} // namespace cntk
