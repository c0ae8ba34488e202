// Minibatches of words.
#include "Readers/LMSequenceReader/LmReader.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "Common/SeedStream.h"
#include "Readers/ReaderLib/EpochRange.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace cntk
{
namespace
{

constexpr const char* c_readerName = "LMSequenceReader";
constexpr const char* c_classTable = "idx2cls"; // the input node that gets the class of each word
constexpr uint32_t c_noiseSeed = 1234;
// What the original stores for word 0, which stands for nothing in a sparse column.
constexpr double c_wordZero = 1e-6;

} // namespace

template <class ElemType>
LmReader<ElemType>::LmReader(const ReaderContext& context)
    : m_config(ReadLmConfig(context)), m_text(m_config), m_log(context.log), m_pipe(context.log)
{
    const size_t size = m_config.words.Size();
    const std::string source = Concat("'", m_config.reader.file, "', ", m_config.dimSource);
    if (sizeof(ElemType) == sizeof(float) && size > size_t(1) << 24)
        Fail(ErrorKind::Config, c_readerName, ": a vocabulary of ", size,
             " words is too large for ids in single precision; at most ", size_t(1) << 24, ", or precision=double");
    StreamInfo words;
    words.name = m_config.featureName;
    words.rows = size;
    words.sparse = true;
    words.source = source;
    m_streams.push_back(std::move(words));
    if (!m_config.labelName.empty())
    {
        StreamInfo labels;
        labels.name = m_config.labelName;
        labels.rows = LabelRows();
        labels.isLabel = true;
        const bool isClass = m_config.mode == LmMode::Class;
        labels.source = Concat("'", m_config.reader.file, "', mode=",
                               isClass                            ? "class"
                               : m_config.mode == LmMode::Softmax ? "softmax"
                                                                  : "nce",
                               ", made for ", isClass ? "Class" : "NCE", "BasedCrossEntropyWithSoftmax",
                               "; a label for each word of the vocabulary comes from CNTKTextFormatReader");
        if (isClass)
        {
            labels.wordClasses = m_config.classes.Classes().size();
            labels.wordClassSource = m_config.classes.Source();
        }
        m_streams.push_back(std::move(labels));
    }
    if (m_config.classes.Size() > 0)
    {
        StreamInfo table;
        table.name = c_classTable;
        table.rows = size;
        table.source = source;
        m_streams.push_back(std::move(table));
    }
    if (m_config.mode == LmMode::Nce && !m_config.labelName.empty())
        PrepareNoise();
    if (m_config.reader.traceLevel > 0)
        m_log.Print("%s: Input file is %s\n", c_readerName, m_config.reader.file.c_str());
}

// mode=nce: noise words are drawn as often as the class file counts them.
template <class ElemType>
void LmReader<ElemType>::PrepareNoise()
{
    const size_t size = m_config.words.Size();
    const std::vector<double>& counts = m_config.classes.Counts();
    const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
    if (total <= 0)
        Fail(ErrorKind::Data, "'", m_config.classes.Source(), "': all counts are 0; mode=nce draws words by them");
    std::vector<double> borders(size + 1);
    std::iota(borders.begin(), borders.end(), 0.0);
    m_noise = std::piecewise_constant_distribution<double>(borders.begin(), borders.end(), counts.begin());
    m_unusedDraw = std::uniform_int_distribution<int>(0, int(size) - 1);
    for (const double count : counts)
        m_logProbabilities.push_back(std::log(count / total));
}

template <class ElemType>
LmReader<ElemType>::~LmReader()
{
    m_pipe.Stop(); // before what its thread uses goes away
}

template <class ElemType>
size_t LmReader<ElemType>::LabelRows() const
{
    switch (m_config.mode)
    {
    case LmMode::Class:
        return Vocabulary::c_classRows;
    case LmMode::Softmax:
        return 1;
    case LmMode::Nce:
        return 2 * (m_config.noiseWords + 1);
    }
    return 0;
}

template <class ElemType>
size_t LmReader<ElemType>::TotalSamples()
{
    return LmText(m_config).CountSamples(); // beside the thread that reads
}

template <class ElemType>
void LmReader<ElemType>::StartEpoch(const EpochRequest& request)
{
    CNTK_ASSERT(request.minibatchSize > 0 && request.rank < request.workers);
    m_pipe.Stop();
    m_wanted = ChooseStreams(c_readerName, m_streams, request.wanted);
    m_request = request;
    if (m_request.epochSize == 0)
        m_request.epochSize = c_wholeDataSet;
    m_samples = 0;
    m_count = m_cursor = m_steps = 0;
    m_text.Start(request.epoch, request.trainingSeed);
    const SeedStream noiseSeeds(request.trainingSeed, "noise words");
    m_noiseGenerator.seed(uint32_t(noiseSeeds(c_noiseSeed + request.epoch))); // the first epoch as the original
    m_noise.reset();
    m_pipe.Start([this](Slot& slot) { return Fill(slot); }, m_config.reader.prefetch);
}

template <class ElemType>
bool LmReader<ElemType>::NextGroup(std::string& log)
{
    const size_t parallel = m_config.reader.parallelSequences;
    size_t most = parallel;
    if (parallel == 0)
    {
        const size_t steps = m_text.StepsOfNext(log);
        most = steps == 0 ? 1 : std::max<size_t>(1, m_request.minibatchSize / steps);
    }
    if (!m_text.NextGroup(most, log))
        return false;
    const PlaceRange share = ShareOfWorker(m_request, m_text.GroupSize());
    m_first = share.begin;
    m_count = share.end - share.begin;
    m_cursor = 0;
    m_steps = m_text.Steps();
    return true;
}

// Runs in the prefetch thread or in the caller's.
template <class ElemType>
bool LmReader<ElemType>::Fill(Slot& slot)
{
    slot.Prepare(m_streams.size());
    if (m_samples > m_request.epochSize)
        return false;
    if (m_cursor == m_steps && !NextGroup(slot.log))
    {
        if (m_samples == 0)
            Fail(ErrorKind::Data, "data file '", m_config.reader.file,
                 "' has no sentences; expected lines of three words at least, with their markers, such as </s> a </s>");
        return false;
    }
    // Without a limit of sentences minibatchSize counts words, and nothing is cut.
    const size_t left = m_steps - m_cursor;
    const size_t count = m_config.reader.parallelSequences == 0 ? left : std::min(m_request.minibatchSize, left);
    RequireColumns(m_count * count, "words");
    if (m_config.forWriting && m_count > 1 && count < m_steps && !std::exchange(m_hasWarnedOfPieces, true))
        slot.log += Concat("WARNING: ", c_readerName, ": sentences longer than minibatchSize=", m_request.minibatchSize,
                           " are cut, and with ", m_count,
                           " side by side pieces of one stand between those of others in what is written; a larger "
                           "minibatchSize leaves them whole\n");
    MBLayout& layout = *slot.layouts[0];
    layout.Init(m_count, count);
    slot.keys.resize(m_count);
    for (size_t s = 0; s < m_count; ++s)
    {
        slot.keys[s] = std::to_string(m_text.LineOf(m_first + s));
        layout.AddSequence(s, s, -ptrdiff_t(m_cursor), ptrdiff_t(m_steps) - ptrdiff_t(m_cursor));
    }
    for (size_t i = 0; i < m_streams.size(); ++i)
    {
        StreamBatch<ElemType>& batch = slot.streams[i];
        if (!m_wanted[i])
        {
            slot.Clear(i);
            continue;
        }
        batch.rows = m_streams[i].rows;
        batch.columns = m_count * count;
        batch.sparse = m_streams[i].sparse;
        batch.layout = slot.layouts[0];
        if (batch.sparse)
        {
            FillWords(batch, count);
        }
        else if (m_streams[i].isLabel)
        {
            FillLabels(batch, count);
        }
        else
        {
            batch.layout = slot.layouts[i];
            FillClassTable(batch);
        }
    }
    m_cursor += count;
    m_samples += m_text.GroupSize() * count;
    return true;
}

template <class ElemType>
void LmReader<ElemType>::FillWords(StreamBatch<ElemType>& batch, size_t count) const
{
    PrepareOneHot(batch);
    for (size_t s = 0; s < m_count; ++s)
    {
        const int32_t* words = m_text.WordsOf(m_first + s) + m_cursor;
        for (size_t t = 0; t < count; ++t)
            batch.rowIndices[t * m_count + s] = words[t];
    }
}

template <class ElemType>
void LmReader<ElemType>::FillLabels(StreamBatch<ElemType>& batch, size_t count)
{
    batch.values.resize(batch.columns * batch.rows);
    for (size_t t = 0; t < count; ++t)
    {
        SkipNoise(m_first);
        for (size_t s = 0; s < m_count; ++s)
            FillLabel(m_text.WordsOf(m_first + s)[m_cursor + t + 1],
                      batch.values.data() + (t * m_count + s) * batch.rows);
        SkipNoise(m_text.GroupSize() - m_first - m_count);
    }
}

// Noise words of sentences that other workers have: whatever their number, a word has the same ones.
template <class ElemType>
void LmReader<ElemType>::SkipNoise(size_t sentences)
{
    if (m_config.mode == LmMode::Nce)
        for (size_t i = 0; i < sentences * m_config.noiseWords; ++i)
            DrawNoise();
}

template <class ElemType>
size_t LmReader<ElemType>::DrawNoise()
{
    m_unusedDraw(m_noiseGenerator); // as the original's stream
    return std::min(size_t(m_noise(m_noiseGenerator)), m_logProbabilities.size() - 1);
}

template <class ElemType>
void LmReader<ElemType>::FillLabel(int32_t word, ElemType* label)
{
    if (m_config.mode == LmMode::Softmax)
    {
        label[0] = word == 0 ? ElemType(c_wordZero) : ElemType(word);
        return;
    }
    if (m_config.mode == LmMode::Class)
    {
        m_config.classes.PutClassLabel(word, label);
        return;
    }
    label[0] = ElemType(word);
    label[1] = ElemType(m_logProbabilities[size_t(word)]);
    for (size_t i = 1; i <= m_config.noiseWords; ++i)
    {
        const size_t noise = DrawNoise();
        label[2 * i] = ElemType(noise);
        label[2 * i + 1] = ElemType(-m_logProbabilities[noise]);
    }
}

template <class ElemType>
void LmReader<ElemType>::FillClassTable(StreamBatch<ElemType>& batch) const
{
    batch.layout->InitAsFrameMode(1);
    batch.columns = 1;
    batch.values.assign(m_config.classes.ClassIds().begin(), m_config.classes.ClassIds().end());
}

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeLmReader(const ReaderContext& context)
{
    return std::make_unique<LmReader<ElemType>>(context);
}

template class LmReader<float>;
template class LmReader<double>;
template std::unique_ptr<IDataReader<float>> MakeLmReader<float>(const ReaderContext&);
template std::unique_ptr<IDataReader<double>> MakeLmReader<double>(const ReaderContext&);

} // namespace cntk
