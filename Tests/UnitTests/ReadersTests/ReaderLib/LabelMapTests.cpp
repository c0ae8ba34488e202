// Label maps: the grammar of mapping files, look-up, messages, saving.
#include "Readers/ReaderLib/LabelMap.h"
#include "ReadersTests/ReaderTestTools.h"

namespace cntk
{
namespace
{

using Names = std::vector<std::string>;

Names NamesOf(std::string_view text)
{
    return LabelMap::FromText(text, "map.txt").Names();
}

TEST(LabelMapTests, OneLabelALine)
{
    const LabelMap map = LabelMap::FromText("no\nyes\nmaybe", "map.txt");
    EXPECT_EQ(map.Names(), (Names{"no", "yes", "maybe"}));
    EXPECT_EQ(map.Find("no"), 0);
    EXPECT_EQ(map.Find("maybe"), 2);
    EXPECT_EQ(map.Find("may"), LabelMap::c_unknown);
    EXPECT_EQ(map.Find("Yes"), LabelMap::c_unknown); // exact text
    EXPECT_EQ(LabelMap().Find("x"), LabelMap::c_unknown);
}

TEST(LabelMapTests, Grammar)
{
    EXPECT_EQ(NamesOf("0\r\n1\r\n"), (Names{"0", "1"}));
    EXPECT_EQ(NamesOf(" 0 \n\n 1 \n"), (Names{"0", "1"}));
    EXPECT_EQ(NamesOf("# classes\ncat # small\ndog\n"), (Names{"cat", "dog"}));
    EXPECT_EQ(NamesOf("cat,dog:bird"), (Names{"cat", "dog", "bird"}));
    EXPECT_EQ(NamesOf("cat:dog\nbird"), (Names{"cat", "dog", "bird"}));
    EXPECT_EQ(NamesOf("x*1\ny"), (Names{"x", "y"}));
    EXPECT_EQ(NamesOf("\"a:b\"\n{c,d}\n\"#\""), (Names{"a:b", "c,d", "#"}));
    EXPECT_EQ(NamesOf("C#\n*\na*b"), (Names{"C#", "*", "a*b"}));
    EXPECT_EQ(NamesOf("a\n,\n:\nb"), (Names{"a", ",", ":", "b"})); // punctuation labels keep their line's id
}

TEST(LabelMapTests, ALabelOccursOnce)
{
    EXPECT_EQ(MessageOf([] { NamesOf("# classes\n0\n1\n\n0\n"); }),
              "data: map.txt:5: label '0' is in line 2 already; a label map must not repeat a label, since one of its "
              "classes (0 and 2) could never occur");
    EXPECT_EQ(MessageOf([] { NamesOf("a\nlong label:b:long label"); }),
              "data: map.txt:2: label 'long label' is in line 2 already; a label map must not repeat a label, since "
              "one of its classes (1 and 3) could never occur");
    EXPECT_EQ(MessageOf([] { NamesOf("x*3"); }),
              "data: map.txt:1: label 'x' is in line 1 already; a label map must not repeat a label, since one of its "
              "classes (0 and 1) could never occur");
}

// A short line cannot stand for millions of labels, and a long line takes linear time.
TEST(LabelMapTests, HugeLines)
{
    std::string repeats;
    for (int i = 0; i < 20000; ++i)
        repeats += "a*1000000,";
    EXPECT_EQ(MessageOf([&] { NamesOf(repeats); }),
              "data: map.txt:1: label 'a' is in line 1 already; a label map must not repeat a label, since one of its "
              "classes (0 and 1) could never occur");
    constexpr size_t c_length = 1000000;
    EXPECT_EQ(NamesOf("no\n\"" + std::string(c_length, '\t') + "yes\n").size(), 2u);
    EXPECT_EQ(NamesOf("no\nx," + std::string(c_length, '\t') + "yes\n"), (Names{"no", "x", "yes"}));
    EXPECT_EQ(NamesOf(std::string(c_length, '{')), Names{std::string(c_length, '{')});
}

TEST(LabelMapTests, ManyLabels)
{
    LabelMap map;
    for (int i = 0; i < 10000; ++i)
        EXPECT_EQ(map.FindOrAdd("label" + std::to_string(i)), i);
    for (int i = 0; i < 10000; ++i)
        EXPECT_EQ(map.FindOrAdd("label" + std::to_string(i)), i);
    EXPECT_EQ(map.Size(), 10000u);
}

TEST(LabelMapTests, UnknownLabelNamesMapAndNearest)
{
    const LabelMap map = LabelMap::FromText("no\nyes\nmaybe", "map.txt");
    EXPECT_EQ(map.UnknownLabelMessage("mabye"),
              "label 'mabye' is not in label map 'map.txt', which has 3 labels; did you mean 'maybe'?");
    EXPECT_EQ(LabelMap::FromText("x", "map.txt").UnknownLabelMessage("elephant"),
              "label 'elephant' is not in label map 'map.txt', which has 1 label");
}

class LabelMapFileTests : public ReaderTest
{
};

TEST_F(LabelMapFileTests, SavesAndLoads)
{
    LabelMap map;
    map.FindOrAdd("b");
    map.FindOrAdd("a");
    map.Save(Path("new/map.txt"));
    EXPECT_EQ(ReadTextFile(Path("new/map.txt")), "b\na\n");
    EXPECT_EQ(LabelMap::FromFile(Path("new/map.txt")).Names(), (Names{"b", "a"}));
    Write("wide.txt", std::string_view("\xFF\xFE"
                                       "b\0\n\0",
                                       6));
    EXPECT_EQ(MessageOf([&] { LabelMap::FromFile(Path("wide.txt")); }),
              "data: label map '" + Path("wide.txt") + "' is UTF-16 text, expected UTF-8 or ASCII");
    Write("old.txt", "yes\rno\r");
    EXPECT_EQ(MessageOf([&] { LabelMap::FromFile(Path("old.txt")); }),
              "data: label map '" + Path("old.txt") +
                  "' has carriage returns without newlines, the first as byte 4; expected lines that end with LF or "
                  "CR LF");
}

// A training reads the map that createLabelMap wrote.
TEST_F(LabelMapFileTests, QuotesAmbiguousLabels)
{
    const Names names = {"#1",  "a:b", "a,b", "x*3", "x",   "\"q", "{c",     "\"r\"",
                         "{d}", "e#f", ":",   "*2",  "$g$", "[h]", "\"i\":{"};
    LabelMap map;
    for (const std::string& name : names)
        map.FindOrAdd(name);
    map.Save(Path("map.txt"));
    EXPECT_EQ(ReadTextFile(Path("map.txt")),
              "\"#1\"\n\"a:b\"\n\"a,b\"\n\"x*3\"\nx\n\"q\n{c\n{\"r\"}\n\"{d}\"\ne#f\n:\n*2\n"
              "$g$\n[h]\n{\"i\":{}\n");
    EXPECT_EQ(LabelMap::FromFile(Path("map.txt")).Names(), names);

    map.FindOrAdd("\"k\":}");
    EXPECT_EQ(MessageOf([&] { map.Save(Path("other.txt")); }),
              "data: label '\"k\":}' cannot be written into label map '" + Path("other.txt") +
                  "': its characters would be read as others; expected no quotes and braces beside '#', ',', ':' or "
                  "'*'");
}

} // namespace
} // namespace cntk
