// Tests the choice of deviceId=auto among several GPUs, and its report. The emulated GPU library lies next to the
// tests.
#include "Common/Error.h"
#include "Math/Gpu/GpuChoice.h"

#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

namespace fs = std::filesystem;

class ChooseGpuTests : public testing::Test
{
protected:
    void SetUp() override
    {
        const fs::path tests = fs::read_symlink("/proc/self/exe").parent_path();
        m_search.folders = {(tests / "emulated").string()};
        m_search.driver = (tests / "emulated/libcuda.so.1").string();
        m_search.management = (tests / "emulated/management/libnvidia-ml.so.1").string();
        m_search.lockFolder = m_folder;
        fs::create_directories(m_folder);
    }
    void TearDown() override
    {
        unsetenv("CNTK_EMULATED_GPUS");
        unsetenv("CNTK_EMULATED_DRIVER");
        fs::remove_all(m_folder);
    }

    GpuChoice Choose(const char* gpus, const GpuOptions& options = {})
    {
        setenv("CNTK_EMULATED_GPUS", gpus, 1);
        return ChooseGpu(options, m_search);
    }

    const std::string m_folder =
        testing::TempDir() + "choice." + testing::UnitTest::GetInstance()->current_test_info()->name();
    GpuSearch m_search;
};

constexpr const char* c_tail =
    ", compute capability 9.0; driver for CUDA 13.0; products: emulated; convolutions: cuDNN 9.0)";

TEST_F(ChooseGpuTests, TheOnlyOneIsTaken)
{
    const GpuChoice choice = Choose("name=Card");
    ASSERT_NE(choice.device, nullptr);
    EXPECT_EQ(choice.report, std::string("GPU 0 (Card, 1024 MiB") + c_tail + ": 0 % busy, 1024 of 1024 MiB free");
}

TEST_F(ChooseGpuTests, TheLeastBusyIsTaken)
{
    const GpuChoice choice = Choose("name=A,busy=70;name=B,busy=4,used=100;name=C,used=900");
    ASSERT_NE(choice.device, nullptr);
    EXPECT_EQ(choice.device->Id(), 1);
    EXPECT_EQ(choice.report, std::string("GPU 1 (B, 1024 MiB") + c_tail + ": 4 % busy, 924 of 1024 MiB free");
}

TEST_F(ChooseGpuTests, FreeMemoryAndIdleTimeCountAlike)
{
    const auto chosen = [&](const char* gpus) { return Choose(gpus).device->Id(); };
    EXPECT_EQ(chosen("used=900;used=100"), 1);
    EXPECT_EQ(chosen("busy=90;busy=0,used=200"), 1);
    EXPECT_EQ(chosen("busy=30;busy=0,used=1000"), 0);
    EXPECT_EQ(chosen("busy=2,used=20;busy=0,used=0"), 0) << "small differences do not count";
}

TEST_F(ChooseGpuTests, WithoutTheManagementLibraryTheFirstIsTaken)
{
    m_search.management = "libabsentmanagement.so.1";
    const GpuChoice choice = Choose("name=A,used=500;name=B,used=100");
    ASSERT_NE(choice.device, nullptr);
    EXPECT_EQ(choice.report, std::string("GPU 0 (A, 1024 MiB") + c_tail);
}

TEST_F(ChooseGpuTests, SkipsOthersWithTheirReasons)
{
    const GpuOptions options{.excluded = {1}};
    const GpuChoice choice =
        Choose("name=Old,capability=61;name=Mine;name=Wrong,fault=MomentumUpdate;name=Good,busy=50", options);
    ASSERT_NE(choice.device, nullptr);
    EXPECT_EQ(choice.device->Id(), 3);
    EXPECT_THAT(choice.report, testing::HasSubstr("50 % busy, 1024 of 1024 MiB free; not "));
    EXPECT_THAT(choice.report, testing::HasSubstr("GPU 2 (Wrong): its self-check failed: the update of float gives "));
    EXPECT_THAT(choice.report,
                testing::HasSubstr("GPU 0 (Old): Old has compute capability 6.1; 7.5 or later is needed"));
    EXPECT_THAT(choice.report, testing::HasSubstr("GPU 1 (Mine): excludedDevices names it"));
    EXPECT_EQ(choice.report.find('\n'), std::string::npos);
}

