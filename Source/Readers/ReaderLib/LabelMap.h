// The texts of category labels and their class ids (book 3.4.1). A mapping file has one label a line; its id is the
// line number from 0. A look-up costs one hash and one comparison and allocates nothing.
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

    // Reads a mapping file. '#' starts a comment, commas and colons also separate labels, and quotes protect any text.
    // Fails (Data) if a label occurs more than once, by itself or as x*3.
    static LabelMap FromFile(const std::string& path);
    static LabelMap FromText(std::string_view text, std::string source);
    // Takes distinct names.
    static LabelMap FromNames(const std::vector<std::string>& names, std::string source);

    // Returns the id of the label, or c_unknown.
    int32_t Find(std::string_view label) const
    {
        return label.size() == 1 ? m_oneByte[uint8_t(label[0])] : FindLonger(label);
    }
    // Returns the id of the label; adds a new label.
    int32_t FindOrAdd(std::string_view label);

    size_t Size() const { return m_names.size(); }
    const std::vector<std::string>& Names() const { return m_names; }
    // The mapping file; for messages.
    const std::string& Source() const { return m_source; }

    // Writes one label a line, and quotes or braces a label that would be read as something else. Fails (Data) if
    // neither makes it readable.
    void Save(const std::string& path) const;

    // Returns "label 'mabye' is not in label map 'map.txt', which has 3 labels; did you mean 'maybe'?"
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
    size_t SlotOf(std::string_view label) const; // returns the slot of the label, or the free slot for it
    void Grow();

    std::vector<std::string> m_names;
    std::string m_source;
    std::array<int32_t, 256> m_oneByte = NoLabels();
    std::vector<int32_t> m_slots; // open addressing, size a power of two; c_unknown marks a free slot
};

} // namespace cntk
