// Tests minibatches of a following reader: by keys, by order, and with missing sequences.
#include "Common/Error.h"
#include "SGD/Minibatches/FollowingReader.h"
#include "SGD/Minibatches/MinibatchSource.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

// Sequence n holds n*10, n*10 + 1, ... Minibatches have two sequences, in buffers and a layout that are reused.
class TestReader final : public IDataReader<double>
{
public:
    struct Sequence
    {
        std::string key;
        size_t number;
        size_t length;
    };
    TestReader(std::vector<Sequence> sequences, bool sparse) : m_sequences(std::move(sequences))
    {
        StreamInfo stream;
        stream.name = "x";
        stream.rows = 1;
        stream.sparse = sparse;
        m_streams.push_back(stream);
    }
    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    void StartEpoch(const EpochRequest&) override { m_next = 0; }
    bool GetMinibatch(HostMinibatch<double>& minibatch) override
    {
        if (m_next == m_sequences.size())
            return false;
        const size_t count = std::min<size_t>(2, m_sequences.size() - m_next);
        size_t longest = 0;
        for (size_t row = 0; row < count; row++)
            longest = std::max(longest, m_sequences[m_next + row].length);
        m_layout->Init(count, longest);
        minibatch.sequenceKeys.clear();
        minibatch.streams.resize(1);
        StreamBatch<double>& batch = minibatch.streams[0];
        batch.rows = 1;
        batch.columns = count * longest;
        batch.sparse = m_streams[0].sparse;
        batch.layout = m_layout;
        batch.values.assign(batch.columns, -1);
        for (size_t row = 0; row < count; row++)
        {
            const Sequence& sequence = m_sequences[m_next + row];
            if (!sequence.key.empty())
                minibatch.sequenceKeys.push_back(sequence.key);
            m_layout->AddSequence(row, row, 0, ptrdiff_t(sequence.length));
            if (sequence.length < longest)
                m_layout->AddGap(row, ptrdiff_t(sequence.length), ptrdiff_t(longest));
            for (size_t step = 0; step < sequence.length; step++)
                batch.values[step * count + row] = double(sequence.number * 10 + step);
        }
        if (batch.sparse)
        {
            batch.rowIndices.assign(batch.columns, 0);
            batch.columnStarts.clear();
            for (size_t i = 0; i <= batch.columns; i++)
                batch.columnStarts.push_back(int32_t(i));
        }
        m_next += count;
        return true;
    }
    size_t TotalSamples() override { return 0; }
    std::vector<std::string> CreateLabelMaps() override { return {}; }

private:
    std::vector<Sequence> m_sequences;
    std::vector<StreamInfo> m_streams;
    MBLayoutPtr m_layout = std::make_shared<MBLayout>();
    size_t m_next = 0;
};

FollowingReader<double> Follow(std::vector<TestReader::Sequence> sequences, bool sparse = false)
{
    FollowingReader<double> reader(std::make_unique<TestReader>(std::move(sequences), sparse), "encoderReader",
                                   "decoderReader");
    reader.StartEpoch({});
    return reader;
}

MBLayout LayoutOf(const std::vector<size_t>& lengths)
{
    MBLayout layout;
    size_t longest = 0;
    for (const size_t length : lengths)
        longest = std::max(longest, length);
    layout.Init(lengths.size(), longest);
    for (size_t row = 0; row < lengths.size(); row++)
        layout.AddSequence(row, row, 0, ptrdiff_t(lengths[row]));
    return layout;
}

HostMinibatch<double> Get(FollowingReader<double>& reader, const MBLayout& layout, const std::vector<std::string>& keys)
{
    HostMinibatch<double> minibatch;
    reader.Follow({&layout, layout.Columns(), &keys});
    EXPECT_TRUE(reader.GetMinibatch(minibatch));
    return minibatch;
}

std::string ErrorOf(FollowingReader<double>& reader, const MBLayout& layout, const std::vector<std::string>& keys)
{
    try
    {
        Get(reader, layout, keys);
    }
    catch (const Error& error)
    {
        return error.Message();
    }
    return "";
}

const std::vector<TestReader::Sequence> c_named = {{"a", 1, 2}, {"b", 2, 1}, {"c", 3, 3}, {"d", 4, 2}};
const std::vector<TestReader::Sequence> c_nameless = {{"", 1, 2}, {"", 2, 1}, {"", 3, 3}, {"", 4, 2}};

TEST(FollowingReaderTest, SequencesOfTheSameKeys)
{
    FollowingReader<double> reader = Follow(c_named);
    const HostMinibatch<double> first = Get(reader, LayoutOf({5, 5, 1}), {"d", "a", "b"});
    const StreamBatch<double>& batch = first.streams[0];
    EXPECT_EQ(batch.values, (std::vector<double>{40, 10, 20, 41, 11, 0}));
    EXPECT_EQ(batch.layout->ParallelSequences(), 3u);
    EXPECT_TRUE(batch.layout->IsGap(2, 1));
    EXPECT_EQ(reader.DescribeUnmatched(), "sequence 'c' of encoderReader is missing in decoderReader");
    EXPECT_EQ(Get(reader, LayoutOf({1}), {"c"}).streams[0].values, (std::vector<double>{30, 31, 32}));
    EXPECT_EQ(reader.DescribeUnmatched(), "");
    EXPECT_EQ(ErrorOf(reader, LayoutOf({1}), {"e"}),
              "sequence 'e' of decoderReader is missing in encoderReader, which has 4 sequences");
    reader.StartEpoch({});
    EXPECT_EQ(Get(reader, LayoutOf({1}), {"b"}).streams[0].values, (std::vector<double>{20}));
}

