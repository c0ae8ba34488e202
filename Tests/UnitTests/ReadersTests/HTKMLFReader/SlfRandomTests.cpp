// Writes random lattices in many forms of the format, reads them, and compares.
#include "HtkTestTools.h"
#include "Readers/HTKMLFReader/SlfFile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

namespace cntk
{
namespace
{

constexpr size_t c_states = 5;

class SlfRandomTests : public HtkTest, public testing::WithParamInterface<unsigned>
{
protected:
    struct RandomArc
    {
        size_t from;
        size_t to;
        bool isWord;
        double score;
        std::vector<std::pair<uint32_t, uint32_t>> segments; // frames, state
    };

    SlfRandomTests() : m_random(GetParam()) {}

    size_t Draw(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(m_random); }
    bool Coin() { return Draw(2) == 1; }

    // Nodes 0 to last in the order of time, which arcs follow; each node has arcs before and after it. If the file
    // names the end nodes, some nodes and arcs lie on no path.
    void DrawLattice()
    {
        const size_t nodes = 2 + Draw(12);
        m_frames.assign(nodes, 0);
        for (size_t i = 1; i < nodes; ++i)
            m_frames[i] = m_frames[i - 1] + uint32_t(Draw(3) * Draw(4));
        m_frames.back() += 1;
        for (size_t i = 0; i + 1 < nodes; ++i)
            AddArc(i, i + 1 + Draw(nodes - i - 1));
        for (size_t i = 1; i < nodes; ++i)
            AddArc(Draw(i), i);
        for (size_t i = Draw(20); i > 0; --i)
        {
            const size_t from = Draw(nodes - 1);
            AddArc(from, from + 1 + Draw(nodes - from - 1));
        }
        m_last = nodes - 1;
        m_nodesOnPaths = nodes;
        m_arcsOnPaths = m_arcs.size();
        m_namesEnds = Coin();
        if (!m_namesEnds)
            return;
        m_frames.push_back(uint32_t(Draw(m_frames[m_last] + 1))); // a dead end
        const auto earlier = [&](size_t node) { return m_frames[node] <= m_frames.back(); };
        for (size_t i = 0; i < nodes; ++i)
            if (earlier(i))
                AddArc(i, nodes);
        m_frames.push_back(0); // that no arc enters
        AddArc(nodes + 1, Draw(nodes));
    }

    void AddArc(size_t from, size_t to)
    {
        RandomArc arc{from, to, Coin(), -0.25 * double(m_arcs.size() + 1), {}};
        for (uint32_t left = m_frames[to] - m_frames[from]; left > 0;)
        {
            const auto count = uint32_t(1 + Draw(left));
            arc.segments.emplace_back(count, uint32_t(Draw(c_states)));
            left -= count;
        }
        m_arcs.push_back(arc);
    }

    std::string Number(double value) const
    {
        char text[64];
        std::snprintf(text, sizeof text, "%.9g", value);
        return text;
    }
    std::string Quoted(const std::string& text)
    {
        const size_t way = Draw(3);
        return way == 0 ? text : way == 1 ? "\"" + text + "\"" : "'" + text + "'";
    }

    std::string Write()
    {
        const bool hasLongNames = Coin();
        const auto name = [&](const char* shortName, const char* longName)
        { return std::string(" ") + (hasLongNames ? longName : shortName) + "="; };
        const double base = std::vector<double>{std::exp(1.0), 10, 2, 0}[Draw(4)];
        const double scale = std::vector<double>{1, 0.01, 1e-7}[Draw(3)];
        const std::string seconds = Number(0.01 / scale);
        const auto time = [&](uint32_t frames) { return Number(0.01 / scale * frames); };
        const bool onNodes = Coin();
        std::vector<size_t> numbers(m_frames.size());
        std::iota(numbers.begin(), numbers.end(), 0);
        std::shuffle(numbers.begin(), numbers.end(), m_random);
        std::vector<size_t> order(m_arcs.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), m_random);

