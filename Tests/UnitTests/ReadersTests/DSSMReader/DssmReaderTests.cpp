// DSSMReader: pairs of rows, their order, both sizes of values, both kinds of offsets, malformed files.
#include "Readers/DSSMReader/DssmReader.h"
#include "ReadersTests/BinaryTestTools.h"
#include "ReadersTests/SequenceTestTools.h"

namespace cntk
{
namespace
{

using testing::ElementsAre;

class DssmReaderTests : public ReaderTest
{
protected:
    template <class Stored>
    static std::string File(const std::vector<SparseRow>& rows, int columns, bool fromFileBegin = false)
    {
        std::string data, offsets;
        size_t values = 0;
        const size_t begin = fromFileBegin ? 20 + 8 * rows.size() : 0;
        for (const SparseRow& row : rows)
        {
            offsets += Long(int64_t(begin + data.size()));
            data += SparseBytes<Stored>(row);
            values += row.size();
        }
        return Long(int64_t(rows.size())) + Int(columns) + Long(int64_t(values)) + offsets + data;
    }
    static std::vector<SparseRow> Documents() { return {{{1, 0.5}, {0, 2}}, {}, {{3, 3}}}; }
    static std::vector<SparseRow> Queries() { return {{{0, 1}}, {{1, 2}}, {{0, 3}, {1, 4}}}; }

    template <class ElemType>
    std::unique_ptr<IDataReader<ElemType>> Open(const std::string& documents, const std::string& queries,
                                                const std::string& parameters = "randomize=none l=[ labelDim=3 ]")
    {
        m_config = ConfigParameters::Parse(OnLines("reader=[ d=[ dim=4 file=" + Write("d.bin", documents) +
                                                   "\n] q=[ dim=2 file=" + Write("q.bin", queries) + "\n] " +
                                                   parameters + "\n]"),
                                           "t.cntk");
        return MakeDssmReader<ElemType>({m_config->RequireBlock("reader"), m_log});
    }
    std::string Failure(const std::string& documents, const std::string& parameters = "randomize=none l=[ labelDim=3 ]")
    {
        const std::string message = MessageOf(
            [&]
            {
                auto reader = Open<float>(documents, File<float>(Queries(), 2), parameters);
                ReadStream(*reader, MakeRequest(0, 10), 0);
            });
        return WithoutFolders(message);
    }
};

TEST_F(DssmReaderTests, ReadsPairs)
{
    auto reader = Open<float>(File<float>(Documents(), 4), File<float>(Queries(), 2));
    ASSERT_EQ(reader->Streams().size(), 3u);
    EXPECT_EQ(reader->Streams()[0].name, "d");
    EXPECT_EQ(reader->Streams()[2].rows, 3u);
    EXPECT_EQ(reader->TotalSamples(), 3u);
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 2), 0), ElementsAre("frames 2; 0:2 1:0.5; ", "frames 1; 3:3"));
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 3), 1), ElementsAre("frames 3; 0:1; 1:2; 0:3 1:4"));
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 3), 2), ElementsAre("frames 3; 0:1; 0:1; 0:1"));
}

TEST_F(DssmReaderTests, ValuesOfEitherSizeAndOffsetsOfEitherKind)
{
    const std::vector<std::string> wanted = {"frames 3; 0:2 1:0.5; ; 3:3"};
    for (const bool fromFileBegin : {false, true})
    {
        const std::string narrow = File<float>(Documents(), 4, fromFileBegin);
        const std::string wide = File<double>(Documents(), 4, fromFileBegin);
        const std::string queries = File<float>(Queries(), 2);
        EXPECT_EQ(ReadStream(*Open<float>(narrow, queries), MakeRequest(0, 3), 0), wanted);
        EXPECT_EQ(ReadStream(*Open<double>(narrow, queries), MakeRequest(0, 3), 0), wanted);
        EXPECT_EQ(ReadStream(*Open<float>(wide, queries), MakeRequest(0, 3), 0), wanted);
        EXPECT_EQ(ReadStream(*Open<double>(wide, queries), MakeRequest(0, 3), 0), wanted);
    }
}

TEST_F(DssmReaderTests, PairsAreShuffledTogether)
{
    std::vector<SparseRow> rows;
    for (int i = 0; i < 40; ++i)
        rows.push_back({{i % 2, i}});
    const std::string file = File<float>(rows, 2);
    auto reader = Open<float>(file, file, "");
    const auto documents = ReadStream(*reader, MakeRequest(0, 40), 0);
    EXPECT_EQ(documents, ReadStream(*reader, MakeRequest(0, 40), 1));
    EXPECT_NE(documents, ReadStream(*reader, MakeRequest(2, 40), 0)); // seeds 0 and 1 are equal to the C library
    EXPECT_EQ(documents, ReadStream(*reader, MakeRequest(0, 40), 0));
    EXPECT_NE(documents, ReadStream(*Open<float>(file, file, "randomize=none"), MakeRequest(0, 40), 0));
    m_config = ConfigParameters::Parse(
        OnLines("reader=[ d=[ dim=4 file=" + Path("d.bin") + "\n] q=[ dim=2 file=" + Path("q.bin") + "\n]\n]"),
        "t.cntk");
    ReaderContext context{m_config->RequireBlock("reader"), m_log};
    context.forWriting = true;
    EXPECT_THAT(ReadStream(*MakeDssmReader<float>(context), MakeRequest(0, 2, 2), 0),
                ElementsAre("frames 2; 0:0; 1:1"));
}

