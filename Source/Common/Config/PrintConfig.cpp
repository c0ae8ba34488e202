// Prints blocks that are no config (NDL sections) as the user wrote them.
#include "Common/Config/PrintConfig.h"

#include "Common/Config/ConfigTree.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <cctype>

namespace cntk
{

namespace
{

std::string Origin(const ConfigEntry& entry)
{
    const SourcePos where = entry.key.Where();
    if (entry.isSet || !where)
        return "the program";
    const std::string& name = where.text->Name();
    return name == "command line" ? name : name + ':' + std::to_string(where.text->LineOf(where.offset));
}

// Returns the text with variables inserted, or the text as the user wrote it if it cannot be resolved.
std::string BestText(const ConfigParameters& holder, const ConfigEntry& entry)
{
    try
    {
        return ConfigTree::ResolvedText(holder, entry);
    }
    catch (const Error&)
    {
        return entry.RawText();
    }
}

bool NeedsQuotes(const ConfigEntry& entry, const std::string& text)
{
    if (entry.isQuoted || text.empty())
        return true;
    const bool isBraced = text[0] == '(' || text[0] == '[' || text[0] == '{';
    return !isBraced && (text.find_first_of(";,") != std::string::npos || text.find(" #") != std::string::npos) &&
           text.find('"') == std::string::npos;
}

// True for "M(a,b)" and "name=Function(...)", which are statements of NDL.
bool IsCall(const ConfigEntry& entry)
{
    const std::string raw = entry.RawText();
    const size_t open = raw.find('(');
    if (entry.isQuoted || open == std::string::npos)
        return false;
    if (open == 0)
        return !entry.hasEquals;
    return raw.ends_with(')') && std::all_of(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(open),
                                             [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

class Printer
{
public:
    std::string Print(const ConfigParameters& root)
    {
        PrintEntries(root, 0);
        std::string text;
        for (const auto& [line, origin] : m_lines)
        {
            text += line;
            if (!origin.empty())
            {
                const size_t lastBreak = line.rfind('\n');
                const size_t width = line.size() - (lastBreak == std::string::npos ? 0 : lastBreak + 1);
                text.append(width < c_commentColumn ? c_commentColumn - width : 1, ' ');
                text += "# " + origin;
            }
            text += '\n';
        }
        return text;
    }

private:
    static constexpr size_t c_commentColumn = 60;

    // Returns the block of the entry, or null if its text is in another language.
    static const ConfigParameters* ConfigBlock(const ConfigParameters& holder, ConfigEntry& entry)
    {
        try
        {
            const ConfigParameters* const block = ConfigTree::BlockOf(holder, entry);
            if (!block)
                return nullptr;
            for (const auto& inner : ConfigTree::Entries(*block).entries)
            {
                if (IsCall(*inner))
                    return nullptr;
            }
            return block;
        }
        catch (const Error&)
        {
            return nullptr;
        }
    }

    void PrintEntries(const ConfigParameters& block, size_t depth)
    {
        const std::string indent(4 * depth, ' ');
        for (const auto& entry : ConfigTree::Entries(block).entries)
        {
            const ConfigParameters* const inner = ConfigBlock(block, *entry);
            if (inner)
            {
                m_lines.emplace_back(indent + entry->name + "=[", Origin(*entry));
                PrintEntries(*inner, depth + 1);
                m_lines.emplace_back(indent + ']', "");
                continue;
            }
            const std::string text = BestText(block, *entry);
            const std::string quote = NeedsQuotes(*entry, text) ? "\"" : "";
            m_lines.emplace_back(indent + entry->name + '=' + quote + text + quote, Origin(*entry));
        }
    }

    std::vector<std::pair<std::string, std::string>> m_lines; // each with the origin shown after it
};

std::string WithoutBlankLines(std::string_view text)
{
    std::string result;
    for (const std::string_view line : Split(text, '\n'))
    {
        const size_t last = line.find_last_not_of(" \t\r");
        if (last != std::string_view::npos)
            result.append(line.substr(0, last + 1)).append("\n");
    }
    return result;
}

// Returns the innermost block that contains this offset of the main text.
const ConfigParameters& ScopeAt(const ConfigParameters& block, const ConfigText& text, size_t offset)
{
    for (const auto& entry : ConfigTree::Entries(block).entries)
    {
        if (!entry->isBlock)
            continue;
        for (const ConfigPiece& piece : entry->values)
        {
            if (piece.text != &text || offset < piece.begin || offset >= piece.end)
                continue;
            try
            {
                return ScopeAt(*ConfigTree::BlockOf(block, *entry), text, offset);
            }
            catch (const Error&)
            {
                return block;
            }
        }
    }
    return block;
}

} // namespace

std::string PrintConfig(const ConfigParameters& root)
{
    return Printer().Print(root);
}

std::string RawConfigText(const ConfigParameters& root)
{
    return WithoutBlankLines(ConfigTree::MainText(root).Text());
}

std::string ResolvedConfigText(const ConfigParameters& root)
{
    const ConfigText& main = ConfigTree::MainText(root);
    const std::string_view text = main.Text();
    std::string resolved;
    size_t done = 0;
    for (auto variable = NextVariable(text, 0); variable; variable = NextVariable(text, variable->end))
    {
        resolved += text.substr(done, variable->begin - done);
        const std::string_view reference = text.substr(variable->begin, variable->end - variable->begin);
        try
        {
            const bool isAtRoot = ConfigTree::HasVariable(root, variable->name);
            const ConfigParameters& scope = isAtRoot ? root : ScopeAt(root, main, variable->begin);
            resolved += scope.ResolveVariables(reference, main.At(variable->begin, reference.size()));
        }
        catch (const Error&)
        {
            resolved += reference;
        }
        done = variable->end;
    }
    return WithoutBlankLines(resolved += text.substr(done));
}

std::string ProcessedConfigText(const ConfigParameters& root)
{
    std::vector<const ConfigEntry*> entries;
    for (const auto& entry : ConfigTree::Entries(root).entries)
        entries.push_back(entry.get());
    std::sort(entries.begin(), entries.end(),
              [](const ConfigEntry* a, const ConfigEntry* b) { return LessIgnoreCase(a->name, b->name); });
    std::string result;
    for (const ConfigEntry* const entry : entries)
        result += "configparameters: " + root.Name() + ':' + entry->name + '=' + BestText(root, *entry) + '\n';
    return result;
}

} // namespace cntk
