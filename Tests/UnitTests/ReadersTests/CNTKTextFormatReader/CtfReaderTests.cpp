// CNTKTextFormatReader: grammar, packing, orders, epochs, truncation, bounded memory; recorded minibatches of CNTK
// v1.1.
#include "Common/Random.h"
#include "Common/Text.h"
#include "Readers/CNTKTextFormatReader/CtfReader.h"
#include "ReadersTests/SequenceTestTools.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>

namespace cntk
{
namespace
{

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CtfReaderTests : public ReaderTest
{
protected:
    template <class ElemType = double>
    std::unique_ptr<IDataReader<ElemType>> Make(const std::string& block, bool forWriting = false)
    {
        m_config = ConfigParameters::Parse("reader=[\n" + OnLines(block) + "\n]", "test.cntk");
        ReaderContext context{m_config->RequireBlock("reader"), m_log};
        context.forWriting = forWriting;
        return MakeCtfReader<ElemType>(context);
    }
    std::string Block(const std::string& input, const std::string& more = "randomize=none") const
    {
        return "file=" + Path("data.txt") + " " + more + " input=[" + input + "]";
    }
    // Sequences of one step: ids and values 0, 1, ...
    void WriteFrames(size_t count)
    {
        std::string text;
        for (size_t i = 0; i < count; ++i)
            text += std::to_string(i) + " |x " + std::to_string(i) + "\n";
        Write("data.txt", text);
    }
};

constexpr const char* c_denseX = " x=[dim=2 format=dense]";
constexpr const char* c_sparseS = " s=[dim=9 format=sparse]";
constexpr const char* c_oneX = " x=[dim=1 format=dense]";

TEST_F(CtfReaderTests, DenseAndSparseStreamsOfSequences)
{
    Write("data.txt", "10\t|x 0.5 1 |s 3:1\n10|x 2 -1e-3|s\n12 |x 1 |s 8:2 0:1 8:0.5\r\n");
    auto reader = Make(Block(std::string(c_denseX) + c_sparseS));
    ASSERT_EQ(reader->Streams().size(), 2u);
    EXPECT_EQ(reader->Streams()[0].name, "x");
    EXPECT_EQ(reader->Streams()[0].rows, 2u);
    EXPECT_FALSE(reader->Streams()[0].sparse);
    EXPECT_TRUE(reader->Streams()[1].sparse);
    EXPECT_EQ(reader->Streams()[1].rows, 9u);
    EXPECT_EQ(reader->TotalSamples(), 3u);
    HostMinibatch<double> minibatch;
    reader->StartEpoch(MakeRequest(0, 10));
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_THAT(ColumnsOf(minibatch.streams[0]), ElementsAre("0.5 1", "1 0", "2 -0.001", "gap"));
    EXPECT_THAT(ColumnsOf(minibatch.streams[1]), ElementsAre("3:1", "0:1 8:2.5", "", "gap"));
    EXPECT_EQ(minibatch.streams[0].layout, minibatch.streams[1].layout); // one axis
    EXPECT_EQ(LayoutText(*minibatch.streams[0].layout), "2x2 row0[0,2) row1[0,1) gap1[1,2)");
    EXPECT_THAT(minibatch.sequenceKeys, ElementsAre("10", "12"));
    EXPECT_FALSE(reader->GetMinibatch(minibatch));
}

TEST_F(CtfReaderTests, RowsWithoutIdsAreSequences)
{
    Write("data.txt", "\xEF\xBB\xBF|x 1 2\n|x 3 4 |# a comment |x2 5\n");
    EXPECT_THAT(ReadStream(*Make(Block(c_denseX)), MakeRequest(0, 10), 0), ElementsAre("frames 2; 1 2; 3 4"));
    EXPECT_THAT(LogText(), testing::HasSubstr("data.txt:2:22: no stream of the reader has the name 'x2'"));
}

TEST_F(CtfReaderTests, SkippedIdsMakeSequencesOfOneRow)
{
    Write("data.txt", "7 |x 1\n7 |x 2\n8 |x 3\n");
    EXPECT_THAT(ReadStream(*Make(Block(c_oneX, "randomize=none skipSequenceIds=true")), MakeRequest(0, 2), 0),
                ElementsAre("frames 2; 1; 2", "frames 1; 3"));
    EXPECT_THAT(ReadStream(*Make(Block(c_oneX)), MakeRequest(0, 2), 0),
                ElementsAre("1x2 row0[0,2); 1; 2", "frames 1; 3"));
}

TEST_F(CtfReaderTests, RowsWithoutIdBelongToTheSequenceAbove)
{
    Write("data.txt", "1|x 1\n|x 2\n\t|x 3\n2|x 4\n|x 5\n");
    EXPECT_THAT(ReadStream(*Make(Block(c_oneX)), MakeRequest(0, 10), 0),
                ElementsAre("2x3 row0[0,3) row1[0,2) gap1[2,3); 1; 4; 2; 5; 3; gap"));
}

TEST_F(CtfReaderTests, AliasAndUnusedStreams)
{
    Write("data.txt", "1 |a 1 |b wrong\n1 |a 2 |b 3\n");
    auto reader = Make(Block("features=[alias=a dim=1 format=dense] labels=[alias=b dim=1 format=dense]"));
    EpochRequest request = MakeRequest(0, 10);
    request.wanted = {"Features"};
    HostMinibatch<double> minibatch;
    reader->StartEpoch(request);
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_THAT(ColumnsOf(minibatch.streams[0]), ElementsAre("1", "2"));
    EXPECT_EQ(minibatch.streams[1].columns, 0u);
    request.wanted = {"features", "labels"}; // now its data are parsed too
    reader->StartEpoch(request);
    EXPECT_EQ(MessageOf([&] { reader->GetMinibatch(minibatch); }),
              "data: " + Path("data.txt") + ":1:11: expected a number of stream 'b', found 'wrong'");
    request.wanted = {"other"};
    EXPECT_EQ(MessageOf([&] { reader->StartEpoch(request); }),
              "config: CNTKTextFormatReader: the network's inputs are other, but the reader's blocks are features, "
              "labels; a block needs the name of the input it fills");
}

TEST_F(CtfReaderTests, StreamsOfDifferentLengthHaveTheirOwnLayouts)
{
    Write("data.txt", "1 |x 1 |y 7\n1 |x 2\n2 |x 3 |y 8\n");
    auto reader = Make(Block("x=[dim=1 format=dense] y=[dim=1 format=dense]"));
    HostMinibatch<double> minibatch;
    reader->StartEpoch(MakeRequest(0, 10));
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_EQ(LayoutText(*minibatch.streams[0].layout), "2x2 row0[0,2) row1[0,1) gap1[1,2)");
    EXPECT_EQ(LayoutText(*minibatch.streams[1].layout), "frames 2");
}

TEST_F(CtfReaderTests, ShortSequencesShareARow)
{
    Write("data.txt", "1|x 1\n|x 2\n|x 3\n2|x 4\n|x 5\n3|x 6\n4|x 7\n");
    EXPECT_THAT(ReadStream(*Make(Block(c_oneX)), MakeRequest(0, 10), 0),
                ElementsAre("3x3 row0[0,3) row1[0,2) row1[2,3) row2[0,1) gap2[1,3); 1; 4; 7; 2; 5; gap; 3; 6; gap"));
}

TEST_F(CtfReaderTests, MinibatchesInOrderTakeFittingSequences)
{
    Write("data.txt", "1|x 1\n|x 2\n2|x 3\n|x 4\n3|x 5\n4|x 6\n|x 7\n|x 8\n|x 9\n");
    auto reader = Make(Block(c_oneX));
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 3), 0, false), ElementsAre("1; 2", "3; 5; 4; gap", "6; 7; 8; 9"));
    // The second epoch of five samples begins with the first sequence that starts at or after sample 5.
    EXPECT_THAT(ReadStream(*reader, MakeRequest(1, 4, 5), 0, false), ElementsAre("6; 7; 8; 9", "1; 3; 2; 4"));
}

