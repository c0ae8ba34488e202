// A recursive descent parser over the characters of the text, because the meaning of a token depends on its context: a
// colon separates arguments, but not statements; a newline ends a statement, but not an argument list.
#include "ActionsLib/Ndl/NdlParser.h"

#include "Common/Config/ConfigText.h"
#include "Common/Config/ConfigTree.h"
#include "Common/Config/Tokenizer.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

namespace cntk
{

namespace
{

constexpr int c_deepestNesting = 200;
constexpr long long c_mostRepeats = 10000;

// Returns true for the characters that end a word.
bool IsDelimiter(char c)
{
    constexpr std::string_view delimiters = " \t\r\n,;:(){}[]\"=";
    return delimiters.find(c) != std::string_view::npos;
}

class NdlParser
{
public:
    NdlParser(const ScriptText& text, size_t begin, size_t end)
        : m_text(text), m_chars(text.Text().substr(0, end)), m_at(begin)
    {
    }

    NdlScript ParseAll()
    {
        NdlScript script;
        SkipSpace();
        if (!AtEnd() && Char() == '[')
            while (!AtEnd() && Char() == '[')
            {
                const size_t open = m_at++;
                ParseStatements(script, ']', open);
                m_at++;
                SkipSpace();
            }
        ParseStatements(script, '\0', m_at);
        return script;
    }

private:
    bool AtEnd() const { return m_at >= m_chars.size(); }
    char Char() const { return m_chars[m_at]; }
    SourcePos Pos(size_t begin, size_t end) const { return m_text.At(begin, end); }
    SourcePos Here() const { return m_text.At(m_at, m_at + 1); }
    // Offset in the source after the expression that ends before the current character.
    size_t EndInSource() const
    {
        const SourcePos last = m_text.At(m_at - 1, m_at);
        return last.offset + last.length;
    }

    // A '#' starts a comment at the beginning of a line and after white space only, so 1#INF is a number.
    bool AtComment() const
    {
        if (Char() != '#')
            return false;
        return m_at == 0 || IsBlank(m_chars[m_at - 1]) || m_chars[m_at - 1] == '\n';
    }
    void SkipBlanks()
    {
        while (!AtEnd())
        {
            if (AtComment())
                m_at = std::min(m_chars.find('\n', m_at), m_chars.size());
            else if (IsBlank(Char()))
                m_at++;
            else
                return;
        }
    }
    void SkipAny(std::string_view separators)
    {
        for (SkipBlanks(); !AtEnd() && separators.find(Char()) != std::string_view::npos; SkipBlanks())
            m_at++;
    }
    void SkipSpace() { SkipAny("\n"); }

    std::string DescribeHere() const
    {
        if (AtEnd())
            return "the end of the text";
        return Char() == '\n' ? "the end of the line" : CharacterInWords(m_chars.substr(m_at));
    }

    // Parses the characters up to a delimiter. Dots, stars and slashes belong to words: paths, patterns, node names.
    NdlExpression ParseWord()
    {
        const size_t begin = m_at;
        while (!AtEnd() && !IsDelimiter(Char()) && !AtComment())
            m_at++;
        if (m_at == begin)
            FailAt(Here(), ErrorKind::Config, "a name or a number expected, found ", DescribeHere());
        NdlExpression word;
        word.text = std::string(m_chars.substr(begin, m_at - begin));
        word.where = Pos(begin, m_at);
        word.kind = ParseDouble(word.text) ? NdlExpression::Kind::Number : NdlExpression::Kind::Name;
        return word;
    }

    NdlExpression ParseQuoted()
    {
        const size_t begin = m_at++;
        const size_t close = m_chars.find('"', m_at);
        if (close == std::string_view::npos)
            FailAt(Pos(begin, begin + 1), ErrorKind::Config, "the quote opened here is not closed");
        NdlExpression text;
        text.kind = NdlExpression::Kind::Text;
        text.text = std::string(m_chars.substr(m_at, close - m_at));
        m_at = close + 1;
        text.where = Pos(begin, m_at);
        return text;
    }

