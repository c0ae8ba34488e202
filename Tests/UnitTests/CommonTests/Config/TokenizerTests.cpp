// The tokenizer: rows that behave like the parser of CNTK v1.1, with the improvements of the specification.
#include "Common/Config/Tokenizer.h"
#include "Common/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Pairs = std::vector<std::pair<std::string, std::string>>;

PositionOf PositionsIn(const std::string& text)
{
    const auto source = std::make_shared<const SourceText>("text", text);
    return [source](size_t offset, size_t length) { return SourcePos{source, offset, length}; };
}

std::vector<std::string> Elements(const std::string& text, SplitLevel level = SplitLevel::Array)
{
    const PositionOf positionOf = PositionsIn(text);
    std::vector<std::string> elements;
    for (const std::string_view part : SplitElements(text, level, positionOf))
    {
        const RepeatedElement repeated = SplitRepeat(part, static_cast<size_t>(part.data() - text.data()), positionOf);
        elements.insert(elements.end(), repeated.count, std::string(repeated.text));
    }
    return elements;
}

Pairs Records(const std::string& text)
{
    Pairs records;
    ForEachRecord(
        text, PositionsIn(text),
        [&](const ConfigRecord& record)
        { records.emplace_back(std::string(record.name), record.hasValue ? std::string(record.value) : "true"); });
    return records;
}

template <class Body>
std::string MessageOf(Body&& body)
{
    try
    {
        body();
    }
    catch (const Error& error)
    {
        return error.Where().Location() + ": " + error.Message();
    }
    return "no error";
}

TEST(TokenizerTests, ArrayVectors)
{
    EXPECT_THAT(Elements("a:b:c"), ElementsAre("a", "b", "c"));
    EXPECT_THAT(Elements("256:512*3:1024"), ElementsAre("256", "512", "512", "512", "1024"));
    EXPECT_THAT(Elements("(10:\"this is a test\":1.25)"), ElementsAre("10", "this is a test", "1.25"));
    EXPECT_THAT(Elements("10:\"this is a test\":1.25"), ElementsAre("10", "this is a test", "1.25"));
    EXPECT_THAT(Elements("\"a:b\":c"), ElementsAre("a:b", "c"));
    EXPECT_THAT(Elements("\"a b\""), ElementsAre("a b"));
    EXPECT_THAT(Elements("(;this;is;a;path:;c:\\mydir\\stuff)"),
                ElementsAre("this", "is", "a", "path:", "c:\\mydir\\stuff"));
    EXPECT_THAT(Elements("a,b c,d"), ElementsAre("a", "b c", "d"));
    EXPECT_THAT(Elements("a::b"), ElementsAre("a", "b"));
    EXPECT_THAT(Elements("1*0"), IsEmpty());
    EXPECT_THAT(Elements("1*-1"), IsEmpty());
    EXPECT_THAT(Elements("{a:{b:c}:d}"), ElementsAre("a", "{b:c}", "d"));
    EXPECT_THAT(Elements("{a:{b:c}*2:d}"), ElementsAre("a", "{b:c}", "d")); // what is a list takes no count
    EXPECT_THAT(Elements("(a:b):c"), ElementsAre("(a:b)", "c")); // the brackets hold one element, not the list
    EXPECT_THAT(Elements("..\\x:y"), ElementsAre("..\\x", "y"));
    EXPECT_THAT(Elements("(../x:y)"), ElementsAre("../x", "y"));
    EXPECT_THAT(Elements("(-1:2)"), ElementsAre("-1", "2"));
    EXPECT_THAT(Elements("( -1:2)"), ElementsAre("-1", "2"));
    EXPECT_THAT(Elements("(.5:2)"), ElementsAre(".5", "2"));
    EXPECT_THAT(Elements("(a;b)"), ElementsAre("a;b"));
    EXPECT_EQ(Elements("(28*28)"), std::vector<std::string>(28, "28"));
    EXPECT_THAT(Elements("f(2*3):\"a\"-\"b\""), ElementsAre("f(2*3)", "\"a\"-\"b\"")); // no count, not one quoted text
    EXPECT_THAT(Elements("()"), IsEmpty());
    EXPECT_THAT(Elements("( )"), IsEmpty());
    EXPECT_THAT(Elements("(x, y, {5,5,3}, m={1,2}, k=3)"), ElementsAre("x", "y", "{5,5,3}", "m={1,2}", "k=3"));
    EXPECT_THAT(Elements("(f(a,b), g(c:d))"), ElementsAre("f(a,b)", "g(c:d)"));
    EXPECT_THAT(Elements("(x,init=uniform,f=\"c:\\a,b\")"), ElementsAre("x", "init=uniform", "f=\"c:\\a,b\""));
}

