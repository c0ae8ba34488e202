// Messages put together from texts and numbers. A thousand places do so, and most translation units: the work is in
// functions that are compiled once, and this header needs no streams.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace cntk
{

// One part of a message, for as long as the text that it was made from. Texts and characters stand for themselves;
// numbers are printed as std::ostream prints them by default: 6 significant digits, booleans as 1 and 0.
class MessagePart
{
public:
    explicit MessagePart(std::string_view text);
    explicit MessagePart(const std::string& text);
    explicit MessagePart(const char* text); // nothing for a null pointer
    explicit MessagePart(char character);
    explicit MessagePart(int number);
    explicit MessagePart(unsigned number);
    explicit MessagePart(long number);
    explicit MessagePart(unsigned long number);
    explicit MessagePart(long long number);
    explicit MessagePart(unsigned long long number);
    explicit MessagePart(double number);
    // Bytes are characters to std::ostream: say which of both is meant.
    explicit MessagePart(signed char) = delete;
    explicit MessagePart(unsigned char) = delete;

    void AppendTo(std::string& message) const;

private:
    enum class Kind
    {
        Text,
        Character,
        Signed,
        Unsigned,
        Real
    };

    Kind m_kind;
    union
    {
        std::string_view m_text;
        char m_character;
        long long m_signed;
        unsigned long long m_unsigned;
        double m_real;
    };
};

std::string ConcatParts(std::initializer_list<MessagePart> parts);

// Concat("node '", name, "' has ", count, " inputs")
template <class... Parts>
std::string Concat(const Parts&... parts)
{
    return ConcatParts({MessagePart(parts)...});
}

} // namespace cntk
