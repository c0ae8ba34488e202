// Small networks as model files in memory, and short forms of the C interface for tests.
#pragma once

#include "Common/File.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "EvalLibrary/Include/cntk/cntk.h"

#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace cntk::Testing
{

// Reproducible values in +-1.
inline std::vector<double> EvalData(size_t count, unsigned seed = 1)
{
    std::vector<double> values(count);
    for (double& value : values)
    {
        seed = seed * 1664525u + 1013904223u;
        value = double(seed >> 8) / double(1u << 23) - 1;
    }
    return values;
}

class EvalNetwork
{
public:
    explicit EvalNetwork(DataType type = DataType::Float64) : network(type, MakeCpuDevice({.threads = 1})) {}

    ComputationNodePtr Parameter(const std::string& name, const TensorShape& shape)
    {
        const ComputationNodePtr node = network.AddParameter(name, shape);
        std::static_pointer_cast<LearnableParameterNode>(node)->Values().FromHost(
            EvalData(shape.Elements(), unsigned(network.size())));
        return node;
    }
    ComputationNodePtr Add(const std::string& type, const std::string& name, std::vector<ComputationNodePtr> inputs)
    {
        return network.Add(type, name, std::move(inputs));
    }
    ComputationNodePtr Delay(const std::string& type, const std::string& name, int steps)
    {
        NodeParameters parameters;
        parameters.Set("timeStep", std::to_string(steps));
        parameters.Set("defaultHiddenActivity", "0.25");
        return network.AddUnconnected(type, name, parameters);
    }
    void Output(const ComputationNodePtr& node) { network.AddToGroup(NodeGroup::Output, node); }

    // The bytes of the model file.
    std::string Bytes()
    {
        network.Validate();
        const std::string path =
            (std::filesystem::temp_directory_path() / ("EvalNetwork" + std::to_string(getpid()))).string();
        SaveModel(network, path);
        const std::string bytes(MappedFile(path).Text());
        RemoveFile(path);
        return bytes;
    }

    ComputationNetwork network;
};

// h = tanh(W x + R h(t-1) + S h(t-3)), z = V h + b; features x of 3, outputs of 2.
inline std::string RecurrentModel(DataType type = DataType::Float64, const std::string& delay = "PastValue")
{
    EvalNetwork net(type);
    const auto x = net.network.AddInput("features", {3});
    const auto before = net.Delay(delay, "before", 1), earlier = net.Delay(delay, "earlier", 3);
    const auto sum = net.Add("Plus", "sum",
                             {net.Add("Times", "Wx", {net.Parameter("W", {4, 3}), x}),
                              net.Add("Times", "Rh", {net.Parameter("R", {4, 4}), before})});
    const auto all = net.Add("Plus", "all", {sum, net.Add("Times", "Sh", {net.Parameter("S", {4, 4}), earlier})});
    const auto h = net.Add("Tanh", "h", {all});
    net.network.SetInputs(before, {h});
    net.network.SetInputs(earlier, {h});
    net.Output(
        net.Add("Plus", "z", {net.Add("Times", "Vh", {net.Parameter("V", {2, 4}), h}), net.Parameter("b", {2})}));
    return net.Bytes();
}

inline std::string LstmModel()
{
    EvalNetwork net;
    const auto x = net.network.AddInput("features", {3});
    net.Output(net.Add("LSTM", "z",
                       {x, net.Parameter("i", {2, 7}), net.Parameter("f", {2, 7}), net.Parameter("o", {2, 7}),
                        net.Parameter("c", {2, 6})}));
    return net.Bytes();
}

inline std::string HardmaxModel()
{
    EvalNetwork net;
    net.Output(net.Add("Hardmax", "z", {net.network.AddInput("features", {3})}));
    return net.Bytes();
}

// z = W x + b, and a criterion with labels.
inline std::string FrameModel(DataType type = DataType::Float64, bool sparse = false)
{
    EvalNetwork net(type);
    const auto x = net.network.AddInput("features", {3}, sparse);
    const auto labels = net.network.AddInput("labels", {2});
    net.network.AddToGroup(NodeGroup::Feature, x);
    net.network.AddToGroup(NodeGroup::Label, labels);
    const auto z =
        net.Add("Plus", "z", {net.Add("Times", "Wx", {net.Parameter("W", {2, 3}), x}), net.Parameter("b", {2})});
    net.network.AddToGroup(NodeGroup::Criterion, net.Add("CrossEntropyWithSoftmax", "ce", {labels, z}));
    net.network.AddToGroup(NodeGroup::Evaluation, net.Add("ErrorPrediction", "err", {labels, z}));
    net.Output(z);
    return net.Bytes();
}

inline void ExpectOk(cntk_status status)
{
    EXPECT_EQ(status, CNTK_OK) << cntk_last_error();
}

// The status of a failing call and the first line of its message.
inline std::string Failure(cntk_status status)
{
    const std::string message = cntk_last_error();
    return std::to_string(int(status)) + ": " + message.substr(0, message.find('\n'));
}

// A model and an evaluator that release themselves.
class Evaluation
{
public:
    explicit Evaluation(const std::string& bytes, cntk_type type = CNTK_AS_FILE, std::vector<const char*> outputs = {})
    {
        ExpectOk(cntk_model_load_memory(bytes.data(), bytes.size(), type, &model));
        ExpectOk(cntk_evaluator_create(model, outputs.data(), outputs.size(), &evaluator));
    }
    ~Evaluation()
    {
        cntk_model_release(model);
        cntk_evaluator_release(evaluator);
    }
    Evaluation(const Evaluation&) = delete;
    Evaluation& operator=(const Evaluation&) = delete;

    std::vector<double> Output(size_t index = 0) const
    {
        size_t samples = 0;
        cntk_node_info info = {};
        info.struct_size = sizeof info;
        ExpectOk(cntk_evaluator_output(evaluator, index, &info));
        std::vector<double> values(10000);
        ExpectOk(cntk_get(evaluator, index, CNTK_DOUBLE, values.data(), values.size(), &samples));
        values.resize(samples * info.elements);
        return values;
    }
    std::vector<double> Evaluate(const std::vector<double>& values, std::vector<size_t> lengths, bool next = false)
    {
        ExpectOk(cntk_set_sequences(evaluator, lengths.data(), lengths.size()));
        ExpectOk(cntk_set_dense(evaluator, 0, CNTK_DOUBLE, values.data(), values.size() / 3));
        ExpectOk(next ? cntk_evaluate_next(evaluator) : cntk_evaluate(evaluator));
        return Output();
    }

    cntk_model* model = nullptr;
    cntk_evaluator* evaluator = nullptr;
};

inline void ExpectClose(const std::vector<double>& actual, const std::vector<double>& expected,
                        double tolerance = 1e-12)
{
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); i++)
        EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
}

} // namespace cntk::Testing
