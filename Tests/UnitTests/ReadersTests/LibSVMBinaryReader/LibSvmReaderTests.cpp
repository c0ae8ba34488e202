// LibSVMBinaryReader: streams of the header, batches in every described layout, names, malformed files.
#include "Readers/LibSVMBinaryReader/LibSvmReader.h"
#include "ReadersTests/BinaryTestTools.h"
#include "ReadersTests/SequenceTestTools.h"

#include <limits>

namespace cntk
{
namespace
{

using testing::ElementsAre;
using testing::HasSubstr;

// The variants of the layout.
struct Layout
{
    bool hasBatchSize = false; // one more number in front of the batches
    enum
    {
        FromFile,
        FromOffsetsEnd,
        FromFirstBatch
    } offsets = FromOffsetsEnd;
};

class LibSvmReaderTests : public ReaderTest
{
protected:
    static std::string Name(const std::string& name, int dim) { return Int(int64_t(name.size())) + name + Int(dim); }

    // One feature and one label of two values.
    template <class Stored>
    static std::string Batch(const std::vector<SparseRow>& rows, const std::vector<double>& labels)
    {
        SparseRow all;
        std::string starts = Int(0);
        for (const SparseRow& row : rows)
        {
            all.insert(all.end(), row.begin(), row.end());
            starts += Int(int64_t(all.size()));
        }
        std::string text = Int(int64_t(rows.size())) + SparseBytes<Stored>(all) + starts;
        for (const double label : labels)
            text += Bytes(Stored(label));
        return text;
    }
    // Three records in batches of two.
    template <class Stored>
    static std::string File(const Layout& layout = {})
    {
        const std::string first = Batch<Stored>({{{2, 1}, {0, 2}}, {}}, {1, 0, 0, 1});
        const std::string second = Batch<Stored>({{{1, 0.25}}}, {5, 6});
        const std::string header = Long(3) + Long(2) + Int(1) + Int(1) + Name("words", 3) + Name("label", 2);
        const size_t end = header.size() + 16;
        const size_t begin = end + (layout.hasBatchSize ? 4 : 0);
        const size_t base = layout.offsets == Layout::FromFile         ? 0
                            : layout.offsets == Layout::FromOffsetsEnd ? end
                                                                       : begin;
        return header + Long(int64_t(begin - base)) + Long(int64_t(begin - base + first.size())) +
               (layout.hasBatchSize ? Int(2) : "") + first + second;
    }
    template <class ElemType>
    std::unique_ptr<IDataReader<ElemType>> Open(const std::string& data, const std::string& parameters = "")
    {
        m_config = ConfigParameters::Parse(
            OnLines("reader=[ file=" + Write("data.bin", data) + " " + parameters + "\n]"), "t.cntk");
        return MakeLibSvmReader<ElemType>({m_config->RequireBlock("reader"), m_log});
    }
    std::string Failure(const std::string& data, const std::string& parameters = "")
    {
        const std::string message =
            MessageOf([&] { ReadStream(*Open<float>(data, parameters), MakeRequest(0, 10), 0); });
        return WithoutFolders(message);
    }
};

TEST_F(LibSvmReaderTests, ReadsEveryLayout)
{
    for (const bool hasBatchSize : {false, true})
    {
        for (const auto offsets : {Layout::FromFile, Layout::FromOffsetsEnd, Layout::FromFirstBatch})
        {
            const Layout layout{hasBatchSize, offsets};
            const auto check = [](auto reader)
            {
                ASSERT_EQ(reader->Streams().size(), 3u);
                EXPECT_EQ(reader->Streams()[0].name, "words");
                EXPECT_EQ(reader->Streams()[0].rows, 3u);
                EXPECT_EQ(reader->Streams()[1].rows, 2u);
                EXPECT_TRUE(reader->Streams()[1].isLabel);
                EXPECT_EQ(reader->TotalSamples(), 3u);
                EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 3), 0), ElementsAre("frames 3; 0:2 2:1; ; 1:0.25"));
                EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 2), 1),
                            ElementsAre("frames 2; 1 0; 0 1", "frames 1; 5 6"));
            };
            check(Open<float>(File<float>(layout)));
            check(Open<double>(File<float>(layout)));
            check(Open<float>(File<double>(layout)));
            check(Open<double>(File<double>(layout)));
        }
    }
}

