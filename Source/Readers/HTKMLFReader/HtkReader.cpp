// Streams, epochs and the thread that reads ahead.
#include "Readers/HTKMLFReader/HtkReader.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "Common/Text.h"

#include <algorithm>
#include <chrono>

namespace cntk
{

template <class ElemType>
HtkReader<ElemType>::HtkReader(const HtkConfig& config, Log& log)
    : m_config(config), m_log(log), m_corpus(config, log),
      m_store(m_corpus, !config.forWriting && config.reader.readMethod == HtkReadMethod::RollingWindow,
              config.reader.pageFilePath)
{
    for (const auto& features : m_corpus.Features())
    {
        StreamInfo info;
        info.name = features->Name();
        info.rows = features->Rows();
        info.source = "script file '" + features->Scp().path + "'";
        m_streams.push_back(std::move(info));
    }
    for (const HtkLabelStream& labels : m_corpus.Labels())
    {
        StreamInfo info;
        info.name = labels.name;
        info.rows = labels.rows;
        info.isLabel = true;
        info.sparse = labels.targets.empty();
        info.labelNames = labels.states.Names();
        info.source = "label file '" + labels.source + "'";
        m_streams.push_back(std::move(info));
    }
    if (config.forWriting)
        m_batches = MakeHtkFileBatches<ElemType>(m_config, m_store);
    else if (config.reader.frameMode)
        m_batches = MakeHtkFrameBatches<ElemType>(m_config, m_store);
    else
        m_batches = MakeHtkUtteranceBatches<ElemType>(m_config, m_store);
    const std::vector<HtkChunk>& chunks = m_store.Chunks();
    if (config.reader.verbosity > 0 && !config.forWriting)
        log.Print("minibatchutterancesource: %zu utterances grouped into %zu chunks, av. chunk size: %.1f utterances, "
                  "%.1f frames\n",
                  m_corpus.Utterances(), chunks.size(), double(m_corpus.Utterances()) / double(chunks.size()),
                  double(m_corpus.TotalFrames()) / double(chunks.size()));
}

template <class ElemType>
HtkReader<ElemType>::~HtkReader()
{
    m_prefetcher.Stop(); // before what the thread uses goes away
}

template <class ElemType>
std::vector<bool> HtkReader<ElemType>::ChooseStreams(const std::vector<std::string>& wanted) const
{
    std::vector<bool> chosen(m_streams.size(), wanted.empty());
    std::vector<std::string> names;
    for (size_t i = 0; i < m_streams.size(); ++i)
    {
        names.push_back(m_streams[i].name);
        for (const std::string& name : wanted)
            chosen[i] = chosen[i] || EqualsIgnoreCase(name, m_streams[i].name);
    }
    if (std::find(chosen.begin(), chosen.end(), true) == chosen.end())
        Fail(ErrorKind::Config, "HTKMLFReader: the network's inputs are ", Join(wanted, ", "),
             ", but the reader's blocks are ", Join(names, ", "), "; a block needs the name of the input it fills");
    return chosen;
}

template <class ElemType>
void HtkReader<ElemType>::StartEpoch(const EpochRequest& request)
{
    m_prefetcher.Stop();
    m_store.SetWanted(ChooseStreams(request.wanted));
    m_batches->Start(request);
    if (m_config.reader.verbosity > 0 && !m_config.forWriting)
    {
        const bool isWhole = request.epochSize == 0 || request.epochSize >= c_wholeDataSet;
        const size_t size = isWhole ? m_corpus.TotalFrames() : request.epochSize;
        m_log.Print("minibatchiterator: epoch %zu: frames [%zu..%zu], data subset %zu of %zu\n", request.epoch,
                    request.epoch * size, (request.epoch + 1) * size, request.rank, request.workers);
    }
    m_prefetcher.Start([this](HtkSlot<ElemType>& slot) { return m_batches->Fill(slot); });
}

template <class ElemType>
bool HtkReader<ElemType>::GetMinibatch(HostMinibatch<ElemType>& minibatch)
{
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    // The caller's buffers are the ones that are filled next: two sets of them stay in the cache longer than three.
    std::swap(minibatch.streams, m_slot.streams);
    const bool hasMore = m_prefetcher.Next(m_slot);
    std::swap(minibatch.streams, m_slot.streams);
    if (!hasMore)
        return false;
    std::swap(minibatch.sequenceKeys, m_slot.keys);
    if (!m_slot.log.empty())
    {
        m_log.Write(m_slot.log);
        m_slot.log.clear();
    }
    minibatch.secondsWaited = std::chrono::duration<double>(Clock::now() - start).count();
    return true;
}

template <class ElemType>
std::vector<std::string> HtkReader<ElemType>::CreateLabelMaps()
{
    for (const HtkLabelBlock& block : m_config.labels)
        FailAt(block.config->Where(), ErrorKind::Config, "HTKMLFReader makes no label maps; '", block.name,
               "' needs a state list (labelMappingFile)");
    return {};
}

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeHtkReader(const ReaderContext& context)
{
    return std::make_unique<HtkReader<ElemType>>(ReadHtkConfig(context), context.log);
}

template class HtkReader<float>;
template class HtkReader<double>;
template std::unique_ptr<IDataReader<float>> MakeHtkReader<float>(const ReaderContext&);
template std::unique_ptr<IDataReader<double>> MakeHtkReader<double>(const ReaderContext&);

} // namespace cntk
