// Recorded orders of CNTK v1.1: utterances of the first sweep over 948 utterances, and the labels of minibatches.
#include "HtkTestTools.h"
#include "Readers/HTKMLFReader/HtkShuffle.h"
#include "Readers/ReaderLib/RecordWalk.h"

#include <sstream>

namespace cntk
{
namespace
{

class HtkShuffleTests : public HtkTest
{
protected:
    // Keys, lengths and labels of the corpus, without features.
    bool LoadAn4()
    {
        const std::string folder = Shared("data/an4/");
        if (!FileExists(folder + "glob_0000.scp"))
            return false;
        m_scp = ReadScpFile(folder + "glob_0000.scp", "");
        UtteranceKeys keys;
        size_t firstFrame = 0;
        for (size_t i = 0; i < m_scp.entries.size(); ++i)
        {
            const size_t frames = m_scp.entries[i].last - m_scp.entries[i].first + 1;
            keys.Add(m_scp.entries[i].key, i);
            if (m_chunks.empty() || m_chunks.back().frames > 90000)
            {
                m_chunks.push_back({i, 0, 0});
                firstFrame = 0;
            }
            m_firstFrames.push_back(firstFrame);
            ++m_chunks.back().utterances;
            m_chunks.back().frames += frames;
            firstFrame += frames;
        }
        LabelTable table(m_scp.entries.size());
        Log log;
        table.ReadMlf(folder + "glob_0000.mlf", keys, StateList::FromFile(folder + "state.list"), 132, log);
        for (const HtkChunk& chunk : m_chunks)
        {
            std::vector<uint32_t>& labels = m_labels.emplace_back(chunk.frames);
            for (size_t i = 0; i < chunk.utterances; ++i)
                table.Expand(chunk.firstUtterance + i, labels.data() + m_firstFrames[chunk.firstUtterance + i]);
            m_allLabels.insert(m_allLabels.end(), labels.begin(), labels.end());
        }
        return true;
    }

    template <class Random>
    void CheckUtterances(const std::string& file)
    {
        const auto placed = PlaceChunks<Random>(m_chunks, SIZE_MAX >> 2, 0);
        const auto order = PlaceUtterances<Random>(m_chunks, placed, SIZE_MAX >> 2, 0);
        std::istringstream expected(ReadTextFile(Shared("data/an4/expected/" + file)));
        std::string key;
        size_t frames = 0;
        for (const PlacedUtterance& utterance : order)
        {
            const size_t index = m_chunks[placed[utterance.place].chunk].firstUtterance + utterance.utterance;
            ASSERT_TRUE(expected >> key >> frames);
            ASSERT_EQ(m_scp.entries[index].key, key);
            ASSERT_EQ(m_scp.entries[index].last - m_scp.entries[index].first + 1, frames);
        }
        EXPECT_FALSE(expected >> key);
    }

    ScpFile m_scp;
    std::vector<HtkChunk> m_chunks;
    std::vector<size_t> m_firstFrames;
    std::vector<std::vector<uint32_t>> m_labels; // by chunk
    std::vector<uint32_t> m_allLabels;
};

TEST_F(HtkShuffleTests, UtterancesAsRecorded)
{
    if (!LoadAn4())
        GTEST_SKIP() << "no shared data";
    EXPECT_EQ(m_chunks.size(), 3u);
    EXPECT_EQ(m_allLabels.size(), 252734u);
    CheckUtterances<GlibcRand>("sweep0_utterance_order_glibc_rand.txt");
    CheckUtterances<WindowsRand>("sweep0_utterance_order_msvc_rand.txt");
}

TEST_F(HtkShuffleTests, FramesAsRecorded)
{
    if (!LoadAn4())
        GTEST_SKIP() << "no shared data";
    std::istringstream expected(
        ReadTextFile(Shared("data/an4/expected/labels_blockRandomize_frameMode_mb250_epoch500x2.txt")));
    const auto placed = PlaceChunks<WindowsRand>(m_chunks, SIZE_MAX >> 2, 0);
    FrameShuffle<WindowsRand> shuffle(placed, SIZE_MAX >> 2, 0);
    shuffle.Reach(0);
    for (size_t i = 0; i < 1000; ++i)
    {
        uint32_t label = 0;
        ASSERT_TRUE(expected >> label);
        const PlacedFrame& frame = shuffle.At(i);
        ASSERT_EQ(m_labels[placed[frame.place].chunk][frame.frame], label) << i;
    }
}

TEST_F(HtkShuffleTests, RollingWindowAsRecorded)
{
    if (!LoadAn4())
        GTEST_SKIP() << "no shared data";
    std::istringstream expected(
        ReadTextFile(Shared("data/an4/expected/labels_rollingWindow_auto_mb250_epoch500x2.txt")));
    std::vector<uint32_t> order;
    ShuffleWithinWindow(order, m_allLabels.size(), HtkRandomize::c_auto, WindowsRand(0));
    for (size_t i = 0; i < 1000; ++i)
    {
        uint32_t label = 0;
        ASSERT_TRUE(expected >> label);
        ASSERT_EQ(m_allLabels[order[i]], label) << i;
    }
}

// With any window, the order is a permutation and nothing leaves its window.
TEST_F(HtkShuffleTests, WindowsHold)
{
    std::vector<HtkChunk> chunks;
    for (size_t i = 0; i < 12; ++i)
        chunks.push_back({i, 1, 50 + 7 * (i % 4)});
    for (const size_t range : {size_t(0), size_t(1), size_t(200), size_t(450), size_t(100000)})
    {
        const auto placed = PlaceChunks<GlibcRand>(chunks, range, 3);
        FrameShuffle<GlibcRand> shuffle(placed, range, 3);
        std::vector<std::vector<int>> seen(chunks.size());
        size_t moved = 0;
        for (size_t place = 0; place < placed.size(); ++place)
        {
            shuffle.Reach(place);
            for (size_t position = placed[place].begin; position < placed[place].end; ++position)
            {
                const PlacedFrame& frame = shuffle.At(position);
                EXPECT_TRUE(IsInWindow(placed[place], frame.place)) << range;
                seen[frame.place].resize(placed[frame.place].end - placed[frame.place].begin);
                ++seen[frame.place][frame.frame];
                moved += frame.place != place ? 1 : 0;
            }
        }
        for (const std::vector<int>& counts : seen)
            EXPECT_TRUE(std::all_of(counts.begin(), counts.end(), [](int count) { return count == 1; })) << range;
        EXPECT_EQ(moved > 0, range > 300) << range;
    }
}

} // namespace
} // namespace cntk
