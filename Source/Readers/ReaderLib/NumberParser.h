// Parses decimal numbers as the text readers define them: integer part + fraction digits / 10^k in double, times
// pow(10, exponent). Eight digits at a time: one pass finds how many there are, three multiplications give their value.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cntk
{

static_assert(std::endian::native == std::endian::little, "digits are taken from a little-endian word");

class NumberParser
{
public:
    // The text behind a number must be readable for that many bytes: digits are loaded a word at a time.
    static constexpr size_t c_readAhead = 16;

    explicit NumberParser(char decimalPoint = '.');

    // Reads a number at `at` and returns the position behind it; null if none begins there. Takes "-1.5e-3", ".5",
    // "5.",
    // "+2"; not nan and inf (ParseNumberWord).
    const char* Parse(const char* at, double& value) const
    {
        const bool negative = *at == '-';
        at += negative || *at == '+';
        uint64_t digits;
        size_t count = LoadDigits(at, digits);
        at += count;
        double result = double(int64_t(ValueOf(digits, count)));
        if (count == c_group && IsDigit(*at)) [[unlikely]]
            at = ParseManyDigits(at, result);
        if (*at == m_decimalPoint)
        {
            ++at;
            const size_t fractionCount = LoadDigits(at, digits);
            at += fractionCount;
            if (fractionCount == c_group && IsDigit(*at))
            {
                at = ParseLongFraction(at, ValueOf(digits, fractionCount), result);
            }
            else
            {
                if (count + fractionCount == 0)
                    return nullptr;
                result += double(int64_t(ValueOf(digits, fractionCount))) / c_powersOfTen[fractionCount];
            }
        }
        else if (count == 0)
        {
            return nullptr;
        }
        if ((*at | 0x20) == 'e') [[unlikely]]
            at = ParseExponent(at, result);
        value = negative ? -result : result;
        return at;
    }

    // A whole token: nan, inf, infinity, 1#INF, 1.#INF, 1#IND, 1.#IND, 1.#QNAN with or without a sign, in any case.
    static bool ParseWord(std::string_view token, double& value);

private:
    static constexpr size_t c_group = 8;
    static constexpr size_t c_exponentTable = 64;
    static constexpr double c_powersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                               1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};

    static bool IsDigit(char c) { return uint8_t(c - '0') < 10; }

    // Loads eight bytes with '0' taken off and counts the digits they begin with.
    static size_t LoadDigits(const char* at, uint64_t& digits)
    {
        std::memcpy(&digits, at, sizeof digits);
        digits ^= 0x3030303030303030u;
        const uint64_t others = ((digits + 0x7676767676767676u) | digits) & 0x8080808080808080u;
        return others == 0 ? c_group : size_t(std::countr_zero(others)) / 8;
    }

    // The number that the first `count` of the eight digits make.
    static uint64_t ValueOf(uint64_t digits, size_t count)
    {
        digits = count == 0 ? 0 : digits << (8 * (c_group - count)); // leading zeros for those that are missing
        digits = digits * 10 + (digits >> 8);
        return ((digits & 0x000000FF000000FFu) * 0x000F424000000064u +
                ((digits >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u) >>
               32;
    }

    const char* ParseManyDigits(const char* at, double& value) const;
    const char* ParseLongFraction(const char* at, uint64_t first, double& value) const;
    const char* ParseExponent(const char* at, double& value) const;

    char m_decimalPoint;
    std::array<double, 2 * c_exponentTable + 1> m_exponents; // pow(10, i - c_exponentTable)
};

} // namespace cntk
