// The number grammar of text readers: the rounding of CNTK v1.1, and forms that CNTK v1.1 read incorrectly.
#include "Readers/ReaderLib/NumberParser.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <string>

namespace cntk
{
namespace
{

// Returns the value if the whole text is a number, else nan.
double Value(std::string text, char point = '.')
{
    const size_t size = text.size();
    text.append(NumberParser::c_readAhead, '\n');
    double value = 0;
    const NumberParser parser(point, " \n");
    const char* end = parser.Parse(text.c_str(), value);
    return end == text.c_str() + size ? value : std::nan("");
}

TEST(NumberParserTests, PlainForms)
{
    EXPECT_EQ(Value("0"), 0.0);
    EXPECT_EQ(Value("7"), 7.0);
    EXPECT_EQ(Value("254"), 254.0);
    EXPECT_EQ(Value("-12.5"), -12.5);
    EXPECT_EQ(Value("+3"), 3.0);
    EXPECT_EQ(Value(".5"), 0.5);
    EXPECT_EQ(Value("5."), 5.0);
    EXPECT_EQ(Value("-.25"), -0.25);
    EXPECT_EQ(Value("12345678"), 12345678.0);
    EXPECT_EQ(Value("123456789012"), 123456789012.0);
    EXPECT_EQ(Value("0.00000001"), 0.00000001);
    EXPECT_EQ(Value("1e3"), 1000.0);
    EXPECT_EQ(Value("2.5E+2"), 250.0);
    EXPECT_EQ(Value("0,75", ','), 0.75);
    EXPECT_TRUE(std::signbit(Value("-0")));
}

TEST(NumberParserTests, RoundsAsTheOriginal)
{
    EXPECT_EQ(Value("1.5e-1"), 1.5 * std::pow(10.0, -1)); // not 0.15
    EXPECT_EQ(Value("-0.127551"), -(127551 / 1e6));
    EXPECT_EQ(Value("3.14159265"), 3 + 14159265 / 1e8);
    EXPECT_EQ(Value("3.141592653589793"), 3 + 141592653589793 / 1e15);
    EXPECT_EQ(Value("1e-300"), std::pow(10.0, -300));
    EXPECT_EQ(Value("1e999"), INFINITY);
    EXPECT_EQ(Value("0e999"), 0.0);
    EXPECT_EQ(Value("1e-99999999999999999999"), 0.0);
}

// Numbers with more digits than the formula takes: the dropped digits count too.
TEST(NumberParserTests, ManyDigitsGiveTheNearestNumber)
{
    std::mt19937 random(1);
    const auto digits = [&](size_t count)
    {
        std::string text;
        for (size_t i = 0; i < count; ++i)
            text += char('0' + random() % 10);
        return text;
    };
    size_t others = 0; // where 18 digits of the fraction give another number
    for (int i = 0; i < 20000; ++i)
    {
        const std::string fraction = "1" + digits(18 + random() % 40);
        const std::string whole = digits(1 + random() % 3);
        const std::string exponent = i % 3 == 0 ? "e-" + digits(2) : "";
        const std::string text = whole + "." + fraction + exponent;
        ASSERT_EQ(Value(text), std::strtod(text.c_str(), nullptr)) << text;
        ASSERT_EQ(Value("-" + whole + "," + fraction + exponent, ','), -std::strtod(text.c_str(), nullptr)) << text;
        const std::string large = "1" + digits(18 + random() % 40) + exponent;
        ASSERT_EQ(Value(large), std::strtod(large.c_str(), nullptr)) << large;
        others += Value(text) != Value(whole + "." + fraction.substr(0, 18) + exponent) ? 1 : 0;
    }
    EXPECT_GT(others, 100u);
    EXPECT_EQ(Value("0.123456789012345678"), double(123456789012345678) / 1e18);
    EXPECT_EQ(Value("1234567890123456789e999"), INFINITY);
    EXPECT_TRUE(std::isnan(Value("1234567890123456789e")));
    EXPECT_TRUE(std::isnan(Value("0.1234567890123456789.5")));
}

TEST(NumberParserTests, NotNumbers)
{
    for (const char* text :
         {"", "-", "+", ".", "-.", "e5", "abc", "1e", "1e+", "1.2.3", "--1", "1-", "0x10", "nan", "1,5"})
        EXPECT_TRUE(std::isnan(Value(text))) << text;
}

TEST(NumberParserTests, FourDigitsAtOnce)
{
    float values[4] = {};
    EXPECT_TRUE(NumberParser::ParseFourDigits("0 1 9 5 x", values));
    EXPECT_EQ(values[0], 0.0f);
    EXPECT_EQ(values[1], 1.0f);
    EXPECT_EQ(values[2], 9.0f);
    EXPECT_EQ(values[3], 5.0f);
    for (const char* text :
         {"0 1 9 5x", "0 1 9 .5", "0 : 9 5 ", "10 1 9 5", "0 1 9 - ", "0 1  9 5", "a 1 9 5 ", "? 1 9 5 "})
        EXPECT_FALSE(NumberParser::ParseFourDigits(text, values)) << text;
}

TEST(NumberParserTests, NearStrtod)
{
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (const char* format : {"%.3f", "%.6f", "%.9f", "%.12f", "%.17f", "%.25f", "%.17g", "%.6e", "%.0f"})
    {
        for (int i = 0; i < 2000; ++i)
        {
            char text[64];
            const double scale = std::pow(10.0, double(i % 13));
            std::snprintf(text, sizeof text, format, uniform(random) * scale);
            const double expected = std::strtod(text, nullptr);
            ASSERT_NEAR(Value(text), expected, 5e-16 * std::fabs(expected) + 1e-300) << text;
        }
    }
}

TEST(NumberParserTests, EveryLength)
{
    std::string whole;
    for (int digits = 1; digits <= 24; ++digits)
    {
        whole += char('0' + digits % 10);
        const std::string fraction = "0." + whole;
        EXPECT_NEAR(Value(whole), std::strtod(whole.c_str(), nullptr), 4e-16 * Value(whole)) << whole;
        EXPECT_NEAR(Value(fraction), std::strtod(fraction.c_str(), nullptr), 1e-16) << fraction;
    }
    EXPECT_EQ(Value("0." + std::string(400, '0') + "1"), 0.0);
    EXPECT_NEAR(Value("0." + std::string(400, '9')), 1.0, 1e-15);
}

TEST(NumberParserTests, Words)
{
    double value = 0;
    EXPECT_TRUE(NumberParser::ParseWord("-inf", value));
    EXPECT_EQ(value, -INFINITY);
    EXPECT_TRUE(NumberParser::ParseWord("1.#INF", value));
    EXPECT_EQ(value, INFINITY);
    EXPECT_TRUE(NumberParser::ParseWord("NaN", value));
    EXPECT_TRUE(std::isnan(value));
    EXPECT_FALSE(NumberParser::ParseWord("infant", value));
    EXPECT_FALSE(NumberParser::ParseWord("", value));
}

} // namespace
} // namespace cntk