    // value := number | "text" | reference | call | "{" ... "}" | "(" ... ")"
    NdlExpression ParseValue()
    {
        if (AtEnd())
            FailAt(Here(), ErrorKind::Config, "a value expected, found ", DescribeHere());
        if (Char() == '"')
            return ParseQuoted();
        if (Char() == '(' || Char() == '{')
        {
            NdlExpression array;
            array.kind = NdlExpression::Kind::Array;
            const size_t begin = m_at;
            array.arguments = ParseArguments();
            array.where = Pos(begin, m_at);
            array.end = EndInSource();
            return array;
        }
        NdlExpression word = ParseWord();
        SkipBlanks();
        if (AtEnd() || Char() != '(')
            return word;
        word.kind = NdlExpression::Kind::Call;
        word.arguments = ParseArguments();
        word.end = EndInSource();
        return word;
    }

    // Extends the value of an optional parameter to the next separator, because it may contain blanks (a file path). A
    // word and '=' after the blank are another parameter whose comma is missing.
    void ContinueText(NdlExpression& value, size_t begin)
    {
        const auto isOneOf = [](char c, std::string_view list) { return list.find(c) != std::string_view::npos; };
        const auto isComment = [&](size_t at) { return m_chars[at] == '#' && IsBlank(m_chars[at - 1]); };
        size_t end = m_at;
        while (end < m_chars.size() && !isOneOf(m_chars[end], "\n,:(){}[]\"=") && !isComment(end))
            end++;
        const bool isWord = value.kind == NdlExpression::Kind::Name || value.kind == NdlExpression::Kind::Number;
        if (!isWord || end == m_at || (end < m_chars.size() && isOneOf(m_chars[end], "({[\"=")))
            return;
        value.text = std::string(Trim(m_chars.substr(begin, end - begin)));
        value.where = Pos(begin, begin + value.text.size());
        value.kind = NdlExpression::Kind::Name;
        m_at = end;
        SkipBlanks(); // a comment
    }

    // Splits "n*3" into n and the count 3. A star inside a name ("W0*features") is part of the name.
    long long TakeRepeat(NdlExpression& value) const
    {
        if (value.kind != NdlExpression::Kind::Name)
            return 1;
        const size_t star = value.text.rfind('*');
        if (star == std::string::npos || star == 0)
            return 1;
        const std::optional<long long> count = ParseInteger(std::string_view(value.text).substr(star + 1));
        if (!count)
            return 1;
        if (*count > c_mostRepeats)
            FailAt(value.where, ErrorKind::Config, "an argument is repeated ", *count, " times; at most ",
                   c_mostRepeats, " are possible");
        value.text.resize(star);
        value.where.length = star;
        if (ParseDouble(value.text))
            value.kind = NdlExpression::Kind::Number;
        return *count;
    }

