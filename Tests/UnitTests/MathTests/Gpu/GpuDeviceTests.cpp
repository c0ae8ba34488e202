// Tests the choice of a GPU, the messages about unusable ones, and the memory of a device, with a scripted runtime.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "Math/Device.h"
#include "Math/Gpu/GpuContext.h"
#include "Math/Gpu/GpuDevice.h"
#include "Math/Matrix.h"
#include "Math/Operations.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

namespace cntk
{
namespace
{

struct TestGpu
{
    GpuProperties properties;
    size_t freeBytes = 0;
    const char* silence = nullptr; // error of asking for its properties; null: none
    const char* refusal = nullptr; // error of choosing it; null: none
};

class TestRuntime final : public EmulatedRuntime
{
public:
    TestRuntime(const GpuDriver& driver, const std::vector<TestGpu>& gpus) : m_driver(driver), m_gpus(gpus)
    {
        m_driver.devices = int(gpus.size());
    }

    GpuDriver Driver() override { return m_driver; }
    GpuProperties Properties(int device) override
    {
        if (const char* const why = m_gpus[size_t(device)].silence)
            Fail(ErrorKind::Device, why);
        return m_gpus[size_t(device)].properties;
    }
    void Use(int device) override
    {
        if (const char* const why = m_gpus[size_t(device)].refusal)
            Fail(ErrorKind::Device, why);
        m_used = device;
    }
    void MemoryInfo(size_t& freeBytes, size_t& totalBytes) override
    {
        freeBytes = m_gpus[size_t(m_used)].freeBytes;
        totalBytes = size_t(16) << 30;
    }

private:
    GpuDriver m_driver;
    std::vector<TestGpu> m_gpus;
    int m_used = 0;
};

const TestGpu c_old{{"Old", 6, 1, 10, {}, {}}, 9000};
const TestGpu c_busy{{"Busy", 8, 0, 10, {}, {}}, 1000};
const TestGpu c_idle{{"Idle", 8, 0, 10, {}, {}}, 5000};
constexpr int c_needed = 13000;

std::string MessageOf(DeviceId id, const GpuDriver& driver, const std::vector<TestGpu>& gpus,
                      const BlasMaker& makeBlas = MakeEmulatedBlas)
{
    return cntk::MessageOf(
        ErrorKind::Device,
        [&] {
            FindGpu({id, GpuMatrixMath::Float}, std::make_unique<TestRuntime>(driver, gpus), makeBlas);
        });
}

TEST(GpuDeviceTests, NoDriver)
{
    EXPECT_EQ(
        MessageOf(0, {0, c_needed, 0, "unknown"}, {}),
        "GPU 0 cannot be used: there is no NVIDIA driver; a driver of version 580 or later is needed; deviceId=cpu "
        "runs on the CPU");
}

TEST(GpuDeviceTests, ADriverThatIsTooOld)
{
    EXPECT_EQ(MessageOf(0, {12040, c_needed, 0, "insufficient driver"}, {c_idle}),
              "GPU 0 cannot be used: the NVIDIA driver is too old: it runs CUDA 12.4, this program needs CUDA 13.0, a "
              "driver of version 580 or later; deviceId=cpu runs on the CPU");
}

TEST(GpuDeviceTests, NoGpu)
{
    unsetenv("CUDA_VISIBLE_DEVICES");
    TestRuntime none({c_needed, c_needed, 0, "no CUDA-capable device is detected"}, {});
    try
    {
        ListGpus(none);
        FAIL() << "no error";
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Message(),
                  "no GPU can be used: the NVIDIA driver finds no GPU (no CUDA-capable device is detected)");
    }
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    EXPECT_EQ(MessageOf(0, {c_needed, c_needed, 0, "no CUDA-capable device is detected"}, {}),
              "GPU 0 cannot be used: the NVIDIA driver finds no GPU (no CUDA-capable device is detected); "
              "CUDA_VISIBLE_DEVICES is ''; deviceId=cpu runs on the CPU");
    unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(GpuDeviceTests, ANumberOutOfRange)
{
    const GpuDriver driver{c_needed, c_needed, 0, ""};
    EXPECT_EQ(MessageOf(1, driver, {c_idle}),
              "GPU 1 cannot be used: there is one: 0 (Idle); deviceId=cpu runs on the CPU");
    EXPECT_EQ(MessageOf(7, driver, {c_idle, c_busy}),
              "GPU 7 cannot be used: there are 2: 0 (Idle), 1 (Busy); deviceId=cpu runs on the CPU");
}

TEST(GpuDeviceTests, AGpuThatIsTooOld)
{
    const GpuDriver driver{c_needed, c_needed, 0, ""};
    EXPECT_EQ(MessageOf(0, driver, {c_old, c_idle}),
              "GPU 0 cannot be used: Old has compute capability 6.1; 7.5 or later is needed; deviceId=cpu runs on the "
              "CPU");
    TestRuntime runtime(driver, {c_old, c_idle});
    const std::vector<GpuFound> found = ListGpus(runtime);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].name, "Old");
    EXPECT_EQ(found[0].problem, "Old has compute capability 6.1; 7.5 or later is needed");
    EXPECT_EQ(found[1].id, 1);
    EXPECT_EQ(found[1].problem, "");
}

