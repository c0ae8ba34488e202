// Finds the borders of statements. The NDL parser reads the NDL between them.
#include "ActionsLib/Mel/MelParser.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{
namespace
{

class MelParser
{
public:
    MelParser(ScriptText text, const std::function<bool(std::string_view)>& isModelCommand)
        : m_isModelCommand(isModelCommand), m_text(std::move(text)), m_chars(m_text.Text())
    {
    }

    MelScript ParseAll()
    {
        MelScript script{m_text, {}, {}};
        ParseRange(script, 0, m_chars.size(), true);
        if (m_edit.empty())
        {
            if (!m_sections.empty() && m_load.empty())
                FailAt(m_sections[0].where, ErrorKind::Config, "the file has sections, but no 'edit=' that names one");
            for (const MelArgument& name : m_load)
                script.macroSections.push_back(RequireSection(name, "load"));
            return script;
        }
        for (const MelArgument& name : m_load)
            script.macroSections.push_back(RequireSection(name, "load"));
        script.statements.clear();
        for (const MelArgument& name : m_edit)
        {
            const MelSection section = RequireSection(name, "edit");
            ParseRange(script, section.begin, section.end, false);
        }
        return script;
    }

private:
    bool AtEnd() const { return m_at >= m_end; }
    char Char() const { return m_chars[m_at]; }
    SourcePos Pos(size_t begin, size_t end) const { return m_text.At(begin, end); }

    bool AtComment() const
    {
        return Char() == '#' && (m_at == 0 || IsBlank(m_chars[m_at - 1]) || m_chars[m_at - 1] == '\n');
    }
    void SkipBlanks()
    {
        while (!AtEnd())
        {
            if (AtComment())
                m_at = std::min(m_chars.find('\n', m_at), m_end);
            else if (IsBlank(Char()))
                ++m_at;
            else
                return;
        }
    }
    void Skip(std::string_view separators)
    {
        for (SkipBlanks(); !AtEnd() && separators.find(Char()) != std::string_view::npos; SkipBlanks())
            ++m_at;
    }

    std::string DescribeHere() const
    {
        if (AtEnd())
            return "the end of the text";
        return Char() == '\n' ? "the end of the line" : Concat("'", Char(), "'");
    }

    std::string_view ParseName()
    {
        constexpr std::string_view delimiters = " \t\r\n,;()[]{}=\"";
        const size_t begin = m_at;
        while (!AtEnd() && delimiters.find(Char()) == std::string_view::npos)
            ++m_at;
        if (m_at == begin)
            FailAt(Pos(begin, begin + 1), ErrorKind::Config, "a command or a name expected, found ", DescribeHere());
        return m_chars.substr(begin, m_at - begin);
    }

    // Moves from an opening bracket to the character after its closing bracket. Skips quotes and comments.
    void SkipBracketed()
    {
        const size_t open = m_at;
        std::vector<size_t> opened;
        do
        {
            SkipBlanks();
            if (AtEnd())
                FailUnclosed(opened.empty() ? open : opened.back());
            const char c = Char();
            if (c == '"')
            {
                const size_t close = m_chars.find('"', m_at + 1);
                if (close == std::string_view::npos || close >= m_end)
                    FailAt(Pos(m_at, m_at + 1), ErrorKind::Config, "the quote opened here is not closed");
                m_at = close;
            }
            else if (c == '(' || c == '[' || c == '{')
            {
                opened.push_back(m_at);
            }
            else if (c == ')' || c == ']' || c == '}')
            {
                const char expected = m_chars[opened.back()] == '(' ? ')' : m_chars[opened.back()] == '[' ? ']' : '}';
                if (c != expected)
                    FailAt(Pos(m_at, m_at + 1), ErrorKind::Config, "'", expected, "' expected, which closes ",
                           Pos(opened.back(), opened.back() + 1).Location(), ", found '", c, "'");
                opened.pop_back();
            }
            ++m_at;
        } while (!opened.empty());
    }

    [[noreturn]] void FailUnclosed(size_t open) const
    {
        FailAt(Pos(open, open + 1), ErrorKind::Config, "the '", m_chars[open], "' opened here is not closed");
    }

