// Sentences of tokens and labels, and their minibatches.
#include "Readers/LUSequenceReader/LuReader.h"

#include "Common/CompositeReader.h"
#include "Common/Error.h"
#include "Common/Log.h"
#include "Readers/ReaderLib/MinibatchPipe.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

namespace cntk
{
namespace
{

constexpr const char* c_readerName = "LUSequenceReader";
// Distance between the seeds of epochs. The seed of a block is the epoch's seed plus its number of minibatches so far.
constexpr size_t c_seedsOfEpoch = 1000003;
constexpr size_t c_blockLines = 50000;

} // namespace

void LuText::Start(size_t seed, uint64_t trainingSeed)
{
    SentenceText::Start(seed, trainingSeed);
    m_minibatches = 0;
    m_sentencesOfEpoch = 0;
}

int32_t LuText::IdOf(std::string_view word, const LuVocabulary& vocabulary) const
{
    std::string_view wanted = word;
    if (vocabulary.options.useWordMap)
    {
        const auto mapped = m_config.wordMap.find(std::string(word));
        wanted = mapped == m_config.wordMap.end() ? std::string_view(m_config.reader.unk) : mapped->second;
    }
    const int32_t id = vocabulary.words.Find(wanted);
    if (id != Vocabulary::c_unknown)
        return id;
    if (vocabulary.unknownWord == Vocabulary::c_unknown)
        Fail(ErrorKind::Data, m_lines.Location(word), ": '", wanted, "'",
             wanted == word ? std::string() : Concat(" (from '", word, "' by the word map)"), " is not in the tokens '",
             vocabulary.words.Source(), "' of '", vocabulary.name, "', and neither is unk '", m_config.reader.unk, "'",
             vocabulary.words.Hint(wanted));
    return vocabulary.unknownWord;
}

// Reads up to a blank line or a token that ends a sentence. Adds nothing at the end of the text.
void LuText::ReadSentence()
{
    const size_t first = m_labels.size();
    std::string_view line;
    for (bool isOpen = true; isOpen;)
    {
        if (!m_lines.Next(line))
        {
            m_isAtEnd = true;
            break;
        }
        SplitTokens(line, m_columns);
        if (m_columns.empty() && m_labels.size() > first)
            break;
        if (m_columns.size() < 2) // skips a word without a label
        {
            if (!m_columns.empty() && m_loneWord.empty())
                m_loneWord = Concat(m_lines.Location(m_columns[0]), ": '", m_columns[0], "'");
            continue;
        }
        for (size_t i = 0; i + 1 < m_columns.size(); ++i)
            m_words.push_back(IdOf(m_columns[i], m_config.input));
        m_wordStarts.push_back(m_words.size());
        m_labels.push_back(IdOf(m_columns.back(), m_config.output));
        const auto ends = [](std::string_view word, const LuVocabulary& vocabulary)
        { return !vocabulary.options.endSequence.empty() && word == vocabulary.options.endSequence; };
        isOpen = !ends(m_columns.back(), m_config.output) && !ends(m_columns.front(), m_config.input);
    }
    if (m_labels.size() > first)
        m_sentences.push_back({first, m_labels.size() - first, ++m_sentencesOfEpoch});
}

void LuText::ReadBlock(std::string& log)
{
    m_words.clear();
    m_wordStarts.assign(1, 0);
    m_labels.clear();
    const size_t start = m_lines.LineNumber();
    while (!m_isAtEnd && m_lines.LineNumber() - start < c_blockLines)
        ReadSentence();
    if (m_sentences.empty())
        return;
    if (m_config.shuffle)
    {
        std::minstd_rand0 generator{uint32_t(m_seeds(m_seed + m_minibatches))};
        std::shuffle(m_sentences.begin(), m_sentences.end(), generator);
    }
    if (m_config.reader.traceLevel > 0)
        log += Concat("LUSequenceReader: ", m_lines.LineNumber() - start, " lines read, ", m_sentences.size(),
                      " sequences with a total of ", m_labels.size(), " tokens.\n");
}

bool LuText::NextGroup(std::string& log)
{
    ClearGroup();
    if (!FindNext(log))
        return false;
    ++m_minibatches;
    size_t seen = 0;
    for (size_t i = Next(); i < m_sentences.size() && seen < m_config.reader.parallelSequences; ++i)
    {
        if (IsUsed(i))
            continue;
        ++seen;
        if (!m_config.reader.equalLength || m_sentences[i].tokens == m_sentences[Next()].tokens)
            Take(i);
    }
    return true;
}

template <class ElemType>
LuReader<ElemType>::LuReader(const ReaderContext& context)
    : SentenceReader<ElemType>(c_readerName, context.log), m_config(ReadLuConfig(context)), m_text(m_config)
{
    this->m_prefetches = m_config.reader.prefetch;
    const auto sourceOf = [&](const LuVocabulary& vocabulary)
    {
        return Concat("'", m_config.reader.file, "', ", vocabulary.words.Size(), " tokens of '",
                      vocabulary.words.Source(), "'");
    };
    StreamInfo words;
    words.name = m_config.featureName;
    words.rows = m_config.input.words.Size() * m_config.reader.wordContext.size();
    words.sparse = true;
    words.source = sourceOf(m_config.input) + Concat(" times ", m_config.reader.wordContext.size(), " of wordContext");
    m_streams.push_back(std::move(words));
    StreamInfo labels;
    labels.name = m_config.output.name;
    // Word, class, and the bounds of the class. CNTK v1.1 had a row for each token, with zeros in all but four rows, a
    // form that ClassBasedCrossEntropyWithSoftmax does not accept.
    labels.rows = m_config.output.options.isClass ? Vocabulary::c_classRows : m_config.output.words.Size();
    labels.isLabel = true;
    labels.sparse = !m_config.output.options.isClass;
    if (m_config.output.options.isClass)
    {
        labels.wordClasses = m_config.output.words.Classes().size();
        labels.wordClassSource = m_config.output.words.Source();
    }
    else
        labels.labelNames = m_config.output.words.Words();
    labels.source = sourceOf(m_config.output);
    m_streams.push_back(std::move(labels));
    if (m_config.reader.traceLevel > 0)
        context.log.Print("%s: Input file is %s\n", c_readerName, m_config.reader.file.c_str());
}

template <class ElemType>
void LuReader<ElemType>::BeginEpoch()
{
    m_sentences = 0;
    m_hasDelivered = false;
    m_text.Start(m_request.epoch * c_seedsOfEpoch, m_request.trainingSeed);
}

template <class ElemType>
void LuReader<ElemType>::FailNoSentences() const
{
    if (!m_text.LoneWord().empty())
        Fail(ErrorKind::Data, m_text.LoneWord(),
             " stands alone, and so does every other word of the file; expected its label after it, as the last column "
             "of the line");
    Fail(ErrorKind::Data, "data file '", m_config.reader.file,
         "' has no sentences; expected lines of words and a label, and a blank line after each sentence");
}

// Groups the sentences of the next minibatch for all workers. False at the end of the epoch.
template <class ElemType>
bool LuReader<ElemType>::NextGroup(std::string& log)
{
    const bool isWhole = IsWholeDataSet(m_request);
    if (!isWhole && m_sentences > m_request.epochSize) // CNTK v1.1 also counts sentences here
        return false;
    bool hasGroup = m_text.NextGroup(log);
    if (!hasGroup && !m_hasDelivered)
        FailNoSentences();
    if (!hasGroup && m_config.reader.dataMultiPass && !isWhole)
    {
        m_text.Start(m_request.epoch * c_seedsOfEpoch + m_sentences, m_request.trainingSeed);
        hasGroup = m_text.NextGroup(log);
    }
    if (!hasGroup)
        return false;
    m_hasDelivered = true;
    m_sentences += m_text.Group().size();
    return true;
}

// Takes this worker's share of the group. All workers pad to the same length, so that together they have as many
// columns as a single process.
template <class ElemType>
void LuReader<ElemType>::TakeShare()
{
    const std::vector<Sentence>& group = m_text.Group();
    const PlaceRange share = ShareOfWorker(m_request, group.size());
    m_share.assign(group.begin() + ptrdiff_t(share.begin), group.begin() + ptrdiff_t(share.end));
    m_steps = 0;
    for (const Sentence& sentence : group)
        m_steps = std::max(m_steps, sentence.tokens);
    if (m_steps * m_share.size() > size_t(INT32_MAX))
        Fail(ErrorKind::Data, "data file '", m_config.reader.file, "': a minibatch of ", m_share.size(),
             " sentences of up to ", m_steps, " tokens is too large; at most ", INT32_MAX, " tokens can be in one");
}

template <class ElemType>
void LuReader<ElemType>::WarnOnce(std::string& log)
{
    if (!m_text.LoneWord().empty() && !std::exchange(m_hasWarnedOfLoneWord, true))
        log += "WARNING: " + m_text.LoneWord() +
               " stands alone and is skipped, like other lines with one column; expected a label after it\n";
    // A gap in the numbers of the sentences shows that a sentence of another length waits.
    const std::vector<Sentence>& group = m_text.Group();
    const bool hasGap = group.back().number - group.front().number >= group.size();
    if (m_config.forWriting && hasGap && !std::exchange(m_hasWarnedOfOrder, true))
        log += Concat("WARNING: LUSequenceReader: with nbruttsineachrecurrentiter=", m_config.reader.parallelSequences,
                      " sentences overtake others of another length, so that the output is not in the order of '",
                      m_config.reader.file, "'; equalLength=false keeps that order\n");
}

template <class ElemType>
bool LuReader<ElemType>::NextMinibatch(MBLayout& layout, std::vector<std::string>& keys, std::string& log)
{
    if (!NextGroup(log))
        return false;
    WarnOnce(log);
    TakeShare();
    layout.Init(m_share.size(), m_steps);
    keys.resize(m_share.size());
    for (size_t s = 0; s < m_share.size(); ++s)
    {
        layout.AddSequence(s, s, 0, ptrdiff_t(m_share[s].tokens));
        keys[s] = std::to_string(m_share[s].number);
    }
    for (size_t s = 0; s < m_share.size(); ++s)
        layout.AddGap(s, ptrdiff_t(m_share[s].tokens), ptrdiff_t(m_steps));
    return true;
}

template <class ElemType>
void LuReader<ElemType>::FillStream(size_t stream, Slot& slot)
{
    StreamBatch<ElemType>& batch = slot.streams[stream];
    if (!m_streams[stream].isLabel)
        FillWords(batch);
    else if (batch.sparse)
        FillLabels(batch);
    else
        FillClasses(batch);
}

template <class ElemType>
void LuReader<ElemType>::FillWords(StreamBatch<ElemType>& batch)
{
    const size_t dim = m_config.input.words.Size();
    batch.rowIndices.clear();
    batch.columnStarts.assign(1, 0);
    for (size_t t = 0; t < m_steps; ++t)
    {
        for (const Sentence& sentence : m_share)
        {
            size_t block = 0;
            for (const int offset : m_config.reader.wordContext)
            {
                if (t >= sentence.tokens)
                    break; // a gap
                const ptrdiff_t at =
                    std::clamp(ptrdiff_t(t) + ptrdiff_t(offset), ptrdiff_t(0), ptrdiff_t(sentence.tokens) - 1);
                const std::span<const int32_t> words = m_text.WordsOf(sentence.first + size_t(at));
                m_ids.assign(words.begin(), words.end());
                std::sort(m_ids.begin(), m_ids.end());
                m_ids.erase(std::unique(m_ids.begin(), m_ids.end()), m_ids.end());
                for (const int32_t id : m_ids)
                    batch.rowIndices.push_back(int32_t(block) + id);
                block += dim;
            }
            if (batch.rowIndices.size() > size_t(INT32_MAX))
                Fail(ErrorKind::Config, "a minibatch with ", batch.rowIndices.size(), " words is too large; at most ",
                     INT32_MAX, " words can be in one");
            batch.columnStarts.push_back(int32_t(batch.rowIndices.size()));
        }
    }
    batch.values.assign(batch.rowIndices.size(), ElemType(1));
}

template <class ElemType>
void LuReader<ElemType>::FillLabels(StreamBatch<ElemType>& batch) const
{
    batch.rowIndices.clear();
    batch.columnStarts.assign(1, 0);
    for (size_t t = 0; t < m_steps; ++t)
    {
        for (const Sentence& sentence : m_share)
        {
            if (t < sentence.tokens)
                batch.rowIndices.push_back(m_text.LabelOf(sentence.first + t));
            batch.columnStarts.push_back(int32_t(batch.rowIndices.size()));
        }
    }
    batch.values.assign(batch.rowIndices.size(), ElemType(1));
}

template <class ElemType>
void LuReader<ElemType>::FillClasses(StreamBatch<ElemType>& batch) const
{
    batch.values.assign(batch.columns * batch.rows, ElemType(0));
    const Vocabulary& words = m_config.output.words;
    for (size_t s = 0; s < m_share.size(); ++s)
    {
        for (size_t t = 0; t < m_share[s].tokens; ++t)
        {
            const int32_t label = m_text.LabelOf(m_share[s].first + t);
            words.PutClassLabel(label, batch.values.data() + (t * m_share.size() + s) * batch.rows);
        }
    }
}

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeLuReader(const ReaderContext& context)
{
    const ConfigParameters& config = context.config;
    const std::optional<ConfigValue> names = config.FindHere("ioNodeNames"); // an option of the parts together
    if (!names)
        return std::make_unique<LuReader<ElemType>>(context);
    std::vector<typename CompositeReader<ElemType>::Part> parts;
    const ConfigArray array = names->AsArray();
    for (size_t i = 0; i < array.size(); ++i)
    {
        const std::string name = array[i].Text();
        parts.push_back({name, std::make_unique<LuReader<ElemType>>(context.For(config.RequireBlock(name)))});
    }
    if (parts.empty())
        FailAt(names->Where(), ErrorKind::Config, "ioNodeNames names no block; expected a:b, blocks of this reader");
    return std::make_unique<CompositeReader<ElemType>>(std::move(parts), names->Where(), &context.log);
}

template class LuReader<float>;
template class LuReader<double>;
template std::unique_ptr<IDataReader<float>> MakeLuReader<float>(const ReaderContext&);
template std::unique_ptr<IDataReader<double>> MakeLuReader<double>(const ReaderContext&);

} // namespace cntk
