// LUSequenceReader: sentences, context, word map, grouping, gaps, class labels; messages.
#include "Readers/LUSequenceReader/LuReader.h"
#include "ReadersTests/SequenceTestTools.h"

#include <algorithm>
#include <random>
#include <set>

namespace cntk
{
namespace
{

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class LuReaderTests : public ReaderTest
{
protected:
    LuReaderTests()
    {
        Write("words.txt", "BOS\nEOS\n<unk>\na\nb\n");
        Write("tags.txt", "O\nB-x\n\nnot a tag\n");
    }
    template <class ElemType = double>
    std::unique_ptr<IDataReader<ElemType>> Make(const std::string& block, bool forWriting = false)
    {
        m_config = ConfigParameters::Parse("reader=[\n" + OnLines(block) + "\n]", "test.cntk");
        ReaderContext context{m_config->RequireBlock("reader"), m_log};
        context.forWriting = forWriting;
        return MakeLuReader<ElemType>(context);
    }
    std::string Block(const std::string& more = "", const std::string& labels = "") const
    {
        return "file=" + Path("text.txt") + " " + more + " features=[dim=0] labelIn=[beginSequence=BOS " +
               "endSequence=EOS token=" + Path("words.txt") + "] labels=[token=" + Path("tags.txt") + " " + labels +
               "]";
    }
    // Writes sentences "a..a" of these lengths.
    void WriteSentences(const std::vector<size_t>& lengths)
    {
        std::string text;
        for (const size_t length : lengths)
        {
            for (size_t i = 0; i < length; ++i)
                text += "a O\n";
            text += "\n";
        }
        Write("text.txt", text);
    }
    std::string ErrorOf(const std::string& block)
    {
        return ErrorOfReading([&] { return Make(block); });
    }
};

TEST_F(LuReaderTests, WordsAndLabels)
{
    Write("text.txt", "BOS O\n\ta\tb  B-x\r\nalone\nz O\nEOS O\nb O\n\n\nb b a B-x");
    auto reader = Make(Block());
    ASSERT_EQ(reader->Streams().size(), 2u);
    EXPECT_EQ(reader->Streams()[0].rows, 5u);
    EXPECT_EQ(reader->Streams()[1].rows, 2u);
    EXPECT_THAT(reader->Streams()[1].labelNames, ElementsAre("O", "B-x"));
    EXPECT_EQ(reader->TotalSamples(), 6u);
    // EOS ends a sentence. Repeated words of a token count once. The last line needs no newline.
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 10), 0),
                ElementsAre("1x4 row0[0,4); 0:1; 3:1 4:1; 2:1; 1:1", "1x1 row0[0,1); 4:1", "1x1 row0[0,1); 3:1 4:1"));
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 10), 1, false), ElementsAre("0:1; 1:1; 0:1; 0:1", "0:1", "1:1"));
    // Reported once, not in each epoch.
    EXPECT_EQ(
        LogText(),
        "WARNING: " + Path("tags.txt") +
            ":4: a blank line ends the list, so that this line and the lines after it are not read; delete the blank "
            "line if they belong to the list\nWARNING: " +
            Path("text.txt") +
            ":3:1: 'alone' stands alone and is skipped, like other lines with one column; expected a label after it\n");
}

// Same as CNTK v1.1. Without the warning only worse numbers would show that words are missing.
TEST_F(LuReaderTests, WarnsOfLinesAfterABlankLineOfAList)
{
    Write("text.txt", "a O\n");
    Write("tags.txt", "O\nB\n\n\n");
    Write("map.txt", "a b\n\n");
    Make(Block("wordmap=" + Path("map.txt")));
    EXPECT_EQ(LogText(), "");
    Write("tags.txt", "O\nB\n\n \nI\nX\n");
    Write("map.txt", "a b\n\nc d\n");
    EXPECT_EQ(Make(Block("wordmap=" + Path("map.txt")))->Streams()[1].rows, 2u);
    const std::string rest = ": a blank line ends the list, so that this line and the lines after it are not read; "
                             "delete the blank line if they belong to the list\n";
    EXPECT_EQ(LogText(), "WARNING: " + Path("tags.txt") + ":5" + rest + "WARNING: " + Path("map.txt") + ":3" + rest);
    const size_t told = LogText().size();
    Write("tags.txt", "O 0\nB 1\n\n\n");
    Make(Block("", "mode=class"));
    EXPECT_EQ(LogText().size(), told);
    Write("tags.txt", "O 0\nB 1\n\nI 1\n");
    EXPECT_EQ(Make(Block("", "mode=class"))->Streams()[1].wordClasses, 2u);
    EXPECT_EQ(LogText().substr(told), "WARNING: " + Path("tags.txt") + ":4" + rest);
}

