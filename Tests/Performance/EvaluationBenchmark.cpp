// Latency of one call of the evaluation library, on one thread, beside onnxruntime on the same networks.
//
//     CNTK_ONNXRUNTIME=.../libonnxruntime.so.1.20.1 EvaluationBenchmark
//
// The library of onnxruntime 1.20 is in the npm package onnxruntime-node. Without it, only this library is measured.
// The column "difference" is the largest difference of their outputs.
#include "Common/File.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "EvalLibrary/Include/cntk/cntk.h"
#include "OnnxRuntime.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

namespace
{

using Clock = std::chrono::steady_clock;

// A network in both forms.
struct Case
{
    std::string name;
    std::string model; // a model file
    OnnxModel onnx;
    size_t inputs = 0;
    size_t outputs = 0;
    bool isSequence = false;
};

class CaseBuilder
{
public:
    CaseBuilder() : m_network(DataType::Float32, MakeCpuDevice({.threads = 1})) {}

    ComputationNodePtr Input(size_t rows)
    {
        m_case.inputs = rows;
        return m_network.AddInput("features", {rows});
    }
    // A parameter with reproducible values.
    ComputationNodePtr Parameter(const std::string& name, const TensorShape& shape)
    {
        const ComputationNodePtr node = m_network.AddParameter(name, shape);
        std::vector<float> values(shape.Elements());
        for (float& value : values)
        {
            m_seed = m_seed * 1664525u + 1013904223u;
            value = (float(m_seed >> 8) / float(1u << 23) - 1) / std::sqrt(float(shape.MatrixColumns()));
        }
        std::static_pointer_cast<LearnableParameterNode>(node)->Values().FromHost(std::span<const float>(values));
        m_values[name] = std::move(values);
        return node;
    }
    const std::vector<float>& Values(const std::string& name) const { return m_values.at(name); }
    ComputationNodePtr Affine(const std::string& name, size_t rows, size_t columns, const ComputationNodePtr& x)
    {
        const auto product = m_network.Add("Times", name + ".Wx", {Parameter(name + ".W", {rows, columns}), x});
        return m_network.Add("Plus", name, {product, Parameter(name + ".b", {rows})});
    }

    Case FeedForward(const std::string& name, const std::vector<size_t>& sizes)
    {
        ComputationNodePtr node = Input(sizes[0]);
        std::string last = "features";
        for (size_t i = 1; i < sizes.size(); i++)
        {
            const std::string layer = "L" + std::to_string(i);
            node = Affine(layer, sizes[i], sizes[i - 1], node);
            m_case.onnx.AddInitializer(layer + ".W", {sizes[i - 1], sizes[i]}, Values(layer + ".W"));
            m_case.onnx.AddInitializer(layer + ".b", {sizes[i]}, Values(layer + ".b"));
            m_case.onnx.AddNode("MatMul", {last, layer + ".W"}, {layer + ".p"});
            m_case.onnx.AddNode("Add", {layer + ".p", layer + ".b"}, {layer});
            last = layer;
            if (i + 1 == sizes.size())
                break;
            node = m_network.Add("Sigmoid", layer + ".s", {node});
            m_case.onnx.AddNode("Sigmoid", {layer}, {layer + ".s"});
            last += ".s";
        }
        m_case.onnx.SetBorder("features", {0, sizes.front()}, last, {0, sizes.back()});
        return Finish(name, node, sizes.back());
    }

    Case Lstm(const std::string& name, size_t inputs, size_t cells)
    {
        const ComputationNodePtr x = Input(inputs);
        NodeParameters zero;
        zero.Set("defaultHiddenActivity", "0");
        const auto hBefore = m_network.AddUnconnected("PastValue", "hBefore", zero);
        const auto cBefore = m_network.AddUnconnected("PastValue", "cBefore", zero);
        std::vector<float> w, r, b; // of all gates, rows in the order of ONNX, each row contiguous
        std::vector<ComputationNodePtr> gates;
        for (const char* gate : {"i", "o", "f", "c"})
        {
            const std::string recurrent = std::string(gate) + ".R";
            const auto product =
                m_network.Add("Times", std::string(gate) + ".Rh", {Parameter(recurrent, {cells, cells}), hBefore});
            const auto sum =
                m_network.Add("Plus", std::string(gate) + ".sum", {Affine(gate, cells, inputs, x), product});
            gates.push_back(m_network.Add(gate[0] == 'c' ? "Tanh" : "Sigmoid", std::string(gate) + ".gate", {sum}));
            AppendRows(Values(std::string(gate) + ".W"), cells, inputs, w);
            AppendRows(Values(recurrent), cells, cells, r);
            b.insert(b.end(), Values(std::string(gate) + ".b").begin(), Values(std::string(gate) + ".b").end());
        }
        b.resize(2 * b.size());
        const auto kept = m_network.Add("ElementTimes", "kept", {gates[2], cBefore});
        const auto added = m_network.Add("ElementTimes", "added", {gates[0], gates[3]});
        const auto cell = m_network.Add("Plus", "cell", {kept, added});
        const auto h = m_network.Add("ElementTimes", "h", {gates[1], m_network.Add("Tanh", "tanhCell", {cell})});
        m_network.SetInputs(hBefore, {h});
        m_network.SetInputs(cBefore, {cell});
        m_case.isSequence = true;
        m_case.onnx.AddInitializer("W", {1, 4 * cells, inputs}, w);
        m_case.onnx.AddInitializer("R", {1, 4 * cells, cells}, r);
        m_case.onnx.AddInitializer("B", {1, 8 * cells}, b);
        m_case.onnx.AddNode("LSTM", {"features", "W", "R", "B"}, {"y"}, "hidden_size", cells);
        m_case.onnx.SetBorder("features", {0, 1, inputs}, "y", {0, 1, 1, cells});
        return Finish(name, h, cells);
    }

private:
    static void AppendRows(const std::vector<float>& matrix, size_t rows, size_t columns, std::vector<float>& to)
    {
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++)
                to.push_back(matrix[j * rows + i]);
    }