TEST_F(DssmReaderTests, FullMinibatches)
{
    auto reader = Open<float>(File<float>(Documents(), 4), File<float>(Queries(), 2),
                              "randomize=none minibatchMode=full traceLevel=1");
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 2), 1), ElementsAre("frames 2; 0:1; 1:2", "frames 2; 0:3 1:4; 0:1"));
    EXPECT_THAT(LogText(), testing::HasSubstr("DSSMReader: 3 rows in '" + Path("q.bin") + "'\n"));
    EXPECT_THAT(ReadStream(*reader, MakeRequestOnce(2), 1), ElementsAre("frames 2; 0:1; 1:2", "frames 1; 0:3 1:4"));
}

TEST_F(DssmReaderTests, LabelsTakeTheRowsOfTheirNode)
{
    auto reader = Open<float>(File<float>(Documents(), 4), File<float>(Queries(), 2), "l=[ labelType=category ]");
    EXPECT_EQ(reader->Streams()[2].rows, StreamInfo::c_rowsOfNode);
    reader = Open<float>(File<float>(Documents(), 4), File<float>(Queries(), 2), "l=[ dim=7 sectionType=labels ]");
    EXPECT_EQ(reader->Streams()[2].rows, 7u);
    EXPECT_EQ(Open<float>(File<float>(Documents(), 4), File<float>(Queries(), 2), "")->Streams().size(), 2u);
}

TEST_F(DssmReaderTests, MalformedFiles)
{
    const std::string good =
        File<float>(Documents(), 4); // header 20, offsets at 20, rows at 44 (4+16), 64 (4), 68 (12)
    ASSERT_EQ(good.size(), 80u);
    EXPECT_EQ(Failure(good), "no error");
    EXPECT_EQ(Failure(""), "data: data file 'd.bin' is empty");
    EXPECT_EQ(Failure("abc"), "data: 'd.bin', byte 0: expected the number of rows (8 bytes), found the end of the file "
                              "at byte 3");
    EXPECT_EQ(Failure(Changed(good, 0, Long(0))),
              "data: 'd.bin', byte 0: expected the number of rows, a number of 1 to "
              "10, found 0");
    EXPECT_EQ(Failure(Changed(good, 0, Long(-3))),
              "data: 'd.bin', byte 0: expected the number of rows, a number of 1 to "
              "10, found -3");
    EXPECT_EQ(Failure(Changed(good, 0, Long(9))),
              "data: 'd.bin', byte 20: expected the offsets of the rows (72 bytes), "
              "found the end of the file at byte 80");
    EXPECT_EQ(Failure(Changed(good, 8, Int(5))), "data: 'd.bin', byte 8: expected at most dim=4 columns, found 5");
    EXPECT_EQ(Failure(Changed(good, 8, Int(0))), "data: 'd.bin', byte 8: expected the number of columns, a number of 1 "
                                                 "to 2147483647, found 0");
    EXPECT_EQ(Failure(Changed(good, 12, Long(4))),
              "data: 'd.bin', byte 44: expected 44 bytes of rows for 4 values of 4 "
              "bytes or 60 for values of 8 bytes, found 36");
    EXPECT_EQ(Failure(Changed(good, 12, Long(-1))),
              "data: 'd.bin', byte 12: expected the number of values, a number of "
              "0 to 10, found -1");
    EXPECT_EQ(Failure(Changed(good, 20, Long(4))), "data: 'd.bin', byte 20: expected the offset of the first row, 0 or "
                                                   "44, found 4");
    EXPECT_EQ(Failure(Changed(good, 28, Long(36))), "data: 'd.bin', byte 28: expected the offset of row 1, a number "
                                                    "below 36, found 36");
    EXPECT_EQ(Failure(Changed(good, 28, Long(-1))), "data: 'd.bin', byte 28: expected the offset of row 1, a number "
                                                    "below 36, found -1");
    EXPECT_EQ(Failure(Changed(good, 36, Long(34))),
              "data: 'd.bin', row 2, byte 78: expected the number of values of 'd' "
              "(4 bytes), found the end of the file at byte 80");
    EXPECT_EQ(Failure(Changed(good, 44, Int(5))),
              "data: 'd.bin', row 0, byte 44: expected the number of values of 'd', "
              "a number of 0 to 4, found 5");
    EXPECT_EQ(Failure(Changed(good, 68, Int(2))),
              "data: 'd.bin', row 2, byte 80: expected rows of the values of 'd' (8 "
              "bytes), found the end of the file at byte 80");
    EXPECT_EQ(Failure(Changed(good, 56, Int(4))),
              "data: 'd.bin', row 0, byte 56: expected the row of a value of 'd', a "
              "number of 0 to 3, found 4");
    EXPECT_EQ(Failure(Changed(good, 76, Int(-1))),
              "data: 'd.bin', row 2, byte 76: expected the row of a value of 'd', a "
              "number of 0 to 3, found -1");
    for (size_t size = 1; size < good.size(); ++size)
        EXPECT_THAT(Failure(good.substr(0, size)), testing::HasSubstr("'d.bin', ")) << size;
    EXPECT_EQ(Failure(File<float>({{{0, 1}}}, 4)),
              "data: 'd.bin' has 1 row, 'q.bin' has 3; expected the same number, since row i of both is pair i");
}

TEST_F(DssmReaderTests, Blocks)
{
    const std::string good = File<float>(Documents(), 4);
    EXPECT_EQ(Failure(good, "e=[ dim=3 ]"),
              "config: the reader has 3 feature blocks, d, e, q; expected two with dim and "
              "file each, in alphabetical order that of the documents and that of the "
              "queries");
    EXPECT_EQ(Failure(good, "l=[ labelDim=3 ] m=[ labelDim=3 ]"),
              "config: 'l' and 'm' are blocks of labels; expected one at most");
    EXPECT_THAT(Failure(good, "randomize=sometimes"), testing::HasSubstr("randomize"));
}

} // namespace
} // namespace cntk
