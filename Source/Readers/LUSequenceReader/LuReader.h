// LUSequenceReader: words in their context and a label for each, whole sentences side by side.
#pragma once

#include "Readers/LUSequenceReader/LuText.h"
#include "Readers/ReaderLib/MinibatchPipe.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

template <class ElemType>
class LuReader final : public IDataReader<ElemType>
{
public:
    explicit LuReader(const ReaderContext& context);
    ~LuReader() override;

    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    void StartEpoch(const EpochRequest& request) override;
    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override { return m_pipe.Next(minibatch); }
    size_t TotalSamples() override;
    std::vector<std::string> CreateLabelMaps() override { return {}; }
    size_t ParallelSequences(size_t) const override { return m_config.reader.parallelSequences; }

private:
    using Slot = MinibatchSlot<ElemType>;

    bool Fill(Slot& slot);
    bool NextGroup(std::string& log);
    [[noreturn]] void FailNoSentences() const;
    void TakeShare();
    void TellOtherOrder(std::string& log);
    void FillLayout(MBLayout& layout) const;
    void FillWords(StreamBatch<ElemType>& batch);
    void FillLabels(StreamBatch<ElemType>& batch) const;
    void FillClasses(StreamBatch<ElemType>& batch) const;

    LuConfig m_config;
    LuText m_text;
    std::vector<StreamInfo> m_streams; // words, labels
    std::vector<bool> m_wanted;
    Log& m_log;

    EpochRequest m_request;
    size_t m_sentences = 0; // of the epoch so far
    bool m_hasDelivered = false;
    bool m_hasToldLoneWord = false;
    bool m_hasToldOrder = false;           // that what is written has another one than the text
    std::vector<LuText::Sentence> m_share; // this worker's sentences of the minibatch
    size_t m_steps = 0;                    // the longest one of all workers
    std::vector<int32_t> m_ids;
    MinibatchPipe<ElemType> m_pipe; // last: its thread uses the others
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeLuReader(const ReaderContext& context);

} // namespace cntk