TEST(GpuDeviceTests, AGpuThatAnotherProcessHasAlone)
{
    TestGpu taken = c_idle;
    taken.refusal = "the GPU failed to be chosen: CUDA-capable device(s) is/are busy or unavailable (CUDA error 46)";
    EXPECT_EQ(MessageOf(0, {c_needed, c_needed, 0, ""}, {taken}),
              "GPU 0 cannot be used: the GPU failed to be chosen: CUDA-capable device(s) is/are busy or unavailable "
              "(CUDA error 46); deviceId=cpu runs on the CPU");
}

TEST(GpuDeviceTests, AGpuWithoutMemoryForTheBackendItself)
{
    try
    {
        MakeEmulatedGpu(std::make_unique<EmulatedRuntime>(EmulatedMemory::Locked, 512));
        FAIL() << "no error";
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Message(), "GPU 0 cannot be used: GPU 0 is out of memory: 32 bytes were asked for, 0 are free "
                                   "of 512, 512 are in use by this program; deviceId=cpu runs on the CPU");
    }
}

TEST(GpuDeviceTests, ABrokenGpuLeavesTheOthers)
{
    TestGpu broken = c_busy;
    broken.silence = "the GPU failed to report its properties: unknown error (CUDA error 999)";
    const GpuDriver driver{c_needed, c_needed, 0, ""};
    TestRuntime runtime(driver, {broken, c_idle});
    const std::vector<GpuFound> found = ListGpus(runtime);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].name, "unknown");
    EXPECT_EQ(found[0].problem, broken.silence);
    EXPECT_EQ(found[1].name, "Idle");
    EXPECT_EQ(found[1].problem, "");
    EXPECT_EQ(MessageOf(0, driver, {broken, c_idle}),
              std::string("GPU 0 cannot be used: ") + broken.silence + "; deviceId=cpu runs on the CPU");
    EXPECT_EQ(MessageOf(2, driver, {broken, c_idle}),
              "GPU 2 cannot be used: there are 2: 0 (unknown), 1 (Idle); deviceId=cpu runs on the CPU");
}

TEST(GpuDeviceTests, NoCuBlas)
{
    const BlasMaker fails = []() -> std::unique_ptr<GpuBlas>
    { Fail(ErrorKind::Device, "cuBLAS was not found (libcublas.so.13)"); };
    EXPECT_EQ(MessageOf(0, {c_needed, c_needed, 0, ""}, {c_idle}, fails),
              "GPU 0 cannot be used: cuBLAS was not found (libcublas.so.13); deviceId=cpu runs on the CPU");
}

