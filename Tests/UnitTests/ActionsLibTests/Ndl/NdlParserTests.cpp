// The grammar of the network description language, and its errors with place and caret.
#include "ActionsLib/Ndl/NdlParser.h"
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

NdlScript Parse(const std::string& text)
{
    return ParseNdl(std::make_shared<SourceText>("net.ndl", text));
}

// The tree as text: calls as f(a, k=v), arrays as {a, b}, quoted texts in quotes.
std::string Show(const NdlExpression& expression)
{
    using Kind = NdlExpression::Kind;
    if (expression.kind == Kind::Text)
        return "\"" + expression.text + "\"";
    if (expression.kind != Kind::Call && expression.kind != Kind::Array)
        return expression.text;
    std::string text = expression.kind == Kind::Call ? expression.text + "(" : "{";
    for (size_t i = 0; i < expression.arguments.size(); i++)
    {
        const NdlArgument& argument = expression.arguments[i];
        text += (i > 0 ? ", " : "") + (argument.name.empty() ? "" : argument.name + "=") + Show(argument.value);
    }
    return text + (expression.kind == Kind::Call ? ")" : "}");
}

std::string Show(const NdlScript& script)
{
    std::string text;
    for (const NdlStatement& statement : script.statements)
    {
        text += statement.name;
        if (statement.kind == NdlStatement::Kind::Macro)
        {
            text += "<";
            for (const NdlExpression& formal : statement.formals)
                text += formal.text + " ";
            text += ">";
        }
        text += statement.body ? "[ " + Show(*statement.body) + "]" : "=" + Show(statement.value);
        text += "; ";
    }
    return text;
}

std::string ParsingReport(const std::string& text)
{
    return cntk::ReportOf(ErrorKind::Config, [&] { Parse(text); });
}

TEST(NdlParserTests, ReadsStatementsInAllSeparations)
{
    EXPECT_EQ(Show(Parse("a=1\nb = 2.5 ; c=-3, d=\"x y\"\r\ne=a")), "a=1; b=2.5; c=-3; d=\"x y\"; e=a; ");
    EXPECT_EQ(Show(Parse("")), "");
    EXPECT_EQ(Show(Parse("\n # only a comment\n")), "");
}

TEST(NdlParserTests, ReadsCalls)
{
    EXPECT_EQ(Show(Parse("p=Parameter(3, 4, init=fromFile, initFromFilePath=\"par/W.txt\")")),
              "p=Parameter(3, 4, init=fromFile, initFromFilePath=\"par/W.txt\"); ");
    EXPECT_EQ(Show(Parse("h=RectifiedLinear(Plus(Times(W,x),b))")), "h=RectifiedLinear(Plus(Times(W, x), b)); ");
    EXPECT_EQ(Show(Parse("r=RowStack(\n  a\n  b:c\n)\nErrorPrediction(l, z, tag=eval)")),
              "r=RowStack(a, b, c); =ErrorPrediction(l, z, tag=eval); ");
    EXPECT_EQ(Show(Parse("p=Parameter(3*2)")), "p=Parameter(3, 3); ");
    EXPECT_EQ(Show(Parse("s=Sigmoid(W0*features)")), "s=Sigmoid(W0*features); ");
    EXPECT_EQ(Show(Parse("c=Convolution(w, x, {5,5}, stride={2:2})")), "c=Convolution(w, x, {5, 5}, stride={2, 2}); ");
    EXPECT_EQ(Show(Parse("c=Constant(-3); d=Constant(.5)")), "c=Constant(-3); d=Constant(.5); ");
}

TEST(NdlParserTests, ValuesOfOptionalParametersMayHaveBlanks)
{
    EXPECT_EQ(Show(Parse("W=P(3, f=/a b/c-1;x d.txt, 4)")), "W=P(3, f=/a b/c-1;x d.txt, 4); ");
    EXPECT_EQ(Show(Parse("W=P(f=a b # c\n g=2 x : h=1)")), "W=P(f=a b, g=2 x, h=1); ");
    EXPECT_EQ(Parse("W=P(f=a  b )").statements[0].value.arguments[0].value.where.length, 4u);
    EXPECT_EQ(ParsingReport("W=P(f=a g=b)"), "    1 | W=P(f=a g=b)\n"
                                             "      |         ^\n"
                                             "net.ndl:1:9: error: ',' or ')' expected, found 'g'");
    EXPECT_EQ(ParsingReport("W=P(f=a b(c))"), "    1 | W=P(f=a b(c))\n"
                                              "      |         ^\n"
                                              "net.ndl:1:9: error: ',' or ')' expected, found 'b'");
}

TEST(NdlParserTests, ReadsComments)
{
    EXPECT_EQ(Show(Parse("# first\na=1#INF # infinity\nb=Plus(x, # left\n y)\nc=\"a # b\"")),
              "a=1#INF; b=Plus(x, y); c=\"a # b\"; ");
}