TEST_F(LuReaderTests, ContextStopsAtTheEndsOfTheSentence)
{
    Write("text.txt", "BOS O\na O\nb O\n\n");
    auto reader = Make(Block("wordContext=0:1:-2"));
    EXPECT_EQ(reader->Streams()[0].rows, 15u);
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 10), 0, false),
                ElementsAre("0:1 8:1 10:1; 3:1 9:1 10:1; 4:1 9:1 10:1"));
}

TEST_F(LuReaderTests, WordMap)
{
    Write("map.txt", "a b\nb <unk>\nBOS BOS\n\nEOS EOS\n");
    Write("text.txt", "BOS O\na O\nb O\nEOS O\n");
    const std::string block = "file=" + Path("text.txt") + " wordmap=" + Path("map.txt") +
                              " labelIn=[useWordMap=true token=" + Path("words.txt") +
                              "] labels=[token=" + Path("tags.txt") + "]";
    // The map ends at the blank line; words outside it are unknown.
    EXPECT_THAT(ReadStream(*Make(block), MakeRequest(0, 10), 0, false), ElementsAre("0:1; 4:1; 2:1; 2:1"));
}

TEST_F(LuReaderTests, WarnsOfRepeatedWordsInTheWordMap)
{
    Write("text.txt", "a O\nb O\n");
    Write("tags.txt", "O\n");
    const std::string block = "file=" + Path("text.txt") + " wordmap=" + Path("map.txt") +
                              " labelIn=[useWordMap=true token=" + Path("words.txt") +
                              "] labels=[token=" + Path("tags.txt") + "]";
    Write("map.txt", "a b\na b\nb b\n");
    Make(block);
    EXPECT_EQ(LogText(), "") << "both lines say the same";
    Write("map.txt", "a b\nb b\n a BOS\nb a\n");
    EXPECT_THAT(ReadStream(*Make(block), MakeRequest(0, 10), 0, false), ElementsAre("0:1; 3:1"));
    EXPECT_EQ(LogText(), "WARNING: " + Path("map.txt") +
                             ":3:2: 'a' becomes 'BOS' here, but 'b' in line 1; the last line of a word counts, also "
                             "for other words with several lines\n");
}

TEST_F(LuReaderTests, SharedKeysOfLabelBlocksMayStandOutside)
{
    Write("text.txt", "a O\nb B-x\na O\na O\nb B-x\n");
    const std::string blocks =
        " labelIn=[token=" + Path("words.txt") + "] labels=[token=" + Path("tags.txt") + " labelType=category]";
    std::vector<std::string> layouts;
    for (const std::string& minibatch :
         ReadStream(*Make("file=" + Path("text.txt") + " endSequence=B-x" + blocks), MakeRequest(0, 10), 0))
        layouts.push_back(minibatch.substr(0, minibatch.find(';')));
    EXPECT_THAT(layouts, ElementsAre("1x2 row0[0,2)", "1x3 row0[0,3)"));
}

TEST_F(LuReaderTests, SentencesOfOneLengthAreParallel)
{
    WriteSentences({4, 5, 4, 6, 6, 4});
    // The reader considers only the next three unused sentences.
    std::vector<std::string> layouts;
    for (const std::string& minibatch : ReadStream(*Make(Block("nbruttsineachrecurrentiter=3")), MakeRequest(0, 2), 0))
        layouts.push_back(minibatch.substr(0, minibatch.find(';')));
    EXPECT_THAT(layouts,
                ElementsAre("2x4 row0[0,4) row1[0,4)", "1x5 row0[0,5)", "2x6 row0[0,6) row1[0,6)", "1x4 row0[0,4)"));
    EXPECT_EQ(Make(Block("nbruttineachrecurrentiter=3"))->ParallelSequences(0), 3u);
    EXPECT_EQ(Make(Block("nbruttsineachrecurrentiter=3"), true)->ParallelSequences(0), 3u); // for writing text
    EXPECT_EQ(Make(Block("nbruttsineachrecurrentiter=3 writer=[file=a.txt]"), true)->ParallelSequences(0), 1u);
}

TEST_F(LuReaderTests, DifferentLengthsLeaveGaps)
{
    WriteSentences({2, 1, 3});
    EXPECT_THAT(ReadStream(*Make(Block("nbruttsineachrecurrentiter=2 equalLength=false")), MakeRequest(0, 2), 1),
                ElementsAre("2x2 row0[0,2) row1[0,1) gap1[1,2); 0:1; 0:1; 0:1; gap", "1x3 row0[0,3); 0:1; 0:1; 0:1"));
}