    Case Finish(const std::string& name, const ComputationNodePtr& output, size_t rows)
    {
        m_network.AddToGroup(NodeGroup::Output, output);
        m_network.Validate();
        const std::string path = (std::filesystem::temp_directory_path() / "EvaluationBenchmark.dnn").string();
        SaveModel(m_network, path);
        m_case.model = std::string(MappedFile(path).Text());
        RemoveFile(path);
        m_case.name = name;
        m_case.outputs = rows;
        return std::move(m_case);
    }

    ComputationNetwork m_network;
    Case m_case;
    std::map<std::string, std::vector<float>> m_values;
    unsigned m_seed = 1;
};

// The median of the times of a call, in microseconds.
template <class Call>
double Microseconds(const Call& call)
{
    constexpr int c_callsTogether = 20;
    std::vector<double> times;
    const Clock::time_point end = Clock::now() + std::chrono::milliseconds(600);
    do
    {
        const Clock::time_point begin = Clock::now();
        for (int i = 0; i < c_callsTogether; i++)
            call();
        times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / c_callsTogether);
    } while (Clock::now() < end);
    std::nth_element(times.begin(), times.begin() + ptrdiff_t(times.size() / 2), times.end());
    return times[times.size() / 2];
}

void Require(cntk_status status)
{
    if (status == CNTK_OK)
        return;
    std::fprintf(stderr, "%s\n", cntk_last_error());
    std::exit(1);
}

void Measure(const Case& one, size_t samples, OnnxRuntime* runtime)
{
    cntk_model* model = nullptr;
    cntk_evaluator* evaluator = nullptr;
    Require(cntk_model_load_memory(one.model.data(), one.model.size(), CNTK_FLOAT, &model));
    Require(cntk_evaluator_create(model, nullptr, 0, &evaluator));
    if (one.isSequence)
        Require(cntk_set_sequences(evaluator, &samples, 1));
    std::vector<float> input(one.inputs * samples), output(one.outputs * samples);
    for (size_t i = 0; i < input.size(); i++)
        input[i] = float(i % 13) / 13 - 0.5f;
    size_t count = 0;
    const double own = Microseconds(
        [&]
        {
            Require(cntk_set_dense(evaluator, 0, CNTK_FLOAT, input.data(), samples));
            Require(cntk_evaluate(evaluator));
            Require(cntk_get(evaluator, 0, CNTK_FLOAT, output.data(), output.size(), &count));
        });
    std::printf("%-28s %4zu %10.2f", one.name.c_str(), samples, own);
    if (runtime != nullptr)
    {
        OnnxRuntime::Session session(*runtime, one.onnx.Bytes());
        std::vector<int64_t> dims;
        if (one.isSequence)
            dims = {int64_t(samples), 1, int64_t(one.inputs)};
        else
            dims = {int64_t(samples), int64_t(one.inputs)};
        std::vector<float> other;
        const double theirs = Microseconds([&] { session.Run(input, dims, one.onnx, other); });
        float difference = 0;
        for (size_t i = 0; i < output.size(); i++)
            difference = std::max(difference, std::fabs(output[i] - other[i]));
        std::printf(" %12.2f %8.2f %11.1e", theirs, theirs / own, double(difference));
    }
    std::printf("\n");
    cntk_evaluator_release(evaluator);
    cntk_model_release(model);
}

} // namespace

} // namespace cntk

int main()
{
    using namespace cntk;
    std::unique_ptr<OnnxRuntime> runtime;
    if (const char* const path = std::getenv("CNTK_ONNXRUNTIME"))
        runtime = std::make_unique<OnnxRuntime>(path);
    std::printf("microseconds a call        samples       cntk  onnxruntime    times  difference\n");
    const Case small = CaseBuilder().FeedForward("2-50-50-2", {2, 50, 50, 2});
    const Case digits = CaseBuilder().FeedForward("784-200-10", {784, 200, 10});
    const Case speech = CaseBuilder().FeedForward("792-512-512-512-183", {792, 512, 512, 512, 183});
    const Case lstm = CaseBuilder().Lstm("LSTM 64-256", 64, 256);
    Measure(small, 1, runtime.get());
    Measure(digits, 1, runtime.get());
    Measure(speech, 1, runtime.get());
    Measure(speech, 16, runtime.get());
    Measure(lstm, 1, runtime.get());
    Measure(lstm, 35, runtime.get());
    return 0;
}
