// Captured graphs on an emulated GPU: the same values as without graphs, and no separate kernel launch. Work that
// cannot be captured runs step by step.
#include "Common/Error.h"
#include "CudaEmulation/EmulatedGpu.h"
#include "Math/Matrix.h"
#include "Math/Operations.h"
#include "Math/RepeatedWork.h"
#include "Math/UpdateRules.h"

#include <bit>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cntk
{
namespace
{

// Fails in one of the ways that CUDA may.
class FailingRuntime final : public EmulatedRuntime
{
public:
    enum class At
    {
        None,
        Begin,
        End,
        Launch
    };

    explicit FailingRuntime(At at, WorkOrder order = WorkOrder::Late)
        : EmulatedRuntime(EmulatedMemory::Locked, size_t(64) << 20, order), m_at(at)
    {
    }
    void BeginCapture(GpuStream stream) override
    {
        if (m_at == At::Begin)
            Fail(ErrorKind::Device, "no capture");
        EmulatedRuntime::BeginCapture(stream);
    }
    GpuGraph EndCapture(GpuStream stream) noexcept override
    {
        const GpuGraph graph = EmulatedRuntime::EndCapture(stream);
        if (m_at != At::End || graph == nullptr)
            return graph;
        FreeGraph(graph);
        return nullptr;
    }
    void Launch(GpuGraph graph, GpuStream stream) override
    {
        if (m_at == At::Launch)
            Fail(ErrorKind::Device, "no launch");
        EmulatedRuntime::Launch(graph, stream);
    }

private:
    At m_at;
};

struct Gpu
{
    explicit Gpu(FailingRuntime::At at = FailingRuntime::At::None, bool graphs = true,
                 WorkOrder order = WorkOrder::Late)
    {
        auto owned = std::make_unique<FailingRuntime>(at, order);
        runtime = owned.get();
        GpuRequest request{0};
        request.graphs = graphs;
        request.trace = [this](const std::string& text) { lines.push_back(text); };
        device = MakeEmulatedGpu(std::move(owned), request);
    }
    size_t Kernels() const { return runtime->Counts().kernels; }
    size_t Launches() const { return runtime->Counts().graphLaunches; }

    EmulatedRuntime* runtime = nullptr;
    std::vector<std::string> lines;
    std::shared_ptr<Device> device;
};

class TestSteps final : public RepeatedWork::Steps
{
public:
    explicit TestSteps(
        std::function<void()> run, std::function<void()> repeat = [] {})
        : m_run(std::move(run)), m_repeat(std::move(repeat))
    {
    }
    void Run() override
    {
        ++runs;
        m_run();
    }
    void Repeat() override
    {
        ++repeats;
        m_repeat();
    }
    void Restore() override { ++restores; }

    int runs = 0;
    int repeats = 0;
    int restores = 0;

private:
    std::function<void()> m_run;
    std::function<void()> m_repeat;
};

const std::vector<uint64_t> c_key{1, 2, 3};

TEST(RepeatedWorkTests, RunsThenRecordsThenRepeats)
{
    for (const WorkOrder order : {WorkOrder::Eager, WorkOrder::Late, WorkOrder::FirstLate, WorkOrder::FirstEager})
    {
        Gpu gpu(FailingRuntime::At::None, true, order);
        Matrix a(2, 3, DataType::Float32, *gpu.device);
        Matrix b(2, 3, DataType::Float32, *gpu.device);
        Matrix sum(1, 1, DataType::Float32, *gpu.device);
        RepeatedWork work(*gpu.device, "the work");
        TestSteps plain(
            [&]
            {
                Ops::Elementwise(ElementwiseOp::Square, a.View(), b.View());
                Ops::SumAll(b, sum, 0.5, 1); // uses memory for partial sums
            });
        double expected = 0;
        for (int i = 0; i < 6; ++i)
        {
            const double x = i + 1;
            a.FromHost(std::vector<double>{x, x, 0, 0, x, 1});
            const size_t kernels = gpu.Kernels();
            work.Run(c_key, plain);
            if (i >= 1)
            {
                EXPECT_EQ(gpu.Kernels(), kernels) << "a kernel was launched by itself";
            }
            expected += 0.5 * (3 * x * x + 1);
            EXPECT_EQ(Ops::ScalarOf(sum), expected) << i;
        }
        EXPECT_EQ(plain.runs, 2);
        EXPECT_EQ(plain.repeats, 4);
        EXPECT_EQ(gpu.Launches(), 5u);
        EXPECT_TRUE(gpu.lines.empty());
    }
}

TEST(RepeatedWorkTests, OtherKeysAreOtherWork)
{
    Gpu gpu;
    Matrix a(1, 4, DataType::Float64, *gpu.device);
    RepeatedWork work(*gpu.device, "the work");
    for (int i = 0; i < 200; ++i)
    {
        const uint64_t kind = uint64_t(i * i) % 23; // more graphs than are kept
        TestSteps steps([&] { Ops::Fill(a, double(kind)); });
        work.Run(std::vector<uint64_t>{kind}, steps);
        EXPECT_EQ(a.ToHost(), std::vector<double>(4, double(kind)));
    }
    EXPECT_GT(gpu.Launches(), 50u);
}

// Each launch uses the current numbers of dropout and updates.
TEST(RepeatedWorkTests, ChangingNumbersAreCurrent)
{
    const auto train = [](bool graphs)
    {
        Gpu gpu(FailingRuntime::At::None, graphs);
        Matrix gradient(3, 5, DataType::Float32, *gpu.device);
        Matrix parameter(3, 5, DataType::Float32, *gpu.device);
        Matrix smoothed(3, 5, DataType::Float32, *gpu.device);
        Matrix square(3, 5, DataType::Float32, *gpu.device);
        Matrix mask(3, 5, DataType::Float32, *gpu.device);
        Ops::Fill(gradient, 0.5);
        RepeatedWork work(*gpu.device, "the work");
        uint64_t seed = 1;
        double rate = 0.1;
        const auto update = [&]
        {
            Ops::FillDropoutMask(mask, 0.5, 2, seed++);
            Ops::Elementwise(ElementwiseOp::Product, gradient.View(), mask.View(), gradient.View(), 0.25, 0.75);
            Ops::MomentumUpdate(parameter, smoothed, gradient, rate, 1 - rate, nullptr);
            UpdateCall call;
            call.formula = UpdateFormula::Adam;
            call.constants.momentum = rate;
            call.constants.gain = 1 - rate;
            call.constants.keep = 0.9;
            call.constants.squareGain = 0.1;
            call.constants.floor = 1e-8;
            call.rate = rate;
            call.extras.decay = rate / 10;
            call.noiseDeviation = 0.01;
            call.noise.number = seed;
            const MatrixView states[] = {smoothed, square};
            Ops::UpdateParameter(call, parameter, states, gradient);
            rate *= 0.9;
        };
        TestSteps steps(update, update);
        for (int i = 0; i < 8; ++i)
            work.Run(c_key, steps);
        EXPECT_EQ(gpu.Launches(), graphs ? 7u : 0u);
        std::vector<double> result = parameter.ToHost();
        for (const Matrix* matrix : {&smoothed, &square, &mask, &gradient})
            for (const double value : matrix->ToHost())
                result.push_back(value);
        return result;
    };
    EXPECT_EQ(train(true), train(false));
}

TEST(RepeatedWorkTests, NumbersThatDoNotFitAreIgnored)
{
    Gpu gpu;
    Matrix mask(3, 5, DataType::Float32, *gpu.device);
    RepeatedWork work(*gpu.device, "the work");
    const auto draw = [&] { Ops::FillDropoutMask(mask, 0.5, 2, 7); };
    TestSteps steps(draw, [] {}); // which needs no memory
    for (int i = 0; i < 3; ++i)
        work.Run(c_key, steps);
    EXPECT_EQ(steps.runs, 3 + 0);
    EXPECT_EQ(steps.restores, 1);
    EXPECT_EQ(steps.repeats, 1);
}

// ---- masks ----------------------------------------------------------------------------------------------------------

TEST(RepeatedWorkTests, MasksStayWithTheWork)
{
    Gpu gpu;
    Matrix a(2, 4, DataType::Float64, *gpu.device);
    RepeatedWork work(*gpu.device, "the work");
    std::vector<uint8_t> mask{1, 0, 0, 1};
    const std::vector<uint64_t> keys[] = {{0}, {1}};
    for (int i = 0; i < 10; ++i)
    {
        const uint64_t kind = uint64_t(i) % 2;
        mask = kind == 0 ? std::vector<uint8_t>{1, 0, 0, 1} : std::vector<uint8_t>{0, 1, 1, 1};
        gpu.device->ExpectMask(mask);
        Ops::Fill(a, i + 1);
        TestSteps steps(
            [&]
            {
                Ops::MaskColumns(a.View().Columns(2, 2), std::span(mask).subspan(2, 2));
                Ops::MaskColumns(a.View().Columns(0, 2), std::span(mask).subspan(0, 2));
            });
        work.Run(keys[kind], steps);
        const double x = i + 1;
        EXPECT_EQ(a.ToHost(), kind == 0 ? (std::vector<double>{x, x, 0, 0, 0, 0, x, x})
                                        : (std::vector<double>{0, 0, x, x, x, x, x, x}));
    }
    EXPECT_EQ(gpu.Launches(), 8u);
}

TEST(RepeatedWorkTests, AMaskGoesToTheDeviceOnce)
{
    Gpu gpu;
    Matrix a(2, 4, DataType::Float64, *gpu.device);
    std::vector<uint8_t> mask{1, 0, 0, 1};
    gpu.device->ExpectMask(mask);
    const size_t copies = gpu.runtime->Counts().copies;
    for (int i = 0; i < 3; ++i)
    {
        Ops::Fill(a, 2);
        Ops::MaskColumns(a, mask);
        Ops::MaskColumns(a.View().Columns(1, 2), std::span(mask).subspan(1, 2));
        gpu.device->ExpectMask(mask);
    }
    EXPECT_EQ(gpu.runtime->Counts().copies, copies);
    EXPECT_EQ(a.ToHost(), (std::vector<double>{2, 2, 0, 0, 0, 0, 2, 2}));
    // Other values in the same host memory are another mask, announced or not.
    mask = {0, 1, 1, 0};
    Ops::Fill(a, 3);
    Ops::MaskColumns(a, mask);
    EXPECT_EQ(a.ToHost(), (std::vector<double>{0, 0, 3, 3, 3, 3, 0, 0}));
    for (uint8_t kind = 0; kind < 12; ++kind)
    {
        const std::vector<uint8_t> other{uint8_t(kind % 2), uint8_t(kind / 2 % 2), uint8_t(kind / 4), 1};
        Ops::Fill(a, 1);
        Ops::MaskColumns(a, other);
        for (size_t column = 0; column < 4; ++column)
            EXPECT_EQ(a.ToHost()[2 * column], other[column] != 0) << int(kind);
    }
}

// ---- what cannot be recorded ----------------------------------------------------------------------------------------

TEST(RepeatedWorkTests, WorkThatTheHostWaitsForRunsStepByStep)
{
    Gpu gpu;
    Matrix a(1, 2, DataType::Float32, *gpu.device);
    RepeatedWork work(*gpu.device, "the work");
    for (uint64_t i = 0; i < 9; ++i)
    {
        TestSteps steps(
            [&]
            {
                Ops::Fill(a, 1);
                if (!Ops::HasNotFinite(a))
                    Ops::Fill(a, double(i));
            });
        work.Run(std::vector<uint64_t>{i % 3}, steps);
        EXPECT_EQ(a.ToHost(), std::vector<double>(2, double(i)));
        EXPECT_EQ(steps.runs, 1);
    }
    EXPECT_EQ(gpu.runtime->Counts().captures, 0u);
    EXPECT_FALSE(work.IsOn());
    EXPECT_THAT(gpu.lines, testing::ElementsAre(
                               "the work runs step by step, not as a CUDA graph: the host waits for its results"));
}

// If recording fails, the host's changes are restored and the work runs.
TEST(RepeatedWorkTests, RunsStepByStepIfRecordingFails)
{
    Gpu gpu;
    Matrix a(1, 2, DataType::Float32, *gpu.device);
    RepeatedWork work(*gpu.device, "the work");
    int count = 0;
    TestSteps steps(
        [&]
        {
            Ops::Fill(a, 5);
            if (++count == 2)
                a.ToHost();
            Ops::Scale(a, 2);
        });
    for (int i = 0; i < 4; ++i)
    {
        work.Run(c_key, steps);
        EXPECT_EQ(a.ToHost(), std::vector<double>(2, 10));
    }
    EXPECT_EQ(steps.runs, 5);
    EXPECT_EQ(steps.restores, 1);
    EXPECT_EQ(gpu.Launches(), 0u);
}

TEST(RepeatedWorkTests, RunsStepByStepIfCudaFails)
{
    using At = FailingRuntime::At;
    for (const At at : {At::Begin, At::End, At::Launch})
    {
        Gpu gpu(at);
        Matrix a(1, 2, DataType::Float32, *gpu.device);
        RepeatedWork work(*gpu.device, "the work");
        for (uint64_t i = 0; i < 12; ++i)
        {
            TestSteps steps([&] { Ops::Fill(a, double(i)); });
            work.Run(std::vector<uint64_t>{i % 3}, steps);
            EXPECT_EQ(a.ToHost(), std::vector<double>(2, double(i)));
        }
        EXPECT_FALSE(work.IsOn());
        EXPECT_EQ(gpu.lines.size(), 1u);
    }
}

// A capture may not free memory, because that would break the graph. Step by step the memory suffices.
TEST(RepeatedWorkTests, RunsStepByStepIfMemoryIsShort)
{
    auto runtime = std::make_unique<EmulatedRuntime>(EmulatedMemory::Open, size_t(12) << 20);
    EmulatedRuntime& asked = *runtime;
    const auto device = MakeEmulatedGpu(std::move(runtime));
    constexpr size_t words = size_t(1) << 20;
    RepeatedWork work(*device, "the work");
    std::vector<uint8_t> mask(words);
    mask[1] = 1;
    Matrix a(1, words, DataType::Float32, *device);
    TestSteps steps([&] { Ops::MaskColumns(a, mask); });
    for (int i = 0; i < 4; ++i)
    {
        Ops::Fill(a, 3);
        work.Run(c_key, steps);
        const std::vector<double> values = a.ToHost();
        EXPECT_EQ(values[0], 0);
        EXPECT_EQ(values[1], 3);
        EXPECT_EQ(values[words - 1], 0);
        // From here on nearly all memory is cached, in sizes that no allocation needs.
        std::vector<void*> blocks;
        size_t left = 0;
        size_t total = 0;
        for (asked.MemoryInfo(left, total); left > size_t(512) << 10; asked.MemoryInfo(left, total))
            blocks.push_back(device->Allocate(std::bit_floor(left) / 8 * 7));
        for (void* const block : blocks)
            device->Free(block);
    }
    EXPECT_EQ(steps.runs, 5);
    EXPECT_EQ(asked.Counts().captures, 1u);
    EXPECT_EQ(asked.Counts().graphLaunches, 0u);
    device->Free(device->Allocate(size_t(4) << 20)); // freed if possible
}

// Memory of graphs is freed before memory runs out.
TEST(RepeatedWorkTests, FreesMemoryOfGraphsBeforeMemoryRunsOut)
{
    Gpu gpu;
    constexpr size_t columns = size_t(1) << 18;
    Matrix a(1, columns, DataType::Float64, *gpu.device);
    Matrix sum(1, 1, DataType::Float64, *gpu.device);
    std::vector<uint8_t> mask(columns);
    RepeatedWork work(*gpu.device, "the work");
    TestSteps steps(
        [&]
        {
            Ops::MaskColumns(a, mask);
            Ops::SumAll(a, sum, 1, 0);
        });
    const auto runAndSum = [&]
    {
        Ops::Fill(a, 2);
        work.Run(c_key, steps);
        return Ops::ScalarOf(sum);
    };
    mask[5] = 1;
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(runAndSum(), 2);
    EXPECT_EQ(gpu.Launches(), 2u);

    // Leaves less memory than the mask needs.
    std::vector<void*> blocks;
    size_t left = 0;
    size_t total = 0;
    for (gpu.runtime->MemoryInfo(left, total); left > size_t(64) << 10; gpu.runtime->MemoryInfo(left, total))
        blocks.push_back(gpu.device->Allocate(std::bit_floor(left)));
    void* const last = gpu.device->Allocate(size_t(1) << 18);
    gpu.device->Copy(last, a.View().data, size_t(1) << 18); // may reuse the memory of the work
    EXPECT_EQ(runAndSum(), 2);
    EXPECT_EQ(gpu.Launches(), 2u) << "work is launched without its memory";
    EXPECT_THROW(gpu.device->Allocate(size_t(1) << 18), Error);
    gpu.device->Free(last);
    for (void* const block : blocks)
        gpu.device->Free(block);
    EXPECT_EQ(runAndSum(), 2);
}

TEST(RepeatedWorkTests, OtherErrorsStayErrors)
{
    Gpu gpu;
    Matrix a(1, 2, DataType::Float32, *gpu.device);
    RepeatedWork work(*gpu.device, "the work");
    int count = 0;
    TestSteps steps(
        [&]
        {
            Ops::Fill(a, 5);
            if (++count == 2)
                Fail(ErrorKind::Data, "wrong data");
        });
    work.Run(c_key, steps);
    EXPECT_THROW(work.Run(c_key, steps), Error);
    work.Run(c_key, steps); // the device still works
    work.Run(c_key, steps);
    EXPECT_EQ(a.ToHost(), std::vector<double>(2, 5));
    EXPECT_EQ(gpu.Launches(), 2u);
}

// Freed memory may get another owner.
TEST(RepeatedWorkTests, RecordsAgainAfterMemoryWasFreed)
{
    Gpu gpu;
    auto a = std::make_unique<Matrix>(1, 600, DataType::Float32, *gpu.device);
    RepeatedWork work(*gpu.device, "the work");
    TestSteps steps([&] { Ops::Fill(*a, 5); });
    work.Run(c_key, steps);
    work.Run(c_key, steps);
    a = std::make_unique<Matrix>(1, 600, DataType::Float32, *gpu.device);
    const Matrix other(1, 600, DataType::Float32, *gpu.device); // in the memory of a
    work.Run(c_key, steps);
    work.Run(c_key, steps);
    EXPECT_EQ(steps.runs, 3);
    EXPECT_EQ(a->ToHost(), std::vector<double>(600, 5));
    EXPECT_EQ(other.ToHost(), std::vector<double>(600, 0));
}

TEST(RepeatedWorkTests, StopsRecordingIfMemoryNeverLasts)
{
    Gpu gpu;
    Matrix a(1, 600, DataType::Float32, *gpu.device);
    RepeatedWork work(*gpu.device, "the work");
    TestSteps steps([&] { Ops::Fill(a, 5); });
    for (int i = 0; i < 10; ++i)
    {
        Matrix passing(1, 600, DataType::Float32, *gpu.device);
        work.Run(c_key, steps);
    }
    EXPECT_EQ(steps.runs, 10);
    EXPECT_EQ(gpu.runtime->Counts().captures, 2u);
    EXPECT_THAT(gpu.lines, testing::ElementsAre(
                               "the work runs step by step, not as a CUDA graph: memory is given back each time"));
}

// Temporary memory of graphs stays reserved.
TEST(RepeatedWorkTests, RecordedWorkKeepsItsMemory)
{
    Gpu gpu;
    Matrix a(500, 40, DataType::Float64, *gpu.device);
    Matrix sum(1, 1, DataType::Float64, *gpu.device);
    Ops::Fill(a, 1);
    RepeatedWork work(*gpu.device, "the work");
    TestSteps steps([&] { Ops::SumAll(a, sum, 1, 0); });
    work.Run(c_key, steps);
    work.Run(c_key, steps);
    RepeatedWork others(*gpu.device, "other work");
    Matrix b(500, 40, DataType::Float64, *gpu.device); // may get free memory
    Ops::Fill(b, 3);
    const size_t launches = gpu.Launches();
    for (int i = 0; i < 3; ++i)
        work.Run(c_key, steps);
    EXPECT_EQ(Ops::ScalarOf(sum), 20000);
    EXPECT_EQ(b.ToHost(), std::vector<double>(20000, 3));
    EXPECT_GE(gpu.Launches(), launches + 2);
}

TEST(RepeatedWorkTests, OnTheCpuNothingIsRecorded)
{
    const auto cpu = MakeCpuDevice({.threads = 1});
    RepeatedWork work(*cpu, "the work");
    EXPECT_FALSE(work.IsOn());
    TestSteps steps([] {});
    work.Run(c_key, steps);
    work.Run(c_key, steps);
    EXPECT_EQ(steps.runs, 2);
    const Gpu off(FailingRuntime::At::None, false);
    EXPECT_EQ(off.device->Recorder(), nullptr);
}

} // namespace
} // namespace cntk
