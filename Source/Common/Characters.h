// What the grammars of configs, scripts and data files call digits, letters and blanks.
#pragma once

#include <cstdint>

namespace cntk
{

inline bool IsDigit(char c)
{
    return uint8_t(c - '0') < 10;
}

// Of the names of the languages: the Latin alphabet, whatever the locale.
inline bool IsLetter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// What a name is made of behind its first character.
inline bool IsNameChar(char c)
{
    return IsDigit(c) || IsLetter(c) || c == '_';
}

// Blanks, tabs and carriage returns separate values.
inline bool IsBlank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

} // namespace cntk
