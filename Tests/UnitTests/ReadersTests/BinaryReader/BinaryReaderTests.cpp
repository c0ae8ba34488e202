// BinaryReader and BinaryWriter: reading written files, the layout of the format, malformed files.
#include "Common/Config/UnusedKeys.h"
#include "Readers/BinaryReader/BinaryReader.h"
#include "Readers/BinaryReader/BinaryWriter.h"
#include "ReadersTests/SequenceTestTools.h"

#include <cmath>
#include <cstring>
#include <map>

namespace cntk
{
namespace
{

using testing::ElementsAre;
using testing::HasSubstr;

class BinaryReaderTests : public ReaderTest
{
protected:
    template <class ElemType>
    std::unique_ptr<IDataReader<ElemType>> Open(const std::string& path, const std::string& blocks = "")
    {
        m_config = ConfigParameters::Parse("reader=[\nfile=" + path + "\n" + blocks + "]", "test.cntk");
        return MakeBinaryReader<ElemType>({m_config->RequireBlock("reader"), m_log});
    }
    // Writes two minibatches of a node x with two rows and labels l of three classes.
    template <class ElemType>
    std::string WriteExample()
    {
        const std::string path = Path("data.bin");
        m_config = ConfigParameters::Parse(
            "writer=[\nwfile=" + path + "\nwrecords=5\nx=[\nsectionType=data\ndim=2\n]\nl=[\nsectionType=labels\n]\n]",
            "test.cntk");
        BinaryWriter<ElemType> writer({m_config->RequireBlock("writer"), m_log});
        EXPECT_THAT(writer.OutputNames(), ElementsAre("x", "l"));
        std::map<std::string, StreamBatch<ElemType>> outputs;
        StreamBatch<ElemType>& x = outputs["x"];
        StreamBatch<ElemType>& l = outputs["L"];
        x.rows = 2;
        l.rows = 3;
        x.columns = l.columns = 4;
        x.layout = l.layout = std::make_shared<MBLayout>();
        x.layout->Init(2, 2);
        x.layout->AddSequence(0, 0, 0, 2);
        x.layout->AddSequence(1, 1, 0, 1);
        x.layout->AddGap(1, 1, 2);
        x.values = {1, 2, 5, 6, 3, 4, 0, 0};
        l.values = {1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0};
        writer.SaveMinibatch(outputs, {});
        x.columns = l.columns = 2;
        x.layout->InitAsFrameMode(2);
        x.values = {7, 8, -9, 0.5};
        l.values = {0, 0, 1, 1, 0, 0};
        writer.SaveMinibatch(outputs, {});
        writer.Finish();
        return path;
    }
    // Writes a copy of the file with changed bytes.
    std::string Changed(size_t offset, const std::string& bytes)
    {
        std::string text = std::string(MappedFile(Path("data.bin")).Text());
        text.replace(offset, bytes.size(), bytes);
        return Write("changed.bin", text);
    }
};

// Configs of UCIFastReader have these keys; the reader reports none as unknown.
TEST_F(BinaryReaderTests, KeysThatTheFileAnswers)
{
    const auto reader = Open<float>(WriteExample<float>(), "x=[\ndim=2\nstart=1\n]\nl=[\nlabelDim=3\ndim=1\n"
                                                           "labelType=category\nlabelMappingFile=no.txt\n]\n");
    EXPECT_EQ(reader->TotalSamples(), 5u);
    EXPECT_THAT(FindUnusedKeys(*m_config, {}), testing::IsEmpty());
    Open<float>(Path("data.bin"), "x=[\ndims=2\n]\n");
    EXPECT_THAT(FindUnusedKeys(*m_config, {}), testing::SizeIs(1));
}

TEST_F(BinaryReaderTests, ReadsWhatIsWritten)
{
    const std::string path = WriteExample<float>();
    auto reader = Open<double>(path); // in the other precision
    ASSERT_EQ(reader->Streams().size(), 2u);
    EXPECT_EQ(reader->Streams()[0].name, "x");
    EXPECT_EQ(reader->Streams()[1].rows, 3u);
    EXPECT_EQ(reader->TotalSamples(), 5u);
    // Writes sequences one after another, without gaps.
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 3), 0),
                ElementsAre("frames 3; 1 2; 3 4; 5 6", "frames 2; 7 8; -9 0.5"));
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 5), 1), ElementsAre("frames 5; 0:1; 1:1; 2:1; 2:1; 0:1"));
    WriteExample<double>();
    EXPECT_THAT(ReadStream(*Open<double>(path), MakeRequest(0, 5), 0, false),
                ElementsAre("1 2; 3 4; 5 6; 7 8; -9 0.5"));
}

