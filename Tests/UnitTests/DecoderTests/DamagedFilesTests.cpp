// Text files with random damage are read, or refused with the file's name; nothing else happens.
#include "Decoder/AlignmentConstraint.h"
#include "Decoder/ArpaModel.h"
#include "DecoderTests/DecoderTestTools.h"
#include "DecoderTests/PathEnumeration.h"

namespace cntk
{
namespace
{

class DamagedFilesTests : public DecoderTest
{
protected:
    // Reads variants of the text in which bytes are changed, dropped or repeated. Returns the number of refusals.
    template <class Read>
    int RefusalsOf(const std::string& text, Read&& read)
    {
        const std::string bytes = "\0\n\t 9-.[]\\<>\"\xff" + std::string("ae1");
        std::mt19937 random(3);
        int refusals = 0;
        for (int round = 0; round < 400; ++round)
        {
            std::string damaged = text;
            for (unsigned i = 0; i <= random() % 3; ++i)
            {
                const size_t at = random() % damaged.size();
                const unsigned kind = random() % 4;
                if (kind == 0)
                    damaged.erase(at, 1 + random() % 8);
                else if (kind == 1)
                    damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 20));
                else
                    damaged[at] = bytes[random() % bytes.size()];
                if (damaged.empty())
                    damaged = "x";
            }
            const std::string path = Write("damaged", damaged);
            const std::string message = DecoderMessageOf([&] { read(path); });
            if (message == "no error")
                continue;
            ++refusals;
            EXPECT_THAT(message, testing::StartsWith("data: "));
            EXPECT_THAT(message, testing::HasSubstr("damaged"));
        }
        return refusals;
    }
};

TEST_F(DamagedFilesTests, AreReadOrRefused)
{
    std::mt19937 random(5);
    const EnumeratedTask task = RandomTask(random, true, 3);
    GraphTables tables;
    tables.transitionPath = "damaged";
    for (const auto& [label, scores] : task.transitions)
        tables.transitions[std::string(WithoutBrackets(label))] = {scores.first, scores.second};
    EXPECT_GT(RefusalsOf(task.AcceptorText(),
                         [&](const std::string& path) { BuildGraph(ReadAcceptor(path), tables, m_log); }),
              50);
    EXPECT_GT(RefusalsOf(task.ArpaText(), [](const std::string& path) { ArpaModel(path, "<s>", "</s>"); }), 50);
    EXPECT_GT(RefusalsOf(task.TransitionText(), [](const std::string& path) { ReadTransitions(path); }), 50);
    EXPECT_GT(RefusalsOf(task.LookaheadText(), [](const std::string& path) { ReadLookahead(path); }), 20);
    EXPECT_GT(RefusalsOf("[p] 0\n[q] 1\n[r] 2\n", [](const std::string& path) { ReadStateMap(path); }), 50);
    RefusalsOf("sil s1 s2 s3\na a1 a2\n", [](const std::string& path) { ReadModelMap(path); });
    const DecodeOptions options;
    EXPECT_GT(RefusalsOf("#!MLF!#\n\"*/a.lab\"\n0 100 one\n100 200 two\n.\n\"*/b.lab\"\none\n.\n",
                         [&](const std::string& path) { Transcripts(path, options); }),
              50);
}

} // namespace
} // namespace cntk