    void ParseRange(MelScript& script, size_t begin, size_t end, bool mayHaveSections)
    {
        m_at = begin;
        m_end = end;
        for (Skip("\n,;"); !AtEnd(); Skip("\n,;"))
        {
            ParseStatement(script, mayHaveSections);
            SkipBlanks();
            if (!AtEnd() && Char() != '\n' && Char() != ';' && Char() != ',')
                FailAt(Pos(m_at, m_at + 1), ErrorKind::Config, "the end of the statement expected, found ",
                       DescribeHere());
        }
        m_end = m_chars.size();
    }

    void ParseStatement(MelScript& script, bool mayHaveSections)
    {
        const size_t begin = m_at;
        const std::string_view name = ParseName();
        const size_t nameEnd = m_at;
        SkipBlanks();
        if (!AtEnd() && Char() == '(')
        {
            ParseCommand(script, name, begin, "");
            return;
        }
        if (!AtEnd() && Char() == '[' && mayHaveSections)
            return ParseSection(name, begin);
        if (AtEnd() || Char() != '=')
            FailAt(Pos(begin, nameEnd), ErrorKind::Config, "'(' or '=' expected after '", name, "', found ",
                   DescribeHere());
        ++m_at;
        SkipBlanks();
        if (AtEnd() || Char() == '\n' || Char() == ';' || Char() == ',')
            FailAt(Pos(begin, nameEnd), ErrorKind::Config, "no value given for '", name, "'");
        if (Char() == '[')
            return ParseSnippet(script, name, begin, nameEnd);
        if (mayHaveSections && (EqualsIgnoreCase(name, "load") || EqualsIgnoreCase(name, "edit")))
            return ParseSectionNames(EqualsIgnoreCase(name, "load") ? m_load : m_edit);
        const size_t valueBegin = m_at;
        std::string function;
        if (Char() != '"' && Char() != '(' && Char() != '{')
        {
            const std::string_view word = ParseName();
            const size_t afterWord = m_at;
            SkipBlanks();
            if (!AtEnd() && Char() == '(')
            {
                if (m_isModelCommand(word))
                    return ParseCommand(script, word, valueBegin, name);
                function = std::string(word);
            }
            m_at = afterWord;
        }
        FindEndOfNdl();
        MelStatement statement;
        statement.kind = MelStatement::Kind::Ndl;
        statement.name = std::move(function);
        statement.where = Pos(begin, nameEnd);
        statement.begin = begin;
        statement.end = m_at;
        script.statements.push_back(std::move(statement));
    }

    void FindEndOfNdl()
    {
        for (SkipBlanks(); !AtEnd() && Char() != '\n' && Char() != ';' && Char() != ','; SkipBlanks())
        {
            if (Char() == '(' || Char() == '{' || Char() == '[')
                SkipBracketed();
            else
                ++m_at;
        }
    }

    void ParseSection(std::string_view name, size_t begin)
    {
        const size_t open = m_at;
        SkipBracketed();
        m_sections.push_back({std::string(name), Pos(begin, begin + name.size()), open + 1, m_at - 1});
    }

    void ParseSnippet(MelScript& script, std::string_view name, size_t begin, size_t nameEnd)
    {
        const size_t open = m_at;
        SkipBracketed();
        MelStatement statement;
        statement.kind = MelStatement::Kind::Snippet;
        statement.model = std::string(name);
        statement.where = Pos(begin, nameEnd);
        statement.begin = open + 1;
        statement.end = m_at - 1;
        script.statements.push_back(std::move(statement));
        // If the file has sections, the same text is a section.
        m_sectionLike.push_back({std::string(name), Pos(begin, nameEnd), open + 1, m_at - 1});
    }

    // Parses "a:b" or "(a:b)".
    void ParseSectionNames(std::vector<MelArgument>& names)
    {
        const size_t begin = m_at;
        while (!AtEnd() && Char() != '\n' && Char() != ';' && Char() != ',' && !AtComment())
            ++m_at;
        const std::string_view list = Trim(m_chars.substr(begin, m_at - begin));
        const SourcePos where = Pos(begin, begin + list.size());
        std::string_view inner = list;
        if (inner.size() >= 2 && inner.front() == '(' && inner.back() == ')')
            inner = inner.substr(1, inner.size() - 2);
        for (const std::string_view name : Split(inner, ':'))
            if (!Trim(name).empty())
                names.push_back({"", std::string(Trim(name)), where});
        m_sections.insert(m_sections.end(), m_sectionLike.begin(), m_sectionLike.end());
        m_sectionLike.clear();
    }

