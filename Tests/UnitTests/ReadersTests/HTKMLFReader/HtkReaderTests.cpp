#include "HtkTestTools.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace cntk
{
namespace
{

class HtkReaderTests : public HtkTest
{
protected:
    HtkReaderTests() { WriteCorpus(); }

    // Returns the frames of the archive in the order of delivery.
    template <class ElemType>
    std::vector<size_t> FramesOf(IDataReader<ElemType>& reader, const EpochRequest& request,
                                 std::vector<size_t>* sizes = nullptr)
    {
        std::vector<size_t> frames;
        for (const Sample& sample : ReadEpoch(reader, request, sizes))
        {
            frames.push_back(size_t(sample.features[0]));
            EXPECT_EQ(sample.labels, std::vector<double>{double(frames.back() % 3)});
        }
        return frames;
    }

    // Prints the rows of an utterance minibatch as "u0:0 u0:1 -", by the first element of each frame.
    struct Grid
    {
        std::vector<std::vector<int>> rows; // archive's frame, -1 for a gap
        std::vector<SequenceInfo> sequences;
        std::vector<std::string> keys;
    };
    static std::vector<Grid> ReadGrids(IDataReader<float>& reader, const EpochRequest& request)
    {
        std::vector<Grid> grids;
        HostMinibatch<float> minibatch;
        reader.StartEpoch(request);
        while (reader.GetMinibatch(minibatch))
        {
            const StreamBatch<float>& features = minibatch.streams[0];
            const StreamBatch<float>& labels = minibatch.streams[1];
            const MBLayout& layout = *features.layout;
            EXPECT_EQ(features.layout, labels.layout);
            EXPECT_EQ(features.columns, layout.Columns());
            EXPECT_EQ(labels.columns, layout.Columns());
            EXPECT_EQ(labels.values.size(), layout.ActualSamples());
            Grid grid;
            grid.sequences = layout.Sequences();
            grid.keys = minibatch.sequenceKeys;
            grid.rows.resize(layout.ParallelSequences());
            for (size_t time = 0; time < layout.TimeSteps(); ++time)
            {
                for (size_t row = 0; row < layout.ParallelSequences(); ++row)
                {
                    const size_t column = time * layout.ParallelSequences() + row;
                    const bool isGap = layout.IsGap(row, time);
                    const int frame = int(features.values[column * features.rows]);
                    grid.rows[row].push_back(isGap ? -1 : frame);
                    const int32_t begin = labels.columnStarts[column], end = labels.columnStarts[column + 1];
                    EXPECT_EQ(end - begin, isGap ? 0 : 1);
                    if (isGap)
                        EXPECT_EQ(features.values[column * features.rows + 1], 0);
                    else
                        EXPECT_EQ(labels.rowIndices[size_t(begin)], frame % 3);
                }
            }
            grids.push_back(std::move(grid));
        }
        return grids;
    }
};

TEST_F(HtkReaderTests, FramesInOrder)
{
    auto reader = Make("randomize=none" + Blocks());
    std::vector<size_t> sizes;
    std::vector<size_t> expected(12);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(FramesOf(*reader, MakeRequest(0, 5), &sizes), expected);
    EXPECT_EQ(sizes, (std::vector<size_t>{5, 5, 2}));
    EXPECT_EQ(reader->TotalSamples(), 12u);
    EXPECT_EQ(reader->Streams()[0].rows, 2u);
    EXPECT_TRUE(reader->Streams()[1].sparse);
    EXPECT_EQ(reader->Streams()[1].labelNames, (std::vector<std::string>{"s0", "s1", "s2"}));
    // Epochs with an epochSize end at the end of the data too.
    sizes.clear();
    EXPECT_EQ(FramesOf(*reader, MakeRequest(1, 5, 8), &sizes), (std::vector<size_t>{8, 9, 10, 11, 0, 1, 2, 3}));
    EXPECT_EQ(sizes, (std::vector<size_t>{4, 4}));
}

// The number of parallel sequences, for rates per minibatch.
TEST_F(HtkReaderTests, ParallelSequencesOfAnEpoch)
{
    const auto counts = [&](const std::string& options)
    {
        auto reader = Make(options + Blocks());
        return std::vector<size_t>{reader->ParallelSequences(0), reader->ParallelSequences(1),
                                   reader->ParallelSequences(5)};
    };
    EXPECT_EQ(counts("frameMode=false truncated=true nbruttsineachrecurrentiter=2:4"), (std::vector<size_t>{2, 4, 4}));
    EXPECT_EQ(counts("frameMode=false nbruttsineachrecurrentiter=3"), (std::vector<size_t>{3, 3, 3}));
    EXPECT_EQ(counts("frameMode=true"), (std::vector<size_t>{1, 1, 1}));
    EXPECT_EQ(counts("frameMode=false truncated=true truncationLength=5 nbruttsineachrecurrentiter=3"),
              (std::vector<size_t>{1, 1, 1}));
}

TEST_F(HtkReaderTests, TruncationLength)
{
    auto plain = Make("frameMode=false truncated=true nbruttsineachrecurrentiter=2" + Blocks());
    auto named = Make("frameMode=false truncated=true truncationLength=3" + Blocks());
    const std::vector<Grid> expected = ReadGrids(*plain, MakeRequest(0, 3));
    const std::vector<Grid> found = ReadGrids(*named, MakeRequest(0, 7)); // 7 / 3 utterances
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
        EXPECT_EQ(found[i].rows, expected[i].rows);
    EXPECT_EQ(ReadGrids(*named, MakeRequest(0, 2)).front().rows.size(), 1u); // at least one
}

TEST_F(HtkReaderTests, PiecesThatAreTooLong)
{
    for (const std::string pieces : {"nbruttsineachrecurrentiter=1000", "truncationLength=1"})
    {
        auto reader = Make("frameMode=false truncated=true " + pieces + Blocks());
        EXPECT_EQ(MessageOf([&] { ReadGrids(*reader, MakeRequest(0, size_t(1) << 62)); }),
                  "config: minibatchSize: a minibatch of 4611686018427387904 frames is too large; at most 2147483647 "
                  "frames can be in one");
    }
}

TEST_F(HtkReaderTests, FullMinibatches)
{
    auto reader = Make("randomize=none minibatchMode=full" + Blocks());
    std::vector<size_t> sizes;
    EXPECT_EQ(FramesOf(*reader, MakeRequest(0, 5), &sizes).size(), 10u); // two frames are left out
    EXPECT_EQ(sizes, (std::vector<size_t>{5, 5}));
    // Same as CNTK v1.1: the next ten frames are these two and eight of the next sweep, which hold one minibatch.
    sizes.clear();
    EXPECT_EQ(FramesOf(*reader, MakeRequest(1, 5), &sizes), (std::vector<size_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(sizes, std::vector<size_t>{5});
    // Skipped frames do not count: the epoch is longer by those of each sweep that it contains.
    sizes.clear();
    FramesOf(*reader, MakeRequest(0, 5, 20), &sizes);
    EXPECT_EQ(sizes, (std::vector<size_t>{5, 5, 5, 5}));
    sizes.clear();
    FramesOf(*reader, MakeRequest(0, 5, 10), &sizes);
    EXPECT_EQ(sizes, (std::vector<size_t>{5, 5}));
    EXPECT_THAT(LogText(),
                testing::HasSubstr("minibatchiterator: epoch 0: frames [0..22] (first utterance at frame 0), "
                                   "data subset 0 of 1, with 1 datapasses\n"));
    EXPECT_EQ(MessageOf([&] { reader->StartEpoch(MakeRequest(0, 13)); }),
              "config: minibatchMode=full: a minibatch of 13 frames is larger than the data, which have 12 frames");
}

TEST_F(HtkReaderTests, ShufflesAreReproducibleAndComplete)
{
    for (const char* method : {"blockRandomize", "rollingWindow"})
    {
        auto reader = Make(std::string("readMethod=") + method + Blocks());
        const std::vector<size_t> first = FramesOf(*reader, MakeRequest(0, 5));
        // Seeds 0 and 1 are equal to the C library, and rollingWindow's seed is the number of the sweep.
        const std::vector<size_t> second = FramesOf(*reader, MakeRequest(2, 5));
        EXPECT_NE(first, second) << method;
        EXPECT_EQ(std::set<size_t>(first.begin(), first.end()).size(), 12u);
        EXPECT_EQ(std::set<size_t>(second.begin(), second.end()).size(), 12u);
        EXPECT_EQ(FramesOf(*reader, MakeRequest(0, 3)), first) << method;
        // The second half of a sweep, without reading the first half.
        const std::vector<size_t> half = FramesOf(*reader, MakeRequest(1, 6, 6));
        EXPECT_EQ(half, std::vector<size_t>(first.begin() + 6, first.end())) << method;
    }
    auto inOrder = Make("readMethod=rollingWindow randomize=none" + Blocks());
    EXPECT_EQ(FramesOf(*inOrder, MakeRequest(0, 5))[3], 3u);
}

TEST_F(HtkReaderTests, ContextWindowsRepeatTheEdges)
{
    for (const char* features : {"dim=10", "dim=2 contextWindow=5"})
    {
        auto reader = Make("randomize=none" + Blocks(features));
        const std::vector<Sample> samples = ReadEpoch(*reader, MakeRequest(0, 100));
        EXPECT_EQ(samples[0].features, (std::vector<double>{0, 0.5, 0, 0.5, 0, 0.5, 1, 1.5, 2, 2.5}));
        EXPECT_EQ(samples[2].features, (std::vector<double>{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 3, 3.5}));
        EXPECT_EQ(samples[4].features, (std::vector<double>{4, 4.5, 4, 4.5, 4, 4.5, 5, 5.5, 6, 6.5}));
    }
    auto asymmetric = Make<double>("randomize=none" + Blocks("dim=2 contextWindow=1:0"));
    const std::vector<Sample> samples = ReadEpoch(*asymmetric, MakeRequest(0, 100));
    EXPECT_EQ(samples[0].features, (std::vector<double>{0, 0.5, 0, 0.5}));
    EXPECT_EQ(samples[1].features, (std::vector<double>{0, 0.5, 1, 1.5}));
}

TEST_F(HtkReaderTests, WorkersShareTheChunks)
{
    auto reader = Make("readMethod=rollingWindow" + Blocks());
    const std::vector<size_t> all = FramesOf(*reader, MakeRequest(0, 4));
    std::multiset<size_t> together;
    for (size_t rank = 0; rank < 2; ++rank)
    {
        EpochRequest request = MakeRequest(0, 4);
        request.rank = rank;
        request.workers = 2;
        for (const size_t frame : FramesOf(*reader, request))
            together.insert(frame);
    }
    EXPECT_EQ(together, std::multiset<size_t>(all.begin(), all.end()));
}

TEST_F(HtkReaderTests, ParallelWholeUtterances)
{
    auto reader = Make("randomize=none frameMode=false nbruttsineachrecurrentiter=2" + Blocks());
    const std::vector<Grid> grids = ReadGrids(*reader, MakeRequest(0, 1));
    ASSERT_EQ(grids.size(), 2u);
    EXPECT_EQ(grids[0].rows, (std::vector<std::vector<int>>{{0, 1, 2, 3}, {4, 5, 6, -1}}));
    EXPECT_EQ(grids[0].keys, (std::vector<std::string>{"u0", "u1"}));
    EXPECT_EQ(grids[1].rows, (std::vector<std::vector<int>>{{7, 8, 9, 10, 11}, {-1, -1, -1, -1, -1}}));
    EXPECT_EQ(grids[1].sequences[0], (SequenceInfo{0, 0, 0, 5}));
}

TEST_F(HtkReaderTests, ShortUtterancesFillTheGaps)
{
    Write("a.scp", "u0.f=.../data.htk[0,8]\nu1.f=.../data.htk[9,9]\nu2.f=.../data.htk[10,11]\n");
    Write("a.mlf", Mlf({{"u0", 0, 9}, {"u1", 9, 1}, {"u2", 10, 2}}));
    auto reader = Make("randomize=none frameMode=false nbruttsineachrecurrentiter=2" + Blocks());
    const std::vector<Grid> grids = ReadGrids(*reader, MakeRequest(0, 1));
    ASSERT_EQ(grids.size(), 1u);
    EXPECT_EQ(grids[0].rows[1], (std::vector<int>{9, 10, 11, -1, -1, -1, -1, -1, -1}));
    EXPECT_EQ(grids[0].keys, (std::vector<std::string>{"u0", "u1", "u2"}));
}

TEST_F(HtkReaderTests, TruncatedUtterancesContinue)
{
    auto reader = Make("randomize=none frameMode=false truncated=true nbruttsineachrecurrentiter=2" + Blocks());
    const std::vector<Grid> grids = ReadGrids(*reader, MakeRequest(0, 3));
    ASSERT_EQ(grids.size(), 3u);
    // u0 has four frames: three, then one more; the other row has the utterances after it.
    EXPECT_EQ(grids[0].rows, (std::vector<std::vector<int>>{{0, 1, 2}, {4, 5, 6}}));
    EXPECT_EQ(grids[0].sequences[0], (SequenceInfo{0, 0, 0, 4}));
    EXPECT_EQ(grids[1].rows, (std::vector<std::vector<int>>{{3, -1, -1}, {7, 8, 9}}));
    EXPECT_EQ(grids[1].sequences[0], (SequenceInfo{0, 0, -3, 1}));
    EXPECT_EQ(grids[2].rows, (std::vector<std::vector<int>>{{-1, -1, -1}, {10, 11, -1}}));
    EXPECT_EQ(grids[2].sequences[0], (SequenceInfo{0, 1, -3, 2}));
    // The same epoch again yields the same minibatches.
    EXPECT_EQ(ReadGrids(*reader, MakeRequest(0, 3))[1].rows, grids[1].rows);
}

// Utterances of 4, 3 and 5 frames: one more utterance begins within a piece where another one ends.
TEST_F(HtkReaderTests, TruncatedUtterancesFollowEachOther)
{
    auto reader = Make("randomize=none frameMode=false truncated=true" + Blocks());
    const auto rowsOf = [&](size_t steps, size_t epochSize = c_wholeDataSet)
    {
        std::vector<std::vector<int>> rows;
        for (const Grid& grid : ReadGrids(*reader, MakeRequest(0, steps, epochSize)))
            rows.push_back(grid.rows.at(0));
        return rows;
    };
    EXPECT_EQ(rowsOf(3), (std::vector<std::vector<int>>{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}}));
    EXPECT_EQ(rowsOf(5), (std::vector<std::vector<int>>{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}, {10, 11, -1, -1, -1}}));
    EXPECT_THAT(LogText(), testing::Not(testing::HasSubstr("did still not fill")));
    // Two utterances begin within an epoch of five frames.
    EXPECT_EQ(rowsOf(8, 5), (std::vector<std::vector<int>>{{0, 1, 2, 3, 4, 5, 6, -1}}));
    EXPECT_THAT(LogText(), testing::HasSubstr("HTKMLFReader: Packing a second utterance did still not fill all time "
                                              "slots of sequence 0 (7 of 8); the rest stays empty"));
}

TEST_F(HtkReaderTests, WritingReadsFileByFile)
{
    Write("b.scp", "x.htk\n");
    Write("one.htk", HtkFileBytes(2, 20));
    Write("two.htk", HtkFileBytes(1, 30));
    Write("w.scp", Path("one.htk") + "\n" + Path("data.htk") + "\n");
    Write("v.scp", Path("two.htk") + "\n" + Path("two.htk") + "\n");
    auto reader =
        Make("features=[dim=6 scpFile=" + Path("w.scp") + "] vector=[dim=2 scpFile=" + Path("v.scp") + "]", true);
    HostMinibatch<float> minibatch;
    reader->StartEpoch(MakeRequest(0, 1));
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_EQ(minibatch.streams[0].values,
              (std::vector<float>{20, 20.5, 20, 20.5, 21, 21.5, 20, 20.5, 21, 21.5, 21, 21.5}));
    EXPECT_EQ(minibatch.streams[1].values, (std::vector<float>{30, 30.5, 30, 30.5})); // repeated
    EXPECT_FALSE(minibatch.streams[0].layout->IsFrameMode());
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_EQ(minibatch.streams[0].columns, 12u);
    EXPECT_FALSE(reader->GetMinibatch(minibatch));
    EXPECT_NE(LogText().find("evaluate: reading 2 frames of " + Path("one.htk")), std::string::npos);
}

TEST_F(HtkReaderTests, ListsAreComparedInWriteModeToo)
{
    Write("two.htk", HtkFileBytes(2, 20));
    Write("one.htk", HtkFileBytes(1, 30));
    Write("a.scp", "u1=.../two.htk\nu2=.../two.htk\n");
    Write("b.scp", "u1=.../two.htk\nu3=.../two.htk\n");
    Write("c.scp", "s=.../one.htk\nt=.../one.htk\n");
    Write("d.scp", "u1=.../two.htk\n");
    const auto make = [&](const std::string& other)
    {
        Make("features=[dim=2 scpFile=" + Path("a.scp") + "] more=[dim=2 scpFile=" + Path(other) + "]",
             /*forWriting=*/true);
    };
    make("c.scp"); // a vector for a speaker
    EXPECT_THAT(LogText(), testing::Not(testing::HasSubstr("WARNING")));
    make("b.scp");
    EXPECT_THAT(LogText(), testing::HasSubstr("is utterance 'u2', but of '" + Path("b.scp") + "' it is 'u3'"));
    EXPECT_THAT(MessageOf([&] { make("d.scp"); }), testing::HasSubstr("utterance 'u2' ("));
}

TEST_F(HtkReaderTests, AFileWithoutFramesIsRefused)
{
    Write("none.htk", HtkFileBytes(0, 20));
    for (const bool forWriting : {true, false})
    {
        Write("w.scp", Path("data.htk") + "\n" + Path("none.htk") + "\n");
        const auto error = [&]
        { return MessageOf([&] { Make("features=[dim=2 scpFile=" + Path("w.scp") + "]", forWriting); }); };
        EXPECT_THAT(error(),
                    testing::HasSubstr(
                        "none.htk' has no frames, expected one at least; remove it from the list, or create it again"));
        EXPECT_THAT(error(), testing::HasSubstr("w.scp:2"));
        Write("w.scp", Path("none.htk") + "\n");
        EXPECT_EQ(error(), "data: the utterances of script file '" + Path("w.scp") + "' have no frames");
    }
}

TEST_F(HtkReaderTests, SeveralStreams)
{
    Write("more.htk", HtkFileBytes(12, 100));
    Write("b.scp", "u0.x=.../more.htk[0,3]\nu1.x=.../more.htk[4,6]\nu2.x=.../more.htk[7,11]\n");
    Write("speaker.scp", "s.x=.../more.htk[0,0]\ns.x=.../more.htk[1,1]\nt.x=.../more.htk[2,2]\n");
    Write("b.mlf", "#!MLF!#\n\"u0\"\n0 4 a 1\n.\n\"u1\"\n0 3 b 0\n.\n\"u2\"\n0 5 a 1\n.\n");
    Write("targets", "s0 001\ns1 010\ns2 110\n");
    auto reader =
        Make("randomize=none" + Blocks("dim=2", " labelToTargetMappingFile=" + Path("targets") + " targetDim=3") +
             " more=[dim=6 scpFile=" + Path("b.scp") + "] other=[labelDim=2 mlfFile=" + Path("b.mlf") +
             "] speaker=[dim=2 expandToUtterance=true scpFile=" + Path("speaker.scp") + "]");
    std::vector<std::string> names;
    for (const StreamInfo& stream : reader->Streams())
        names.push_back(stream.name);
    EXPECT_EQ(names, (std::vector<std::string>{"features", "more", "speaker", "labels", "other"}));
    HostMinibatch<float> minibatch;
    reader->StartEpoch(MakeRequest(0, 12));
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    const auto column = [&](size_t stream, size_t index)
    {
        const StreamBatch<float>& batch = minibatch.streams[stream];
        const auto begin = batch.values.begin() + ptrdiff_t(index * batch.rows);
        return std::vector<float>(begin, begin + ptrdiff_t(batch.rows));
    };
    EXPECT_EQ(column(0, 5), (std::vector<float>{5, 5.5}));
    EXPECT_EQ(column(1, 4), (std::vector<float>{104, 104.5, 104, 104.5, 105, 105.5}));
    EXPECT_EQ(column(2, 5), (std::vector<float>{101, 101.5}));
    EXPECT_EQ(column(3, 5), (std::vector<float>{1, 1, 0}));
    EXPECT_EQ(minibatch.streams[4].rowIndices[3], 1);
    EXPECT_EQ(minibatch.streams[4].rowIndices[4], 0);
}

TEST_F(HtkReaderTests, OnlyTheWantedStreamsAreFilled)
{
    auto reader = Make(Blocks());
    EpochRequest request = MakeRequest(0, 12);
    request.wanted = {"LABELS"};
    HostMinibatch<float> minibatch;
    reader->StartEpoch(request);
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_EQ(minibatch.streams[0].columns, 0u);
    EXPECT_EQ(minibatch.streams[1].columns, 12u);
    request.wanted = {"features"};
    reader->StartEpoch(request);
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_EQ(minibatch.streams[0].columns, 12u);
    request.wanted = {"x"};
    EXPECT_EQ(MessageOf([&] { reader->StartEpoch(request); }),
              "config: HTKMLFReader: the network's inputs are x, but the reader's blocks are features, labels; a block "
              "needs the name of the input it fills");
}

TEST_F(HtkReaderTests, UtterancesWithoutLabelsAreLeftOut)
{
    Write("a.mlf", Mlf({{"u0", 0, 4}, {"u2", 7, 5}}));
    auto reader = Make("randomize=none" + Blocks());
    EXPECT_EQ(FramesOf(*reader, MakeRequest(0, 100)), (std::vector<size_t>{0, 1, 2, 3, 7, 8, 9, 10, 11}));
    EXPECT_NE(LogText().find("skipping utterance 'u1' (" + Path("a.scp") + ":2): it has no labels in"),
              std::string::npos)
        << LogText();
    Write("a.mlf", Mlf({{"u0", 0, 3}, {"u1", 4, 3}, {"u2", 7, 5}}));
    auto mismatched = Make("randomize=none" + Blocks());
    EXPECT_EQ(mismatched->TotalSamples(), 8u);
    EXPECT_NE(LogText().find("(duration mismatch)"), std::string::npos);
    Write("a.mlf", Mlf({{"x", 0, 4}, {"u2", 7, 5}}));
    EXPECT_EQ(ErrorOf(Blocks()), "data: too many files not found in label set: 2 of 3 utterances; the first: utterance "
                                 "'u0' (a.scp:1) has no labels in 'a.mlf'");
}

TEST_F(HtkReaderTests, UtterancesThatAreNamedTwiceCountTwice)
{
    Write("a.scp", "u0.f=.../data.htk[0,3]\nu1.f=.../data.htk[4,6]\nu0.f=.../data.htk[0,3]\n");
    for (const char* key : {"u0", "x/u0"}) // found by the whole name and by its last part
    {
        Write("a.mlf", Mlf({{key, 0, 4}, {"u1", 4, 3}}));
        auto reader = Make("randomize=none" + Blocks());
        EXPECT_EQ(FramesOf(*reader, MakeRequest(0, 100)), (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3}));
    }
}

TEST_F(HtkReaderTests, ErrorsOfTheConfig)
{
    EXPECT_EQ(
        ErrorOf(Blocks("dim=3")),
        "config: 'features': dim=3 is no odd multiple of 2, the elements of a vector of 'data.htk'; 11 frames are "
        "dim=22");
    EXPECT_EQ(
        ErrorOf(Blocks("dim=4")),
        "config: 'features': dim=4 is no odd multiple of 2, the elements of a vector of 'data.htk'; 11 frames are "
        "dim=22");
    EXPECT_EQ(ErrorOf(Blocks("dim=2 contextWindow=4")),
              "config: contextWindow: expected one odd number of frames, or left:right");
    EXPECT_EQ(ErrorOf("truncated=true" + Blocks()),
              "config: truncated=true reads utterances, it needs frameMode=false");
    EXPECT_EQ(ErrorOf("nbruttsineachrecurrentiter=2" + Blocks()),
              "config: nbruttsineachrecurrentiter is 2, but frames are read one by one; parallel utterances need "
              "frameMode=false");
    EXPECT_EQ(ErrorOf("readMethod=rollingWindow frameMode=false" + Blocks()),
              "config: readMethod=rollingWindow shuffles frames; utterances (frameMode=false) need "
              "readMethod=blockRandomize");
    EXPECT_EQ(ErrorOf("labels=[mlfFile=x labelDim=3]"),
              "config: the reader has no feature block; it needs one such as features=[dim=792; scpFile=train.scp], "
              "named as the network's input; its blocks are labels");
    EXPECT_EQ(ErrorOf("randomize=x" + Blocks()),
              "config: 'randomize' is 'x', expected auto, none or a number of frames");
    EXPECT_EQ(ErrorOf("features=[dim=2 scpFile=" + Path("none.scp") + "]"),
              "data: script file 'none.scp' does not exist");
    Write("list", "\n" + Path("a.mlf") + "\n" + Path("none.mlf") + "\n");
    EXPECT_EQ(ErrorOf("features=[dim=2 scpFile=" + Path("a.scp") + "] labels=[mlfFileList=" + Path("list") +
                      " labelDim=3 labelMappingFile=" + Path("states") + "]"),
              "data: list:3: label file 'none.mlf' does not exist");
    Write("list", "\n \n");
    EXPECT_EQ(
        ErrorOf("features=[dim=2 scpFile=" + Path("a.scp") + "] labels=[mlfFileList=" + Path("list") + " labelDim=3]"),
        "data: list of label files 'list' names none; expected one a line");
    EXPECT_EQ(ErrorOf("readMethod=rollingWindow pageFilePath=/proc/none" + Blocks()).substr(0, 8), "device: ");
}

TEST_F(HtkReaderTests, ErrorsOfTheData)
{
    Write("a.scp", "u0.f=.../data.htk[0,3]\nu1.f=.../data.htk[4,12]\nu2.f=.../data.htk[7,11]\n");
    Write("a.mlf", Mlf({{"u0", 0, 4}, {"u1", 4, 9}, {"u2", 7, 5}}));
    EXPECT_EQ(ErrorOf(Blocks()),
              "data: utterance 'u1' (a.scp:2): feature file 'data.htk' has 12 frames, expected frames "
              "4 to 12, which end at byte 116");
    Write("a.scp", "u0.f=.../data.htk[0,3]\nu1.f=.../gone.htk[4,12]\nu2.f=.../data.htk[7,11]\n");
    EXPECT_EQ(ErrorOf(Blocks()), "data: utterance 'u1' (a.scp:2): feature file 'gone.htk' does not exist");
    Write("gone.htk", HtkFileBytes(13, 0, 7));
    EXPECT_EQ(
        ErrorOf(Blocks()),
        "data: utterance 'u1' (a.scp:2): feature file 'gone.htk' is 2-dimensional 'FBANK' with frame shift 10.0 "
        "ms, but 'data.htk' is 2-dimensional 'USER' with frame shift 10.0 ms; all files of 'features' must agree");
}

TEST_F(HtkReaderTests, StreamsThatDoNotMatch)
{
    Write("b.scp", "u0.x=.../data.htk[0,3]\nu2.x=.../data.htk[7,11]\n");
    const std::string more = " more=[dim=2 scpFile=" + Path("b.scp") + "]";
    EXPECT_EQ(ErrorOf(Blocks() + more),
              "data: the features 'features' and 'more' differ in their utterances: script file 'a.scp' has 3 entries, "
              "'b.scp' has 2; utterance 'u1' (a.scp:2) is not in 'b.scp'");
    Write("b.scp", "u0.x=.../data.htk[0,3]\nu1.x=.../data.htk[4,5]\nu2.x=.../data.htk[7,11]\n");
    EXPECT_EQ(ErrorOf(Blocks() + more), "data: utterance 'u1' (b.scp:2) has 2 frames, but utterance 'u1' (a.scp:2) of "
                                        "'features' has 3");
}

// A search for a learning rate reads another part of the data before each epoch.
TEST_F(HtkReaderTests, EpochsInAnyOrderEqualThoseOfANewReader)
{
    constexpr size_t c_frames = 45001, c_utterances = 6; // two utterances a chunk
    Write("big.htk", HtkFileBytes(c_utterances * c_frames, 0));
    std::string scp, mlf = "#!MLF!#\n";
    for (size_t i = 0; i < c_utterances; ++i)
    {
        const std::string name = "u" + std::to_string(i);
        scp += name + ".f=.../big.htk[" + std::to_string(i * c_frames) + "," + std::to_string((i + 1) * c_frames - 1) +
               "]\n";
        mlf += "\"" + name + "\"\n0 45001 s0\n.\n";
    }
    Write("a.scp", scp);
    Write("a.mlf", mlf);
    const auto framesOf = [](IDataReader<float>& reader, const EpochRequest& request)
    {
        std::vector<float> frames;
        HostMinibatch<float> minibatch;
        reader.StartEpoch(request);
        while (reader.GetMinibatch(minibatch))
            for (size_t i = 0; i < minibatch.streams[0].columns; ++i)
                frames.push_back(minibatch.streams[0].values[2 * i]);
        return frames;
    };
    constexpr size_t c_whole = c_utterances * c_frames, c_trial = 20000;
    EpochRequest seeded = MakeRequest(2, 500, c_trial);
    seeded.trainingSeed = 7;
    const std::vector<EpochRequest> requests = {
        MakeRequest(0, 500, c_trial),  MakeRequest(0, 500, c_trial),  MakeRequest(0, 1000, c_whole),
        MakeRequest(1, 500, c_trial),  MakeRequest(1, 500, c_trial),  MakeRequest(1, 1000, c_whole),
        MakeRequest(8, 500, c_trial),  MakeRequest(2, 1000, c_whole), MakeRequest(3, 500, c_trial), // back, too
        MakeRequest(14, 500, c_trial), MakeRequest(3, 1000, c_whole), MakeRequest(5, 1000, 150000), // across sweeps
        MakeRequest(13, 500, c_trial), MakeRequest(6, 1000, 150000),  seeded,
        MakeRequest(2, 500, c_trial)};
    for (const char* parameters : {"randomize=200000", "randomize=auto", "randomize=none",
                                   "randomize=100000 minibatchMode=full", "readMethod=rollingWindow randomize=100000"})
    {
        auto reader = Make(parameters + Blocks());
        for (size_t i = 0; i < requests.size(); ++i)
            EXPECT_TRUE(framesOf(*reader, requests[i]) == framesOf(*Make(parameters + Blocks()), requests[i]))
                << parameters << ", request " << i;
    }
}

// A range of frames bounds the memory.
TEST_F(HtkReaderTests, MemoryHoldsTheWindowOnly)
{
    // Chunks have just over 90000 frames; the files repeat the same frames.
    Write("big.htk", HtkFileBytes(45001, 0));
    std::string scp, mlf = "#!MLF!#\n";
    for (size_t i = 0; i < 20; ++i)
    {
        scp += "u" + std::to_string(i) + ".f=.../big.htk[0,45000]\n";
        mlf += "\"u" + std::to_string(i) + "\"\n0 45001 s0\n.\n";
    }
    Write("a.scp", scp);
    Write("a.mlf", mlf);
    m_config = ConfigParameters::Parse(OnLines(" randomize=200000" + Blocks()));
    HtkReader<float> reader(ReadHtkConfig({*m_config, m_log}), m_log);
    HostMinibatch<float> minibatch;
    reader.StartEpoch(MakeRequest(0, 10000));
    size_t frames = 0;
    size_t most = 0;
    std::vector<uint8_t> counts(45001);
    while (reader.GetMinibatch(minibatch))
    {
        frames += minibatch.streams[0].columns;
        for (size_t i = 0; i < minibatch.streams[0].columns; ++i)
            ++counts[size_t(minibatch.streams[0].values[2 * i])];
        most = std::max(most, reader.LoadedChunks());
    }
    EXPECT_EQ(frames, 20u * 45001);
    EXPECT_TRUE(std::all_of(counts.begin(), counts.end(), [](uint8_t count) { return count == 20; }));
    EXPECT_LE(most, 4u);
}

} // namespace
} // namespace cntk