TEST_F(BinaryReaderTests, OffsetsOfTheFormat)
{
    const std::string text = std::string(MappedFile(WriteExample<float>()).Text());
    const auto number = [&](size_t offset, size_t bytes)
    {
        uint64_t value = 0;
        std::memcpy(&value, text.data() + offset, bytes);
        return value;
    };
    EXPECT_EQ(text.size(), 3u * 65536);
    EXPECT_EQ(number(0, 2), 0xACE9u);
    EXPECT_EQ(number(2, 2), 0x0100u);
    EXPECT_EQ(number(4, 2), 320u);
    EXPECT_EQ(number(6, 2), 2u);
    EXPECT_EQ(number(8, 2), 1u);
    EXPECT_EQ(number(32, 8), 5u); // records
    EXPECT_EQ(number(264, 8), text.size());
    EXPECT_EQ(number(272, 8), 65536u);
    EXPECT_EQ(number(280, 8), 131072u);
    EXPECT_STREQ(text.data() + 128, "Binary Data File");
    const size_t data = 65536;
    EXPECT_EQ(number(data, 2), 0x4ACEu);
    EXPECT_EQ(number(data + 8, 2), 2u);
    EXPECT_EQ(number(data + 12, 2), 4u);
    EXPECT_EQ(number(data + 16, 2), 2u);
    EXPECT_EQ(number(data + 32, 8), 10u); // elements
    EXPECT_EQ(number(data + 256, 8), 320u + 5 * 8);
    EXPECT_STREQ(text.data() + data + 128, "x:Data Section");
    EXPECT_STREQ(text.data() + 2 * data + 128, "l:Labels");
    EXPECT_EQ(number(2 * data + 42, 2), 3u);
    EXPECT_EQ(number(2 * data + 324, 4), 1u); // class of the second record
}

TEST_F(BinaryReaderTests, CountsOfRecordsAndLargerHeaders)
{
    WriteExample<float>();
    // A section that counts its records instead of its elements.
    EXPECT_EQ(Open<float>(Changed(65536 + 32, "\x05"))->TotalSamples(), 5u);
    // Data that begin 64 bytes later.
    std::string text(MappedFile(Path("data.bin")).Text());
    text.insert(65536 + 320, 64, '\0');
    text.erase(65536 + 384 + 5 * 8, 64);
    text[65536 + 4] = char(384 - 256);
    EXPECT_THAT(ReadStream(*Open<float>(Write("larger.bin", text)), MakeRequest(0, 5), 0, false),
                ElementsAre("1 2; 3 4; 5 6; 7 8; -9 0.5"));
}

