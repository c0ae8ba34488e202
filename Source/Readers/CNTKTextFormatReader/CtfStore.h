// The parsed sequences of a file in CNTK text format, cached in memory.
#pragma once

#include "Readers/CNTKTextFormatReader/CtfIndex.h"
#include "Readers/CNTKTextFormatReader/CtfOptions.h"
#include "Readers/CNTKTextFormatReader/CtfOrder.h"
#include "Readers/CNTKTextFormatReader/CtfParser.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace cntk
{

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
