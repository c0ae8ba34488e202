#include "Common/Htk/ScpFile.h"
#include "HtkTestTools.h"
#include "Readers/HTKMLFReader/MlfFile.h"

#include <gmock/gmock.h>

namespace cntk
{
namespace
{

class ScpMlfTests : public HtkTest
{
protected:
    std::string ScpError(const std::string& text)
    {
        return Cut(MessageOf([&] { ReadScpFile(Write("x.scp", text), ""); }));
    }
    std::string MlfError(const std::string& text, bool hasStates = true)
    {
        return Cut(MessageOf(
            [&]
            {
                LabelTable table(1);
                table.ReadMlf(Write("x.mlf", text), Keys(), hasStates ? States() : StateList(), 2, m_log);
            }));
    }
    std::string Cut(std::string message) const
    {
        for (size_t at; (at = message.find(m_folder + "/")) != std::string::npos;)
            message.erase(at, m_folder.size() + 1);
        return message;
    }
    static UtteranceKeys Keys()
    {
        UtteranceKeys keys;
        keys.Add("a/u1", 0);
        return keys;
    }
    StateList States() { return StateList::FromFile(Write("states", "s0\ns1\nx\n")); }
};

TEST_F(ScpMlfTests, ScpForms)
{
    const ScpFile scp = ReadScpFile(
        Write("x.scp", "a/b.mfc\r\nlog.f=c:\\d\\e.mfc\rutt/u.1.f=.../arch.chunk[ 3, 17 ]\nz=arch.chunk[0,0]"), "");
    ASSERT_EQ(scp.entries.size(), 4u);
    EXPECT_EQ(scp.entries[0].key, "a/b");
    EXPECT_FALSE(scp.entries[0].hasRange);
    EXPECT_EQ(scp.entries[1].key, "log");
    EXPECT_EQ(scp.paths[scp.entries[1].path], "c:\\d\\e.mfc");
    EXPECT_EQ(scp.entries[2].key, "utt/u.1");
    EXPECT_EQ(scp.paths[scp.entries[2].path], m_folder + "/arch.chunk");
    EXPECT_EQ(scp.entries[2].first, 3u);
    EXPECT_EQ(scp.entries[2].last, 17u);
    EXPECT_EQ(scp.paths[scp.entries[3].path], "arch.chunk");
    const ScpFile prefixed = ReadScpFile(Write("y.scp", "u=.../arch.chunk[0,1]"), "p\\q//");
    EXPECT_EQ(prefixed.paths[0], "p/q/.../arch.chunk");
}

TEST_F(ScpMlfTests, ScpErrors)
{
    EXPECT_EQ(ScpError("\n\n"), "data: script file 'x.scp' has no entries");
    EXPECT_EQ(ScpError("a\n\nb\n"), "data: x.scp:2: the line is blank, expected a feature file");
    EXPECT_EQ(ScpError("a=b[1,x]"),
              "data: x.scp:1: '[1,x]' is not a range of frames, expected [first,last] with whole numbers from 0");
    EXPECT_EQ(ScpError("ok\na=b[5,4]"), "data: x.scp:2: the range of frames [5,4] ends before it begins");
    EXPECT_EQ(ScpError("a=[0,4]"),
              "data: x.scp:1: 'a=[0,4]' names no file, expected name=file[first,last], name=file or file");
    EXPECT_EQ(ScpError("a=b0,4]"), "data: x.scp:1: 'a=b0,4]' has ']' but no '[', expected name=file[first,last]");
    EXPECT_EQ(ScpError("=b"), "data: x.scp:1: '=b' has no name before '='");
}

TEST_F(ScpMlfTests, OtherThanPlainText)
{
    EXPECT_EQ(ScpError("\x1F\x8B u1.mfc"),
              "data: script file 'x.scp' is compressed in a way that the program does not read; unpack it");
    EXPECT_EQ(ScpError("\xFF\xFEu"), "data: script file 'x.scp' is UTF-16 text, expected UTF-8 or ASCII");
    EXPECT_EQ(MlfError("\x1F\x8B "),
              "data: label file 'x.mlf' is compressed in a way that the program does not read; unpack it");
}

TEST_F(ScpMlfTests, Segments)
{
    LabelTable table(2);
    UtteranceKeys keys = Keys();
    keys.Add("b/u2", 1);
    const size_t entries =
        table.ReadMlf(Write("x.mlf", "#!MLF!#\r\n\n\"*/a/u1.lab\"\r\n0 200000 s0 -4.5 ph -3 word\r\n200000\t300000 "
                                     "s1\r\n.\n#!MLF!#\n\"u2.rec\"\n0 2 s1\n2 3 s0\n.\n\"other\"\nnonsense\n.\n"),
                      keys, States(), 2, m_log);
    EXPECT_EQ(entries, 3u);
    EXPECT_EQ(table.Frames(0), 3u);
    uint32_t ids[3];
    table.Expand(0, ids);
    EXPECT_THAT(ids, testing::ElementsAre(0, 0, 1));
    table.Expand(1, ids); // matched by the last part of its name; times are frames
    EXPECT_THAT(ids, testing::ElementsAre(1, 1, 0));
}

TEST_F(ScpMlfTests, EntriesWithoutAQuotedNameAreSkippedWithAWarning)
{
    LabelTable table(1);
    const std::string good = "\"a/u1.lab\"\n0 2 s1\n.\n";
    const std::string bad = "a/u1.lab\nnonsense\n.\n.\n\"\"\n.\n\"a/u1\n#!MLF!#\n.\n";
    EXPECT_EQ(table.ReadMlf(Write("x.mlf", "#!MLF!#\n" + bad + good), Keys(), States(), 2, m_log), 1u);
    EXPECT_EQ(table.Frames(0), 2u);
    const auto warning = [](int line, const std::string& text)
    {
        return Concat("x.mlf:", line, ": '", text,
                      "' is not the name of an utterance in double quotes; the entry is skipped\n");
    };
    std::string expected;
    for (const auto& [line, text] :
         std::vector<std::pair<int, std::string>>{{2, "a/u1.lab"}, {5, "."}, {6, "\"\""}, {8, "\"a/u1"}})
        expected += "WARNING: " + Path(warning(line, text));
    EXPECT_EQ(LogText(), expected);
}

TEST_F(ScpMlfTests, ManyEntriesWithoutAQuotedNameAreCounted)
{
    LabelTable table(1);
    std::string text = "#!MLF!#\n";
    for (int i = 0; i < 13; ++i)
        text += "u\n.\n";
    EXPECT_EQ(table.ReadMlf(Write("x.mlf", text), Keys(), States(), 2, m_log), 0u);
    EXPECT_FALSE(table.Has(0));
    const std::string log = LogText();
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 11);
    EXPECT_THAT(log, testing::HasSubstr(Path("x.mlf: 3 more entries without a name in double quotes are skipped")));
}

// Corpora have sentences that every speaker says.
TEST_F(ScpMlfTests, AmbiguousLabels)
{
    LabelTable table(3);
    UtteranceKeys keys;
    keys.Add("fcjf0/sa1", 0);
    keys.Add("fdaw0/sa1", 1);
    keys.Add("fdaw0/si2", 2);
    const std::string labels = "\n0 2 s1\n.\n";
    table.ReadMlf(Write("x.mlf", "#!MLF!#\n\"*/si2.lab\"" + labels + "\"*/sa1.lab\"" + labels + "\"sa1.rec\"" + labels +
                                     "\"other/sa1.lab\"" + labels),
                  keys, States(), 2, m_log);
    EXPECT_TRUE(table.Has(2));
    EXPECT_FALSE(table.Has(0) || table.Has(1));
    EXPECT_THAT(LogText(),
                testing::HasSubstr("x.mlf:5: the labels of 'sa1' (and of 1 more) are left out: utterances of "
                                   "several folders have that name; expected the name with its folder, as in "
                                   "the script file\n"));
}

TEST_F(ScpMlfTests, NumbersInsteadOfAStateList)
{
    LabelTable table(1);
    table.ReadMlf(Write("x.mlf", "#!MLF!#\n\"a/u1\"\n0 5 spk 1\n.\n"), Keys(), {}, 2, m_log);
    EXPECT_EQ(table.Frames(0), 5u);
    EXPECT_EQ(MlfError("#!MLF!#\n\"a/u1\"\n0 5 spk\n.\n", false),
              "data: x.mlf:3: utterance 'a/u1': '0 5 spk': without labelMappingFile the fourth and last column must be "
              "the class id");
    EXPECT_EQ(MlfError("#!MLF!#\n\"a/u1\"\n0 5 spk 2\n.\n", false),
              "data: x.mlf:3: utterance 'a/u1': the class id of state 'spk' is 2, expected less than labelDim=2");
}

TEST_F(ScpMlfTests, MlfErrors)
{
    const std::string head = "#!MLF!#\n\"a/u1.lab\"\n";
    EXPECT_EQ(MlfError("\n\"a\"\n"), "data: x.mlf:2: header missing: expected #!MLF!#, found '\"a\"'");
    EXPECT_EQ(MlfError("\n"), "data: label file 'x.mlf' is empty, expected #!MLF!# and labels of utterances");
    EXPECT_EQ(MlfError("#!MLF!#\nu1\n0 2 s0\n"),
              "data: x.mlf:3: the file ends within the entry that is skipped, expected a line with '.'");
    EXPECT_EQ(MlfError(head + "0 100000 s0\n"),
              "data: x.mlf:3: utterance 'a/u1': the file ends within the utterance, expected a line with '.'");
    EXPECT_EQ(MlfError(head + ".\n"), "data: x.mlf:3: utterance 'a/u1': the utterance has no labels");
    EXPECT_EQ(MlfError(head + "0 100000\n.\n"),
              "data: x.mlf:3: utterance 'a/u1': '0 100000' has 2 columns, expected start, end and state");
    EXPECT_EQ(MlfError(head + "0 100000 s0\n200000 300000 s1\n.\n"),
              "data: x.mlf:4: utterance 'a/u1': the segment '200000 300000 s1' begins at frame 2, but the previous "
              "segment ends at frame 1");
    EXPECT_EQ(MlfError(head + "0 1e5 s0\n.\n"), "data: x.mlf:3: utterance 'a/u1': '1e5' in '0 1e5 s0' is not a time, "
                                                "expected a whole number of frames or of 100 ns");
    EXPECT_EQ(
        MlfError(head + "0 100000 s2\n.\n"),
        "data: x.mlf:3: utterance 'a/u1': state 's2' not found in statelist 'states', which has 3 states; did you "
        "mean 's0' or 's1'?");
    EXPECT_EQ(MlfError(head + "0 100000 x\n.\n"),
              "data: x.mlf:3: utterance 'a/u1': the class id of state 'x' is 2, expected less than labelDim=2");
    EXPECT_EQ(MlfError(head + "0 1 s0\n.\n\"a/u1.rec\"\n0 1 s0\n.\n"),
              "data: x.mlf:5: utterance 'a/u1': it already has labels");
}

TEST_F(ScpMlfTests, StateLists)
{
    EXPECT_EQ(States().Find("x"), 2);
    EXPECT_EQ(States().Find("y"), -1);
    EXPECT_EQ(Cut(MessageOf([&] { StateList::FromFile(Write("s", "a\nb\na\n")); })),
              "data: state list 's':3: state 'a' is already in line 1");
    EXPECT_EQ(Cut(MessageOf([&] { StateList::FromFile(Write("s", "a\n\nb\n")); })),
              "data: state list 's':2: the line is blank, expected a state");
    EXPECT_EQ(Cut(MessageOf([&] { StateList::FromFile(Write("s", "\n")); })), "data: state list 's' is empty");
    EXPECT_EQ(Cut(MessageOf([&] { StateList::FromFile(Path("none")); })), "data: state list 'none' does not exist");
}

TEST_F(ScpMlfTests, RealLabels)
{
    const std::string mlf = Shared("data/timit/mlf/");
    const std::string scp = Shared("data/timit/scp/TIMIT.dev.scp.fbank.fullpath.rnn");
    if (!FileExists(scp))
        GTEST_SKIP() << "no shared data";
    const ScpFile list = ReadScpFile(scp, "");
    ASSERT_EQ(list.entries.size(), 400u);
    UtteranceKeys keys;
    for (size_t i = 0; i < list.entries.size(); ++i)
        keys.Add(list.entries[i].key, i);
    LabelTable table(list.entries.size());
    const StateList states = StateList::FromFile(mlf + "TIMIT.statelist");
    EXPECT_EQ(states.Size(), 183u);
    EXPECT_EQ(table.ReadMlf(mlf + "TIMIT.dev.align_cistate.mlf.cntk", keys, states, 183, m_log), 400u);
    LabelTable regions(list.entries.size());
    EXPECT_EQ(regions.ReadMlf(mlf + "TIMIT.dev.align_dr.mlf.cntk", keys, {}, 8, m_log), 400u);
    for (size_t i = 0; i < list.entries.size(); ++i)
    {
        EXPECT_EQ(table.Frames(i), list.entries[i].last + 1) << list.entries[i].key;
        EXPECT_EQ(regions.Frames(i), table.Frames(i)) << list.entries[i].key;
    }
}

} // namespace
} // namespace cntk