TEST_F(BinaryReaderTests, StatisticsFollowTheirData)
{
    const std::string path = Path("stats.bin");
    m_config = ConfigParameters::Parse("writer=[\nwfile=" + path +
                                           "\nx=[\nsectionType=data\nstats=[\nsectionType=stats\nelementSize=8\n"
                                           "]\n]\ny=[\nsum=[\nsectionType=stats\ncompute=Mean:Count\n]\n]\n]",
                                       "test.cntk");
    BinaryWriter<float> writer({m_config->RequireBlock("writer"), m_log});
    std::map<std::string, StreamBatch<float>> outputs;
    for (const char* name : {"x", "y"})
    {
        StreamBatch<float>& batch = outputs[name];
        batch.rows = 2;
        batch.columns = 2;
        batch.layout = std::make_shared<MBLayout>();
        batch.layout->InitAsFrameMode(2);
        batch.values = {1, 2, 5, -4};
    }
    writer.SaveMinibatch(outputs, {});
    writer.Finish();

    const std::string text(MappedFile(path).Text());
    ASSERT_EQ(text.size(), 5u * 65536);
    const auto statistics = [&](size_t position)
    {
        std::map<std::string, double> found;
        for (size_t i = 0; i < 9 && text[position + 320 + 32 * i] != 0; ++i)
            std::memcpy(&found[text.data() + position + 320 + 32 * i], text.data() + position + 344 + 32 * i, 8);
        return found;
    };
    EXPECT_EQ(text[2 * 65536 + 14], 1); // the structure
    EXPECT_EQ(text[2 * 65536 + 18], 2); // one for all records
    const auto all = statistics(2 * 65536);
    EXPECT_EQ(all.size(), 9u);
    EXPECT_DOUBLE_EQ(all.at("sum"), 4);
    EXPECT_DOUBLE_EQ(all.at("count"), 4);
    EXPECT_DOUBLE_EQ(all.at("mean"), 1);
    EXPECT_DOUBLE_EQ(all.at("max"), 5);
    EXPECT_DOUBLE_EQ(all.at("min"), -4);
    EXPECT_DOUBLE_EQ(all.at("range"), 9);
    EXPECT_DOUBLE_EQ(all.at("rootmeansquare"), std::sqrt(46.0 / 4));
    EXPECT_DOUBLE_EQ(all.at("variance"), 14);
    EXPECT_DOUBLE_EQ(all.at("stddev"), std::sqrt(14.0));
    EXPECT_STREQ(text.data() + 2 * 65536 + 128, "stats:Data Statistics");
    const auto two = statistics(4 * 65536);
    EXPECT_EQ(two.size(), 2u);
    EXPECT_DOUBLE_EQ(two.at("mean"), 1);
    auto reader = Open<float>(path);
    EXPECT_EQ(reader->Streams().size(), 2u);
    EXPECT_EQ(reader->TotalSamples(), 2u);

    const auto errorOf = [&](const std::string& section)
    {
        m_config = ConfigParameters::Parse("writer=[\nwfile=" + path + "\n" + section + "\n]", "test.cntk");
        return MessageOf([&] { BinaryWriter<float>({m_config->RequireBlock("writer"), m_log}); });
    };
    EXPECT_THAT(errorOf("x=[\ns=[\nsectionType=stats\ncompute=men\n]\n]"),
                HasSubstr("there is no statistic 'men'; expected some of sum, count, mean, max, min, range, "
                          "rootmeansquare, variance, stddev; did you mean 'mean'"));
    EXPECT_THAT(
        errorOf("x=[\nc=[\nsectionType=labels\n]\n]"),
        HasSubstr("'c' in section 'x': expected a block with sectionType=stats, labelMapping or categoryLabels"));
    EXPECT_THAT(errorOf("x=[\nsectionType=categoryLabels\n]"), HasSubstr("section 'x' stands for a node"));
    EXPECT_THAT(errorOf("x=[\nc=[\nsectionType=categoryLabels\n]\n]"),
                HasSubstr("'c' in section 'x': expected one block with sectionType=categoryLabels in a section of "
                          "category labels"));
    EXPECT_THAT(errorOf("l=[\nsectionType=labels\nm=[\nsectionType=stats\n]\n]"),
                HasSubstr("'m' in section 'l': expected one block with sectionType=stats in a section of numbers"));
    EXPECT_THAT(errorOf("x=[\nsectionType=stats\n]"), HasSubstr("section 'x' stands for a node"));
}

