#include "HtkTestTools.h"
#include "Readers/HTKMLFReader/SlfFile.h"

#include <cmath>

namespace cntk
{
namespace
{

// Two ways to say it: the first word in one state and a pause, or in two states.
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
    // "0>1 -1.5 w 1:0 3:1" for each arc: nodes, score, whether it is a word, ends of segments and their states.
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

} // namespace
} // namespace cntk
