// LUSequenceReader: words in their context, and a label for each. Parallel whole sentences.
#pragma once

#include "Common/ReaderInterface.h"
#include "Readers/ReaderLib/ReaderOptions.h"
#include "Readers/ReaderLib/SentenceReader.h"
#include "Readers/ReaderLib/Vocabulary.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace cntk
{

struct LuReaderOptions
{
    std::string file;
    std::vector<int> wordContext{0};
    std::string wordmap;
    std::string unk = "<unk>";
    size_t parallelSequences = 1;
    std::string randomize;
    bool equalLength = true;
    bool dataMultiPass = false;
    bool ignoreSentenceBeginTag = false;
    std::string inputLabel;
    std::string outputLabel;
    std::string ioNodeNames;
    bool prefetch = true;
    int traceLevel = 0;

    static OptionTable<LuReaderOptions> Options();
};

struct LuLabelOptions
{
    size_t dim = 1;
    std::string token;
    bool isClass = false;
    bool isCategory = true;
    bool useWordMap = false;
    std::string beginSequence;
    std::string endSequence;
    bool isProposal = false;
    std::string labelMappingFile;
    size_t labelDim = 0;

    static OptionTable<LuLabelOptions> Options();
};

// The words of the inputs, or the labels.
struct LuVocabulary
{
    std::string name; // of the block
    LuLabelOptions options;
    Vocabulary words;
    int32_t unknownWord = Vocabulary::c_unknown;
};

// Replacements of words.
using WordMap = std::unordered_map<std::string, std::string>;

struct LuConfig
{
    LuReaderOptions reader;
    bool shuffle = false;
    bool forWriting = false;
    std::string featureName = "features";
    LuVocabulary input;
    LuVocabulary output;
    WordMap wordMap;
    SourcePos fileWhere;
};

LuConfig ReadLuConfig(const ReaderContext& context);
// Reads "from to" lines up to a blank line. Fails (Data) with file and line.
WordMap ReadWordMap(const std::string& path, Log& log);
void DescribeLuOptions(PluginDescription& description);
void AddLuInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files);

// The sentences of a text with one token and its label a line.
class LuText final : public SentenceText
{
public:
    explicit LuText(const LuConfig& config) : SentenceText(config.reader.file, config.fileWhere), m_config(config) {}

    void Start(size_t seed, uint64_t trainingSeed) override;

    // Groups sentences among the next nbruttsineachrecurrentiter unused ones; with equalLength those as long as the
    // first. False at the end of the file.
    bool NextGroup(std::string& log);

    // Ids of the input words of a token of the block, and its label.
    std::span<const int32_t> WordsOf(size_t token) const
    {
        return {m_words.data() + m_wordStarts[token], m_wordStarts[token + 1] - m_wordStarts[token]};
    }
    int32_t LabelOf(size_t token) const { return m_labels[token]; }

    // The first word without a label, with its place; empty if all words so far have labels.
    const std::string& LoneWord() const { return m_loneWord; }

private:
    void ReadBlock(std::string& log) override;
    size_t SamplesOfLine(size_t columns) const override { return columns >= 2 ? 1 : 0; }
    void ReadSentence();
    int32_t IdOf(std::string_view word, const LuVocabulary& vocabulary) const;

    const LuConfig& m_config;
    std::string m_loneWord;
    size_t m_minibatches = 0;      // of the epoch so far
    size_t m_sentencesOfEpoch = 0; // read so far
    // The block.
    std::vector<int32_t> m_words;
    std::vector<size_t> m_wordStarts; // by token
    std::vector<int32_t> m_labels;    // by token
};

template <class ElemType>
class LuReader final : public SentenceReader<ElemType>
{
public:
    explicit LuReader(const ReaderContext& context);
    ~LuReader() override { this->StopReading(); }

    size_t TotalSamples() override { return m_text.CountSamples(); }
    size_t ParallelSequences(size_t) const override { return m_config.reader.parallelSequences; }

private:
    using typename SentenceReader<ElemType>::Slot;
    using SentenceReader<ElemType>::m_request;
    using SentenceReader<ElemType>::m_streams;

    void BeginEpoch() override;
    bool NextMinibatch(MBLayout& layout, std::vector<std::string>& keys, std::string& log) override;
    bool NextGroup(std::string& log);
    [[noreturn]] void FailNoSentences() const;
    void TakeShare();
    void WarnOnce(std::string& log);
    void FillStream(size_t stream, Slot& slot) override;
    void FillWords(StreamBatch<ElemType>& batch);
    void FillLabels(StreamBatch<ElemType>& batch) const;
    void FillClasses(StreamBatch<ElemType>& batch) const;

    LuConfig m_config;
    LuText m_text;

    size_t m_sentences = 0; // of the epoch so far
    bool m_hasDelivered = false;
    bool m_hasWarnedOfLoneWord = false;
    bool m_hasWarnedOfOrder = false;
    std::vector<Sentence> m_share; // this worker's sentences of the minibatch
    size_t m_steps = 0;            // of the longest sentence of all workers
    std::vector<int32_t> m_ids;
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeLuReader(const ReaderContext& context);

} // namespace cntk