TEST_F(BinaryReaderTests, NamesOfLabelsFollowTheirSection)
{
    const std::string path = Path("names.bin");
    const std::string names = Write("names.txt", "yes\nno\nperhaps not\n");
    const auto parse = [&](const std::string& inner)
    {
        m_config = ConfigParameters::Parse(
            "writer=[\nwfile=" + path + "\nlabels=[\nsectionType=labels\n" + inner + "\n]\n]", "test.cntk");
        return ReaderContext{m_config->RequireBlock("writer"), m_log};
    };
    std::map<std::string, StreamBatch<float>> outputs;
    StreamBatch<float>& batch = outputs["labels"];
    batch.rows = 3;
    batch.columns = 2;
    batch.layout = std::make_shared<MBLayout>();
    batch.layout->InitAsFrameMode(2);
    batch.values = {0, 0, 1, 1, 0, 0};
    BinaryWriter<float> writer(parse("map=[\nsectionType=labelMapping\nlabelMappingFile=" + names +
                                     "\n]\ncolumns=[\nsectionType=categoryLabels\ndim=3\n]"));
    writer.SaveMinibatch(outputs, {});
    writer.Finish();

    const std::string text(MappedFile(path).Text());
    ASSERT_EQ(text.size(), 4u * 65536);
    const char* const section = text.data() + 2 * 65536;
    EXPECT_EQ(section[8], 4);  // a label mapping
    EXPECT_EQ(section[10], 2); // of strings
    EXPECT_EQ(section[12], 0); // of different sizes
    EXPECT_EQ(section[18], 6); // one for all records, variable sized
    EXPECT_EQ(section[32], 3);
    EXPECT_STREQ(section + 128, "map:Label Map");
    EXPECT_EQ(std::string(section + 320, 20), std::string("yes\0no\0perhaps not\0\0", 20));
    uint64_t positions[2] = {};
    std::memcpy(positions, text.data() + 65536 + 272, sizeof positions);
    EXPECT_THAT(positions, ElementsAre(2u * 65536, 3u * 65536));
    const char* const columns = text.data() + 3 * 65536;
    EXPECT_EQ(columns[8], 6);  // category labels
    EXPECT_EQ(columns[10], 1); // of numbers
    EXPECT_EQ(columns[12], 4);
    EXPECT_EQ(columns[16], 3);
    EXPECT_EQ(columns[32], 6);
    EXPECT_EQ(columns[40], 1);
    EXPECT_EQ(columns[42], 3);
    EXPECT_STREQ(columns + 128, "columns:Category Labels");
    float values[6] = {};
    std::memcpy(values, columns + 320, sizeof values);
    EXPECT_THAT(values, ElementsAre(0, 0, 1, 1, 0, 0));
    const auto reader = Open<float>(path);
    ASSERT_EQ(reader->Streams().size(), 1u);
    EXPECT_THAT(reader->Streams()[0].labelNames, ElementsAre("yes", "no", "perhaps not"));

    const auto errorOf = [&](const std::string& inner)
    {
        return MessageOf(
            [&]
            {
                BinaryWriter<float> failing(parse(inner));
                failing.SaveMinibatch(outputs, {});
            });
    };
    EXPECT_THAT(errorOf("map=[\nsectionType=labelMapping\n]"),
                HasSubstr("'map' in section 'labels': sectionType=labelMapping needs labelMappingFile"));
    EXPECT_THAT(errorOf("map=[\nsectionType=labelMapping\nlabelMappingFile=" + Path("none") + "\n]"),
                HasSubstr("cannot open file '" + Path("none") + "'"));
    EXPECT_THAT(errorOf("labelType=regression\nmap=[\nsectionType=labelMapping\n]"),
                HasSubstr("expected one block with sectionType=labelMapping in a section of category labels"));
    Write("names.txt", "a\nb\nc\nd\n");
    EXPECT_THAT(errorOf("map=[\nsectionType=labelMapping\nlabelMappingFile=" + names + "\n]"),
                HasSubstr("names.txt' of section 'labels' has 4 labels, but the node has 3 rows"));
}

TEST_F(BinaryReaderTests, MalformedFiles)
{
    WriteExample<float>();
    const auto errorOf = [&](const std::string& path)
    {
        return MessageOf(
            [&]
            {
                auto reader = Open<float>(path);
                HostMinibatch<float> minibatch;
                reader->StartEpoch(MakeRequest(0, 10));
                reader->GetMinibatch(minibatch);
            });
    };
    using namespace std::string_literals;
    EXPECT_THAT(errorOf(Write("short.bin", "abc")),
                HasSubstr("expected a header of 320 bytes at byte 0, found the end"));
    EXPECT_THAT(errorOf(Changed(0, "\xD1\xBA")), HasSubstr("is incomplete: its writer did not finish it"));
    EXPECT_THAT(errorOf(Changed(0, "PK")), HasSubstr("expected the header of a binary data file at byte 0"));
    EXPECT_THAT(errorOf(Changed(65536, "PK")), HasSubstr("expected the header of a section at byte 65536"));
    EXPECT_THAT(errorOf(Changed(2, "\x01\x02")), HasSubstr("the header at byte 0 is of version 513, expected 256"));
    EXPECT_THAT(errorOf(Changed(65536 + 2, "\x02")), HasSubstr("the header at byte 65536 is of version 258"));
    EXPECT_THAT(errorOf(Changed(4, "\x3F")), HasSubstr("the header at byte 0 has 319 bytes, expected 320 to 639"));
    EXPECT_THAT(errorOf(Changed(4, "\x80\x02")), HasSubstr("the header at byte 0 has 640 bytes"));
    EXPECT_THAT(errorOf(Changed(6, "\x09")), HasSubstr("has 9 sections, expected at most 6"));
    EXPECT_THAT(errorOf(Changed(272, "\xFF\xFF\xFF")), HasSubstr("found the end of the file"));
    EXPECT_THAT(errorOf(Changed(65536 + 32, "\xFF\xFF\xFF")), HasSubstr("bytes, but the file has"));
    EXPECT_THAT(errorOf(Changed(65536 + 32, "\x04")), HasSubstr("they must agree"));
    EXPECT_THAT(errorOf(Changed(65536 + 12, "\x02")), HasSubstr("expected numbers of 4 or 8 bytes"));
    EXPECT_THAT(errorOf(Changed(2 * 65536 + 324, "\x03")), HasSubstr("record 1: class 3, expected one of 0 to 2"));
    EXPECT_THAT(errorOf(Path("none.bin")), HasSubstr("does not exist"));
    std::string none = std::string(MappedFile(Path("data.bin")).Text());
    none[65536 + 32] = none[2 * 65536 + 32] = 0;
    EXPECT_THAT(errorOf(Write("empty.bin", none)), HasSubstr("empty.bin': the sections have no records"));
    // Statistics that name themselves as their inner section.
    std::string loop = std::string(MappedFile(Path("data.bin")).Text());
    loop[65536 + 6] = 1;
    loop[65536 + 8] = 5;
    loop[65536 + 272 + 2] = 1;
    EXPECT_THAT(errorOf(Write("loop.bin", loop)),
                HasSubstr("the header at byte 65536 has a section at byte 65536, expected a position after it"));
}

