// Numbers are parsed strictly: the whole text must be a number.
#include "Common/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>

namespace cntk
{

namespace
{

char LowerOf(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool StartsWithIgnoreCase(std::string_view text, std::string_view start)
{
    return text.size() >= start.size() && EqualsIgnoreCase(text.substr(0, start.size()), start);
}

// Parses the ends of 1#INF, -1.#INF, 1.#IND and 1.#QNAN, by which Microsoft's printf writes infinity and NaN. Same as
// CNTK v1.1, any text after #inf is ignored.
std::optional<double> ParseMicrosoftSpecial(bool isNegative, std::string_view rest)
{
    const double infinity = std::numeric_limits<double>::infinity();
    if (StartsWithIgnoreCase(rest, "#inf"))
        return isNegative ? -infinity : infinity;
    if (EqualsIgnoreCase(rest, "#ind") || EqualsIgnoreCase(rest, "#qnan"))
        return std::numeric_limits<double>::quiet_NaN();
    return std::nullopt;
}

std::string_view WithoutPlus(std::string_view text)
{
    if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+')
        text.remove_prefix(1);
    return text;
}

template <class T>
std::optional<T> ParseWhole(std::string_view text)
{
    text = WithoutPlus(text);
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

// Number of edits between two lower-case words. A swap of neighbours is one edit (optimal string alignment).
size_t EditDistance(std::string_view a, std::string_view b)
{
    std::vector<size_t> beforeLast(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    std::iota(last.begin(), last.end(), size_t{0});
    for (size_t i = 1; i <= a.size(); ++i)
    {
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j)
        {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], beforeLast[j - 2] + 1);
        }
        beforeLast.swap(last);
        last.swap(row);
    }
    return last[b.size()];
}

} // namespace

std::string ToLower(std::string_view text)
{
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(), LowerOf);
    return lower;
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b)
{
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return LowerOf(x) == LowerOf(y); });
}

bool LessIgnoreCase(std::string_view a, std::string_view b)
{
    return std::lexicographical_compare(
        a.begin(), a.end(), b.begin(), b.end(),
        [](char x, char y) { return static_cast<unsigned char>(LowerOf(x)) < static_cast<unsigned char>(LowerOf(y)); });
}

std::string_view Trim(std::string_view text)
{
    constexpr std::string_view c_white = " \t\r\n\v\f";
    const size_t begin = text.find_first_not_of(c_white);
    if (begin == std::string_view::npos)
        return text.substr(0, 0); // keeps the position in the text
    return text.substr(begin, text.find_last_not_of(c_white) - begin + 1);
}

std::vector<std::string_view> Split(std::string_view text, char separator)
{
    std::vector<std::string_view> parts;
    size_t begin = 0;
    for (size_t end; (end = text.find(separator, begin)) != std::string_view::npos; begin = end + 1)
        parts.push_back(text.substr(begin, end - begin));
    parts.push_back(text.substr(begin));
    return parts;
}

namespace
{

bool ContinuesCharacter(char c)
{
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// Decodes the first code point of the text. Bytes that are not UTF-8 have their own value.
uint32_t FirstCodePoint(std::string_view text, size_t length)
{
    const auto lead = static_cast<unsigned char>(text[0]);
    if (length == 1 || lead < 0xC0)
        return lead;
    uint32_t code = lead & (0x7Fu >> length);
    for (const char c : text.substr(1, length - 1))
        code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
    return code;
}

struct CodeRange
{
    uint32_t first;
    uint32_t last;
};

bool IsIn(uint32_t code, std::span<const CodeRange> ranges)
{
    return std::any_of(ranges.begin(), ranges.end(),
                       [code](const CodeRange& range) { return range.first <= code && code <= range.last; });
}

} // namespace

size_t BeginOfCharacter(std::string_view text, size_t offset)
{
    const size_t given = offset;
    while (offset > 0 && offset < text.size() && given - offset < 3 && ContinuesCharacter(text[offset]))
        --offset;
    return offset;
}

size_t CellsOf(std::string_view text)
{
    static constexpr CodeRange c_combining[] = {{0x300, 0x36F}, {0x1AB0, 0x1AFF}, {0x200B, 0x200F}, {0xFE00, 0xFE0F}};
    static constexpr CodeRange c_wide[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF}, {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
                                           {0xFE30, 0xFE6F}, {0xFF00, 0xFF60}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
    size_t cells = 0;
    while (!text.empty())
    {
        size_t length = 1;
        while (length < std::min<size_t>(text.size(), 4) && ContinuesCharacter(text[length]))
            ++length;
        const uint32_t code = FirstCodePoint(text, length);
        cells += IsIn(code, c_combining) ? 0 : IsIn(code, c_wide) ? 2 : 1;
        text.remove_prefix(length);
    }
    return cells;
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator)
{
    std::string result;
    for (size_t i = 0; i < parts.size(); ++i)
    {
        if (i > 0)
            result += separator;
        result += parts[i];
    }
    return result;
}

std::optional<double> ParseDouble(std::string_view text)
{
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && !text.empty())
        return value;

    // Handles rare forms: hexadecimal, a plus sign, overflow to infinity, leading blanks, 1#INF.
    const std::string copy(text);
    char* rest = nullptr;
    value = std::strtod(copy.c_str(), &rest);
    const std::string_view left = std::string_view(copy).substr(static_cast<size_t>(rest - copy.c_str()));
    if (left.empty() && !copy.empty())
        return value;
    if (left.starts_with('#'))
        return ParseMicrosoftSpecial(std::signbit(value), left);
    if (left == copy && left.size() > 1 && left[0] == '-' && left[1] == '#')
        return ParseMicrosoftSpecial(true, left.substr(1));
    return std::nullopt;
}

std::optional<long long> ParseInteger(std::string_view text)
{
    return ParseWhole<long long>(text);
}

std::optional<unsigned long long> ParseSize(std::string_view text)
{
    return ParseWhole<unsigned long long>(text);
}

std::optional<bool> ParseBool(std::string_view text)
{
    if (text == "1" || EqualsIgnoreCase(text, "t") || EqualsIgnoreCase(text, "true"))
        return true;
    if (text.empty() || text == "0" || EqualsIgnoreCase(text, "f") || EqualsIgnoreCase(text, "false"))
        return false;
    return std::nullopt;
}

std::vector<std::string> NearestNames(std::string_view name, const std::vector<std::string>& candidates, size_t most)
{
    const std::string wanted = ToLower(name);
    std::vector<std::pair<size_t, const std::string*>> near;
    for (const std::string& candidate : candidates)
    {
        const std::string other = ToLower(candidate);
        const size_t shorter = std::min(wanted.size(), other.size());
        const size_t longer = std::max(wanted.size(), other.size());
        const size_t limit = std::max<size_t>(1, shorter / 3);
        const bool isStart = shorter >= 4 && (wanted.starts_with(other) || other.starts_with(wanted));
        if (shorter == 0 || (longer - shorter > limit && !isStart))
            continue;
        size_t distance = EditDistance(wanted, other);
        if (isStart)
            distance = std::min(distance, limit);
        if (distance <= limit && (2 * distance <= shorter))
            near.emplace_back(distance, &candidate);
    }
    std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });

    std::vector<std::string> result;
    for (const auto& [distance, candidate] : near)
    {
        // A name with one wrong letter needs no suggestions at a larger distance.
        if (result.size() == most || distance > near.front().first + 1)
            break;
        if (std::find(result.begin(), result.end(), *candidate) == result.end())
            result.push_back(*candidate);
    }
    return result;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates)
{
    const std::vector<std::string> near = NearestNames(name, candidates);
    if (near.empty())
        return {};
    std::string text = "; did you mean '" + near[0] + '\'';
    for (size_t i = 1; i < near.size(); ++i)
        text += (i + 1 < near.size() ? ", '" : " or '") + near[i] + '\'';
    return text + '?';
}

