// Shared by the tests of trainings: a reader over data in memory, small networks, a folder and a log of their own.
#pragma once

#include "Common/Log.h"
#include "Common/ReaderInterface.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "SGD/EpochLoop.h"
#include "SGD/Trainer/Trainer.h"

#include <algorithm>
#include <cstddef>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

// Samples of a feature and a label vector, delivered in order, epoch after epoch, as UCIFastReader does without
// randomization: minibatches are cut at the end of the epoch and of the data.
struct SyntheticData
{
    size_t featureDim = 1;
    size_t labelDim = 1;
    std::vector<double> features; // column-major
    std::vector<double> labels;

    size_t Samples() const { return features.size() / featureDim; }
};

template <class ElemType>
class SyntheticReader : public IDataReader<ElemType>
{
public:
    explicit SyntheticReader(SyntheticData data) : m_data(std::move(data))
    {
        m_streams.resize(2);
        m_streams[0].name = "Features";
        m_streams[0].rows = m_data.featureDim;
        m_streams[1].name = "labels";
        m_streams[1].rows = m_data.labelDim;
        m_streams[1].isLabel = true;
    }

    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    size_t TotalSamples() override { return m_data.Samples(); }
    std::vector<std::string> CreateLabelMaps() override { return {}; }

    void StartEpoch(const EpochRequest& request) override
    {
        m_minibatchSize = request.minibatchSize;
        const size_t epochSize = request.epochSize == c_wholeDataSet ? TotalSamples() : request.epochSize;
        m_position = request.epoch * epochSize;
        m_end = m_position + epochSize;
        m_wanted = request.wanted;
    }

    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override
    {
        if (m_position >= m_end)
            return false;
        const size_t inData = m_position % TotalSamples();
        const size_t count = std::min({m_minibatchSize, m_end - m_position, TotalSamples() - inData});
        m_layout->InitAsFrameMode(count);
        minibatch.streams.resize(2);
        Fill(minibatch.streams[0], m_data.features, m_data.featureDim, inData, count);
        Fill(minibatch.streams[1], m_data.labels, m_data.labelDim, inData, count);
        m_position += count;
        return true;
    }

    const std::vector<std::string>& Wanted() const { return m_wanted; }

private:
    void Fill(StreamBatch<ElemType>& batch, const std::vector<double>& source, size_t rows, size_t first, size_t count)
    {
        batch.rows = rows;
        batch.columns = count;
        batch.values.resize(rows * count);
        for (size_t i = 0; i < rows * count; ++i)
            batch.values[i] = ElemType(source[first * rows + i]);
        batch.layout = m_layout;
    }

    SyntheticData m_data;
    std::vector<StreamInfo> m_streams;
    std::vector<std::string> m_wanted;
    MBLayoutPtr m_layout = std::make_shared<MBLayout>();
    size_t m_minibatchSize = 1;
    size_t m_position = 0;
    size_t m_end = 0;
};

class TrainingTest : public ::testing::Test
{
protected:
    TrainingTest();
    ~TrainingTest() override;

    std::string Path(const std::string& name) const { return m_folder + "/" + name; }
    // Everything logged so far.
    std::string LogText();
    // How often the text stands in it.
    size_t Count(const std::string& text);

    // criterion = SquareError(labels, W * features), all scalars.
    std::unique_ptr<ComputationNetwork> Line(double weight, DataType type = DataType::Float64) const;
    // 2-5-2 sigmoid network with CrossEntropyWithSoftmax "ce" and ErrorPrediction "err", with or without dropout.
    std::unique_ptr<ComputationNetwork> Classifier(bool dropout = false, DataType type = DataType::Float64) const;
    static SyntheticData TwoClasses(size_t samples, unsigned seed);

    // Epochs of the Classifier on TwoClasses in float, without files; what an epoch costs is asked of it.
    struct EpochRun
    {
        EpochRun(const TrainingTest& test, const SgdOptions& options, size_t samples, bool dropout,
                 const ProgressSettings& display = {});

        std::unique_ptr<ComputationNetwork> network;
        TrainingNodes nodes;
        MinibatchSource source;
        Evaluator evaluator;
        Learner learner;
        Progress progress;
        EpochLoop loop;
        EpochSettings settings;
    };

    // maxEpochs epochs of Classifier on 23 samples, minibatches of 5; its files at Path("m.dnn").
    TrainingRequest ClassifierRequest(size_t maxEpochs, bool dropout = false) const;
    void Run(const TrainingRequest& request) { Train(request, *m_log); }
    // The message with which the training stops when asked for the count-th time (from 1); "" when it came to its end.
    std::string StopAt(TrainingRequest request, size_t count);
    // Runs the request whole under one name, and stopped again and again under the other, and compares.
    void ExpectSameBits(TrainingRequest request, size_t stopAfter);

    static std::vector<double> ValuesOf(const ComputationNetwork& network, const std::string& parameter);
    static std::string BytesOf(const std::string& path);

    std::shared_ptr<Device> m_device;
    std::string m_folder;
    std::unique_ptr<Log> m_log;
};

} // namespace cntk