    // Parses from the opening parenthesis or brace to the closing one.
    std::vector<NdlArgument> ParseArguments()
    {
        const size_t open = m_at;
        const char close = Char() == '(' ? ')' : '}';
        if (++m_depth > c_deepestNesting)
            FailAt(Here(), ErrorKind::Config, "calls are nested more than ", c_deepestNesting, " deep");
        m_at++;
        std::vector<NdlArgument> arguments;
        for (;;)
        {
            SkipAny("\n,:");
            if (AtEnd())
                FailAt(Pos(open, open + 1), ErrorKind::Config, "the '", m_chars[open], "' opened here is not closed");
            if (Char() == close)
                break;
            if (IsClosing())
                FailAt(Here(), ErrorKind::Config, "'", close, "' expected to close the '", m_chars[open], "' at ",
                       Pos(open, open + 1).Location(), ", found ", DescribeHere());
            NdlArgument argument;
            argument.value = ParseValue();
            SkipBlanks();
            if (!AtEnd() && Char() == '=')
            {
                if (argument.value.kind != NdlExpression::Kind::Name)
                    FailAt(argument.value.where, ErrorKind::Config,
                           "the name of an optional parameter expected before '=', found ", argument.value.InWords());
                m_at++;
                SkipBlanks();
                argument.name = std::move(argument.value.text);
                argument.nameWhere = argument.value.where;
                if (AtEnd() || Char() == ',' || Char() == '\n' || Char() == close)
                    FailAt(argument.nameWhere, ErrorKind::Config, "parameter '", argument.name,
                           "' has no value; expected '", argument.name, "=value'");
                const size_t begin = m_at;
                argument.value = ParseValue();
                SkipBlanks();
                ContinueText(argument.value, begin);
            }
            const long long count = argument.name.empty() ? TakeRepeat(argument.value) : 1;
            for (long long i = 0; i < count; i++)
                arguments.push_back(argument);
            if (!AtEnd() && Char() != close && std::string_view("\n,:").find(Char()) == std::string_view::npos)
                FailAt(Here(), ErrorKind::Config, "',' or '", close, "' expected, found ", DescribeHere());
        }
        m_at++;
        m_depth--;
        return arguments;
    }

    void ParseStatements(NdlScript& script, char close, size_t open)
    {
        for (;;)
        {
            SkipAny("\n,;");
            if (AtEnd())
            {
                if (close != '\0')
                    FailAt(Pos(open, open + 1), ErrorKind::Config, "the '", m_chars[open],
                           "' opened here is not closed");
                return;
            }
            if (close != '\0' && Char() == close)
                return;
            if (IsClosing())
                FailAt(Here(), ErrorKind::Config,
                       close == '\0' ? Concat("found ", DescribeHere(), ", which closes nothing")
                                     : Concat("'", close, "' expected to close the '", m_chars[open], "' at ",
                                              Pos(open, open + 1).Location(), ", found ", DescribeHere()));
            if (Char() == '(')
                FailAt(Here(), ErrorKind::Config,
                       "a name expected at the beginning of a statement, found '('; the '(' of a call must be on the "
                       "line of its name");
            script.statements.push_back(ParseStatement());
            SkipBlanks();
            const bool isEnd = AtEnd() || Char() == '\n' || Char() == ',' || Char() == ';' || Char() == close;
            const bool isBody = !isEnd && script.statements.back().body != nullptr; // "[...] name=..." may go on
            if (!isEnd && !isBody)
                FailAt(Here(), ErrorKind::Config, "the end of the statement expected, found ", DescribeHere(),
                       "; statements are separated by a newline, ';' or ','");
        }
    }

    std::shared_ptr<const NdlScript> ParseBody()
    {
        const size_t open = m_at;
        if (++m_depth > c_deepestNesting)
            FailAt(Here(), ErrorKind::Config, "bodies are nested more than ", c_deepestNesting, " deep");
        m_at++;
        auto body = std::make_shared<NdlScript>();
        ParseStatements(*body, m_chars[open] == '[' ? ']' : '}', open);
        m_at++;
        m_depth--;
        return body;
    }

    bool IsClosing() const { return !AtEnd() && std::string_view(")}]").find(Char()) != std::string_view::npos; }
    bool AtBody() const { return !AtEnd() && (Char() == '{' || Char() == '['); }

    static bool IsForeignComment(std::string_view word) { return word.starts_with("//") || word.starts_with("/*"); }

