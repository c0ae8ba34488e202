// Times the matrix products of the benchmark networks:
// BM/<engine>/<m>x<n>x<k><t for op(A) transposed, T for op(B)>/<threads>. gflops is the median, of_peak its share of
// the rate of multiply-adds in registers, measured on all threads right before each product.
#include "Common/Error.h"
#include "Math/Cpu/CpuDevice.h"
#include "Math/Cpu/GemmContext.h"
#include "Math/Cpu/ThreadPool.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace cntk
{
namespace
{

struct Shape
{
    size_t m;
    size_t n;
    size_t k;
    bool transA;
    bool transB;
};

// Forward, backward and weights' gradient of timit-dnn, mnist-mlp-big, mnist-mlp, the language model, the slot tagger
// and the speech network; the Simple demo.
const std::vector<Shape> c_shapes = {
    {512, 1024, 792, false, false},  {512, 1024, 512, false, false},  {183, 1024, 512, false, false},
    {512, 1024, 512, true, false},   {512, 1024, 183, true, false},   {512, 792, 1024, false, true},
    {512, 512, 1024, false, true},   {183, 512, 1024, false, true},   {512, 256, 792, false, false},
    {512, 256, 512, false, false},   {512, 512, 256, false, true},    {2048, 1024, 2048, false, false},
    {2048, 1024, 2048, true, false}, {2048, 2048, 1024, false, true}, {256, 32, 784, false, false},
    {256, 784, 32, false, true},     {10, 32, 256, false, false},     {256, 32, 10, true, false},
    {10, 256, 32, false, true},      {200, 10, 200, false, false},    {800, 10, 200, false, false},
    {200, 10, 800, true, false},     {200, 64, 800, true, false},     {800, 64, 200, false, false},
    {800, 640, 200, false, false},   {800, 200, 640, false, true},    {10000, 100, 200, false, false},
    {10000, 200, 100, false, true},  {200, 100, 10000, true, false},  {1200, 10, 300, false, false},
    {300, 10, 1200, true, false},    {2048, 32, 512, false, false},   {512, 32, 2048, true, false},
    {2048, 640, 512, false, false},  {2048, 512, 640, false, true},   {512, 640, 2048, true, false},
    {50, 25, 2, false, false},       {50, 25, 50, false, false},      {50, 25, 50, true, false},
    {50, 50, 25, false, true},
};

// Independent sums with distinct initial values, so that the compiler can neither merge them nor remove the loop. The
// value 2 would stay constant.
constexpr size_t c_sums = 12;
template <size_t Bytes, size_t... Sum>
[[gnu::always_inline]] inline float MultiplyAdds(size_t count, std::index_sequence<Sum...>)
{
    using Vector __attribute__((vector_size(Bytes))) = float;
    const Vector zero = {};
    const Vector factor = zero + 0.5f;
    const Vector term = zero + 1.0f;
    Vector sums[] = {(zero + float(Sum + 3))...};
    for (size_t i = 0; i < count; ++i)
        ((sums[Sum] = sums[Sum] * factor + term), ...);
    Vector all = {};
    ((all += sums[Sum]), ...);
    float first = 0;
    std::memcpy(&first, &all, sizeof first);
    return first;
}
__attribute__((target("avx512f"))) float MultiplyAdds512(size_t count)
{
    return MultiplyAdds<64>(count, std::make_index_sequence<c_sums>());
}
__attribute__((target("avx2,fma"))) float MultiplyAdds256(size_t count)
{
    return MultiplyAdds<32>(count, std::make_index_sequence<c_sums>());
}
float MultiplyAdds128(size_t count)
{
    return MultiplyAdds<16>(count, std::make_index_sequence<c_sums>());
}

double Seconds(const auto& work)
{
    const auto began = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Returns the operations a second of all threads together. Each thread measures itself, because hyperthreads share a
// core.
double Peak(ThreadPool& pool)
{
    constexpr size_t c_count = 60000;
    const InstructionSet set = BestInstructionSet();
    const double lanes = set == InstructionSet::Avx512 ? 16 : set == InstructionSet::Avx2 ? 8 : 4;
    std::vector<double> rates(size_t(pool.Threads()));
    const auto measure = [&](size_t task, size_t)
    {
        float result = 0;
        const double seconds = Seconds(
            [&]
            {
                result = set == InstructionSet::Avx512 ? MultiplyAdds512(c_count)
                         : set == InstructionSet::Avx2 ? MultiplyAdds256(c_count)
                                                       : MultiplyAdds128(c_count);
            });
        benchmark::DoNotOptimize(result);
        rates[task] = 2 * double(c_sums) * lanes * double(c_count) / seconds;
    };
    pool.Run(rates.size(), measure); // wakes the workers
    pool.Run(rates.size(), measure);
    return std::accumulate(rates.begin(), rates.end(), 0.0);
}

double Median(std::vector<double>& values)
{
    std::nth_element(values.begin(), values.begin() + ptrdiff_t(values.size() / 2), values.end());
    return values[values.size() / 2];
}

void Run(benchmark::State& state, const Shape& shape, MatrixEngine engine, int threads)
{
    if (engine != MatrixEngine::Own && FindLibraryProduct<float>(engine) == nullptr)
        return state.SkipWithError("the library is not installed");
    ThreadPool pool(threads);
    GemmContext context(pool, KernelsFor(BestInstructionSet()).products, engine);
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    // Same placement as in the program: aligned to cache lines, large matrices in large pages.
    const std::shared_ptr<Device> device = MakeCpuDevice({.threads = 1});
    const auto matrix = [&](size_t elements)
    {
        std::shared_ptr<float> memory(static_cast<float*>(device->Allocate(elements * sizeof(float))),
                                      [device](float* values) { device->Free(values); });
        std::generate_n(memory.get(), elements, [&] { return uniform(random); });
        return memory;
    };
    const std::shared_ptr<float> a = matrix(shape.m * shape.k), b = matrix(shape.k * shape.n),
                                 c = matrix(shape.m * shape.n);
    GemmTask<float> task;
    task.transA = shape.transA;
    task.transB = shape.transB;
    task.m = shape.m;
    task.n = shape.n;
    task.k = shape.k;
    task.a = a.get();
    task.lda = shape.transA ? shape.k : shape.m;
    task.b = b.get();
    task.ldb = shape.transB ? shape.n : shape.k;
    task.c = c.get();
    task.ldc = shape.m;
    const double work = 2 * double(shape.m) * double(shape.n) * double(shape.k);
    const size_t times = size_t(std::max(1.0, 4e7 / work));
    std::vector<double> rates, shares;
    for (auto _ : state)
    {
        const double peak = Peak(pool);
        const double seconds = Seconds(
            [&]
            {
                for (size_t i = 0; i < times; ++i)
                    context.Multiply(task);
            });
        state.SetIterationTime(seconds);
        rates.push_back(work * double(times) / seconds);
        shares.push_back(rates.back() / peak);
    }
    state.counters["gflops"] = Median(rates) / 1e9;
    state.counters["of_peak"] = Median(shares);
}

[[maybe_unused]] const bool c_registered = []
{
    const std::pair<const char*, MatrixEngine> engines[] = {
        {"own", MatrixEngine::Own}, {"OpenBLAS", MatrixEngine::OpenBlas}, {"oneDNN", MatrixEngine::OneDnn}};
    for (const Shape& shape : c_shapes)
        for (const int threads : {1, 4})
            for (const auto& [name, engine] : engines)
                benchmark::RegisterBenchmark(Concat("BM/", name, "/", shape.m, "x", shape.n, "x", shape.k,
                                                    shape.transA ? "t" : "", shape.transB ? "T" : "", "/", threads)
                                                 .c_str(),
                                             Run, shape, engine, threads)
                    ->UseManualTime()
                    ->MinTime(0.15);
    return true;
}();

} // namespace
} // namespace cntk
