// Times one update of 10 million parameters by each rule, beside what memory can deliver: BM/<rule>/<threads>.
// bytes_per_second counts what a rule must read and write.
#include "Math/Operations.h"
#include "SGD/UpdateRule.h"

#include <benchmark/benchmark.h>
#include <string>

namespace cntk
{
namespace
{

constexpr size_t c_rows = 2000;
constexpr size_t c_columns = 5000;

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
    for (auto _ : state)
        run();
    state.SetBytesProcessed(int64_t(state.iterations() * rule.matricesMoved * c_rows * c_columns * sizeof(float)));
}

// a += b: reads two, writes one.
void TimeMemory(benchmark::State& state, int threads)
{
    const auto device = MakeCpuDevice({.threads = threads});
    Matrix a(c_rows, c_columns, DataType::Float32, *device);
    Matrix b(c_rows, c_columns, DataType::Float32, *device);
    Ops::FillUniform(b, -1, 1, 1);
    for (auto _ : state)
        Ops::Elementwise(ElementwiseOp::Copy, TensorView(b.View()), TensorView(a.View()), 1e-6, 1);
    state.SetBytesProcessed(int64_t(state.iterations() * 3 * c_rows * c_columns * sizeof(float)));
}

const bool c_registered = []
{
    for (const int threads : {1, 4})
    {
        const std::string suffix = "/" + std::to_string(threads);
        benchmark::RegisterBenchmark(("BM/memory" + suffix).c_str(), TimeMemory, threads)->UseRealTime();
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
                ->UseRealTime();
    }
    return true;
}();

} // namespace
} // namespace cntk
