// Parsed sequences of a file in CNTK text format, cached in memory. The grammar: rows of samples "|name value value"
// (dense) or "|name index:value" (sparse), with an optional sequence id in front and comments "|# ...".
#pragma once

#include "Readers/CNTKTextFormatReader/CtfIndex.h"
#include "Readers/CNTKTextFormatReader/CtfOptions.h"
#include "Readers/CNTKTextFormatReader/CtfOrder.h"
#include "Readers/ReaderLib/NumberParser.h"
#include "Readers/ReaderLib/SparseColumns.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace cntk
{

// Parsed sequences: for each stream, all samples in order.
template <class ElemType>
struct CtfData
{
    struct Stream
    {
        std::vector<ElemType> values;       // dense: dim a sample; sparse: non-zero values
        std::vector<int32_t> rowIndices;    // sparse: of each value, ascending within a sample
        std::vector<size_t> sampleStarts;   // sparse: offsets into values, one more than samples
        std::vector<size_t> sequenceStarts; // by sequence: its first sample; one more at the end

        size_t SamplesOf(size_t sequence) const { return sequenceStarts[sequence + 1] - sequenceStarts[sequence]; }
    };
    std::vector<Stream> streams;
    std::vector<uint64_t> ids; // by sequence

    void Clear(size_t streamCount);
    size_t Bytes() const;
};

// A malformed sample: its place, and "expected ..., found ...".
struct CtfFinding
{
    size_t offset = 0;
    size_t column = 0; // 1-based
    std::string message;
    bool isError = true; // false: a warning
};
// Counts errors and throws if there are too many.
using CtfFindingReceiver = std::function<void(const CtfFinding& finding)>;

template <class ElemType>
class CtfParser
{
public:
    // Readable bytes after the text; the first one must be a newline.
    static constexpr size_t c_padding = 32;

    CtfParser(const std::vector<CtfStream>& streams, CtfFindingReceiver receiver);

    // Sets the streams to parse; samples of other streams are skipped.
    void SetWanted(const std::vector<bool>& wanted) { m_wanted = wanted; }

    // Adds one sequence: its rows, which begin at that offset of the file. endsFile: the text need not end with a
    // newline. Reports and drops malformed samples. Returns the index of a wanted stream without any sample, or
    // c_complete.
    static constexpr size_t c_complete = SIZE_MAX;
    size_t ParseSequence(std::string_view text, size_t offset, size_t rows, uint64_t defaultId, bool endsFile,
                         CtfData<ElemType>& data);

private:
    using Stream = typename CtfData<ElemType>::Stream;

    const char* ParseRow(const char* at, CtfData<ElemType>& data);
    const char* ParseSample(const char* at, CtfData<ElemType>& data);
    // Return null for a malformed sample, after reporting it.
    const char* ParseDense(const char* at, const CtfStream& stream, Stream& data) const;
    const char* ParseSparse(const char* at, const CtfStream& stream, Stream& data);
    size_t FindStream(std::string_view name);
    bool IsCutOff(const char* at) const;
    std::string TokenAt(const char* at) const;
    void ReportTooLarge(const char* at, const CtfStream& stream) const;
    void Report(const char* at, std::string message, bool isError = true) const;
    static const char* SkipToSample(const char* at);

    const std::vector<CtfStream>& m_streams;
    CtfFindingReceiver m_receiver;
    NumberParser m_numbers;
    std::vector<bool> m_wanted;
    size_t m_nextStream = 0;       // the expected stream of the next name
    std::vector<size_t> m_samples; // of the current sequence, by stream
    SparseColumnSorter<ElemType> m_sorter;

    const char* m_begin = nullptr; // of the current sequence
    const char* m_end = nullptr;
    size_t m_offset = 0;
    size_t m_rows = 0;
    bool m_endsFile = false;
};

// Parses whole chunks and caches as many as the limit allows. If the shuffle reaches further than the limit, parses
// single sequences instead. Used by one thread at a time.
template <class ElemType>
class CtfStore
{
public:
    using Data = std::shared_ptr<const CtfData<ElemType>>;

    CtfStore(const CtfIndex& index, const CtfConfig& config);

    void SetWanted(const std::vector<bool>& wanted);
    // Chooses whole chunks if the chunks that a shuffle of that range mixes fit into memory.
    void ChooseMode(size_t range);

    // Returns the parsed data of the pick's sequence, and its number in them. scratch holds sequences that were parsed
    // singly; the caller clears it when a minibatch begins.
    Data Get(const CtfOrder::Pick& pick, std::shared_ptr<CtfData<ElemType>>& scratch, uint32_t& sequence);

    // Returns the warnings since the last call, for the log.
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

    std::unordered_set<size_t> m_errors; // offsets: a sample that is parsed again is counted once
    std::set<std::string> m_reported;
    std::vector<std::string> m_leftOut; // malformed samples of the current sequence
    std::string m_logText;
};

} // namespace cntk