TEST(FollowingReaderTest, AsManyAsComeNextWithoutKeys)
{
    FollowingReader<double> reader = Follow(c_nameless);
    EXPECT_EQ(Get(reader, LayoutOf({1, 1, 1}), {}).streams[0].values,
              (std::vector<double>{10, 20, 30, 11, 0, 31, 0, 0, 32}));
    EXPECT_EQ(reader.DescribeUnmatched(), "sequence 4 of encoderReader is missing in decoderReader");
    EXPECT_EQ(ErrorOf(reader, LayoutOf({1, 1}), {}),
              "sequence 5 of decoderReader is missing in encoderReader, which has only 4 sequences");
}

// Sequences that an epoch has not delivered are not part of the next epoch.
TEST(FollowingReaderTest, EachEpochRestarts)
{
    FollowingReader<double> reader = Follow(c_named), nameless = Follow(c_nameless);
    for (int epoch = 0; epoch < 2; epoch++)
    {
        EXPECT_EQ(Get(reader, LayoutOf({1, 1}), {"c", "a"}).streams[0].values,
                  (std::vector<double>{30, 10, 31, 11, 32, 0}));
        EXPECT_EQ(Get(nameless, LayoutOf({1}), {}).streams[0].values, (std::vector<double>{10, 11}));
        reader.StartEpoch({});
        nameless.StartEpoch({});
    }
    EXPECT_EQ(Get(nameless, LayoutOf({1, 1}), {}).streams[0].values, (std::vector<double>{10, 20, 11, 0}));
}

TEST(FollowingReaderTest, ACutSequenceIsRefused)
{
    FollowingReader<double> reader = Follow(c_named);
    MBLayout cut;
    cut.Init(1, 2);
    cut.AddSequence(0, 0, 0, 3);
    EXPECT_EQ(ErrorOf(reader, cut, {"a"}),
              "decoderReader cuts sequences into pieces; expected whole ones (truncated=false; LMSequenceReader cuts "
              "those longer than minibatchSize)");
}

// A minibatch that is skipped on the way to a resumed position also skips its sequences in the following reader.
TEST(FollowingReaderTest, SkippedWithTheMinibatchOfTheLeader)
{
    for (const bool skips : {false, true})
    {
        ComputationNetwork decoder(DataType::Float64, MakeCpuDevice({.threads = 1})),
            encoder(DataType::Float64, MakeCpuDevice({.threads = 1}));
        const ComputationNodePtr said = decoder.AddInput("x", {1}), read = encoder.AddInput("x", {1});
        decoder.Validate();
        encoder.Validate();
        MinibatchSource source(std::make_unique<TestReader>(c_nameless, false));
        source.BindTo({said});
        auto other = std::make_unique<MinibatchSource>(std::make_unique<TestReader>(c_nameless, false));
        source.AddCompanion(std::move(other), {read}, "encoderReader", "decoderReader");
        source.StartEpoch({});
        EXPECT_TRUE(skips ? source.Skip() : source.Next());
        EXPECT_TRUE(source.Next());
        Matrix values(0, 0, DataType::Float64, encoder.GetDevice());
        values.CopyFrom(read->Value());
        EXPECT_EQ(values.ToHost(), (std::vector<double>{30, 40, 31, 41, 32, 0})) << skips;
    }
}

TEST(FollowingReaderTest, SparseStreams)
{
    FollowingReader<double> reader = Follow(c_named, true);
    const HostMinibatch<double> minibatch = Get(reader, LayoutOf({1, 1}), {"b", "c"});
    EXPECT_EQ(minibatch.streams[0].values, (std::vector<double>{20, 30, 31, 32}));
    EXPECT_EQ(minibatch.streams[0].columnStarts, (std::vector<int32_t>{0, 1, 2, 2, 3, 3, 4}));
}

TEST(FollowingReaderTest, WhatCannotBeFollowedIsAnError)
{
    FollowingReader<double> reader = Follow(c_named);
    EXPECT_EQ(ErrorOf(reader, LayoutOf({1}), {}), "encoderReader names its sequences, but decoderReader does not; "
                                                  "expected readers that both do, or neither");
    FollowingReader<double> nameless = Follow(c_nameless);
    EXPECT_EQ(ErrorOf(nameless, LayoutOf({1}), {"a"}), "decoderReader names its sequences, but encoderReader does not; "
                                                       "expected readers that both do, or neither");
    MBLayout cut;
    cut.Init(1, 2);
    cut.AddSequence(0, 0, -1, 2);
    EXPECT_EQ(ErrorOf(reader, cut, {"a"}),
              "decoderReader cuts sequences into pieces; expected whole ones (truncated=false; LMSequenceReader cuts "
              "those longer than minibatchSize)");
    MBLayout gapsOnly;
    gapsOnly.Init(1, 2);
    gapsOnly.AddGap(0, 0, 2);
    EXPECT_EQ(ErrorOf(reader, gapsOnly, {}),
              "a minibatch of decoderReader has no sequence that encoderReader could follow");
    FollowingReader<double> twice = Follow({{"a", 1, 1}, {"a", 2, 1}});
    EXPECT_EQ(ErrorOf(twice, LayoutOf({1}), {"a"}), "encoderReader delivers sequence 'a' twice in an epoch");
}

} // namespace
} // namespace cntk
