// The rare forms of a number: many digits, exponents, words.
#include "Readers/ReaderLib/NumberParser.h"

#include "Common/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <system_error>

namespace cntk
{

NumberParser::NumberParser(char decimalPoint, std::string_view terminators) : m_decimalPoint(decimalPoint)
{
    for (const char c : terminators)
        m_isTerminator[uint8_t(c)] = true;
    for (size_t i = 0; i < m_exponents.size(); ++i)
        m_exponents[i] = std::pow(10.0, double(i) - double(c_exponentTable));
}

const char* NumberParser::ParseAnyForm(const char* at, bool negative, double& value) const
{
    const char* const begin = at;
    bool isExact = true;
    uint64_t digits;
    const size_t count = LoadDigits(at, digits);
    at += count;
    double result = double(int64_t(ValueOf(digits, count)));
    if (count == c_group)
        at = ParseManyDigits(at, result, isExact);
    size_t fractionCount = 0;
    if (*at == m_decimalPoint)
    {
        ++at;
        fractionCount = LoadDigits(at, digits);
        at += fractionCount;
        const uint64_t fraction = ValueOf(digits, fractionCount);
        if (fractionCount == c_group && IsDigit(*at))
            at = ParseLongFraction(at, fraction, result, isExact);
        else
            result += double(int64_t(fraction)) / c_powersOfTen[fractionCount];
    }
    if (count + fractionCount == 0)
        return nullptr;
    if ((*at | 0x20) == 'e')
        at = ParseExponent(at, result);
    if (!isExact)
        ParseToNearest(begin, at, result);
    value = WithSign(result, negative);
    return IsTerminator(*at) ? at : nullptr;
}

const char* NumberParser::ParseManyDigits(const char* at, double& value, bool& isExact)
{
    constexpr double c_nextDigitIsNineteenth = 1e17;
    for (; IsDigit(*at); ++at)
    {
        isExact = isExact && value < c_nextDigitIsNineteenth;
        value = value * 10 + (*at - '0');
    }
    return at;
}

const char* NumberParser::ParseLongFraction(const char* at, uint64_t first, double& value, bool& isExact)
{
    uint64_t digits;
    const size_t count = LoadDigits(at, digits);
    uint64_t fraction = first * uint64_t(c_powersOfTen[count]) + ValueOf(digits, count);
    size_t used = c_group + count;
    at += count;
    // A double holds fewer than 18 significant digits.
    constexpr uint64_t c_enough = 100000000000000000;
    for (; IsDigit(*at) && fraction < c_enough; ++at, ++used)
        fraction = fraction * 10 + uint64_t(*at - '0');
    isExact = isExact && !IsDigit(*at);
    while (IsDigit(*at))
        ++at;
    value += double(int64_t(fraction)) /
             (used < std::size(c_powersOfTen) ? c_powersOfTen[used] : std::pow(10.0, double(used)));
    return at;
}

void NumberParser::ParseToNearest(const char* begin, const char* end, double& value) const
{
    std::string text; // with '.' as the decimal point, for std::from_chars
    if (m_decimalPoint != '.')
    {
        text.assign(begin, end);
        std::replace(text.begin(), text.end(), m_decimalPoint, '.');
        begin = text.data();
        end = begin + text.size();
    }
    double nearest = 0;
    if (std::from_chars(begin, end, nearest).ec == std::errc())
        value = nearest;
}

const char* NumberParser::ParseExponent(const char* at, double& value) const
{
    const char* digit = at + 1;
    const bool negative = *digit == '-';
    digit += negative || *digit == '+';
    if (!IsDigit(*digit))
        return at; // "1e" is no number: 'e' is no separator
    constexpr int c_far = 100000;
    int exponent = 0;
    for (; IsDigit(*digit); ++digit)
        exponent = exponent < c_far ? exponent * 10 + (*digit - '0') : exponent;
    if (negative)
        exponent = -exponent;
    const bool inTable = size_t(std::abs(exponent)) <= c_exponentTable;
    if (value != 0) // 0e999 is 0 and not NaN
        value *= inTable ? m_exponents[size_t(exponent + int(c_exponentTable))] : std::pow(10.0, double(exponent));
    return digit;
}

bool NumberParser::ParseWord(std::string_view token, double& value)
{
    const bool negative = !token.empty() && token[0] == '-';
    if (!token.empty() && (token[0] == '-' || token[0] == '+'))
        token.remove_prefix(1);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    constexpr struct
    {
        const char* word;
        double value;
    } words[] = {{"inf", infinity}, {"infinity", infinity}, {"1#inf", infinity}, {"1.#inf", infinity}, {"nan", nan},
                 {"1#ind", nan},    {"1.#ind", nan},        {"1.#qnan", nan},    {"1#qnan", nan}};
    for (const auto& entry : words)
    {
        if (EqualsIgnoreCase(token, entry.word))
        {
            value = negative ? -entry.value : entry.value;
            return true;
        }
    }
    return false;
}

} // namespace cntk
