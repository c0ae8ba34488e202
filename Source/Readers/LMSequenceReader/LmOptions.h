// The parameters of LMSequenceReader (book 3.4.3), read from the reader block, its feature block and its label blocks.
#pragma once

#include "Common/ReaderInterface.h"
#include "Readers/ReaderLib/ReaderOptions.h"
#include "Readers/ReaderLib/Vocabulary.h"

#include <string>
#include <vector>

namespace cntk
{

enum class LmMode
{
    Class,   // word, class, first and last word of the class
    Softmax, // word
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
    std::string labelName = "labels"; // empty: none are wanted
    Vocabulary words;                 // ids of words
    Vocabulary classes;               // counts and classes of ids; empty without wordclass
    int32_t unknownWord = Vocabulary::c_unknown;
    std::string beginSequence; // of the input's block; the text must have them
    std::string endSequence;
    std::string dimSource; // what decides the dimension; for messages
    SourcePos fileWhere;
    bool forWriting = false;
};

LmConfig ReadLmConfig(const ReaderContext& context);
void AddLmInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files);
void DescribeLmOptions(PluginDescription& description);

} // namespace cntk
