// Numbers in messages are those of std::ostream: printf's %g and %d in the "C" locale, which is what std::to_chars
// writes.
#include "Common/Message.h"

#include <charconv>

namespace cntk
{

MessagePart::MessagePart(std::string_view text) : m_kind(Kind::Text), m_text(text) {}

MessagePart::MessagePart(const std::string& text) : m_kind(Kind::Text), m_text(text) {}

MessagePart::MessagePart(const char* text)
    : m_kind(Kind::Text), m_text(text != nullptr ? std::string_view(text) : std::string_view())
{
}

MessagePart::MessagePart(char character) : m_kind(Kind::Character), m_character(character) {}

MessagePart::MessagePart(int number) : m_kind(Kind::Signed), m_signed(number) {}

MessagePart::MessagePart(unsigned number) : m_kind(Kind::Unsigned), m_unsigned(number) {}

MessagePart::MessagePart(long number) : m_kind(Kind::Signed), m_signed(number) {}

MessagePart::MessagePart(unsigned long number) : m_kind(Kind::Unsigned), m_unsigned(number) {}

MessagePart::MessagePart(long long number) : m_kind(Kind::Signed), m_signed(number) {}

MessagePart::MessagePart(unsigned long long number) : m_kind(Kind::Unsigned), m_unsigned(number) {}

MessagePart::MessagePart(double number) : m_kind(Kind::Real), m_real(number) {}

void MessagePart::AppendTo(std::string& message) const
{
    char number[32]; // 20 digits of a 64-bit number; "-1.23457e-308"
    char* const end = number + sizeof number;
    switch (m_kind)
    {
    case Kind::Text:
        message += m_text;
        return;
    case Kind::Character:
        message += m_character;
        return;
    case Kind::Signed:
        message.append(number, std::to_chars(number, end, m_signed).ptr);
        return;
    case Kind::Unsigned:
        message.append(number, std::to_chars(number, end, m_unsigned).ptr);
        return;
    case Kind::Real:
        message.append(number, std::to_chars(number, end, m_real, std::chars_format::general, 6).ptr);
        return;
    }
}

std::string ConcatParts(std::initializer_list<MessagePart> parts)
{
    std::string message;
    for (const MessagePart& part : parts)
        part.AppendTo(message);
    return message;
}

} // namespace cntk
