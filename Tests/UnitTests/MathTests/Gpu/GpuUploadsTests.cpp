// Uploads to an emulated GPU: each byte arrives in the order of the work, whatever the host does with its memory
// afterwards and whichever stream runs first. The host does not wait for work that may still run.
#include "CudaEmulation/EmulatedGpu.h"
#include "Math/Gpu/GpuContext.h"

#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <vector>

namespace cntk
{
namespace
{

struct UploadsBench
{
    explicit UploadsBench(WorkOrder order)
        : runtime(EmulatedMemory::Open, size_t(512) << 20, order), context(runtime, "GPU 0", 4)
    {
    }

    EmulatedRuntime runtime;
    GpuContext context;
};

// The work reads each piece before the next one overwrites it.
TEST(GpuUploadsTests, PiecesOfAllSizesArriveInOrder)
{
    for (const WorkOrder order : CudaEmulation::c_workOrders)
    {
        UploadsBench bench(order);
        std::minstd_rand random(7);
        const size_t sizes[] = {4, 1000, 70000, 300000, 64 << 10, 2 << 20, 5 << 20, 100, 90000, 17 << 20, 70001};
        const GpuArray<std::byte> place(bench.context, size_t(20) << 20);
        std::vector<std::vector<std::byte>> sent;
        std::vector<std::unique_ptr<GpuArray<std::byte>>> received;
        std::vector<std::byte> host;
        for (int round = 0; round < 2; ++round)
            for (const size_t size : sizes)
            {
                host.resize(size);
                for (size_t i = 0; i < size; i += 61)
                    host[i] = std::byte(random());
                bench.context.Upload(place.Data(), host.data(), size);
                sent.push_back(host);
                received.push_back(std::make_unique<GpuArray<std::byte>>(bench.context, size));
                bench.context.Copy(received.back()->Data(), place.Data(), size);
                std::fill(host.begin(), host.end(), std::byte(0xaa));
            }
        for (size_t i = 0; i < sent.size(); ++i)
        {
            host.resize(sent[i].size());
            bench.context.Download(host.data(), received[i]->Data(), host.size());
            ASSERT_TRUE(host == sent[i]) << "order " << int(order) << ", piece " << i << " of " << host.size();
        }
    }
}

// A minibatch can be uploaded before the work of the previous one has begun: neither the host nor its stream waits for
// that work.
TEST(GpuUploadsTests, UploadsTheNextMinibatchWhileTheWorkWaits)
{
    UploadsBench bench(WorkOrder::FirstLate); // the stream of the work runs nothing until the host waits for it
    const size_t bytes = size_t(1) << 20;
    const GpuArray<std::byte> place(bench.context, bytes);
    std::vector<std::byte> host(bytes, std::byte(1));
    bench.context.Upload(place.Data(), host.data(), bytes);
    const size_t copies = bench.runtime.Counts().copies;
    for (int next = 0; next < 2; ++next)
        bench.context.Upload(place.Data(), host.data(), bytes);
    EXPECT_EQ(bench.runtime.Counts().copies, copies + 4);
    EXPECT_EQ(bench.runtime.Counts().hostWaits, 0u);
    EXPECT_EQ(bench.runtime.Counts().eventWaits, 0u);
    // If the ring is full, the host waits for the oldest upload.
    for (int next = 0; next < 2; ++next)
        bench.context.Upload(place.Data(), host.data(), bytes);
    EXPECT_EQ(bench.runtime.Counts().eventWaits, 1u);
}

// The ring may get memory that was freed, but that queued work still uses.
TEST(GpuUploadsTests, TheRingWaitsForTheWorkThatHadItsMemory)
{
    for (const WorkOrder order : CudaEmulation::c_workOrders)
    {
        UploadsBench bench(order);
        const size_t bytes = size_t(1) << 20;
        const GpuArray<std::byte> received(bench.context, bytes);
        const GpuArray<std::byte> place(bench.context, bytes / 4);
        {
            const GpuArray<std::byte> before(bench.context, bytes);
            bench.context.Zero(before.Data(), bytes);
            bench.context.Copy(received.Data(), before.Data(), bytes);
        }
        const std::vector<std::byte> host(bytes / 4, std::byte(7));
        bench.context.Upload(place.Data(), host.data(), host.size()); // a ring of the same size as the freed memory
        ASSERT_EQ(bench.context.Memory().KeptBytes(), 0u);
        std::vector<std::byte> found(bytes);
        bench.context.Download(found.data(), received.Data(), bytes);
        EXPECT_TRUE(found == std::vector<std::byte>(bytes)) << "order " << int(order);
        found.resize(host.size());
        bench.context.Download(found.data(), place.Data(), found.size());
        EXPECT_TRUE(found == host) << "order " << int(order);
    }
}

TEST(GpuUploadsTests, TheRingGrowsAndIsUsedAgain)
{
    UploadsBench bench(WorkOrder::Late);
    std::vector<std::byte> host(size_t(1) << 20);
    const GpuArray<std::byte> place(bench.context, host.size());
    for (int i = 0; i < 40; ++i)
        bench.context.Upload(place.Data(), host.data(), host.size());
    const size_t used = bench.context.Memory().UsedBytes();
    for (int i = 0; i < 40; ++i)
        bench.context.Upload(place.Data(), host.data(), host.size());
    EXPECT_EQ(bench.context.Memory().UsedBytes(), used);
    EXPECT_LE(used, size_t(6) << 20);
}

} // namespace
} // namespace cntk