TEST_F(ChooseGpuTests, NoneThatCanBeUsed)
{
    const GpuChoice choice = Choose("name=Old,capability=70;name=Wrong,fault=Multiply");
    EXPECT_EQ(choice.device, nullptr);
    EXPECT_THAT(choice.report, testing::StartsWith("no GPU can be used: "));
    EXPECT_THAT(choice.report, testing::HasSubstr("GPU 1 (Wrong): its self-check failed: the product of float gives "));
    EXPECT_THAT(choice.report, testing::HasSubstr("GPU 0 (Old): Old has compute capability 7.0"));
}

TEST_F(ChooseGpuTests, WithoutItsCheckAGpuIsTakenAsItIs)
{
    EXPECT_NE(Choose("name=Wrong,fault=Multiply", {.isChecked = false}).device, nullptr);
}

TEST_F(ChooseGpuTests, PassesOnTheMessageOfTheDriver)
{
    unsetenv("CUDA_VISIBLE_DEVICES");
    EXPECT_EQ(Choose("none").report,
              "no GPU can be used: the NVIDIA driver finds no GPU (no CUDA-capable device is detected)");
    setenv("CNTK_EMULATED_DRIVER", "12040", 1);
    EXPECT_EQ(Choose("name=A").report,
              "no GPU can be used: the NVIDIA driver is too old: it runs CUDA 12.4, this program needs CUDA 13.0, a "
              "driver of version 580 or later");
    m_search.driver = "libabsentdriver.so.1";
    EXPECT_EQ(Choose("name=A").report, "no GPU can be used: there is no NVIDIA driver (libabsentdriver.so.1 was not "
                                       "found); a driver of version 580 or later is needed");
}

TEST_F(ChooseGpuTests, AGpuIsForOneRunAlone)
{
    std::optional<GpuChoice> first = Choose("name=A;name=B");
    ASSERT_NE(first->device, nullptr);
    EXPECT_EQ(first->device->Id(), 0);
    const GpuChoice second = Choose("name=A;name=B");
    ASSERT_NE(second.device, nullptr);
    EXPECT_EQ(second.device->Id(), 1);
    EXPECT_THAT(second.report, testing::EndsWith("; not GPU 0 (A): another run has locked it"));
    EXPECT_EQ(Choose("name=A;name=B").report,
              "no GPU can be used: GPU 0 (A): another run has locked it; GPU 1 (B): another run has locked it");
    // lockGPU=false ignores locks.
    EXPECT_NE(Choose("name=A;name=B", {.isLocked = false}).device, nullptr);
    first.reset();
    EXPECT_EQ(Choose("name=A;name=B").device->Id(), 0);
    m_search.lockFolder += "/absent"; // no lock is possible, so none excludes a card
    const GpuChoice third = Choose("name=A");
    EXPECT_NE(third.device, nullptr);
    EXPECT_NE(Choose("name=A").device, nullptr);
}

TEST_F(ChooseGpuTests, AGpuByItsNumberIsCheckedToo)
{
    setenv("CNTK_EMULATED_GPUS", "name=A,fault=a reduction", 1);
    try
    {
        OpenCheckedGpu(0, {}, m_search);
        FAIL() << "no error";
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Kind(), ErrorKind::Device);
        EXPECT_THAT(error.Message(), testing::StartsWith("GPU 0 cannot be used: its self-check failed: "
                                                         "the reduction of float gives "));
        EXPECT_THAT(error.Message(),
                    testing::EndsWith(std::string("; GPU 0 (A, 1024 MiB") + c_tail +
                                      "; deviceId=cpu runs on the CPU, gpuSelfCheck=false uses the GPU all the same"));
    }
    EXPECT_NE(OpenCheckedGpu(0, {.isChecked = false}, m_search), nullptr);
}

} // namespace
} // namespace cntk
