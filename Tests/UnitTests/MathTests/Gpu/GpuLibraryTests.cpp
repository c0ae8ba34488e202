// Tests the messages for a driver or GPU library that is missing or does not fit.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "Math/Gpu/GpuLibrary.h"

#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

namespace fs = std::filesystem;

constexpr const char* c_driver = "libc.so.6"; // any existing library can stand for the driver

class GpuLibraryTests : public testing::Test
{
protected:
    void SetUp() override { fs::create_directories(m_folder); }
    void TearDown() override { fs::remove_all(m_folder); }

    // Copies a library to the place below tests/ where the program looks for the GPU library.
    void Install(const std::string& library)
    {
        const fs::path tests = fs::read_symlink("/proc/self/exe").parent_path();
        fs::copy_file(tests / (library + ".so"), m_library);
    }
    std::string MessageOf(DeviceId id, const std::string& driver = c_driver,
                          const std::string& library = "libcntkmath_gpu.so") const
    {
        return cntk::MessageOf(
            ErrorKind::Device,
            [&] {
                OpenGpu({id, GpuMatrixMath::Float}, {.folders = {m_folder}, .driver = driver, .library = library});
            });
    }

    // Each test has its own folder, because an opened library stays open under its name.
    const std::string m_folder =
        testing::TempDir() + "gpu." + testing::UnitTest::GetInstance()->current_test_info()->name();
    const std::string m_library = m_folder + "/libcntkmath_gpu.so";
};

TEST_F(GpuLibraryTests, NoDriver)
{
    EXPECT_EQ(
        MessageOf(1, "libabsentdriver.so.1"),
        "GPU 1 cannot be used: there is no NVIDIA driver (libabsentdriver.so.1 was not found); a driver of version "
        "580 or later is needed; deviceId=cpu runs on the CPU");
    EXPECT_EQ(MessageOf(c_bestGpu, "libabsentdriver.so.1"),
              "no GPU can be used: there is no NVIDIA driver (libabsentdriver.so.1 was not found); a driver of version "
              "580 or later is needed");
}

TEST_F(GpuLibraryTests, NoLibrary)
{
    // The real name would be found next to the tests.
    EXPECT_EQ(
        MessageOf(0, c_driver, "libabsentgpu.so"),
        "GPU 0 cannot be used: the GPU library libabsentgpu.so is in none of " + m_folder +
            ", the system's library folders; builds have it where CMake finds nvcc; deviceId=cpu runs on the CPU");
}

TEST_F(GpuLibraryTests, NoLibraryButAFile)
{
    std::ofstream(m_library) << "text";
    EXPECT_THAT(MessageOf(0),
                testing::StartsWith("GPU 0 cannot be used: the GPU library '" + m_library + "' cannot be opened: "));
}

TEST_F(GpuLibraryTests, AnotherLibrary)
{
    Install("plugins/EchoReader");
    EXPECT_EQ(MessageOf(0), "GPU 0 cannot be used: '" + m_library +
                                "' is no GPU library of this program: it does not export 'CntkGpuStamp'; deviceId=cpu "
                                "runs on the CPU");
}

TEST_F(GpuLibraryTests, ALibraryOfOtherSources)
{
    Install("gpu/OldGpu");
    EXPECT_EQ(MessageOf(0), "GPU 0 cannot be used: the GPU library '" + m_library +
                                "' was built from other sources (0123) than this program (" + GpuInterfaceStamp() +
                                "); build both together; deviceId=cpu runs on the CPU");
}

TEST_F(GpuLibraryTests, PassesOnTheMessageOfTheLibrary)
{
    Install("gpu/AbsentGpu");
    EXPECT_EQ(MessageOf(3), "GPU 3 is not there");
}

// The library of this build loads without a driver and reports that there is none.
TEST_F(GpuLibraryTests, TheLibraryReportsAMissingDriver)
{
    const fs::path library = fs::read_symlink("/proc/self/exe").parent_path() / "../lib/libcntkmath_gpu.so";
    if (!fs::exists(library))
        GTEST_SKIP() << "this build has no GPU library";
    if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr)
        GTEST_SKIP() << "there is a driver";
    fs::copy_file(library, m_library);
    EXPECT_EQ(MessageOf(0),
              "GPU 0 cannot be used: there is no NVIDIA driver; a driver of version 580 or later is needed; "
              "deviceId=cpu runs on the CPU");
}

} // namespace
} // namespace cntk