TEST_F(CtfReaderTests, ShuffledMinibatchesReachTheirSize)
{
    Write("data.txt", "1|x 1\n|x 1\n2|x 2\n|x 2\n3|x 3\n|x 3\n4|x 4\n|x 4\n");
    auto reader = Make(Block(c_oneX, ""));
    std::vector<size_t> sizes;
    HostMinibatch<double> minibatch;
    reader->StartEpoch(MakeRequest(0, 3));
    while (reader->GetMinibatch(minibatch))
        sizes.push_back(minibatch.streams[0].columns);
    EXPECT_THAT(sizes, ElementsAre(4u, 4u));
}

// One chunk: position t swaps with a position drawn from all, by rand() seeded with sweep + 1.
TEST_F(CtfReaderTests, ShuffleOfOneChunkIsTheOriginals)
{
    WriteFrames(20);
    auto reader = Make(Block(c_oneX, "randomize=auto"));
    for (const size_t epoch : {0u, 1u, 5u})
    {
        std::vector<double> expected(20);
        std::iota(expected.begin(), expected.end(), 0.0);
        GlibcRand random(uint32_t(epoch + 1));
        for (size_t t = 0; t < 20; ++t)
            std::swap(expected[t], expected[random.Draw(0, 20)]);
        std::vector<double> values;
        HostMinibatch<double> minibatch;
        reader->StartEpoch(MakeRequest(epoch, 7));
        while (reader->GetMinibatch(minibatch))
            values.insert(values.end(), minibatch.streams[0].values.begin(), minibatch.streams[0].values.end());
        EXPECT_EQ(values, expected) << epoch;
    }
    EXPECT_EQ(ReadStream(*Make(Block(c_oneX, "randomize=auto"), true), MakeRequest(0, 3), 0, false).front(), "0; 1; 2");
}

