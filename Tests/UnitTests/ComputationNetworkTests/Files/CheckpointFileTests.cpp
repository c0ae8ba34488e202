// Checkpoints: round trips, the original's files, the older form, refusals on their full text.
#include "Common/Error.h"
#include "CommonTests/TemporaryFolder.h"
#include "ComputationNetwork/Files/CheckpointFile.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "Math/Device.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <unistd.h>

namespace cntk
{
namespace
{

namespace fs = std::filesystem;

class CheckpointFileTests : public ::testing::Test
{
protected:
    CheckpointFileTests()
        : m_folder(fs::temp_directory_path() / ("CheckpointFileTests." + std::to_string(::getpid()) + "." +
                                                ::testing::UnitTest::GetInstance()->current_test_info()->name())),
          m_path((m_folder / "m.ckp").string())
    {
        fs::create_directories(m_folder);
    }
    ~CheckpointFileTests() override { fs::remove_all(m_folder); }

    Matrix MakeMatrix(size_t rows, size_t columns, DataType type) const
    {
        Matrix matrix(rows, columns, type, *m_device);
        std::vector<double> values(rows * columns);
        for (size_t i = 0; i < values.size(); i++)
            values[i] = 0.1 * double(i) - 1;
        matrix.FromHost(std::span<const double>(values));
        return matrix;
    }
    void Save(DataType type) const
    {
        const Matrix a = MakeMatrix(3, 2, type);
        const Matrix b = MakeMatrix(2, 9, type);
        const Matrix* matrices[] = {&a, &b};
        SaveCheckpoint(m_path, m_info, matrices);
    }
    std::string LoadError() const
    {
        try
        {
            LoadCheckpoint(m_path, DataType::Float64, *m_device);
        }
        catch (const Error& error)
        {
            EXPECT_EQ(error.Kind(), ErrorKind::Model);
            std::string message = error.Message();
            if (const size_t at = message.find(m_path); at != std::string::npos)
                message.replace(at, m_path.size(), "m.ckp");
            return message;
        }
        return "no error";
    }

