#include "HtkTestTools.h"
#include "Readers/HTKMLFReader/SlfFile.h"

#include <cmath>

namespace cntk
{
namespace
{

// Two paths: the first word in one state and a pause, or in two states.
const char* const c_twoPaths = "VERSION=1.0\n"
                               "UTTERANCE=u\n"
                               "lmscale=12.0 wdpenalty=-10\n"
                               "# nodes, arcs\n"
                               "N=4  L=4\n"
                               "I=0 t=0.00 W=!NULL\n"
                               "I=1 t=0.03 W=hello v=1\n"
                               "I=2 t=0.05 W=!NULL\n"
                               "I=3 t=0.05 W=!NULL\n"
                               "J=0 S=0 E=1 a=-123.4 l=-1.5 d=:s0,0.01:s1,0.02,-12.5:\n"
                               "J=1 S=1 E=2 a=-3 l=0 d=:s2,0.02:\n"
                               "J=2 S=0 E=2 l=-2.5 W=bye d=:s1,0.04:s2,0.01:\n"
                               "J=3 S=2 E=3\n";

class SlfFileTests : public HtkTest
{
protected:
    Lattice ReadText(const std::string& text, size_t frames, size_t offset = 0, size_t classes = 3)
    {
        const std::string key = "u";
        const StateList states = StateList::FromFile(Write("states", "s0\ns1\ns2\n"));
        return ReadSlf(PiecewiseFile(Write("a.slf", text)), offset, {key, frames, states, classes});
    }
    std::string ErrorOfText(const std::string& text, size_t frames = 5, size_t offset = 0, size_t classes = 3)
    {
        std::string message = MessageOf([&] { ReadText(text, frames, offset, classes); });
        for (size_t at; (at = message.find(m_folder + "/")) != std::string::npos;)
            message.erase(at, m_folder.size() + 1);
        return message;
    }
    // Prints each arc as "0>1 -1.5 w 1:0 3:1": nodes, score, w for a word, ends of segments and their states.
    static std::vector<std::string> ArcsOf(const Lattice& lattice)
    {
        std::vector<std::string> arcs;
        for (size_t i = 0; i < lattice.arcs.size(); ++i)
        {
            const LatticeArc& arc = lattice.arcs[i];
            std::string text = Concat(arc.from, ">", arc.to, " ", arc.languageScore, arc.isWord ? " w" : "");
            for (uint32_t s = arc.firstSegment; s < lattice.EndOfSegments(i); ++s)
                text += Concat(" ", lattice.segments[s].end, ":", lattice.segments[s].state);
            arcs.push_back(text);
        }
        return arcs;
    }
};

TEST_F(SlfFileTests, TwoPaths)
{
    const Lattice lattice = ReadText(c_twoPaths, 5);
    EXPECT_EQ(lattice.frames, 5u);
    EXPECT_EQ(lattice.nodeFrames, (std::vector<uint32_t>{0, 3, 5, 5}));
    EXPECT_EQ(ArcsOf(lattice),
              (std::vector<std::string>{"0>1 -1.5 w 1:0 3:1", "0>2 -2.5 w 4:1 5:2", "1>2 0 5:2", "2>3 0"}));
}

TEST_F(SlfFileTests, InAnArchive)
{
    const std::string first = c_twoPaths;
    const std::string text = first + "VERSION=1.0\nN=2 L=1\nI=0 t=0\nI=1 t=.01\nJ=0 S=0 E=1 d=:s2,.01:\n" + first;
    EXPECT_EQ(ReadText(text, 1, first.size()).arcs.size(), 1u);
    EXPECT_EQ(ReadText(text, 5).arcs.size(), 4u);
    EXPECT_EQ(ReadText(text, 5, text.size() - first.size()).arcs.size(), 4u);
    EXPECT_EQ(ErrorOfText(text, 5, first.size()),
              "data: a.slf:14: utterance 'u': the lattice has 1 frame, but the utterance has 5");
}

// Writes one arc of three frames: header, then the fields of the nodes' and the arc's lines.
std::string Simple(const std::string& header, const std::string& end, const std::string& arc)
{
    return header + "N=2 L=1\nI=0 t=0\nI=1 " + end + "\nJ=0 S=0 E=1 " + arc + "\n";
}

TEST_F(SlfFileTests, WordsOfNodesAndArcs)
{
    const auto isWord = [&](const std::string& node, const std::string& arc)
    { return ReadText(Simple("", "t=.03 " + node, "d=:s0,.03: " + arc), 3).arcs[0].isWord; };
    EXPECT_FALSE(isWord("", ""));
    EXPECT_TRUE(isWord("W=a", ""));
    EXPECT_TRUE(isWord("WORD=a", ""));
    EXPECT_FALSE(isWord("W=!NULL", ""));
    EXPECT_FALSE(isWord("W=a", "W=!NULL"));
    EXPECT_TRUE(isWord("W=!NULL", "W=a"));
    EXPECT_TRUE(isWord("", "WORD=\\'em"));
    EXPECT_FALSE(isWord("", "W=\"!NULL\""));
    EXPECT_FALSE(isWord("", "W='!NU\\114L'"));
    EXPECT_FALSE(isWord("W=a", "W=\"\""));
    EXPECT_TRUE(isWord("", "W=\"!NULL \\\"\""));
}

TEST_F(SlfFileTests, LanguageScores)
{
    const auto score = [&](const std::string& header, const std::string& arc)
    { return ReadText(Simple(header, "t=.03", "d=:s0,.03: " + arc), 3).arcs[0].languageScore; };
    EXPECT_EQ(score("", ""), 0);
    EXPECT_EQ(score("lmscale=12\n", "l=-1.25"), -1.25);
    EXPECT_EQ(score("", "language=+1.25"), 1.25);
    EXPECT_DOUBLE_EQ(score("base=10\n", "l=-2"), -2 * std::log(10.0));
    EXPECT_DOUBLE_EQ(score("base=0.5\n", "l=3"), std::log(0.125));
    EXPECT_DOUBLE_EQ(score("base=0\n", "l=0.25"), std::log(0.25));
    EXPECT_EQ(score("base=0\n", ""), 0);
}

TEST_F(SlfFileTests, Times)
{
    // Segments begin at the rounded frame of their node, and their ends are rounded.
    const Lattice lattice = ReadText("N=3 L=2 tscale=0.01\nI=0 time=0\nI=1 time=1.4\nI=2 time=4\n"
                                     "J=0 START=0 END=1 div=s0,.4:s1,1\n"
                                     "J=1 START=1 END=2 div=:s2,0.2,-1:s0,.3:s1,2.1:\n",
                                     4);
    EXPECT_EQ(lattice.nodeFrames, (std::vector<uint32_t>{0, 1, 4}));
    EXPECT_EQ(ArcsOf(lattice), (std::vector<std::string>{"0>1 0 1:1", "1>2 0 2:2 4:1"}));
    // Times between two frames are rounded alike, however they were added: 0.03 + 0.095 is slightly less than 0.125.
    EXPECT_EQ(ReadText(Simple("", "t=0.125", "d=:s0,0.03:s1,0.095:"), 13).segments.back().end, 13u);
}

TEST_F(SlfFileTests, LayoutOfTheText)
{
    const Lattice expected = ReadText(c_twoPaths, 5);
    std::string text = c_twoPaths;
    const auto same = [&](const std::string& changed, size_t offset = 0)
    {
        const Lattice lattice = ReadText(changed, 5, offset);
        return ArcsOf(lattice) == ArcsOf(expected) && lattice.nodeFrames == expected.nodeFrames;
    };
    const auto replaced = [&](const std::string& old, const std::string& now)
    {
        std::string changed = text;
        for (size_t at = 0; (at = changed.find(old, at)) != std::string::npos; at += now.size())
            changed.replace(at, old.size(), now);
        return changed;
    };
    EXPECT_TRUE(same(replaced("\n", "\r\n")));
    EXPECT_TRUE(same(replaced("\n", "\n\n# J=7\n  \t")));
    EXPECT_TRUE(same(replaced(" ", "  \t ")));
    EXPECT_TRUE(same(text.substr(0, text.size() - 1)));
    EXPECT_TRUE(same("\xEF\xBB\xBF" + text));
    EXPECT_TRUE(same("no\nlattice" + text, 10));
    EXPECT_TRUE(same(replaced("d=:s0", "p=x unknown= r=nan d=:s0")));
    EXPECT_TRUE(same(replaced("VERSION=1.0\n", "V=1 lmname=my best model vocab=\"a b\"\n")));
    EXPECT_TRUE(same(text + "\n.\nI am no lattice"));
    EXPECT_TRUE(same(text + std::string(100, '\0')));
    EXPECT_TRUE(same(replaced("d=:s1,0.04:s2,0.01:", "d=\":s1,0.04:s2,0.01:\"")));
    EXPECT_TRUE(same(replaced("d=:s1,0.04:s2,0.01:", "d='\\072s1,0.04\\:s2,0.01:'")));
    // A line longer than a piece of the file.
    EXPECT_TRUE(same(replaced("d=:s1,0.04", "d=:s1,0.04," + std::string(300000, '1'))));
    EXPECT_TRUE(same(replaced("N=4", "#" + std::string(70000, 'x') + "\nN=4")));
}

TEST_F(SlfFileTests, NodesAndArcsOnNoPath)
{
    const std::string nodes = "I=0 t=0\nI=1 t=0\nI=2 t=.02\nI=3 t=.02\nI=4 t=.02\nI=5 t=0\n";
    const std::string arcs =
        "J=0 S=4 E=2 d=:\nJ=1 S=1 E=4 d=:s0,.02:\nJ=2 S=1 E=3 d=:s1,.02:\nJ=3 S=0 E=2 d=:s2,.02:\n";
    const Lattice lattice = ReadText("N=6 L=4 start=1 end=2\n" + nodes + arcs, 2);
    EXPECT_EQ(lattice.nodeFrames, (std::vector<uint32_t>{0, 2, 2}));
    EXPECT_EQ(ArcsOf(lattice), (std::vector<std::string>{"0>1 0 2:0", "1>2 0"}));
    const std::string ends = "data: a.slf:1: utterance 'u': no arc ";
    EXPECT_EQ(ErrorOfText("N=6 L=4\n" + nodes + arcs),
              ends + "enters the nodes 0, 1; expected one such node, the first node (start=)");
    EXPECT_EQ(ErrorOfText("N=6 L=4 start=1\n" + nodes + arcs),
              ends + "leaves the nodes 2, 3; expected one such node, the last node (end=)");
    EXPECT_EQ(ErrorOfText("N=6 L=4 start=0 end=3\n" + nodes + arcs),
              "data: a.slf:1: utterance 'u': no path leads from the first node, 0, to the last one, 3");
    EXPECT_EQ(ErrorOfText("N=6 L=4 start=1 end=1\n" + nodes + arcs),
              "data: a.slf:1: utterance 'u': no path leads from the first node, 1, to the last one, 1");
    EXPECT_EQ(ErrorOfText("N=6 L=4 start=2 end=2\n" + nodes + arcs),
              "data: a.slf:1: utterance 'u': the first node, 2, stands at frame 2, expected 0, the beginning of the "
              "utterance");
}

TEST_F(SlfFileTests, Circles)
{
    const std::string nodes = "I=0 t=0\nI=1 t=0\nI=2 t=0\nI=3 t=.01\nI=4 t=.01\n";
    EXPECT_EQ(ErrorOfText("N=5 L=5\n" + nodes +
                          "J=0 S=0 E=1\nJ=1 S=1 E=2\nJ=2 S=2 E=1\nJ=3 S=2 E=3 d=:s0,.01:\nJ=4 S=3 E=4\n"),
              "data: a.slf:1: utterance 'u': its arcs form a cycle through node 1");
    EXPECT_EQ(ErrorOfText("N=5 L=2\n" + nodes + "J=0 S=0 E=0\nJ=1 S=0 E=3 d=:s0,.01:\n"),
              "data: a.slf:1: utterance 'u': an arc enters every node; expected one node without such an arc, the "
              "first node (start=)");
    EXPECT_EQ(ErrorOfText("N=5 L=2 start=0\n" + nodes + "J=0 S=0 E=0\nJ=1 S=0 E=3 d=:s0,.01:\n"),
              "data: a.slf:1: utterance 'u': its arcs form a cycle through node 0");
    EXPECT_EQ(ErrorOfText("N=5 L=2\n" + nodes + "J=0 S=0 E=3 d=:s0,.01:\nJ=1 S=3 E=3\n"),
              "data: a.slf:1: utterance 'u': an arc leaves every node; expected one node without such an arc, the last "
              "node (end=)");
}

TEST_F(SlfFileTests, ErrorsOfArcsAndNodes)
{
    // Line 4: a second node; line 5: the arc.
    const auto errorOf = [&](const std::string& node, const std::string& arc)
    { return ErrorOfText("VERSION=1.0\nN=2 L=1\nI=0 t=0\n" + node + "\n" + arc + "\n", 3); };
    const std::string node = "I=1 t=.03", arc = "J=0 S=0 E=1 d=:s0,.03:";
    const std::string in4 = "data: a.slf:4: utterance 'u': ", in5 = "data: a.slf:5: utterance 'u': ";
    EXPECT_EQ(errorOf(node, arc), "no error");
    EXPECT_EQ(errorOf("I=2 t=.03", arc), in4 + "'I=2': expected a node from 0 to 1");
    EXPECT_EQ(errorOf("I=-1 t=.03", arc), in4 + "'I=-1': expected a node from 0 to 1");
    EXPECT_EQ(errorOf("I= t=.03", arc), in4 + "'I=': expected a node from 0 to 1");
    EXPECT_EQ(errorOf("I=0 t=.03", arc), in4 + "node 0 occurs twice");
    EXPECT_EQ(errorOf("I=1", arc),
              in4 + "node 1 has no time, expected t=, seconds from the beginning of the utterance");
    EXPECT_EQ(errorOf("I=1 t=-.01", arc),
              in4 + "node 1 is at -0.01 s, expected t=, seconds from the beginning of the utterance");
    EXPECT_EQ(errorOf("I=1 t=1e30", arc),
              in4 + "node 1 is at 1e+30 s, expected t=, seconds from the beginning of the utterance");
    for (const std::string time : {"x", "", "1x", "nan", "inf", "1e999", "0x1", "+-1"})
        EXPECT_EQ(errorOf("I=1 t=" + time, arc), in4 + "'t=" + time + "': expected a time in seconds");
    EXPECT_EQ(errorOf("I=1 t=.03 word", arc), in4 + "'word' is not a field, expected name=value");
    EXPECT_EQ(errorOf("I=1 t=.03 L=sub", arc),
              in4 + "the lattice has sub-lattices, which are not read; expand them (HTK's HLRescore does so)");
    for (const std::string word : {"\"a", "'a\"", "'a'b", "\"a\\", "\"a\\\""})
        EXPECT_EQ(errorOf("I=1 t=.03 W=" + word, arc),
                  in4 + "a value in quotes does not end with the quote and a blank; a quote that belongs to a word is "
                        "written \\' or \\\"");
    EXPECT_EQ(errorOf("X=1 t=.03", arc),
              in4 + "'X=', expected a node (I=...) or an arc (J=...); N=2 and L=1 say how many there are, and 1 node "
                    "and 0 arcs were read");
    EXPECT_EQ(errorOf("VERSION=1.0", arc),
              in4 + "'VERSION=', expected a node (I=...) or an arc (J=...); N=2 and L=1 say how many there are, and "
                    "1 node and 0 arcs were read");
    EXPECT_EQ(errorOf(arc, node),
              in4 + "'E=1': that node does not exist; expected nodes before the arcs that use them");
    EXPECT_EQ(errorOf("J=0 S=0 E=0", node), in4 + "all arcs were read, but not all nodes;  N=2 and L=1 say how many "
                                                  "there are, and 1 node and 1 arc were read");

    EXPECT_EQ(errorOf(node, "J=1 S=0 E=1 d=:s0,.03:"), in5 + "'J=1': expected an arc from 0 to 0");
    EXPECT_EQ(errorOf(node, "J=0 S=0 E=2 d=:s0,.03:"), in5 + "'E=2': expected a node from 0 to 1");
    EXPECT_EQ(errorOf(node, "J=0 S=x E=1 d=:s0,.03:"), in5 + "'S=x': expected a node from 0 to 1");
    EXPECT_EQ(errorOf(node, "J=0 S=0 d=:s0,.03:"), in5 + "arc 0 lacks a node, expected S= and E=, where it begins and "
                                                         "ends");
    EXPECT_EQ(errorOf(node, "J=0 S=1 E=0 d=:s0,.03:"),
              in5 + "arc 0 ends before it begins: node 1 is at 0.03 s, node 0 at 0 s");
    for (const std::string segments : {"", " d=", " d=:", " d=::"})
        EXPECT_EQ(errorOf(node, "J=0 S=0 E=1" + segments),
                  in5 + "arc 0 lasts 3 frames and has no states (d=); lattices must be written with the states and "
                        "their times, as d=:state,seconds:state,seconds:");
    EXPECT_EQ(errorOf(node, "J=0 S=0 E=1 d=:s0,.01:s1,.01:"),
              in5 + "the states of arc 0 (d=) end at 0.02 s, frame 2, but its node 1 is at 0.03 s, frame 3");
    EXPECT_EQ(errorOf(node, "J=0 S=0 E=1 d=:s0,.01:s1,.05:"),
              in5 + "the states of arc 0 (d=) end at 0.06 s, frame 6, but its node 1 is at 0.03 s, frame 3");
    EXPECT_EQ(errorOf(node, "J=0 S=0 E=1 d=:s0,1e300:s1,1e300:"),
              in5 + "the states of arc 0 (d=) end at 2e+300 s, frame 1000000000, but its node 1 is at 0.03 s, frame 3");
    EXPECT_EQ(errorOf("I=1 t=0", "J=0 S=0 E=1 d=:s0,.01:"),
              in5 + "the states of arc 0 (d=) end at 0.01 s, frame 1, but its node 1 is at 0 s, frame 0");
    for (const std::string segment : {"s0", "s0,", "s0,x", "s0,-.03", "s0,nan", "s0,.03x"})
        EXPECT_EQ(errorOf(node, "J=0 S=0 E=1 d=:" + segment + ":"),
                  in5 + "'" + segment + "' in d= of arc 0: expected a state, a comma and its duration in seconds");
    EXPECT_EQ(errorOf(node, "J=0 S=0 E=1 d=:s00,.03:"),
              in5 + "state 's00' of arc 0 is not in the state list 'states', which has 3 states; did you mean 's0'?");
    EXPECT_EQ(ErrorOfText(c_twoPaths, 5, 0, 2),
              "data: a.slf:11: utterance 'u': the class id of state 's2' of arc 1 is 2, expected less than labelDim=2");
    for (const std::string score : {"x", "", "nan", "-inf", "1e999"})
        EXPECT_EQ(errorOf(node, arc + " l=" + score),
                  in5 + "'l=" + score + "': expected a score of the language model");
    EXPECT_EQ(ErrorOfText("N=3 L=3\nI=0 t=0\nI=1 t=0\nI=2 t=.01\nJ=0 S=0 E=1\nJ=0 S=1 E=2 d=:s0,.01:\n"),
              "data: a.slf:6: utterance 'u': arc 0 occurs twice");
}

TEST_F(SlfFileTests, ErrorsOfTheHeader)
{
    const auto errorOf = [&](const std::string& header)
    { return ErrorOfText(header + "\nI=0 t=0\nI=1 t=.03\nJ=0 S=0 E=1 l=0 d=:s0,.03:\n", 3); };
    const std::string in1 = "data: a.slf:1: utterance 'u': ", in2 = "data: a.slf:2: utterance 'u': ";
    EXPECT_EQ(errorOf("N=2 L=1"), "no error");
    EXPECT_EQ(errorOf("NODES=2 LINKS=1"), "no error");
    for (const std::string number : {"0", "", "x", "-1", "20000000", "99999999999999999999"})
    {
        EXPECT_EQ(errorOf("N=" + number + " L=1"),
                  in1 + "'N=" + number + "': expected the number of nodes, from 1 to 16777216");
        EXPECT_EQ(errorOf("N=2 L=" + number),
                  in1 + "'L=" + number + "': expected the number of arcs, from 1 to 16777216");
    }
    EXPECT_EQ(errorOf("N=16000000 L=1"),
              in1 + "'N=16000000': the file cannot have that many nodes, it ends 60 bytes on");
    EXPECT_EQ(errorOf("N=2 L=1000"), in1 + "'L=1000': the file cannot have that many arcs, it ends 56 bytes on");
    EXPECT_EQ(errorOf("N=2 L=2"), "data: a.slf:5: utterance 'u': the file ends within the lattice; N=2 and L=2 say how "
                                  "many there are, and 2 nodes and 1 arc were read");
    EXPECT_EQ(errorOf("N=3 L=1"), "data: a.slf:4: utterance 'u': all arcs were read, but not all nodes;  N=3 and L=1 "
                                  "say how many there are, and 2 nodes and 1 arc were read");
    EXPECT_EQ(ErrorOfText("N=2 L=1\nI=0 t=0\nI=1 t=.03\nJ=0 S=0 E=1 d=:s0,.03:\nJ=1 S=0 E=1 d=:s1,.03:\n", 3),
              "data: a.slf:5: utterance 'u': 'J=1', but the lattice is complete; N=2 and L=1 say how many there are, "
              "and 2 nodes and 1 arc were read");
    for (const std::string header : {"V=1", "N=2", "L=1"})
        EXPECT_EQ(errorOf(header), in2 + "nodes and arcs begin, expected their numbers (N=... L=...) before; a lattice "
                                         "begins with its header");
    EXPECT_EQ(errorOf("N=2 L=1 start=2"), in2 + "start= or end= is node 2, expected one from 0 to 1");
    EXPECT_EQ(errorOf("end=x N=2 L=1"), in1 + "'end=x': expected a node from 0 to 4294967294");
    EXPECT_EQ(errorOf("base=1 N=2 L=1"), in1 + "'base=1': a logarithm cannot have that base");
    EXPECT_EQ(errorOf("base=-2 N=2 L=1"), in1 + "'base=-2': a logarithm cannot have that base");
    EXPECT_EQ(errorOf("base=e N=2 L=1"), in1 + "'base=e': expected the base of logarithms, or 0 for no logarithms");
    EXPECT_EQ(errorOf("base=0 N=2 L=1"),
              "data: a.slf:4: utterance 'u': 'l=0': expected a probability, more than 0 (base=0)");
    EXPECT_EQ(errorOf("tscale=0 N=2 L=1"), in1 + "'tscale=0': expected what times are multiplied by, more than 0");
    EXPECT_EQ(errorOf("tscale=x N=2 L=1"), in1 + "'tscale=x': expected what times are multiplied by");
    EXPECT_EQ(errorOf("SUBLAT=x\nN=2 L=1"),
              in1 + "the lattice has sub-lattices, which are not read; expand them (HTK's HLRescore does so)");
    EXPECT_EQ(errorOf("UTTERANCE=other\nN=2 L=1 tscale=2"),
              "data: a.slf:1: utterance 'u': the lattice (UTTERANCE=other) has 6 frames, but the utterance has 3");
    EXPECT_EQ(ErrorOfText("VERSION=1.0\n"),
              in2 + "the file ends within the lattice; expected its nodes and arcs, N=... and L=...");
}

TEST_F(SlfFileTests, NotALattice)
{
    const std::string message =
        " does not begin a lattice in HTK's Standard Lattice Format (VERSION=..., then N=... L=...). Binary archives "
        "of CNTK v1.1 are not supported: write the lattices in HTK's format, with the states and their times (d=)";
    const std::string in1 = "data: a.slf:1: utterance 'u': byte 0" + message;
    EXPECT_EQ(ErrorOfText("\n\n"), "data: a.slf:3: utterance 'u': byte 0" + message);
    EXPECT_EQ(ErrorOfText("LATT 1 2\n"), in1);
    EXPECT_EQ(ErrorOfText("=1\n"), in1);
    EXPECT_EQ(ErrorOfText("1=1\n"), in1);
    EXPECT_EQ(ErrorOfText(std::string("V=1\0\n", 5)), in1);
    EXPECT_EQ(ErrorOfText("V=\"1\n"), "data: a.slf:1: utterance 'u': a value in quotes does not end with the quote and "
                                      "a blank; a quote that belongs to a word is written \\' or \\\"");
    EXPECT_EQ(ErrorOfText("V=" + std::string(20000000, 'x')), in1);
    EXPECT_EQ(ErrorOfText("VERSION=1.0\nN=2 L=1\n", 5, 8), "data: a.slf:1: utterance 'u': byte 8" + message);
    EXPECT_EQ(ErrorOfText("V=1\n" + std::string(20000000, 'x')),
              "data: a.slf:2: utterance 'u': the line is longer than any of a lattice");
    // The file ends within a lattice.
    EXPECT_EQ(ErrorOfText(c_twoPaths, 5, std::string(c_twoPaths).find("I=1")),
              "data: a.slf:7: utterance 'u': nodes and arcs begin, expected their numbers (N=... L=...) before; a "
              "lattice begins with its header");
}

} // namespace
} // namespace cntk
