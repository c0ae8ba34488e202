// CNTKTextFormatReader: any number of dense and sparse streams of sequences from one text file.
#pragma once

#include "Common/SequencePacking.h"
#include "Readers/CNTKTextFormatReader/CtfIndex.h"
#include "Readers/CNTKTextFormatReader/CtfOptions.h"
#include "Readers/CNTKTextFormatReader/CtfOrder.h"
#include "Readers/CNTKTextFormatReader/CtfParser.h"
#include "Readers/ReaderLib/MinibatchPipe.h"

#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace cntk
{

// The parsed sequences of a file: whole chunks, of which as many stay in memory as the limit allows, or single
// sequences where the order jumps further than the limit reaches. Used by one thread at a time.
template <class ElemType>
class CtfStore
{
public:
    using Data = std::shared_ptr<const CtfData<ElemType>>;

    CtfStore(const CtfIndex& index, const CtfConfig& config);

    void SetWanted(const std::vector<bool>& wanted);
    // Fits everything that the shuffle mixes?
    void ChooseMode(size_t range);

    // The parsed data of the pick's sequence, and its number in them. scratch holds sequences that were read singly;
    // the caller clears it when a minibatch begins.
    Data Get(const CtfOrder::Pick& pick, std::shared_ptr<CtfData<ElemType>>& scratch, uint32_t& sequence);

    // Warnings since the last call, for the log.
    std::string TakeLog() { return std::exchange(m_logText, {}); }

private:
    struct CachedChunk
    {
        Data data;
        size_t bytes = 0;
        uint64_t lastUse = 0;
    };

    Data GetChunk(uint32_t chunk);
    void MakeRoom();
    void Load(size_t offset, size_t bytes);
    void ParseOne(const CtfIndex::Chunk& chunk, uint32_t sequence, std::string_view text, CtfData<ElemType>& data);
    void Receive(const CtfFinding& finding);
    size_t EstimatedBytes(size_t samples, size_t textBytes) const;

    const CtfIndex& m_index;
    const CtfConfig& m_config;
    CtfParser<ElemType> m_parser;
    std::vector<bool> m_wanted;
    size_t m_capacity;
    bool m_byChunk = true;
    std::vector<CachedChunk> m_chunks;
    size_t m_bytes = 0;
    uint64_t m_clock = 0;
    std::vector<char> m_text;

    std::unordered_set<size_t> m_errors; // offsets: a sample that is parsed again is not counted again
    std::set<std::string> m_told;
    std::vector<std::string> m_leftOut; // malformed samples of the sequence that is parsed
    std::string m_logText;
};

template <class ElemType>
class CtfReader final : public IDataReader<ElemType>
{
public:
    explicit CtfReader(const ReaderContext& context);
    ~CtfReader() override;

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

    // Samples [first, first + count) of a sequence, from time step `time` of a row on.
    struct Piece
    {
        const CtfData<ElemType>* data = nullptr;
        uint32_t sequence = 0;
        size_t first = 0;
        size_t count = 0;
        size_t row = 0;
        size_t time = 0;
    };
    // A row of truncated minibatches: the sequence in it and how far it has been delivered.
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
    size_t m_timeSteps = 0; // of a truncated minibatch

    // What a minibatch is made of; kept for their memory.
    std::vector<CtfOrder::Pick> m_picks;
    std::vector<Data> m_data;
    std::vector<uint32_t> m_sequences;
    std::vector<uint32_t> m_lengths;
    std::vector<uint32_t> m_firstLengths;
    std::vector<Piece> m_pieces;
    std::vector<Row> m_rows;
    SequencePacking m_packing;
    std::shared_ptr<CtfData<ElemType>> m_scratch;
    MinibatchPipe<ElemType> m_pipe; // last: its thread uses the others
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeCtfReader(const ReaderContext& context);

} // namespace cntk
