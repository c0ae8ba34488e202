// The emulation of CUDA itself: threads wait for one another as they would, and mistakes do not pass.
#include "CudaEmulation/CudaEmulation.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "Math/Matrix.h"

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

// Each thread reads what the others wrote before the barrier.
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

// What a kernel may not depend on: which thread or block comes first.
TEST(CudaEmulationTests, TheOrderChangesFromLaunchToLaunch)
{
    unsigned last[2] = {};
    for (unsigned& thread : last)
        CudaEmulation::Run("test", 2, 32, [&] { thread = blockIdx.x * 32 + threadIdx.x; });
    EXPECT_EQ(last[0] + last[1], 63u);
    EXPECT_NE(last[0], last[1]);
}

TEST(CudaEmulationTests, ABarrierThatNotAllReachIsAnError)
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
    // The next launch is not disturbed by it.
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
    EXPECT_EQ(MessageOf([] { CudaEmulation::Run("it", 1, 32, [] { throw std::runtime_error("stop"); }); }), "stop");
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