TEST(TokenizerTests, ArraysOfManyLines)
{
    EXPECT_THAT(Elements("(a\r\n b : c\n\n,d\n)"), ElementsAre("a", "b", "c", "d"));
    EXPECT_THAT(Elements(""), IsEmpty());
    EXPECT_THAT(Elements("\"a b\"*2"), ElementsAre("a b", "a b"));
}

TEST(TokenizerTests, RepeatCountErrors)
{
    const std::string expected = "expected value*n with a whole number n, found ";
    const std::string hint = "; where the '*' is part of a name, put the name in quotes";
    EXPECT_EQ(MessageOf([] { Elements("0.1:0.5*"); }),
              "text:1:5: '0.5*' has no valid repeat count: " + expected + "'' after the '*'" + hint);
    EXPECT_EQ(MessageOf([] { Elements("0.5*x"); }),
              "text:1:1: '0.5*x' has no valid repeat count: " + expected + "'x' after the '*'" + hint);
    EXPECT_EQ(MessageOf([] { Elements("a*2*3"); }),
              "text:1:1: 'a*2*3' has no valid repeat count: " + expected + "'2*3' after the '*'" + hint);
    EXPECT_THAT(Elements("\"W0*features\":H1"), ElementsAre("W0*features", "H1"));
}

TEST(TokenizerTests, CustomSeparators)
{
    EXPECT_THAT(Elements("{|c:\\temp\\new.txt|12*3|1e-12}"),
                ElementsAre("c:\\temp\\new.txt", "12", "12", "12", "1e-12"));
    EXPECT_THAT(Elements("(|c:\\a.txt)"), ElementsAre("c:\\a.txt"));
    EXPECT_THAT(Elements("(|c:\\a.txt|d:\\b.txt)"), ElementsAre("c:\\a.txt", "d:\\b.txt"));
    EXPECT_THAT(Elements("(-a:b)"), ElementsAre("-a", "b"));
    EXPECT_THAT(Elements("(-a-b)"), ElementsAre("a", "b"));
    EXPECT_THAT(Elements("(-1:-2)"), ElementsAre("-1", "-2"));
    EXPECT_THAT(Elements("(+.5:+1)"), ElementsAre("+.5", "+1"));
    const std::string wildcards = "(*.W:*.B)";
    EXPECT_THAT(SplitElements(wildcards, SplitLevel::Array, PositionsIn(wildcards)), ElementsAre("*.W", "*.B"));
    EXPECT_THAT(Elements("(_a:_b)"), ElementsAre("_a", "_b"));
    EXPECT_THAT(Elements("(~/a:~/b)"), ElementsAre("~/a", "~/b"));
    EXPECT_THAT(Elements("(~\\a:~\\b)"), ElementsAre("~\\a", "~\\b"));
    EXPECT_THAT(Elements("(.\\a:.\\b)"), ElementsAre(".\\a", ".\\b"));
    EXPECT_THAT(Elements("(.5:.25)"), ElementsAre(".5", ".25"));
    EXPECT_THAT(Elements("($a$:$b$)"), ElementsAre("$a$", "$b$"));
    EXPECT_THAT(Elements("($5$x$)"), ElementsAre("5", "x"));
    EXPECT_EQ(Records("[|p1=v1|p2=v;2]"), (Pairs{{"p1", "v1"}, {"p2", "v;2"}}));
    EXPECT_EQ(Records("[-a=1]"), (Pairs{{"a", "1"}}));
    EXPECT_EQ(Records("[.a=1.b=2]"), (Pairs{{"a", "1"}, {"b", "2"}}));
    EXPECT_EQ(Records("[_a=1]"), (Pairs{{"_a", "1"}}));
    EXPECT_EQ(Records("[:a=\"x\":b=2]"), (Pairs{{"a", "x"}, {"b", "2"}}));
}