TEST(NdlParserTests, ReadsArrays)
{
    EXPECT_EQ(Show(Parse("FeatureNodes=(a, b:c)\nload=m1:m2")), "FeatureNodes={a, b, c}; load={m1, m2}; ");
}

TEST(NdlParserTests, ReadsMacrosInAllSpellings)
{
    EXPECT_EQ(Show(Parse("Lin(w, x)=Times(w, x)")), "Lin<w x >[ =Times(w, x); ]; ");
    EXPECT_EQ(Show(Parse("A(w)\n{\n  T=Sigmoid(w)\n}\nB(w)=[\n U=Tanh(w)\n]\nM() { k=3 }\nC(x) [ y=Exp(x) ]")),
              "A<w >[ T=Sigmoid(w); ]; B<w >[ U=Tanh(w); ]; M<>[ k=3; ]; C<x >[ y=Exp(x); ]; ");
}

TEST(NdlParserTests, ReadsSections)
{
    EXPECT_EQ(Show(Parse("run=net\nnet=[\n a=1\n]\nmacros [ F(x)=Exp(x) ]")),
              "run=net; net[ a=1; ]; macros[ F<x >[ =Exp(x); ]; ]; ");
    EXPECT_EQ(Show(Parse("[ a=1 ] [ b=2 ]")), "a=1; b=2; ");
}

TEST(NdlParserTests, KeepsPlaces)
{
    const NdlScript script = Parse("a=1\n  h = Sigmoid(\n  xyz)");
    EXPECT_EQ(script.statements[1].where.Location(), "net.ndl:2:3");
    EXPECT_EQ(script.statements[1].value.arguments[0].value.where.Location(), "net.ndl:3:3");
    EXPECT_EQ(script.statements[1].value.arguments[0].value.where.length, 3u);
}

TEST(NdlParserTests, ExplainsMistakes)
{
    EXPECT_EQ(ParsingReport("a=1\nh=Plus(a, b\nc=2\n"), "    2 | h=Plus(a, b\n"
                                                        "      |       ^\n"
                                                        "net.ndl:2:7: error: the '(' opened here is not closed");
    EXPECT_EQ(ParsingReport("h=Plus(a b)"), "    1 | h=Plus(a b)\n"
                                            "      |          ^\n"
                                            "net.ndl:1:10: error: ',' or ')' expected, found 'b'");
    EXPECT_EQ(ParsingReport("h Plus(a)"), "    1 | h Plus(a)\n"
                                          "      | ^\n"
                                          "net.ndl:1:1: error: '=' or '(' expected after 'h', found 'P'");
    EXPECT_EQ(ParsingReport("h=\n"),
              "    1 | h=\n"
              "      | ^\n"
              "net.ndl:1:1: error: no value given for 'h'; the value must be on the line of the '='");
    EXPECT_EQ(ParsingReport("h=Plus(a, tag=)"),
              "    1 | h=Plus(a, tag=)\n"
              "      |           ^~~\n"
              "net.ndl:1:11: error: parameter 'tag' has no value; expected 'tag=value'");
    EXPECT_EQ(ParsingReport("a=\"x"), "    1 | a=\"x\n"
                                      "      |   ^\n"
                                      "net.ndl:1:3: error: the quote opened here is not closed");
    EXPECT_EQ(ParsingReport("G(x, n=3) { y=Exp(x) }"),
              "    1 | G(x, n=3) { y=Exp(x) }\n"
              "      |      ^\n"
              "net.ndl:1:6: error: parameter 'n' of macro 'G' has a default value; expected a plain name");
    EXPECT_EQ(ParsingReport("G(x) {\n y=Exp(x)\n"), "    1 | G(x) {\n"
                                                    "      |      ^\n"
                                                    "net.ndl:1:6: error: the '{' opened here is not closed");
    EXPECT_EQ(ParsingReport("]"), "    1 | ]\n"
                                  "      | ^\n"
                                  "net.ndl:1:1: error: found ']', which closes nothing");
    EXPECT_EQ(
        ParsingReport("a=b c"),
        "    1 | a=b c\n"
        "      |     ^\n"
        "net.ndl:1:5: error: the end of the statement expected, found 'c'; statements are separated by a newline, "
        "';' or ','");
}

// The message line alone.
std::string ParsingMessage(const std::string& text)
{
    const std::string report = ParsingReport(text);
    return report.substr(report.rfind('\n') + 1);
}

