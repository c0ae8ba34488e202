// Small text functions: characters, case folding, splitting, strict numbers, messages, did-you-mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

inline bool IsDigit(char c)
{
    return uint8_t(c - '0') < 10;
}

// True for letters of the Latin alphabet in every locale.
inline bool IsLetter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// True for characters that may follow the first character of a name.
inline bool IsNameChar(char c)
{
    return IsDigit(c) || IsLetter(c) || c == '_';
}

// True for blanks, tabs and carriage returns, which separate values in data files.
inline bool IsBlank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

std::string ToLower(std::string_view text); // ASCII
bool EqualsIgnoreCase(std::string_view a, std::string_view b);
// Case-insensitive order, by which CNTK v1.1 sorts node names.
bool LessIgnoreCase(std::string_view a, std::string_view b);
std::string_view Trim(std::string_view text);
std::vector<std::string_view> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);

// Number of terminal cells that UTF-8 text takes: none for combining marks, two for wide characters (Chinese, emoji).
size_t CellsOf(std::string_view text);
// Returns the offset of the first byte of the UTF-8 character at the offset.
size_t BeginOfCharacter(std::string_view text, size_t offset);

// The whole text must be the number. ParseDouble accepts the forms of strtod and 1#INF, -1#INF, 1.#INF, 1#IND in any
// case.
std::optional<double> ParseDouble(std::string_view text);
std::optional<long long> ParseInteger(std::string_view text);
std::optional<unsigned long long> ParseSize(std::string_view text); // base 10, no minus sign
std::optional<bool> ParseBool(std::string_view text);               // t true 1 f false 0 and "", any case

// Returns candidates that the user may have meant, nearest first, without distant names. Case is ignored.
std::vector<std::string> NearestNames(std::string_view name, const std::vector<std::string>& candidates,
                                      size_t most = 3);
// "; did you mean 'x'?" / "; did you mean 'x' or 'y'?" / ""
std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates);

// "1 row", "2 rows" for the noun "row".
std::string Counted(size_t number, const char* noun);

// Describes the first character of a text: "'a'", "'–' (U+2013)", "the control character 1".
std::string CharacterInWords(std::string_view text);
// Describes the first character of a name that is not printable ASCII. Empty if there is none.
std::string OddCharacterIn(std::string_view name);
// "; it holds '“' (U+201C)" for a text with a character that editors and web pages put in place of a blank or a quote.
// Empty if there is none.
std::string LookalikeIn(std::string_view text);

// One part of a message. Numbers are printed as std::ostream prints them by default: 6 significant digits, booleans as
// 1 and 0. The functions are compiled once and need no streams, because most translation units build messages.
class MessagePart
{
public:
    explicit MessagePart(std::string_view text);
    explicit MessagePart(const std::string& text);
    explicit MessagePart(const char* text); // a null pointer is an empty text
    explicit MessagePart(char character);
    explicit MessagePart(int number);
    explicit MessagePart(unsigned number);
    explicit MessagePart(long number);
    explicit MessagePart(unsigned long number);
    explicit MessagePart(long long number);
    explicit MessagePart(unsigned long long number);
    explicit MessagePart(double number);
    // Ambiguous: std::ostream prints bytes as characters. Convert to char or int.
    explicit MessagePart(signed char) = delete;
    explicit MessagePart(unsigned char) = delete;
    MessagePart(const MessagePart&) = delete;
    MessagePart& operator=(const MessagePart&) = delete;

    std::string_view Text() const { return m_text; }

private:
    char m_number[32]; // 20 digits of a 64-bit number; "-1.23457e-308"
    std::string_view m_text;
};

std::string ConcatParts(std::initializer_list<MessagePart> parts);

// Concat("node '", name, "' has ", count, " inputs")
template <class... Parts>
std::string Concat(const Parts&... parts)
{
    return ConcatParts({MessagePart(parts)...});
}

} // namespace cntk