TEST_F(CtfReaderTests, WindowKeepsSequencesNear)
{
    WriteFrames(1000);
    CtfIndex index(Path("data.txt"), false, 100);
    ASSERT_GT(index.Chunks().size(), 50u);
    std::vector<uint32_t> order, chunkOrder;
    ShuffleSequences(index, 100, 3, order, chunkOrder);
    // Distances count in the shuffled order of chunks.
    std::vector<size_t> position(1000);
    size_t next = 0;
    for (const uint32_t chunk : chunkOrder)
        for (size_t k = 0; k < index.Chunks()[chunk].sequences; ++k)
            position[index.Chunks()[chunk].firstSequence + k] = next++;
    size_t moved = 0;
    std::vector<bool> seen(1000, false);
    for (size_t i = 0; i < order.size(); ++i)
    {
        EXPECT_FALSE(seen[order[i]]);
        seen[order[i]] = true;
        EXPECT_LE(std::abs(double(position[order[i]]) - double(i)), 50 + 15);
        moved += position[order[i]] != i ? 1 : 0;
    }
    EXPECT_EQ(order.size(), 1000u);
    EXPECT_GT(moved, 800u);
    EXPECT_FALSE(std::is_sorted(chunkOrder.begin(), chunkOrder.end()));
}

TEST_F(CtfReaderTests, EpochsCoverAllDataWhateverTheirSize)
{
    WriteFrames(50);
    auto reader = Make(Block(c_oneX, "randomize=auto chunkSizeInBytes=60"));
    std::vector<double> values;
    HostMinibatch<double> minibatch;
    for (size_t epoch = 0; epoch < 5; ++epoch)
    {
        reader->StartEpoch(MakeRequest(epoch, 4, 20));
        size_t samples = 0;
        while (reader->GetMinibatch(minibatch))
        {
            values.insert(values.end(), minibatch.streams[0].values.begin(), minibatch.streams[0].values.end());
            samples += minibatch.streams[0].columns;
        }
        EXPECT_EQ(samples, 20u);
    }
    for (const size_t sweep : {0u, 50u})
    {
        std::vector<double> one(values.begin() + ptrdiff_t(sweep), values.begin() + ptrdiff_t(sweep) + 50);
        std::sort(one.begin(), one.end());
        for (size_t i = 0; i < 50; ++i)
            EXPECT_EQ(one[i], double(i));
    }
}

TEST_F(CtfReaderTests, WorkersShareTheData)
{
    WriteFrames(40);
    for (const char* randomize : {"randomize=none", "randomize=auto chunkSizeInBytes=30"})
    {
        std::vector<double> values;
        for (size_t rank = 0; rank < 3; ++rank)
        {
            auto reader = Make(Block(c_oneX, randomize));
            EpochRequest request = MakeRequest(2, 7);
            request.rank = rank;
            request.workers = 3;
            HostMinibatch<double> minibatch;
            reader->StartEpoch(request);
            while (reader->GetMinibatch(minibatch))
                values.insert(values.end(), minibatch.streams[0].values.begin(), minibatch.streams[0].values.end());
        }
        std::sort(values.begin(), values.end());
        ASSERT_EQ(values.size(), 40u);
        for (size_t i = 0; i < 40; ++i)
            EXPECT_EQ(values[i], double(i));
    }
}

