// Scans the characters of a level once and skips braces as a whole. The inside of a brace is scanned at its first use.
#include "Common/Config/Tokenizer.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace cntk
{

namespace
{

// Limit of nested brackets, far beyond any real config.
constexpr size_t c_maxNesting = 200;

enum CharClass : unsigned char
{
    c_plain = 0,
    c_separator = 1, // newline, carriage return, comma
    c_open = 2,
    c_close = 4,
    c_quote = 8,
    c_equals = 16
};

constexpr std::array<unsigned char, 256> MakeClasses()
{
    std::array<unsigned char, 256> classes{};
    classes['\n'] = classes['\r'] = classes[','] = c_separator;
    classes['('] = classes['['] = classes['{'] = c_open;
    classes[')'] = classes[']'] = classes['}'] = c_close;
    classes['"'] = c_quote;
    classes['='] = c_equals;
    return classes;
}
constexpr std::array<unsigned char, 256> c_classes = MakeClasses();

unsigned char ClassOf(char c)
{
    return c_classes[static_cast<unsigned char>(c)];
}

// Returns the white space at the beginning of the line.
std::string_view IndentationOf(std::string_view text, size_t at)
{
    const size_t lineBreak = text.rfind('\n', at);
    const size_t line = lineBreak == std::string_view::npos ? 0 : lineBreak + 1;
    return text.substr(line, std::min(text.find_first_not_of(" \t", line), text.size()) - line);
}

// Explains unmatched brackets by the indentation: "; the ']' at a.cntk:7:1 closes the '[' at a.cntk:2:7, which has
// another indentation". Finds the first closing bracket at the beginning of a line whose opening bracket ends a line
// with another indentation. Empty if there is none.
std::string HintAtIndentation(std::string_view text, const PositionOf& positionOf)
{
    std::vector<size_t> open;
    for (size_t at = 0; at < text.size(); ++at)
    {
        if (text[at] == '"')
            at = std::min(text.find('"', at + 1), text.size());
        else if (ClassOf(text[at]) == c_open)
            open.push_back(at);
        else if (ClassOf(text[at]) == c_close && !open.empty())
        {
            const size_t opening = open.back();
            open.pop_back();
            const std::string_view indentation = IndentationOf(text, at);
            const size_t next = text.find_first_not_of(" \t\r", opening + 1);
            const bool beginsLine = indentation.data() + indentation.size() == text.data() + at;
            if (beginsLine && next < at && text[next] == '\n' && IndentationOf(text, opening) != indentation)
                return Concat("; the '", text[at], "' at ", positionOf(at, 1).Location(), " closes the '",
                              text[opening], "' at ", positionOf(opening, 1).Location(),
                              ", which has another indentation");
        }
    }
    return {};
}

char ClosingOf(char open)
{
    return open == '(' ? ')' : open == '[' ? ']' : '}';
}

bool IsSpaceOrTab(char c)
{
    return c == ' ' || c == '\t';
}
bool IsWhite(char c)
{
    return IsSpaceOrTab(c) || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

char OwnSeparatorOf(SplitLevel level)
{
    switch (level)
    {
    case SplitLevel::Block:
        return ';';
    case SplitLevel::Array:
    case SplitLevel::NdlArguments:
        return ':';
    case SplitLevel::MelArguments:
        break;
    }
    return '\0';
}

size_t FindClosingQuote(std::string_view text, size_t open, const PositionOf& positionOf)
{
    const size_t close = text.find('"', open + 1);
    if (close == std::string_view::npos)
        FailAt(positionOf(open, 1), ErrorKind::Config, "no closing '\"' found for the quote that opens here");
    return close;
}

// A character right after the opening brace replaces the level's separator. A character that begins a signed number, a
// wildcard, a name, a path or a variable does not. In arrays such a character must occur a second time; '|', ';' and
// the like need not.
bool IsCustomSeparator(std::string_view content, SplitLevel level)
{
    constexpr std::string_view c_allowed = "`~!@$%^&*_-+|:;,?.";
    if (content.empty() || c_allowed.find(content[0]) == std::string_view::npos)
        return false;
    if (level == SplitLevel::NdlArguments || level == SplitLevel::MelArguments)
        return false;
    const char c = content[0];
    const char next = content.size() > 1 ? content[1] : '\0';
    const char afterNext = content.size() > 2 ? content[2] : '\0';
    switch (c)
    {
    case '-':
    case '+':
        if (IsDigit(next) || (next == '.' && IsDigit(afterNext)))
            return false;
        break;
    case '.':
        if (IsDigit(next) || next == '.' || next == '/' || next == '\\')
            return false;
        break;
    case '*':
        if (next == '.' || IsNameChar(next))
            return false;
        break;
    case '_':
        if (IsNameChar(next))
            return false;
        break;
    case '~':
        if (next == '/' || next == '\\')
            return false;
        break;
    case '$':
        if (const auto variable = NextVariable(content, 0); variable && variable->begin == 0)
            return false;
        break;
    case '@':
        break;
    default:
        return true;
    }
    return level == SplitLevel::Block || content.find(c, 1) != std::string_view::npos;
}

// Returns the separator of the content of a brace, and removes a custom separator from the content.
char TakeSeparator(std::string_view& content, SplitLevel level)
{
    if (!IsCustomSeparator(content, level))
        return OwnSeparatorOf(level);
    const char separator = content[0];
    content.remove_prefix(1);
    return separator;
}

class RecordScanner
{
public:
    RecordScanner(std::string_view whole, const PositionOf& positionOf,
                  const std::function<void(const ConfigRecord&)>& visit)
        : m_whole(whole), m_positionOf(positionOf), m_visit(visit)
    {
    }

    // Visits the records of whole[begin, end) with the separator of this level.
    void Scan(size_t begin, size_t end, char separator)
    {
        m_end = end;
        m_separator = separator;
        m_at = begin;
        while (SkipToRecord())
        {
            const unsigned char kind = ClassOf(m_whole[m_at]);
            if (kind == c_open)
                SpillGroup();
            else if (kind == c_close)
                FailUnmatched(m_at);
            else
                ScanRecord();
        }
    }

private:
    bool IsSeparator(char c) const { return ClassOf(c) == c_separator || c == m_separator; }

    bool SkipToRecord()
    {
        while (m_at < m_end && (IsWhite(m_whole[m_at]) || IsSeparator(m_whole[m_at])))
            ++m_at;
        return m_at < m_end;
    }

    void SkipBlanks()
    {
        while (m_at < m_end && IsSpaceOrTab(m_whole[m_at]))
            ++m_at;
    }

    [[noreturn]] void FailUnmatched(size_t at) const
    {
        FailAt(m_positionOf(at, 1), ErrorKind::Config, "unmatched '", m_whole[at], "': no bracket is open here",
               HintAtIndentation(m_whole, m_positionOf));
    }

    std::string_view Up() const { return m_whole.substr(0, m_end); }

    void SpillGroup()
    {
        const size_t close = FindClosingBrace(Up(), m_at, m_positionOf);
        std::string_view content = m_whole.substr(m_at + 1, close - m_at - 1);
        const char separator = TakeSeparator(content, SplitLevel::Block);
        const size_t begin = static_cast<size_t>(content.data() - m_whole.data());
        RecordScanner inner(m_whole, m_positionOf, m_visit);
        inner.Scan(begin, begin + content.size(), separator);
        m_at = close + 1;
    }

    void ScanRecord()
    {
        const size_t begin = m_at;
        unsigned char kind = c_plain;
        for (; m_at < m_end; ++m_at)
        {
            kind = ClassOf(m_whole[m_at]);
            if (kind != c_plain || m_whole[m_at] == m_separator)
                break;
        }
        ConfigRecord record;
        record.name = Trim(m_whole.substr(begin, m_at - begin));
        if (m_at == m_end || IsSeparator(m_whole[m_at]))
        {
            m_visit(record);
            return;
        }
        if (kind == c_close)
            FailUnmatched(m_at);
        if (record.name.empty() && kind == c_quote)
            FailAt(m_positionOf(m_at, 1), ErrorKind::Config, "expected a name before '\"', found a quoted text");
        record.hasValue = true;
        record.hasEquals = kind == c_equals;
        if (record.hasEquals)
        {
            ++m_at;
            SkipBlanks();
            if (m_at == m_end || IsSeparator(m_whole[m_at]))
            {
                if (record.name.empty())
                    return;
                const size_t next = m_whole.find_first_not_of(" \t\r\n", m_at);
                if (next < m_end && ClassOf(m_whole[next]) == c_open)
                    FailAt(m_positionOf(begin, m_at - begin), ErrorKind::Config, "no value given for '", record.name,
                           "'; the '", m_whole[next], "' at ", m_positionOf(next, 1).Location(),
                           " must stand on the line of the name: ", record.name, "=", m_whole[next]);
                FailAt(m_positionOf(begin, m_at - begin), ErrorKind::Config, "no value given for '", record.name,
                       "'; expected ", record.name, "=value, or ", record.name, "=\"\" for an empty one");
            }
        }
        ScanValue(record);
        // "=5" has no name and is ignored.
        if (!record.name.empty())
            m_visit(record);
    }

    void ScanValue(ConfigRecord& record)
    {
        const size_t begin = m_at;
        if (m_whole[m_at] == '"')
        {
            const size_t close = FindClosingQuote(Up(), m_at, m_positionOf);
            if (!ContinuesAfterQuote(close))
            {
                record.value = Trim(m_whole.substr(begin + 1, close - begin - 1));
                record.isQuoted = true;
                m_at = close + 1;
                return;
            }
        }
        for (; m_at < m_end && !IsSeparator(m_whole[m_at]); ++m_at)
        {
            const unsigned char kind = ClassOf(m_whole[m_at]);
            if (kind == c_open)
            {
                m_at = FindClosingBrace(Up(), m_at, m_positionOf) + 1;
                break;
            }
            if (kind == c_close)
                FailUnmatched(m_at);
            if (kind == c_quote)
            {
                const size_t close = FindClosingQuote(Up(), m_at, m_positionOf);
                m_at = close;
                if (!ContinuesAfterQuote(close))
                {
                    ++m_at;
                    break;
                }
            }
        }
        record.value = Trim(m_whole.substr(begin, m_at - begin));
    }

    // True if a quoted text is one element of an unbraced array: 10:"this is a test":1.25
    bool ContinuesAfterQuote(size_t close) const
    {
        return close + 1 < m_end && (m_whole[close + 1] == ':' || m_whole[close + 1] == '*') &&
               !IsSeparator(m_whole[close + 1]);
    }

    std::string_view m_whole;
    const PositionOf& m_positionOf;
    const std::function<void(const ConfigRecord&)>& m_visit;
    size_t m_at = 0;
    size_t m_end = 0;
    char m_separator = ';';
};

} // namespace

std::string RemoveComments(std::string_view text)
{
    std::string clean(text);
    for (size_t hash = clean.find('#'); hash != std::string::npos; hash = clean.find('#', hash + 1))
    {
        if (hash > 0 && !IsWhite(clean[hash - 1]))
            continue;
        const size_t lineBreak = clean.rfind('\n', hash);
        const size_t line = lineBreak == std::string::npos ? 0 : lineBreak + 1;
        if (std::count(clean.begin() + static_cast<std::ptrdiff_t>(line),
                       clean.begin() + static_cast<std::ptrdiff_t>(hash), '"') %
                2 !=
            0)
            continue;
        const size_t end = std::min(clean.find_first_of("\r\n", hash), clean.size());
        std::fill(clean.begin() + static_cast<std::ptrdiff_t>(hash), clean.begin() + static_cast<std::ptrdiff_t>(end),
                  ' ');
        hash = end - 1;
    }
    return clean;
}

size_t FindClosingBrace(std::string_view text, size_t open, const PositionOf& positionOf)
{
    std::array<size_t, c_maxNesting> stack;
    size_t depth = 0;
    for (size_t at = open; at < text.size(); ++at)
    {
        const char c = text[at];
        switch (ClassOf(c))
        {
        case c_open:
            if (depth == c_maxNesting)
                FailAt(positionOf(at, 1), ErrorKind::Config, "brackets are nested more than ", c_maxNesting, " deep");
            stack[depth++] = at;
            break;
        case c_close:
            --depth;
            if (c != ClosingOf(text[stack[depth]]))
                FailAt(positionOf(at, 1), ErrorKind::Config, "unmatched bracket: expected '",
                       ClosingOf(text[stack[depth]]), "' for the '", text[stack[depth]], "' at ",
                       positionOf(stack[depth], 1).Location(), ", found '", c, "'");
            if (depth == 0)
                return at;
            break;
        case c_quote:
            at = FindClosingQuote(text, at, positionOf);
            break;
        default:
            break;
        }
    }
    FailAt(positionOf(stack[depth - 1], 1), ErrorKind::Config, "no closing '", ClosingOf(text[stack[depth - 1]]),
           "' found for the '", text[stack[depth - 1]], "' that opens here", HintAtIndentation(text, positionOf));
}

void ForEachRecord(std::string_view text, const PositionOf& positionOf,
                   const std::function<void(const ConfigRecord&)>& visit)
{
    RecordScanner scanner(text, positionOf, visit);
    scanner.Scan(0, text.size(), OwnSeparatorOf(SplitLevel::Block));
}

std::vector<std::string_view> SplitElements(std::string_view text, SplitLevel level, const PositionOf& positionOf)
{
    std::string_view content = Trim(text);
    char separator = OwnSeparatorOf(level);
    const auto offsetOf = [&](const char* at) { return static_cast<size_t>(at - text.data()); };
    if (!content.empty() && ClassOf(content[0]) == c_open)
    {
        const size_t open = offsetOf(content.data());
        const size_t close = FindClosingBrace(text, open, positionOf);
        if (close + 1 == open + content.size())
        {
            content = content.substr(1, content.size() - 2);
            separator = TakeSeparator(content, level);
        }
    }

    std::vector<std::string_view> elements;
    const auto add = [&](size_t begin, size_t end)
    {
        const std::string_view element = Trim(content.substr(begin, end - begin));
        if (!element.empty())
            elements.push_back(element);
    };
    const size_t base = content.empty() ? 0 : offsetOf(content.data());
    const std::string_view upToEnd = text.substr(0, base + content.size());
    size_t begin = 0;
    for (size_t at = 0; at < content.size(); ++at)
    {
        const char c = content[at];
        const unsigned char kind = ClassOf(c);
        if (kind == c_separator || (separator != '\0' && c == separator))
        {
            add(begin, at);
            begin = at + 1;
        }
        else if (kind == c_open)
            at = FindClosingBrace(upToEnd, base + at, positionOf) - base;
        else if (kind == c_quote)
            at = FindClosingQuote(upToEnd, base + at, positionOf) - base;
        else if (kind == c_close)
            FailAt(positionOf(base + at, 1), ErrorKind::Config, "unmatched '", c, "': no bracket is open here");
    }
    add(begin, content.size());
    return elements;
}

RepeatedElement SplitRepeat(std::string_view element, size_t offset, const PositionOf& positionOf, bool isQuoted)
{
    RepeatedElement result;
    result.text = element;
    size_t star = std::string_view::npos;
    if (!element.empty() && ClassOf(element[0]) == c_open)
    {
        // A braced list takes no count. Text after it is ignored, same as CNTK v1.1.
        const PositionOf inner = [&](size_t o, size_t l) { return positionOf(offset + o, l); };
        result.text = element.substr(0, FindClosingBrace(element, 0, inner) + 1);
        return result;
    }
    for (size_t at = 0; at < element.size(); ++at)
    {
        const unsigned char kind = ClassOf(element[at]);
        const PositionOf inner = [&](size_t o, size_t l) { return positionOf(offset + o, l); };
        if (kind == c_open)
            at = FindClosingBrace(element, at, inner);
        else if (kind == c_quote)
            at = FindClosingQuote(element, at, inner);
        else if (element[at] == '*')
        {
            star = at;
            break;
        }
    }
    if (star != std::string_view::npos)
    {
        const std::string_view count = Trim(element.substr(star + 1));
        const std::optional<long long> number = ParseInteger(count);
        if (!number && isQuoted)
            return result;
        if (!number)
            FailAt(positionOf(offset, element.size()), ErrorKind::Config, "'", element,
                   "' has no valid repeat count: expected value*n with a whole number n, found '", count,
                   "' after the '*'; where the '*' is part of a name, put the name in quotes");
        result.text = Trim(element.substr(0, star));
        result.count = *number > 0 ? static_cast<size_t>(*number) : 0;
    }
    if (result.text.size() >= 2 && result.text.front() == '"' && result.text.find('"', 1) == result.text.size() - 1)
        result.text = result.text.substr(1, result.text.size() - 2);
    return result;
}

std::optional<VariableReference> NextVariable(std::string_view text, size_t from)
{
    constexpr std::string_view c_forbidden = ",/<>?;':\"[]{}\\|!@#%^&*()+=~` \t\r\n";
    for (size_t begin = text.find('$', from); begin != std::string_view::npos; begin = text.find('$', begin + 1))
    {
        if (begin + 1 >= text.size() || !(IsLetter(text[begin + 1]) || text[begin + 1] == '_'))
            continue;
        const size_t close = text.find('$', begin + 1);
        if (close == std::string_view::npos)
            return std::nullopt;
        const std::string_view name = text.substr(begin + 1, close - begin - 1);
        if (name.find_first_of(c_forbidden) == std::string_view::npos)
            return VariableReference{begin, close + 1, name};
    }
    return std::nullopt;
}

} // namespace cntk
