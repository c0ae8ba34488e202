// Times the kernels of the CPU backend: small sizes, where the overhead of a call counts, and large ones, where memory
// does. BM/<case>/<rows>/<columns>/<threads>; bytes_per_second counts each operand once.
#include "Math/Cpu/CpuDevice.h"
#include "Math/Cpu/ThreadPool.h"
#include "Math/Operations.h"

#include <algorithm>
#include <atomic>
#include <benchmark/benchmark.h>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace cntk
{
namespace
{

// The operands of a case: matrices of the case's size, a column, a row and a scalar.
struct Operands
{
    Operands(Device& device, DataType type, size_t rows, size_t columns)
        : a(rows, columns, type, device), b(rows, columns, type, device), c(rows, columns, type, device),
          column(rows, 1, type, device), row(1, columns, type, device), scalar(1, 1, type, device), labels(type, device)
    {
        Ops::FillUniform(a, -2, 2, 1);
        Ops::FillUniform(b, 0.1, 0.9, 2);
        Ops::FillUniform(column, -1, 1, 3);
        Ops::Fill(scalar, 1);
        std::vector<int32_t> rowIndices(columns);
        std::vector<int32_t> starts(columns + 1);
        for (size_t i = 0; i < columns; ++i)
        {
            rowIndices[i] = int32_t(i * 7 % rows);
            starts[i + 1] = int32_t(i + 1);
        }
        const std::vector<float> floats(columns, 1.0f);
        const std::vector<double> doubles(columns, 1.0);
        labels.FromHost(rows, columns,
                        type == DataType::Float32 ? static_cast<const void*>(floats.data()) : doubles.data(),
                        rowIndices, starts);
    }

    Matrix a;
    Matrix b;
    Matrix c;
    Matrix column;
    Matrix row;
    Matrix scalar;
    SparseMatrix labels;
};

struct Case
{
    const char* name;
    int matrices; // matrices that are read or written
    std::function<void(Operands&)> run;
};

using Op = ElementwiseOp;

std::vector<Case> Cases()
{
    return {
        {"Fill", 1, [](Operands& o) { Ops::Fill(o.c, 0); }},
        {"Copy", 2, [](Operands& o) { Ops::Copy(o.a, o.c); }},
        {"CopyRows", 1,
         [](Operands& o)
         {
             const size_t half = o.a.Rows() / 2;
             Ops::Copy(o.a.View().Rows(half, half), o.c.View().Rows(0, half));
         }},
        {"Sum", 3, [](Operands& o) { Ops::Elementwise(Op::Sum, o.a.View(), o.b.View(), o.c.View()); }},
        {"SumInto", 3, [](Operands& o) { Ops::Elementwise(Op::Copy, o.a.View(), o.c.View(), 1, 1); }},
        {"SumOfColumn", 2, [](Operands& o) { Ops::Elementwise(Op::Sum, o.a.View(), o.column.View(), o.c.View()); }},
        {"ProductOfRow", 2, [](Operands& o) { Ops::Elementwise(Op::Product, o.a.View(), o.row.View(), o.c.View()); }},
        {"RectifiedLinear", 2, [](Operands& o) { Ops::Elementwise(Op::RectifiedLinear, o.a.View(), o.c.View()); }},
        {"Sigmoid", 2, [](Operands& o) { Ops::Elementwise(Op::Sigmoid, o.a.View(), o.c.View()); }},
        {"Tanh", 2, [](Operands& o) { Ops::Elementwise(Op::Tanh, o.a.View(), o.c.View()); }},
        {"Exp", 2, [](Operands& o) { Ops::Elementwise(Op::Exp, o.a.View(), o.c.View()); }},
        {"Log", 2, [](Operands& o) { Ops::Elementwise(Op::Log, o.b.View(), o.c.View()); }},
        {"SigmoidGradient", 3,
         [](Operands& o) { Ops::Elementwise(Op::SigmoidGradient, o.a.View(), o.b.View(), o.c.View()); }},
        {"SigmoidGradientInto", 3,
         [](Operands& o) { Ops::Elementwise(Op::SigmoidGradient, o.a.View(), o.b.View(), o.c.View(), 1, 1); }},
        {"ReduceColumns", 1, [](Operands& o) { Ops::Elementwise(Op::Copy, o.a.View(), o.column.View()); }},
        {"ReduceRows", 1, [](Operands& o) { Ops::Elementwise(Op::Copy, o.a.View(), o.row.View()); }},
        {"SumAll", 1, [](Operands& o) { Ops::SumAll(o.a, o.scalar); }},
        {"SquaredError", 2,
         [](Operands& o) { Ops::Elementwise(Op::SquaredDifference, o.a.View(), o.b.View(), o.scalar.View()); }},
        {"HasNotFinite", 1, [](Operands& o) { benchmark::DoNotOptimize(Ops::HasNotFinite(o.a)); }},
        {"LogSoftmax", 2, [](Operands& o) { Ops::LogSoftmax(o.a, o.c); }},
        {"Softmax", 2, [](Operands& o) { Ops::Softmax(o.a, o.c); }},
        {"ArgMax", 1, [](Operands& o) { Ops::ArgMax(o.a, o.row); }},
        {"CrossEntropy", 4, [](Operands& o) { Ops::CrossEntropyWithSoftmax(o.b, o.a, {}, o.c, o.c, o.scalar); }},
        {"CrossEntropySparse", 2,
         [](Operands& o) { Ops::CrossEntropyWithSoftmax(o.labels, o.a, {}, o.c, o.b, o.scalar); }},
        {"CrossEntropyGradient", 3,
         [](Operands& o) { Ops::CrossEntropyWithSoftmaxGradient(o.b, o.a, {}, o.scalar, o.c); }},
        {"CrossEntropyGradientSparse", 2,
         [](Operands& o) { Ops::CrossEntropyWithSoftmaxGradient(o.labels, o.a, {}, o.scalar, o.c); }},
        {"DropoutMask", 1, [](Operands& o) { Ops::FillDropoutMask(o.c, 0.5, 2, 7); }},
        {"MomentumUpdate", 5, [](Operands& o) { Ops::MomentumUpdate(o.c, o.b, o.a, 0.01, 0.9); }},
    };
}

void Run(benchmark::State& state, const Case& kernelCase, DataType type)
{
    const size_t rows = size_t(state.range(0));
    const size_t columns = size_t(state.range(1));
    const auto device = MakeCpuDeviceWith(BestInstructionSet(), int(state.range(2)));
    Operands operands(*device, type, rows, columns);
    for (auto _ : state)
        kernelCase.run(operands);
    const size_t bytes = size_t(kernelCase.matrices) * rows * columns * SizeOf(type);
    state.SetBytesProcessed(int64_t(state.iterations()) * int64_t(bytes));
}

// Jobs of four tasks of 20 microseconds, while other threads, two per core, keep all cores busy.
void RunCrowded(benchmark::State& state)
{
    const int cores = int(std::max(1u, std::thread::hardware_concurrency()));
    ThreadPool pool(state.range(0) == 0 ? cores + 3 : int(state.range(0)));
    std::atomic<bool> stop = false;
    std::vector<std::thread> neighbours;
    for (int i = 0; i < 2 * cores; ++i)
        neighbours.emplace_back(
            [&]
            {
                while (!stop)
                {
                }
            });
    using Clock = std::chrono::steady_clock;
    for (auto _ : state)
        pool.Run(4,
                 [](size_t, size_t)
                 {
                     const Clock::time_point until = Clock::now() + std::chrono::microseconds(20);
                     while (Clock::now() < until)
                     {
                     }
                 });
    stop = true;
    for (std::thread& neighbour : neighbours)
        neighbour.join();
}

void Register()
{
    // One thread, and three more threads than cores.
    benchmark::RegisterBenchmark("ThreadPoolWithBusyNeighbours", RunCrowded)->UseRealTime()->Arg(1)->Arg(0);
    for (const Case& kernelCase : Cases())
    {
        for (DataType type : {DataType::Float32, DataType::Float64})
        {
            auto* registered = benchmark::RegisterBenchmark((std::string(kernelCase.name) + "/" + NameOf(type)).c_str(),
                                                            [kernelCase, type](benchmark::State& state)
                                                            { Run(state, kernelCase, type); });
            registered->UseRealTime();
            for (int threads : {1, 4})
                registered->Args({2048, 1024, threads});
            registered->Args({512, 256, 1})->Args({512, 256, 4});
            registered->Args({50, 25, 1})->Args({2, 25, 1});
        }
    }
}

[[maybe_unused]] const bool c_registered = (Register(), true);

} // namespace
} // namespace cntk
