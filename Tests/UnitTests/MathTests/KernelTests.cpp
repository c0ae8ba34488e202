// Runs each kernel case on the CPU backend, for every instruction set that the processor has, and on the reference
// backend, and compares.
#include "Math/Cpu/CpuDevice.h"
#include "MathTests/KernelCases.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <ostream>

namespace cntk
{

namespace
{

struct Target
{
    std::string name;
    InstructionSet instructionSet;
    int threads;
};

const Target c_targets[] = {
    {"Sse2", InstructionSet::Baseline, 1},
    {"Avx2", InstructionSet::Avx2, 1},
    {"Avx2Threads3", InstructionSet::Avx2, 3},
    {"Avx512", InstructionSet::Avx512, 1},
};

struct Parameter
{
    KernelCase kernelCase;
    DataType type;
    Target target;
};

void PrintTo(const Parameter& parameter, std::ostream* stream)
{
    *stream << parameter.kernelCase.name;
}

std::vector<Parameter> AllParameters()
{
    std::vector<Parameter> parameters;
    for (const auto& cases : {ElementwiseCases(), MatrixCases(), SoftmaxCases()})
        for (const KernelCase& kernelCase : cases)
            for (DataType type : {DataType::Float32, DataType::Float64})
                for (const Target& target : c_targets)
                    parameters.push_back({kernelCase, type, target});
    return parameters;
}

class KernelTests : public testing::TestWithParam<Parameter>
{
};

TEST_P(KernelTests, EqualsReference)
{
    const Parameter& parameter = GetParam();
    if (parameter.target.instructionSet > BestInstructionSet())
        GTEST_SKIP() << "the processor has no " << NameOf(parameter.target.instructionSet);

    const auto reference = MakeReferenceDevice();
    KernelCaseRun expectedRun(*reference, parameter.type);
    parameter.kernelCase.run(expectedRun);
    const auto device = MakeCpuDeviceWith(parameter.target.instructionSet, parameter.target.threads);
    KernelCaseRun run(*device, parameter.type);
    parameter.kernelCase.run(run);

    EXPECT_TRUE(expectedRun.GuardsAreIntact()) << "the reference wrote outside of its output";
    EXPECT_TRUE(run.GuardsAreIntact()) << "the kernel wrote outside of its output";
    const std::vector<double> expected = expectedRun.Results();
    const std::vector<double> found = run.Results();
    ASSERT_EQ(found.size(), expected.size());
    double largest = 0;
    for (double value : expected)
        largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : largest;
    const double epsilon = parameter.type == DataType::Float32 ? std::numeric_limits<float>::epsilon()
                                                               : std::numeric_limits<double>::epsilon();
    const double tolerance = parameter.kernelCase.tolerance * epsilon * largest;
    for (size_t i = 0; i < expected.size(); ++i)
    {
        if (std::isnan(expected[i]) && std::isnan(found[i]))
            continue;
        if (expected[i] == found[i]) // infinities
            continue;
        ASSERT_NEAR(found[i], expected[i], tolerance) << "element " << i << " of " << expected.size();
    }
}

INSTANTIATE_TEST_SUITE_P(Cpu, KernelTests, testing::ValuesIn(AllParameters()),
                         [](const testing::TestParamInfo<Parameter>& info) {
                             return info.param.kernelCase.name + "_" + NameOf(info.param.type) + "_" +
                                    info.param.target.name;
                         });

} // namespace
} // namespace cntk