TEST_F(CtfReaderTests, SmallCacheGivesTheSameData)
{
    std::string text;
    for (size_t i = 0; i < 300; ++i)
        for (size_t k = 0; k <= i % 4; ++k)
            text += std::to_string(i) + "|x " + std::to_string(i) + " " + std::to_string(k) + "|s " +
                    std::to_string(i % 9) + ":" + std::to_string(k + 1) + "\n";
    Write("data.txt", text);
    const std::string input = std::string(c_denseX) + c_sparseS;
    for (const char* order : {"randomize=none", "randomize=auto", "randomize=60"})
    {
        auto whole = Make(Block(input, order + std::string(" chunkSizeInBytes=200 keepDataInMemory=true")));
        auto small = Make(Block(input, order + std::string(" chunkSizeInBytes=200 numChunksToCache=1")));
        for (const size_t stream : {0u, 1u})
            for (const size_t epoch : {0u, 1u})
                EXPECT_EQ(ReadStream(*whole, MakeRequest(epoch, 20), stream),
                          ReadStream(*small, MakeRequest(epoch, 20), stream))
                    << order;
    }
}

TEST_F(CtfReaderTests, TruncatedMinibatchesContinue)
{
    Write("data.txt", "1|x 1\n|x 2\n|x 3\n|x 4\n|x 5\n2|x 6\n|x 7\n3|x 8\n|x 9\n");
    EXPECT_THAT(ReadStream(*Make(Block(c_oneX, "randomize=none truncated=true nbruttsineachrecurrentiter=2")),
                           MakeRequest(0, 3), 0),
                ElementsAre("2x3 row0[0,5) row1[0,2) row1[2,4); 1; 6; 2; 7; 3; 8",
                            "2x2 row0[-3,2) row1[-1,1) gap1[1,2); 4; 9; 5; gap"));
    EXPECT_EQ(Make(Block(c_oneX, "truncated=true nbruttsineachrecurrentiter=2"))->ParallelSequences(0), 2u);
    EXPECT_EQ(
        Make(Block(c_oneX, "truncated=true truncationLength=2 nbruttsineachrecurrentiter=2"))->ParallelSequences(0),
        1u);
    // truncationLength is the number of steps, so minibatchSize counts samples.
    EXPECT_THAT(
        ReadStream(*Make(Block(c_oneX, "randomize=none truncated=true truncationLength=2")), MakeRequest(0, 4), 0)
            .front(),
        "2x2 row0[0,5) row1[0,2); 1; 6; 2; 7");
}

TEST_F(CtfReaderTests, WarnsOfParallelPiecesForWriting)
{
    Write("data.txt", "1|x 1\n|x 2\n|x 3\n2|x 4\n|x 5\n3|x 6\n");
    ReadStream(*Make(Block(c_oneX, "truncated=true nbruttsineachrecurrentiter=1"), true), MakeRequest(0, 2), 0);
    ReadStream(*Make(Block(c_oneX, "truncated=true nbruttsineachrecurrentiter=2"), true), MakeRequest(0, 3), 0);
    EXPECT_THAT(LogText(), Not(HasSubstr("side by side"))); // none is cut
    for (const size_t minibatchSize : {2, 4})
    {
        const std::string more = minibatchSize == 2 ? "nbruttsineachrecurrentiter=2" : "truncationLength=2";
        EXPECT_THAT(
            ReadStream(*Make(Block(c_oneX, "truncated=true " + more), true), MakeRequest(0, minibatchSize), 0, false),
            ElementsAre("1; 4; 2; 5", "3; gap; 6; gap"))
            << more;
        EXPECT_THAT(
            LogText(),
            HasSubstr("WARNING: CNTKTextFormatReader: with truncated=true and 2parallel sequences, pieces of sequences "
                      "alternate in the output; truncated=false writes whole sequences, one after another\n"));
    }
}

TEST_F(CtfReaderTests, AnEpochCanBeReadAgain)
{
    WriteFrames(100);
    auto reader = Make<float>(Block(c_oneX, "randomize=auto prefetch=true"));
    const std::vector<std::string> third = ReadStream(*reader, MakeRequest(3, 9), 0);
    HostMinibatch<float> minibatch;
    reader->StartEpoch(MakeRequest(4, 9));
    ASSERT_TRUE(reader->GetMinibatch(minibatch)); // and leaves the rest in the thread
    EXPECT_EQ(ReadStream(*reader, MakeRequest(3, 9), 0), third);
    EXPECT_EQ(ReadStream(*Make<float>(Block(c_oneX, "randomize=auto prefetch=false")), MakeRequest(3, 9), 0), third);
}

