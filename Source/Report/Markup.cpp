#include "Report/Markup.h"

#include <charconv>
#include <cstdint>
#include <cstdio>

namespace cntk
{

namespace
{

constexpr std::string_view c_replacement = "\xEF\xBF\xBD"; // U+FFFD

// Returns the number of bytes of the UTF-8 character at the begin of the text; 0 if there is none.
size_t BytesOfCharacter(std::string_view text)
{
    const auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t(0); };
    const auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
    const uint8_t first = byte(0);
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF && continues(1))
        return 2;
    // Excludes overlong forms, surrogates, and numbers above U+10FFFF.
    if ((first & 0xF0) == 0xE0 && continues(1) && continues(2) && !(first == 0xE0 && byte(1) < 0xA0) &&
        !(first == 0xED && byte(1) > 0x9F))
        return 3;
    if (first >= 0xF0 && first <= 0xF4 && continues(1) && continues(2) && continues(3) &&
        !(first == 0xF0 && byte(1) < 0x90) && !(first == 0xF4 && byte(1) > 0x8F))
        return 4;
    return 0;
}

// Calls put for each character; an empty one stands for a byte that is no UTF-8.
template <class Put>
void ForEachCharacter(std::string_view text, const Put& put)
{
    while (!text.empty())
    {
        const size_t bytes = BytesOfCharacter(text);
        put(text.substr(0, bytes));
        text.remove_prefix(bytes == 0 ? 1 : bytes);
    }
}

bool IsForbiddenInXml(std::string_view character)
{
    return character.empty() || (character.size() == 1 && uint8_t(character[0]) < 0x20 && character != "\t" &&
                                 character != "\n" && character != "\r");
}

} // namespace

std::string EscapeMarkup(std::string_view text)
{
    std::string escaped;
    ForEachCharacter(text,
                     [&](std::string_view character)
                     {
                         if (IsForbiddenInXml(character))
                             escaped += c_replacement;
                         else if (character == "&")
                             escaped += "&amp;";
                         else if (character == "<")
                             escaped += "&lt;";
                         else if (character == ">")
                             escaped += "&gt;";
                         else if (character == "\"")
                             escaped += "&quot;";
                         else if (character == "'")
                             escaped += "&#39;";
                         else
                             escaped += character;
                     });
    return escaped;
}

std::string ValidUtf8(std::string_view text)
{
    std::string valid;
    ForEachCharacter(text, [&](std::string_view character) { valid += character.empty() ? c_replacement : character; });
    return valid;
}

std::string CsvField(std::string_view text)
{
    if (text.find_first_of(",\"\r\n") == std::string_view::npos)
        return std::string(text);
    std::string field = "\"";
    for (const char c : text)
        field += c == '"' ? "\"\"" : std::string(1, c);
    return field + "\"";
}

std::string ShortestNumber(double value)
{
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::string RoundedNumber(double value, int digits)
{
    char text[64];
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    return text;
}

} // namespace cntk
