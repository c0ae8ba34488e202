// The hash table of label maps, and messages with the nearest labels.
#include "Readers/ReaderLib/LabelMap.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/LabelLine.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{
namespace
{

constexpr size_t c_firstSlots = 64;

// FNV-1a, which is fast for short texts.
uint64_t Hash(std::string_view text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : text)
        hash = (hash ^ uint8_t(c)) * 0x100000001b3u;
    return hash ^ (hash >> 32);
}

} // namespace

LabelMap LabelMap::FromFile(const std::string& path)
{
    const std::string text = ReadTextFile(path);
    RequirePlainText(text, Concat("label map '", path, "'"));
    RequireNoZeroBytes(text, Concat("label map '", path, "'"));
    RequireNewlines(text, Concat("label map '", path, "'"));
    return FromText(text, path);
}

LabelMap LabelMap::FromText(std::string_view text, std::string source)
{
    LabelMap map;
    map.m_source = std::move(source);
    std::vector<size_t> lines; // by id, for the message
    size_t lineNumber = 0;
    for (const std::string_view rawLine : Split(text, '\n'))
    {
        ++lineNumber;
        std::vector<std::string> labels = LabelsOfLine(rawLine);
        for (std::string& label : labels)
        {
            if (const int32_t id = map.Find(label); id != c_unknown)
                Fail(ErrorKind::Data, map.m_source, ":", lineNumber, ": label '", label, "' is in line ",
                     lines[size_t(id)], " already; a label map must not repeat a label, since one of its classes (", id,
                     " and ", map.Size(), ") could never occur");
            map.Add(std::move(label));
            lines.push_back(lineNumber);
        }
    }
    return map;
}

LabelMap LabelMap::FromNames(const std::vector<std::string>& names, std::string source)
{
    LabelMap map;
    map.m_source = std::move(source);
    for (const std::string& name : names)
        map.Add(name);
    return map;
}

size_t LabelMap::SlotOf(std::string_view label) const
{
    const size_t mask = m_slots.size() - 1;
    size_t slot = Hash(label) & mask;
    while (m_slots[slot] != c_unknown && m_names[size_t(m_slots[slot])] != label)
        slot = (slot + 1) & mask;
    return slot;
}

void LabelMap::Grow()
{
    m_slots.assign(std::max(c_firstSlots, 2 * m_slots.size()), c_unknown);
    for (size_t id = 0; id < m_names.size(); ++id)
        m_slots[SlotOf(m_names[id])] = int32_t(id);
}

void LabelMap::Add(std::string label)
{
    if (2 * (m_names.size() + 1) > m_slots.size())
        Grow();
    const size_t slot = SlotOf(label);
    m_slots[slot] = int32_t(m_names.size());
    if (label.size() == 1)
        m_oneByte[uint8_t(label[0])] = int32_t(m_names.size());
    m_names.push_back(std::move(label));
}

int32_t LabelMap::FindLonger(std::string_view label) const
{
    return m_slots.empty() ? c_unknown : m_slots[SlotOf(label)];
}

int32_t LabelMap::FindOrAdd(std::string_view label)
{
    const int32_t id = Find(label);
    if (id != c_unknown)
        return id;
    Add(std::string(label));
    return int32_t(m_names.size()) - 1;
}

void LabelMap::Save(const std::string& path) const
{
    AtomicFile file(path);
    for (const std::string& name : m_names)
    {
        const auto line = LineOfLabel(name);
        if (!line)
            Fail(ErrorKind::Data, "label '", name, "' cannot be written into label map '", path,
                 "': its characters would be read as others; expected no quotes and braces beside '#', ',', ':' or "
                 "'*'");
        file.Write(*line + "\n");
    }
    file.Commit();
}

std::string LabelMap::UnknownLabelMessage(std::string_view label) const
{
    return Concat("label '", label, "' is not in label map '", m_source, "', which has ", m_names.size(), " label",
                  m_names.size() == 1 ? "" : "s", DidYouMean(label, m_names));
}

} // namespace cntk
