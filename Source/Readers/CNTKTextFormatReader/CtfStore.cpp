// Parsed chunks in memory, and messages about malformed samples.
#include "Readers/CNTKTextFormatReader/CtfStore.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <algorithm>
#include <cstring>

namespace cntk
{

namespace
{

// Returns the names in the rows of a sequence that belong to no stream. Skips comments.
std::vector<std::string> UnknownNames(std::string_view text, const std::vector<CtfStream>& streams)
{
    const auto isKnown = [&](const std::string& name)
    { return std::any_of(streams.begin(), streams.end(), [&](const CtfStream& each) { return each.alias == name; }); };
    std::vector<std::string> names;
    for (size_t bar = text.find('|'); bar != std::string_view::npos; bar = text.find('|', bar + 1))
    {
        const size_t end = std::min(text.find_first_of(" \t\r\n|", bar + 1), text.size());
        const std::string name(text.substr(bar + 1, end - bar - 1));
        if (!name.empty() && name[0] != '#' && !isKnown(name) &&
            std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(name);
    }
    return names;
}

} // namespace

template <class ElemType>
CtfStore<ElemType>::CtfStore(const CtfIndex& index, const CtfConfig& config)
    : m_index(index), m_config(config), m_parser(config.streams, [this](const CtfFinding& f) { Receive(f); }),
      m_wanted(config.streams.size(), true), m_chunks(index.Chunks().size())
{
    const CtfReaderOptions& options = config.reader;
    const bool isHuge = options.numChunksToCache > SIZE_MAX / options.chunkSizeInBytes;
    m_capacity = options.keepDataInMemory || isHuge ? SIZE_MAX : options.numChunksToCache * options.chunkSizeInBytes;
}

template <class ElemType>
void CtfStore<ElemType>::SetWanted(const std::vector<bool>& wanted)
{
    if (wanted == m_wanted)
        return;
    m_wanted = wanted;
    m_parser.SetWanted(wanted);
    m_chunks.assign(m_chunks.size(), {});
    m_bytes = 0;
}

template <class ElemType>
size_t CtfStore<ElemType>::EstimatedBytes(size_t samples, size_t textBytes) const
{
    size_t dense = 0;
    bool hasSparse = false;
    for (size_t i = 0; i < m_wanted.size(); ++i)
    {
        const CtfStream& stream = m_config.streams[i];
        dense += m_wanted[i] && !stream.sparse ? stream.dim * sizeof(ElemType) : 0;
        hasSparse = hasSparse || (m_wanted[i] && stream.sparse);
    }
    // A pair takes four characters at least.
    return samples * dense + (hasSparse ? textBytes / 4 * (sizeof(ElemType) + sizeof(int32_t)) : 0);
}

template <class ElemType>
void CtfStore<ElemType>::ChooseMode(size_t range)
{
    m_byChunk = true;
    if (range == 0 || m_capacity == SIZE_MAX)
        return; // reads one chunk after another
    const size_t total = EstimatedBytes(m_index.Samples(), m_index.File().Size());
    const double share = std::min(1.0, double(range) / double(m_index.Samples()));
    const size_t chunks = m_chunks.size();
    // The window, and the chunks at its borders.
    m_byChunk =
        double(total) * share + 2.0 * double(total) / double(chunks) <= double(m_capacity) || total <= m_capacity;
}

template <class ElemType>
void CtfStore<ElemType>::Load(size_t offset, size_t bytes)
{
    m_text.resize(std::max(m_text.size(), bytes + CtfParser<ElemType>::c_padding));
    m_index.File().Read(offset, m_text.data(), bytes);
    m_text[bytes] = '\n';
    std::memset(m_text.data() + bytes + 1, 0, CtfParser<ElemType>::c_padding - 1);
}

template <class ElemType>
void CtfStore<ElemType>::ParseOne(const CtfIndex::Chunk& chunk, uint32_t sequence, std::string_view text,
                                  CtfData<ElemType>& data)
{
    const size_t number = chunk.firstSequence + sequence;
    const size_t offset = chunk.offset + m_index.OffsetOf(chunk, sequence);
    uint64_t id = number;
    if (m_index.HasIds())
    {
        id = 0;
        for (size_t i = 0; i < text.size() && IsDigit(text[i]); ++i)
            id = id * 10 + uint64_t(text[i] - '0');
    }
    m_leftOut.clear();
    const bool endsFile = offset + text.size() == m_index.File().Size();
    const size_t missing =
        m_parser.ParseSequence(text, offset, m_index.Sequences()[number].samples, id, endsFile, data);
    if (missing == CtfParser<ElemType>::c_complete)
        return;
    const CtfStream& stream = m_config.streams[missing];
    Fail(ErrorKind::Data, m_index.File().Path(), ":", m_index.LineOf(offset), ": ",
         m_index.HasIds() ? Concat("sequence ", id) : std::string("the row"), " has no sample of stream '",
         stream.alias, "', expected one at least", DidYouMean(stream.alias, UnknownNames(text, m_config.streams)),
         m_leftOut.empty() ? "" : "; malformed samples were dropped: " + Join(m_leftOut, "; "));
}

template <class ElemType>
auto CtfStore<ElemType>::GetChunk(uint32_t chunkNumber) -> Data
{
    CachedChunk& cached = m_chunks[chunkNumber];
    cached.lastUse = ++m_clock;
    if (cached.data)
        return cached.data;
    const CtfIndex::Chunk& chunk = m_index.Chunks()[chunkNumber];
    const auto data = std::make_shared<CtfData<ElemType>>();
    data->Clear(m_config.streams.size());
    for (size_t i = 0; i < m_config.streams.size(); ++i)
    {
        if (m_wanted[i] && !m_config.streams[i].sparse)
            data->streams[i].values.reserve(chunk.samples * m_config.streams[i].dim);
    }
    Load(chunk.offset, chunk.bytes);
    for (uint32_t i = 0; i < chunk.sequences; ++i)
        ParseOne(chunk, i, {m_text.data() + m_index.OffsetOf(chunk, i), m_index.BytesOf(chunk, i)}, *data);
    cached.data = data;
    cached.bytes = data->Bytes();
    m_bytes += cached.bytes;
    MakeRoom();
    return cached.data;
}

// Drops the least recently used chunks, but never the last used one.
template <class ElemType>
void CtfStore<ElemType>::MakeRoom()
{
    while (m_bytes > m_capacity)
    {
        CachedChunk* oldest = nullptr;
        for (CachedChunk& chunk : m_chunks)
        {
            if (chunk.data && chunk.lastUse != m_clock && (oldest == nullptr || chunk.lastUse < oldest->lastUse))
                oldest = &chunk;
        }
        if (oldest == nullptr)
            return;
        m_bytes -= oldest->bytes;
        *oldest = {};
    }
}

template <class ElemType>
auto CtfStore<ElemType>::Get(const CtfOrder::Pick& pick, std::shared_ptr<CtfData<ElemType>>& scratch,
                             uint32_t& sequence) -> Data
{
    if (m_byChunk)
    {
        sequence = pick.sequence;
        return GetChunk(pick.chunk);
    }
    const CtfIndex::Chunk& chunk = m_index.Chunks()[pick.chunk];
    const size_t bytes = m_index.BytesOf(chunk, pick.sequence);
    Load(chunk.offset + m_index.OffsetOf(chunk, pick.sequence), bytes);
    sequence = uint32_t(scratch->ids.size());
    ParseOne(chunk, pick.sequence, {m_text.data(), bytes}, *scratch);
    return scratch;
}

template <class ElemType>
void CtfStore<ElemType>::Receive(const CtfFinding& finding)
{
    if (!finding.isError && !m_reported.insert(finding.message).second)
        return;
    const std::string text =
        Concat(m_index.File().Path(), ":", m_index.LineOf(finding.offset), ":", finding.column, ": ", finding.message);
    if (finding.isError)
        m_leftOut.push_back(text);
    if (finding.isError && !m_errors.insert(finding.offset).second)
        return;
    const size_t maxErrors = m_config.reader.maxErrors;
    if (m_errors.size() > maxErrors)
        Fail(ErrorKind::Data, text,
             maxErrors == 0 ? "" : Concat("; that is one malformed sample more than maxErrors=", maxErrors));
    if (m_config.reader.traceLevel > 0)
        m_logText += "WARNING: " + text + "\n";
}

template class CtfStore<float>;
template class CtfStore<double>;

} // namespace cntk
