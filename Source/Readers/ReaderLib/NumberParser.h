// Parses decimal numbers the way the text readers define them: integer part + fraction digits / 10^k in double, times
// pow(10, exponent). Numbers with more digits than that can take become the nearest double. Handles eight digits at a
// time: one pass counts them, three multiplications compute their value.
#pragma once

#include "Common/Text.h"

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
    // Readable bytes that must follow the text of a number: digits are loaded a word at a time.
    static constexpr size_t c_readAhead = 16;

    // terminators: the characters that may follow a number.
    NumberParser(char decimalPoint, std::string_view terminators);

    bool IsTerminator(char c) const { return m_isTerminator[uint8_t(c)]; }

    // Parses the number at `at` and returns the position of the terminator after it; null if the text up to the next
    // terminator is no number. Accepts "-1.5e-3", ".5", "5.", "+2"; not nan and inf (ParseWord).
    const char* Parse(const char* at, double& value) const
    {
        const bool negative = *at == '-';
        const char* digit = at + (negative | (*at == '+'));
        const uint8_t first = uint8_t(*digit - '0');
        const char second = first < 10 ? digit[1] : '\0';
        uint64_t digits;
        if (first < 10 && IsTerminator(second)) // the most frequent number has one digit
        {
            value = WithSign(first, negative);
            return digit + 1;
        }
        if (second == m_decimalPoint)
        {
            const size_t count = LoadDigits(digit + 2, digits);
            const char* end = digit + 2 + count;
            if (IsTerminator(*end)) [[likely]]
            {
                value = WithSign(first + double(int64_t(ValueOf(digits, count))) / c_powersOfTen[count], negative);
                return end;
            }
        }
        else if (const size_t count = LoadDigits(digit, digits); count > 0)
        {
            const char* end = digit + count;
            const double whole = double(int64_t(ValueOf(digits, count)));
            if (IsTerminator(*end))
            {
                value = WithSign(whole, negative);
                return end;
            }
            if (*end == m_decimalPoint)
            {
                const size_t fraction = LoadDigits(end + 1, digits);
                end += 1 + fraction;
                if (IsTerminator(*end)) [[likely]]
                {
                    value = WithSign(whole + double(int64_t(ValueOf(digits, fraction))) / c_powersOfTen[fraction],
                                     negative);
                    return end;
                }
            }
        }
        return ParseAnyForm(digit, negative, value);
    }

    // Parses "0 1 0 0 ", four numbers of one digit, at once: images and one-hot columns consist of them. Returns false
    // if the next eight characters have another form.
    template <class T>
    static bool ParseFourDigits(const char* at, T* values)
    {
        uint64_t text;
        std::memcpy(&text, at, sizeof text);
        const uint64_t digits = text & 0x000F000F000F000Fu;
        if ((text ^ digits) != 0x2030203020302030u || ((digits + 0x0006000600060006u) & 0x0010001000100010u) != 0)
            return false;
        values[0] = T(int(digits & 15));
        values[1] = T(int((digits >> 16) & 15));
        values[2] = T(int((digits >> 32) & 15));
        values[3] = T(int(digits >> 48));
        return true;
    }
    static constexpr size_t c_fourDigitsLength = 8;

    // Parses a whole token: nan, inf, infinity, 1#INF, 1.#INF, 1#IND, 1.#IND, 1.#QNAN, in any case, with or without a
    // sign.
    static bool ParseWord(std::string_view token, double& value);

private:
    static constexpr size_t c_group = 8;
    static constexpr size_t c_exponentTable = 64;
    static constexpr double c_powersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                               1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};

    static double WithSign(double value, bool negative)
    {
        return std::bit_cast<double>(std::bit_cast<uint64_t>(value) ^ (uint64_t(negative) << 63));
    }

    // Loads eight bytes, subtracts '0' from each, and returns the number of leading digits.
    static size_t LoadDigits(const char* at, uint64_t& digits)
    {
        std::memcpy(&digits, at, sizeof digits);
        digits ^= 0x3030303030303030u;
        const uint64_t others = ((digits + 0x7676767676767676u) | digits) & 0x8080808080808080u;
        return others == 0 ? c_group : size_t(std::countr_zero(others)) / 8;
    }

    // Returns the number that the first `count` of eight digits form.
    static uint64_t ValueOf(uint64_t digits, size_t count)
    {
        digits = count == 0 ? 0 : digits << (8 * (c_group - count)); // puts leading zeros in place of missing digits
        digits = digits * 10 + (digits >> 8);
        return ((digits & 0x000000FF000000FFu) * 0x000F424000000064u +
                ((digits >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u) >>
               32;
    }

    // Parses the whole grammar after the sign.
    const char* ParseAnyForm(const char* at, bool negative, double& value) const;
    // isExact: becomes false if a digit is dropped.
    static const char* ParseManyDigits(const char* at, double& value, bool& isExact);
    static const char* ParseLongFraction(const char* at, uint64_t first, double& value, bool& isExact);
    // Sets value to the double nearest to the number [begin, end). Leaves value alone if it is out of range.
    void ParseToNearest(const char* begin, const char* end, double& value) const;
    const char* ParseExponent(const char* at, double& value) const;

    char m_decimalPoint;
    std::array<bool, 256> m_isTerminator{};
    std::array<double, 2 * c_exponentTable + 1> m_exponents; // pow(10, i - c_exponentTable)
};

} // namespace cntk
