// Times one update of 10 million parameters by each rule, in turns with a += b of equal size: BM/<rule>/<threads>.
// bytes_per_second counts the bytes that a rule must read and write. of_memory is its share of the rate of a += b, the
// median over all turns, because other programs slow both down. at_best compares the fastest turn of each: with several
// threads, longer work is delayed more often by a thread that loses its core. Noise needs no memory, so it counts as 0
// bytes.
#include "Math/Operations.h"
#include "SGD/Update/UpdateRule.h"

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

constexpr GradientUpdateType c_plain = GradientUpdateType::None;

struct RuleCase
{
    const char* name;
    size_t matricesMoved; // number of matrices of the parameter's size that are read or written
    SgdOptions options;
};

void TimeRule(benchmark::State& state, const RuleCase& rule, int threads)
{
    const auto device = MakeCpuDevice({.threads = threads});
    const SgdOptions& options = rule.options;
    UpdateRule update(options);
    Matrix parameter(c_rows, c_columns, DataType::Float32, *device);
    Matrix gradient(c_rows, c_columns, DataType::Float32, *device);
    Matrix memory(c_rows, c_columns, DataType::Float32, *device);
    Ops::FillUniform(parameter, -1, 1, 1);
    Ops::FillUniform(gradient, -1, 1, 2);
    GradientTransforms transforms(options);
    UpdateStep step{.rate = 1e-4, .momentum = 0.9, .columns = 256};
    const auto run = [&]
    {
        transforms.Prepare(step, nullptr);
        update.BeginUpdate(step.momentum);
        update.Step(parameter, memory, gradient, nullptr, step);
        transforms.Finish(parameter, step, nullptr);
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

SgdOptions Options(GradientUpdateType type, bool normalizes = false)
{
    SgdOptions options;
    options.gradUpdateType = type;
    options.normWithAveMultiplier = normalizes;
    return options;
}

template <class Value>
SgdOptions With(SgdOptions options, Value SgdOptions::*member, Value value)
{
    options.*member = value;
    return options;
}

// Reads gradient and parameter and writes the parameter; reads and writes each matrix of the state. The mean of the
// multipliers needs a second pass, which writes and reads the gradient once more. The norm of the gradient reads it
// once more.
std::vector<RuleCase> Cases()
{
    const SgdOptions momentum = Options(c_plain);
    const SgdOptions adaGrad = Options(GradientUpdateType::AdaGrad, true);
    const SgdOptions adam = Options(GradientUpdateType::Adam);
    SgdOptions regularized = With(momentum, &SgdOptions::l1RegWeight, 1e-6);
    regularized.l2RegWeight = 1e-6;
    SgdOptions byNorm = With(momentum, &SgdOptions::clippingThresholdPerSample, 1.0);
    byNorm.gradientClippingWithTruncation = false;
    return {{"momentum", 5, momentum},
            {"momentum_noise", 5, With(momentum, &SgdOptions::gaussianNoiseInjectStd, 1e-3)},
            {"momentum_l1_l2", 5, regularized},
            {"momentum_truncation", 5, With(momentum, &SgdOptions::clippingThresholdPerSample, 0.001)},
            {"momentum_norm", 6, byNorm},
            {"nesterov", 5, With(momentum, &SgdOptions::useNAG, true)},
            {"adagrad", 5, Options(GradientUpdateType::AdaGrad)},
            {"adagrad_normalized", 7, adaGrad},
            {"adagrad_normalized_noise", 7, With(adaGrad, &SgdOptions::gaussianNoiseInjectStd, 1e-3)},
            {"rmsprop", 9, Options(GradientUpdateType::RmsProp)},
            {"rmsprop_normalized", 11, Options(GradientUpdateType::RmsProp, true)},
            {"fsadagrad", 7, Options(GradientUpdateType::FSAdaGrad)},
            {"adam", 7, adam},
            {"adam_noise", 7, With(adam, &SgdOptions::gaussianNoiseInjectStd, 1e-3)}};
}

const bool c_registered = []
{
    for (const int threads : {1, 4})
        for (const RuleCase& rule : Cases())
            benchmark::RegisterBenchmark(("BM/" + std::string(rule.name) + "/" + std::to_string(threads)).c_str(),
                                         TimeRule, rule, threads)
                ->UseManualTime();
    return true;
}();

} // namespace
} // namespace cntk
