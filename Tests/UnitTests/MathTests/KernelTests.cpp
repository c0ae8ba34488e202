// Runs each kernel case on several backends and compares the results: the CPU with each instruction set of the
// processor, the GPU (emulated, and real if there is one), and the reference backend.
#include "Common/Error.h"
#include "CudaEmulation/CuDnnEmulation.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "Math/Cpu/CpuDevice.h"
#include "MathTests/KernelCases.h"
#include "ReferenceBackend/ReferenceDevice.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <memory>
#include <ostream>
#include <string>

namespace cntk
{

// Prints a parameter; GoogleTest finds the function by its name.
void PrintTo(const KernelCase& kernelCase, std::ostream* stream)
{
    *stream << kernelCase.name;
}

namespace
{

struct Target
{
    const char* name;
    InstructionSet instructionSet;
    int threads;
};

constexpr Target c_targets[] = {
    {"Sse2", InstructionSet::Baseline, 1},
    {"Avx2", InstructionSet::Avx2, 1},
    {"Avx512", InstructionSet::Avx512, 1},
    {"BestWith3Threads", InstructionSet::Baseline, 3},
};

InstructionSet InstructionSetOf(const Target& target)
{
    return target.threads > 1 ? BestInstructionSet() : target.instructionSet;
}

// One device for all cases, because creating its work memory takes longer than most cases.
Device& DeviceOf(const Target& target)
{
    static std::map<std::string, std::shared_ptr<Device>> devices;
    std::shared_ptr<Device>& device = devices[target.name];
    if (!device)
        device = MakeCpuDeviceWith(InstructionSetOf(target), target.threads);
    return *device;
}

std::vector<KernelCase> AllCases()
{
    std::vector<KernelCase> all;
    for (std::vector<KernelCase>& cases : std::vector{ElementwiseCases(), MatrixCases(), SoftmaxCases(),
                                                      SampledProductsCases(), UpdateCases(), ImageCases()})
        std::move(cases.begin(), cases.end(), std::back_inserter(all));
    return all;
}

void Compare(const std::vector<double>& found, const std::vector<double>& expected, double relativeTolerance)
{
    ASSERT_EQ(found.size(), expected.size());
    double largest = 0;
    for (double value : expected)
        largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : largest;
    for (size_t i = 0; i < expected.size(); ++i)
    {
        const bool isSame = found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i]));
        if (!isSame)
        {
            ASSERT_NEAR(found[i], expected[i], relativeTolerance * largest) << "element " << i;
        }
    }
}

class KernelTests : public testing::TestWithParam<KernelCase>
{
};

double EpsilonOf(DataType type)
{
    return type == DataType::Float32 ? double(std::numeric_limits<float>::epsilon())
                                     : std::numeric_limits<double>::epsilon();
}

TEST_P(KernelTests, EqualsReference)
{
    for (DataType type : {DataType::Float32, DataType::Float64})
    {
        SCOPED_TRACE(NameOf(type));
        const auto reference = MakeReferenceDevice();
        KernelCaseRun expected(*reference, type);
        GetParam().run(expected);
        EXPECT_TRUE(expected.GuardsAreIntact()) << "the reference wrote outside of its output";

        const double epsilon = EpsilonOf(type);
        for (const Target& target : c_targets)
        {
            if (InstructionSetOf(target) > BestInstructionSet())
                continue;
            SCOPED_TRACE(target.name);
            KernelCaseRun run(DeviceOf(target), type);
            GetParam().run(run);
            EXPECT_TRUE(run.GuardsAreIntact()) << "the kernel wrote outside of its output";
            Compare(run.Results(), expected.Results(), GetParam().tolerance * epsilon);
        }
    }
}

void ExpectEqualToReference(const KernelCase& kernelCase, Device& device)
{
    for (DataType type : {DataType::Float32, DataType::Float64})
    {
        SCOPED_TRACE(NameOf(type));
        const auto reference = MakeReferenceDevice();
        KernelCaseRun expected(*reference, type);
        kernelCase.run(expected);
        KernelCaseRun run(device, type);
        kernelCase.run(run);
        EXPECT_TRUE(run.GuardsAreIntact()) << "the kernel wrote outside of its output";
        Compare(run.Results(), expected.Results(), kernelCase.tolerance * EpsilonOf(type));
    }
}

TEST_P(KernelTests, EmulatedGpuEqualsReference)
{
    const int before = CuDnnEmulation::CallsOfThread().Work();
    ExpectEqualToReference(GetParam(), *MakeEmulatedGpu(EmulatedMemory::Open));
    if (CuDnnEmulation::CallsOfThread().Work() == before)
        return;
    SCOPED_TRACE("without cuDNN");
    ExpectEqualToReference(GetParam(), *MakeEmulatedGpu(EmulatedMemory::Open, c_emulatedMemoryBytes, WorkOrder::Late,
                                                        EmulatedDnn::Missing));
}

TEST_P(KernelTests, GpuEqualsReference)
{
    std::shared_ptr<Device> gpu;
    try
    {
        gpu = MakeGpuDevice(0, {.isChecked = false});
    }
    catch (const Error& error)
    {
        GTEST_SKIP() << error.Message();
    }
    ExpectEqualToReference(GetParam(), *gpu);
}

INSTANTIATE_TEST_SUITE_P(Cpu, KernelTests, testing::ValuesIn(AllCases()),
                         [](const testing::TestParamInfo<KernelCase>& info) { return info.param.name; });

// Counts targets that this processor lacks, and checks that the others use their own instruction set.
class KernelTargetTests : public testing::TestWithParam<Target>
{
};

TEST_P(KernelTargetTests, IsTested)
{
    if (InstructionSetOf(GetParam()) > BestInstructionSet())
        GTEST_SKIP() << AllCases().size() << " cases are not run: the processor has no "
                     << NameOf(GetParam().instructionSet);
    EXPECT_THAT(DeviceOf(GetParam()).Describe(),
                testing::HasSubstr(std::string(", ") + NameOf(InstructionSetOf(GetParam())) + ";"));
}

INSTANTIATE_TEST_SUITE_P(Cpu, KernelTargetTests, testing::ValuesIn(c_targets),
                         [](const testing::TestParamInfo<Target>& info) { return info.param.name; });

} // namespace
} // namespace cntk
