// What messages say of characters that are not what they look like.
#include "Common/Text.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

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

} // namespace
} // namespace cntk
