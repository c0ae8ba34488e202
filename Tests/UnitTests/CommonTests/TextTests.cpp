// Numbers, words, did-you-mean, messages and characters in words.
#include "Common/Text.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>

namespace cntk
{
namespace
{

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TextTests, CaseAndBlanks)
{
    EXPECT_EQ(ToLower("AbC-1"), "abc-1");
    EXPECT_TRUE(EqualsIgnoreCase("minibatchSize", "MINIBATCHSIZE"));
    EXPECT_FALSE(EqualsIgnoreCase("a", "ab"));
    EXPECT_TRUE(LessIgnoreCase("B0", "w1"));
    EXPECT_TRUE(LessIgnoreCase("a", "B"));
    EXPECT_FALSE(LessIgnoreCase("A", "a"));
    EXPECT_EQ(Trim(" \t a b\r\n"), "a b");
    EXPECT_EQ(Trim("  "), "");
    EXPECT_THAT(Split("a::b", ':'), ElementsAre("a", "", "b"));
    EXPECT_THAT(Split("", ':'), ElementsAre(""));
    EXPECT_EQ(Join({"a", "b", "c"}, ", "), "a, b, c");
    EXPECT_EQ(Join({}, ", "), "");
}

TEST(TextTests, Doubles)
{
    const double infinity = std::numeric_limits<double>::infinity();
    for (const char* text : {"1#INF", "#inf", "1#INFx", "inf", "INFINITY", "1e400", "1.#INF", "+inf"})
        EXPECT_EQ(ParseDouble(text), infinity) << text;
    for (const char* text : {"-1#INF", "-#inf", "-inf", "-1.#Inf"})
        EXPECT_EQ(ParseDouble(text), -infinity) << text;
    for (const char* text : {"1#IND", "1.#IND", "-1.#IND", "nan", "1.#QNAN"})
        EXPECT_TRUE(std::isnan(ParseDouble(text).value_or(0))) << text;
    EXPECT_EQ(ParseDouble("0x10"), 16);
    EXPECT_EQ(ParseDouble("+.5"), 0.5);
    EXPECT_EQ(ParseDouble("-1e-3"), -0.001);
    EXPECT_EQ(ParseDouble("0.1"), 0.1);
    EXPECT_EQ(ParseDouble("1e-320"), 1e-320);
    for (const char* text : {"", "1.5abc", "x", "1 2", "1,5", "--1", "1#", "e5"})
        EXPECT_FALSE(ParseDouble(text)) << text;
}

TEST(TextTests, WholeNumbers)
{
    EXPECT_EQ(ParseInteger("-12"), -12);
    EXPECT_EQ(ParseInteger("+12"), 12);
    EXPECT_EQ(ParseInteger("9223372036854775807"), 9223372036854775807LL);
    for (const char* text : {"", "1.0", "0x10", "9223372036854775808", "+-1", "1 ", "+"})
        EXPECT_FALSE(ParseInteger(text)) << text;
    EXPECT_EQ(ParseSize("18446744073709551615"), 18446744073709551615ULL);
    EXPECT_FALSE(ParseSize("-1"));
    EXPECT_FALSE(ParseSize("18446744073709551616"));
}

TEST(TextTests, Booleans)
{
    for (const char* text : {"t", "T", "True", "TRUE", "true", "tRue", "1"})
        EXPECT_EQ(ParseBool(text), true) << text;
    for (const char* text : {"f", "F", "False", "FALSE", "false", "0", ""})
        EXPECT_EQ(ParseBool(text), false) << text;
    for (const char* text : {"yes", "2", "no", "tr"})
        EXPECT_FALSE(ParseBool(text)) << text;
}

TEST(TextTests, Cells)
{
    EXPECT_EQ(CellsOf(""), 0u);
    EXPECT_EQ(CellsOf("abc"), 3u);
    EXPECT_EQ(CellsOf("größe"), 5u);
    EXPECT_EQ(CellsOf("模型"), 4u);
    EXPECT_EQ(CellsOf("\U0001F600!"), 3u);
    EXPECT_EQ(CellsOf("e\u0301"), 1u);
    EXPECT_EQ(CellsOf("\x80\xff"), 2u);
    EXPECT_EQ(CellsOf("\xe6\xa8"), 1u); // cut off
}

TEST(TextTests, BeginOfCharacter)
{
    EXPECT_EQ(BeginOfCharacter("a模", 0), 0u);
    EXPECT_EQ(BeginOfCharacter("a模", 1), 1u);
    EXPECT_EQ(BeginOfCharacter("a模", 3), 1u);
    EXPECT_EQ(BeginOfCharacter("a模", 4), 4u);
    EXPECT_EQ(BeginOfCharacter("\x80\x80\x80\x80\x80", 4), 1u);
}

TEST(TextTests, NearestNames)
{
    const std::vector<std::string> names = {
        "minibatchSize", "maxEpochs",   "learningRatesPerMB", "learningRatesPerSample",
        "L1RegWeight",   "L2RegWeight", "dropoutRate"};
    EXPECT_THAT(NearestNames("minbatchSize", names), ElementsAre("minibatchSize"));
    EXPECT_THAT(NearestNames("MINIBATCHSIZE", names), ElementsAre("minibatchSize"));
    EXPECT_THAT(NearestNames("L3RegWeight", names), ElementsAre("L1RegWeight", "L2RegWeight"));
    EXPECT_THAT(NearestNames("learningRates", names), ElementsAre("learningRatesPerMB", "learningRatesPerSample"));
    EXPECT_THAT(NearestNames("dropuotRate", names), ElementsAre("dropoutRate"));
    EXPECT_THAT(NearestNames("qqq", names), IsEmpty());
    EXPECT_THAT(NearestNames("a", {"b", "c"}), IsEmpty());
    EXPECT_THAT(NearestNames("", names), IsEmpty());
    EXPECT_THAT(NearestNames("ab1", {"ab2", "ab3", "ab4", "ab5"}), ElementsAre("ab2", "ab3", "ab4"));
}

TEST(TextTests, DidYouMean)
{
    EXPECT_EQ(DidYouMean("x1", {"Train", "Test"}), "");
    EXPECT_EQ(DidYouMean("Tran", {"Train", "Write"}), "; did you mean 'Train'?");
    EXPECT_EQ(DidYouMean("W3", {"W1", "W2"}), "; did you mean 'W1' or 'W2'?");
    EXPECT_EQ(DidYouMean("W4", {"W1", "W2", "W3"}), "; did you mean 'W1', 'W2' or 'W3'?");
}

TEST(CountedTests, OneIsSingular)
{
    EXPECT_EQ(Counted(1, "row"), "1 row");
    EXPECT_EQ(Counted(0, "row"), "0 rows");
    EXPECT_EQ(Counted(21, "row"), "21 rows");
    EXPECT_EQ(Counted(2, "class"), "2 classes");
    EXPECT_EQ(Counted(2, "axis"), "2 axes");
    EXPECT_EQ(Counted(2, "minibatch"), "2 minibatches");
    EXPECT_EQ(Counted(2, "epoch"), "2 epochs");
    EXPECT_EQ(Counted(1, "entry"), "1 entry");
    EXPECT_EQ(Counted(3, "entry"), "3 entries");
}

TEST(OddCharactersTests, CharactersInWords)
{
    EXPECT_EQ(CharacterInWords("ab"), "'a'");
    EXPECT_EQ(CharacterInWords("\x01"), "the control character 1");
    EXPECT_EQ(CharacterInWords("\u2013x"), "'\u2013' (U+2013)");
    EXPECT_EQ(CharacterInWords("\xfcll"), "the byte 252, which is no UTF-8");
}

TEST(OddCharactersTests, NamesOfPrintableCharactersHaveNone)
{
    EXPECT_EQ(OddCharacterIn("name_1.W"), "");
    EXPECT_EQ(OddCharacterIn("a\x01"), "the control character 1");
    EXPECT_EQ(OddCharacterIn("\u20133"), "'\u2013' (U+2013)");
    EXPECT_EQ(OddCharacterIn("\U0001f600"), "'\U0001f600' (U+1F600)");
    EXPECT_EQ(OddCharacterIn("\xc3"), "the byte 195, which is no UTF-8");
}

TEST(OddCharactersTests, Lookalikes)
{
    EXPECT_EQ(LookalikeIn("data/m\u00fcller \u2013 train.txt"), "") << "letters and dashes are what they are";
    EXPECT_EQ(LookalikeIn("\u201ctrain\u201d"), "; it holds '\u201c' (U+201C)");
    EXPECT_EQ(LookalikeIn("x\u00a0y\u2019"), "; it holds '\u00a0' (U+00A0)");
}

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
