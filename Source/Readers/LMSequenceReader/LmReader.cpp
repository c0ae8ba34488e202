// Sentences of one length, and minibatches of words.
#include "Readers/LMSequenceReader/LmReader.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "Common/Random.h"
#include "Common/Text.h"
#include "Readers/ReaderLib/MinibatchPipe.h"

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
// CNTK v1.1 stores this value for word 0, because a 0 is no element of a sparse column.
constexpr double c_wordZero = 1e-6;
constexpr uint32_t c_none = UINT32_MAX;
constexpr size_t c_leastWords = 3; // shorter lines are no sentences
constexpr size_t c_sentencesToJudge = 100;

} // namespace

int32_t LmText::IdOf(std::string_view word) const
{
    const int32_t id = m_config.words.Find(word);
    if (id != Vocabulary::c_unknown)
        return id;
    if (m_config.unknownWord == Vocabulary::c_unknown)
        Fail(ErrorKind::Data, m_lines.Location(word), ": word '", word, "' is not in the vocabulary '",
             m_config.words.Source(), "', and neither is unk '", m_config.reader.unk, "'", m_config.words.Hint(word));
    return m_config.unknownWord;
}

// Warns once if all sentences lack a marker that the config names. writeWordAndClass counts a text with markers around
// its lines, but the reader adds none. Waits for enough sentences to exclude chance.
std::string LmText::CheckMarkers()
{
    const auto hasAny = [&](const std::string& marker, bool atEnd)
    {
        const int32_t id = m_config.words.Find(marker);
        const auto has = [&](const Sentence& s) { return m_words[s.first + (atEnd ? s.tokens - 1 : 0)] == id; };
        return marker.empty() || std::any_of(m_sentences.begin(), m_sentences.end(), has);
    };
    m_markers.begin = m_markers.begin || hasAny(m_config.beginSequence, false);
    m_markers.end = m_markers.end || hasAny(m_config.endSequence, true);
    m_markers.sentences += m_sentences.size();
    m_markers.areJudged = m_isAtEnd || m_markers.sentences >= c_sentencesToJudge;
    const bool begins = m_markers.begin, ends = m_markers.end;
    if (!m_markers.areJudged || (begins && ends))
        return {};
    return Concat(
        "WARNING: LMSequenceReader: none of the ", Counted(m_markers.sentences, "sentence"), " read of '",
        m_lines.Path(), "' ", begins ? "" : Concat("begins with '", m_config.beginSequence, "' (beginSequence)"),
        begins || ends ? "" : " or ", ends ? "" : Concat("ends with '", m_config.endSequence, "' (endSequence)"),
        "; the reader does not add markers, and without them the model does not learn how sentences begin and end\n");
}

// Warns once that the output has another order than the text.
std::string LmText::WarnOfOrder()
{
    const auto standsBefore = [](const Sentence& a, const Sentence& b) { return a.number < b.number; };
    if (!m_config.forWriting || m_hasWarnedOfOrder ||
        std::is_sorted(m_sentences.begin(), m_sentences.end(), standsBefore))
        return {};
    m_hasWarnedOfOrder = true;
    return Concat("WARNING: LMSequenceReader: sentences are shuffled whatever randomize says, so that the output is "
                  "not in the order of '",
                  m_lines.Path(), "'; cacheBlockSize=1 keeps that order\n");
}

