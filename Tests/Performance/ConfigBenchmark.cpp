// Reads a config of a megabyte, some 10,000 blocks, and looks up a value with a variable in each block.
#include "Common/Config/ConfigParameters.h"

#include <benchmark/benchmark.h>
#include <string>

namespace cntk
{
namespace
{

void BM_LargeConfig(benchmark::State& state)
{
    std::string text = "Root=here\n";
    for (int i = 0; text.size() < 1'000'000; ++i)
    {
        const std::string n = std::to_string(i);
        text +=
            "block" + n + "=[ # note\n  file=$Root$/data" + n + ".txt\n  dims=(2:3*4)\n  inner=[a=1;b=\"x y\"]\n]\n";
    }
    for (auto _ : state)
    {
        const auto config = ConfigParameters::Parse(text, "large.cntk");
        for (const std::string& name : config->BlockNames())
            benchmark::DoNotOptimize(config->RequireBlock(name).Require("file"));
    }
    state.SetBytesProcessed(int64_t(state.iterations()) * int64_t(text.size()));
}

BENCHMARK(BM_LargeConfig)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace cntk