TEST(TokenizerTests, ArgumentLists)
{
    EXPECT_THAT(Elements("(-3)", SplitLevel::NdlArguments), ElementsAre("-3"));
    EXPECT_THAT(Elements("(.5)", SplitLevel::NdlArguments), ElementsAre(".5"));
    EXPECT_THAT(Elements("(|a|b)", SplitLevel::NdlArguments), ElementsAre("|a|b"));
    EXPECT_THAT(Elements("(3*2, init = uniform)", SplitLevel::NdlArguments), ElementsAre("3", "3", "init = uniform"));
    const std::string mel = "(*.W, c:\\a.txt\n node)";
    EXPECT_THAT(SplitElements(mel, SplitLevel::MelArguments, PositionsIn(mel)),
                ElementsAre("*.W", "c:\\a.txt", "node"));
    EXPECT_THAT(Elements("(-a, -b)", SplitLevel::MelArguments), ElementsAre("-a", "-b"));
}

TEST(TokenizerTests, BlockVectors)
{
    EXPECT_EQ(Records("a=1;;b=2"), (Pairs{{"a", "1"}, {"b", "2"}}));
    EXPECT_EQ(Records("a=x y z\nb"), (Pairs{{"a", "x y z"}, {"b", "true"}}));
    EXPECT_EQ(Records("b=\"q # r;s\" c=4"), (Pairs{{"b", "q # r;s"}, {"c", "4"}}));
    EXPECT_EQ(Records("a=\"x\" y"), (Pairs{{"a", "x"}, {"y", "true"}}));
    EXPECT_EQ(Records("a=\" x y \";b=\", \"\nc=\" \""), (Pairs{{"a", "x y"}, {"b", ","}, {"c", ""}}));
    EXPECT_EQ(Records("a=x\"y z\"w"), (Pairs{{"a", "x\"y z\""}, {"w", "true"}}));
    EXPECT_EQ(Records("a=f(1,2) + g(3)"), (Pairs{{"a", "f(1,2)"}, {"+ g", "(3)"}}));
    EXPECT_EQ(Records("a=b=c"), (Pairs{{"a", "b=c"}}));
    EXPECT_EQ(Records("a=[b=\"]\"]"), (Pairs{{"a", "[b=\"]\"]"}}));
    EXPECT_EQ(Records("a="
                      "\"\"\nb=[]"),
              (Pairs{{"a", ""}, {"b", "[]"}}));
    EXPECT_EQ(Records("array=10:\"this is a test\":1.25"), (Pairs{{"array", "10:\"this is a test\":1.25"}}));
    EXPECT_EQ(Records("array=\"a test\"*2:1.25"), (Pairs{{"array", "\"a test\"*2:1.25"}}));
}

TEST(TokenizerTests, WorkedExamples)
{
    EXPECT_EQ(Records("a=1;b=2,c=3\nd"), (Pairs{{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "true"}}));
    EXPECT_EQ(Records("a=[b=1] [b=2;c=3]"), (Pairs{{"a", "[b=1]"}, {"b", "2"}, {"c", "3"}}));
    EXPECT_EQ(Records("=5"), Pairs{});
    EXPECT_EQ(Records("= ; a=1"), (Pairs{{"a", "1"}}));
    EXPECT_EQ(Records("x [ a=1 ] y=2"), (Pairs{{"x", "[ a=1 ]"}, {"y", "2"}}));
    EXPECT_EQ(Records("a=(1:2)*3"), (Pairs{{"a", "(1:2)"}, {"*3", "true"}}));
    EXPECT_EQ(Records("renderCmd=\"dot -Tjpg <IN> -o<OUT>\""), (Pairs{{"renderCmd", "dot -Tjpg <IN> -o<OUT>"}}));
    EXPECT_EQ(Records("renderCmd=dot -Tjpg <IN> -o<OUT>"), (Pairs{{"renderCmd", "dot -Tjpg <IN> -o<OUT>"}}));
    EXPECT_EQ(Records("x='a;b'"), (Pairs{{"x", "'a"}, {"b'", "true"}}));
    EXPECT_EQ(Records("file=C:\\data\\a b.txt"), (Pairs{{"file", "C:\\data\\a b.txt"}}));
    EXPECT_EQ(Records("outputNodeNames=a,b"), (Pairs{{"outputNodeNames", "a"}, {"b", "true"}}));
    EXPECT_EQ(Records("command = train \t\r\n deviceId =-1"), (Pairs{{"command", "train"}, {"deviceId", "-1"}}));
}

