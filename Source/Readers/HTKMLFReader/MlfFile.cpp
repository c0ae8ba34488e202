// Parsing of label files.
#include "Readers/HTKMLFReader/MlfFile.h"

#include "Common/DataFile.h"
#include "Common/Error.h"
#include "Common/Htk/ScpFile.h"
#include "Common/Log.h"
#include "Common/Text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace cntk
{
namespace
{

constexpr std::string_view c_header = "#!MLF!#";
// Larger ends of segments are times in units of 100 ns, smaller ones are frames.
constexpr long long c_mostFrames = 50000;
constexpr double c_frameTime = 100000; // 10 ms

} // namespace

StateList StateList::FromFile(const std::string& path)
{
    StateList list;
    LineReader lines(path, "state list");
    list.m_path = lines.Path();
    std::string_view line;
    while (lines.Next(line))
        list.m_names.emplace_back(Trim(line));
    while (!list.m_names.empty() && list.m_names.back().empty())
        list.m_names.pop_back();
    for (uint32_t id = 0; id < list.m_names.size(); ++id)
    {
        if (list.m_names[id].empty())
            Fail(ErrorKind::Data, "state list '", list.m_path, "':", id + 1, ": the line is blank, expected a state");
        const auto [place, isNew] = list.m_ids.try_emplace(list.m_names[id], id);
        if (!isNew)
            Fail(ErrorKind::Data, "state list '", list.m_path, "':", id + 1, ": state '", list.m_names[id],
                 "' is already in line ", place->second + 1);
    }
    if (list.m_names.empty())
        Fail(ErrorKind::Data, "state list '", list.m_path, "' is empty");
    return list;
}

int64_t StateList::Find(std::string_view name) const
{
    const auto found = m_ids.find(name);
    return found == m_ids.end() ? -1 : int64_t(found->second);
}

size_t UtteranceKeys::Add(std::string_view key, size_t utterance)
{
    const auto [first, isNewKey] = m_byKey.try_emplace(std::string(key), utterance);
    if (!isNewKey)
        return first->second;
    const auto [place, isNew] = m_byName.try_emplace(std::string(LastComponent(key)), utterance);
    if (!isNew)
        place->second = c_none;
    return utterance;
}

size_t UtteranceKeys::Find(std::string_view key) const
{
    const auto found = m_byKey.find(key);
    return found == m_byKey.end() ? c_none : found->second;
}

size_t UtteranceKeys::FindByName(std::string_view name) const
{
    const auto found = m_byName.find(name);
    return found == m_byName.end() ? c_none : found->second;
}

bool UtteranceKeys::IsOfSeveral(std::string_view name) const
{
    const auto found = m_byName.find(name);
    return found != m_byName.end() && found->second == c_none;
}

class LabelTable::Parser
{
public:
    Parser(LabelTable& table, const std::string& path, const UtteranceKeys& keys, const StateList& states,
           size_t classes, Log& log)
        : m_table(table), m_keys(keys), m_states(states), m_classes(classes), m_lines(path, "label file"), m_log(log)
    {
    }

    size_t Parse()
    {
        std::string_view line;
        if (!NextLine(line))
            Fail(ErrorKind::Data, "label file '", m_lines.Path(), "' is empty, expected ", c_header,
                 " and labels of utterances");
        if (line != c_header)
            FailHere("header missing: expected ", c_header, ", found '", line.substr(0, c_mostTextShown), "'");
        size_t entries = 0;
        while (NextLine(line))
        {
            if (line == c_header)
                continue; // concatenated files have several headers
            if (line.size() < 3 || line.front() != '"' || line.back() != '"')
            {
                SkipEntry(line);
                continue;
            }
            ParseUtterance(line);
            ++entries;
        }
        if (m_skipped > c_mostWarnings)
            m_log.Warn(Concat(m_lines.Path(), ": ", m_skipped - c_mostWarnings, " more entries without a name in ",
                              "double quotes are skipped"));
        if (m_ofSeveral > 0)
            m_log.Warn(Concat(m_firstOfSeveral,
                              m_ofSeveral > 1 ? Concat(" (and of ", m_ofSeveral - 1, " more)") : std::string(),
                              " are left out: utterances of several folders have that name; expected the name with its "
                              "folder, as in the script file"));
        return entries;
    }

private:
    static constexpr size_t c_mostColumns = 5; // further columns are for lattices
    static constexpr size_t c_mostTextShown = 60;
    static constexpr size_t c_mostWarnings = 10;

    template <class... Parts>
    [[noreturn]] void FailHere(const Parts&... parts) const
    {
        const std::string utterance = m_key.empty() ? "" : "utterance '" + m_key + "': ";
        Fail(ErrorKind::Data, m_lines.Location(), ": ", utterance, parts...);
    }

    // Returns the next line that is not blank.
    bool NextLine(std::string_view& line)
    {
        while (m_lines.Next(line))
        {
            line = Trim(line);
            if (!line.empty())
                return true;
        }
        return false;
    }

    // Skips an entry without a quoted name, same as CNTK v1.1: a bad entry does not spoil the others.
    void SkipEntry(std::string_view line)
    {
        if (m_skipped++ < c_mostWarnings)
            m_log.Warn(Concat(m_lines.Location(), ": '", line.substr(0, c_mostTextShown),
                              "' is not the name of an utterance in double quotes; the entry is skipped"));
        for (bool isEnd = line == "."; !isEnd; isEnd = line == ".")
            if (!NextLine(line))
                FailHere("the file ends within the entry that is skipped, expected a line with '.'");
    }

    void ParseUtterance(std::string_view line)
    {
        m_key.clear();
        std::string_view name = line.substr(1, line.size() - 2);
        if (name.starts_with("*/") || name.starts_with("*\\"))
            name.remove_prefix(2);
        std::string key = KeyOfName(name);
        Entry* const entry = FindEntry(key);
        m_key = std::move(key);
        const size_t first = m_table.m_segments.size();
        while (NextLine(line))
        {
            if (line == ".")
            {
                if (entry != nullptr)
                {
                    if (m_table.m_segments.size() == first)
                        FailHere("the utterance has no labels");
                    entry->first = first;
                    entry->count = uint32_t(m_table.m_segments.size() - first);
                }
                m_key.clear();
                return;
            }
            if (entry != nullptr)
                ParseSegment(line, m_table.m_segments.size() == first ? 0 : m_table.m_segments.back().end);
        }
        FailHere("the file ends within the utterance, expected a line with '.'");
    }

    // Returns the entry for the labels of that name; null if no utterance has it. A whole key wins over a last
    // component.
    Entry* FindEntry(const std::string& key)
    {
        size_t utterance = m_keys.Find(key);
        const bool byWholeKey = utterance != UtteranceKeys::c_none;
        if (!byWholeKey)
            utterance = m_keys.FindByName(LastComponent(key));
        if (utterance == UtteranceKeys::c_none)
        {
            if (m_keys.IsOfSeveral(key) && m_ofSeveral++ == 0)
                m_firstOfSeveral = Concat(m_lines.Location(), ": the labels of '", key, "'");
            return nullptr;
        }
        Entry& entry = m_table.m_ranges[utterance];
        if (entry.count > 0 && entry.byWholeKey == byWholeKey)
        {
            m_key = key;
            FailHere("it already has labels");
        }
        if (entry.count > 0 && entry.byWholeKey)
            return nullptr;
        entry.byWholeKey = byWholeKey;
        return &entry;
    }

    void ParseSegment(std::string_view line, uint32_t begin)
    {
        std::array<std::string_view, c_mostColumns> columns;
        const size_t count = SplitColumns(line, columns);
        if (count < 3)
            FailHere("'", line, "' has ", Counted(count, "column"), ", expected start, end and state");
        const uint32_t start = ParseTime(line, columns[0], columns[1], 0);
        const uint32_t end = ParseTime(line, columns[0], columns[1], 1);
        if (start != begin)
            FailHere("the segment '", line, "' begins at frame ", start, ", but the previous segment ends at frame ",
                     begin);
        if (end < start)
            FailHere("the segment '", line, "' ends before it begins");
        const uint32_t classId = ParseClass(line, columns, count);
        if (end > start)
            m_table.m_segments.push_back({end, classId});
    }

    static size_t SplitColumns(std::string_view line, std::array<std::string_view, c_mostColumns>& columns)
    {
        size_t count = 0;
        for (size_t at = 0; count < columns.size();)
        {
            at = line.find_first_not_of(" \t", at);
            if (at == std::string_view::npos)
                break;
            const size_t end = std::min(line.find_first_of(" \t", at), line.size());
            columns[count++] = line.substr(at, end - at);
            at = end;
        }
        return count;
    }

    uint32_t ParseTime(std::string_view line, std::string_view startText, std::string_view endText, int which) const
    {
        const long long end = ParseNumber(line, endText);
        const long long time = which == 0 ? ParseNumber(line, startText) : end;
        if (end <= c_mostFrames)
            return uint32_t(time);
        return uint32_t(double(time) / c_frameTime + 0.5);
    }

    long long ParseNumber(std::string_view line, std::string_view text) const
    {
        long long number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || end != text.data() + text.size() || number < 0 ||
            double(number) / c_frameTime > double(UINT32_MAX))
            FailHere("'", text, "' in '", line, "' is not a time, expected a whole number of frames or of 100 ns");
        return number;
    }

    uint32_t ParseClass(std::string_view line, const std::array<std::string_view, c_mostColumns>& columns,
                        size_t count) const
    {
        size_t classId = 0;
        if (m_states.IsEmpty())
        {
            const auto number = count == 4 ? ParseSize(columns[3]) : std::nullopt;
            if (!number)
                FailHere("'", line, "': without labelMappingFile the fourth and last column must be the class id");
            classId = *number;
        }
        else
        {
            const int64_t found = m_states.Find(columns[2]);
            if (found < 0)
                FailHere("state '", columns[2], "' not found in statelist '", m_states.Path(), "', which has ",
                         m_states.Size(), " states", DidYouMean(columns[2], m_states.Names()));
            classId = size_t(found);
        }
        if (classId >= m_classes)
            FailHere("the class id of state '", columns[2], "' is ", classId,
                     ", expected less than labelDim=", m_classes);
        return uint32_t(classId);
    }

    LabelTable& m_table;
    const UtteranceKeys& m_keys;
    const StateList& m_states;
    size_t m_classes;
    LineReader m_lines;
    std::string m_key; // of the current utterance
    Log& m_log;
    size_t m_skipped = 0;         // entries without a name
    size_t m_ofSeveral = 0;       // entries without a folder that match several utterances,
    std::string m_firstOfSeveral; // and the first of them for a message
};

size_t LabelTable::ReadMlf(const std::string& path, const UtteranceKeys& keys, const StateList& states, size_t classes,
                           Log& log)
{
    return Parser(*this, path, keys, states, classes, log).Parse();
}

uint32_t LabelTable::Frames(size_t utterance) const
{
    const Entry& entry = m_ranges[utterance];
    return entry.count == 0 ? 0 : m_segments[entry.first + entry.count - 1].end;
}

void LabelTable::Expand(size_t utterance, uint32_t* classIds) const
{
    const Entry& entry = m_ranges[utterance];
    uint32_t begin = 0;
    for (size_t i = entry.first; i < entry.first + entry.count; ++i)
    {
        std::fill(classIds + begin, classIds + m_segments[i].end, m_segments[i].classId);
        begin = m_segments[i].end;
    }
}

void LabelTable::Keep(const std::vector<size_t>& utterances)
{
    for (size_t i = 0; i < utterances.size(); ++i)
        m_ranges[i] = m_ranges[utterances[i]];
    m_ranges.resize(utterances.size());
}

} // namespace cntk
