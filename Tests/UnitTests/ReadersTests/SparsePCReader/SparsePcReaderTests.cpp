// SparsePCReader: the order of a record, minibatches, all parameters, malformed files.
#include "Readers/SparsePCReader/SparsePcReader.h"
#include "ReadersTests/BinaryTestTools.h"
#include "ReadersTests/SequenceTestTools.h"

#include <limits>

namespace cntk
{
namespace
{

using testing::ElementsAre;

class SparsePcReaderTests : public ReaderTest
{
protected:
    // Features a of 4 and b of 3 rows: b comes first in a record.
    template <class Stored>
    static std::string Record(const SparseRow& a, const SparseRow& b, double label)
    {
        return SparseBytes<Stored>(b) + SparseBytes<Stored>(a) + Bytes(Stored(label));
    }
    template <class Stored>
    static std::string Example()
    {
        return Record<Stored>({{0, 1}, {3, 2}}, {{1, 5}}, 0.5) + Record<Stored>({}, {{2, 6}, {0, 7}}, -1) +
               Record<Stored>({{2, 3}, {1, 4}, {2, 1}}, {}, 2);
    }
    template <class ElemType>
    std::unique_ptr<IDataReader<ElemType>> Open(const std::string& data, const std::string& parameters = "",
                                                const std::string& blocks = "a=[ dim=4 ] b=[ dim=3 ] l=[ labelDim=1 ]")
    {
        const std::string file = " file=" + Write("data.bin", data);
        m_config =
            ConfigParameters::Parse(OnLines("reader=[" + file + " " + parameters + " " + blocks + "\n]"), "t.cntk");
        return MakeSparsePcReader<ElemType>({m_config->RequireBlock("reader"), m_log});
    }
    // Returns the error of opening and reading the whole file, without the folder.
    std::string Failure(const std::string& data, const std::string& parameters = "",
                        const std::string& blocks = "a=[ dim=4 ] b=[ dim=3 ] l=[ labelDim=1 ]")
    {
        const std::string message =
            MessageOf([&] { ReadStream(*Open<float>(data, parameters, blocks), MakeRequest(0, 10), 0); });
        return WithoutFolders(message);
    }
};

TEST_F(SparsePcReaderTests, ReadsRecordsInTheirOrder)
{
    auto reader = Open<float>(Example<float>());
    ASSERT_EQ(reader->Streams().size(), 3u);
    EXPECT_EQ(reader->Streams()[0].name, "b");
    EXPECT_EQ(reader->Streams()[1].name, "a");
    EXPECT_EQ(reader->Streams()[1].rows, 4u);
    EXPECT_TRUE(reader->Streams()[1].sparse);
    EXPECT_EQ(reader->Streams()[2].rows, 1u);
    EXPECT_TRUE(reader->Streams()[2].isLabel);
    EXPECT_EQ(reader->TotalSamples(), 3u);
    // Rows are sorted; values of one row are added.
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 2), 1), ElementsAre("frames 2; 0:1 3:2; ", "frames 1; 1:4 2:4"));
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 3), 0), ElementsAre("frames 3; 1:5; 0:7 2:6; "));
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 3), 2), ElementsAre("frames 3; 0.5; -1; 2"));
    EXPECT_THAT(ReadStream(*Open<double>(Example<double>()), MakeRequest(0, 3), 1),
                ElementsAre("frames 3; 0:1 3:2; ; 1:4 2:4"));
}

TEST_F(SparsePcReaderTests, EpochsContinueThePreviousOne)
{
    auto reader = Open<float>(Example<float>());
    EXPECT_THAT(ReadStream(*reader, MakeRequest(1, 2, 2), 2), ElementsAre("frames 1; 2", "frames 1; 0.5"));
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 2, 2), 2), ElementsAre("frames 2; 0.5; -1"));
    EpochRequest second = MakeRequest(0, 2);
    second.workers = 2;
    second.rank = 1;
    EXPECT_THAT(ReadStream(*reader, second, 2), ElementsAre("frames 1; -1", "frames 1; 2"));
}

TEST_F(SparsePcReaderTests, UnusedStreamsStayEmpty)
{
    auto reader = Open<float>(Example<float>());
    EpochRequest request = MakeRequest(0, 3);
    request.wanted = {"A"};
    HostMinibatch<float> minibatch;
    reader->StartEpoch(request);
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_EQ(minibatch.streams[1].columns, 3u);
    EXPECT_EQ(minibatch.streams[0].columns, 0u);
    EXPECT_TRUE(minibatch.streams[2].values.empty());
}

TEST_F(SparsePcReaderTests, Parameters)
{
    EXPECT_THAT(ReadStream(*Open<float>(Example<float>(), "returnDense=true"), MakeRequest(0, 3), 1),
                ElementsAre("frames 3; 1 0 0 2; 0 0 0 0; 0 4 4 0"));
    EXPECT_THAT(ReadStream(*Open<float>(Example<float>(), "gradientCheck=true"), MakeRequest(0, 2), 2),
                ElementsAre("frames 2; 0.5; -1", "frames 1; 0.5"));
    EXPECT_THAT(ReadStream(*Open<float>(Example<float>(), "microbatchSize=2 sparsenessFactor=1"), MakeRequest(0, 1), 2),
                ElementsAre("frames 2; 0.5; -1", "frames 1; 2"));
    EXPECT_THAT(ReadStream(*Open<float>(Example<float>(), "microbatchSize=2"), MakeRequest(0, 3), 2),
                ElementsAre("frames 2; 0.5; -1", "frames 1; 2"));
    const size_t first = Record<float>({{0, 1}, {3, 2}}, {{1, 5}}, 0.5).size();
    EXPECT_EQ(Open<float>(Example<float>(), "maxReadData=" + std::to_string(first))->TotalSamples(), 1u);
    EXPECT_EQ(Open<float>(Example<float>(), "maxReadData=" + std::to_string(first + 1))->TotalSamples(), 2u);
    const std::string coded = Record<float>({}, {}, 1) + Int(7) + Record<float>({}, {}, 2) + Int(7);
    EXPECT_THAT(ReadStream(*Open<float>(coded, "verificationCode=7 traceLevel=1"), MakeRequest(0, 3), 2),
                ElementsAre("frames 2; 1; 2"));
    EXPECT_THAT(LogText(), testing::HasSubstr("SparsePCReader: reading '" + Path("data.bin") + "'\n"));
}