void LmText::ReadBlock(std::string& log)
{
    m_words.clear();
    size_t longest = 0;
    std::string_view line;
    while (!m_isAtEnd && m_words.size() < m_config.reader.cacheBlockSize)
    {
        if (!m_lines.Next(line))
        {
            m_isAtEnd = true;
            break;
        }
        SplitTokens(line, m_columns);
        if (m_columns.size() < c_leastWords)
            continue;
        if (m_columns.size() > size_t(INT32_MAX))
            Fail(ErrorKind::Data, m_lines.Path(), ":", m_lines.LineNumber(), ": a sentence of ", m_columns.size(),
                 " words is too long; at most ", INT32_MAX, " words can be in one");
        m_sentences.push_back({m_words.size(), m_columns.size(), m_lines.LineNumber()});
        longest = std::max(longest, m_columns.size());
        for (const std::string_view word : m_columns)
            m_words.push_back(IdOf(word));
    }
    if (m_sentences.empty())
        return;
    if (!m_markers.areJudged)
        log += CheckMarkers();
    std::mt19937 generator{uint32_t(m_seeds(++m_seed))};
    std::shuffle(m_sentences.begin(), m_sentences.end(), generator);
    log += WarnOfOrder();
    m_heads.assign(longest + 1, c_none);
    m_successors.resize(m_sentences.size());
    for (size_t i = m_sentences.size(); i-- > 0;)
    {
        uint32_t& head = m_heads[m_sentences[i].tokens];
        m_successors[i] = head;
        head = uint32_t(i);
    }
    log += Concat("LMSequenceReader: Reading epoch data... ", m_sentences.size(), " sequences read.\n");
}

size_t LmText::SamplesOfLine(size_t columns) const
{
    return columns < c_leastWords ? 0 : columns - 1;
}

size_t LmText::StepsOfNext(std::string& log)
{
    return FindNext(log) ? m_sentences[Next()].tokens - 1 : 0;
}

bool LmText::NextGroup(size_t most, std::string& log)
{
    ClearGroup();
    if (!FindNext(log))
        return false;
    uint32_t& head = m_heads[m_sentences[Next()].tokens]; // its first sentence is Next()
    for (; head != c_none && Group().size() < most; head = m_successors[head])
        Take(head);
    return true;
}

template <class ElemType>
LmReader<ElemType>::LmReader(const ReaderContext& context)
    : SentenceReader<ElemType>(c_readerName, context.log), m_config(ReadLmConfig(context)), m_text(m_config)
{
    this->m_prefetches = m_config.reader.prefetch;
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
        AddLabels();
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
        context.log.Print("%s: Input file is %s\n", c_readerName, m_config.reader.file.c_str());
}

template <class ElemType>
void LmReader<ElemType>::AddLabels()
{
    StreamInfo labels;
    labels.name = m_config.labelName;
    labels.rows = LabelRows();
    labels.isLabel = true;
    if (m_config.mode == LmMode::OneHot)
    {
        labels.sparse = true;
        labels.source = Concat("'", m_config.reader.file, "', ", m_config.dimSource);
        labels.labelNames = m_config.words.Words();
        m_streams.push_back(std::move(labels));
        return;
    }
    const bool isClass = m_config.mode == LmMode::Class;
    labels.source =
        Concat("'", m_config.reader.file, "', mode=",
               isClass                            ? "class"
               : m_config.mode == LmMode::Softmax ? "softmax"
                                                  : "nce",
               ", made for ", isClass ? "Class" : "NCE",
               "BasedCrossEntropyWithSoftmax; a label for each word of the vocabulary comes from mode=oneHot");
    if (isClass)
    {
        labels.wordClasses = m_config.classes.Classes().size();
        labels.wordClassSource = m_config.classes.Source();
    }
    m_streams.push_back(std::move(labels));
}

// mode=nce: draws noise words with the frequencies of the class file.
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
size_t LmReader<ElemType>::LabelRows() const
{
    switch (m_config.mode)
    {
    case LmMode::Class:
        return Vocabulary::c_classRows;
    case LmMode::Softmax:
        return 1;
    case LmMode::OneHot:
        return m_config.words.Size();
    case LmMode::Nce:
        return 2 * (m_config.noiseWords + 1);
    }
    return 0;
}

template <class ElemType>
void LmReader<ElemType>::BeginEpoch()
{
    if (m_request.epochSize == 0)
        m_request.epochSize = c_wholeDataSet;
    m_samples = 0;
    m_count = m_begin = m_end = m_steps = 0;
    m_text.Start(m_request.epoch, m_request.trainingSeed);
    const SeedStream noiseSeeds(m_request.trainingSeed, "noise words");
    // The noise words of the first epoch are those of CNTK v1.1.
    m_noiseGenerator.seed(uint32_t(noiseSeeds(c_noiseSeed + m_request.epoch)));
    m_noise.reset();
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
    const PlaceRange share = ShareOfWorker(m_request, m_text.Group().size());
    m_first = share.begin;
    m_count = share.end - share.begin;
    m_end = 0;
    m_steps = m_text.Steps();
    return true;
}

