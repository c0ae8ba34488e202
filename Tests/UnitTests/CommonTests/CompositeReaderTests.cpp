// Composite readers: streams of several parts, and parts that do not fit together.
#include "Common/CompositeReader.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "CommonTests/TemporaryFolder.h"
#include "CommonTests/ThrownErrors.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

// A reader of one stream with the values 0, 1, ... in minibatches of `size` until `total`.
class CountingReader final : public IDataReader<float>
{
public:
    CountingReader(std::string name, size_t total, size_t size) : m_streams(1), m_total(total), m_size(size)
    {
        m_streams[0].name = std::move(name);
        m_streams[0].rows = 1;
        m_layout = std::make_shared<MBLayout>();
    }
    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    void StartEpoch(const EpochRequest& request) override
    {
        m_next = 0;
        m_wanted = request.wanted;
    }
    bool GetMinibatch(HostMinibatch<float>& minibatch) override
    {
        if (m_next == m_total)
            return false;
        const size_t count = std::min(m_size, m_total - m_next);
        minibatch.streams.resize(1);
        StreamBatch<float>& batch = minibatch.streams[0];
        batch.rows = 1;
        batch.columns = count;
        batch.values.clear();
        minibatch.sequenceKeys.clear();
        for (size_t i = 0; i < count; ++i)
        {
            if (m_next < m_names.size())
                minibatch.sequenceKeys.push_back(m_names[m_next]);
            batch.values.push_back(float(m_next++));
        }
        m_layout->InitAsFrameMode(count);
        batch.layout = m_layout;
        if (m_givesLattices)
            minibatch.lattices.assign(1, std::make_shared<Lattice>());
        minibatch.secondsWaited = 1;
        return true;
    }
    bool HasLattices() const override { return m_givesLattices; }
    size_t TotalSamples() override { return m_total; }
    std::vector<std::string> CreateLabelMaps() override { return {m_streams[0].name + ".map"}; }

    std::vector<std::string> m_wanted;
    std::vector<std::string> m_names; // of the sequences, one sample each; none has a name where there are none
    bool m_givesLattices = false;

private:
    std::vector<StreamInfo> m_streams;
    size_t m_total;
    size_t m_size;
    size_t m_next = 0;
    MBLayoutPtr m_layout;
};

std::unique_ptr<CompositeReader<float>> Make(size_t totalA, size_t sizeA, size_t totalB, size_t sizeB)
{
    std::vector<CompositeReader<float>::Part> parts;
    parts.push_back({"a", std::make_unique<CountingReader>("features", totalA, sizeA)});
    parts.push_back({"b", std::make_unique<CountingReader>("labels", totalB, sizeB)});
    return std::make_unique<CompositeReader<float>>(std::move(parts));
}

std::string ReadAll(CompositeReader<float>& reader)
{
    HostMinibatch<float> minibatch;
    return MessageOf(ErrorKind::Data,
                     [&]
                     {
                         reader.StartEpoch({});
                         while (reader.GetMinibatch(minibatch))
                             ;
                     });
}

TEST(CompositeReaderTests, FillsTheStreamsOfAll)
{
    auto reader = Make(5, 2, 5, 2);
    ASSERT_EQ(reader->Streams().size(), 2u);
    EXPECT_EQ(reader->Streams()[1].name, "labels");
    EXPECT_EQ(reader->TotalSamples(), 5u);
    EXPECT_EQ(reader->CreateLabelMaps(), (std::vector<std::string>{"features.map", "labels.map"}));
    for (int epoch = 0; epoch < 2; ++epoch)
    {
        HostMinibatch<float> minibatch;
        reader->StartEpoch({});
        for (size_t first = 0; first < 5; first += 2)
        {
            ASSERT_TRUE(reader->GetMinibatch(minibatch));
            ASSERT_EQ(minibatch.streams.size(), 2u);
            for (const StreamBatch<float>& stream : minibatch.streams)
            {
                EXPECT_EQ(stream.values.front(), float(first));
                EXPECT_EQ(stream.layout, minibatch.streams[0].layout);
                EXPECT_EQ(stream.layout->ActualSamples(), stream.columns);
            }
            EXPECT_EQ(minibatch.secondsWaited, 2);
        }
        EXPECT_FALSE(reader->GetMinibatch(minibatch));
    }
}

TEST(CompositeReaderTests, AsksOnlyThoseThatHaveAWantedStream)
{
    auto reader = Make(4, 2, 3, 1); // would not fit
    EpochRequest request;
    request.wanted = {"Labels"};
    HostMinibatch<float> minibatch;
    reader->StartEpoch(request);
    ASSERT_TRUE(reader->GetMinibatch(minibatch));
    EXPECT_EQ(minibatch.streams[0].columns, 0u);
    EXPECT_EQ(minibatch.streams[1].columns, 1u);
    request.wanted = {"x"};
    EXPECT_EQ(MessageOf(ErrorKind::Config, [&] { reader->StartEpoch(request); }),
              "the network's inputs are x, but the readers' blocks are features, labels; a block needs the "
              "name of the input it fills");
}

