// CNTKTextFormatReader: any number of dense and sparse streams of sequences from one text file.
#pragma once

#include "Common/MBLayout.h"
#include "Readers/CNTKTextFormatReader/CtfIndex.h"
#include "Readers/CNTKTextFormatReader/CtfOrder.h"
#include "Readers/CNTKTextFormatReader/CtfStore.h"
#include "Readers/ReaderLib/MinibatchPipe.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cntk
{

template <class ElemType>
class CtfReader final : public IDataReader<ElemType>
{
public:
    explicit CtfReader(const ReaderContext& context);

    const std::vector<StreamInfo>& Streams() const override { return m_streams; }
    void StartEpoch(const EpochRequest& request) override;
    bool GetMinibatch(HostMinibatch<ElemType>& minibatch) override { return m_pipe.Next(minibatch); }
    size_t TotalSamples() override { return m_index.Samples(); }
    size_t ParallelSequences(size_t) const override
    {
        const CtfReaderOptions& options = m_config.reader;
        return options.truncated && options.truncationLength == 0 ? options.parallelSequences : 1;
    }
    std::vector<std::string> CreateLabelMaps() override { return {}; }

private:
    using Slot = MinibatchSlot<ElemType>;
    using Data = typename CtfStore<ElemType>::Data;

    // Samples [first, first + count) of a sequence, in a row of the minibatch from time step `time` on.
    struct Piece
    {
        const CtfData<ElemType>* data = nullptr;
        uint32_t sequence = 0;
        size_t first = 0;
        size_t count = 0;
        size_t row = 0;
        size_t time = 0;
    };
    // A row of truncated minibatches: its sequence, and the number of samples delivered.
    struct Row
    {
        Data data;
        uint32_t sequence = 0;
        size_t length = 0;
        size_t cursor = 0;
    };

    bool FillWhole(Slot& slot);
    bool FillTruncated(Slot& slot);
    bool Refill(Row& row);
    void FillStream(Slot& slot, size_t stream, size_t rows, size_t timeSteps);
    void FillDense(StreamBatch<ElemType>& batch, size_t stream, size_t rows) const;
    void FillSparse(StreamBatch<ElemType>& batch, size_t stream, size_t rows) const;
    void AddKey(Slot& slot, const CtfData<ElemType>& data, uint32_t sequence) const;

    Log& m_log;
    CtfConfig m_config;
    CtfIndex m_index;
    CtfStore<ElemType> m_store;
    CtfOrder m_order;
    std::vector<StreamInfo> m_streams;
    std::vector<bool> m_wanted;
    size_t m_timeSteps = 0;           // of a truncated minibatch
    bool m_hasWarnedOfPieces = false; // pieces of sequences alternate in the output

    // The parts of a minibatch; members only to reuse their memory.
    std::vector<CtfOrder::Pick> m_picks;
    std::vector<Data> m_data;
    std::vector<uint32_t> m_sequences;
    std::vector<uint32_t> m_lengths;
    std::vector<uint32_t> m_firstLengths;
    std::vector<Piece> m_pieces;
    std::vector<Row> m_rows;
    SequencePacking m_packing;
    std::shared_ptr<CtfData<ElemType>> m_scratch;
    MinibatchPipe<ElemType> m_pipe; // last: its thread uses the other members
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeCtfReader(const ReaderContext& context);

} // namespace cntk
