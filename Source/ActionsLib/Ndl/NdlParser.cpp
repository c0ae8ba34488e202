// A recursive descent parser over the characters of the text: a token's meaning depends on where it stands (a colon
// separates arguments, but not statements; a newline ends a statement, but not an argument list).
#include "ActionsLib/Ndl/NdlParser.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <cstdio>

namespace cntk
{

namespace
{

constexpr int c_deepestNesting = 200;
constexpr long long c_mostRepeats = 10000;

// Ends a word everywhere.
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
    // Of an expression that ends in front of here.
    size_t EndInSource() const
    {
        const SourcePos last = m_text.At(m_at - 1, m_at);
        return last.offset + last.length;
    }

    // A '#' that begins a line or follows white space starts a comment (so 1#INF is a number).
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

    // A run of characters up to a delimiter. Dots, stars and slashes belong to words: paths, patterns, node names.
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
        if (word.text == "\\")
            FailAt(word.where, ErrorKind::Config,
                   "'\\' continues no line; the arguments of a call may go over several lines by themselves, other "
                   "statements stand on one");
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

    // The value of an optional parameter may have blanks in it, as the path of a file has: it goes on to the next
    // separator. A word and '=' behind the blank are another parameter, whose comma is missing.
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

    // "n*3" is n, n, n; a star inside a name ("W0*features") is part of it.
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

    // From the opening to behind the closing parenthesis or brace.
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
                FailAt(Here(), ErrorKind::Config, "',' or '", close, "' expected, found ", DescribeHere(),
                       IsClosing()
                           ? Concat("; it is to close the '", m_chars[open], "' at ", Pos(open, open + 1).Location())
                           : "");
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
                       close == '\0'
                           ? Concat("found ", DescribeHere(), ", which closes nothing")
                           : Concat("'", close, "' expected to close the '", m_chars[open], "' at ",
                                    Pos(open, open + 1).Location(), ", found ", DescribeHere(), HintAtMacro(script)));
            if (Char() == '(')
                FailAt(Here(), ErrorKind::Config,
                       "a name expected at the beginning of a statement, found '('; the "
                       "'(' of a call stands on the line of its name");
            script.statements.push_back(ParseStatement());
            SkipBlanks();
            const bool isEnd = AtEnd() || Char() == '\n' || Char() == ',' || Char() == ';' || Char() == close;
            const bool isBody = !isEnd && script.statements.back().body != nullptr; // "[...] name=..." may go on
            if (!isEnd && !isBody)
                FailAt(Here(), ErrorKind::Config, "the end of the statement expected, found ", DescribeHere(),
                       HintAtEnd(script.statements.back()));
        }
    }

    // Where a body ends that has not begun: the last call alone, which may be meant as the head of a macro.
    std::string HintAtMacro(const NdlScript& script) const
    {
        const auto isHead = [](const NdlStatement& statement)
        {
            const auto isName = [](const NdlArgument& argument)
            { return argument.name.empty() && argument.value.kind == NdlExpression::Kind::Name; };
            return statement.name.empty() && statement.value.kind == NdlExpression::Kind::Call &&
                   std::all_of(statement.value.arguments.begin(), statement.value.arguments.end(), isName);
        };
        const auto head = std::find_if(script.statements.rbegin(), script.statements.rend(), isHead);
        return Char() != '}' || head == script.statements.rend()
                   ? std::string()
                   : Concat("; a macro '", head->value.AsWritten(), "', as at ", head->value.where.Location(),
                            ", needs a '{' before its statements");
    }

    // What is likely meant by a character behind a statement.
    std::string HintAtEnd(const NdlStatement& statement) const
    {
        if (Char() == '#')
            return "; a comment begins behind a blank";
        if (IsClosing())
            return ", which closes nothing";
        if (m_chars[m_at - 1] == '\r')
            return "; the lines end with a carriage return alone, expected newlines";
        if ((Char() == '[' || Char() == '{') && statement.value.kind == NdlExpression::Kind::Name)
            return Concat("; the arguments of a call stand in parentheses: ", statement.value.text, "(...)");
        if (statement.value.kind == NdlExpression::Kind::Name)
            return Concat("; '(' begins the arguments of a call, and a newline, ';' or ',' the next statement");
        return "; statements are separated by a newline, ';' or ','";
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

    // Of a word that follows "OutputNodes=a," or "x=1,".
    std::string HintAtComma(const SourcePos& word) const
    {
        const size_t before = m_chars.substr(0, word.offset).find_last_not_of(" \t");
        if (before == std::string_view::npos || m_chars[before] != ',')
            return {};
        return "; ',' separates statements, too: a list stands in parentheses, name=(a, b), and a number has a point";
    }

    // Of a line that other languages take for a comment.
    static bool IsForeignComment(std::string_view word)
    {
        return word.starts_with("//") || word.starts_with("/*") || word.starts_with("--") || word.starts_with('%');
    }

    NdlStatement ParseStatement()
    {
        if (Char() == '"')
            FailAt(Here(), ErrorKind::Config,
                   "a name expected at the beginning of a statement, found '\"'; names stand "
                   "without quotes");
        NdlStatement statement;
        NdlExpression left = ParseWord();
        statement.name = left.text;
        statement.where = left.where;
        if (left.kind == NdlExpression::Kind::Number)
            FailAt(left.where, ErrorKind::Config, "a name expected at the beginning of a statement, found the number '",
                   left.text, "'", HintAtComma(left.where));
        SkipBlanks();
        if (!AtEnd() && Char() == '(')
            return ParseMacroOrCall(std::move(statement), std::move(left));
        if (!AtEnd() && Char() == '[')
            return ParseSection(std::move(statement));
        if (AtEnd() || Char() != '=')
            FailAt(left.where, ErrorKind::Config, "'=' or '(' expected after '", left.text, "', found ", DescribeHere(),
                   IsForeignComment(left.text) ? "; a comment begins with '#'"
                   : !AtEnd() && Char() == '{'
                       ? Concat("; a macro has parentheses, empty ones too: ", left.text, "() {")
                       : HintAtComma(left.where));
        m_at++;
        SkipBlanks();
        if (!AtEnd() && Char() == '[')
            return ParseSection(std::move(statement));
        if (AtEnd() || Char() == '\n' || Char() == ';' || Char() == ',')
            FailAt(left.where, ErrorKind::Config, "no value given for '", left.text,
                   "'; it stands on the line of the '='");
        statement.value = ParseValue();
        SkipBlanks();
        if (!AtEnd() && Char() == ':')
            ParseColonList(statement.value);
        return statement;
    }

    // load=macros1:macros2
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
        if (arguments.size() == 1 && arguments[0].name.empty())
            return Concat("'", AsWritten(), "'; parentheses belong to calls and lists only: write ",
                          arguments[0].value.AsWritten());
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

} // namespace cntk