TEST_F(SparsePcReaderTests, MalformedFiles)
{
    const std::string hintWithCode = "; the values of the file are read as numbers of 4 bytes, according to precision";
    const std::string hint = hintWithCode + ", and records have no verificationCode";
    const std::string good = Example<float>();
    EXPECT_EQ(Failure(good), "no error");
    EXPECT_EQ(Failure(""), "data: data file 'data.bin' is empty");
    EXPECT_EQ(Failure("ab"),
              "data: 'data.bin', record 0, byte 0: expected the number of values of 'b' (4 bytes), found "
              "the end of the file at byte 2" +
                  hint);
    EXPECT_EQ(Failure(Changed(good, 0, Int(4))), "data: 'data.bin', record 0, byte 0: expected the number of values of "
                                                 "'b', a number of 0 to 3, found 4" +
                                                     hint);
    EXPECT_EQ(Failure(Changed(good, 0, Int(-1))),
              "data: 'data.bin', record 0, byte 0: expected the number of values of "
              "'b', a number of 0 to 3, found -1" +
                  hint);
    EXPECT_EQ(Failure(Changed(good, 8, Int(3))), "data: 'data.bin', record 0, byte 8: expected the row of a value of "
                                                 "'b', a number of 0 to 2, found 3" +
                                                     hint);
    EXPECT_EQ(Failure(Changed(good, 24, Int(-2))),
              "data: 'data.bin', record 0, byte 24: expected the row of a value of "
              "'a', a number of 0 to 3, found -2" +
                  hint);
    EXPECT_EQ(Failure(Int(3) + Bytes(1.f)), "data: 'data.bin', record 0, byte 4: expected values of 'b' (3 times 4 "
                                            "bytes), found the end of the file at byte 8" +
                                                hint);
    EXPECT_EQ(Failure(Int(1) + Bytes(1.f) + "x"), "data: 'data.bin', record 0, byte 8: expected rows of the values of "
                                                  "'b' (1 times 4 bytes), found the end of the file at byte 9" +
                                                      hint);
    EXPECT_EQ(Failure(Int(0) + Int(0) + "xyz"),
              "data: 'data.bin', record 0, byte 8: expected the label value (4 bytes), "
              "found the end of the file at byte 11" +
                  hint);
    // The file ends within a record.
    const size_t first = Record<float>({{0, 1}, {3, 2}}, {{1, 5}}, 0.5).size();
    const size_t second = first + Record<float>({}, {{2, 6}, {0, 7}}, -1).size();
    for (size_t size = 1; size < good.size(); ++size)
    {
        const std::string message = Failure(good.substr(0, size));
        EXPECT_EQ(message == "no error", size == first || size == second) << size;
        EXPECT_TRUE(message == "no error" ||
                    message.find("found the end of the file at byte " + std::to_string(size)) != std::string::npos)
            << message;
    }
    EXPECT_EQ(Failure(Record<float>({}, {}, 1) + Int(8), "verificationCode=7"),
              "data: 'data.bin', record 0, byte 12: expected verificationCode=7 after the record, found 8" +
                  hintWithCode);
    EXPECT_EQ(
        Failure(Record<float>({}, {}, 1), "verificationCode=7"),
        "data: 'data.bin', record 0, byte 12: expected the verification code (4 bytes), found the end of the file "
        "at byte 12" +
            hintWithCode);
    const std::string infinite = Bytes(std::numeric_limits<float>::infinity());
    EXPECT_EQ(Failure(Changed(good, 4, infinite)),
              "data: 'data.bin', record 0, byte 4: expected values of 'b', finite numbers, found inf" + hint);
    EXPECT_EQ(Failure(Changed(good, 32, infinite)),
              "data: 'data.bin', record 0, byte 32: expected the label value, finite numbers, found inf" + hint);
    // Values of 8 bytes, read as 4.
    EXPECT_THAT(Failure(Example<double>()), testing::EndsWith(hint));
}

TEST_F(SparsePcReaderTests, Blocks)
{
    EXPECT_EQ(
        Failure(Example<float>(), "", "l=[ labelDim=1 ]"),
        "config: the reader has no feature block; it needs one such as features=[dim=1000], named as the network's "
        "input, for each feature of a record");
    EXPECT_EQ(Failure(Example<float>(), "", "a=[ dim=4 ] l=[ labelDim=1 ] m=[ labelType=category ]"),
              "config: 'l' and 'm' are blocks of labels, but a record has one label value; expected one of them");
    EXPECT_THAT(Failure(Example<float>(), "", "a=[ dim=0 ]"), testing::HasSubstr("dim"));
    EXPECT_THAT(Failure(Example<float>(), "microbatchSize=0"), testing::HasSubstr("microbatchSize"));
    // A label without an input node is skipped.
    EXPECT_EQ(Open<float>(Example<float>(), "", "a=[ dim=4 ] b=[ dim=3 ]")->Streams().size(), 2u);
}

} // namespace
} // namespace cntk
