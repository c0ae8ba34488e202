// Careful: a file that might still come is not asked for.
#include "ActionsLib/Commands/LookAhead.h"

#include "ActionsLib/Commands/CommandKeys.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"

#include <algorithm>
#include <iterator>

namespace cntk
{

namespace
{

// Lists, patterns, archives, pipes: what they mean is the reader's business.
constexpr std::string_view c_notOneFile = "+:,;()|*?@{}$";

// Readers that are not listed may mean by file what they like.
constexpr std::string_view c_readersOfAFile[] = {"BinaryReader",     "CNTKTextFormatReader", "DSSMReader",
                                                 "ImageReader",      "LibSVMBinaryReader",   "LMSequenceReader",
                                                 "LUSequenceReader", "SparsePCReader",       "UCIFastReader"};

std::string_view LastName(std::string_view keyPath)
{
    return keyPath.substr(keyPath.rfind(':') + 1);
}

void AddValue(const ConfigParameters& block, std::string_view key, std::vector<ConfigValue>& data)
{
    if (auto value = block.FindHere(key))
        data.push_back(std::move(*value));
}

// Other blocks of a reader are passed over, and labels of this type.
bool IsStream(const ConfigParameters& block)
{
    const auto type = block.FindHere("labelType");
    return (block.ExistsHere("dim") || block.ExistsHere("labelDim")) &&
           !(type && EqualsIgnoreCase(type->Text(), "none"));
}

// What surely names a file that the reader opens. Label maps are not among them: a reader makes one that is missing.
void AddData(const ConfigParameters& reader, bool forWriting, std::vector<ConfigValue>& data)
{
    if (const auto parts = reader.FindHere("readers"))
    {
        for (const ConfigValue& part : parts->AsArray())
            if (const ConfigParameters* const block = reader.FindBlock(part.Text());
                block != nullptr && block->Parent() == &reader)
                AddData(*block, forWriting, data);
        return;
    }
    const std::string type = ReaderTypeOf(reader);
    const auto isType = [&](std::string_view name) { return EqualsIgnoreCase(name, type); };
    std::vector<const ConfigParameters*> blocks;
    for (const std::string& name : reader.BlockNames())
        blocks.push_back(&reader.RequireBlock(name));
    if (isType("HTKMLFReader"))
        for (const ConfigParameters* const block : blocks)
        {
            AddValue(*block, "scpFile", data);
            if (!block->ExistsHere("scpFile") && !forWriting) // the write action reads no labels
                AddValue(*block, "mlfFile", data);
        }
    if (std::none_of(std::begin(c_readersOfAFile), std::end(c_readersOfAFile), isType))
        return;
    if (isType("LMSequenceReader"))
        AddValue(reader, "wordclass", data);
    // Blocks with files of their own leave it unread.
    if (std::none_of(blocks.begin(), blocks.end(),
                     [](const ConfigParameters* block) { return block->ExistsHere("file"); }))
        AddValue(reader, "file", data);
    if (isType("UCIFastReader") || isType("DSSMReader"))
        for (const ConfigParameters* const block : blocks)
            if (IsStream(*block))
                AddValue(*block, "file", data);
}

std::vector<ConfigValue> DataOf(const ConfigParameters& reader, bool forWriting)
{
    std::vector<ConfigValue> data;
    try
    {
        AddData(reader, forWriting, data);
    }
    catch (const Error&)
    {
        data.clear(); // the reader will say what is wrong with its block, if it asks
    }
    return data;
}

// outputPath, outputFile; file of a writer's node; wfile of a binary writer.
bool NamesOutput(const std::string& keyPath)
{
    const std::string path = ToLower(keyPath);
    return LastName(path).find("output") != std::string_view::npos || path.find("writer:") != std::string::npos ||
           LastName(path) == "wfile";
}

// "out/values" for "out/values.z".
bool BeginsWithName(const std::string& path, const std::string& name)
{
    return path.starts_with(name) && (path.size() == name.size() || path[name.size()] == '.');
}

// By a command whose outputs have names that only its run will show: one for each node, say.
bool MayBeWritten(const ConfigParameters& root, const std::string& path)
{
    const std::vector<ConfigValue> values = root.Values();
    return std::any_of(values.begin(), values.end(),
                       [&](const ConfigValue& value) {
                           return NamesOutput(value.KeyPath()) && !value.Text().empty() &&
                                  BeginsWithName(path, CanonicalPath(value.Text()));
                       });
}

} // namespace

void FilesToCome::Add(const std::vector<std::string>& made)
{
    for (const std::string& path : made)
        m_made.push_back(CanonicalPath(path));
}

bool FilesToCome::WillBeMade(const std::string& path) const
{
    const std::string canonical = CanonicalPath(path);
    return std::any_of(m_made.begin(), m_made.end(),
                       [&](const std::string& made) { return BeginsWithName(canonical, made); });
}

bool FilesToCome::WillExist(const std::string& path) const
{
    return path == "-" || FileExists(ResolveInputPath(path)) || WillBeMade(path);
}

bool MayBeOver(const TrainingFiles& training, bool makeMode, const FilesToCome& files)
{
    return makeMode && (training.FindResumePoint() == training.MaxEpochs() || files.WillBeMade(training.FinalModel()));
}

void RequireModelToCome(const CommandContext& command, const std::string& path, const FilesToCome& files,
                        std::string_view key)
{
    if (!files.WillExist(path))
        FailAt(PlaceOf(command, key), ErrorKind::Model, "model file '", path,
               "' does not exist, and no command before makes it", NearFilesHint(path));
}

void RequireDataToCome(const CommandContext& command, const Action& action, const FilesToCome& files)
{
    for (const std::string& name : action.blocks)
    {
        const ConfigParameters* const reader =
            ToLower(name).ends_with("reader") ? command.block.FindBlock(name) : nullptr;
        if (reader == nullptr)
            continue;
        for (const ConfigValue& value : DataOf(*reader, action.name == "write"))
        {
            const std::string& path = value.Text();
            if (path.empty() || path.find_first_of(c_notOneFile) != std::string::npos || files.WillExist(path) ||
                MayBeWritten(*command.block.Parent(), CanonicalPath(path)))
                continue;
            FailAt(value.Where(), ErrorKind::Data, "data file '", path,
                   "' does not exist, and no command before makes it", NearFilesHint(path));
        }
    }
}

} // namespace cntk
