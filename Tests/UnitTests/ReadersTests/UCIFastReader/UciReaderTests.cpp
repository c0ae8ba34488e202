// UCIFastReader: streams, epochs, orders and options, compared with records of CNTK v1.1 if there are any.
#include "Common/Text.h"
#include "Readers/ReaderLib/Prefetcher.h"
#include "Readers/ReaderLib/RecordWalk.h"
#include "Readers/UCIFastReader/UciReader.h"
#include "ReadersTests/ReaderTestTools.h"

#include <cmath>
#include <sstream>

namespace cntk
{
namespace
{

class UciReaderTests : public ReaderTest
{
protected:
    template <class ElemType = double>
    std::unique_ptr<IDataReader<ElemType>> Make(const std::string& block, bool forWriting = false,
                                                bool hasFreeCores = false)
    {
        m_config = ConfigParameters::Parse("reader=[\n" + OnLines(block) + "\n]", "test.cntk");
        ReaderContext context{m_config->RequireBlock("reader"), m_log};
        context.forWriting = forWriting;
        context.hasFreeCores = hasFreeCores;
        return MakeUciReader<ElemType>(context);
    }

    // Rows "i 2i label" with labels a, b, c in turn.
    std::string WriteRows(size_t count)
    {
        std::string text;
        for (size_t i = 0; i < count; ++i)
            text += std::to_string(i) + " " + std::to_string(2 * i) + " " + char('a' + i % 3) + "\n";
        Write("map.txt", "a\nb\nc\n");
        return Write("data.txt", text);
    }

