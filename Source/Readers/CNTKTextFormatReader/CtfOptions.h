// The parameters of CNTKTextFormatReader, read from the reader block and the blocks of its streams inside input=[...].
#pragma once

#include "Common/ReaderInterface.h"
#include "Readers/ReaderLib/ReaderOptions.h"

#include <string>
#include <vector>

namespace cntk
{

struct CtfStreamOptions
{
    size_t dim = 0;
    bool sparse = false;
    std::string alias;

    static OptionTable<CtfStreamOptions> Options();
};

struct CtfReaderOptions
{
    std::string file;
    RandomizeWindow randomize;
    std::optional<RandomizeWindow> randomizationWindow;
    bool skipSequenceIds = false;
    bool frameMode = false;
    size_t maxErrors = 0;
    size_t chunkSizeInBytes = size_t(32) << 20;
    size_t numChunksToCache = 32;
    bool keepDataInMemory = false;
    bool prefetch = true;
    bool truncated = false;
    size_t truncationLength = 0;
    size_t parallelSequences = 1;
    int traceLevel = 1;
    int verbosity = 0;

    static OptionTable<CtfReaderOptions> Options();
};

// One stream: a block of input=[...].
struct CtfStream
{
    std::string name;  // of the input node
    std::string alias; // in the file
    size_t dim = 0;
    bool sparse = false;
    std::string source; // the setting that decides its dimension; for messages
};

struct CtfConfig
{
    CtfReaderOptions reader;
    SourcePos fileWhere;
    std::vector<CtfStream> streams;
    bool forWriting = false;
};

CtfConfig ReadCtfConfig(const ReaderContext& context);
void DescribeCtfOptions(PluginDescription& description);
void AddCtfInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files);

} // namespace cntk