        std::string text = "VERSION=1.0\nUTTERANCE=x lmscale=12\n";
        if (base != std::exp(1.0))
            text += "base=" + Number(base) + "\n";
        if (scale != 1)
            text += "tscale=" + Number(scale) + "\n";
        if (m_namesEnds)
            text += Concat("start=", numbers[0], " end=", numbers[m_last], "\n");
        text += name("N", "NODES") + std::to_string(m_frames.size()) + name("L", "LINKS") +
                std::to_string(m_arcs.size()) + "\n";
        if (onNodes) // the same for all arcs to a node
            for (RandomArc& arc : m_arcs)
                arc.isWord = arc.to % 2 == 1;
        for (size_t node = 0; node < m_frames.size(); ++node)
        {
            text += Concat("I=", numbers[node]) + name("t", "time") + time(m_frames[node]);
            if (onNodes)
                text += name("W", "WORD") + Quoted(node % 2 == 1 ? "word" : "!NULL");
            text += Coin() ? " v=1\n" : "\n";
            if (Draw(5) == 0)
                text += "# comment\n";
        }
        for (size_t i = 0; i < order.size(); ++i)
        {
            const RandomArc& arc = m_arcs[order[i]];
            const double score = base == 0 ? std::exp(arc.score) : arc.score / std::log(base);
            text += Concat("J=", i) + name("S", "START") + std::to_string(numbers[arc.from]) + name("E", "END") +
                    std::to_string(numbers[arc.to]) + " a=-12.5";
            if (!onNodes && (arc.isWord || Coin()))
                text += name("W", "WORD") + Quoted(arc.isWord ? "word" : "!NULL");
            text += name("l", "language") + Number(score);
            if (!arc.segments.empty())
            {
                std::string segments = ":";
                for (const auto& [count, state] : arc.segments)
                    segments += Concat("s", state, ",", time(count), Coin() ? ",-7:" : ":");
                text += name("d", "div") + Quoted(segments);
            }
            text += "\n";
        }
        if (Coin())
            for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
                text.insert(at, 1, '\r');
        return text;
    }

    void Check(const Lattice& lattice)
    {
        ASSERT_EQ(lattice.nodeFrames.size(), m_nodesOnPaths);
        ASSERT_EQ(lattice.arcs.size(), m_arcsOnPaths);
        EXPECT_EQ(lattice.frames, m_frames[m_last]);
        std::map<long, const RandomArc*> byScore;
        for (const RandomArc& arc : m_arcs)
            byScore[std::lround(arc.score * 4)] = &arc;
        std::vector<size_t> nodeOf(m_nodesOnPaths, SIZE_MAX);
        const auto isNode = [&](uint32_t node, size_t drawn)
        {
            if (nodeOf[node] == SIZE_MAX)
                nodeOf[node] = drawn;
            EXPECT_EQ(nodeOf[node], drawn);
            EXPECT_EQ(lattice.nodeFrames[node], m_frames[drawn]);
        };
        for (size_t i = 0; i < lattice.arcs.size(); ++i)
        {
            const LatticeArc& arc = lattice.arcs[i];
            const RandomArc* drawn = byScore[std::lround(arc.languageScore * 4)];
            ASSERT_NE(drawn, nullptr);
            EXPECT_NEAR(arc.languageScore, drawn->score, 1e-6);
            byScore[std::lround(arc.languageScore * 4)] = nullptr;
            isNode(arc.from, drawn->from);
            isNode(arc.to, drawn->to);
            EXPECT_LT(arc.from, arc.to);
            EXPECT_LE(i == 0 ? 0 : lattice.arcs[i - 1].from, arc.from);
            EXPECT_EQ(arc.isWord, drawn->isWord);
            uint32_t end = lattice.nodeFrames[arc.from];
            ASSERT_EQ(lattice.EndOfSegments(i) - arc.firstSegment, drawn->segments.size());
            for (size_t s = 0; s < drawn->segments.size(); ++s)
            {
                end += drawn->segments[s].first;
                EXPECT_EQ(lattice.segments[arc.firstSegment + s].end, end);
                EXPECT_EQ(lattice.segments[arc.firstSegment + s].state, drawn->segments[s].second);
            }
        }
        EXPECT_EQ(nodeOf.front(), 0u);
        EXPECT_EQ(nodeOf.back(), m_last);
    }