namespace
{

template <class Number, class... Format>
std::string_view PrintInto(char (&buffer)[32], Number number, Format... format)
{
    return {buffer, static_cast<size_t>(std::to_chars(buffer, buffer + sizeof buffer, number, format...).ptr - buffer)};
}

} // namespace

MessagePart::MessagePart(std::string_view text) : m_text(text) {}
MessagePart::MessagePart(const std::string& text) : m_text(text) {}
MessagePart::MessagePart(const char* text) : m_text(text != nullptr ? std::string_view(text) : std::string_view()) {}
MessagePart::MessagePart(char character) : m_number{character}, m_text(m_number, 1) {}
MessagePart::MessagePart(int number) : m_text(PrintInto(m_number, number)) {}
MessagePart::MessagePart(unsigned number) : m_text(PrintInto(m_number, number)) {}
MessagePart::MessagePart(long number) : m_text(PrintInto(m_number, number)) {}
MessagePart::MessagePart(unsigned long number) : m_text(PrintInto(m_number, number)) {}
MessagePart::MessagePart(long long number) : m_text(PrintInto(m_number, number)) {}
MessagePart::MessagePart(unsigned long long number) : m_text(PrintInto(m_number, number)) {}
MessagePart::MessagePart(double number) : m_text(PrintInto(m_number, number, std::chars_format::general, 6)) {}

std::string ConcatParts(std::initializer_list<MessagePart> parts)
{
    std::string message;
    for (const MessagePart& part : parts)
        message += part.Text();
    return message;
}

std::string Counted(size_t number, const char* noun)
{
    std::string text = std::to_string(number) + " " + noun;
    if (number == 1)
        return text;
    const std::string_view word(noun);
    if (word.ends_with("ry")) // entry
        return text.replace(text.size() - 1, 1, "ies");
    if (word.ends_with("xis")) // axis
        return text.replace(text.size() - 2, 2, "es");
    return text + (word.ends_with("s") || word.ends_with("tch") ? "es" : "s"); // class, minibatch; epoch
}

std::string CharacterInWords(std::string_view text)
{
    const auto first = static_cast<unsigned char>(text.empty() ? ' ' : text[0]);
    if (first < ' ' || first == 0x7f)
        return Concat("the control character ", int(first));
    if (first < 0x80)
        return Concat("'", text[0], "'");
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    unsigned code = first & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++)
    {
        const unsigned next = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
        if (first < 0xc0 || next >> 6 != 2)
            return Concat("the byte ", int(first), ", which is no UTF-8");
        code = code << 6 | (next & 0x3f);
    }
    char number[16];
    std::snprintf(number, sizeof number, "U+%04X", code);
    return Concat("'", text.substr(0, length), "' (", number, ")");
}

std::string OddCharacterIn(std::string_view name)
{
    const auto odd = std::find_if(name.begin(), name.end(), [](char c) { return c <= ' ' || c > '~'; });
    return odd == name.end() ? std::string() : CharacterInWords(name.substr(static_cast<size_t>(odd - name.begin())));
}

std::string LookalikeIn(std::string_view text)
{
    // No-break and zero-width blanks, quotes, the byte order mark.
    constexpr std::string_view lookalikes[] = {"\u00a0", "\u200b", "\u2018", "\u2019", "\u201c",
                                               "\u201d", "\u201e", "\u202f", "\ufeff"};
    size_t first = text.size();
    for (const std::string_view lookalike : lookalikes)
        first = std::min(first, text.find(lookalike));
    return first == text.size() ? std::string() : "; it holds " + CharacterInWords(text.substr(first));
}

} // namespace cntk