TEST_F(LibSvmReaderTests, Parameters)
{
    EXPECT_THAT(ReadStream(*Open<float>(File<float>(), "minibatch=1 randomize=auto"), MakeRequest(0, 3), 0),
                ElementsAre("frames 1; 0:2 2:1", "frames 1; ", "frames 1; 1:0.25"));
    EXPECT_THAT(ReadStream(*Open<float>(File<float>(), "minibatchMode=full traceLevel=1"), MakeRequest(0, 2), 0),
                ElementsAre("frames 2; 0:2 2:1; ", "frames 2; 1:0.25; 0:2 2:1"));
    EXPECT_THAT(ReadStream(*Open<float>(File<float>(), "minibatchMode=full"), MakeRequestOnce(2), 0),
                ElementsAre("frames 2; 0:2 2:1; ", "frames 1; 1:0.25"));
    EXPECT_THAT(LogText(), HasSubstr("LibSVMBinaryReader: 3 records of words, label in '" + Path("data.bin") + "'\n"));
}

TEST_F(LibSvmReaderTests, Names)
{
    auto reader = Open<float>(File<float>(), "words=[ rename=features ] labels=[ rename=label ]");
    EXPECT_EQ(reader->Streams()[0].name, "features");
    EXPECT_EQ(reader->Streams()[1].name, "labels");
    EXPECT_EQ(reader->Streams()[2].name, "DSSMLabel");
    // The two names may be exchanged.
    reader = Open<float>(File<float>(), "words=[ rename=label ] label=[ rename=words ]");
    EXPECT_EQ(reader->Streams()[0].name, "label");
    EXPECT_EQ(reader->Streams()[1].name, "words");
    EXPECT_EQ(
        Failure(File<float>(), "word=[ rename=features ]"),
        "config: 'word' with rename=features: expected one of the two to be a stream of 'data.bin'; it has words, "
        "label; did you mean 'words'?");
    EXPECT_EQ(Failure(File<float>(), "words=[ rename=label ]"),
              "config: 'data.bin': streams 'words' and 'label' are both named 'label' by rename; each needs a "
              "different name");
}

TEST_F(LibSvmReaderTests, LabelsOfPairs)
{
    auto reader = Open<float>(File<float>());
    EXPECT_EQ(reader->Streams()[2].rows, StreamInfo::c_rowsOfNode);
    reader = Open<float>(File<float>(), "DSSMLabel=[ labelDim=4 ]");
    EXPECT_EQ(reader->Streams()[2].rows, 4u);
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 2), 2), ElementsAre("frames 2; 0:1; 0:1", "frames 1; 0:1"));
    // The name in the file wins.
    reader = Open<float>(File<float>(), "label=[ rename=DSSMLabel ]");
    EXPECT_EQ(reader->Streams().size(), 2u);
    EXPECT_EQ(reader->Streams()[1].rows, 2u);
}

