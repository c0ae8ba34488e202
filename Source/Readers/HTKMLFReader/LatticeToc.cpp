// Parsing of lists of lattices.
#include "Readers/HTKMLFReader/LatticeToc.h"

#include "Common/DataFile.h"
#include "Common/Error.h"
#include "Common/Htk/ScpFile.h"
#include "Common/Log.h"
#include "Common/Text.h"

#include <algorithm>
#include <utility>

namespace cntk
{

class LatticeToc::Parser
{
public:
    Parser(LatticeToc& toc, const std::string& path, const std::string& prefix, const UtteranceKeys& keys)
        : m_toc(toc), m_prefix(prefix), m_keys(keys), m_lines(path, "list of lattices")
    {
        m_toc.m_lists.push_back(m_lines.Path());
    }

    size_t Parse(Log& log)
    {
        size_t entries = 0;
        std::string_view line;
        while (m_lines.Next(line))
        {
            line = Trim(line);
            if (line.empty())
                continue;
            ParseLine(line);
            ++entries;
        }
        if (entries == 0)
            Fail(ErrorKind::Data, "list of lattices '", m_lines.Path(), "' has no entries, expected lines ", c_form);
        if (m_ofSeveral > 0)
            log.Warn(Concat(m_firstOfSeveral,
                            m_ofSeveral > 1 ? Concat(" (and of ", m_ofSeveral - 1, " more)") : std::string(),
                            " is left out: utterances of several folders have that name; expected the name with its "
                            "folder, as in the script file"));
        return entries;
    }

private:
    static constexpr const char* c_form = "key=archive[offset] or key=file";
    static constexpr size_t c_mostTextShown = 60;

    template <class... Parts>
    [[noreturn]] void FailHere(const Parts&... parts) const
    {
        Fail(ErrorKind::Data, m_lines.Location(), ": ", parts...);
    }

    void ParseLine(std::string_view line)
    {
        const size_t equals = line.find('=');
        const std::string_view key = Trim(line.substr(0, equals));
        std::string_view path = equals == std::string_view::npos ? "" : Trim(line.substr(equals + 1));
        uint64_t offset = 0;
        if (!path.empty() && path.back() == ']')
            path = ParseOffset(path, offset);
        if (key.empty() || path.empty())
            FailHere("'", line.substr(0, c_mostTextShown), "' is no entry of an utterance and its lattice, expected ",
                     c_form);
        if (Entry* entry = FindEntry(key))
        {
            entry->offset = offset;
            entry->path = PathIndex(path);
            entry->list = uint32_t(m_toc.m_lists.size() - 1);
            entry->line = uint32_t(m_lines.LineNumber());
        }
    }

    std::string_view ParseOffset(std::string_view path, uint64_t& offset) const
    {
        const size_t bracket = path.rfind('[');
        const auto number = bracket == std::string_view::npos
                                ? std::nullopt
                                : ParseSize(Trim(path.substr(bracket + 1, path.size() - bracket - 2)));
        if (!number)
            FailHere("'", path,
                     "' does not end with an offset, expected [offset], a number of bytes from the beginning of the "
                     "archive");
        offset = *number;
        return Trim(path.substr(0, bracket));
    }

    // Returns the entry of the lattice with that name; null if no utterance has it. A whole key wins over a last
    // component.
    Entry* FindEntry(std::string_view text)
    {
        if (text.starts_with("*/") || text.starts_with("*\\"))
            text.remove_prefix(2);
        std::string whole(text);
        std::replace(whole.begin(), whole.end(), '\\', '/');
        const std::string key = KeyOfName(whole);
        // The text after the last dot may be part of the name.
        size_t utterance = m_keys.Find(whole);
        if (utterance == UtteranceKeys::c_none)
            utterance = m_keys.Find(key);
        const bool byWholeKey = utterance != UtteranceKeys::c_none;
        if (utterance == UtteranceKeys::c_none)
            utterance = m_keys.FindByName(LastComponent(whole));
        if (utterance == UtteranceKeys::c_none)
            utterance = m_keys.FindByName(LastComponent(key));
        if (utterance == UtteranceKeys::c_none)
        {
            if ((m_keys.IsOfSeveral(key) || m_keys.IsOfSeveral(whole)) && m_ofSeveral++ == 0)
                m_firstOfSeveral = Concat(m_lines.Location(), ": the lattice of '", text, "'");
            return nullptr;
        }
        Entry& entry = m_toc.m_entries[utterance];
        if (entry.line > 0 && entry.byWholeKey == byWholeKey)
            FailHere("the lattice of utterance '", key, "' is at ", m_toc.Location(utterance), " already");
        if (entry.line > 0 && entry.byWholeKey)
            return nullptr;
        entry.byWholeKey = byWholeKey;
        return &entry;
    }

    uint32_t PathIndex(std::string_view path)
    {
        // Consecutive lines mostly name the same archive.
        if (path == m_lastPath)
            return m_lastIndex;
        const auto [place, isNew] = m_indices.try_emplace(std::string(path), uint32_t(m_toc.m_paths.size()));
        if (isNew)
            m_toc.m_paths.push_back(PhysicalPath(path, m_prefix, m_lines.Path()));
        m_lastPath = path;
        m_lastIndex = place->second;
        return m_lastIndex;
    }

    LatticeToc& m_toc;
    const std::string& m_prefix;
    const UtteranceKeys& m_keys;
    LineReader m_lines;
    MapByText<uint32_t> m_indices; // of paths
    std::string m_lastPath;
    uint32_t m_lastIndex = 0;
    size_t m_ofSeveral = 0;       // entries without a folder that match several utterances,
    std::string m_firstOfSeveral; // and the first of them for a message
};

size_t LatticeToc::Read(const std::string& path, const std::string& prefix, const UtteranceKeys& keys, Log& log)
{
    return Parser(*this, path, prefix, keys).Parse(log);
}

std::string LatticeToc::Location(size_t utterance) const
{
    const Entry& entry = m_entries[utterance];
    return Concat(m_lists[entry.list], ":", entry.line);
}

void LatticeToc::Keep(const std::vector<size_t>& utterances)
{
    for (size_t i = 0; i < utterances.size(); ++i)
        m_entries[i] = m_entries[utterances[i]];
    m_entries.resize(utterances.size());
}

} // namespace cntk
