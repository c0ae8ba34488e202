// The device of each deviceId, and the errors for devices that do not exist.
#include "Common/Error.h"
#include "CommonTests/ThrownErrors.h"
#include "Math/Device.h"
#include "ReferenceBackend/ReferenceDevice.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

TEST(DeviceTests, TheCpuHasSeveralNames)
{
    for (const char* name : {"cpu", "CPU", "-1"})
        EXPECT_EQ(MakeDevice(name)->Id(), c_cpuDevice) << name;
}

// The reason is that no usable GPU exists.
TEST(DeviceTests, AutoLogsWhyItTakesTheCpu)
{
    for (const char* name : {"auto", "Auto"})
    {
        std::string report;
        const auto device = MakeDevice(name, {}, {.report = [&](const std::string& text) { report += text; }});
        EXPECT_EQ(device->Id(), c_cpuDevice);
        EXPECT_THAT(report, testing::AnyOf(testing::StartsWith("deviceId=auto takes the CPU: no GPU can be used: "),
                                           testing::StartsWith("deviceId=auto takes the CPU: the GPU backend has not "
                                                               "been proved on cards yet; deviceId=")));
        EXPECT_THAT(report, testing::Not(testing::HasSubstr("\n")));
    }
}

TEST(DeviceTests, DescribesItself)
{
    if (std::getenv("CNTK_TSAN_THREADS") == nullptr) // which replaces the number
    {
        EXPECT_THAT(MakeCpuDevice({.threads = 1})->Describe(), testing::StartsWith("CPU (1 thread, "));
    }
    EXPECT_EQ(MakeReferenceDevice()->Describe(), "Reference (1 thread)");
    EXPECT_TRUE(MakeCpuDevice()->IsHostMemory());
}

template <class Body>
void ExpectMessage(ErrorKind kind, const char* message, Body&& body)
{
    EXPECT_EQ(MessageOf(kind, body), message);
}

TEST(DeviceTests, UnknownDevicesAreErrors)
{
    for (const std::string id : {"gpu", "", "-2", "1.5", "4096"})
    {
        ExpectMessage(ErrorKind::Config,
                      ("deviceId is '" + id + "'; expected auto, cpu, -1 (CPU) or the number of a GPU").c_str(),
                      [&] { MakeDevice(id); });
    }
}

TEST(DeviceTests, CopiesOfNothingTakeNullPointers)
{
    const auto device = MakeCpuDevice({.threads = 1});
    EXPECT_NO_THROW(device->Copy(nullptr, nullptr, 0));
    EXPECT_NO_THROW(device->Zero(nullptr, 0));
    EXPECT_NO_THROW(device->Free(device->Allocate(0)));
}

} // namespace
} // namespace cntk