    std::shared_ptr<Device> m_device = MakeCpuDevice();
    fs::path m_folder;
    std::string m_path;
    CheckpointInfo m_info{1234, 0.1 + 0.2, 1.0 / 3, 25, {{"reader", std::string("a\0b", 3)}, {"seed", ""}}};
};

TEST_F(CheckpointFileTests, KeepsEveryBit)
{
    for (const DataType type : {DataType::Float32, DataType::Float64})
    {
        Save(type);
        const Checkpoint loaded = LoadCheckpoint(m_path, type, *m_device);
        EXPECT_EQ(loaded.info.samplesSeen, m_info.samplesSeen);
        EXPECT_EQ(loaded.info.learningRatePerSample, m_info.learningRatePerSample);
        EXPECT_EQ(loaded.info.previousCriterion, m_info.previousCriterion);
        EXPECT_EQ(loaded.info.minibatchSize, m_info.minibatchSize);
        EXPECT_EQ(loaded.info.extra, m_info.extra);
        ASSERT_EQ(loaded.smoothedGradients.size(), 2u);
        EXPECT_EQ(loaded.smoothedGradients[1].Columns(), 9u);
        EXPECT_EQ(loaded.smoothedGradients[1].ToHost(), MakeMatrix(2, 9, type).ToHost());
    }
}

TEST_F(CheckpointFileTests, OurSectionFollowsTheOriginalsEnd)
{
    Save(DataType::Float32);
    const std::string bytes = ReadBytes(m_path);
    ByteReader in(bytes, m_path, "checkpoint file");
    const std::u16string end = ToWide("ECKP");
    const size_t at = bytes.find(std::string(reinterpret_cast<const char*>(end.c_str()), 2 * (end.size() + 1)));
    ASSERT_NE(at, std::string::npos);
    in.Seek(at);
    EXPECT_TRUE(in.Mark("ECKP"));
    EXPECT_TRUE(in.Mark("BCNTKClassic"));
}

TEST_F(CheckpointFileTests, KeepsTheStateOfBlockMomentumBehindTheGradients)
{
    const Matrix model = MakeMatrix(3, 2, DataType::Float32), velocity = MakeMatrix(2, 5, DataType::Float32);
    const Matrix* const states[] = {&model};
    const BlockMomentumSection blocks{true, 7.5, 30, {{"W", &model}}, {{"W", &velocity}}};
    SaveCheckpoint(m_path, m_info, states, &blocks);
    const Checkpoint loaded = LoadCheckpoint(m_path, DataType::Float32, *m_device);
    EXPECT_EQ(loaded.smoothedGradients.size(), 1u);
    ASSERT_EQ(loaded.blockVelocities.size(), 1u);
    EXPECT_EQ(loaded.blockVelocities.at("W").ToHost(), velocity.ToHost());
    EXPECT_EQ(loaded.info.extra, m_info.extra);
    const std::string bytes = ReadBytes(m_path);
    const auto wide = [](const char* mark)
    {
        const std::u16string text = ToWide(mark);
        return std::string(reinterpret_cast<const char*>(text.c_str()), 2 * (text.size() + 1));
    };
    EXPECT_NE(bytes.find(wide("EGradient") + wide("BMACKP")), std::string::npos);
    EXPECT_NE(bytes.find(wide("EMACKP") + wide("ECKP")), std::string::npos);
}

TEST_F(CheckpointFileTests, ReadsTheOlderForms)
{
    for (const bool isFloat : {true, false})
    {
        {
            ByteWriter out(m_path);
            out.WideText("BCKP");
            out.WideText("BLearnRate");
            out.Write(uint64_t(77));
            if (isFloat)
            {
                out.Write(0.5f);
                out.Write(0.25f);
            }
            else
            {
                out.Write(0.5);
                out.Write(0.25);
            }
            out.WideText("ELearnRate");
            out.WideText("BGradient");
            out.WideText("EGradient");
            out.WideText("ECKP");
            out.Commit();
        }
        const Checkpoint loaded = LoadCheckpoint(m_path, DataType::Float32, *m_device);
        EXPECT_EQ(loaded.info.samplesSeen, 77u);
        EXPECT_EQ(loaded.info.learningRatePerSample, 0.5);
        EXPECT_EQ(loaded.info.previousCriterion, 0.25);
        EXPECT_EQ(loaded.info.minibatchSize, 0u);
        EXPECT_TRUE(loaded.info.extra.empty());
    }
}

TEST_F(CheckpointFileTests, RefusesOtherFiles)
{
    WriteBytes(m_path, "command=Train");
    EXPECT_EQ(LoadError(), "'m.ckp' is no checkpoint file: expected the mark 'BVersion' or 'BCKP' at byte 0, found the "
                           "bytes 63 6f 6d 6d 61 6e 64 3d");
    WriteBytes(m_path, "");
    EXPECT_EQ(LoadError(),
              "checkpoint file 'm.ckp' is damaged at byte 0: expected the mark 'BCKP', found the end of the file");
    {
        ByteWriter out(m_path);
        out.WideText("BCN");
        out.Commit();
    }
    EXPECT_EQ(LoadError(), "'m.ckp' is a model file, not a checkpoint; expected the '.ckp' file beside it");
    const auto errorOf = [&](uint64_t version)
    {
        ByteWriter out(m_path);
        out.WideText("BVersion");
        out.Write(version);
        out.WideText("EVersion");
        out.Commit();
        return LoadError();
    };
    EXPECT_EQ(errorOf(3),
              "'m.ckp' is a checkpoint of version 3, written by a later program; expected version 2 or older");
    EXPECT_EQ(errorOf(0), "checkpoint file 'm.ckp' is damaged at byte 18: expected a version (1 to 2), found 0");
}

TEST_F(CheckpointFileTests, RefusesARateThatIsNone)
{
    for (const double rate : {std::nan(""), -0.5, std::numeric_limits<double>::infinity()})
    {
        m_info.learningRatePerSample = rate;
        Save(DataType::Float64);
        const std::string found = std::isnan(rate) ? "nan" : rate < 0 ? "-0.5" : "inf";
        EXPECT_EQ(LoadError(), "checkpoint file 'm.ckp' is damaged at byte 84: expected the learning rate, a finite "
                               "number from 0, found " +
                                   found);
    }
}

TEST_F(CheckpointFileTests, EveryPrefixIsAnErrorUpToTheOriginalsEnd)
{
    Save(DataType::Float32);
    const std::string whole = ReadBytes(m_path);
    const std::u16string own = ToWide("BCNTKClassic");
    const size_t ownBegin = whole.find(std::string(reinterpret_cast<const char*>(own.c_str()), 2 * own.size()));
    for (size_t size = 0; size < whole.size(); size++)
    {
        // A file that ends before the mark of this program's section is complete is a valid file of CNTK v1.1.
        if (size >= ownBegin && size < ownBegin + 2 * (own.size() + 1))
            continue;
        WriteBytes(m_path, std::string_view(whole).substr(0, size));
        ASSERT_NE(LoadError(), "no error") << size << " bytes";
    }
}

TEST_F(CheckpointFileTests, ReadsTheOriginalsFiles)
{
    const char* shared = std::getenv("CNTK_TEST_SHARED");
    if (shared == nullptr || !fs::exists(fs::path(shared) / "golden"))
        GTEST_SKIP() << "CNTK_TEST_SHARED names no folder with golden cases";
    size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(shared) / "golden"))
    {
        if (entry.path().extension() != ".ckp")
            continue;
        SCOPED_TRACE(entry.path().string());
        const Checkpoint loaded = LoadCheckpoint(entry.path().string(), DataType::Float64, *m_device);
        EXPECT_GT(loaded.info.samplesSeen, 0u);
        EXPECT_GT(loaded.info.minibatchSize, 0u);
        EXPECT_GT(loaded.info.learningRatePerSample, 0);
        EXPECT_FALSE(loaded.smoothedGradients.empty());
        count++;
    }
    EXPECT_GE(count, 10u);
}

} // namespace
} // namespace cntk