// ---- records of CNTK v1.1 ----

struct Recorded
{
    const char* data;
    const char* input;
    const char* expected;
    size_t minibatchSize;
    size_t maxErrors = 0;
};

class CtfRecordTests : public CtfReaderTests, public testing::WithParamInterface<Recorded>
{
};

// Prints streams one after another, each dense, one column a line, without gaps.
TEST_P(CtfRecordTests, EveryColumnIsEqual)
{
    const Recorded& record = GetParam();
    const std::string data = Shared(std::string("data/ctf/") + record.data);
    std::ifstream expected(Shared(std::string("data/ctf/expected/") + record.expected));
    if (!FileExists(data) || !expected)
        GTEST_SKIP() << "no shared test data";
    auto reader = Make<double>("file=" + data + " randomize=none maxErrors=" + std::to_string(record.maxErrors) +
                               " input=[" + record.input + "]");
    HostMinibatch<double> minibatch;
    reader->StartEpoch(MakeRequest(0, record.minibatchSize));
    size_t lines = 0;
    while (reader->GetMinibatch(minibatch))
    {
        for (const StreamBatch<double>& batch : minibatch.streams)
        {
            const size_t rows = batch.layout->ParallelSequences();
            for (size_t column = 0; column < batch.columns; ++column)
            {
                if (batch.layout->IsGap(column % rows, column / rows))
                    continue;
                std::vector<double> values(batch.rows, 0.0);
                if (batch.sparse)
                    for (int32_t i = batch.columnStarts[column]; i < batch.columnStarts[column + 1]; ++i)
                        values[size_t(batch.rowIndices[size_t(i)])] = batch.values[size_t(i)];
                else
                    std::copy_n(batch.values.begin() + ptrdiff_t(column * batch.rows), batch.rows, values.begin());
                for (const double value : values)
                {
                    double wanted = NAN;
                    ASSERT_TRUE(expected >> wanted) << lines;
                    ASSERT_NEAR(value, wanted, 1e-5 * std::abs(wanted)) << "column " << lines;
                }
                ++lines;
            }
        }
    }
    double more = 0;
    EXPECT_FALSE(expected >> more);
    EXPECT_GT(lines, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Originals, CtfRecordTests,
    testing::Values(
        Recorded{"10x10_dense.txt", "F0=[dim=5 format=dense]", "10x10_dense.txt", 100},
        Recorded{"10x10_sparse.txt", "F0=[dim=100 format=sparse]", "10x10_sparse.txt", 100},
        Recorded{"50x20_jagged_sequences_dense.txt", "F0=[dim=3 format=dense]", "50x20_jagged_sequences_dense.txt",
                 508},
        Recorded{"50x20_jagged_sequences_sparse.txt", "F0=[dim=100 format=sparse]", "50x20_jagged_sequences_sparse.txt",
                 564},
        Recorded{"3x5_MI_sparse.txt", "F0=[dim=2 format=sparse] F1=[dim=20 format=sparse] F2=[dim=200 format=sparse]",
                 "3x5_MI_sparse.txt", 15},
        Recorded{"20x10_MI_jagged_samples_sparse.txt",
                 "F0=[dim=2 format=sparse] F1=[dim=20 format=sparse] F2=[dim=200 format=sparse]",
                 "20x10_MI_jagged_samples_sparse.txt", 200},
        Recorded{"1x10_sparse.txt", "F0=[dim=100 format=sparse]", "1x10_sparse.txt", 10},
        Recorded{"space_separated.txt", "F1=[dim=15 format=dense] F2=[dim=12 format=dense] F3=[dim=1 format=dense]",
                 "space_separated.HEAD.txt", 2},
        Recorded{"empty_samples.txt", "F0=[dim=10 format=dense] F1=[dim=10 format=sparse]", "empty_samples.HEAD.txt",
                 6},
        Recorded{"ref_data_with_escape_sequences.txt", "F0=[dim=100 format=sparse] F1=[dim=3 format=dense]",
                 "ref_data_with_escape_sequences.HEAD.txt", 9},
        Recorded{"contains_blank_lines.txt", "features=[dim=1 format=dense]", "contains_blank_lines.HEAD.txt", 2, 2},
        Recorded{"missing_trailing_newline.txt", "features=[dim=1 format=dense]", "missing_trailing_newline.HEAD.txt",
                 2, 2}));

} // namespace
} // namespace cntk
