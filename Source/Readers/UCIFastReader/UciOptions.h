// The parameters of UCIFastReader (book 3.4.1), read from the reader block and its feature and label blocks.
#pragma once

#include "Common/Config/Options.h"
#include "Common/ReaderInterface.h"
#include "Readers/ReaderLib/FrameReader.h"
#include "Readers/ReaderLib/ReaderOptions.h"

#include <string>
#include <vector>

namespace cntk
{

// prefetch = auto | true | false
template <>
struct OptionType<PrefetchMode>
{
    static std::string Name() { return "auto, true or false"; }
    static PrefetchMode Read(const ConfigValue& value, const Range&);
    static std::string Print(const PrefetchMode& value);
};

enum class LabelType
{
    Category,   // text of one column, delivered as one-hot columns
    Regression, // numbers
    None
};

enum class HeaderMode
{
    Auto, // the first line is a header if it has text where numbers belong
    Present,
    Absent
};

struct UciFeatureOptions
{
    std::string file;
    size_t dim = 0;
    size_t start = 0;
    std::vector<std::string> columns;
    std::vector<std::string> missing;

    static OptionTable<UciFeatureOptions> Options();
};

struct UciLabelOptions
{
    std::string file;
    size_t dim = 0;
    size_t start = 0;
    size_t labelDim = 0;
    LabelType labelType = LabelType::Category;
    std::string labelMappingFile;
    std::vector<std::string> columns;
    std::string missing;

    static OptionTable<UciLabelOptions> Options();
};

struct UciReaderOptions
{
    RandomizeWindow randomize;
    bool fullMinibatches = false;
    std::string customDelimiter;
    std::string customDecimalPoint;
    HeaderMode header = HeaderMode::Auto;
    PrefetchMode prefetch = PrefetchMode::Auto;
    bool oneLinePerFile = false;
    size_t parallelSequences = 1;
    bool allowMapCreation = false;
    int traceLevel = 0;
    int verbosity = 0;
    size_t cacheMB = FrameReaderOptions::c_defaultCacheBytes >> 20;

    static OptionTable<UciReaderOptions> Options();
};

// One feature or label block, with its place for messages.
struct UciBlock
{
    std::string name;
    const ConfigParameters* config = nullptr;
    size_t start = 0;
    size_t columns = 0;                   // of the file
    std::vector<std::string> columnNames; // in place of start; empty: columns from start on
    // Stands for empty cells: one value, or one for each column; empty: an empty cell is an error.
    std::vector<std::string> missing;
    bool isLabel = false;
    bool isCategory = false;
    size_t labelDim = 0;          // 0: the size of the label map
    std::string labelMappingFile; // category labels only
};

struct UciConfig
{
    UciReaderOptions reader;
    std::string file;
    SourcePos fileWhere;
    std::vector<UciBlock> blocks; // in alphabetical order; label blocks of type none are left out
    bool isSpreadsheet = false;   // cells lie between delimiters only, and may be quoted
    bool findsDelimiter = false;  // customDelimiter=auto
    char delimiter = ' ';         // ' ': blanks and tabs; used besides these unless isSpreadsheet
    char decimalPoint = '.';
    bool hasLabels = false;
    bool hasCacheKeys = false; // the config has keys of CNTK v1.1's binary cache
};

// Reads and checks the blocks; fails (Config) with positions.
UciConfig ReadUciConfig(const ReaderContext& context);

// For --help and the documentation.
void DescribeUciOptions(PluginDescription& description);
void AddUciInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files);

} // namespace cntk
