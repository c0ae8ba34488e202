// Which plugin serves a reader block.
#include "ActionsLib/Commands/ReaderSource.h"

#include "ActionsLib/Commands/CommandDevice.h"
#include "ActionsLib/Commands/CommandKeys.h"
#include "ActionsLib/Commands/ScriptFiles.h"
#include "Common/AllowedCores.h"
#include "Common/CompositeReader.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"

#include <algorithm>

namespace cntk
{

namespace
{

std::optional<PluginDescription> DescriptionOf(const std::string& type)
{
    try
    {
        return PluginLibrary::Open(type, PluginSearch::Default()).Describe();
    }
    catch (const Error&)
    {
        return std::nullopt;
    }
}

// The blocks of a reader that reads from several (readers=a:b); of another one itself.
std::vector<const ConfigParameters*> PartsOf(const ConfigParameters& reader)
{
    const std::optional<ConfigValue> names = reader.FindHere("readers");
    if (!names)
        return {&reader};
    std::vector<const ConfigParameters*> parts;
    for (const ConfigValue& name : names->AsArray())
        if (const ConfigParameters* const block = reader.FindBlockHere(name.Text()))
            parts.push_back(block);
    return parts;
}

// No device: the command has asked for none yet, and computes nothing.
bool HasFreeCores(const ProgramContext& program, const ConfigParameters& command)
{
    const std::shared_ptr<Device> device = MadeDeviceOf(program, command);
    const bool isOnHost = device && device->IsHostMemory();
    return !isOnHost || (program.cpu.threads > 0 && program.cpu.threads < AllowedCores());
}

} // namespace

std::optional<PluginDescription> DescriptionOfReader(const ConfigParameters& reader)
{
    return DescriptionOf(ReaderTypeOf(reader));
}

std::optional<PluginDescription> DescriptionOfWriter(const ConfigParameters& writer)
{
    const auto type = writer.Find("writerType");
    return DescriptionOf(type ? type->Text() : "BinaryWriter");
}

std::vector<ConfigValue> InputFilesOf(const ConfigParameters& reader, bool forWriting, Log& log,
                                      std::optional<Error>* fault)
{
    std::vector<ConfigValue> files;
    try
    {
        for (const ConfigParameters* const part : PartsOf(reader))
            PluginLibrary::Open(ReaderTypeOf(*part), PluginSearch::Default())
                .AddInputFiles({.config = *part, .log = log, .forWriting = forWriting}, files);
    }
    catch (const Error& error)
    {
        if (fault != nullptr)
            *fault = error;
        else
            files.clear(); // the reader will say what is wrong with its block, if it is opened
    }
    return files;
}

namespace
{

void LogUnchecked(Log& log, const std::string& where, const std::string& path, const std::string& command)
{
    log.Print("%s: '%s' is not there before command '%s' has run; what is read with it is not checked.\n",
              where.c_str(), path.c_str(), command.c_str());
}

bool CanReadFilesOf(const std::vector<ConfigValue>& values, const ProgramContext& program)
{
    for (const ConfigValue& value : values)
    {
        const std::string path = value.Text();
        const PlannedModel* const planned = path.empty() ? nullptr : program.planned.Find(path);
        if (planned == nullptr || FileExists(ResolveInputPath(path)))
            continue;
        LogUnchecked(program.log, value.Where().Location(), path, planned->command);
        return false;
    }
    return true;
}

} // namespace

bool CanBeChecked(const ConfigParameters& block, const ProgramContext& program)
{
    return CanReadFilesOf(block.Values(), program);
}

bool ReaderSource::CanBeChecked() const
{
    // A file of the reader may stand around its block, too.
    if (!cntk::CanBeChecked(*block, *program) ||
        !CanReadFilesOf(InputFilesOf(*block, forWriting, program->log), *program))
        return false;
    if (!program->planned.HasListed())
        return true;
    bool isThere = true;
    VisitScripts(*block, ScriptsOf::Reader,
                 [&](const std::string& path, const std::string& where)
                 {
                     const std::string command = program->planned.CommandOfListed(path);
                     isThere = command.empty();
                     if (!isThere)
                         LogUnchecked(program->log, where, path, command);
                     return !isThere;
                 });
    return isThere;
}

std::string ReaderSource::NameWithFiles() const
{
    constexpr std::string_view c_keys[] = {"file", "scpFile", "mlfFile"};
    if (block == nullptr)
        return name;
    std::vector<std::string> files;
    const auto add = [&](const std::string& path)
    {
        if (std::find(files.begin(), files.end(), path) == files.end())
            files.push_back(path);
    };
    for (const ConfigValue& value : block->Values())
    {
        const std::string path = value.KeyPath();
        const std::string_view key = std::string_view(path).substr(path.rfind(':') + 1);
        if (std::any_of(std::begin(c_keys), std::end(c_keys), [&](auto known) { return EqualsIgnoreCase(key, known); }))
            add(value.Text());
    }
    if (files.empty() && block->Exists("file")) // around the block
        add(block->Require("file").Text());
    return files.empty() ? name : Concat(name, " ('", Join(files, "', '"), "')");
}

std::unique_ptr<MinibatchSource> ReaderSource::Open() const
{
    const ReaderContext context{.config = *block,
                                .log = program->log,
                                .traceLevel = traceLevel,
                                .forWriting = forWriting,
                                .createLabelMaps = createLabelMaps,
                                .hasFreeCores = HasFreeCores(*program, *command)};
    const std::string type = ReaderTypeOf(*block);
    const auto note = [&] { return "while opening the " + type + " of " + block->Path(); };
    auto source = WithNote(
        [&]
        {
            if (program->dataType == DataType::Float32)
                return std::make_unique<MinibatchSource>(LoadReader<float>(type, context));
            return std::make_unique<MinibatchSource>(LoadReader<double>(type, context));
        },
        note);
    source->SetTrainingSeed(trainingSeed);
    return source;
}

std::unique_ptr<MinibatchSource> ReaderSource::OpenFor(const NamedFile& written, const SourcePos& where) const
{
    std::unique_ptr<MinibatchSource> source = Open();
    ListedFilesOf(*source).RequireNone(written, where);
    return source;
}

ReaderContext WriterContextOf(const CommandContext& command, const ConfigParameters& writer, const ListedFiles& listed)
{
    return {.config = writer,
            .log = command.program.log,
            .traceLevel = TraceLevelOf(command),
            .forWriting = true,
            .listed = &listed};
}

ListedFiles ListedFilesOf(const MinibatchSource& source)
{
    ListedFiles files;
    files.Add([&source](const ListedFileVisitor& visit) { source.VisitListedFiles(visit); });
    return files;
}

void RequireWriterPlugin(const ConfigParameters& writer, const std::string& type, DataType dataType)
{
    const PluginLibrary library = PluginLibrary::Open(type, PluginSearch::Default(), writer.WhereOf("writerType"));
    VisitType(dataType, [&](auto element) { library.RequireWriter<decltype(element)>(); });
}

namespace
{

// Before anything runs, so that a misspelt type does not wait for the end of a training.
void RequirePlugins(const ConfigParameters& reader)
{
    for (const ConfigParameters* const part : PartsOf(reader))
        PluginLibrary::Open(ReaderTypeOf(*part), PluginSearch::Default(), part->WhereOf("readerType"));
}

} // namespace

ReaderSource FindReader(const CommandContext& command, const char* blockName)
{
    const ConfigParameters* block = command.block.FindBlock(blockName);
    if (block == nullptr && command.block.Find(blockName))
        block = &command.block.RequireBlock(blockName); // a scalar of that name: says what stands there
    if (block != nullptr)
        RequirePlugins(*block);
    ReaderSource source;
    source.block = block;
    source.command = &command.block;
    source.program = &command.program;
    source.traceLevel = TraceLevelOf(command);
    source.trainingSeed = TrainingSeedOf(command);
    source.name = blockName;
    return source;
}

ReaderSource RequireReader(const CommandContext& command, const char* blockName)
{
    ReaderSource source = FindReader(command, blockName);
    if (!source)
        FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name, "' has no ", blockName,
               " block; it needs ", blockName, "=[readerType=...; file=...; features=[...] labels=[...]]");
    return source;
}

} // namespace cntk
