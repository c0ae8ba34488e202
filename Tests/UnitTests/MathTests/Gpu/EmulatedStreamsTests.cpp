// Streams, events and graphs of the emulation: guarantees of CUDA hold in each order; missing waits give wrong values.
#include "Common/Error.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "Math/Gpu/CudaLanguage.cuh"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace cntk
{
namespace
{

void AddTo(int* target, const int* source, int factor)
{
    *target += factor * *source;
}

// Two streams, pinned memory and values on the device.
struct Bench
{
    explicit Bench(WorkOrder order) : runtime(EmulatedMemory::Open, 1 << 20, order)
    {
        first = runtime.MakeStream();
        second = runtime.MakeStream();
        event = runtime.MakeEvent();
        pinned = static_cast<int*>(runtime.AllocatePinned(16 * sizeof(int)));
        device = static_cast<int*>(runtime.Allocate(16 * sizeof(int)));
        std::fill(device, device + 16, 0);
    }
    ~Bench()
    {
        runtime.FreePinned(pinned);
        runtime.FreeStream(second);
        runtime.FreeStream(first);
    }
    void Put(int at, int value, GpuStream stream)
    {
        pinned[at] = value;
        runtime.CopyFromPinned(device + at, pinned + at, sizeof(int), stream);
    }
    void Add(int to, int from, int factor, GpuStream stream)
    {
        Launch("AddTo", stream, 1, 1, AddTo, device + to, device + from, factor);
    }

    EmulatedRuntime runtime;
    GpuStream first = nullptr;
    GpuStream second = nullptr;
    GpuEvent event = nullptr;
    int* pinned = nullptr;
    int* device = nullptr;
};

template <class Body>
std::string ErrorOf(Body&& body)
{
    try
    {
        body();
    }
    catch (const Error& error)
    {
        EXPECT_EQ(error.Kind(), ErrorKind::Device);
        return error.Message();
    }
    return "(no error)";
}

TEST(EmulatedStreamsTests, AStreamKeepsItsOrder)
{
    for (const WorkOrder order : CudaEmulation::c_workOrders)
    {
        Bench bench(order);
        for (const GpuStream stream : {bench.first, bench.second})
        {
            const int at = stream == bench.first ? 0 : 4;
            bench.Put(at, 3, stream);
            bench.Add(at + 1, at, 2, stream);
            bench.Add(at + 2, at + 1, 5, stream);
            bench.runtime.Copy(bench.device + at + 3, bench.device + at + 2, sizeof(int), stream);
            bench.runtime.Zero(bench.device + at, sizeof(int), stream);
            int values[4];
            bench.runtime.CopyToHost(values, bench.device + at, sizeof values, stream);
            EXPECT_THAT(values, testing::ElementsAre(0, 6, 30, 30));
        }
    }
}

// Pinned memory that is refilled before the copy runs delivers the new values instead of the old ones.
TEST(EmulatedStreamsTests, PinnedMemoryIsReadWhenTheCopyRuns)
{
    Bench bench(WorkOrder::Late);
    bench.Put(0, 1, bench.first);
    bench.pinned[0] = 7;
    bench.runtime.Synchronize(bench.first);
    EXPECT_EQ(bench.device[0], 7);

    Bench eager(WorkOrder::Eager);
    eager.Put(0, 1, eager.first);
    eager.pinned[0] = 7;
    EXPECT_EQ(eager.device[0], 1);
}

TEST(EmulatedStreamsTests, PinnedMemoryThatIsFreedTooSoonIsOverwritten)
{
    EmulatedRuntime runtime(EmulatedMemory::Open, 1 << 20);
    const GpuStream stream = runtime.MakeStream();
    auto* const pinned = static_cast<int*>(runtime.AllocatePinned(sizeof(int)));
    auto* const device = static_cast<int*>(runtime.Allocate(sizeof(int)));
    *pinned = 5;
    runtime.CopyFromPinned(device, pinned, sizeof(int), stream);
    runtime.FreePinned(pinned);
    runtime.Synchronize(stream);
    EXPECT_NE(*device, 5);
}

TEST(EmulatedStreamsTests, MemoryThatIsNotPinnedIsAnError)
{
    Bench bench(WorkOrder::Late);
    int value = 0;
    EXPECT_THROW(bench.runtime.CopyFromPinned(bench.device, &value, sizeof value, bench.first), std::logic_error);
    EXPECT_THROW(bench.runtime.CopyFromPinned(bench.device, bench.pinned + 15, 8, bench.first), std::logic_error);
}

// Without events either stream may run first: one order shows that the reader does not wait, another that the writer
// does not.
TEST(EmulatedStreamsTests, StreamsDoNotWaitForEachOther)
{
    const auto run = [](WorkOrder order, bool waits)
    {
        Bench bench(order);
        const auto bring = [&](int from, int value)
        {
            bench.pinned[from] = value;
            bench.runtime.CopyFromPinned(bench.device, bench.pinned + from, sizeof(int), bench.second);
        };
        bring(0, 3);
        bench.runtime.Record(bench.event, bench.second);
        if (waits)
            bench.runtime.WaitFor(bench.first, bench.event);
        bench.Add(1, 0, 1, bench.first); // reads the values that the other stream copies
        bench.runtime.Record(bench.event, bench.first);
        if (waits)
            bench.runtime.WaitFor(bench.second, bench.event);
        bring(1, 100); // to the same place
        bench.runtime.Synchronize(bench.first);
        return bench.device[1];
    };
    for (const WorkOrder order : CudaEmulation::c_workOrders)
        EXPECT_EQ(run(order, true), 3) << int(order);
    EXPECT_EQ(run(WorkOrder::Eager, false), 3);
    EXPECT_EQ(run(WorkOrder::Late, false), 0);
    EXPECT_EQ(run(WorkOrder::FirstEager, false), 0);
    EXPECT_EQ(run(WorkOrder::FirstLate, false), 100);
}

// A wait refers to the last record of the event before it; an event that was never recorded has no effect.
TEST(EmulatedStreamsTests, WaitsReferToTheLastRecord)
{
    for (const WorkOrder order : CudaEmulation::c_workOrders)
    {
        Bench bench(order);
        bench.runtime.WaitFor(bench.first, bench.event);
        bench.runtime.Wait(bench.event);
        bench.Put(0, 3, bench.second);
        bench.runtime.Record(bench.event, bench.second);
        bench.runtime.WaitFor(bench.first, bench.event);
        bench.Put(1, 4, bench.second);
        bench.runtime.Record(bench.event, bench.second); // the earlier wait does not include this
        bench.Add(2, 0, 1, bench.first);
        bench.runtime.Synchronize(bench.first);
        EXPECT_EQ(bench.device[2], 3);
        bench.runtime.Wait(bench.event);
        EXPECT_EQ(bench.device[1], 4);
    }
    EXPECT_EQ(Bench(WorkOrder::Late).runtime.Counts().hostWaits, 0u);
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

TEST(EmulatedStreamsTests, AGraphRunsWithTheArgumentsOfItsCapture)
{
    for (const WorkOrder order : CudaEmulation::c_workOrders)
    {
        Bench bench(order);
        int factor = 2;
        bench.runtime.BeginCapture(bench.first);
        bench.Add(1, 0, factor, bench.first);
        bench.runtime.Zero(bench.device + 2, sizeof(int), bench.first);
        const GpuGraph graph = bench.runtime.EndCapture(bench.first);
        ASSERT_NE(graph, nullptr);
        EXPECT_EQ(bench.runtime.Counts().kernels, 0u);
        bench.runtime.Synchronize(bench.first);
        EXPECT_EQ(bench.device[1], 0); // a capture runs nothing

        factor = 50; // not part of the graph
        bench.Put(0, 3, bench.first);
        bench.runtime.Launch(graph, bench.first);
        bench.Put(4, 1, bench.first);
        bench.runtime.Launch(graph, bench.first);
        bench.runtime.FreeGraph(graph);
        bench.runtime.Synchronize(bench.first);
        EXPECT_EQ(bench.device[1], 12);
        EXPECT_EQ(bench.runtime.Counts().graphLaunches, 2u);
        EXPECT_EQ(bench.runtime.Counts().kernels, 0u);
    }
}

TEST(EmulatedStreamsTests, WaitingForACaptureBreaksIt)
{
    Bench bench(WorkOrder::Late);
    bench.runtime.BeginCapture(bench.first);
    EXPECT_EQ(ErrorOf([&] { bench.runtime.Synchronize(bench.first); }),
              "the GPU refuses: operation not permitted when stream is capturing");
    EXPECT_EQ(ErrorOf([&] { bench.Add(1, 0, 1, bench.first); }),
              "the GPU refuses: operation failed due to a previous error during capture");
    EXPECT_EQ(bench.runtime.EndCapture(bench.first), nullptr);

    bench.runtime.BeginCapture(bench.first);
    int value = 0;
    EXPECT_EQ(ErrorOf([&] { bench.runtime.CopyToHost(&value, bench.device, sizeof value, bench.first); }),
              "the GPU refuses: operation not permitted when stream is capturing");
    EXPECT_EQ(bench.runtime.EndCapture(bench.first), nullptr);

    bench.runtime.BeginCapture(bench.first);
    bench.runtime.Record(bench.event, bench.first);
    EXPECT_EQ(ErrorOf([&] { bench.runtime.Wait(bench.event); }),
              "the GPU refuses: operation not permitted on an event last recorded in a capturing stream");
    bench.runtime.Synchronize(bench.second); // the host may wait for other streams
    EXPECT_NE(bench.runtime.EndCapture(bench.first), nullptr);

    // The stream still works.
    bench.Put(0, 3, bench.first);
    bench.runtime.Synchronize(bench.first);
    EXPECT_EQ(bench.device[0], 3);
}

TEST(EmulatedStreamsTests, ACaptureStaysByItself)
{
    Bench bench(WorkOrder::Late);
    bench.runtime.Record(bench.event, bench.second);
    bench.runtime.BeginCapture(bench.first);
    EXPECT_EQ(ErrorOf([&] { bench.runtime.BeginCapture(bench.first); }),
              "the GPU refuses: operation not permitted when stream is capturing");
    EXPECT_EQ(ErrorOf([&] { bench.runtime.WaitFor(bench.first, bench.event); }),
              "the GPU refuses: dependency created on uncaptured work in another stream");
    EXPECT_EQ(bench.runtime.EndCapture(bench.first), nullptr);

    // During a capture memory may be allocated, but not freed.
    bench.runtime.BeginCapture(bench.first);
    void* const memory = bench.runtime.Allocate(16);
    bench.runtime.Free(memory);
    EXPECT_EQ(bench.runtime.EndCapture(bench.first), nullptr);
}

} // namespace
} // namespace cntk
