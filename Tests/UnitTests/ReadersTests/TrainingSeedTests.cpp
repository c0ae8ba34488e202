// trainingSeed: readers that randomize draw another order for another seed, the same order for the same seed, and CNTK
// v1.1's order without a seed.
#include "HTKMLFReader/HtkTestTools.h"
#include "Readers/CNTKTextFormatReader/CtfReader.h"
#include "Readers/LMSequenceReader/LmReader.h"
#include "Readers/LUSequenceReader/LuReader.h"
#include "Readers/UCIFastReader/UciReader.h"
#include "ReadersTests/SequenceTestTools.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace cntk
{
namespace
{

class TrainingSeedTests : public HtkTest
{
protected:
    using Reader = std::unique_ptr<IDataReader<float>>;
    using Open = std::function<Reader(const ReaderContext&)>;

    static std::vector<std::string> ReadColumns(IDataReader<float>& reader, EpochRequest request, uint64_t seed,
                                                const std::function<void()>& afterEach = nullptr)
    {
        request.trainingSeed = seed;
        std::vector<std::string> columns;
        HostMinibatch<float> minibatch;
        reader.StartEpoch(request);
        while (reader.GetMinibatch(minibatch))
        {
            std::vector<std::string> together;
            for (const StreamBatch<float>& stream : minibatch.streams)
            {
                if (!stream.layout || stream.columns != stream.layout->Columns())
                    continue;
                const std::vector<std::string> some = ColumnsOf(stream);
                together.resize(std::max(together.size(), some.size()));
                for (size_t i = 0; i < some.size(); ++i)
                    together[i] += some[i] + "|";
            }
            columns.insert(columns.end(), together.begin(), together.end());
            if (afterEach)
                afterEach();
        }
        EXPECT_GT(columns.size(), 10u);
        return columns;
    }
    static std::vector<std::string> Sorted(std::vector<std::string> columns)
    {
        std::sort(columns.begin(), columns.end());
        return columns;
    }

    // The readers of training and validation; the validation reads in the middle of a training epoch, from its own
    // start.
    static void CheckBesideAnother(const std::function<Reader()>& make, EpochRequest request,
                                   const std::vector<std::string>& alone)
    {
        const Reader training = make(), validation = make();
        EpochRequest first = request;
        first.epoch = 0;
        const std::vector<std::string> validationAlone = ReadColumns(*make(), first, 7);
        std::vector<std::string> between;
        const auto readBoth = [&]
        {
            size_t minibatches = 0;
            return ReadColumns(*training, request, 7,
                               [&]
                               {
                                   if (++minibatches == 2)
                                       between = ReadColumns(*validation, first, 7);
                               });
        };
        EXPECT_EQ(readBoth(), alone);
        EXPECT_EQ(between, validationAlone);
        EXPECT_NE(ReadColumns(*validation, first, 8), validationAlone);
        EXPECT_EQ(readBoth(), alone);
        EXPECT_EQ(between, validationAlone);
    }

    // hasSameData: an epoch has the same columns in any order.
    void Check(const std::string& block, const Open& open, size_t minibatchSize, bool hasSameData = true,
               size_t epochSize = c_wholeDataSet)
    {
        SCOPED_TRACE(block);
        m_config = ConfigParameters::Parse("reader=[\n" + OnLines(" " + block) + "\n]", "test.cntk");
        const auto make = [&] { return open({m_config->RequireBlock("reader"), m_log}); };
        const Reader reader = make();
        std::vector<std::vector<std::string>> originals;
        for (size_t epoch = 0; epoch < 3; ++epoch)
        {
            const EpochRequest request = MakeRequest(epoch, minibatchSize, epochSize);
            const auto original = ReadColumns(*make(), request, 0);
            const auto seven = ReadColumns(*make(), request, 7);
            const auto eight = ReadColumns(*make(), request, 8);
            EXPECT_NE(seven, original);
            EXPECT_NE(seven, eight);
            if (hasSameData)
            {
                EXPECT_EQ(Sorted(seven), Sorted(original));
                EXPECT_EQ(Sorted(eight), Sorted(original));
            }
            // The same reader again: no order of another seed is kept.
            EXPECT_EQ(ReadColumns(*reader, request, 7), seven);
            EXPECT_EQ(ReadColumns(*reader, request, 8), eight);
            EXPECT_EQ(ReadColumns(*reader, request, 0), original);
            EXPECT_EQ(ReadColumns(*reader, request, 7), seven);
            originals.push_back(seven);
            CheckBesideAnother(make, request, seven);
        }
        EXPECT_NE(originals[1], originals[2]) << "every sweep has an order of its own";
    }
    void CheckUnmoved(const std::string& block, const Open& open, size_t minibatchSize)
    {
        SCOPED_TRACE(block);
        m_config = ConfigParameters::Parse("reader=[\n" + OnLines(" " + block) + "\n]", "test.cntk");
        const Reader reader = open({m_config->RequireBlock("reader"), m_log});
        const EpochRequest request = MakeRequest(0, minibatchSize);
        EXPECT_EQ(ReadColumns(*reader, request, 7), ReadColumns(*reader, request, 0));
    }
    void WriteSpeech()
    {
        Write("data.htk", HtkFileBytes(240, 0));
        std::string list;
        std::vector<MlfUtterance> utterances;
        for (size_t i = 0; i < 60; ++i)
        {
            const std::string name = "u" + std::to_string(i);
            list += name + ".f=.../data.htk[" + std::to_string(4 * i) + "," + std::to_string(4 * i + 3) + "]\n";
            utterances.push_back({name, 4 * i, 4});
        }
        Write("a.scp", list);
        Write("a.mlf", Mlf(utterances));
        Write("states", "s0\ns1\ns2\n");
    }
};

TEST_F(TrainingSeedTests, UciFastReader)
{
    std::string text;
    for (size_t i = 0; i < 100; ++i)
        text += std::to_string(i) + " " + std::to_string(i % 2) + "\n";
    Write("data.txt", text);
    Write("map.txt", "0\n1\n");
    const std::string block = "file=" + Path("data.txt") + " features=[start=0 dim=1] labels=[start=1 dim=1 " +
                              "labelDim=2 labelMappingFile=" + Path("map.txt") + "] randomize=";
    Check(block + "auto", MakeUciReader<float>, 7);
    Check(block + "20", MakeUciReader<float>, 7);
    Check(block + "auto", MakeUciReader<float>, 7, false, 40);
    Check(block + "20 prefetch=true", MakeUciReader<float>, 7);
    CheckUnmoved(block + "none", MakeUciReader<float>, 7);
}

TEST_F(TrainingSeedTests, TextFormatReader)
{
    std::string text;
    for (size_t i = 0; i < 200; ++i)
        text += std::to_string(i / 2) + " |x " + std::to_string(i) + "\n";
    Write("data.txt", text);
    const std::string block = "file=" + Path("data.txt") + " input=[ x=[dim=1 format=dense]] ";
    Check(block + "randomize=true", MakeCtfReader<float>, 8);
    Check(block + "randomize=true chunkSizeInBytes=200 randomizationWindow=60", MakeCtfReader<float>, 8);
    CheckUnmoved(block + "randomize=false", MakeCtfReader<float>, 8);
}

TEST_F(TrainingSeedTests, HtkReader)
{
    WriteSpeech();
    for (const char* mode : {"readMethod=blockRandomize randomize=auto", "readMethod=blockRandomize randomize=80",
                             "readMethod=rollingWindow randomize=auto", "readMethod=rollingWindow randomize=60",
                             "frameMode=false nbruttsineachrecurrentiter=1 randomize=auto",
                             "frameMode=false nbruttsineachrecurrentiter=3 randomize=80"})
        Check(mode + Blocks(), MakeHtkReader<float>, 16);
    CheckUnmoved("readMethod=blockRandomize randomize=none" + Blocks(), MakeHtkReader<float>, 16);
}

TEST_F(TrainingSeedTests, LanguageModelReader)
{
    Write("vocab.txt", "0 9 </s> 0\n1 8 a 0\n2 7 b 1\n3 6 <unk> 1\n4 5 c 1\n");
    Write("words.txt", "</s>\na\nb\n<unk>\nc\n");
    std::string text;
    for (size_t i = 0; i < 60; ++i)
    {
        text += "</s>";
        for (size_t k = 0; k < 4; ++k)
            text += std::string(" ") + "abc"[i / (k == 0 ? 1 : k * 3) % 3];
        text += " </s>\n";
    }
    Write("text.txt", text);
    const auto block = [&](const std::string& mode)
    {
        return "file=" + Path("text.txt") + " wordclass=" + Path("vocab.txt") + " features=[dim=0 mode=" + mode +
               "] labelIn=[dim=1 labelType=Category labelMappingFile=" + Path("words.txt") +
               "] labels=[dim=1 labelType=NextWord]";
    };
    Check(block("class"), MakeLmReader<float>, 30);
    Check(block("nce noise_number=3"), MakeLmReader<float>, 30, false);
}

TEST_F(TrainingSeedTests, LanguageUnderstandingReader)
{
    Write("words.txt", "BOS\nEOS\n<unk>\na\nb\nc\n");
    Write("tags.txt", "O\nB\n");
    std::string text;
    for (size_t i = 0; i < 40; ++i)
    {
        for (size_t k = 0; k < 3; ++k)
            text += std::string(1, "abc"[i / (k * 3 + 1) % 3]) + " " + "OB"[i / 7 % 2] + "\n";
        text += "\n";
    }
    Write("text.txt", text);
    const std::string block = "file=" + Path("text.txt") + " nbruttsineachrecurrentiter=2 features=[dim=0] " +
                              "labelIn=[beginSequence=BOS endSequence=EOS token=" + Path("words.txt") +
                              "] labels=[token=" + Path("tags.txt") + "] randomize=";
    Check(block + "auto", MakeLuReader<float>, 30);
    CheckUnmoved(block + "none", MakeLuReader<float>, 30);
}

} // namespace
} // namespace cntk
