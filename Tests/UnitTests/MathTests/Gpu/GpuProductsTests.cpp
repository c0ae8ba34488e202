// The factors of products are on the device, and the host does not wait for them.
#include "CudaEmulation/CudaEmulation.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "Math/Gpu/GpuKernels.h"
#include "Math/Matrix.h"
#include "Math/Operations.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

// Counts waits of the host and copies to the device.
class CountingRuntime final : public EmulatedRuntime
{
public:
    // Runs work immediately, so that the test can read results without waiting.
    CountingRuntime() : EmulatedRuntime(EmulatedMemory::Locked, c_emulatedMemoryBytes, WorkOrder::Eager) {}

    void Synchronize(GpuStream) override { ++waits; }
    void Wait(GpuEvent) override { ++waits; }
    void CopyToHost(void* host, const void* source, size_t bytes, GpuStream stream) override
    {
        ++waits;
        EmulatedRuntime::CopyToHost(host, source, bytes, stream);
    }
    void CopyFromPinned(void* destination, const void* pinned, size_t bytes, GpuStream stream) override
    {
        ++uploads;
        EmulatedRuntime::CopyFromPinned(destination, pinned, bytes, stream);
    }

    int waits = 0;
    int uploads = 0;
};

template <class T>
T Read(const void* device)
{
    EXPECT_GE(CudaEmulation::DeviceBytes(device), sizeof(T)) << "no device memory";
    const CudaEmulation::DeviceAccess access;
    return *static_cast<const T*>(device);
}

TEST(GpuProductsTests, FactorsAreOnTheDeviceWithoutWaiting)
{
    CountingRuntime runtime;
    GpuContext context(runtime, "GPU 0", 4);
    GpuFactors factors(context);
    const int uploads = runtime.uploads;
    const auto expect = [&](double alpha, double beta)
    {
        SCOPED_TRACE(testing::Message() << alpha << " " << beta);
        const GpuFactors::Pointers doubles = factors.Of(DataType::Float64, alpha, beta);
        EXPECT_EQ(Read<double>(doubles.alpha), alpha);
        EXPECT_EQ(Read<double>(doubles.beta), beta);
        const GpuFactors::Pointers floats = factors.Of(DataType::Float32, alpha, beta);
        EXPECT_EQ(Read<float>(floats.alpha), float(alpha));
        EXPECT_EQ(Read<float>(floats.beta), float(beta));
    };
    for (const double alpha : {1.0, 0.0, -1.0, 0.3, 1e-30})
        for (const double beta : {0.0, 1.0, -1.0, 0.7})
            expect(alpha, beta);
    EXPECT_EQ(runtime.waits, 0);
    EXPECT_EQ(runtime.uploads, uploads);
    // 0 and 1 have fixed addresses.
    EXPECT_EQ(factors.Of(DataType::Float32, 1, 0).alpha, factors.Of(DataType::Float32, 0.5, 1).beta);
}

TEST(GpuProductsTests, AnEmulatedProductRefusesFactorsOfTheHost)
{
    EmulatedRuntime runtime;
    GpuContext context(runtime, "GPU 0", 4);
    const GpuArray<float> numbers(context, 3);
    const float onHost = 1;
    GpuGemm product;
    product.m = product.n = product.k = product.strideA = product.strideB = product.strideC = 1;
    product.a = numbers.Data();
    product.b = numbers.Data() + 1;
    product.c = numbers.Data() + 2;
    product.alpha = &onHost;
    product.beta = numbers.Data();
    EXPECT_THROW(MakeEmulatedBlas()->Multiply(product, context.Stream()), std::logic_error);
}

} // namespace
} // namespace cntk