TEST(TokenizerTests, SyntaxErrors)
{
    EXPECT_EQ(MessageOf([] { Records("a=(b]"); }),
              "text:1:5: unmatched bracket: expected ')' for the '(' at text:1:3, found ']'");
    EXPECT_EQ(MessageOf([] { Records("a=[\nb=1\n"); }), "text:1:3: no closing ']' found for the '[' that opens here");
    EXPECT_EQ(MessageOf([] { Records("a=1]"); }), "text:1:4: unmatched ']': no bracket is open here");
    EXPECT_EQ(MessageOf([] { Records("]"); }), "text:1:1: unmatched ']': no bracket is open here");
    EXPECT_EQ(MessageOf([] { Records("a=\"x"); }), "text:1:3: no closing '\"' found for the quote that opens here");
    EXPECT_EQ(MessageOf([] { Records("\"k\"=5"); }), "text:1:1: expected a name before '\"', found a quoted text");
    EXPECT_EQ(MessageOf([] { Records("b=1\n a=\nc=2"); }),
              "text:2:2: no value given for 'a'; expected a=value, or a=\"\" for an empty one");
    EXPECT_EQ(MessageOf([] { Records("a=\n  [ b=1 ]"); }),
              "text:1:1: no value given for 'a'; the '[' at text:2:3 must stand on the line of the name: a=[");
    EXPECT_EQ(MessageOf([] { Elements("a:b)"); }), "text:1:4: unmatched ')': no bracket is open here");
    EXPECT_EQ(MessageOf([] { Records("a=" + std::string(300, '[') + std::string(300, ']')); }),
              "text:1:203: brackets are nested more than 200 deep");
}

// The indentation shows which bracket is superfluous or missing.
TEST(TokenizerTests, BracketsThatTheIndentationContradicts)
{
    const std::string begin = "Train=[\n  SGD=[ # \"rates\"\n    a=1\n";
    const std::string end = "  reader=[\n    b=(1:2)\n  ]\n]\n";
    EXPECT_EQ(MessageOf([&] { Records(RemoveComments(begin + end)); }),
              "text:1:7: no closing ']' found for the '[' that opens here; the ']' at text:7:1 closes the '[' at "
              "text:2:7, which has another indentation");
    EXPECT_EQ(
        MessageOf([&] { Records(RemoveComments(begin + "  ]\n  ]\n" + end)); }),
        "text:9:1: unmatched ']': no bracket is open here; the ']' at text:5:3 closes the '[' at text:1:7, which has "
        "another indentation");
    EXPECT_EQ(MessageOf([] { Records("a=[\n  b=[\nc=1\n"); }),
              "text:2:5: no closing ']' found for the '[' that opens here");
}

TEST(TokenizerTests, Comments)
{
    const auto kept = [](const std::string& line)
    {
        std::string clean = RemoveComments(line);
        EXPECT_EQ(clean.size(), line.size());
        clean.erase(clean.find_last_not_of(' ') + 1);
        return clean;
    };
    EXPECT_EQ(kept("a#b"), "a#b");
    EXPECT_EQ(kept("x#y #z"), "x#y");
    EXPECT_EQ(kept("c=1#INF # inf"), "c=1#INF");
    EXPECT_EQ(kept("a #b"), "a");
    EXPECT_EQ(kept("a=1 # c # d"), "a=1");
    EXPECT_EQ(kept("a=\"x # y\""), "a=\"x # y\"");
    EXPECT_EQ(kept("a=\"x # y\"\t# note"), "a=\"x # y\"\t");
    EXPECT_EQ(kept("#x"), "");
    EXPECT_EQ(kept("  # x"), "");
    EXPECT_EQ(RemoveComments("a=1 # x\r\n# \"\nb=2"), "a=1    \r\n   \nb=2");
}

TEST(TokenizerTests, VariableNames)
{
    const auto names = [](std::string_view text)
    {
        std::vector<std::string> result;
        for (auto variable = NextVariable(text, 0); variable; variable = NextVariable(text, variable->end))
            result.emplace_back(variable->name);
        return result;
    };
    EXPECT_THAT(names("$A$\\$B$.log"), ElementsAre("A", "B"));
    EXPECT_THAT(names("$none"), IsEmpty());
    EXPECT_THAT(names("cost$5 or $x$"), ElementsAre("x"));
    EXPECT_THAT(names("$a b$c$"), ElementsAre("c"));
    EXPECT_THAT(names("$_x-1.y$$z$"), ElementsAre("_x-1.y", "z"));
}

} // namespace
} // namespace cntk
