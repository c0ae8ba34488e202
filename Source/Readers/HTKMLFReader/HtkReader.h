// HTKMLFReader: features of HTK files with the labels of an MLF, frame by frame or utterance by utterance.
#pragma once

#include "Common/ReaderInterface.h"
#include "Readers/HTKMLFReader/HtkBatches.h"

#include <memory>
#include <string>
#include <vector>

namespace cntk
{

template <class ElemType>
class HtkReader final : public IDataReader<ElemType>
{
public:
    HtkReader(const HtkConfig& config, Log& log);

    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    void StartEpoch(const EpochRequest& request) override;
    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override { return m_pipe.Next(minibatch); }
    size_t TotalSamples() override { return m_corpus.TotalFrames(); }
    size_t ParallelSequences(size_t epoch) const override
    {
        const HtkReaderOptions& options = m_config.reader;
        const bool countsFrames = options.truncated && options.truncationLength > 0;
        return options.frameMode || countsFrames ? 1 : options.parallelSequences[epoch];
    }
    std::vector<std::string> CreateLabelMaps() override;
    void VisitListedFiles(const ListedFileVisitor& visit) const override { m_corpus.VisitListedFiles(m_config, visit); }
    bool HasLattices() const override { return m_corpus.HasLattices(); }
    size_t SequencesToWrite() const override { return m_config.forWriting ? m_corpus.Utterances() : 0; }

    // For tests: number of chunks in memory.
    size_t LoadedChunks() const { return m_store.Loaded(); }

private:
    HtkConfig m_config;
    Log& m_log;
    HtkCorpus m_corpus;
    HtkChunkStore m_store;
    std::vector<StreamInfo> m_streams;
    std::unique_ptr<HtkBatches<ElemType>> m_batches;
    MinibatchPipe<ElemType> m_pipe; // last: its thread uses the other members
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeHtkReader(const ReaderContext& context);

} // namespace cntk
