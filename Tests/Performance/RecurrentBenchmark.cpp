// Times minibatches of recurrent networks - forward, backward and update - with the data in memory:
// BM/<workload>/<sequences>/<threads>. items_per_second are samples (words, frames) a second.
#include "ActionsLib/Networks/SimpleNetworkBuilder.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "SGD/Update/Learner.h"

#include <benchmark/benchmark.h>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace cntk
{
namespace
{

struct Workload
{
    std::string name;
    SimpleNetworkOptions network;
    size_t steps = 0;
    size_t words = 0; // words of a sample; 0: dense features
    bool hasClasses = false;
    double momentum = 0;
};

Workload ClassLanguageModel()
{
    Workload workload{"lstm-lm class", {}, 10, 1, true, 0};
    workload.network.rnnType = {"CLASSLSTM"};
    workload.network.layerSizes = {10000, 200, 200, 10000};
    workload.network.lookupTableOrder = 1;
    workload.network.vocabSize = 10000;
    workload.network.nbrClass = 50;
    workload.network.trainingCriterion = "ClassCrossEntropyWithSoftmax";
    workload.network.evalCriterion = "ClassCrossEntropyWithSoftmax";
    return workload;
}

Workload FullLanguageModel()
{
    Workload workload{"lstm-lm full", {}, 10, 1, false, 0};
    workload.network.rnnType = {"LSTM"};
    workload.network.layerSizes = {10000, 200, 200, 10000};
    workload.network.lookupTableOrder = 1;
    workload.network.sparseinput = true;
    return workload;
}

Workload SlotTagger()
{
    Workload workload{"atis-lstm", {}, 11, 3, false, 0.9};
    workload.network.rnnType = {"LSTM"};
    workload.network.layerSizes = {2832, 50, 300, 127};
    workload.network.lookupTableOrder = 3;
    workload.network.sparseinput = true;
    return workload;
}

Workload Speech()
{
    Workload workload{"speech-lstm", {}, 20, 0, false, 0.9};
    workload.network.rnnType = {"LSTM"};
    workload.network.layerSizes = {33, 512, 512, 512, 132};
    workload.network.recurrentLayer = {1, 2};
    return workload;
}

// A small training that repeats one minibatch.
class MiniTraining
{
public:
    MiniTraining(const Workload& workload, size_t sequences, int threads)
        : m_device(MakeCpuDevice({.threads = threads})),
          m_network(BuildSimpleNetwork(workload.network, DataType::Float32, m_device)), m_workload(workload)
    {
        MBLayout& layout = *m_network->Layout();
        layout.Init(sequences, workload.steps);
        for (size_t s = 0; s < sequences; ++s) // sequences that continue in the next minibatch
            layout.AddSequence(s, s, 0, ptrdiff_t(workload.steps + 1));
        m_columns = layout.Columns();
        m_criterion = m_network->Group(NodeGroup::Criterion).front();
        EvaluatorOptions options;
        options.training = true;
        options.backwardRoot = m_criterion;
        m_evaluator = std::make_unique<Evaluator>(*m_network, std::vector{m_criterion}, options);
        m_learner = std::make_unique<Learner>(m_evaluator->Parameters(), SgdOptions(), DataType::Float32, *m_device);
        m_features = std::dynamic_pointer_cast<InputValueNode>(m_network->Find("features"));
        m_labels = std::dynamic_pointer_cast<InputValueNode>(m_network->Find("labels"));
        MakeFeatures();
        if (workload.hasClasses)
            MakeClassLabels();
        else
            MakeLabels();
    }

    size_t Columns() const { return m_columns; }

    void Step()
    {
        m_network->Layout()->BeginMinibatch();
        const size_t rows = m_workload.network.layerSizes.front();
        if (m_workload.words > 0)
            m_features->SetSparse(m_values.data(), m_rowIndices.data(), m_columnStarts.data(), rows, m_columns);
        else
            m_features->ReferToDense(m_values.data(), rows, m_columns);
        m_labels->ReferToDense(m_labelValues.data(), m_labelValues.size() / m_columns, m_columns);
        m_evaluator->Forward();
        const double momentum = m_workload.momentum == 0 ? 0 : std::pow(m_workload.momentum, 1.0 / double(m_columns));
        m_learner->BeginUpdate(1e-6, momentum, m_columns);
        m_evaluator->Backward(m_criterion, m_learner.get());
        m_learner->Update(1e-6, momentum, m_columns);
    }

private:
    // Words with frequencies as in text: the i-th most frequent word occurs 1/i as often as the first.
    std::discrete_distribution<size_t> Words(size_t count) const
    {
        std::vector<double> weights(count);
        for (size_t i = 0; i < count; ++i)
            weights[i] = 1 / double(i + 1);
        return {weights.begin(), weights.end()};
    }

    void MakeFeatures()
    {
        const size_t rows = m_workload.network.layerSizes.front(), words = m_workload.words;
        if (words == 0)
        {
            std::normal_distribution<float> normal;
            m_values.resize(rows * m_columns);
            for (float& value : m_values)
                value = normal(m_random);
            return;
        }
        const size_t vocabulary = rows / words;
        auto draw = Words(vocabulary);
        m_columnStarts.push_back(0);
        for (size_t column = 0; column < m_columns; ++column)
        {
            for (size_t word = 0; word < words; ++word)
                m_rowIndices.push_back(int32_t(word * vocabulary + draw(m_random)));
            m_columnStarts.push_back(int32_t(m_rowIndices.size()));
        }
        m_values.assign(m_rowIndices.size(), 1);
    }

    void MakeLabels()
    {
        const size_t rows = m_workload.network.layerSizes.back();
        auto draw = Words(rows);
        m_labelValues.resize(rows * m_columns);
        for (size_t column = 0; column < m_columns; ++column)
            m_labelValues[column * rows + draw(m_random)] = 1;
    }

    // Labels: the word, its class, the first word of the class and of the next class. Each class has an equal share of
    // the square roots of frequencies.
    void MakeClassLabels()
    {
        const size_t words = m_workload.network.layerSizes.back(), classes = size_t(m_workload.network.nbrClass);
        double total = 0, sum = 0;
        for (size_t i = 0; i < words; ++i)
            total += 1 / std::sqrt(double(i + 1));
        std::vector<size_t> classOf(words), first{0};
        for (size_t i = 0; i < words; ++i)
        {
            sum += 1 / std::sqrt(double(i + 1)) / total;
            if (sum > double(first.size()) / double(classes) && first.size() < classes)
                first.push_back(i);
            classOf[i] = first.size() - 1;
        }
        first.push_back(words);
        auto draw = Words(words);
        for (size_t column = 0; column < m_columns; ++column)
        {
            const size_t word = draw(m_random), group = classOf[word];
            for (const size_t value : {word, group, first[group], first[group + 1]})
                m_labelValues.push_back(float(value));
        }
    }

    std::shared_ptr<Device> m_device;
    std::shared_ptr<ComputationNetwork> m_network;
    Workload m_workload;
    size_t m_columns = 0;
    ComputationNodePtr m_criterion;
    std::unique_ptr<Evaluator> m_evaluator;
    std::unique_ptr<Learner> m_learner;
    std::shared_ptr<InputValueNode> m_features, m_labels;
    std::mt19937 m_random{1};
    std::vector<float> m_values, m_labelValues;
    std::vector<int32_t> m_rowIndices, m_columnStarts;
};

void TimeTraining(benchmark::State& state, const Workload& workload, size_t sequences, int threads)
{
    MiniTraining training(workload, sequences, threads);
    training.Step(); // allocates
    training.Step();
    for (auto _ : state)
        training.Step();
    state.SetItemsProcessed(int64_t(state.iterations() * training.Columns()));
}

const bool c_registered = []
{
    const auto add = [](const Workload& workload, size_t sequences)
    {
        for (const int threads : {1, 4})
            benchmark::RegisterBenchmark(
                ("BM/" + workload.name + "/" + std::to_string(sequences) + "/" + std::to_string(threads)).c_str(),
                TimeTraining, workload, sequences, threads)
                ->UseRealTime()
                ->Unit(benchmark::kMillisecond);
    };
    add(ClassLanguageModel(), 10);
    add(ClassLanguageModel(), 64);
    add(FullLanguageModel(), 10);
    add(FullLanguageModel(), 64);
    add(SlotTagger(), 10);
    add(Speech(), 32);
    return true;
}();

} // namespace
} // namespace cntk
