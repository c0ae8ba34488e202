// Streams and epochs.
#include "Readers/HTKMLFReader/HtkReader.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "Readers/ReaderLib/MinibatchPipe.h"

namespace cntk
{

template <class ElemType>
HtkReader<ElemType>::HtkReader(const HtkConfig& config, Log& log)
    : m_config(config), m_log(log), m_corpus(config, log),
      m_store(m_corpus, !config.forWriting && config.reader.readMethod == HtkReadMethod::RollingWindow,
              config.reader.pageFilePath),
      m_pipe(log)
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
void HtkReader<ElemType>::StartEpoch(const EpochRequest& request)
{
    m_pipe.Stop();
    m_store.SetWanted(ChooseStreams("HTKMLFReader", m_streams, request.wanted));
    const HtkEpoch epoch = m_batches->Start(request);
    if (m_config.reader.verbosity > 0 && !m_config.forWriting)
        m_log.Print(
            "minibatchiterator: epoch %zu: frames [%zu..%zu] (first utterance at frame %zu), data subset %zu of "
            "%zu, with 1 datapasses\n",
            request.epoch, epoch.frames.begin, epoch.frames.end, epoch.firstFrame, request.rank, request.workers);
    m_pipe.Start([this](MinibatchSlot<ElemType>& slot) { return m_batches->Fill(slot); }, true);
}

template <class ElemType>
std::vector<std::string> HtkReader<ElemType>::CreateLabelMaps()
{
    for (const HtkLabelBlock& block : m_config.labels)
        FailAt(block.config->Where(), ErrorKind::Config, "HTKMLFReader does not create label maps; '", block.name,
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
