// The self-check passes where all is well and notices every kernel that does less than it should.
#include "CudaEmulation/CudaEmulation.h"
#include "CudaEmulation/EmulatedMachine.h"
#include "Math/ElementwiseOps.h"
#include "Math/Gpu/GpuDevice.h"
#include "Math/Gpu/GpuSelfCheck.h"
#include "Math/Gpu/GpuSelfCheckCases.h"
#include "Math/UpdateRules.h"
#include "ReferenceBackend/ReferenceDevice.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <sstream>

namespace cntk
{
namespace
{

std::string DifferenceOf(Device& device, GpuMatrixMath math = GpuMatrixMath::Float)
{
    const auto wrong = CheckGpu(device, math);
    return wrong ? wrong->Describe() : "";
}

// Device memory that is not locked: that takes longer than most kernels.
std::shared_ptr<Device> OpenGpuOf(const BlasMaker& makeBlas = MakeBreakableBlas)
{
    return FindGpu({0, GpuMatrixMath::Float}, std::make_unique<EmulatedRuntime>(EmulatedMemory::Open), makeBlas);
}

// The same with convolution and pooling by way of cuDNN.
std::shared_ptr<Device> OpenGpuWithDnn()
{
    return FindGpu({0, GpuMatrixMath::Float}, std::make_unique<EmulatedRuntime>(EmulatedMemory::Open),
                   MakeBreakableBlas, [](GpuContext& context) { return MakeEmulatedDnn(context); });
}

// While it lives launches of this name leave something out.
struct Broken
{
    explicit Broken(const std::string& name) { CudaEmulation::BreakKernel(name); }
    ~Broken() { CudaEmulation::BreakKernel(""); }
};

// What the sources launch, by the names that they give.
std::set<std::string> NamesInSources()
{
    std::set<std::string> names;
    const std::regex launch("(?:Launch|LaunchTeams|LaunchFill<T>|PutSoftmax)\\(\\s*\"([^\"]+)\"");
    for (const auto& entry : std::filesystem::directory_iterator(CNTK_GPU_SOURCES))
    {
        if (entry.path().extension() != ".cu")
            continue;
        std::ifstream file(entry.path());
        std::stringstream text;
        text << file.rdbuf();
        const std::string content = text.str();
        for (std::sregex_iterator found(content.begin(), content.end(), launch), end; found != end; ++found)
            names.insert((*found)[1]);
    }
#define CNTK_NAME_ROW(name, arity, expression) names.insert(#name);
    CNTK_ELEMENTWISE_OPS(CNTK_NAME_ROW)
    CNTK_UPDATE_RULES(CNTK_NAME_ROW)
#undef CNTK_NAME_ROW
    return names;
}

TEST(GpuSelfCheckTests, DevicesThatAreRightPass)
{
    EXPECT_EQ(DifferenceOf(*MakeEmulatedGpu()), "");
    EXPECT_EQ(DifferenceOf(*MakeCpuDevice({.threads = 1})), "");
    EXPECT_EQ(DifferenceOf(*MakeReferenceDevice()), "");
}

TEST(GpuSelfCheckTests, EveryKernelIsRun)
{
    for (const std::shared_ptr<Device>& gpu : {OpenGpuOf(), OpenGpuWithDnn()})
        ASSERT_EQ(DifferenceOf(*gpu), "");
    for (const std::string& name : NamesInSources())
        EXPECT_THAT(CudaEmulation::LaunchedKernels(), testing::Contains(name)) << "the self-check does not run it";
}

TEST(GpuSelfCheckTests, EveryKernelThatLeavesItsLastBlockOutIsNoticed)
{
    const std::set<std::string> names = NamesInSources();
    ASSERT_GT(names.size(), 60u);
    for (const std::string& name : names)
    {
        const Broken broken(name);
        // New ones each time: some things are done once. cuDNN stands for some kernels, and needs others.
        EXPECT_NE(DifferenceOf(*OpenGpuOf()) + DifferenceOf(*OpenGpuWithDnn()), "") << name;
    }
}

TEST(GpuSelfCheckTests, ProductsThatAreWrongAreNoticed)
{
    const auto gpu = OpenGpuOf();
    const Broken broken("Multiply");
    EXPECT_THAT(DifferenceOf(*gpu),
                testing::MatchesRegex("the product A B of float gives [-0-9.e]+ where the CPU gives "
                                      "[-0-9.e]+ \\(result [0-9]+; they may differ by [-0-9.e]+\\)"));
}

// Products with factors of so many bits, as tensor cores have them.
class RoundingBlas final : public GpuBlas
{
public:
    explicit RoundingBlas(double part) : m_part(part) {}
    std::string Describe() const override { return "rounding"; }
    void Multiply(const GpuGemm& product, GpuStream stream) override
    {
        m_blas->Multiply(product, stream);
        if (product.type == DataType::Float32)
            CudaEmulation::Enqueue(stream, CudaEmulation::WorkKind::Kernel,
                                   [c = static_cast<float*>(product.c), factor = float(1 + m_part)] { *c *= factor; });
    }

private:
    std::unique_ptr<GpuBlas> m_blas = MakeEmulatedBlas();
    double m_part;
};

TEST(GpuSelfCheckTests, ProductsMayBeOffByWhatGpuMatrixMathSays)
{
    // The first number of the product is off by about the rounding of a factor.
    const auto differs = [](double part, GpuMatrixMath math)
    {
        const auto gpu = OpenGpuOf([=] { return std::make_unique<RoundingBlas>(part); });
        return !DifferenceOf(*gpu, math).empty();
    };
    EXPECT_TRUE(differs(0x1p-10, GpuMatrixMath::Float));
    EXPECT_FALSE(differs(0x1p-10, GpuMatrixMath::Tf32));
    EXPECT_TRUE(differs(0x1p-2, GpuMatrixMath::Tf32));
    EXPECT_FALSE(differs(0x1p-7, GpuMatrixMath::Bfloat16));
    EXPECT_TRUE(differs(4, GpuMatrixMath::Bfloat16));
}

// Graphs that are made, but not run.
class ForgetfulRuntime final : public EmulatedRuntime
{
public:
    ForgetfulRuntime() : EmulatedRuntime(EmulatedMemory::Open) {}
    void Launch(GpuGraph, GpuStream) override {}
};

TEST(GpuSelfCheckTests, RecordedWorkIsChecked)
{
    auto runtime = std::make_unique<EmulatedRuntime>(EmulatedMemory::Open);
    const CudaEmulation::WorkCounts& counts = runtime->Counts();
    const auto gpu = FindGpu({0, GpuMatrixMath::Float}, std::move(runtime), MakeBreakableBlas);
    EXPECT_EQ(DifferenceOf(*gpu), "");
    EXPECT_EQ(counts.graphLaunches, 2u * 3u); // of either type, recorded and repeated

    const auto forgetful = FindGpu({0, GpuMatrixMath::Float}, std::make_unique<ForgetfulRuntime>(), MakeBreakableBlas);
    EXPECT_THAT(DifferenceOf(*forgetful), testing::StartsWith("recorded work of float gives "));
    GpuRequest launches{0};
    launches.graphs = false;
    EXPECT_EQ(DifferenceOf(*FindGpu(launches, std::make_unique<ForgetfulRuntime>(), MakeBreakableBlas)), "");
}

TEST(GpuSelfCheckTests, AnOperationThatFailsIsNamed)
{
    GpuDisagreement wrong;
    wrong.operation = "lookups of double";
    wrong.problem = "the GPU cannot run LookUpColumns: no kernel image";
    EXPECT_EQ(wrong.Describe(),
              "lookups of double cannot be computed: the GPU cannot run LookUpColumns: no kernel image");
}

} // namespace
} // namespace cntk
