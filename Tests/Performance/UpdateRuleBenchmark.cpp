// Times one update of 10 million parameters by each rule, in turns with a += b of as many: BM/<rule>/<threads>.
// bytes_per_second counts what a rule must read and write; of_memory is its share of what a += b moves in the same
// moment, the median over all turns: what else the machine does slows both down. at_best compares the fastest turn of
// each: several threads wait for the one whose core something else uses, the longer work more often.
// BM/noise: noise for as many; drawing is the share of the time that its numbers take, without their addition.
#include "Math/Operations.h"
#include "SGD/GradientTransforms.h"
#include "SGD/UpdateRule.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <limits>
#include <string>
#include <vector>

namespace cntk
{
namespace
{

constexpr size_t c_rows = 2000;
constexpr size_t c_columns = 5000;
constexpr double c_matrixBytes = c_rows * c_columns * sizeof(float);

struct RuleCase
{
    const char* name;
    GradientUpdateType type;
    bool nesterov;
    bool normalizes;      // by the mean of the multipliers
    size_t matricesMoved; // read or written, of the parameter's size
};

void TimeRule(benchmark::State& state, const RuleCase& rule, int threads)
{
    const auto device = MakeCpuDevice({.threads = threads});
    SgdOptions options;
    options.gradUpdateType = rule.type;
    options.useNAG = rule.nesterov;
    options.normWithAveMultiplier = rule.normalizes;
    const auto update = MakeUpdateRule(options);
    Matrix parameter(c_rows, c_columns, DataType::Float32, *device);
    Matrix gradient(c_rows, c_columns, DataType::Float32, *device);
    Matrix memory(c_rows, c_columns, DataType::Float32, *device);
    Ops::FillUniform(parameter, -1, 1, 1);
    Ops::FillUniform(gradient, -1, 1, 2);
    const UpdateStep step{.rate = 1e-4, .momentum = 0.9, .columns = 256};
    const auto run = [&]
    {
        update->BeginUpdate(step.momentum);
        update->Step(parameter, memory, gradient, nullptr, step);
    };
    run(); // allocates

    // a += b: reads two, writes one.
    Matrix a(c_rows, c_columns, DataType::Float32, *device);
    Matrix b(c_rows, c_columns, DataType::Float32, *device);
    Ops::FillUniform(b, -1, 1, 1);
    const auto secondsOf = [](const auto& work)
    {
        const auto began = std::chrono::steady_clock::now();
        work();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    std::vector<double> shares;
    double bestMemory = std::numeric_limits<double>::infinity(), bestRule = bestMemory;
    for (auto _ : state)
    {
        const double memorySeconds = secondsOf(
            [&] { Ops::Elementwise(ElementwiseOp::Copy, TensorView(b.View()), TensorView(a.View()), 1e-6, 1); });
        const double ruleSeconds = secondsOf(run);
        state.SetIterationTime(ruleSeconds);
        shares.push_back(double(rule.matricesMoved) / ruleSeconds / (3 / memorySeconds));
        bestMemory = std::min(bestMemory, memorySeconds);
        bestRule = std::min(bestRule, ruleSeconds);
    }
    std::nth_element(shares.begin(), shares.begin() + ptrdiff_t(shares.size() / 2), shares.end());
    state.counters["of_memory"] = shares[shares.size() / 2];
    state.counters["at_best"] = double(rule.matricesMoved) / bestRule / (3 / bestMemory);
    state.SetBytesProcessed(int64_t(double(state.iterations() * rule.matricesMoved) * c_matrixBytes));
}

void TimeNoise(benchmark::State& state, int threads)
{
    const auto device = MakeCpuDevice({.threads = threads});
    SgdOptions options;
    options.gaussianNoiseInjectStd = 1e-3;
    GradientTransforms transforms(options, DataType::Float32, *device);
    Matrix parameter(c_rows, c_columns, DataType::Float32, *device);
    Matrix noise(c_rows, c_columns, DataType::Float32, *device);
    parameter.SetZero();
    transforms.Finish(parameter, {}); // allocates
    double seconds = 0, drawing = 0;
    for (auto _ : state)
    {
        const auto began = std::chrono::steady_clock::now();
        transforms.Finish(parameter, {});
        const auto added = std::chrono::steady_clock::now();
        Ops::FillGaussian(noise, 0, 1e-3, 1);
        drawing += std::chrono::duration<double>(std::chrono::steady_clock::now() - added).count();
        state.SetIterationTime(std::chrono::duration<double>(added - began).count());
        seconds += std::chrono::duration<double>(added - began).count();
    }
    state.counters["drawing"] = drawing / seconds;
}

const bool c_registered = []
{
    for (const int threads : {1, 4})
    {
        const std::string suffix = "/" + std::to_string(threads);
        benchmark::RegisterBenchmark(("BM/noise" + suffix).c_str(), TimeNoise, threads)->UseManualTime();
        // Gradient and parameter are read and the parameter is written; each matrix of the state is read and written.
        // With the mean of the multipliers a second pass is unavoidable: the gradient is written and read once more.
        for (const RuleCase& rule : {RuleCase{"momentum", GradientUpdateType::None, false, false, 5},
                                     RuleCase{"nesterov", GradientUpdateType::None, true, false, 5},
                                     RuleCase{"adagrad", GradientUpdateType::AdaGrad, false, false, 5},
                                     RuleCase{"adagrad_normalized", GradientUpdateType::AdaGrad, false, true, 7},
                                     RuleCase{"rmsprop", GradientUpdateType::RmsProp, false, false, 9},
                                     RuleCase{"rmsprop_normalized", GradientUpdateType::RmsProp, false, true, 11},
                                     RuleCase{"fsadagrad", GradientUpdateType::FSAdaGrad, false, false, 7},
                                     RuleCase{"adam", GradientUpdateType::Adam, false, false, 7}})
            benchmark::RegisterBenchmark(("BM/" + std::string(rule.name) + suffix).c_str(), TimeRule, rule, threads)
                ->UseManualTime();
    }
    return true;
}();

} // namespace
} // namespace cntk
