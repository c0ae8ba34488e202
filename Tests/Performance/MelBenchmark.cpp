// Edits a model of some 5,000 nodes: 100 commands a round, most of them on all nodes. Times reading, checking and
// executing the script. The model is loaded before; only the last case writes files.
#include "ActionsLib/Mel/MelEditor.h"
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "Common/Error.h"
#include "Common/Log.h"

#include <benchmark/benchmark.h>
#include <filesystem>
#include <string>

namespace cntk
{
namespace
{

constexpr int c_commands = 100;

// 1,000 layers of five nodes: L1.F.B, L1.F.W, L1.F.T, L1.F.P, L1.S. Values are small, so the time is that of the nodes.
std::string NetworkText()
{
    std::string text = "BFF(x)\n{\n  B=Parameter(8)\n  W=Parameter(8, 8)\n  T=Times(W, x)\n  P=Plus(T, B)\n}\n"
                       "SBFF(x)\n{\n  F=BFF(x)\n  S=Sigmoid(F)\n}\n"
                       "features=Input(8, tag=feature)\nlabels=Input(8, tag=label)\nL1=SBFF(features)\n";
    for (int i = 2; i <= 1000; ++i)
        text += Concat("L", i, "=SBFF(L", i - 1, ")\n");
    return text + "ce=CrossEntropyWithSoftmax(labels, L1000, tag=criterion)\n";
}

// Repeats one command, or several in turn, 100 times; %d is the number of the command, from 1.
std::string Script(const std::vector<std::string>& commands)
{
    std::string script;
    for (int i = 0; i < c_commands; ++i)
    {
        std::string command = commands[i % commands.size()];
        if (const size_t number = command.find("%d"); number != std::string::npos)
            command.replace(number, 2, std::to_string(i + 1));
        script += command + "\n";
    }
    return script;
}

void BM_HundredCommands(benchmark::State& state, const std::vector<std::string>& commands)
{
    const std::shared_ptr<Device> device = MakeCpuDevice({.threads = 1});
    const auto text = std::make_shared<SourceText>("edit.mel", Script(commands));
    const std::filesystem::path folder = std::filesystem::temp_directory_path();
    Log log;
    log.RedirectTo((folder / "cntk-mel-benchmark.log").string());
    size_t nodes = 0;
    for (auto _ : state)
    {
        state.PauseTiming();
        NdlContext context;
        auto editor = std::make_unique<MelEditor>(DataType::Float32, device, context, log);
        editor->Models().Add("m", BuildNetworkFromNdlText(NetworkText(), "net.ndl", DataType::Float32, device));
        editor->Models().Add("n", editor->Models().MakeNetwork());
        nodes = editor->Models().Find("m")->network->size();
        state.ResumeTiming();
        editor->Run(PrepareMel(text));
        state.PauseTiming();
        editor.reset();
        state.ResumeTiming();
    }
    state.counters["nodes"] = double(nodes);
    state.counters["ms/command"] = benchmark::Counter(c_commands / 1e3, benchmark::Counter::kIsIterationInvariantRate |
                                                                            benchmark::Counter::kInvert);
}

#define HUNDRED(name, ...)                                                                                             \
    BENCHMARK_CAPTURE(BM_HundredCommands, name, std::vector<std::string>{__VA_ARGS__})->Unit(benchmark::kMillisecond)

HUNDRED(copy_in_place_and_delete, "Copy(L*, K*)", "Delete(K*)");
HUNDRED(copy_in_place_onto_copies, "Copy(L*, K*)");
HUNDRED(copy_to_another_model, "Copy(m.*, n.*)");
HUNDRED(copy_values_to_another_model, "Copy(m.*, n.*, copy=value)");
HUNDRED(copy_sub_tree, "CopySubTree(ce, n, p%d.)", "Delete(n.*)");
HUNDRED(set_property_output, "SetProperty(m.*, Output, true)", "SetProperty(m.*, Output, false)");
HUNDRED(set_property_rate, "SetProperty(m.*, learningRateMultiplier, 0.5)");
HUNDRED(set_property_sub_tree, "SetPropertyForSubTree(ce, ComputeGradient, false)");
HUNDRED(set_input, "SetInput(L*.T, 1, features)");
HUNDRED(copy_inputs, "CopyInputs(L*.T, L*.T)");
HUNDRED(rename, "Rename(L*, K*)", "Rename(K*, L*)");
HUNDRED(delete_five_each, "Delete(L%d.*)");
HUNDRED(one_node_each, "Copy(L%d.F.W, W%d)");
HUNDRED(save, "SaveModel(m, \"" + (std::filesystem::temp_directory_path() / "cntk-mel-benchmark.dnn").string() + "\")");

} // namespace
} // namespace cntk