// Momentum depends on the columns of a minibatch: several workers together have as many as one process.
TEST_F(LuReaderTests, SharesOfWorkersAreAsLongAsTheWholeMinibatch)
{
    WriteSentences({2, 1, 3});
    EpochRequest request = MakeRequest(0, 2);
    request.workers = 2;
    const auto share = [&](size_t rank)
    {
        request.rank = rank;
        return ReadStream(*Make(Block("nbruttsineachrecurrentiter=3 equalLength=false")), request, 1);
    };
    EXPECT_THAT(share(0), ElementsAre("1x3 row0[0,2) gap0[2,3); 0:1; 0:1; gap"));
    EXPECT_THAT(share(1), ElementsAre("2x3 row0[0,1) row1[0,3) gap0[1,3); 0:1; 0:1; gap; 0:1; gap; 0:1"));
}

// Same order as CNTK v1.1. The reader warns if the lines of the output have another order.
TEST_F(LuReaderTests, WarnsOfOutputInAnotherOrder)
{
    WriteSentences({4, 5, 4, 6, 6, 4});
    const auto layouts = [&](const std::string& options)
    {
        std::vector<std::string> found;
        for (const std::string& minibatch : ReadStream(*Make(Block(options), true), MakeRequest(0, 2), 0))
            found.push_back(minibatch.substr(0, minibatch.find(';')));
        return found;
    };
    EXPECT_THAT(layouts("nbruttsineachrecurrentiter=2"), ElementsAre("1x4 row0[0,4)", "1x5 row0[0,5)", "1x4 row0[0,4)",
                                                                     "2x6 row0[0,6) row1[0,6)", "1x4 row0[0,4)"));
    EXPECT_THAT(LogText(), Not(HasSubstr("overtake")));
    EXPECT_THAT(layouts("nbruttsineachrecurrentiter=3 randomize=auto"),
                ElementsAre("2x4 row0[0,4) row1[0,4)", "1x5 row0[0,5)", "2x6 row0[0,6) row1[0,6)", "1x4 row0[0,4)"));
    EXPECT_THAT(LogText(), HasSubstr("WARNING: LUSequenceReader: with nbruttsineachrecurrentiter=3 sentences overtake "
                                     "others of another length, so that the output is not in the order of "));
    EXPECT_THAT(LogText(), HasSubstr("; equalLength=false keeps that order\n"));
}

TEST_F(LuReaderTests, DoesNotWarnOfWritingInTheOrderOfTheText)
{
    WriteSentences({4, 4, 5, 6, 6, 6});
    EXPECT_EQ(ReadStream(*Make(Block("nbruttsineachrecurrentiter=3"), true), MakeRequest(0, 2), 0).size(), 3u);
    EXPECT_THAT(LogText(), Not(HasSubstr("overtake")));
}

TEST_F(LuReaderTests, SentencesAreNamedByTheirNumbers)
{
    WriteSentences({4, 5, 4, 6});
    auto reader = Make(Block("nbruttsineachrecurrentiter=3"));
    for (size_t epoch = 0; epoch < 2; ++epoch)
    {
        reader->StartEpoch(MakeRequest(epoch, 2));
        std::vector<std::vector<std::string>> keys;
        for (HostMinibatch<double> minibatch; reader->GetMinibatch(minibatch);)
            keys.push_back(minibatch.sequenceKeys);
        EXPECT_THAT(keys, ElementsAre(ElementsAre("1", "3"), ElementsAre("2"), ElementsAre("4")));
    }
}

TEST_F(LuReaderTests, ClassLabels)
{
    Write("tags.txt", "O 0\nB-x 1\nI-x 1\nB-y 2\n");
    Write("text.txt", "a O\na B-x\na B-y\n");
    EXPECT_THAT(ReadStream(*Make(Block("", "mode=class")), MakeRequest(0, 10), 1, false),
                ElementsAre("0 0 0 1; 1 1 1 3; 3 2 3 4"));
    // Four rows, with fewer tokens and with more.
    Write("tags.txt", "O 0\nB-x 1\n");
    Write("text.txt", "a O\na B-x\n");
    EXPECT_THAT(ReadStream(*Make(Block("", "mode=class")), MakeRequest(0, 10), 1, false),
                ElementsAre("0 0 0 1; 1 1 1 2"));
    Write("tags.txt", "O 0\nB-x 1\nI-x 1\nB-y 2\nI-y 2\n");
    EXPECT_THAT(ReadStream(*Make(Block("", "mode=class")), MakeRequest(0, 10), 1, false),
                ElementsAre("0 0 0 1; 1 1 1 3"));
    EXPECT_EQ(Make(Block("", "mode=class"))->Streams()[1].rows, 4u);
    EXPECT_EQ(Make(Block("", "mode=class"))->Streams()[1].wordClasses, 3u);
    EXPECT_EQ(Make(Block("", "mode=class"))->Streams()[1].wordClassSource, Path("tags.txt"));
}

