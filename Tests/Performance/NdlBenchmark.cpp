// Parses, builds, validates and plans networks of some 5,000 nodes. Layers are small, so the time is that of the nodes,
// not of the initial values.
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "ComputationNetwork/Plan/EvaluationPlan.h"
#include "ComputationNetwork/Plan/MemoryPlan.h"

#include <benchmark/benchmark.h>
#include <string>

namespace cntk
{
namespace
{

enum class Style
{
    Plain,  // one statement a node
    Macros, // two levels of macros
    Nested  // calls within calls
};

std::string Script(Style style, int layers)
{
    std::string text = "Dim=8\nfeatures=Input(Dim, tag=feature)\nlabels=Input(Dim, tag=label)\nL0=Sigmoid(features)\n";
    if (style == Style::Macros)
        text += "BFF(x, rows, cols)\n{\n  B=Parameter(rows)\n  W=Parameter(rows, cols)\n  T=Times(W, x)\n"
                "  P=Plus(T, B)\n}\nSBFF(x, rows, cols)\n{\n  F=BFF(x, rows, cols)\n  S=Sigmoid(F)\n}\n";
    for (int i = 1; i <= layers; i++)
    {
        const std::string n = std::to_string(i), below = "L" + std::to_string(i - 1);
        if (style == Style::Plain)
            text += "B" + n + "=Parameter(Dim)\nW" + n + "=Parameter(Dim, Dim)\nT" + n + "=Times(W" + n + ", " + below +
                    ")\nP" + n + "=Plus(T" + n + ", B" + n + ")\nL" + n + "=Sigmoid(P" + n + ")\n";
        else if (style == Style::Macros)
            text += "L" + n + "=SBFF(" + below + ", Dim, Dim)\n";
        else
            text += "L" + n + "=Sigmoid(Plus(Times(Parameter(Dim, Dim), " + below + "), Parameter(Dim)))\n";
    }
    const std::string last = "L" + std::to_string(layers);
    return text + "ce=CrossEntropyWithSoftmax(labels, " + last + ", tag=criterion)\nerr=ErrorPrediction(labels, " +
           last + ", tag=eval)\n";
}

void BM_FromTextToPlan(benchmark::State& state, Style style)
{
    const std::string script = Script(style, 1000);
    const std::shared_ptr<Device> device = MakeCpuDevice({.threads = 1});
    size_t nodes = 0;
    for (auto _ : state)
    {
        const auto network = BuildNetworkFromNdlText(script, "net.ndl", DataType::Float32, device);
        EvaluationPlan::Options options;
        options.training = true;
        options.backwardRoot = network->Group(NodeGroup::Criterion).front();
        const EvaluationPlan plan =
            EvaluationPlan::Build({options.backwardRoot, network->Group(NodeGroup::Evaluation).front()}, options);
        const MemoryPlan memory = MemoryPlan::Build(plan, {.share = true, .aliasGradients = true, .keepValues = {}});
        nodes = network->size();
        benchmark::DoNotOptimize(memory.SlotCount());
    }
    state.counters["nodes"] = double(nodes);
}
BENCHMARK_CAPTURE(BM_FromTextToPlan, plain, Style::Plain)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_FromTextToPlan, macros, Style::Macros)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_FromTextToPlan, nested, Style::Nested)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace cntk
