// Tests the emulation of CUDA itself: threads wait for each other as on a card, and mistakes are errors.
#include "CudaEmulation/CudaEmulation.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "Math/Gpu/DeviceFunctions.cuh"
#include "Math/Matrix.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace cntk
{
namespace
{

std::string MessageOf(const std::function<void()>& body)
{
    try
    {
        body();
    }
    catch (const std::exception& error)
    {
        return error.what();
    }
    return "(no error)";
}

TEST(CudaEmulationTests, EveryThreadOfEveryBlockRunsOnce)
{
    std::vector<int> runs(3 * 2 * 8 * 4);
    CudaEmulation::Run("test", dim3(3, 2), dim3(8, 4),
                       [&]
                       {
                           const unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
                           ++runs[block * 32 + threadIdx.y * blockDim.x + threadIdx.x];
                       });
    EXPECT_THAT(runs, testing::Each(1));
}

// Each thread reads values that the others wrote before the barrier.
TEST(CudaEmulationTests, BarriersHold)
{
    std::vector<unsigned> shared(64);
    std::vector<unsigned> sums(64);
    for (int run = 0; run < 2; ++run) // in both orders
    {
        CudaEmulation::Run("test", 1, 64,
                           [&]
                           {
                               unsigned sum = 0;
                               for (unsigned round = 0; round < 5; ++round)
                               {
                                   shared[threadIdx.x] = threadIdx.x + round;
                                   __syncthreads();
                                   sum += shared[(threadIdx.x + 1) % 64] + shared[63 - threadIdx.x];
                                   __syncthreads();
                               }
                               sums[threadIdx.x] = sum;
                           });
        for (unsigned i = 0; i < 64; ++i)
            EXPECT_EQ(sums[i], 5 * ((i + 1) % 64 + 63 - i) + 2 * 10);
    }
}

TEST(CudaEmulationTests, ShufflesStayWithinTheirWarp)
{
    std::vector<double> sums(96);
    CudaEmulation::Run("test", 1, 96,
                       [&]
                       {
                           double value = threadIdx.x;
                           for (int lanes = 16; lanes > 0; lanes /= 2)
                               value += __shfl_xor_sync(0xffffffffu, value, lanes);
                           sums[threadIdx.x] = value + __shfl_sync(0xffffffffu, int(threadIdx.x), 5);
                       });
    for (unsigned i = 0; i < 96; ++i)
        EXPECT_EQ(sums[i], i / 32 * 32 * 32 + 496 + i / 32 * 32 + 5);
}

// Each thread reads values of another thread of its warp; other warps need not arrive.
TEST(CudaEmulationTests, WarpsWait)
{
    std::vector<unsigned> shared(64);
    std::vector<unsigned> found(64);
    for (int run = 0; run < 2; ++run) // in both orders
    {
        CudaEmulation::Run("test", 1, 64,
                           [&]
                           {
                               const unsigned warp = threadIdx.x / 32 * 32;
                               if (warp > 0 && run > 0)
                                   return;
                               for (unsigned round = 0; round < 3; ++round)
                               {
                                   shared[threadIdx.x] = threadIdx.x + round;
                                   __syncwarp();
                                   found[threadIdx.x] = shared[warp + 31 - threadIdx.x % 32] + round;
                                   __syncwarp();
                               }
                           });
        for (unsigned i = 0; i < 64; ++i)
            EXPECT_EQ(found[i], i / 32 * 32 + 31 - i % 32 + 4);
    }
}

// A kernel may not depend on the order of threads or blocks.
TEST(CudaEmulationTests, TheOrderChangesFromLaunchToLaunch)
{
    unsigned last[2] = {};
    for (unsigned& thread : last)
        CudaEmulation::Run("test", 2, 32, [&] { thread = blockIdx.x * 32 + threadIdx.x; });
    EXPECT_EQ(last[0] + last[1], 63u);
    EXPECT_NE(last[0], last[1]);
}

TEST(CudaEmulationTests, ABarrierThatSomeThreadsMissIsAnError)
{
    EXPECT_EQ(MessageOf(
                  []
                  {
                      CudaEmulation::Run("the kernel", 1, 64,
                                         []
                                         {
                                             if (threadIdx.x < 40)
                                                 __syncthreads();
                                         });
                  }),
              "the kernel: 40 threads of a block of 64 wait for others that do not come; 24 have left the kernel");
    // The failure does not affect the next launch.
    int count = 0;
    CudaEmulation::Run("test", 1, 64,
                       [&]
                       {
                           __syncthreads();
                           ++count;
                       });
    EXPECT_EQ(count, 64);
}

TEST(CudaEmulationTests, ImpossibleLaunchesAreErrors)
{
    EXPECT_EQ(MessageOf([] { CudaEmulation::Run("it", 1, 2048, [] {}); }), "it: a card refuses a launch of this size");
    EXPECT_EQ(MessageOf([] { CudaEmulation::Run("it", 0, 32, [] {}); }), "it: a card refuses a launch of this size");
    EXPECT_EQ(MessageOf([] { CudaEmulation::Run("it", 1, dim3(32, 8), [] {}); }), "(no error)");
    EXPECT_EQ(MessageOf([] { CudaEmulation::Run("it", 1, dim3(32, 9), [] {}); }),
              "it: whether a card has registers for so many threads is not known");
    EXPECT_EQ(MessageOf([] { CudaEmulation::Run("it", 1, 32, [] { throw std::runtime_error("stop"); }); }), "stop");
}

TEST(CudaEmulationTests, ShufflesOfAPartOfAWarpAreErrors)
{
    const auto shuffle = [](unsigned threads, unsigned mask, int lane)
    {
        return MessageOf([=]
                         { CudaEmulation::Run("it", 1, threads, [=] { __shfl_sync(mask, int(threadIdx.x), lane); }); });
    };
    EXPECT_EQ(shuffle(32, 0xffffu, 1), "shuffles of a part of a warp are not emulated");
    EXPECT_EQ(shuffle(48, 0xffffffffu, 1), "a shuffle's mask names lanes that the block does not have");
    EXPECT_EQ(shuffle(32, 0xffffffffu, 32), "a shuffle reads a lane that the warp does not have");
    EXPECT_EQ(shuffle(64, 0xffffffffu, 31), "(no error)");
}

void PutOne(int* place)
{
    *place = 1;
}

void PutOnes(DeviceMatrix<float> matrix)
{
    for (size_t i = 0; i < matrix.Elements(); ++i)
        matrix.At(i) = 1;
}

// The emulation could access host memory; a card could not.
TEST(CudaEmulationTests, KernelsNeedMemoryOfTheDevice)
{
    EmulatedRuntime runtime(EmulatedMemory::Open);
    const GpuStream stream = runtime.MakeStream();
    int onHost = 0;
    const auto put = [&](int* place) { return MessageOf([&] { Launch("it", stream, 1, 1, PutOne, place); }); };
    EXPECT_EQ(put(&onHost), "it: a card would reach for 1 bytes that are not its memory");
    int* const there = static_cast<int*>(runtime.Allocate(sizeof(int)));
    EXPECT_EQ(put(there), "(no error)");
    runtime.Synchronize(stream);
    EXPECT_EQ(*there, 1);

    MatrixView view{runtime.Allocate(1024), 16, 16, 16, DataType::Float32, nullptr};
    const auto putAll = [&]
    { return MessageOf([&] { Launch("it", stream, 1, 1, PutOnes, DeviceMatrix<float>(view)); }); };
    EXPECT_EQ(putAll(), "(no error)");
    view.columns = 17;
    EXPECT_EQ(putAll(), "it: a card would reach for 1088 bytes that are not its memory");
    view.columns = 1;
    view.data = nullptr;
    EXPECT_EQ(putAll(), "it: a card would reach for 64 bytes that are not its memory");
    view.rows = 0;
    EXPECT_EQ(putAll(), "(no error)");
}

TEST(CudaEmulationTests, CopiesAreWithinTheDevicesMemory)
{
    EmulatedRuntime runtime(EmulatedMemory::Open);
    const GpuStream stream = runtime.MakeStream();
    std::byte* const there = static_cast<std::byte*>(runtime.Allocate(1024));
    std::byte onHost[1024];
    const auto messageOf = [&](auto&& copy) { return MessageOf([&] { copy(); }); };
    EXPECT_EQ(messageOf([&] { runtime.Copy(there, onHost, 8, stream); }),
              "a copy: a card would reach for 8 bytes that are not its memory");
    EXPECT_EQ(messageOf([&] { runtime.Copy(there + 1020, there, 8, stream); }),
              "a copy: a card would reach for 8 bytes that are not its memory");
    EXPECT_EQ(messageOf([&] { runtime.Copy(there + 4, there, 8, stream); }),
              "source and destination of a copy overlap");
    EXPECT_EQ(messageOf([&] { runtime.CopyToHost(onHost, onHost, 8, stream); }),
              "a copy to the host: a card would reach for 8 bytes that are not its memory");
    EXPECT_EQ(messageOf([&] { runtime.Zero(onHost, 8, stream); }),
              "memory cleared: a card would reach for 8 bytes that are not its memory");
    EXPECT_EQ(messageOf([&] { runtime.Copy(there + 8, there, 8, stream); }), "(no error)");
    EXPECT_EQ(messageOf([&] { runtime.Copy(there + 8, there, 0, stream); }), "a copy: of no bytes");
    EXPECT_EQ(messageOf([&] { runtime.Zero(there, 0, stream); }), "memory cleared: of no bytes");
}

// Leading dimensions are at least the rows, even for a single column.
TEST(CudaEmulationTests, ProductsMustSuitCuBlas)
{
    EmulatedRuntime runtime(EmulatedMemory::Open);
    const GpuStream stream = runtime.MakeStream();
    const auto blas = MakeEmulatedBlas();
    void* const there = runtime.Allocate(1024);
    GpuGemm product{.m = 4, .n = 1, .k = 3, .a = there, .strideA = 4, .b = there, .strideB = 3, .c = there};
    product.strideC = 4;
    product.alpha = product.beta = there;
    const auto message = [&] { return MessageOf([&] { blas->Multiply(product, stream); }); };
    EXPECT_EQ(message(), "(no error)");
    product.strideB = 1;
    EXPECT_EQ(message(), "cuBLAS refuses a product whose b has 3 rows and columns 1 apart");
    product.transposeB = true;
    EXPECT_EQ(message(), "(no error)");
    product.transposeA = true;
    product.strideA = 2;
    EXPECT_EQ(message(), "cuBLAS refuses a product whose a has 3 rows and columns 2 apart");
    product.strideA = 3;
    product.strideC = 1;
    EXPECT_EQ(message(), "cuBLAS refuses a product whose c has 4 rows and columns 1 apart");
    product.k = 0;
    EXPECT_EQ(message(), "a product has nothing to compute");
}

TEST(CudaEmulationTests, NewMemoryHoldsNan)
{
    EmulatedRuntime runtime(EmulatedMemory::Open);
    const float* const floats = static_cast<const float*>(runtime.Allocate(1024));
    EXPECT_TRUE(std::all_of(floats, floats + 256, [](float value) { return std::isnan(value); }));
    const double* const doubles = static_cast<const double*>(runtime.Allocate(1024));
    EXPECT_TRUE(std::all_of(doubles, doubles + 128, [](double value) { return std::isnan(value); }));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(CudaEmulationDeathTests, TheHostCannotReadDeviceMemory)
{
    const auto device = MakeEmulatedGpu();
    const Matrix matrix(2, 2, DataType::Float32, *device);
    EXPECT_DEATH(
        {
            volatile float value = *matrix.View().As<float>();
            (void)value;
        },
        "");
}
#endif

} // namespace
} // namespace cntk