TEST_F(LuReaderTests, ShufflesOnlyOnRequest)
{
    std::vector<size_t> lengths(30);
    for (size_t i = 0; i < lengths.size(); ++i)
        lengths[i] = i + 1;
    WriteSentences(lengths);
    const auto sizesOf = [&](const std::string& randomize, size_t epoch)
    {
        std::vector<size_t> sizes;
        HostMinibatch<double> minibatch;
        auto reader = Make(Block(randomize));
        reader->StartEpoch(MakeRequest(epoch, 10));
        while (reader->GetMinibatch(minibatch))
            sizes.push_back(minibatch.streams[0].columns);
        return sizes;
    };
    EXPECT_EQ(sizesOf("", 0), lengths);
    EXPECT_EQ(sizesOf("randomize=None", 1), lengths);
    std::vector<size_t> shuffled = lengths;
    std::minstd_rand0 generator(0);
    std::shuffle(shuffled.begin(), shuffled.end(), generator);
    EXPECT_EQ(sizesOf("randomize=auto", 0), shuffled);
    EXPECT_EQ(sizesOf("randomize=auto", 0), shuffled); // again the same
    EXPECT_NE(sizesOf("randomize=auto", 1), shuffled);
}

TEST_F(LuReaderTests, EpochSizeCountsSentences)
{
    WriteSentences({2, 2, 2, 2});
    EXPECT_EQ(ReadStream(*Make(Block()), MakeRequest(0, 10, 2), 0).size(), 3u);
    EXPECT_EQ(ReadStream(*Make(Block()), MakeRequest(0, 10, 9), 0).size(), 4u);
    EXPECT_EQ(ReadStream(*Make(Block("dataMultiPass=true")), MakeRequest(0, 10, 9), 0).size(), 10u);
    EXPECT_EQ(ReadStream(*Make(Block("dataMultiPass=true")), MakeRequest(0, 10), 0).size(), 4u);
}

TEST_F(LuReaderTests, BlocksByName)
{
    WriteSentences({2});
    const std::string block = "file=" + Path("text.txt") + " inputLabel=words outputLabel=alabels features=[dim=0] " +
                              "words=[token=" + Path("words.txt") + "] alabels=[token=" + Path("tags.txt") + "]";
    auto reader = Make(block);
    EXPECT_EQ(reader->Streams()[0].rows, 5u);
    EXPECT_EQ(reader->Streams()[1].name, "alabels");
    EXPECT_THAT(ErrorOf("inputLabel=wrds outputLabel=alabels " + block.substr(0, block.find(" input")) +
                        block.substr(block.find(" features"))),
                HasSubstr("config: inputLabel: the reader has no label block 'wrds'; label blocks: alabels, words"));
    const auto errorWith = [&](const std::string& keys)
    { return ErrorOf(keys + " " + block.substr(0, block.find(" input")) + block.substr(block.find(" features"))); };
    EXPECT_THAT(errorWith("inputLabel=words"),
                HasSubstr("config: inputLabel and outputLabel are the same block, 'words' (outputLabel is not given: "
                          "the second by name); expected two of alabels, words"));
    EXPECT_THAT(errorWith("outputLabel=alabels"), HasSubstr("'alabels' (inputLabel is not given: the first by name)"));
    EXPECT_THAT(errorWith("inputLabel=words outputLabel=Words"), HasSubstr("are the same block, 'words'; expected"));
}

