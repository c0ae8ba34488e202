// Readers allocate nothing for a minibatch once their buffers have grown, with and without cache and prefetch thread.
#include "AllocationCounter.h"
#include "Readers/CNTKTextFormatReader/CtfReader.h"
#include "Readers/LMSequenceReader/LmReader.h"
#include "Readers/SparsePCReader/SparsePcReader.h"
#include "Readers/UCIFastReader/UciReader.h"
#include "ReadersTests/BinaryTestTools.h"
#include "ReadersTests/ReaderTestTools.h"

namespace cntk
{
namespace
{

class ReaderAllocationTests : public ReaderTest
{
};

TEST_F(ReaderAllocationTests, NonePerMinibatch)
{
    std::string text;
    for (size_t i = 0; i < 4000; ++i)
        text += std::to_string(i) + " 0.5 a longer label " + char('a' + i % 3) + "\n";
    Write("data.txt", text);
    Write("map.txt", "a\nb\nc\n");
    for (const char* how : {"prefetch=false", "prefetch=true", "prefetch=false\ncacheMB=0", "prefetch=true\ncacheMB=0"})
    {
        m_config = ConfigParameters::Parse(
            "file=" + Path("data.txt") + "\n" + how +
            "\nfeatures=[dim=2]\nlabels=[dim=1\nstart=5\nlabelMappingFile=" + Path("map.txt") + "]");
        auto reader = MakeUciReader<float>(ReaderContext{*m_config, m_log});
        HostMinibatch<float> minibatch;
        EpochRequest request;
        request.minibatchSize = 16;
        request.wanted = {"features", "labels"};
        for (; request.epoch < 2; ++request.epoch)
        {
            reader->StartEpoch(request);
            while (reader->GetMinibatch(minibatch))
                ;
        }
        reader->StartEpoch(request);
        for (size_t i = 0; i < 5; ++i) // the order of the epoch and its log lines
            reader->GetMinibatch(minibatch);
        const size_t before = s_allocations;
        for (size_t i = 0; i < 200; ++i)
            reader->GetMinibatch(minibatch);
        EXPECT_EQ(s_allocations - before, 0u) << how;
    }
}

// Counts the allocations of 100 minibatches, after one round through all of them.
size_t CountAllocations(IDataReader<float>& reader, size_t minibatchSize)
{
    HostMinibatch<float> minibatch;
    EpochRequest request;
    request.minibatchSize = minibatchSize;
    request.wanted = {"features", "labels"};
    for (size_t round = 0; round < 4; ++round) // buffers take turns
    {
        reader.StartEpoch(request);
        while (reader.GetMinibatch(minibatch))
            ;
    }
    reader.StartEpoch(request);
    for (size_t i = 0; i < 5; ++i)
        reader.GetMinibatch(minibatch);
    const size_t before = s_allocations;
    for (size_t i = 0; i < 100; ++i)
        reader.GetMinibatch(minibatch);
    return s_allocations - before;
}

TEST_F(ReaderAllocationTests, NonePerMinibatchOfSequences)
{
    std::string rows, words;
    for (size_t i = 0; i < 4000; ++i)
    {
        rows += std::to_string(i / 3) + "|features 0.5 1|labels " + std::to_string(i % 3) + ":1\n";
        words += i % 2 == 0 ? "a b b a\n" : "a c c c a\n";
    }
    Write("data.txt", rows);
    Write("text.txt", words);
    Write("vocab.txt", "0 1 a 0\n1 1 b 0\n2 1 c 1\n");
    for (const char* how : {"randomize=none", "randomize=none\nprefetch=false"})
    {
        m_config = ConfigParameters::Parse("file=" + Path("data.txt") + "\n" + how +
                                           "\ninput=[\nfeatures=[\ndim=2\nformat=dense\n]\nlabels=[\ndim=3\n" +
                                           "format=sparse\n]\n]");
        auto reader = MakeCtfReader<float>(ReaderContext{*m_config, m_log});
        EXPECT_EQ(CountAllocations(*reader, 12), 0u) << how;
    }
    for (const char* how : {"prefetch=true", "prefetch=false"})
    {
        m_config = ConfigParameters::Parse("file=" + Path("text.txt") + "\n" + how +
                                           "\nnbruttsineachrecurrentiter=4\nwordclass=" + Path("vocab.txt") +
                                           "\nunk=a\nlabelIn=[\nlabelDim=3\n]");
        auto reader = MakeLmReader<float>(ReaderContext{*m_config, m_log});
        EXPECT_EQ(CountAllocations(*reader, 2), 0u) << how;
    }
}

TEST_F(ReaderAllocationTests, NonePerMinibatchOfSparseRecords)
{
    std::string records;
    for (int i = 0; i < 20000; ++i)
        records += SparseBytes<float>({{i % 50, 1}, {i % 7, 2}}) + SparseBytes<float>({{9, 3}}) + Bytes(float(i));
    Write("data.bin", records);
    const std::string parameters = "file=" + Path("data.bin") + "\nfeatures=[\ndim=50\n]\nmore=[\ndim=10\n]";
    for (const char* how : {"", "\nreturnDense=true", "\nmaxReadData=300000"})
    {
        m_config = ConfigParameters::Parse(parameters + "\nlabels=[\nlabelDim=1\n]" + how);
        auto reader = MakeSparsePcReader<float>(ReaderContext{*m_config, m_log});
        EXPECT_EQ(CountAllocations(*reader, 32), 0u) << how;
    }
}

} // namespace
} // namespace cntk