template <class ElemType>
bool LmReader<ElemType>::NextMinibatch(MBLayout& layout, std::vector<std::string>& keys, std::string& log)
{
    if (m_samples > m_request.epochSize)
        return false;
    if (m_end == m_steps && !NextGroup(log))
    {
        if (m_samples == 0)
            Fail(ErrorKind::Data, "data file '", m_config.reader.file,
                 "' has no sentences; expected lines of three words at least, with their markers, such as </s> a </s>");
        return false;
    }
    // nbruttsineachrecurrentiter=0: minibatchSize counts words, and sentences are not cut.
    const size_t left = m_steps - m_end;
    const size_t count = m_config.reader.parallelSequences == 0 ? left : std::min(m_request.minibatchSize, left);
    RequireColumns(m_count * count, "words");
    if (m_config.forWriting && m_count > 1 && count < m_steps && !std::exchange(m_hasWarnedOfPieces, true))
        log += Concat("WARNING: ", c_readerName, ": sentences longer than minibatchSize=", m_request.minibatchSize,
                      " are cut, and in the output the pieces of ", m_count,
                      " parallel sentences alternate; a larger minibatchSize leaves them whole\n");
    m_begin = m_end;
    m_end += count;
    m_samples += m_text.Group().size() * count;
    layout.Init(m_count, count);
    keys.resize(m_count);
    for (size_t s = 0; s < m_count; ++s)
    {
        keys[s] = std::to_string(m_text.Group()[m_first + s].number);
        layout.AddSequence(s, s, -ptrdiff_t(m_begin), ptrdiff_t(m_steps) - ptrdiff_t(m_begin));
    }
    return true;
}

template <class ElemType>
void LmReader<ElemType>::FillStream(size_t stream, Slot& slot)
{
    StreamBatch<ElemType>& batch = slot.streams[stream];
    if (batch.sparse)
        return FillWords(m_streams[stream].isLabel ? 1 : 0, batch);
    if (m_streams[stream].isLabel)
        return FillLabels(batch);
    batch.layout = slot.layouts[stream];
    batch.layout->InitAsFrameMode(1);
    batch.columns = 1;
    batch.values.assign(m_config.classes.ClassIds().begin(), m_config.classes.ClassIds().end());
}

template <class ElemType>
void LmReader<ElemType>::FillWords(size_t shift, StreamBatch<ElemType>& batch) const
{
    PrepareOneHot(batch);
    for (size_t s = 0; s < m_count; ++s)
    {
        const int32_t* words = m_text.WordsOf(m_first + s);
        for (size_t t = m_begin; t < m_end; ++t)
            batch.rowIndices[(t - m_begin) * m_count + s] = words[t + shift];
    }
}

template <class ElemType>
void LmReader<ElemType>::FillLabels(StreamBatch<ElemType>& batch)
{
    batch.values.resize(batch.columns * batch.rows);
    ElemType* label = batch.values.data();
    for (size_t t = m_begin; t < m_end; ++t)
    {
        SkipNoise(m_first);
        for (size_t s = 0; s < m_count; ++s, label += batch.rows)
            FillLabel(m_text.WordsOf(m_first + s)[t + 1], label);
        SkipNoise(m_text.Group().size() - m_first - m_count);
    }
}

// Draws the noise words of other workers' sentences, so that a word's noise words do not depend on the number of
// workers.
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
    m_unusedDraw(m_noiseGenerator); // CNTK v1.1 makes this draw too
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
std::unique_ptr<IDataReader<ElemType>> MakeLmReader(const ReaderContext& context)
{
    return std::make_unique<LmReader<ElemType>>(context);
}

template class LmReader<float>;
template class LmReader<double>;
template std::unique_ptr<IDataReader<float>> MakeLmReader<float>(const ReaderContext&);
template std::unique_ptr<IDataReader<double>> MakeLmReader<double>(const ReaderContext&);

} // namespace cntk
