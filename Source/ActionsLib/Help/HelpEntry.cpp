#include "ActionsLib/Help/HelpEntry.h"

#include "Common/Text.h"
#include "Common/WrappedText.h"

#include <algorithm>

namespace cntk
{

std::string TerminalRow(const std::string& name, std::string_view doc)
{
    constexpr size_t c_docColumn = 28;
    std::string line = "  " + name;
    if (line.size() + 2 > c_docColumn)
        line += "\n" + std::string(c_docColumn, ' ');
    else
        line.resize(c_docColumn, ' ');
    return line + Wrapped(doc, c_docColumn, c_docColumn) + "\n";
}

std::string DocOf(const HelpRow& row)
{
    std::vector<std::string> notes;
    for (const std::string& note : {row.type, row.range})
        if (!note.empty())
            notes.push_back(note);
    std::string text = Join(notes, ", ");
    notes.clear();
    if (!text.empty())
        notes.push_back(text);
    if (row.isRequired)
        notes.emplace_back("must be given");
    else if (!row.defaultText.empty())
        notes.push_back("default " + (Trim(row.defaultText).empty() ? "'" + row.defaultText + "'" : row.defaultText));
    if (!row.aliases.empty())
        notes.push_back("also " + Join(row.aliases, ", "));
    return notes.empty() ? row.doc : row.doc + " (" + Join(notes, "; ") + ")";
}

std::string ForTerminal(const HelpEntry& entry)
{
    std::string text;
    for (const std::string& call : entry.calls)
        text += Wrapped(call, 4, 0) + "\n";
    text += "\n" + Wrapped(entry.doc, 0, 0) + "\n";
    for (const HelpFact& fact : entry.facts)
    {
        const size_t indent = fact.label.size() + 2;
        if (fact.kind != HelpFact::Kind::Example)
            text += fact.label + ": " + Wrapped(Join(fact.values, ", "), indent, indent) + "\n";
        else
            for (const std::string& value : fact.values)
                text += (&value == fact.values.data() ? fact.label + ": " : std::string(indent, ' ')) + value + "\n";
    }
    if (!entry.rows.empty())
        text += "\n" + entry.rowsTitle + ":\n";
    for (const HelpRow& row : entry.rows)
        text += TerminalRow(row.name, DocOf(row));
    return text;
}

std::string ForPage(const HelpEntry& entry)
{
    std::string text = "## " + entry.heading + "\n\n", sentences = entry.doc, examples;
    if (!entry.calls.empty())
        text += "`" + Join(entry.calls, "`, `") + "`\n\n";
    for (const HelpFact& fact : entry.facts)
    {
        std::vector<std::string> values = fact.values;
        for (std::string& value : values)
            if (fact.kind == HelpFact::Kind::Link)
                value = LinkTo(value, value);
            else if (fact.kind == HelpFact::Kind::Example)
                value = Code(value);
        const std::string line = fact.label + ": " + Join(values, ", ");
        if (fact.kind == HelpFact::Kind::Example)
            examples += line + "\n\n";
        else if (fact.kind != HelpFact::Kind::Terminal)
            sentences += " " + line + ".";
    }
    text += sentences + "\n\n" + examples;
    if (entry.rows.empty())
        return text;
    std::vector<std::vector<std::string>> table;
    for (const HelpRow& row : entry.rows)
    {
        std::string name = Code(row.name);
        for (const std::string& alias : row.aliases)
            name += ", " + Code(alias);
        table.push_back({name, Cell(row.type), row.isRequired ? "must be given" : Code(row.defaultText),
                         Cell(row.range.empty() ? row.doc : row.doc + " (" + row.range + ")")});
    }
    return text + PageTable({"parameter", "type", "default", "meaning"}, table);
}

std::string PageTable(const std::vector<std::string>& headers, const std::vector<std::vector<std::string>>& rows)
{
    // Columns without any text are left out.
    std::vector<size_t> columns;
    for (size_t i = 0; i < headers.size(); ++i)
        if (std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return !row[i].empty(); }))
            columns.push_back(i);
    std::string head = "|", rule = "|", body;
    for (const size_t i : columns)
    {
        head += " " + headers[i] + " |";
        rule += "---|";
    }
    for (const std::vector<std::string>& row : rows)
    {
        body += "|";
        for (const size_t i : columns)
            body += " " + row[i] + " |";
        body += "\n";
    }
    return head + "\n" + rule + "\n" + body + "\n";
}

std::string Cell(std::string text)
{
    for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
        text.replace(at, 1, "\\|");
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

std::string Code(const std::string& text)
{
    return text.empty() ? "" : "`" + Cell(text) + "`";
}

std::string LinkTo(const std::string& name, const std::string& heading)
{
    std::string anchor = ToLower(heading);
    std::replace(anchor.begin(), anchor.end(), ' ', '-');
    return "[" + name + "](#" + anchor + ")";
}

std::string BeginPage(const std::string& title)
{
    return "# " + title +
           "\n\n<!-- Made by `cntk --write-docs Documentation` from the program's own tables; edit those. -->\n\n";
}

} // namespace cntk
