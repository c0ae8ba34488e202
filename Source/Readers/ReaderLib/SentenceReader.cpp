// Blocks of sentences, and their minibatches.
#include "Readers/ReaderLib/SentenceReader.h"

#include "Common/Error.h"
#include "Readers/ReaderLib/ReaderOptions.h"

namespace cntk
{

SentenceText::SentenceText(const std::string& path, const SourcePos& where)
    : m_lines(WithPosition(where, [&] { return LineReader(path); }))
{
}

void SentenceText::Start(size_t seed, uint64_t trainingSeed)
{
    m_lines.Rewind();
    m_isAtEnd = false;
    m_seeds = SeedStream(trainingSeed, "order");
    m_seed = seed;
    m_sentences.clear();
    m_next = 0;
}

size_t SentenceText::CountSamples() const
{
    LineReader lines(m_lines.Path());
    std::vector<std::string_view> columns;
    size_t samples = 0;
    for (std::string_view line; lines.Next(line);)
    {
        SplitTokens(line, columns);
        samples += SamplesOfLine(columns.size());
    }
    return samples;
}

bool SentenceText::FindNext(std::string& log)
{
    while (m_next < m_sentences.size() && m_used[m_next])
        ++m_next;
    if (m_next < m_sentences.size())
        return true;
    m_sentences.clear();
    m_next = 0;
    ReadBlock(log);
    m_used.assign(m_sentences.size(), false);
    return !m_sentences.empty();
}

void SentenceText::Take(size_t sentence)
{
    m_used[sentence] = true;
    m_group.push_back(m_sentences[sentence]);
}

template <class ElemType>
void SentenceReader<ElemType>::StartEpoch(const EpochRequest& request)
{
    CNTK_ASSERT(request.minibatchSize > 0 && request.rank < request.workers);
    m_pipe.Stop();
    m_wanted = ChooseStreams(m_name, m_streams, request.wanted);
    m_request = request;
    BeginEpoch();
    m_pipe.Start([this](Slot& slot) { return Fill(slot); }, m_prefetches);
}

template <class ElemType>
bool SentenceReader<ElemType>::Fill(Slot& slot)
{
    slot.Prepare(m_streams.size());
    if (!NextMinibatch(*slot.layouts[0], slot.keys, slot.log))
        return false;
    for (size_t i = 0; i < m_streams.size(); ++i)
    {
        StreamBatch<ElemType>& batch = slot.streams[i];
        if (!m_wanted[i])
        {
            slot.Clear(i);
            continue;
        }
        batch.rows = m_streams[i].rows;
        batch.columns = slot.layouts[0]->Columns();
        batch.sparse = m_streams[i].sparse;
        batch.layout = slot.layouts[0];
        FillStream(i, slot);
    }
    return true;
}

template class SentenceReader<float>;
template class SentenceReader<double>;

} // namespace cntk
