// The parameters of LUSequenceReader (book 3.4.4), read from the reader block, its feature block and its label blocks.
#pragma once

#include "Common/ReaderInterface.h"
#include "Readers/ReaderLib/ReaderOptions.h"
#include "Readers/ReaderLib/Vocabulary.h"

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

// The words of the inputs, or of the labels.
struct LuVocabulary
{
    std::string name; // of the block
    LuLabelOptions options;
    Vocabulary words;
    int32_t unknownWord = Vocabulary::c_unknown;
};

// From word to word.
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
// "from to" lines up to a blank one. Fails (Data) with file and line.
WordMap ReadWordMap(const std::string& path, Log& log);
void DescribeLuOptions(PluginDescription& description);
void AddLuInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files);

} // namespace cntk
