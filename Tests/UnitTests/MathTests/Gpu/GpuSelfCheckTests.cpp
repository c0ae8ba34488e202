// The self-check passes on correct devices, and names the operation that computes wrong values.
#include "Common/Error.h"
#include "CudaEmulation/CudaEmulation.h"
#include "CudaEmulation/EmulatedMachine.h"
#include "Math/Gpu/GpuDevice.h"
#include "Math/Gpu/GpuSelfCheck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

// Without cuDNN, so that convolutions run in a kernel that the test can break.
std::shared_ptr<Device> OpenGpuOf(const BlasMaker& makeBlas = MakeBreakableBlas)
{
    return FindGpu({0, GpuMatrixMath::Float}, std::make_unique<EmulatedRuntime>(EmulatedMemory::Open), makeBlas);
}

TEST(GpuSelfCheckTests, CorrectDevicesPass)
{
    EXPECT_EQ(CheckGpu(*MakeEmulatedGpu(), GpuMatrixMath::Float), "");
    EXPECT_EQ(CheckGpu(*OpenGpuOf(), GpuMatrixMath::Float), "");
    EXPECT_EQ(CheckGpu(*MakeCpuDevice({.threads = 1}), GpuMatrixMath::Float), "");
}

TEST(GpuSelfCheckTests, NamesAnOperationThatOmitsItsLastBlock)
{
    for (const auto& [kernel, operation] : {std::pair("Multiply", "the product"),
                                            {"a reduction", "the reduction"},
                                            {"Convolve", "the convolution"},
                                            {"MomentumUpdate", "the update"}})
    {
        CudaEmulation::BreakKernel(kernel);
        const std::string problem = CheckGpu(*OpenGpuOf(), GpuMatrixMath::Float);
        CudaEmulation::BreakKernel("");
        EXPECT_THAT(problem,
                    testing::MatchesRegex(std::string(operation) + " of float gives [-0-9.e]+ instead of [-0-9.e]+ "
                                                                   "\\(element [0-9]+, tolerance [-0-9.e]+\\)"));
    }
}

// Products whose first element has a relative error.
class InexactBlas final : public GpuBlas
{
public:
    explicit InexactBlas(double part) : m_part(part) {}
    std::string Describe() const override { return "inexact"; }
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

TEST(GpuSelfCheckTests, TheToleranceFollowsGpuMatrixMath)
{
    const auto passes = [](double part, GpuMatrixMath math)
    { return CheckGpu(*OpenGpuOf([=] { return std::make_unique<InexactBlas>(part); }), math).empty(); };
    EXPECT_FALSE(passes(0x1p-8, GpuMatrixMath::Float));
    EXPECT_TRUE(passes(0x1p-8, GpuMatrixMath::Tf32));
    EXPECT_TRUE(passes(0x1p-8, GpuMatrixMath::Bfloat16));
    EXPECT_FALSE(passes(4, GpuMatrixMath::Bfloat16));
}

class FailingBlas final : public GpuBlas
{
public:
    std::string Describe() const override { return "failing"; }
    void Multiply(const GpuGemm&, GpuStream) override { Fail(ErrorKind::Device, "no kernel image is available"); }
};

TEST(GpuSelfCheckTests, NamesAnOperationThatFails)
{
    EXPECT_EQ(CheckGpu(*OpenGpuOf([] { return std::make_unique<FailingBlas>(); }), GpuMatrixMath::Float),
              "the product of float fails: no kernel image is available");
}

} // namespace
} // namespace cntk
