// Times the output layer of a class-based language model: 10000 words in 50 classes, 200 hidden units.
// BM/<what>/<samples>/<threads>; items_per_second are words.
#include "Math/Operations.h"
#include "Math/SampledProducts.h"

#include <benchmark/benchmark.h>
#include <functional>
#include <random>
#include <string>

namespace cntk
{
namespace
{

struct Layer
{
    static constexpr size_t c_hidden = 200;
    static constexpr size_t c_words = 10000;
    static constexpr size_t c_classes = 50;

    Layer(Device& device, size_t samples)
        : weights(c_hidden, c_words, DataType::Float32, device), gradient(c_hidden, c_words, DataType::Float32, device),
          inputs(c_hidden, samples, DataType::Float32, device),
          inputGradient(c_hidden, samples, DataType::Float32, device),
          gathered(c_hidden, samples, DataType::Float32, device), work(c_hidden, samples, DataType::Float32, device),
          losses(1, samples, DataType::Float32, device), one(1, 1, DataType::Float32, device)
    {
        Ops::FillUniform(weights, -0.1, 0.1, 1);
        Ops::FillUniform(inputs, -1, 1, 2);
        Ops::Fill(one, 1);
        std::mt19937 random(3);
        constexpr int32_t size = c_words / c_classes;
        for (size_t i = 0; i < samples; ++i)
        {
            const int32_t word = int32_t(random() % c_words);
            slices.requests.push_back({int32_t(i), word / size * size, word / size * size + size, word});
        }
        slices.MakeGroups();
        errors = Matrix(1, slices.elements, DataType::Float32, device);
    }

    void Forward() { Ops::SliceSoftmax(slices, weights, inputs, gathered, errors, losses, true, work); }
    void InputGradient() { Ops::SliceSoftmaxInputGradient(slices, weights, errors, one, work, inputGradient); }
    void WeightGradient()
    {
        touched.columns.clear();
        Ops::SliceSoftmaxWeightGradient(slices, gathered, errors, one, gradient, touched);
    }

    ColumnSlices slices;
    Matrix weights, gradient, inputs, inputGradient, gathered, work, losses, one, errors;
    TouchedColumns touched;
};

void Register(const std::string& name, const std::function<void(Layer&)>& step)
{
    for (const int64_t samples : {100, 640})
        for (const int threads : {1, 4})
            benchmark::RegisterBenchmark(
                ("BM/" + name + "/" + std::to_string(samples) + "/" + std::to_string(threads)).c_str(),
                [=](benchmark::State& state)
                {
                    const auto device = MakeCpuDevice({.threads = threads});
                    Layer layer(*device, size_t(samples));
                    layer.Forward();
                    for (auto _ : state)
                        step(layer);
                    state.SetItemsProcessed(int64_t(state.iterations()) * samples);
                })
                ->UseRealTime();
}

void RegisterAll()
{
    Register("Forward", [](Layer& layer) { layer.Forward(); });
    Register("InputGradient", [](Layer& layer) { layer.InputGradient(); });
    Register("WeightGradient", [](Layer& layer) { layer.WeightGradient(); });
    Register("All",
             [](Layer& layer)
             {
                 layer.Forward();
                 layer.InputGradient();
                 layer.WeightGradient();
             });
}

[[maybe_unused]] const bool c_registered = (RegisterAll(), true);

} // namespace
} // namespace cntk
