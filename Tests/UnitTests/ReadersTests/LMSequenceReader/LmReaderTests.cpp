// LMSequenceReader: sentences, vocabularies, modes, the shuffle and grouping of CNTK v1.1, truncation; its writer;
// messages.
#include "Readers/LMSequenceReader/LmReader.h"
#include "Readers/ReaderLib/WordWriter.h"
#include "ReadersTests/SequenceTestTools.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace cntk
{
namespace
{

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class LmReaderTests : public ReaderTest
{
protected:
    LmReaderTests()
    {
        Write("vocab.txt", "0 9 </s> 0\n1 8 a 0\n2 7\tb 1\n     3\t     6\t<unk>\t1\n4 5 c 1\n");
        Write("words.txt", "</s>\na\nb\n<unk>\nc\n");
    }
    template <class ElemType = double>
    std::unique_ptr<IDataReader<ElemType>> Make(const std::string& block, bool forWriting = false)
    {
        m_config = ConfigParameters::Parse("reader=[\n" + OnLines(block) + "\n]", "test.cntk");
        ReaderContext context{m_config->RequireBlock("reader"), m_log};
        context.forWriting = forWriting;
        return MakeLmReader<ElemType>(context);
    }
    std::string Block(const std::string& more = "", const std::string& mode = "class") const
    {
        return "file=" + Path("text.txt") + " wordclass=" + Path("vocab.txt") + " " + more +
               " features=[dim=0 mode=" + mode +
               "] labelIn=[dim=1 labelType=Category labelMappingFile=" + Path("words.txt") +
               "] labels=[dim=1 labelType=NextWord]";
    }
    std::string ErrorOf(const std::string& block)
    {
        return ErrorOfReading([&] { return Make(block); });
    }
};

TEST_F(LmReaderTests, WordsAndTheirSuccessors)
{
    Write("text.txt", "</s> a\t b c  x </s>\r\n</s> </s>\n\n");
    auto reader = Make(Block());
    ASSERT_EQ(reader->Streams().size(), 3u);
    EXPECT_EQ(reader->Streams()[0].name, "features");
    EXPECT_EQ(reader->Streams()[0].rows, 5u);
    EXPECT_TRUE(reader->Streams()[0].sparse);
    EXPECT_EQ(reader->Streams()[1].name, "labels");
    EXPECT_THAT(
        reader->Streams()[1].source,
        testing::EndsWith("mode=class, made for ClassBasedCrossEntropyWithSoftmax; a label for each word of the "
                          "vocabulary comes from mode=oneHot"));
    EXPECT_EQ(reader->Streams()[1].rows, 4u);
    EXPECT_EQ(reader->Streams()[1].wordClasses, 2u);
    EXPECT_THAT(reader->Streams()[1].wordClassSource, testing::HasSubstr("vocab.txt"));
    EXPECT_EQ(reader->Streams()[2].name, "idx2cls");
    EXPECT_EQ(reader->TotalSamples(), 5u);
    HostMinibatch<double> minibatch;
    reader->StartEpoch(MakeRequest(0, 10));
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_EQ(LayoutText(*minibatch.streams[0].layout), "1x5 row0[0,5)");
    EXPECT_THAT(ColumnsOf(minibatch.streams[0]), ElementsAre("0:1", "1:1", "2:1", "4:1", "3:1"));
    EXPECT_THAT(ColumnsOf(minibatch.streams[1]), ElementsAre("1 0 0 2", "2 1 2 5", "4 1 2 5", "3 1 2 5", "0 0 0 2"));
    EXPECT_THAT(minibatch.streams[2].values, ElementsAre(0, 0, 1, 1, 1));
    EXPECT_FALSE(reader->GetMinibatch(minibatch));
    EXPECT_THAT(LogText(), HasSubstr("LMSequenceReader: Reading epoch data... 1 sequences read.\n"));
}

TEST_F(LmReaderTests, TheBooksConfigWorks)
{
    Write("text.txt", "</s> a </s>\n");
    auto reader = Make("file=" + Path("text.txt") + " wordclass=" + Path("vocab.txt") +
                       " randomize=false nbruttineachrecurrentiter=10 unk=\"<unk>\" labelIn=[labelDim=5 "
                       "beginSequence=\"</s>\" endSequence=\"</s>\"]");
    EXPECT_EQ(reader->Streams()[0].name, "features");
    EXPECT_EQ(reader->Streams()[1].name, "labels");
    EXPECT_EQ(reader->ParallelSequences(0), 10u);
    EXPECT_EQ(ReadStream(*reader, MakeRequest(0, 10), 0).size(), 1u);
}

TEST_F(LmReaderTests, TextsWithoutMarkers)
{
    const std::string block = "file=" + Path("text.txt") + " wordclass=" + Path("vocab.txt") +
                              " labelIn=[beginSequence=\"</s>\" endSequence=\"</s>\"]"
                              " labels=[beginSequence=O endSequence=O]";
    const auto logOf = [&](const std::string& text, const std::string& more = {})
    {
        Write("text.txt", text);
        const size_t before = LogText().size();
        auto reader = Make(block + more);
        for (size_t epoch = 0; epoch < 2; ++epoch)
            ReadStream(*reader, MakeRequest(epoch, 10), 0);
        return LogText().substr(before);
    };
    const std::string end =
        "; the reader does not add markers, and without them the model does not learn how sentences begin and end\n";
    const std::string bare = logOf("a b c\nc b a b\n");
    const std::string warning =
        "WARNING: LMSequenceReader: none of the 2 sentences read of '" + Path("text.txt") + "' ";
    EXPECT_THAT(bare,
                HasSubstr(warning + "begins with '</s>' (beginSequence) or ends with '</s>' (endSequence)" + end));
    EXPECT_EQ(bare.find("WARNING"), bare.rfind("WARNING")); // not in each epoch
    EXPECT_THAT(logOf("</s> b c\nc b a b\n"), HasSubstr(warning + "ends with '</s>' (endSequence)" + end));
    EXPECT_THAT(logOf("</s> b c </s>\nc b a b\n"), testing::Not(HasSubstr("WARNING")));
    // A block is one sentence here; the first one may be a title.
    EXPECT_THAT(logOf("a b c\n</s> b c </s>\n", " cacheBlockSize=1"), testing::Not(HasSubstr("WARNING")));
    std::string many;
    for (size_t i = 0; i < 150; ++i)
        many += "a b c\n";
    EXPECT_THAT(logOf(many, " cacheBlockSize=1"), HasSubstr("none of the 100 sentences read of"));
    // A word outside the vocabulary.
    Write("text.txt", "</s> b c </s>\n");
    ReadStream(*Make("file=" + Path("text.txt") + " wordclass=" + Path("vocab.txt") + " labelIn=[beginSequence=<s>]"),
               MakeRequest(0, 10), 0);
    EXPECT_THAT(LogText(), HasSubstr("' begins with '<s>' (beginSequence)" + end));
}

TEST_F(LmReaderTests, WarnsOfWritingInAnotherOrder)
{
    Write("text.txt", "</s> a </s>\n</s> b </s>\n</s> c </s>\n</s> a b </s>\n</s> b b </s>\n</s> c b </s>\n");
    const std::string warning = "WARNING: LMSequenceReader: sentences are shuffled whatever randomize says, so that "
                                "the output is not in the order of '" +
                                Path("text.txt") + "'; cacheBlockSize=1 keeps that order\n";
    ReadStream(*Make(Block()), MakeRequest(0, 10), 0);
    ReadStream(*Make(Block("cacheBlockSize=1"), true), MakeRequest(0, 10), 0);
    EXPECT_THAT(LogText(), Not(HasSubstr("WARNING")));
    auto reader = Make(Block(), true);
    ReadStream(*reader, MakeRequest(0, 10), 0);
    ReadStream(*reader, MakeRequest(1, 10), 0);
    EXPECT_THAT(LogText(), HasSubstr(warning));
    EXPECT_EQ(LogText().find("WARNING"), LogText().rfind("WARNING"));
}

TEST_F(LmReaderTests, SoftmaxLabels)
{
    Write("text.txt", "</s> a c </s>\n");
    EXPECT_THAT(ReadStream(*Make(Block("", "softmax")), MakeRequest(0, 10), 1, false), ElementsAre("1; 4; 1e-06"));
}

TEST_F(LmReaderTests, NceLabelsHoldLogProbabilitiesAndNoise)
{
    std::string text;
    for (size_t i = 0; i < 500; ++i)
        text += "</s> b b b b </s>\n";
    Write("text.txt", text);
    auto reader = Make(Block("noise_number=3 nbruttsineachrecurrentiter=100", "nce"));
    ASSERT_EQ(reader->Streams()[1].rows, 8u);
    std::vector<double> drawn(5, 0.0);
    double draws = 0;
    HostMinibatch<double> minibatch;
    reader->StartEpoch(MakeRequest(0, 10));
    const double counts[] = {9, 8, 7, 6, 5};
    while (reader->GetMinibatch(minibatch))
    {
        const StreamBatch<double>& labels = minibatch.streams[1];
        for (size_t column = 0; column < labels.columns; ++column)
        {
            const double* label = labels.values.data() + column * 8;
            EXPECT_DOUBLE_EQ(label[1], std::log(counts[size_t(label[0])] / 35));
            for (size_t i = 2; i < 8; i += 2)
            {
                const size_t word = size_t(label[i]);
                ASSERT_LT(word, 5u);
                EXPECT_DOUBLE_EQ(label[i + 1], -std::log(counts[word] / 35));
                ++drawn[word];
                ++draws;
            }
        }
    }
    ASSERT_EQ(draws, 7500);
    for (size_t word = 0; word < 5; ++word)
        EXPECT_NEAR(drawn[word] / draws, counts[word] / 35, 0.02); // four standard deviations
}

// Sentences of one length in the order of std::shuffle with mt19937(epoch + 1 + block).
TEST_F(LmReaderTests, ShuffleAndGroupsAreTheOriginals)
{
    const std::vector<std::string> sentences = {"</s> a </s>", "</s> a a </s>", "</s> b </s>", "</s> b b </s>",
                                                "</s> c </s>", "</s> c c </s>", "</s> x </s>"};
    std::string text;
    for (const std::string& sentence : sentences)
        text += sentence + "\n";
    Write("text.txt", text);
    auto reader = Make(Block("nbruttsineachrecurrentiter=2"));
    for (size_t epoch = 0; epoch < 4; ++epoch)
    {
        std::vector<std::string> order = sentences;
        std::mt19937 generator(uint32_t(epoch + 1));
        std::shuffle(order.begin(), order.end(), generator);
        std::vector<std::string> expected;
        std::vector<bool> used(order.size(), false);
        const auto idOf = [](char word) { return word == 'x' ? 3 : word == 'c' ? 4 : word - 'a' + 1; };
        for (size_t i = 0; i < order.size(); ++i)
        {
            if (used[i])
                continue;
            std::vector<size_t> group;
            for (size_t j = i; j < order.size() && group.size() < 2; ++j)
            {
                if (used[j] || order[j].size() != order[i].size())
                    continue;
                used[j] = true;
                group.push_back(j);
            }
            std::string columns;
            for (size_t t = 0; t < (order[i].size() == 11 ? 2u : 3u); ++t)
                for (const size_t j : group)
                    columns += (columns.empty() ? "" : "; ") +
                               std::to_string(t == 0 ? 0 : idOf(order[j][5 + 2 * (t - 1)])) + ":1";
            expected.push_back(columns);
        }
        EXPECT_EQ(ReadStream(*reader, MakeRequest(epoch, 10), 0, false), expected) << epoch;
    }
}

TEST_F(LmReaderTests, BlocksAreShuffledSeparately)
{
    std::string text;
    for (size_t i = 0; i < 60; ++i)
        text += i < 30 ? "</s> a </s>\n" : "</s> b </s>\n";
    Write("text.txt", text);
    const std::vector<std::string> read =
        ReadStream(*Make(Block("cacheBlockSize=90")), MakeRequest(0, 10), 0, false); // 30 sentences of 3 words
    ASSERT_EQ(read.size(), 60u);
    for (size_t i = 0; i < 60; ++i)
        EXPECT_EQ(read[i], i < 30 ? "0:1; 1:1" : "0:1; 2:1");
}

// Keys for scores of sentences, which have no names.
TEST_F(LmReaderTests, BlocksOfOneWordKeepTheOrderOfTheFile)
{
    std::string text;
    std::vector<std::string> expected;
    for (size_t i = 0; i < 40; ++i)
    {
        text += i % 3 == 0 ? "</s> a </s>\n" : i % 3 == 1 ? "</s> b </s>\n" : "</s> c a </s>\n";
        expected.push_back(i % 3 == 0 ? "0:1; 1:1" : i % 3 == 1 ? "0:1; 2:1" : "0:1; 4:1; 1:1");
    }
    Write("text.txt", text);
    EXPECT_EQ(ReadStream(*Make(Block("cacheBlockSize=1")), MakeRequest(0, 10), 0, false), expected);
    EXPECT_NE(ReadStream(*Make(Block()), MakeRequest(0, 10), 0, false), expected);
}

TEST_F(LmReaderTests, LongSentencesAreCutAndContinued)
{
    Write("text.txt", "</s> a b c a </s>\n</s> b b b b </s>\n");
    const std::vector<std::string> read =
        ReadStream(*Make(Block("nbruttsineachrecurrentiter=2")), MakeRequest(0, 2), 0);
    ASSERT_EQ(read.size(), 3u);
    EXPECT_THAT(read[0], HasSubstr("2x2 row0[0,5) row1[0,5); 0:1; 0:1;"));
    EXPECT_THAT(read[1], HasSubstr("2x2 row0[-2,3) row1[-2,3); "));
    EXPECT_THAT(read[2], HasSubstr("2x1 row0[-4,1) row1[-4,1); "));
    // Pieces of several sentences alternate in the output; the reader warns once.
    EXPECT_THAT(LogText(), Not(HasSubstr("WARNING")));
    EXPECT_EQ(ReadStream(*Make(Block("nbruttsineachrecurrentiter=2"), true), MakeRequest(0, 2), 0), read);
    const std::string warning = "WARNING: LMSequenceReader: sentences longer than minibatchSize=2 are cut, and in "
                                "the output the pieces of 2 parallel sentences alternate; a larger minibatchSize "
                                "leaves them whole\n";
    EXPECT_THAT(LogText(), HasSubstr(warning));
    EXPECT_EQ(LogText().find(warning), LogText().rfind(warning));
    // 0 sentences: as many as fit into ten words, uncut.
    EXPECT_EQ(ReadStream(*Make(Block("nbruttsineachrecurrentiter=0")), MakeRequest(0, 9), 0).size(), 2u);
    EXPECT_EQ(ReadStream(*Make(Block("nbruttsineachrecurrentiter=0")), MakeRequest(0, 10), 0).size(), 1u);
}

TEST_F(LmReaderTests, SentencesAreNamedByTheirLines)
{
    Write("text.txt", "</s> a b </s>\n</s> a\n\n</s> b c </s>\n");
    auto reader = Make(Block("nbruttsineachrecurrentiter=2 cacheBlockSize=1"));
    reader->StartEpoch(MakeRequest(0, 2));
    std::vector<std::vector<std::string>> keys;
    for (HostMinibatch<double> minibatch; reader->GetMinibatch(minibatch);)
        keys.push_back(minibatch.sequenceKeys);
    EXPECT_THAT(keys, ElementsAre(ElementsAre("1"), ElementsAre("1"), ElementsAre("4"), ElementsAre("4")));
}

TEST_F(LmReaderTests, AnEpochEndsAfterItsSize)
{
    std::string text;
    for (size_t i = 0; i < 20; ++i)
        text += "</s> a </s>\n";
    Write("text.txt", text);
    auto reader = Make(Block());
    EXPECT_EQ(ReadStream(*reader, MakeRequest(0, 10, 10), 0).size(), 6u); // once more than 10 words were given
    EXPECT_EQ(ReadStream(*reader, MakeRequest(1, 10, 1000), 0).size(), 20u);
}

TEST_F(LmReaderTests, WorkersShareTheSentencesOfAGroup)
{
    std::string text;
    for (size_t i = 0; i < 10; ++i)
        text += "</s> a </s>\n";
    Write("text.txt", text);
    size_t samples = 0;
    for (size_t rank = 0; rank < 3; ++rank)
    {
        auto reader = Make(Block("nbruttsineachrecurrentiter=5"));
        EpochRequest request = MakeRequest(0, 10);
        request.rank = rank;
        request.workers = 3;
        HostMinibatch<double> minibatch;
        reader->StartEpoch(request);
        size_t minibatches = 0;
        for (; reader->GetMinibatch(minibatch); ++minibatches)
            samples += minibatch.streams[0].columns;
        EXPECT_EQ(minibatches, 2u);
    }
    EXPECT_EQ(samples, 20u);
}

TEST_F(LmReaderTests, NoiseDoesNotDependOnTheNumberOfWorkers)
{
    Write("text.txt", "</s> a b </s>\n</s> b a </s>\n</s> c b </s>\n</s> a c </s>\n</s> a </s>\n");
    const std::string block = Block("nbruttsineachrecurrentiter=3", "nce noise_number=4");
    using Labels = std::vector<std::vector<double>>; // of a minibatch, by step and sentence
    const auto read = [&](size_t rank, size_t workers)
    {
        auto reader = Make(block);
        EpochRequest request = MakeRequest(0, 2);
        request.rank = rank;
        request.workers = workers;
        std::vector<std::vector<Labels>> minibatches;
        HostMinibatch<double> minibatch;
        reader->StartEpoch(request);
        while (reader->GetMinibatch(minibatch))
        {
            const StreamBatch<double>& labels = minibatch.streams[1];
            std::vector<Labels> steps(labels.layout->TimeSteps());
            for (size_t column = 0; column < labels.columns; ++column)
            {
                const auto begin = labels.values.begin() + ptrdiff_t(column * labels.rows);
                steps[column / labels.layout->ParallelSequences()].emplace_back(begin, begin + ptrdiff_t(labels.rows));
            }
            minibatches.push_back(steps);
        }
        return minibatches;
    };
    const auto whole = read(0, 1);
    ASSERT_EQ(whole.size(), 5u);
    auto together = read(0, 2);
    const auto second = read(1, 2);
    for (size_t i = 0; i < whole.size(); ++i)
        for (size_t t = 0; t < whole[i].size(); ++t)
            together[i][t].insert(together[i][t].end(), second[i][t].begin(), second[i][t].end());
    EXPECT_EQ(together, whole);
}

TEST_F(LmReaderTests, MessagesOfVocabularies)
{
    Write("text.txt", "</s> a z </s>\n");
    const std::string vocabulary = Path("vocab.txt");
    const auto errorWith = [&](const std::string& text)
    {
        Write("vocab.txt", text);
        return ErrorOf(Block());
    };
    EXPECT_EQ(errorWith("0 9 </s> 0\n1 8 a\n"),
              "data: " + vocabulary + ":2: expected four columns, id, count, word and class, found 3 in '1 8 a'");
    EXPECT_EQ(errorWith("0 9 </s> 0\n2 8 a 0\n"),
              "data: " + vocabulary + ":2:1: expected id 1, since ids count from 0, found '2'");
    EXPECT_EQ(errorWith("0 x </s> 0\n"), "data: " + vocabulary + ":1:3: expected how often the word occurs, found 'x'");
    EXPECT_EQ(errorWith("0 9 </s> one\n"),
              "data: " + vocabulary + ":1:10: expected the number of a class, found 'one'");
    EXPECT_EQ(errorWith("0 9 </s> 1\n1 8 a 0\n"), "data: " + vocabulary +
                                                      ":2:7: class 0 comes after class 1; expected classes that do not "
                                                      "decrease, since the words of a class must be consecutive");
    EXPECT_EQ(errorWith("0 9 </s> 0\n1 8 a 2147483647\n"),
              "data: '" + vocabulary +
                  "' has class 2147483647 among 2 words; expected classes numbered from 0, at most "
                  "1000000 of them without words");
    EXPECT_EQ(errorWith("0 9 a 0\n1 8 a 0\n"),
              "data: " + vocabulary + ":2:5: word 'a' occurs twice, it has id 0 already; expected each word once");
    EXPECT_EQ(errorWith("0 9 </s> 0\n1 8 a 0\n"),
              "config: '" + Path("words.txt") + "' has 5 words, '" + vocabulary + "' has 2; expected the same number");
    EXPECT_EQ(errorWith("\n"), "data: '" + vocabulary + "' has no words; expected lines of id, count, word and class");
    Write("words.txt", "</s>\n\na\n");
    Write("vocab.txt", "0 9 </s> 0\n1 8 a 0\n");
    EXPECT_EQ(ErrorOf(Block()), "data: " + Path("words.txt") + ":2: expected a word, found a blank line");
    Write("words.txt", "</s>\na\n");
    EXPECT_EQ(ErrorOf(Block()), "data: " + Path("text.txt") + ":1:8: word 'z' is not in the vocabulary '" +
                                    Path("words.txt") + "', and neither is unk '<unk>'");
}

TEST_F(LmReaderTests, TwoFilesOfWords)
{
    Write("text.txt", "</s> a c </s>\n");
    Make(Block());
    EXPECT_THAT(LogText(), testing::Not(HasSubstr("WARNING"))); // one order in both
    Write("words.txt", "a\n</s>\nb\n<unk>\nc\n");
    Make(Block());
    EXPECT_THAT(LogText(),
                HasSubstr("word 0 is 'a' in '" + Path("words.txt") + "' and '</s>' in '" + Path("vocab.txt") +
                          "'; the classes belong to other words, unless both have the same order\n"));
    EXPECT_THAT(LogText(), testing::Not(HasSubstr("word 1 is"))); // reported once
    std::filesystem::remove(Path("words.txt"));
    EXPECT_THAT(ReadStream(*Make(Block()), MakeRequest(0, 10), 0, false), ElementsAre("0:1; 1:1; 4:1"));
    EXPECT_THAT(LogText(), HasSubstr("LMSequenceReader: label mapping file " + Path("words.txt") +
                                     " does not exist; the ids of " + Path("vocab.txt") + " are used\n"));
}

TEST_F(LmReaderTests, MessagesOfConfigs)
{
    Write("text.txt", "</s> a </s>\n");
    const std::string file = "file=" + Path("text.txt");
    EXPECT_THAT(ErrorOf(file), HasSubstr("config: the reader has 0 label blocks; expected two"));
    EXPECT_EQ(ErrorOf(file + " labelIn=[labelDim=5]"),
              "config: mode=class needs wordclass=<file with id, count, word and class a line>; the writeWordAndClass "
              "action writes such a file");
    EXPECT_THAT(ErrorOf(file + " wordclass=" + Path("vocab.txt") + " labelIn=[labelType=nextWord] labels=[labelDim=5]"),
                HasSubstr("labelType=nextWord is for the second label block"));
    EXPECT_EQ(ErrorOf(file + " wordclass=" + Path("vocab.txt") + " labelIn=[labelDim=6]"),
              "config: labelDim=6 of 'labelIn', but '" + Path("vocab.txt") + "' has 5 words; expected the same number");
    EXPECT_EQ(ErrorOf(file + " wordclass=" + Path("vocab.txt") + " labelIn=[labelType=category] labels=[labelDim=4]"),
              "config: labelDim=4 of 'labels', but '" + Path("vocab.txt") + "' has 5 words; expected the same number");
    EXPECT_THAT(ErrorOf(file + " mode=softmax labelIn=[labelDim=5]"), HasSubstr("the reader has no vocabulary"));
    EXPECT_THAT(
        ErrorOf(file + " wordclass=" + Path("vocab.txt") + " labelIn=[labelMappingFile=" + Path("vocab.txt") + "]"),
        HasSubstr("vocab.txt:1: expected one word a line, found '"));
    Write("text.txt", "a b\n");
    EXPECT_THAT(ErrorOf(Block()), HasSubstr("has no sentences; expected lines of three words at least"));
}

TEST_F(LmReaderTests, WriterNamesTheBestWords)
{
    m_config = ConfigParameters::Parse(
        "writer=[\n" +
            OnLines(" outputNodeNames=y y=[file=" + Path("out/y.txt") + " nbest=2 token=" + Path("vocab.txt") + "]") +
            "\n]",
        "test.cntk");
    WordWriter<double> writer({m_config->RequireBlock("writer"), m_log}, Vocabulary::FromClassFile);
    EXPECT_THAT(writer.OutputNames(), ElementsAre("y"));
    std::map<std::string, StreamBatch<double>> outputs;
    StreamBatch<double>& batch = outputs["Y"];
    batch.rows = 5;
    batch.columns = 4;
    batch.values = {0, 1, 2, 0, 0, /**/ 9, 9, 0, 0, 0, /**/ 0, 0, 0, 0, 1, /**/ 5, 5, 5, 5, 5};
    batch.layout = std::make_shared<MBLayout>();
    batch.layout->Init(2, 2);
    batch.layout->AddSequence(0, 0, 0, 2);
    batch.layout->AddSequence(1, 1, 0, 1);
    batch.layout->AddGap(1, 1, 2);
    writer.SaveMinibatch(outputs, {});
    writer.Finish();
    EXPECT_EQ(ReadTextFile(Path("out/y.txt")), "b a c \n</s> a \n");
    EXPECT_THAT(LogText(), HasSubstr("b a c \n"));
    batch.rows = 3;
    EXPECT_THAT(MessageOf([&] { writer.SaveMinibatch(outputs, {}); }),
                HasSubstr("config: node 'y' has 3 rows, but its token file"));
    outputs.clear();
    outputs["z"];
    EXPECT_THAT(MessageOf([&] { writer.SaveMinibatch(outputs, {}); }),
                HasSubstr("outputNodeNames has 'y', which the command does not write; it writes z"));
}

} // namespace
} // namespace cntk
