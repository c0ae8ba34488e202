// LMSequenceReader: words and the words behind them, sentences of one length side by side, cut into pieces of
// minibatchSize steps.
#pragma once

#include "Readers/LMSequenceReader/LmText.h"
#include "Readers/ReaderLib/MinibatchPipe.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace cntk
{

template <class ElemType>
class LmReader final : public IDataReader<ElemType>
{
public:
    explicit LmReader(const ReaderContext& context);
    ~LmReader() override;

    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    void StartEpoch(const EpochRequest& request) override;
    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override { return m_pipe.Next(minibatch); }
    size_t TotalSamples() override;
    std::vector<std::string> CreateLabelMaps() override { return {}; }
    size_t ParallelSequences(size_t) const override { return std::max<size_t>(1, m_config.reader.parallelSequences); }

private:
    using Slot = MinibatchSlot<ElemType>;

    size_t LabelRows() const;
    void PrepareNoise();
    bool Fill(Slot& slot);
    bool NextGroup(std::string& log);
    void FillWords(StreamBatch<ElemType>& batch, size_t count) const;
    void FillLabels(StreamBatch<ElemType>& batch, size_t count);
    void FillLabel(int32_t word, ElemType* label);
    void SkipNoise(size_t sentences);
    size_t DrawNoise();
    void FillClassTable(StreamBatch<ElemType>& batch) const;

    LmConfig m_config;
    LmText m_text;
    std::vector<StreamInfo> m_streams;
    std::vector<bool> m_wanted;
    Log& m_log;

    EpochRequest m_request;
    size_t m_samples = 0; // of the epoch so far
    // This worker's part of the group at hand, and how far it has been delivered.
    size_t m_first = 0;
    size_t m_count = 0;
    size_t m_cursor = 0;
    bool m_hasWarnedOfPieces = false; // of sentences that stand side by side in what is written
    size_t m_steps = 0;

    std::vector<double> m_logProbabilities; // nce, by word
    std::mt19937 m_noiseGenerator;
    std::uniform_int_distribution<int> m_unusedDraw;
    std::piecewise_constant_distribution<double> m_noise;
    MinibatchPipe<ElemType> m_pipe; // last: its thread uses the others
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeLmReader(const ReaderContext& context);

} // namespace cntk