    std::mt19937 m_random;
    std::vector<uint32_t> m_frames; // by node
    std::vector<RandomArc> m_arcs;
    bool m_namesEnds = false;
    size_t m_last = 0;
    size_t m_nodesOnPaths = 0; // those come first
    size_t m_arcsOnPaths = 0;
};

TEST_P(SlfRandomTests, ReadAsWritten)
{
    DrawLattice();
    const std::string text = Write();
    SCOPED_TRACE(text);
    const StateList states = StateList::FromFile(HtkTest::Write("states", "s0\ns1\ns2\ns3\ns4\n"));
    const std::string key = "u";
    const SlfUtterance utterance{key, m_frames[m_last], states, c_states};
    Check(ReadSlf(PiecewiseFile(HtkTest::Write("a.slf", text)), 0, utterance));
    Check(ReadSlf(PiecewiseFile(HtkTest::Write("b.slf", text + text)), text.size(), utterance));
}

// A damaged lattice is an error, or another valid lattice.
TEST_P(SlfRandomTests, DamagedText)
{
    DrawLattice();
    const std::string text = Write();
    const StateList states = StateList::FromFile(HtkTest::Write("states", "s0\ns1\ns2\ns3\ns4\n"));
    const std::string key = "u";
    for (size_t i = 0; i < 20; ++i)
    {
        std::string damaged = text;
        for (size_t changes = 1 + Draw(3); changes > 0; --changes)
        {
            const size_t at = Draw(damaged.size());
            switch (Draw(4))
            {
            case 0:
                damaged[at] = char(Draw(256));
                break;
            case 1:
                damaged[at] = "=0123456789.,:-SEIJNLtdl\"'\\ \n"[Draw(29)];
                break;
            case 2:
                damaged.erase(at, 1 + Draw(40));
                break;
            default:
                damaged.insert(at, text, Draw(text.size()), Draw(60));
            }
            damaged += '\n';
        }
        SCOPED_TRACE(damaged);
        try
        {
            const Lattice lattice =
                ReadSlf(PiecewiseFile(HtkTest::Write("a.slf", damaged)), 0, {key, m_frames[m_last], states, c_states});
            ASSERT_FALSE(lattice.arcs.empty());
            EXPECT_EQ(lattice.nodeFrames.front(), 0u);
            EXPECT_EQ(lattice.nodeFrames.back(), m_frames[m_last]);
            for (size_t arc = 0; arc < lattice.arcs.size(); ++arc)
            {
                const LatticeArc& found = lattice.arcs[arc];
                ASSERT_LT(found.to, lattice.nodeFrames.size());
                EXPECT_LT(found.from, found.to);
                uint32_t end = lattice.nodeFrames[found.from];
                for (size_t s = found.firstSegment; s < lattice.EndOfSegments(arc); ++s)
                {
                    EXPECT_LT(end, lattice.segments[s].end);
                    EXPECT_LT(lattice.segments[s].state, c_states);
                    end = lattice.segments[s].end;
                }
                EXPECT_EQ(end, lattice.nodeFrames[found.to]);
                EXPECT_TRUE(std::isfinite(found.languageScore));
            }
        }
        catch (const Error& error)
        {
            EXPECT_EQ(error.Kind(), ErrorKind::Data);
            EXPECT_TRUE(error.Message().starts_with(Path("a.slf:"))) << error.Message();
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SlfRandomTests, testing::Range(0u, 60u));

} // namespace
} // namespace cntk
