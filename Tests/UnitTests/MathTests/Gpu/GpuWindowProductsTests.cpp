// Convolutions as products: what they do where memory is short, and what they take of it. What they compute is compared
// by the kernel tests.
#include "Math/Gpu/GpuDevice.h"
#include "Math/ImageOperations.h"
#include "Math/Matrix.h"
#include "MathTests/Gpu/AllocationsOfGpu.h"

#include <gtest/gtest.h>

namespace cntk
{
namespace
{

struct WindowGpu
{
    int allocations = 0;
    CudaEmulation::WorkCounts before;
    const EmulatedRuntime* runtime = nullptr;
    std::shared_ptr<Device> device;

    explicit WindowGpu(size_t memoryBytes)
    {
        auto owned = std::make_unique<AllocationCountingRuntime>(memoryBytes, allocations);
        runtime = owned.get();
        device = FindGpu({0, GpuMatrixMath::Float}, std::move(owned), MakeEmulatedBlas);
        before = runtime->Counts();
    }
    size_t Kernels() const { return runtime->Counts().kernels - before.kernels; }
};

ConvolutionGeometry Geometry(bool channelsFirst)
{
    const WindowAxis channels{.input = 3, .kernel = 3, .stride = 3, .maps = 4};
    const WindowAxis row{.input = 30, .kernel = 5, .stride = 1, .start = -2, .windows = 30};
    ConvolutionGeometry geometry;
    geometry.rank = 3;
    if (channelsFirst)
    {
        geometry.weights = ConvolutionGeometry::Weights::OutputsFastest;
        geometry.axes = {channels, row, row};
    }
    else
        geometry.axes = {row, row, channels};
    return geometry;
}

Matrix Numbers(Device& device, size_t rows, size_t columns)
{
    std::vector<double> values(rows * columns);
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = double(i % 7) - 3; // sums are exact in any order
    Matrix matrix(rows, columns, DataType::Float32, device);
    matrix.FromHost(values);
    return matrix;
}

std::vector<double> ConvolveAll(Device& device, const ConvolutionGeometry& geometry, size_t samples)
{
    const Matrix weights = Numbers(device, geometry.KernelCount(), geometry.KernelElements());
    const Matrix input = Numbers(device, geometry.InputElements(), samples);
    const Matrix output = Numbers(device, geometry.OutputElements(), samples);
    const Matrix gradient = Numbers(device, geometry.OutputElements(), samples);
    const Matrix inputGradient = Numbers(device, geometry.InputElements(), samples);
    const Matrix weightGradient = Numbers(device, geometry.KernelCount(), geometry.KernelElements());
    Ops::Convolve(geometry, weights.View(), input.View(), output.View());
    Ops::ConvolveInputGradient(geometry, weights.View(), gradient.View(), inputGradient.View(), true);
    Ops::ConvolveWeightGradient(geometry, gradient.View(), input.View(), weightGradient.View(), true);
    std::vector<double> results = output.ToHost();
    for (const Matrix* more : {&inputGradient, &weightGradient})
    {
        const std::vector<double> values = more->ToHost();
        results.insert(results.end(), values.begin(), values.end());
    }
    return results;
}

// Kernels and products that each operation takes with enough memory: with the maps fastest nothing is rearranged.
TEST(GpuWindowProductsTests, WhereMemoryIsShortFewerSamplesAndThenNumberByNumber)
{
    for (const bool channelsFirst : {true, false})
    {
        SCOPED_TRACE(channelsFirst);
        const ConvolutionGeometry geometry = Geometry(channelsFirst);
        WindowGpu large(c_emulatedMemoryBytes);
        const std::vector<double> expected = ConvolveAll(*large.device, geometry, 4);
        EXPECT_EQ(large.Kernels(), channelsFirst ? 6u : 9u);
        ConvolutionGeometry one = geometry;
        one.mostSamplesAtOnce = 1;
        WindowGpu limited(c_emulatedMemoryBytes);
        EXPECT_EQ(ConvolveAll(*limited.device, one, 4), expected);
        EXPECT_EQ(limited.Kernels(), 4 * (channelsFirst ? 6u : 9u));
        // The windows of a sample take 264 KiB, the images and gradients 240 KiB: there is room for one.
        WindowGpu medium(768 << 10);
        EXPECT_EQ(ConvolveAll(*medium.device, geometry, 4), expected);
        EXPECT_EQ(medium.Kernels(), limited.Kernels());
        const int allocations = medium.allocations;
        EXPECT_EQ(ConvolveAll(*medium.device, geometry, 4), expected);
        EXPECT_EQ(medium.allocations, allocations) << "what is not there is not asked for again";
        WindowGpu small(384 << 10);
        EXPECT_EQ(ConvolveAll(*small.device, geometry, 4), expected);
        EXPECT_EQ(small.Kernels(), 3u);
        const int before = small.allocations;
        EXPECT_EQ(ConvolveAll(*small.device, geometry, 4), expected);
        EXPECT_EQ(small.allocations, before);
    }
}

TEST(GpuWindowProductsTests, AllocatesOnce)
{
    WindowGpu gpu(c_emulatedMemoryBytes);
    ConvolveAll(*gpu.device, Geometry(false), 4);
    const int allocations = gpu.allocations;
    for (int repeat = 0; repeat < 3; ++repeat)
        ConvolveAll(*gpu.device, Geometry(false), 4);
    EXPECT_EQ(gpu.allocations, allocations);
}

TEST(GpuWindowProductsTests, KernelsThatAreNotSharedAreLeft)
{
    ConvolutionGeometry geometry = Geometry(false);
    geometry.axes[0].isShared = false;
    WindowGpu gpu(c_emulatedMemoryBytes);
    ConvolveAll(*gpu.device, geometry, 2);
    EXPECT_EQ(gpu.Kernels(), 3u);
}

} // namespace
} // namespace cntk