    NdlStatement ParseStatement()
    {
        if (Char() == '"')
            FailAt(Here(), ErrorKind::Config,
                   "a name without quotes expected at the beginning of a statement, found '\"'");
        NdlStatement statement;
        NdlExpression left = ParseWord();
        statement.name = left.text;
        statement.where = left.where;
        if (left.kind == NdlExpression::Kind::Number)
            FailAt(left.where, ErrorKind::Config, "a name expected at the beginning of a statement, found the number '",
                   left.text, "'; lists need parentheses: name=(a, b)");
        SkipBlanks();
        if (!AtEnd() && Char() == '(')
            return ParseMacroOrCall(std::move(statement), std::move(left));
        if (!AtEnd() && Char() == '[')
            return ParseSection(std::move(statement));
        if (AtEnd() || Char() != '=')
            FailAt(left.where, ErrorKind::Config, "'=' or '(' expected after '", left.text, "', found ", DescribeHere(),
                   IsForeignComment(left.text) ? "; a comment begins with '#'" : "");
        m_at++;
        SkipBlanks();
        if (!AtEnd() && Char() == '[')
            return ParseSection(std::move(statement));
        if (AtEnd() || Char() == '\n' || Char() == ';' || Char() == ',')
            FailAt(left.where, ErrorKind::Config, "no value given for '", left.text,
                   "'; the value must be on the line of the '='");
        statement.value = ParseValue();
        SkipBlanks();
        if (!AtEnd() && Char() == ':')
            ParseColonList(statement.value);
        return statement;
    }

    // Parses load=macros1:macros2.
    void ParseColonList(NdlExpression& first)
    {
        NdlExpression list;
        list.kind = NdlExpression::Kind::Array;
        list.where = first.where;
        list.arguments.push_back({"", {}, std::move(first)});
        while (!AtEnd() && Char() == ':')
        {
            m_at++;
            SkipBlanks();
            list.arguments.push_back({"", {}, ParseValue()});
            SkipBlanks();
        }
        list.end = list.arguments.back().value.where.offset + list.arguments.back().value.where.length;
        first = std::move(list);
    }

    NdlStatement ParseSection(NdlStatement statement)
    {
        statement.kind = NdlStatement::Kind::Section;
        statement.body = ParseBody();
        return statement;
    }

    NdlStatement ParseMacroOrCall(NdlStatement statement, NdlExpression left)
    {
        left.kind = NdlExpression::Kind::Call;
        left.arguments = ParseArguments();
        left.end = EndInSource();
        const size_t afterCall = m_at;
        SkipBlanks();
        const bool hasEquals = !AtEnd() && Char() == '=';
        if (hasEquals)
            m_at++;
        SkipSpace();
        if (!hasEquals && !AtBody())
        {
            m_at = afterCall; // a call alone
            statement.name.clear();
            statement.value = std::move(left);
            return statement;
        }
        statement.kind = NdlStatement::Kind::Macro;
        for (NdlArgument& argument : left.arguments)
        {
            if (!argument.name.empty())
                FailAt(argument.nameWhere, ErrorKind::Config, "parameter '", argument.name, "' of macro '",
                       statement.name, "' has a default value; expected a plain name");
            if (argument.value.kind != NdlExpression::Kind::Name)
                FailAt(argument.value.where, ErrorKind::Config, "the name of a parameter of macro '", statement.name,
                       "' expected, found ", argument.value.InWords());
            if (argument.value.text.find('.') != std::string::npos)
                FailAt(argument.value.where, ErrorKind::Config, "the name '", argument.value.text,
                       "' of a parameter of macro '", statement.name, "' has a dot; dots refer into macros");
            statement.formals.push_back(std::move(argument.value));
        }
        if (AtBody())
        {
            statement.body = ParseBody();
            return statement;
        }
        auto body = std::make_shared<NdlScript>();
        NdlStatement only;
        only.value = ParseValue();
        only.where = only.value.where;
        if (only.value.kind != NdlExpression::Kind::Call)
            FailAt(only.value.where, ErrorKind::Config, "a function call expected as the body of macro '",
                   statement.name, "', found ", only.value.InWords());
        body->statements.push_back(std::move(only));
        statement.body = std::move(body);
        return statement;
    }