TEST(GpuDeviceTests, AGpuDescribesItself)
{
    const GpuDriver driver{13010, c_needed, 0, ""};
    const auto device =
        FindGpu({2, GpuMatrixMath::Float}, std::make_unique<TestRuntime>(driver, std::vector{c_old, c_busy, c_idle}),
                MakeEmulatedBlas);
    EXPECT_EQ(device->Id(), 2);
    EXPECT_EQ(device->Describe(), "GPU 2 (Idle, 16384 MiB, compute capability 8.0; driver for CUDA 13.1; products: "
                                  "emulated; convolutions: own kernels)");
    EXPECT_FALSE(device->IsHostMemory());
}

// ---- memory ---------------------------------------------------------------------------------------------------------

TEST(GpuAllocatorTests, SizesAreRoundedByAnEighthAtMost)
{
    EXPECT_EQ(GpuAllocator::Rounded(0), 512u);
    EXPECT_EQ(GpuAllocator::Rounded(513), 1024u);
    for (size_t bytes = 1; bytes < 100000000; bytes = bytes * 5 / 4 + 1)
    {
        EXPECT_GE(GpuAllocator::Rounded(bytes), bytes);
        EXPECT_LE(GpuAllocator::Rounded(bytes), std::max<size_t>(bytes + bytes / 8 + 1, bytes + 512));
        EXPECT_EQ(GpuAllocator::Rounded(GpuAllocator::Rounded(bytes)), GpuAllocator::Rounded(bytes));
    }
}

TEST(GpuAllocatorTests, ReusesFreedMemory)
{
    EmulatedRuntime runtime;
    GpuAllocator memory(runtime, "GPU 0");
    void* const first = memory.Allocate(1000);
    void* const second = memory.Allocate(1000);
    EXPECT_NE(first, second);
    EXPECT_EQ(memory.UsedBytes(), 2048u);
    memory.Free(first);
    EXPECT_EQ(memory.KeptBytes(), 1024u);
    EXPECT_EQ(memory.Allocate(900), first);
    memory.Free(nullptr);
    memory.Free(first);
    memory.Free(second);
    memory.Trim();
    EXPECT_EQ(memory.KeptBytes(), 0u);
    EXPECT_EQ(memory.UsedBytes(), 0u);
}

TEST(GpuAllocatorTests, FreesCachedMemoryBeforeMemoryRunsOut)
{
    EmulatedRuntime runtime(EmulatedMemory::Locked, 1 << 20);
    GpuAllocator memory(runtime, "GPU 3");
    memory.Free(memory.Allocate(600 << 10));
    void* const large = memory.Allocate(900 << 10);
    EXPECT_EQ(memory.KeptBytes(), 0u);
    try
    {
        memory.Allocate(200 << 10);
        FAIL() << "no error";
    }
    catch (const OutOfMemory& error)
    {
        EXPECT_EQ(error.Message(), "GPU 3 is out of memory: 204800 bytes were asked for, 65536 are free of 1048576, "
                                   "983040 are in use by this program");
        EXPECT_EQ(error.FreeBytes(), 65536u);
        EXPECT_EQ(error.Kind(), ErrorKind::Device);
    }
    memory.Free(large);
}

TEST(GpuDeviceTests, LargeCopiesFromTheHostArriveWhole)
{
    const auto device = MakeEmulatedGpu();
    std::vector<double> values(GpuStaging::c_halfBytes / sizeof(double) * 5 / 2);
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = double(i);
    Matrix matrix(values.size(), 1, DataType::Float64, *device);
    matrix.FromHost(values);
    const std::vector<double> expected = values;
    std::fill(values.begin(), values.end(), 0.0);
    EXPECT_EQ(matrix.ToHost(), expected);
    EXPECT_EQ(matrix.Clone().ToHost(), expected);
}

} // namespace
} // namespace cntk