    std::string RowsBlock(const std::string& more = "randomize=none")
    {
        return "file=" + Path("data.txt") + "\n" + more +
               "\nfeatures=[dim=2 start=0]\nlabels=[start=2 dim=1 labelDim=3 " + "labelMappingFile=" + Path("map.txt") +
               "]";
    }
};

TEST_F(UciReaderTests, StreamsAndValues)
{
    WriteRows(5);
    auto reader = Make(RowsBlock());
    const std::vector<StreamInfo>& streams = reader->Streams();
    ASSERT_EQ(streams.size(), 2u);
    EXPECT_EQ(streams[0].name, "features");
    EXPECT_EQ(streams[0].rows, 2u);
    EXPECT_FALSE(streams[0].sparse);
    EXPECT_EQ(streams[1].name, "labels");
    EXPECT_EQ(streams[1].rows, 3u);
    EXPECT_TRUE(streams[1].sparse);
    EXPECT_TRUE(streams[1].isLabel);
    EXPECT_EQ(streams[1].labelNames, (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(streams[1].source, "'" + Path("data.txt") + "', labelDim=3 at test.cntk:10:10");
    std::vector<size_t> sizes;
    const std::vector<Sample> samples = ReadEpoch(*reader, MakeRequest(0, 2), &sizes);
    EXPECT_EQ(sizes, (std::vector<size_t>{2, 2, 1}));
    EXPECT_EQ(samples,
              (std::vector<Sample>{{{0, 0}, {0}}, {{1, 2}, {1}}, {{2, 4}, {2}}, {{3, 6}, {0}}, {{4, 8}, {1}}}));
    EXPECT_EQ(reader->TotalSamples(), 5u);
}

TEST_F(UciReaderTests, GrammarOfTheFile)
{
    Write("data.txt", "\t1   2\ta\r\n\n.5 5. b\n+1e1 -inf c\r\n \n1e-1 nan a");
    Write("map.txt", "a\nb\nc\n");
    const std::vector<Sample> samples = ReadEpoch(*Make(RowsBlock()), MakeRequest(0, 10));
    ASSERT_EQ(samples.size(), 4u); // the last line without a newline counts
    EXPECT_EQ(samples[0], (Sample{{1, 2}, {0}}));
    EXPECT_EQ(samples[1], (Sample{{0.5, 5}, {1}}));
    EXPECT_EQ(samples[2], (Sample{{10, -INFINITY}, {2}}));
    EXPECT_EQ(samples[3].features[0], 0.1);
    EXPECT_TRUE(std::isnan(samples[3].features[1]));
    EXPECT_THAT(LogText(),
                testing::HasSubstr("WARNING: " + Path("data.txt") +
                                   ":4: element 1 of 'features' is -inf; a NaN or infinite input spoils everything "
                                   "that is computed from it; later values of this kind are not reported\n"));
}

TEST_F(UciReaderTests, NumbersBeyondThePrecision)
{
    Write("map.txt", "a\nb\nc\n");
    std::string text = "1 2 a\n\n3 1e39 b\n-1e400 5 c\n";
    Write("data.txt", text);
    ReadEpoch(*Make<float>(RowsBlock()), MakeRequest(0, 2));
    EXPECT_THAT(LogText(), testing::HasSubstr("WARNING: " + Path("data.txt") + ":3: element 1 of 'features' is inf"));
    EXPECT_THAT(LogText(), testing::Not(testing::HasSubstr(":4:")));
    int line = 4;
    for (const char* how : {"randomize=none", "randomize=auto cacheMB=0", "randomize=none prefetch=true"})
    {
        Write("data.txt", text);
        ReadEpoch(*Make<double>(RowsBlock(how)), MakeRequest(0, 2));
        EXPECT_THAT(LogText(), testing::HasSubstr(Concat(":", line, ": element 0 of 'features' is -inf"))) << how;
        text = "0 0 a\n" + text; // the same text is logged only once
        ++line;
    }
}

TEST_F(UciReaderTests, ZeroBytesInAColumnThatIsNotRead)
{
    Write("data.txt", std::string_view("1 2 a\0b\n3 4 c\n", 14));
    const std::string block = "file=" + Path("data.txt") + "\nrandomize=none\nfeatures=[ dim=2 ]";
    EXPECT_EQ(ReadEpoch(*Make(block), MakeRequest(0, 10)), (std::vector<Sample>{{{1, 2}, {}}, {{3, 4}, {}}}));
}

TEST_F(UciReaderTests, ManyColumnsOfEveryWidth)
{
    std::string text;
    std::vector<Sample> expected(40);
    for (size_t record = 0; record < expected.size(); ++record)
    {
        for (size_t column = 0; column < 21; ++column)
        {
            const int value = int((record * column * 7) % (column % 5 == 0 ? 300 : 10));
            expected[record].features.push_back(value);
            text += std::to_string(value) + ((record + column) % 11 == 0 ? "  " : " ");
        }
        text.back() = '\n';
    }
    text.pop_back();
    Write("data.txt", text);
    EXPECT_EQ(ReadEpoch(*Make("randomize=none file=" + Path("data.txt") + " features=[dim=21]"), MakeRequest(0, 9)),
              expected);
}

TEST_F(UciReaderTests, CustomDelimiterAndDecimalPoint)
{
    Write("data.txt", "1,5;2;a\n-0,25; 7,5e1 ;b;more\n");
    Write("map.txt", "a\nb\nc\n");
    const std::vector<Sample> samples = ReadEpoch(
        *Make(RowsBlock("randomize=none customDelimiter=\";\" customDecimalPoint=\",\"")), MakeRequest(0, 10));
    EXPECT_EQ(samples, (std::vector<Sample>{{{1.5, 2}, {0}}, {{-0.25, 75}, {1}}}));
}

TEST_F(UciReaderTests, LabelsBeforeFeaturesAndSkippedColumns)
{
    // the file and expectations of the original's case "labels before the features, skipped columns"
    Write("data.txt", "no -1.702 1.895 -1.213\nno 0.596 -0.978 -1.947\nyes 1.429 0.048 -0.185\n");
    Write("map.txt", "no\nyes\nmaybe\n");
    const std::vector<Sample> samples =
        ReadEpoch(*Make("randomize=none file=" + Path("data.txt") + " features=[dim=2 start=1] labels=[dim=1 start=0 " +
                        "labelDim=3 labelMappingFile=" + Path("map.txt") + "]"),
                  MakeRequest(0, 3));
    EXPECT_EQ(samples[0], (Sample{{-(1 + 702 / 1e3), 1 + 895 / 1e3}, {0}}));
    EXPECT_EQ(samples[2], (Sample{{1 + 429 / 1e3, 48 / 1e3}, {1}}));
}

TEST_F(UciReaderTests, RegressionLabelsMayShareColumns)
{
    Write("data.txt", "1 2 3\n4 5 6\n");
    auto reader = Make("randomize=none file=" + Path("data.txt") +
                       " features=[dim=2 start=0] labels=[dim=2 start=1 labelDim=2 labelType=Regression]");
    EXPECT_FALSE(reader->Streams()[1].sparse);
    EXPECT_EQ(ReadEpoch(*reader, MakeRequest(0, 5)), (std::vector<Sample>{{{1, 2}, {2, 3}}, {{4, 5}, {5, 6}}}));
}

TEST_F(UciReaderTests, CategoryLabelInAFeatureColumn)
{
    Write("data.txt", "1 2\n2 1\n");
    Write("map.txt", "1\n2\n");
    auto reader = Make("randomize=none file=" + Path("data.txt") +
                       " features=[dim=2] labels=[dim=1 start=1 labelMappingFile=" + Path("map.txt") + "]");
    EXPECT_EQ(reader->Streams()[1].rows, 2u); // labelDim is what the map has
    EXPECT_EQ(ReadEpoch(*reader, MakeRequest(0, 5)), (std::vector<Sample>{{{1, 2}, {1}}, {{2, 1}, {0}}}));
}

TEST_F(UciReaderTests, LabelTypeNoneAndNoLabelBlock)
{
    Write("data.txt", "1 2 text\n");
    auto reader = Make("randomize=none file=" + Path("data.txt") + " features=[dim=2] labels=[labelType=none]");
    EXPECT_EQ(reader->Streams().size(), 1u);
    EXPECT_EQ(ReadEpoch(*reader, MakeRequest(0, 5)).size(), 1u);
    reader = Make("traceLevel=1 file=" + Path("data.txt") + " features=[dim=2]");
    EXPECT_THAT(LogText(), testing::HasSubstr("UCIFastReader: labels are not specified"));
}

TEST_F(UciReaderTests, BlocksComeInAlphabeticalOrder)
{
    Write("data.txt", "1 2 3\n");
    auto reader = Make("file=" + Path("data.txt") +
                       " zeta=[dim=1 start=0] Alpha=[dim=1 start=1] beta=[dim=1 start=2 labelType=regression]");
    ASSERT_EQ(reader->Streams().size(), 3u);
    EXPECT_EQ(reader->Streams()[0].name, "Alpha");
    EXPECT_EQ(reader->Streams()[1].name, "beta");
    EXPECT_EQ(reader->Streams()[2].name, "zeta");
}

TEST_F(UciReaderTests, ParametersMayStandInAnOuterBlock)
{
    WriteRows(4);
    auto reader = Make("file=" + Path("data.txt") + " labelMappingFile=" + Path("map.txt") +
                       " randomize=none features=[dim=2] labels=[dim=1 start=2 labelDim=3]");
    EXPECT_EQ(ReadEpoch(*reader, MakeRequest(0, 4)).size(), 4u);
}

TEST_F(UciReaderTests, OnlyWantedStreamsAreRead)
{
    WriteRows(4);
    Write("map.txt", "other\nlabels\nhere\n"); // reading the labels would fail
    auto reader = Make(RowsBlock());
    EpochRequest request = MakeRequest(0, 4);
    request.wanted = {"Features"};
    HostMinibatch<double> minibatch;
    reader->StartEpoch(request);
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_EQ(minibatch.streams[0].columns, 4u);
    EXPECT_EQ(minibatch.streams[1].columns, 0u);
    EXPECT_TRUE(minibatch.streams[1].values.empty());
    request.wanted = {"features", "labels"};
    reader->StartEpoch(request);
    EXPECT_THAT(MessageOf([&] { reader->GetMinibatch(minibatch); }),
                testing::HasSubstr("label 'a' is not in label map"));
}

TEST_F(UciReaderTests, EpochsAsTheOriginal)
{
    WriteRows(10);
    auto reader = Make(RowsBlock());
    std::vector<size_t> sizes;
    for (size_t epoch = 0; epoch < 4; ++epoch)
        ReadEpoch(*reader, MakeRequest(epoch, 3, 6), &sizes);
    EXPECT_EQ(sizes, (std::vector<size_t>{3, 3, 3, 1, 2, 3, 3, 2, 3, 1}));
    sizes.clear();
    reader = Make(RowsBlock());
    ReadEpoch(*reader, MakeRequest(0, 4, 14), &sizes);
    EXPECT_EQ(sizes, (std::vector<size_t>{4, 4, 2, 4}));
}

TEST_F(UciReaderTests, EpochSizeZeroWithRandomization)
{
    WriteRows(50);
    const std::vector<Sample> inOrder = ReadEpoch(*Make(RowsBlock()), MakeRequest(0, 7));
    for (const char* randomize :
         {"randomize=auto", "randomize=Auto", "", "randomize=20", "randomize=7", "randomize=1000"})
    {
        auto reader = Make(RowsBlock(randomize));
        for (size_t epoch = 0; epoch < 3; ++epoch)
        {
            for (const size_t epochSize : {size_t(0), c_wholeDataSet})
            {
                std::vector<Sample> samples = ReadEpoch(*reader, MakeRequest(epoch, 7, epochSize));
                EXPECT_NE(samples, inOrder);
                std::sort(samples.begin(), samples.end(),
                          [](const Sample& a, const Sample& b) { return a.features < b.features; });
                EXPECT_EQ(samples, inOrder) << randomize;
            }
        }
    }
}

TEST_F(UciReaderTests, WritingKeepsTheOrder)
{
    WriteRows(50);
    const std::vector<Sample> inOrder = ReadEpoch(*Make(RowsBlock()), MakeRequest(0, 7));
    EXPECT_EQ(ReadEpoch(*Make(RowsBlock("randomize=auto"), true), MakeRequest(0, 7)), inOrder);
    EXPECT_EQ(ReadEpoch(*Make(RowsBlock("randomize=0")), MakeRequest(0, 7)), inOrder);
    EXPECT_EQ(ReadEpoch(*Make(RowsBlock("randomize=None")), MakeRequest(0, 7)), inOrder);
}

TEST_F(UciReaderTests, ShuffleLeadsToTheOriginalsCriterion)
{
    const std::string folder = Shared("golden/reader_uci_shuffle/");
    if (!FileExists(folder + "train.txt"))
        GTEST_SKIP() << "no shared data";
    auto reader = Make("file=" + folder + "train.txt\nfeatures=[dim=2] labels=[dim=1 start=2 labelType=regression]");
    const std::vector<Sample> samples = ReadEpoch(*reader, MakeRequest(0, 3));
    double criterion = 0;
    for (size_t i = 0; i < 3; ++i)
    {
        const double output = -0.4591 * samples[i].features[0] - 0.2598 * samples[i].features[1];
        criterion += std::pow(samples[i].labels[0] - output, 2) / 3;
    }
    EXPECT_NEAR(criterion, 0.11612764, 5e-9); // first minibatch of the recorded run
}

TEST_F(UciReaderTests, RecordedMinibatchesOfTheOriginal)
{
    const std::string data = Shared("data/simple2d/SimpleDataTrain.txt");
    if (!FileExists(data))
        GTEST_SKIP() << "no shared data";
    auto reader = Make<float>("randomize=none file=" + data + "\nfeatures=[dim=2] labels=[dim=1 start=2 labelDim=2 " +
                              "labelMappingFile=" + Shared("data/simple2d/SimpleMapping.2015.txt") + "]");
    std::istringstream expected(ReadTextFile(Shared("data/simple2d/expected/UCIFastReaderSimpleDataLoop_Control.txt")));
    for (size_t epoch = 0; epoch < 2; ++epoch)
    {
        const std::vector<Sample> samples = ReadEpoch(*reader, MakeRequest(epoch, 250, 500));
        std::vector<uint32_t> order;
        ShuffleWithinWindow(order, 500, 500, WindowsRand(uint32_t(epoch)));
        for (size_t minibatch = 0; minibatch < 2; ++minibatch)
        {
            for (size_t i = 0; i < 250; ++i)
            {
                float x = 0, y = 0;
                expected >> x >> y;
                const Sample& sample = samples[order[250 * minibatch + i]];
                ASSERT_FLOAT_EQ(float(sample.features[0]), x);
                ASSERT_FLOAT_EQ(float(sample.features[1]), y);
            }
            for (size_t i = 0; i < 250; ++i)
            {
                int zero = 0, one = 0;
                expected >> zero >> one;
                ASSERT_EQ(samples[order[250 * minibatch + i]].labels[0], one);
            }
        }
    }
    EXPECT_TRUE(expected.good());
}

TEST_F(UciReaderTests, RealDigits)
{
    const std::string folder = Shared("data/digits/");
    if (!FileExists(folder + "train.txt"))
        GTEST_SKIP() << "no shared data";
    auto reader =
        Make<float>("file=" + folder + "train.txt features=[dim=64 start=1] labels=[dim=1 start=0 labelDim=10 " +
                    "labelMappingFile=" + folder + "labelsmap.txt]");
    std::vector<size_t> sizes;
    const std::vector<Sample> samples = ReadEpoch(*reader, MakeRequest(0, 32), &sizes);
    EXPECT_EQ(samples.size(), 1437u);
    EXPECT_EQ(sizes.back(), 1437u % 32);
    for (const Sample& sample : samples)
    {
        EXPECT_GE(*std::min_element(sample.features.begin(), sample.features.end()), 0);
        EXPECT_LE(*std::max_element(sample.features.begin(), sample.features.end()), 16);
    }
}

TEST_F(UciReaderTests, SameDataWithAndWithoutCacheAndThread)
{
    WriteRows(3000);
    for (const char* randomize : {"auto", "none", "100"})
    {
        std::vector<Sample> expected;
        for (const char* how :
             {"prefetch=false", "prefetch=true", "prefetch=true cacheMB=0", "prefetch=false cacheMB=0"})
        {
            auto reader = Make(RowsBlock(Concat("randomize=", randomize, " ", how)));
            const auto& frames = dynamic_cast<FrameReader<double>&>(*reader);
            std::vector<Sample> samples;
            for (const size_t epoch : {0, 2, 1})
            {
                for (const Sample& sample : ReadEpoch(*reader, MakeRequest(epoch, 64)))
                    samples.push_back(sample);
                EXPECT_EQ(frames.IsCaching(), std::string(how).find("cacheMB=0") == std::string::npos);
                EXPECT_EQ(frames.IsPrefetching(), std::string(how).find("true") != std::string::npos);
            }
            if (expected.empty())
                expected = samples;
            EXPECT_EQ(samples, expected) << how;
        }
    }
}

TEST_F(UciReaderTests, SmallDataInMemoryNeedNoThread)
{
    WriteRows(3000);
    auto reader = Make(RowsBlock("randomize=auto"));
    reader->StartEpoch(MakeRequest(0, 25));
    EXPECT_FALSE(dynamic_cast<FrameReader<double>&>(*reader).IsPrefetching());
}

// From the second epoch on they are in memory: 20 bytes a record.
TEST_F(UciReaderTests, AThreadWithACoreCopiesMediumMinibatches)
{
    WriteRows(6000);
    const auto isReadAhead = [&](size_t minibatchSize, bool hasFreeCores)
    {
        auto reader = Make(RowsBlock("randomize=auto"), false, hasFreeCores);
        ReadEpoch(*reader, MakeRequest(0, minibatchSize));
        reader->StartEpoch(MakeRequest(1, minibatchSize));
        return dynamic_cast<FrameReader<double>&>(*reader).IsPrefetching();
    };
    EXPECT_TRUE(isReadAhead(6000, true));
    EXPECT_FALSE(isReadAhead(6000, false));
    EXPECT_FALSE(isReadAhead(3000, true));
}

TEST_F(UciReaderTests, AnEpochMayBeLeftInTheMiddle)
{
    WriteRows(500);
    auto reader = Make(RowsBlock("prefetch=true cacheMB=0"));
    const std::vector<Sample> whole = ReadEpoch(*reader, MakeRequest(1, 8));
    HostMinibatch<double> minibatch;
    for (size_t i = 0; i < 20; ++i)
    {
        reader->StartEpoch(MakeRequest(i, 8));
        for (size_t j = 0; j < i % 4; ++j)
            EXPECT_TRUE(reader->GetMinibatch(minibatch));
        EXPECT_EQ(reader->TotalSamples(), 500u);
    }
    EXPECT_EQ(ReadEpoch(*reader, MakeRequest(1, 8)), whole);
}

TEST_F(UciReaderTests, BuffersAreReused)
{
    WriteRows(100);
    for (const char* how : {"prefetch=false", "prefetch=true"})
    {
        auto reader = Make(RowsBlock(how));
        HostMinibatch<double> minibatch;
        std::vector<const double*> seen;
        std::vector<const MBLayout*> layouts;
        for (size_t epoch = 0; epoch < 4; ++epoch)
        {
            reader->StartEpoch(MakeRequest(epoch, 10));
            while (reader->GetMinibatch(minibatch))
            {
                const double* values = minibatch.streams[0].values.data();
                if (std::find(seen.begin(), seen.end(), values) == seen.end())
                    seen.push_back(values);
                const MBLayout* layout = minibatch.streams[0].layout.get();
                if (std::find(layouts.begin(), layouts.end(), layout) == layouts.end())
                    layouts.push_back(layout);
                EXPECT_EQ(layout, minibatch.streams[1].layout.get());
            }
        }
        EXPECT_LE(seen.size(), Prefetcher<int>::c_mostItems + 1); // and the caller's
        EXPECT_LE(layouts.size(), Prefetcher<int>::c_mostItems + 1);
    }
}

TEST_F(UciReaderTests, WorkersShareEachMinibatch)
{
    WriteRows(10);
    std::vector<Sample> joined;
    for (size_t rank = 0; rank < 2; ++rank)
    {
        auto reader = Make(RowsBlock());
        EpochRequest request = MakeRequest(0, 4);
        request.rank = rank;
        request.workers = 2;
        std::vector<size_t> sizes;
        for (const Sample& sample : ReadEpoch(*reader, request, &sizes))
            joined.push_back(sample);
        EXPECT_EQ(sizes, (std::vector<size_t>{2, 2, 1}));
    }
    ASSERT_EQ(joined.size(), 10u);
    EXPECT_EQ(joined[2].features[0], 4.0);
    EXPECT_EQ(joined[5].features[0], 2.0);
}

TEST_F(UciReaderTests, FullMinibatchesAndOneLinePerFile)
{
    WriteRows(10);
    std::vector<size_t> sizes;
    ReadEpoch(*Make(RowsBlock("minibatchMode=Full")), MakeRequest(0, 4, 6), &sizes);
    EXPECT_EQ(sizes, (std::vector<size_t>{4, 4}));
    EXPECT_THAT(LogText(), testing::HasSubstr("epochSize rounded up to 8 to fit an integral number of minibatches\n"));
    sizes.clear();
    ReadEpoch(*Make(RowsBlock("minibatchMode=full")), MakeRequestOnce(4), &sizes);
    EXPECT_EQ(sizes, (std::vector<size_t>{4, 4, 2}));
    sizes.clear();
    ReadEpoch(*Make(RowsBlock("oneLinePerFile=true nbruttsineachrecurrentiter=5")), MakeRequest(0, 256), &sizes);
    EXPECT_EQ(sizes, (std::vector<size_t>{5, 5}));
}

TEST_F(UciReaderTests, LogLines)
{
    WriteRows(10);
    auto reader = Make(RowsBlock("randomize=none traceLevel=1"));
    ReadEpoch(*reader, MakeRequest(0, 4));
    ReadEpoch(*reader, MakeRequest(1, 4));
    EXPECT_EQ(LogText(), "Reading UCI file " + Path("data.txt") +
                             "\n"
                             "UCIFastReader: Starting at epoch 0, counting lines to determine record count...\n"
                             " 10 records found.\n"
                             "starting epoch 0 at record count 0, and file position 0\n"
                             "already there from last epoch\n"
                             "starting epoch 1 at record count 10, and file position 0\n"
                             "already there from last epoch\n");
}

TEST_F(UciReaderTests, LogLinesOfLaterEpochs)
{
    WriteRows(10);
    auto reader = Make(RowsBlock("randomize=auto"));
    ReadEpoch(*reader, MakeRequest(2, 3, 3));
    EXPECT_THAT(LogText(), testing::HasSubstr("starting epoch 2 at record count 6, and file position 6\n"
                                              "reading from record 0 to 6 to be positioned properly for epoch\n"
                                              "RandomOrdering: "));
    EXPECT_THAT(LogText(), testing::HasSubstr("RandomOrdering: recached sequence for seed 2: "));
}

TEST_F(UciReaderTests, ProgressMarks)
{
    WriteRows(1200);
    ReadEpoch(*Make(RowsBlock("randomize=none traceLevel=2")), MakeRequest(0, 150));
    EXPECT_THAT(LogText(), testing::HasSubstr(".........+.."));
}

TEST_F(UciReaderTests, CreatesLabelMaps)
{
    WriteRows(7);
    RemoveFile(Path("map.txt"));
    auto reader = Make(RowsBlock("allowMapCreation=true"));
    EXPECT_FALSE(FileExists(Path("map.txt"))); // not before it is needed
    EXPECT_EQ(reader->CreateLabelMaps(), (std::vector<std::string>{Path("map.txt")}));
    EXPECT_EQ(ReadTextFile(Path("map.txt")), "a\nb\nc\n");
    EXPECT_THAT(LogText(), testing::HasSubstr("label file " + Path("map.txt") + " written to disk\n"));
    EXPECT_EQ(ReadEpoch(*reader, MakeRequest(0, 7)).size(), 7u);
    reader = Make(RowsBlock("allowMapCreation=true")); // it is there now
    EXPECT_TRUE(reader->CreateLabelMaps().empty());
}

TEST_F(UciReaderTests, ANewLabelMapIsWrittenWhenReadingBegins)
{
    WriteRows(7);
    RemoveFile(Path("map.txt"));
    ReadEpoch(*Make(RowsBlock("allowMapCreation=true")), MakeRequest(0, 7));
    EXPECT_EQ(ReadTextFile(Path("map.txt")), "a\nb\nc\n");
}

TEST_F(UciReaderTests, LabelMapMayGrowBeyondLabelDimWhenItIsMade)
{
    Write("data.txt", "0 x\n0 y\n0 z\n");
    auto reader = Make("allowMapCreation=true file=" + Path("data.txt") +
                       " features=[dim=1] labels=[start=1 dim=1 labelDim=2 labelMappingFile=" + Path("new.txt") + "]");
    EXPECT_EQ(reader->Streams()[1].rows, 3u);
}

TEST_F(UciReaderTests, KeysOfTheBinaryCacheAreAcceptedWithANotice)
{
    WriteRows(3);
    auto reader = Make(RowsBlock("writerType=BinaryWriter wfile=cache.bin wrecords=3 windowSize=10000"));
    EXPECT_EQ(ReadEpoch(*reader, MakeRequest(0, 7)).size(), 3u);
    EXPECT_THAT(LogText(), testing::HasSubstr("keys of the binary cache are not needed and not used"));
}

TEST_F(UciReaderTests, ByNameThroughThePluginFile)
{
    PluginDescription description;
    DescribeUciOptions(description);
    std::vector<std::string> names;
    for (const PluginOption& option : description.options)
    {
        names.push_back(option.name);
        EXPECT_FALSE(option.doc.empty()) << option.name;
    }
    for (const char* name :
         {"randomize", "minibatchMode", "file", "dim", "start", "labelDim", "labelType", "labelMappingFile"})
        EXPECT_THAT(names, testing::Contains(name));
}

} // namespace
} // namespace cntk
