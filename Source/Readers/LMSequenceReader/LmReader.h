// LMSequenceReader: words as input, the next words as labels. Parallel sentences of one length, cut into pieces of
// minibatchSize steps.
#pragma once

#include "Common/ReaderInterface.h"
#include "Readers/ReaderLib/ReaderOptions.h"
#include "Readers/ReaderLib/SentenceReader.h"
#include "Readers/ReaderLib/Vocabulary.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace cntk
{

enum class LmMode
{
    Class,   // word, class, first and last word of the class
    Softmax, // word
    OneHot,  // a row for each word of the vocabulary
    Nce      // word and noise words with their log probabilities
};

struct LmReaderOptions
{
    std::string file;
    std::string wordclass;
    std::string unk = "<unk>";
    size_t parallelSequences = 1;
    size_t cacheBlockSize = 50000;
    std::string randomize;
    bool prefetch = true;
    int traceLevel = 0;

    static OptionTable<LmReaderOptions> Options();
};

struct LmFeatureOptions
{
    size_t dim = 0;
    LmMode mode = LmMode::Class;
    size_t noiseNumber = 0;

    static OptionTable<LmFeatureOptions> Options();
};

struct LmLabelOptions
{
    enum class Type
    {
        Category,
        NextWord,
        None
    };
    size_t dim = 1;
    size_t labelDim = 0;
    Type labelType = Type::Category;
    std::string labelMappingFile;
    std::string beginSequence;
    std::string endSequence;

    static OptionTable<LmLabelOptions> Options();
};

struct LmConfig
{
    LmReaderOptions reader;
    LmMode mode = LmMode::Class;
    size_t noiseWords = 0;
    std::string featureName = "features";
    std::string labelName = "labels"; // empty: no labels are wanted
    Vocabulary words;                 // ids of words
    Vocabulary classes;               // counts and classes of ids; empty without wordclass
    int32_t unknownWord = Vocabulary::c_unknown;
    std::string beginSequence; // from the block of the input; the text must contain them
    std::string endSequence;
    std::string dimSource; // the setting that decides the dimension; for messages
    SourcePos fileWhere;
    bool forWriting = false;
};

LmConfig ReadLmConfig(const ReaderContext& context);
void AddLmInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files);
void DescribeLmOptions(PluginDescription& description);

// The sentences of a text with one sentence a line.
class LmText final : public SentenceText
{
public:
    explicit LmText(const LmConfig& config) : SentenceText(config.reader.file, config.fileWhere), m_config(config) {}

    // Groups the next sentences of one length, at most `most`; false at the end of the file. log gets text.
    bool NextGroup(size_t most, std::string& log);
    // Number of words minus one: the last word is no input, the first one no label.
    size_t Steps() const { return Group()[0].tokens - 1; }
    // Words 0 .. Steps() of a sentence of the group.
    const int32_t* WordsOf(size_t sentence) const { return m_words.data() + Group()[sentence].first; }
    // Steps() of the next group; 0 at the end of the file.
    size_t StepsOfNext(std::string& log);

private:
    // beginSequence and endSequence in the text.
    struct Markers
    {
        size_t sentences = 0; // checked so far
        bool begin = false;   // found in one of them
        bool end = false;
        bool areJudged = false;
    };

    void ReadBlock(std::string& log) override;
    size_t SamplesOfLine(size_t columns) const override;
    std::string CheckMarkers();
    std::string WarnOfOrder();
    int32_t IdOf(std::string_view word) const;

    const LmConfig& m_config;
    Markers m_markers;
    bool m_hasWarnedOfOrder = false;
    std::vector<int32_t> m_words; // of the block
    // The unused sentences of each length are a linked list in shuffled order.
    std::vector<uint32_t> m_heads;      // by length
    std::vector<uint32_t> m_successors; // by sentence
};

template <class ElemType>
class LmReader final : public SentenceReader<ElemType>
{
public:
    explicit LmReader(const ReaderContext& context);
    ~LmReader() override { this->StopReading(); }

    size_t TotalSamples() override { return m_text.CountSamples(); }
    size_t ParallelSequences(size_t) const override { return std::max<size_t>(1, m_config.reader.parallelSequences); }

private:
    using typename SentenceReader<ElemType>::Slot;
    using SentenceReader<ElemType>::m_request;
    using SentenceReader<ElemType>::m_streams;

    void AddLabels();
    size_t LabelRows() const;
    void PrepareNoise();
    void BeginEpoch() override;
    bool NextMinibatch(MBLayout& layout, std::vector<std::string>& keys, std::string& log) override;
    bool NextGroup(std::string& log);
    void FillStream(size_t stream, Slot& slot) override;
    // shift: 0 for words, 1 for the next words.
    void FillWords(size_t shift, StreamBatch<ElemType>& batch) const;
    void FillLabels(StreamBatch<ElemType>& batch);
    void FillLabel(int32_t word, ElemType* label);
    void SkipNoise(size_t sentences);
    size_t DrawNoise();

    LmConfig m_config;
    LmText m_text;

    size_t m_samples = 0; // of the epoch so far
    // This worker's share of the group: sentences [m_first, m_first + m_count).
    size_t m_first = 0;
    size_t m_count = 0;
    size_t m_begin = 0; // the minibatch has steps [m_begin, m_end) of the group
    size_t m_end = 0;
    size_t m_steps = 0;               // of the group
    bool m_hasWarnedOfPieces = false; // pieces of sentences alternate in the output

    std::vector<double> m_logProbabilities; // mode=nce, by word
    std::mt19937 m_noiseGenerator;
    std::uniform_int_distribution<int> m_unusedDraw;
    std::piecewise_constant_distribution<double> m_noise;
};

template <class ElemType>
std::unique_ptr<IDataReader<ElemType>> MakeLmReader(const ReaderContext& context);

} // namespace cntk
