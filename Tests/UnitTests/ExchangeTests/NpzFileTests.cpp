// npz files of a small network: written, read back, and read after random damage.
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "Exchange/NpzFile.h"
#include "Exchange/ZipArchive.h"
#include "Math/Cpu/CpuDevice.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

namespace cntk
{

namespace
{

class NpzFileTest : public ::testing::Test
{
protected:
    void SetUp() override
    {
        try
        {
            RequireZipArchives();
        }
        catch (const Error& error)
        {
            GTEST_SKIP() << error.Message();
        }
        m_network.AddParameter("W", TensorShape{2, 3});
        m_network.AddParameter("b", TensorShape{2, 1});
        Set("W", {1, 2, 3, 4, 5, 6});
        Set("b", {-1, 0.5});
        WriteNpz(SelectValues(m_network, {"*"}, m_log), DataType::Float64, Path());
    }
    void TearDown() override { std::filesystem::remove(Path()); }

    std::string Path() const
    {
        return (std::filesystem::temp_directory_path() / "cntk-npz-test.npz").string() + std::to_string(getpid());
    }
    Matrix& Values(const std::string& name)
    {
        return As<LearnableParameterNode>(m_network.Require(name).get())->Values();
    }
    void Set(const std::string& name, const std::vector<double>& values) { Values(name).FromHost(values); }

    ComputationNetwork m_network{DataType::Float64, MakeCpuDevice()};
    Log m_log;
};

} // namespace

TEST_F(NpzFileTest, ValuesComeBack)
{
    Set("W", {0, 0, 0, 0, 0, 0});
    const ImportCounts counts = ReadNpz(m_network, Path(), {.requireAll = true});
    EXPECT_EQ(counts.parameters, 2u);
    EXPECT_EQ(counts.numbers, 8u);
    EXPECT_EQ(Values("W").ToHost(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

// A damaged file is read or refused with an error of the data. It never crashes the reader, and sanitizers find
// nothing.
TEST_F(NpzFileTest, DamagedFilesAreReadOrRefused)
{
    const std::string good = ReadTextFile(Path());
    std::mt19937 random(1);
    size_t refused = 0;
    constexpr size_t c_files = 400;
    for (size_t file = 0; file < c_files; ++file)
    {
        std::string bad = good;
        const size_t changes = 1 + random() % 3;
        for (size_t i = 0; i < changes; ++i)
            bad[random() % bad.size()] = char(random() % 4 == 0 ? 0xFF : random());
        if (random() % 8 == 0)
            bad.resize(random() % bad.size());
        std::ofstream(Path(), std::ios::binary) << bad;
        try
        {
            ReadNpz(m_network, Path(), {.allowNonFinite = true});
        }
        catch (const Error& error)
        {
            EXPECT_EQ(error.Kind(), ErrorKind::Data) << error.Message();
            ++refused;
        }
    }
    EXPECT_GT(refused, c_files / 2);
}

} // namespace cntk
