// The worked example of Documentation/ReaderPlugins.md: a reader of one's own, all but the file of what its library
// exports. The page quotes this file.
#include "Common/Counted.h"
#include "Common/Text.h"
#include "Readers/ReaderLib/FrameReader.h"
#include "Readers/ReaderLib/LineIndex.h"
#include "Readers/ReaderLib/LineReader.h"
#include "Readers/ReaderLib/ReaderOptions.h"
#include "ReadersTests/SequenceTestTools.h"

namespace cntk
{

namespace
{

struct ColumnsOptions
{
    std::string file;
    size_t dim = 0;
    RandomizeWindow randomize;
    int traceLevel = 0;

    static OptionTable<ColumnsOptions> Options()
    {
        using S = ColumnsOptions;
        return {
            Opt("file", &S::file, "Required. Text of a record a line: dim numbers, then the target")
                .Required()
                .InputFile(),
            Opt("dim", &S::dim, "Required. Rows of the stream 'features'", Range{1}).Required(),
            Opt("randomize", &S::randomize,
                "Order of the records: shuffled over the epoch (auto), as they stand (none), or shuffled in blocks of "
                "that many"),
            Opt("traceLevel", &S::traceLevel, "Amount of printing: 2 shows progress marks"),
        };
    }
};

template <class ElemType>
class ColumnsSource final : public IRecordSource<ElemType>
{
public:
    ColumnsSource(const std::string& path, size_t dim) : m_lines(path), m_streams(2), m_dim(dim)
    {
        m_streams[0].name = "features";
        m_streams[0].rows = dim;
        m_streams[1].name = "target";
        m_streams[1].rows = 1;
        m_streams[1].isLabel = true;
    }

    size_t Extend(size_t wanted) override { return m_lines.Extend(wanted); }
    size_t Known() const override { return m_lines.Known(); }
    bool IsComplete() const override { return m_lines.IsComplete(); }
    size_t FileBytes() const override { return m_lines.FileBytes(); }
    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    std::vector<std::string> CreateLabelMaps() override { return {}; }

    void Parse(size_t first, size_t count, std::span<const RecordTarget<ElemType>> targets) override
    {
        for (size_t done = 0; done < count;)
        {
            const LineIndex::Piece piece = m_lines.Read(first + done, count - done);
            size_t at = 0;
            for (size_t i = 0; i < piece.records; i++)
            {
                const std::string_view line = piece.text.substr(at, piece.text.find('\n', at) - at);
                ParseLine(line, piece.offset + at, done + i, targets);
                at = SkipBlankLines(piece.text, NextLine(piece.text, at));
            }
            done += piece.records;
        }
    }

private:
    void ParseLine(std::string_view line, size_t offset, size_t record, std::span<const RecordTarget<ElemType>> targets)
    {
        SplitTokens(line, m_tokens);
        if (m_tokens.size() != m_dim + 1)
            Fail(ErrorKind::Data, m_lines.Path(), ":", m_lines.LineNumber(offset), ": expected ",
                 Counted(m_dim + 1, "number"), ", found ", m_tokens.size());
        for (size_t column = 0; column <= m_dim; column++)
        {
            const bool isFeature = column < m_dim;
            ElemType* const values = targets[isFeature ? 0 : 1].values;
            if (values == nullptr) // nobody wants the stream
                continue;
            const std::string_view token = m_tokens[column];
            const auto number = ParseDouble(token);
            if (!number)
                Fail(ErrorKind::Data, m_lines.Path(), ":", m_lines.LineNumber(offset), ":",
                     token.data() - line.data() + 1, ": expected a number, found '", token, "'");
            values[isFeature ? record * m_dim + column : record] = ElemType(*number);
        }
    }

    LineIndex m_lines;
    std::vector<StreamInfo> m_streams;
    size_t m_dim;
    std::vector<std::string_view> m_tokens; // of the line at hand
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeColumnsReader(const ReaderContext& context)
{
    const auto options = ReadReaderOptions<ColumnsOptions>(context);
    auto source = WithPosition(
        context.config.WhereOf("file"),
        [&] { return std::make_unique<ColumnsSource<ElemType>>(ResolveInputPath(options.file), options.dim); });
    FrameReaderOptions frames;
    frames.readerName = "ColumnsReader";
    frames.walk.range = options.randomize.range;
    frames.hasFreeCores = context.hasFreeCores;
    frames.traceLevel = options.traceLevel;
    return std::make_unique<FrameReader<ElemType>>(std::move(source), frames, context.log);
}

class AddingAReaderTests : public ReaderTest
{
protected:
    std::unique_ptr<IDataReader<float>> Open(const std::string& text, const std::string& parameters)
    {
        m_config = ConfigParameters::Parse(
            OnLines("reader=[ file=" + Write("data.txt", text) + " " + parameters + "\n]"), "t.cntk");
        return MakeColumnsReader<float>({m_config->RequireBlock("reader"), m_log});
    }
    std::string Failure(const std::string& text, const std::string& parameters)
    {
        const std::string message = MessageOf([&] { ReadStream(*Open(text, parameters), MakeRequest(0, 10), 0); });
        return message.starts_with("data: " + Path("")) ? "data: " + message.substr(6 + Path("").size()) : message;
    }
};

TEST_F(AddingAReaderTests, RecordsComeAsTheyStand)
{
    const auto reader = Open("1 2 3\n\n4 5 6\n7 8 9", "dim=2 randomize=none");
    EXPECT_EQ(reader->TotalSamples(), 3u);
    EXPECT_THAT(ReadStream(*reader, MakeRequest(0, 2), 0), testing::ElementsAre("frames 2; 1 2; 4 5", "frames 1; 7 8"));
    EXPECT_THAT(ReadStream(*reader, MakeRequest(1, 2, 2), 1), testing::ElementsAre("frames 1; 9", "frames 1; 3"));
}

TEST_F(AddingAReaderTests, SaysWhatIsWrong)
{
    EXPECT_EQ(Failure("1 2 3\n4 5\n", "dim=2 randomize=none"), "data: data.txt:2: expected 3 numbers, found 2");
    EXPECT_EQ(Failure("1 2 3\n4 x5 6\n", "dim=2 randomize=none"), "data: data.txt:2:3: expected a number, found 'x5'");
    EXPECT_EQ(Failure("1 2 3\n", ""), "config: required parameter missing: t.cntk:reader:dim");
}

TEST_F(AddingAReaderTests, StreamsThatNobodyWantsAreNotChecked)
{
    EpochRequest request = MakeRequest(0, 10);
    request.wanted = {"features"};
    EXPECT_THAT(ReadStream(*Open("1 2 x\n", "dim=2"), request, 0), testing::ElementsAre("frames 1; 1 2"));
}

} // namespace

} // namespace cntk