    MelSection RequireSection(const MelArgument& name, const char* key)
    {
        m_sections.insert(m_sections.end(), m_sectionLike.begin(), m_sectionLike.end());
        m_sectionLike.clear();
        std::vector<std::string> names;
        for (const MelSection& section : m_sections)
        {
            if (EqualsIgnoreCase(section.name, name.text))
                return section;
            names.push_back(section.name);
        }
        FailAt(name.where, ErrorKind::Config, "there is no section '", name.text, "', which ", key, "= names",
               DidYouMean(name.text, names));
    }

    void ParseCommand(MelScript& script, std::string_view name, size_t begin, std::string_view model)
    {
        MelStatement statement;
        statement.name = std::string(name);
        statement.model = std::string(model);
        statement.where = Pos(begin, begin + name.size());
        const size_t open = m_at++;
        for (;;)
        {
            Skip("\n,");
            if (AtEnd())
                FailUnclosed(open);
            if (Char() == ')')
                break;
            statement.arguments.push_back(ParseArgument(open));
        }
        ++m_at;
        script.statements.push_back(std::move(statement));
    }

    // Ends at a comma, a newline or the closing parenthesis. A colon does not end an argument: "c:\models\x.dnn".
    MelArgument ParseArgument(size_t open)
    {
        MelArgument argument;
        const size_t begin = m_at;
        argument.text = ParseText(open, argument.where);
        SkipBlanks();
        if (AtEnd() || Char() != '=')
            return argument;
        ++m_at;
        Skip("\n");
        if (AtEnd() || Char() == ',' || Char() == ')')
            FailAt(Pos(begin, m_at), ErrorKind::Config, "no value given for '", argument.text, "'");
        argument.name = std::move(argument.text);
        argument.text = ParseText(open, argument.where);
        return argument;
    }

    std::string ParseText(size_t open, SourcePos& where)
    {
        const size_t begin = m_at;
        if (Char() == '"')
        {
            const size_t close = m_chars.find('"', m_at + 1);
            if (close == std::string_view::npos || close >= m_end)
                FailAt(Pos(begin, begin + 1), ErrorKind::Config, "the quote opened here is not closed");
            m_at = close + 1;
            where = Pos(begin, m_at);
            SkipBlanks();
            return std::string(m_chars.substr(begin + 1, close - begin - 1));
        }
        while (!AtEnd() && Char() != ',' && Char() != '\n' && Char() != ')' && Char() != '=' && !AtComment())
        {
            if (Char() == '(' || Char() == '[' || Char() == '"')
                FailAt(Pos(m_at, m_at + 1), ErrorKind::Config, "',' or ')' expected, found '", Char(),
                       "'; arguments of commands are names, patterns and numbers");
            ++m_at;
        }
        if (AtEnd())
            FailUnclosed(open);
        const std::string_view text = Trim(m_chars.substr(begin, m_at - begin));
        if (text.empty())
            FailAt(Pos(begin, begin + 1), ErrorKind::Config, "an argument expected, found ", DescribeHere());
        where = Pos(begin, begin + text.size());
        return std::string(text);
    }

    const std::function<bool(std::string_view)>& m_isModelCommand;
    ScriptText m_text;
    std::string_view m_chars;
    size_t m_at = 0;
    size_t m_end = 0;
    std::vector<MelSection> m_sections;
    std::vector<MelSection> m_sectionLike; // "name = [...]"
    std::vector<MelArgument> m_load;
    std::vector<MelArgument> m_edit;
};

} // namespace

MelScript ParseMel(ScriptText text, const std::function<bool(std::string_view)>& isModelCommand)
{
    return MelParser(std::move(text), isModelCommand).ParseAll();
}

} // namespace cntk
