// Options and option types that several readers share.
#pragma once

#include "Common/Config/Options.h"
#include "Common/Error.h"
#include "Common/ReaderInterface.h"

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

namespace cntk
{

// Reads the options of the reader's block. The default of traceLevel is the program's traceLevel.
template <class S>
S ReadReaderOptions(const ReaderContext& context)
{
    S options = ReadOptions<S>(context.config);
    if (!context.config.Exists("traceLevel"))
        options.traceLevel = context.traceLevel;
    return options;
}

// The option minibatchMode of readers that use RecordWalk.
template <class S>
Option<S> MinibatchMode(bool S::*isFull)
{
    return Choice(
        "minibatchMode", isFull, {{"partial", false}, {"full", true}},
        "full: only minibatches of full size; the epoch is rounded up to a multiple of it. Writing, and averages over "
        "the data (test, eval, cv, cvReader, precomputed statistics), still take each record once");
}

// randomize = auto | none | number of records
struct RandomizeWindow
{
    static constexpr size_t c_auto = SIZE_MAX;
    size_t range = c_auto; // 0: none
};

template <>
struct OptionType<RandomizeWindow>
{
    static std::string Name() { return "auto, none or a number of records"; }
    static RandomizeWindow Read(const ConfigValue& value, const Range&);
    static std::string Print(const RandomizeWindow& value);
};

// Returns the number of `unit` that randomize gives; auto: RandomizeWindow::c_auto, none: 0.
size_t ReadRandomizeRange(const ConfigValue& value, const char* unit);

// True if a block of the reader describes labels: it has one of the keys, or sectionType=labels.
bool IsLabelBlock(const ConfigParameters& block, std::initializer_list<const char*> keys);

// The sub-blocks of a reader, each list in alphabetical order. A label block has labelMappingFile, labelDim, labelType
// or sectionType=labels; a feature block has dim.
struct StreamBlocks
{
    std::vector<std::string> features;
    std::vector<std::string> labels;
};
StreamBlocks FindStreamBlocks(const ConfigParameters& reader);

// Runs body, which reads a file. Errors get the position of the file's name in the config.
template <class Body>
auto WithPosition(const SourcePos& where, Body&& body) -> decltype(body())
{
    try
    {
        return body();
    }
    catch (const Error& error)
    {
        throw error.At(where);
    }
}

// Returns the writer's block for a node of outputNodeNames.
const ConfigParameters& RequireOutputBlock(const ConfigParameters& writer, const std::string& node);

// Returns "dim=2 at exp.cntk:15:16", the setting with the place where it was written.
std::string SettingText(const ConfigParameters& block, const char* key, size_t number);

// Adds the values of the input file options (FindInputFilesFunction). Then reads all options, so that a wrong value
// fails as it would in the reader.
template <class S>
void AddInputFiles(const ConfigParameters& block, std::vector<ConfigValue>& files)
{
    for (const Option<S>& option : S::Options())
        if (option.info.isInputFile)
            if (auto value = FindOption(block, option.info, option.isLocal))
                files.push_back(std::move(*value));
    ReadOptions<S>(block);
}
// Does the same for the reader's own block, or the blocks around it.
template <class S>
void AddInputFiles(const ReaderContext& context, std::vector<ConfigValue>& files)
{
    AddInputFiles<S>(context.config, files);
}

// Returns the option's doc with its limits: "Columns (a whole number >= 1)".
std::string DocWithLimits(const OptionInfo& option);

// Adds the options of a struct to a plugin's description. block: "", "features", ...
template <class S>
void AddOptions(PluginDescription& description, const char* block)
{
    for (const OptionInfo& option : DescribeOptions<S>())
        description.options.push_back({block, option.name, option.isRequired ? "" : option.defaultText,
                                       DocWithLimits(option), option.aliases, option.hasNoEffect});
}

} // namespace cntk
