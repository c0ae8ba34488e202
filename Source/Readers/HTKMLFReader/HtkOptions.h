// The parameters of HTKMLFReader (book 3.4.2), read from the reader block and its sub-blocks.
#pragma once

#include "Common/Config/Options.h"
#include "Common/ReaderInterface.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// randomize = auto | none | number of frames
struct HtkRandomize
{
    static constexpr size_t c_auto = SIZE_MAX >> 2; // the value of auto in CNTK v1.1

    size_t range = c_auto;
};

template <>
struct OptionType<HtkRandomize>
{
    static std::string Name() { return "auto, none or a number of frames"; }
    static HtkRandomize Read(const ConfigValue& value, const Range&);
    static std::string Print(const HtkRandomize& value);
};

enum class HtkReadMethod
{
    BlockRandomize, // the data of a window of chunks are in memory
    RollingWindow,  // all data go through a page file
    None            // in the order of the script file
};

struct HtkFeatureOptions
{
    size_t dim = 0;
    std::vector<size_t> contextWindow = {1};
    std::string type = "real";
    std::string scpFile;
    std::string prefixPathInSCP;
    bool expandToUtterance = false;

    static OptionTable<HtkFeatureOptions> Options();
};

struct HtkLabelOptions
{
    size_t labelDim = 0;
    std::string labelType = "category";
    std::string mlfFile;
    std::string mlfFileList;
    std::string labelMappingFile;
    std::string labelToTargetMappingFile;
    size_t targetDim = 0;

    static OptionTable<HtkLabelOptions> Options();
};

struct HtkLatticeOptions
{
    std::string denLatTocFile;
    std::string numLatTocFile;
    std::string prefixPathInToc;

    static OptionTable<HtkLatticeOptions> Options();
};

// Options of the block that describes phones and their transitions in CNTK v1.1.
struct HtkHmmOptions
{
    std::string phoneFile;
    std::string transPFile;

    static OptionTable<HtkHmmOptions> Options();
};

struct HtkReaderOptions
{
    HtkReadMethod readMethod = HtkReadMethod::BlockRandomize;
    HtkRandomize randomize;
    bool frameMode = true;
    bool truncated = false;
    size_t truncationLength = 0;
    Schedule<size_t> parallelSequences = 1;
    bool fullMinibatches = false;
    int verbosity = 2;
    std::string pageFilePath;
    bool minimizeReaderMemoryFootprint = true;
    std::string unigram;
    int traceLevel = 0;

    static OptionTable<HtkReaderOptions> Options();
};

struct HtkFeatureBlock
{
    std::string name;
    const ConfigParameters* config = nullptr;
    HtkFeatureOptions options;
    size_t rows = 0;                  // dim x contextWindow
    bool hasAsymmetricWindow = false; // contextWindow=left:right
};

struct HtkLabelBlock
{
    std::string name;
    const ConfigParameters* config = nullptr;
    HtkLabelOptions options;
};

struct HtkLatticeBlock
{
    std::string name;
    const ConfigParameters* config = nullptr;
    HtkLatticeOptions options;
    size_t labels = 0; // index into HtkConfig::labels: the labels whose state list names the states of the lattices
};

struct HtkConfig
{
    HtkReaderOptions reader;
    std::vector<HtkFeatureBlock> features; // in alphabetical order
    std::vector<HtkLabelBlock> labels;
    std::optional<HtkLatticeBlock> lattices; // for sequence training
    bool forWriting = false;
};

// Reads and checks the blocks; fails (Config) with positions.
HtkConfig ReadHtkConfig(const ReaderContext& context);

// Fails (Data), at the position of the key, if a file that a block names does not exist.
void RequireHtkFile(const ConfigParameters& block, const char* key, const char* what, const std::string& path);

// True if the path has * or ?, and so may match several files.
bool IsFilePattern(std::string_view path);

// For --help and the documentation.
void DescribeHtkOptions(PluginDescription& description);
void AddHtkInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files);

} // namespace cntk
