// Parsing of script files.
#include "Common/Htk/ScpFile.h"

#include "Common/DataFile.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace cntk
{
namespace
{

// Returns the folder of a path, or "." if it has none, so that the result does not become absolute.
std::string FolderOf(const std::string& path)
{
    const size_t slash = path.find_last_of("/\\");
    if (slash == std::string::npos)
        return ".";
    return path.substr(0, slash);
}

std::string CleanPrefix(std::string prefix)
{
    std::replace(prefix.begin(), prefix.end(), '\\', '/');
    while (prefix.size() > 1 && prefix.back() == '/')
        prefix.pop_back();
    return prefix;
}

class ScpParser
{
public:
    ScpParser(const std::string& path, const std::string& prefix) : m_lines(path, "script file"), m_prefix(prefix) {}

    ScpFile Parse()
    {
        m_scp.path = m_lines.Path();
        size_t blankLine = 0;
        std::string_view line;
        while (m_lines.Next(line))
        {
            line = Trim(line);
            if (line.empty())
            {
                blankLine = blankLine == 0 ? m_lines.LineNumber() : blankLine;
                continue;
            }
            if (blankLine != 0)
                Fail(ErrorKind::Data, m_scp.path, ":", blankLine, ": the line is blank, expected a feature file");
            ParseLine(line);
        }
        if (m_scp.entries.empty())
            Fail(ErrorKind::Data, "script file '", m_scp.path, "' has no entries");
        return std::move(m_scp);
    }

private:
    template <class... Parts>
    [[noreturn]] void FailHere(const Parts&... parts) const
    {
        Fail(ErrorKind::Data, m_lines.Location(), ": ", parts...);
    }

    void ParseLine(std::string_view line)
    {
        ScpEntry entry{};
        std::string_view logical;
        std::string_view path = line;
        if (const size_t equals = line.find('='); equals != std::string_view::npos)
        {
            logical = Trim(line.substr(0, equals));
            path = Trim(line.substr(equals + 1));
            if (logical.empty())
                FailHere("'", line, "' has no name before '='");
        }
        if (!path.empty() && path.back() == ']')
            path = ParseRange(line, path, entry);
        if (path.empty())
            FailHere("'", line, "' names no file, expected name=file[first,last], name=file or file");
        entry.key = KeyOfName(logical.empty() ? path : logical);
        entry.path = PathIndex(path);
        m_scp.entries.push_back(std::move(entry));
    }

    std::string_view ParseRange(std::string_view line, std::string_view path, ScpEntry& entry)
    {
        const size_t bracket = path.rfind('[');
        if (bracket == std::string_view::npos)
            FailHere("'", line, "' has ']' but no '[', expected name=file[first,last]");
        const std::string_view range = path.substr(bracket + 1, path.size() - bracket - 2);
        const std::vector<std::string_view> parts = Split(range, ',');
        const auto first = parts.size() == 2 ? ParseSize(Trim(parts[0])) : std::nullopt;
        const auto last = parts.size() == 2 ? ParseSize(Trim(parts[1])) : std::nullopt;
        if (!first || !last || *last >= UINT32_MAX)
            FailHere("'[", range, "]' is not a range of frames, expected [first,last] with whole numbers from 0");
        if (*last < *first)
            FailHere("the range of frames [", range, "] ends before it begins");
        entry.hasRange = true;
        entry.first = uint32_t(*first);
        entry.last = uint32_t(*last);
        return Trim(path.substr(0, bracket));
    }

    uint32_t PathIndex(std::string_view path)
    {
        // Consecutive lines mostly name the same archive.
        if (path == m_lastPath)
            return m_lastIndex;
        const auto [place, isNew] = m_indices.try_emplace(std::string(path), uint32_t(m_scp.paths.size()));
        if (isNew)
            m_scp.paths.push_back(PhysicalPath(path, m_prefix, m_lines.Path()));
        m_lastPath = path;
        m_lastIndex = place->second;
        return m_lastIndex;
    }

    LineReader m_lines;
    const std::string& m_prefix;
    ScpFile m_scp;
    std::unordered_map<std::string, uint32_t> m_indices;
    std::string m_lastPath;
    uint32_t m_lastIndex = 0;
};

} // namespace

ScpFile ReadScpFile(const std::string& path, const std::string& prefix)
{
    return ScpParser(path, prefix).Parse();
}

std::string KeyOfName(std::string_view logicalName)
{
    std::string key(logicalName);
    std::replace(key.begin(), key.end(), '\\', '/');
    const size_t dot = key.rfind('.');
    const size_t slash = key.rfind('/');
    if (dot != std::string::npos && (slash == std::string::npos || dot > slash))
        key.resize(dot);
    return key;
}

std::string PhysicalPath(std::string_view path, const std::string& prefix, const std::string& list)
{
    std::string physical(path);
    if (!prefix.empty())
        return CleanPrefix(prefix) + "/" + physical;
    if (const size_t dots = physical.find("..."); dots != std::string::npos)
        physical.replace(dots, 3, FolderOf(list));
    return physical;
}

std::string_view LastComponent(std::string_view key)
{
    const size_t slash = key.rfind('/');
    return slash == std::string_view::npos ? key : key.substr(slash + 1);
}

} // namespace cntk