TEST_F(LibSvmReaderTests, MalformedFiles)
{
    // Header 24, "words" 24..37, "label" 37..50, offsets 50, 58; batch 0 at 66: rows, count 70, values 74, rows 82,
    // starts 90, labels 102; batch 1 at 118: rows, count 122, value 126, row 130, starts 134, labels 142..150.
    const std::string good = File<float>();
    ASSERT_EQ(good.size(), 150u);
    EXPECT_EQ(Failure(good), "no error");
    EXPECT_EQ(Failure(""), "data: data file 'data.bin' is empty");
    EXPECT_EQ(Failure("1"),
              "data: 'data.bin', byte 0: expected the number of rows (8 bytes), found the end of the file "
              "at byte 1");
    EXPECT_EQ(Failure(Changed(good, 0, Long(0))),
              "data: 'data.bin', byte 0: expected the number of rows, a number of 1 "
              "to 9223372036854775807, found 0");
    EXPECT_EQ(Failure(Changed(good, 8, Long(19))), "data: 'data.bin', byte 8: expected the number of batches, a number "
                                                   "of 1 to 18, found 19");
    EXPECT_EQ(Failure(Changed(good, 8, Long(0))),
              "data: 'data.bin', byte 8: expected the number of batches, a number of "
              "1 to 18, found 0");
    EXPECT_EQ(Failure(Changed(good, 16, Int(-1))),
              "data: 'data.bin', byte 16: expected the number of features, a number "
              "of 0 to 18, found -1");
    EXPECT_EQ(Failure(Changed(good, 20, Int(99))), "data: 'data.bin', byte 20: expected the number of labels, a number "
                                                   "of 0 to 18, found 99");
    EXPECT_EQ(Failure(Changed(Changed(good, 16, Int(0)), 20, Int(0))),
              "data: 'data.bin', byte 20: expected the number of labels, a number of 1 to 18, found 0");
    EXPECT_EQ(Failure(Changed(good, 24, Int(0))), "data: 'data.bin', feature 0, byte 24: expected the length of its "
                                                  "name, a number of 1 to 2147483647, found 0");
    EXPECT_EQ(Failure(Changed(good, 24, Int(1 << 30))), "data: 'data.bin', feature 0, byte 28: expected its name "
                                                        "(1073741824 bytes), found the end of the file at byte 150");
    EXPECT_EQ(Failure(Changed(good, 33, Int(0))), "data: 'data.bin', feature 0, byte 33: expected its dimension, a "
                                                  "number of 1 to 2147483647, found 0");
    EXPECT_EQ(Failure(Changed(good, 41, "words")), "data: 'data.bin', label 0, byte 37: expected a name of its own, "
                                                   "found 'words' again");
    const std::string noLayout = "data: 'data.bin', batch 0, byte 66: expected a batch that ends where the next one "
                                 "begins, with values of 4 or 8 bytes, found none; the offset of the batch is ";
    EXPECT_EQ(Failure(Changed(good, 50, Long(5))), noLayout + "5");
    EXPECT_EQ(Failure(Changed(good, 58, Long(51))), noLayout + "0");
    EXPECT_EQ(Failure(Changed(good, 66, Int(-2))), noLayout + "0");
    EXPECT_EQ(Failure(Changed(good, 70, Int(3))), noLayout + "0");
    EXPECT_EQ(Failure(Changed(good, 70, Int(1 << 30))), noLayout + "0");
    EXPECT_EQ(Failure(Changed(good, 82, Int(3))), "data: 'data.bin', batch 0, byte 82: expected the row of a value of "
                                                  "'words', a number of 0 to 2, found 3");
    EXPECT_EQ(Failure(Changed(good, 90, Int(1))),
              "data: 'data.bin', batch 0, byte 90: expected the start of column 0 of "
              "'words', a number of 0 to 0, found 1");
    EXPECT_EQ(Failure(Changed(good, 94, Int(3))),
              "data: 'data.bin', batch 0, byte 94: expected the start of column 1 of "
              "'words', a number of 0 to 2, found 3");
    EXPECT_EQ(Failure(Changed(good, 98, Int(1))),
              "data: 'data.bin', batch 0, byte 98: expected the start of column 2 of "
              "'words', a number of 2 to 2, found 1");
    EXPECT_EQ(Failure(Changed(good, 118, Int(2))),
              "data: 'data.bin', batch 1, byte 118: expected the number of rows of "
              "the batch, a number of 0 to 1, found 2");
    EXPECT_EQ(Failure(Changed(good, 0, Long(4))), "data: 'data.bin', byte 0: expected the number of rows, 3 in all "
                                                  "batches, found 4");
    EXPECT_EQ(
        Failure(Changed(good, 122, Int(4))),
        "data: 'data.bin', batch 1, byte 142: expected rows of the values (16 bytes), found the end of the file at "
        "byte 150");
    EXPECT_EQ(Failure(good.substr(0, 118)), "data: 'data.bin', batch 1, byte 58: expected its offset, a number of 0 to "
                                            "51, found 52");
    EXPECT_EQ(Failure(Changed(good, 78, Bytes(std::numeric_limits<float>::quiet_NaN()))),
              "data: 'data.bin', batch 0, byte 78: expected values, finite numbers, found nan");
    for (size_t size = 1; size < good.size(); ++size)
        EXPECT_THAT(Failure(good.substr(0, size)), HasSubstr("'data.bin', ")) << size;
}

} // namespace
} // namespace cntk