    const ScriptText& m_text;
    std::string_view m_chars;
    size_t m_at;
    int m_depth = 0;
};

} // namespace

std::string NdlExpression::AsWritten() const
{
    constexpr size_t longest = 60;
    if ((kind != Kind::Call && kind != Kind::Array) || !where || end <= where.offset)
        return text;
    std::string written;
    for (const char c : where.text->Text().substr(where.offset, end - where.offset))
        if (!IsBlank(c) && c != '\n')
            written += c;
        else if (!written.empty() && written.back() != ' ')
            written += ' ';
    if (written.size() > longest)
        written.replace(longest, std::string::npos, "...");
    return written;
}

std::string NdlExpression::InWords() const
{
    switch (kind)
    {
    case Kind::Call:
        return Concat("the call '", AsWritten(), "'");
    case Kind::Text:
        return Concat("the text \"", text, "\"");
    case Kind::Array:
        return Concat("the list '", AsWritten(), "'");
    default:
        return Concat("'", text, "'");
    }
}

std::vector<std::string> NdlExpression::Names() const
{
    if (kind != Kind::Array)
        return {text};
    std::vector<std::string> names;
    for (const NdlArgument& argument : arguments)
        names.push_back(argument.value.text);
    return names;
}

NdlScript ParseNdl(const ScriptText& text, size_t begin, size_t end)
{
    return NdlParser(text, begin, end).ParseAll();
}

// ---- variables ----

std::shared_ptr<const SourceText> ReadScript(const std::string& path, std::string_view what, const SourcePos& namedAt)
{
    const std::string resolved = ResolveInputPath(path);
    if (path != "-" && !FileExists(resolved))
        FailAt(namedAt, ErrorKind::Config, what, " '", path, "' does not exist", NearFilesHint(path));
    if (std::error_code error; std::filesystem::is_directory(resolved, error))
        FailAt(namedAt, ErrorKind::Config, what, " '", path, "' is a folder, expected a file");
    auto text = std::make_shared<const SourceText>(path == "-" ? "standard input" : path, ReadTextFile(resolved));
    CheckIsText(text);
    return text;
}

ScriptText::ScriptText(std::shared_ptr<const SourceText> source, size_t begin, size_t length,
                       const ConfigParameters& block)
    : m_source(std::move(source)), m_sourceBegin(begin)
{
    // RemoveComments replaces comments by blanks, so offsets stay those of the source.
    const auto clean = std::make_shared<const SourceText>(m_source->Name(),
                                                          RemoveComments(m_source->Text().substr(0, begin + length)));
    const std::string_view text = clean->Text().substr(begin);
    m_resolved = std::make_shared<std::string>(ConfigTree::ResolveScript(block, text, {clean, begin, length}));
    size_t grown = 0; // wraps modulo 2^64 if values are shorter than their names
    for (auto variable = NextVariable(text, 0); variable; variable = NextVariable(text, variable->end))
    {
        const size_t written = variable->end - variable->begin;
        const std::string value = ConfigTree::ResolveScript(block, text.substr(variable->begin, written), {});
        const size_t at = variable->begin + grown;
        m_inserted.push_back({at, at + value.size(), begin + variable->begin, begin + variable->end});
        grown += value.size() - written;
    }
}

size_t ScriptText::SourceOffsetOf(size_t offset, bool isEnd) const
{
    // Finds the last value that begins before the offset. A value that begins at the offset counts unless isEnd.
    const auto after =
        std::partition_point(m_inserted.begin(), m_inserted.end(),
                             [&](const Inserted& each) { return isEnd ? each.begin < offset : each.begin <= offset; });
    if (after == m_inserted.begin())
        return m_sourceBegin + offset;
    const Inserted& value = *std::prev(after);
    if (isEnd ? offset <= value.end : offset < value.end)
        return isEnd ? value.sourceEnd : value.sourceBegin;
    return value.sourceEnd + (offset - value.end);
}

SourcePos ScriptText::At(size_t begin, size_t end) const
{
    const size_t sourceBegin = SourceOffsetOf(begin, false);
    const size_t sourceEnd = SourceOffsetOf(std::max(end, begin + 1), true);
    return {m_source, sourceBegin, std::max(sourceEnd, sourceBegin + 1) - sourceBegin};
}

} // namespace cntk
