// Parts of messages are printed as std::ostream prints them.
#include "Common/Text.h"

#include <gtest/gtest.h>
#include <limits>
#include <sstream>

namespace cntk
{
namespace
{

template <class T>
void ExpectAsStream(const T& part)
{
    std::ostringstream stream;
    stream << part;
    EXPECT_EQ(Concat(part), stream.str());
}

TEST(MessageTests, TextsStandForThemselves)
{
    const std::string text("a\0b", 3);
    EXPECT_EQ(Concat(), "");
    EXPECT_EQ(Concat("node '", text, "'", std::string_view("xyz").substr(1), '!', ""),
              std::string("node 'a\0b'yz!", 13));
    const char* const none = nullptr;
    EXPECT_EQ(Concat("[", none, "]"), "[]");
}

TEST(MessageTests, WholeNumbersAreThoseOfStreams)
{
    ExpectAsStream(0);
    ExpectAsStream(-7);
    ExpectAsStream(true);
    ExpectAsStream(short{-3});
    ExpectAsStream(7u);
    ExpectAsStream(std::numeric_limits<long>::min());
    ExpectAsStream(std::numeric_limits<long long>::min());
    ExpectAsStream(std::numeric_limits<unsigned long>::max());
    ExpectAsStream(std::numeric_limits<unsigned long long>::max());
}

TEST(MessageTests, RealNumbersAreThoseOfStreams)
{
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double number : {0.0,
                                -0.0,
                                1.0,
                                0.1,
                                1.0 / 3,
                                -2.5e-5,
                                123456.0,
                                1234567.0,
                                999999.5,
                                1e5,
                                1e6,
                                0.0001,
                                0.00001,
                                -1.2345678e-308,
                                5e-324,
                                1.7976931348623157e308,
                                infinity,
                                -infinity,
                                std::numeric_limits<double>::quiet_NaN(),
                                -std::numeric_limits<double>::quiet_NaN()})
    {
        ExpectAsStream(number);
        ExpectAsStream(static_cast<float>(number));
    }
}

} // namespace
} // namespace cntk
