// What the grammars of text files call a digit and a blank.
#pragma once

#include <cstdint>

namespace cntk
{

inline bool IsDigit(char c)
{
    return uint8_t(c - '0') < 10;
}

// Blanks, tabulators and carriage returns separate values.
inline bool IsBlank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

} // namespace cntk