TEST_F(BinaryReaderTests, NumbersThatAreNotFinite)
{
    WriteExample<float>();
    using namespace std::string_literals;
    auto reader = Open<double>(Changed(65536 + 320 + 3 * 4, "\x00\x00\xC0\x7F"s));
    ReadStream(*reader, MakeRequest(0, 10), 0);
    EXPECT_THAT(LogText(),
                HasSubstr("WARNING: '" + Path("changed.bin") +
                          "', section 'x:Data Section', record 1: element 1 of 'x' is nan; a NaN or infinite input"));
}

TEST_F(BinaryReaderTests, FullMinibatches)
{
    const std::string path = WriteExample<float>();
    m_config = ConfigParameters::Parse("reader=[\nminibatchMode=full\nfile=" + path + "\n]", "test.cntk");
    auto reader = MakeBinaryReader<float>({m_config->RequireBlock("reader"), m_log});
    const auto sizesOf = [&](const EpochRequest& request)
    {
        std::vector<size_t> sizes;
        ReadEpoch(*reader, request, &sizes);
        return sizes;
    };
    EXPECT_THAT(sizesOf(MakeRequest(0, 3)), ElementsAre(3, 3));
    EXPECT_THAT(sizesOf(MakeRequestOnce(3)), ElementsAre(3, 2));
}

TEST_F(BinaryReaderTests, NamesMustFitIntoTheHeader)
{
    const auto errorOf = [&](const std::string& name)
    {
        m_config = ConfigParameters::Parse("writer=[\nwfile=" + Path("a.bin") + "\n" + name + "=[\ndim=1\n]\n]");
        return MessageOf([&] { BinaryWriter<float> writer({m_config->RequireBlock("writer"), m_log}); });
    };
    EXPECT_EQ(errorOf(std::string(126, 'n')), "no error");
    EXPECT_THAT(errorOf(std::string(127, 'n')),
                HasSubstr("has a name of 127 bytes; a binary file can hold at most 126"));
}

TEST_F(BinaryReaderTests, WriterNeedsItsNodes)
{
    m_config = ConfigParameters::Parse("writer=[\nwfile=" + Path("a.bin") + "\n]\nother=[\nwfile=" + Path("a.bin") +
                                       "\ny=[\nsectionType=data\n]\n]");
    EXPECT_THAT(MessageOf(
                    [&] {
                        BinaryWriter<float> writer({m_config->RequireBlock("writer"), m_log});
                    }),
                HasSubstr("the writer has 0 sections, expected 1 to 5 blocks"));
    BinaryWriter<float> writer({m_config->RequireBlock("other"), m_log});
    EXPECT_THAT(MessageOf([&] { writer.SaveMinibatch({}, {}); }),
                HasSubstr("the command does not write a node of that name"));
}

} // namespace
} // namespace cntk