// Each block is a complete reader; it inherits missing keys from the outer block.
TEST_F(LuReaderTests, SeveralReadersInOne)
{
    WriteSentences({2, 3, 2, 1, 3, 1, 2, 2});
    std::string other;
    for (const size_t length : {2, 3, 2, 1, 3, 1, 2, 2})
    {
        for (size_t i = 0; i < length; ++i)
            other += "b B-x\n";
        other += "\n";
    }
    Write("other.txt", other);
    const auto part = [&](const std::string& name, const std::string& file)
    {
        return name + "=[file=" + Path(file) + " " + name + "Features=[dim=0] " + name +
               "In=[token=" + Path("words.txt") + "] " + name + "Labels=[token=" + Path("tags.txt") + "]] ";
    };
    const std::string block = "ioNodeNames=one:two randomize=auto nbruttsineachrecurrentiter=2 " +
                              part("one", "text.txt") + part("two", "other.txt");
    auto reader = Make(block);
    ASSERT_EQ(reader->Streams().size(), 4u);
    EXPECT_EQ(reader->ParallelSequences(0), 2u);
    HostMinibatch<double> minibatch;
    reader->StartEpoch(MakeRequest(0, 100));
    size_t samples = 0;
    while (reader->GetMinibatch(minibatch))
        samples += minibatch.streams[0].layout->ActualSamples();
    EXPECT_EQ(samples, 16u);

    Write("other.txt", other + "b B-x\n\n");
    EXPECT_THAT(ErrorOf(block), HasSubstr("they must"));
    EXPECT_THAT(ErrorOf("ioNodeNames=one:three " + part("one", "text.txt")), HasSubstr("three"));
}

TEST_F(LuReaderTests, Messages)
{
    Write("text.txt", "a O\nb B-z\n");
    EXPECT_EQ(ErrorOf(Block()), "data: " + Path("text.txt") + ":2:3: 'B-z' is not in the tokens '" + Path("tags.txt") +
                                    "' of 'labels', and neither is unk '<unk>'; did you mean 'B-x'?");
    EXPECT_THAT(ErrorOf(Block("randomize=atuo")), HasSubstr("randomize is 'atuo', expected auto, true, none or false"));
    EXPECT_THAT(ErrorOf(Block("ignoresentencebegintag=true")), HasSubstr("config: ignoresentencebegintag=true"));
    EXPECT_THAT(ErrorOf(Block("ioNodeNames=a:b")), HasSubstr("required parameter missing: test.cntk:reader:a"));
    EXPECT_THAT(ErrorOf("file=" + Path("text.txt")), HasSubstr("config: the reader has 0 label blocks; expected two"));
    EXPECT_THAT(
        ErrorOf("file=" + Path("text.txt") + " labelIn=[endSequence=EOS] labels=[token=" + Path("tags.txt") + "]"),
        HasSubstr("config: 'labelIn' has no words: it needs token="));
    EXPECT_THAT(ErrorOf("file=" + Path("text.txt") + " labelIn=[useWordMap=true token=" + Path("words.txt") +
                        "] labels=[token=" + Path("tags.txt") + "]"),
                HasSubstr("config: useWordMap=true needs wordmap="));
    Write("map.txt", "a b\nc\n");
    EXPECT_EQ(ErrorOf(Block("wordmap=" + Path("map.txt"))),
              "data: " + Path("map.txt") + ":2: expected two words, from and to, found 1 in 'c'");
    Write("tags.txt", "O 0\nB\n");
    EXPECT_EQ(ErrorOf(Block("", "mode=class")),
              "data: " + Path("tags.txt") + ":2: expected a word and its class, found 1 column");
    Write("tags.txt", "<unk>\nO 0\nB\t1\n"); // every label would be unknown
    EXPECT_EQ(ErrorOf(Block()), "data: " + Path("tags.txt") +
                                    ":2: expected one word a line, found 'O 0', and several words in 2 of 3 lines; a "
                                    "list of words and classes needs mode=class");
    Write("tags.txt", "O\nO\n");
    EXPECT_THAT(ErrorOf(Block()), HasSubstr("tags.txt:2:1: word 'O' occurs twice, it has id 0 already"));
    Write("tags.txt", "O\n");
    Write("text.txt", "\nword\nmore\n\n");
    EXPECT_EQ(ErrorOf(Block()), "data: " + Path("text.txt") +
                                    ":2:1: 'word' stands alone, and so does every other word of the file; expected its "
                                    "label after it, as the last column of the line");
    Write("text.txt", "\n\n");
    EXPECT_THAT(ErrorOf(Block()), HasSubstr("has no sentences; expected lines of words and a label"));
}

// CNTK v1.1 ignored labelDim; the token file decides the number of rows.
TEST_F(LuReaderTests, LabelDimThatTheTokenFileContradicts)
{
    Write("text.txt", "a O\n");
    Make(Block("", "labelDim=2"));
    EXPECT_THAT(LogText(), Not(HasSubstr("labelDim")));
    for (const size_t other : {1, 127})
    {
        const auto reader = Make(Block("", "labelDim=" + std::to_string(other)));
        EXPECT_EQ(reader->Streams()[1].rows, 2u);
        EXPECT_THAT(LogText(), HasSubstr(Concat("labelDim=", other, " of 'labels', but '", Path("tags.txt"),
                                                "' has 2 words; the stream gets as many rows as words")));
    }
}

} // namespace
} // namespace cntk