TEST(NdlParserTests, BracketsThatDoNotMatch)
{
    EXPECT_EQ(ParsingMessage("F(x) {\n y=Tanh(x)\n]\n"),
              "net.ndl:3:1: error: '}' expected to close the '{' at net.ndl:1:6, found ']'");
    EXPECT_EQ(ParsingMessage("F(x) {\n y=Times(W, x\n z=Plus(y, b)\n}\n"),
              "net.ndl:4:1: error: ')' expected to close the '(' at net.ndl:2:9, found '}'");
    EXPECT_EQ(ParsingMessage("m=[\nF(x)\n y=Tanh(x)\n}\n]"),
              "net.ndl:4:1: error: ']' expected to close the '[' at net.ndl:1:3, found '}'");
    EXPECT_EQ(ParsingMessage("m=[\n y=Tanh(x)\n}\n]"),
              "net.ndl:3:1: error: ']' expected to close the '[' at net.ndl:1:3, found '}'");
    EXPECT_EQ(ParsingMessage("W=Parameter(3,\n4]\n"), "net.ndl:2:2: error: ',' or ')' expected, found ']'");
    EXPECT_EQ(ParsingMessage("F {\n y=Tanh(x)\n}\n"), "net.ndl:1:1: error: '=' or '(' expected after 'F', found '{'");
    EXPECT_EQ(ParsingMessage("h=Tanh\n(x)\n"),
              "net.ndl:2:1: error: a name expected at the beginning of a statement, found "
              "'('; the '(' of a call must be on the line of its name");
    EXPECT_EQ(ParsingMessage("W=Parameter 3,4)"), "net.ndl:1:13: error: the end of the statement expected, found '3'; "
                                                  "statements are separated by a newline, ';' or ','");
}

TEST(NdlParserTests, CommasBetweenStatements)
{
    EXPECT_EQ(ParsingMessage("OutputNodes=a,b\n"),
              "net.ndl:1:15: error: '=' or '(' expected after 'b', found the end of the line");
    EXPECT_EQ(ParsingMessage("x=1,5\n"),
              "net.ndl:1:5: error: a name expected at the beginning of a statement, found the number '5'; lists need "
              "parentheses: name=(a, b)");
}

TEST(NdlParserTests, CharactersThatOnlyLookRight)
{
    EXPECT_EQ(ParsingMessage("h=Tanh(a)\u00a0\n"),
              "net.ndl:1:10: error: the end of the statement expected, found '\u00a0' "
              "(U+00A0); statements are separated by a newline, ';' or ','");
    EXPECT_EQ(ParsingMessage("h=Tanh(a)\xe9\n"),
              "net.ndl:1:10: error: the end of the statement expected, found the byte 233, "
              "which is no UTF-8; statements are separated by a newline, ';' or ','");
}

TEST(NdlParserTests, ParenthesesAroundWhatStandsAlone)
{
    EXPECT_EQ(ParsingMessage("F((x))=Tanh(x)"),
              "net.ndl:1:3: error: the name of a parameter of macro 'F' expected, found the list '(x)'");
    EXPECT_EQ(ParsingMessage("F(x)=(Tanh(x))"),
              "net.ndl:1:6: error: a function call expected as the body of macro 'F', found the list "
              "'(Tanh(x))'");
    EXPECT_EQ(ParsingMessage("h=Plus((a, b)=3, c)"),
              "net.ndl:1:8: error: the name of an optional parameter expected before '=', found the list '(a, b)'");
    EXPECT_EQ(ParsingMessage("h=Plus(Tanh( a\n)=3, c)"),
              "net.ndl:1:8: error: the name of an optional parameter expected before '=', found the call 'Tanh( a )'");
    EXPECT_EQ(ParsingMessage("F(\"x\")=Tanh(x)"),
              "net.ndl:1:3: error: the name of a parameter of macro 'F' expected, found the text \"x\"");
}

TEST(NdlParserTests, DotsInParametersOfMacros)
{
    EXPECT_EQ(ParsingReport("F(x, a.b)=Tanh(a.b)"),
              "    1 | F(x, a.b)=Tanh(a.b)\n"
              "      |      ^~~\n"
              "net.ndl:1:6: error: the name 'a.b' of a parameter of macro 'F' has a dot; dots refer into macros");
}

TEST(NdlParserTests, BoundsNestingAndRepetition)
{
    const std::string deep(1000, '(');
    EXPECT_NE(ParsingReport("a=f" + deep).find("calls are nested more than 200 deep"), std::string::npos);
    EXPECT_NE(
        ParsingReport("a=f(1*1000000000)").find("an argument is repeated 1000000000 times; at most 10000 are possible"),
        std::string::npos);
}

TEST(NdlParserTests, EveryPrefixParsesOrFailsPolitely)
{
    const std::string script = "A(w, x)\n{\n T=Times(w, x)\n}\nf=Input(2*1, tag=feature) # note\nload=a:b\n"
                               "net=[ y=A(f,\"p q\") ; FeatureNodes=(f, y) ]\nz=Plus(A(f, f), {1:2})\n";
    for (size_t size = 0; size <= script.size(); size++)
    {
        try
        {
            Parse(script.substr(0, size));
        }
        catch (const Error& error)
        {
            EXPECT_EQ(error.Kind(), ErrorKind::Config) << size;
            EXPECT_TRUE(error.Where()) << size;
        }
    }
}

} // namespace
} // namespace cntk