TEST(CompositeReaderTests, LatticesAreWantedOfReadersWithoutAWantedStream)
{
    std::vector<CompositeReader<float>::Part> parts;
    parts.push_back({"a", std::make_unique<CountingReader>("features", 4, 2)});
    auto second = std::make_unique<CountingReader>("other", 4, 2);
    second->m_givesLattices = true;
    parts.push_back({"b", std::move(second)});
    CompositeReader<float> reader(std::move(parts));
    EXPECT_TRUE(reader.HasLattices());
    EpochRequest request;
    request.wanted = {"features"};
    for (const bool wanted : {false, true})
    {
        request.withLattices = wanted;
        HostMinibatch<float> minibatch;
        reader.StartEpoch(request);
        ASSERT_TRUE(reader.GetMinibatch(minibatch));
        EXPECT_EQ(minibatch.lattices.size(), wanted ? 1u : 0u);
    }
}

TEST(CompositeReaderTests, OneReaderHasTheLattices)
{
    std::vector<CompositeReader<float>::Part> parts;
    for (const char* name : {"a", "b"})
    {
        auto reader = std::make_unique<CountingReader>(name, 4, 2);
        reader->m_givesLattices = true;
        parts.push_back({name, std::move(reader)});
    }
    CompositeReader<float> reader(std::move(parts));
    EpochRequest request;
    reader.StartEpoch(request); // which the network does not take
    request.withLattices = true;
    EXPECT_EQ(MessageOf(ErrorKind::Config, [&] { reader.StartEpoch(request); }),
              "readers: 'a' and 'b' have lattices of the same sequences; expected them in one of these blocks");
}

TEST(CompositeReaderTests, ReadersMustFit)
{
    EXPECT_EQ(ReadAll(*Make(4, 2, 4, 2)), "no error");
    EXPECT_EQ(
        ReadAll(*Make(4, 2, 2, 2)),
        "readers: 'b' is at its end, 'a' has more data; in all, 'a' has 4 samples and 'b' has 2; expected as many");
    EXPECT_EQ(
        ReadAll(*Make(2, 2, 4, 2)),
        "readers: 'a' is at its end, 'b' has more data; in all, 'a' has 2 samples and 'b' has 4; expected as many");
    EXPECT_EQ(ReadAll(*Make(4, 2, 4, 1)),
              "readers: in one minibatch 'a' has 2 samples of 2 parallel sequences, 'b' has 1 of 1; "
              "they must agree; both have 4 samples in all, but they end minibatches at different places where an "
              "epoch or the data end; expected epochSize=0, or readers of one kind with the same parameters");
}

// Returns the warnings of two readers of three sequences in minibatches of two.
std::string WarningsOf(const std::vector<std::string>& a, const std::vector<std::string>& b,
                       const std::string& kindOfB = "k")
{
    const TemporaryFolder folder;
    Log log;
    log.RedirectTo(folder / "log.txt");
    std::vector<CompositeReader<float>::Part> parts;
    for (const auto& names : {a, b})
    {
        const std::string name = parts.empty() ? "a" : "b";
        auto reader = std::make_unique<CountingReader>(name + "s", 3, 2);
        reader->m_names = names;
        parts.push_back({name, std::move(reader), parts.empty() ? "k" : kindOfB});
    }
    CompositeReader<float> reader(std::move(parts), {}, &log);
    for (int epoch = 0; epoch < 2; ++epoch)
        EXPECT_EQ(ReadAll(reader), "no error");
    return ReadTextFile(folder / "log.txt");
}

TEST(CompositeReaderTests, SequencesOfOtherNamesAreWarnedOfOnce)
{
    EXPECT_EQ(WarningsOf({"x", "y", "z"}, {"x", "z", "y"}),
              "WARNING: readers: sequence 'z' of 'b' is paired with 'y' of 'a', because readers are joined by the "
              "position of their sequences; expected the same sequences in the same order\n");
    EXPECT_EQ(WarningsOf({"plp/x", "plp/y", "plp/z"}, {"mfcc/x", "mfcc/y", "z"}), "");
    EXPECT_EQ(WarningsOf({"x", "y", "z"}, {}), "") << "none has a name";
    EXPECT_EQ(WarningsOf({"x", "y", "z"}, {"1", "2", "3"}, "other"), "") << "another kind has names of its own";
}

TEST(CompositeReaderTests, NamesMustDiffer)
{
    std::vector<CompositeReader<float>::Part> parts;
    parts.push_back({"a", std::make_unique<CountingReader>("x", 1, 1)});
    parts.push_back({"b", std::make_unique<CountingReader>("X", 1, 1)});
    EXPECT_EQ(MessageOf(ErrorKind::Config, [&] { CompositeReader<float> reader(std::move(parts)); }),
              "readers: more than one of them has a block 'X'");
}

} // namespace
} // namespace cntk
