#include "ActionsLib/JobParts/ReaderSource.h"

#include "ActionsLib/JobParts/CommandSettings.h"
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

// A command without a device computes nothing.
bool HasFreeCores(const ProgramContext& program, const ConfigParameters& command)
{
    const std::shared_ptr<Device> device = FindDeviceOf(program, command);
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
    return DescriptionOf(WriterTypeOf(writer));
}

std::vector<const ConfigParameters*> PartsOfReader(const ConfigParameters& reader)
{
    const std::optional<ConfigValue> names = reader.ExistsHere("readers") ? reader.FindHere("readers") : std::nullopt;
    if (!names)
        return {&reader};
    std::vector<const ConfigParameters*> parts;
    for (const ConfigValue& name : names->AsArray())
        if (const ConfigParameters* const block = reader.FindBlockHere(name.Text()))
            parts.push_back(block);
    return parts;
}

InputFiles InputFilesOf(const ConfigParameters& reader, bool forWriting, Log& log)
{
    InputFiles inputs;
    try
    {
        for (const ConfigParameters* const part : PartsOfReader(reader))
            PluginLibrary::Open(ReaderTypeOf(*part), PluginSearch::Default(), part->WhereOf("readerType"))
                .AddInputFiles({.config = *part, .log = log, .forWriting = forWriting}, inputs.files);
    }
    catch (const Error& error)
    {
        inputs.mistake = error;
    }
    return inputs;
}

namespace
{

std::string_view KeyOf(std::string_view keyPath)
{
    return keyPath.substr(keyPath.rfind(':') + 1);
}

void LogUncheckedData(const ProgramContext& program, const ConfigValue& value, const std::string& writer)
{
    program.log.Print("%s: '%s' does not exist before command '%s' has run; its data is not checked.\n",
                      value.Where().Location().c_str(), value.Text().c_str(), writer.c_str());
}

bool AllExist(const std::vector<ConfigValue>& values, const ProgramContext& program)
{
    for (const ConfigValue& value : values)
    {
        const std::string path = value.Text();
        if (path.empty() || FileExists(ResolveInputPath(path)))
            continue;
        if (const std::string writer = program.outputs.WriterOf(path); !writer.empty())
        {
            LogUncheckedData(program, value, writer);
            return false;
        }
    }
    return true;
}

} // namespace

bool CanBeChecked(const ConfigParameters& block, const ProgramContext& program)
{
    return AllExist(block.Values(), program);
}

bool ReaderSource::CanBeChecked() const
{
    // A file of the reader may also be named around its block.
    if (!cntk::CanBeChecked(*block, *program) ||
        !AllExist(InputFilesOf(*block, forWriting, program->log).files, *program))
        return false;
    const std::string& writer = program->outputs.WriterOfLists();
    if (!writer.empty())
        for (const ConfigValue& value : block->Values())
            if (const std::string path = value.KeyPath(); EqualsIgnoreCase(KeyOf(path), "scpFile"))
            {
                program->log.Print("%s: '%s' may list files of command '%s', which has not run; its data is not "
                                   "checked.\n",
                                   value.Where().Location().c_str(), value.Text().c_str(), writer.c_str());
                return false;
            }
    return true;
}

void RequireData(const CommandContext& command, const Action& action)
{
    constexpr std::string_view c_notOneFile = "+:,;()|*?@{}$"; // lists, patterns, archives, pipes
    for (const std::string& name : action.blocks)
    {
        const ConfigParameters* const reader = IsReaderBlock(name) ? command.block.FindBlock(name) : nullptr;
        if (reader == nullptr)
            continue;
        const InputFiles inputs = InputFilesOf(*reader, action.name == "write", command.program.log);
        for (const ConfigValue& value : inputs.files)
            if (const std::string& path = value.Text(); !path.empty() &&
                                                        path.find_first_of(c_notOneFile) == std::string::npos &&
                                                        !command.program.outputs.WillExist(path))
                FailAt(value.Where(), ErrorKind::Data, "data file '", path,
                       "' does not exist, and no earlier command writes it", NearFilesHint(path));
        // Errors of other kinds depend on files and may vanish before the command runs.
        if (inputs.mistake && inputs.mistake->Kind() == ErrorKind::Config)
            throw Error(*inputs.mistake);
    }
}

void DeclareOutputsOfBlocks(const CommandContext& command, const Action& action)
{
    DeclaredOutputs& outputs = command.program.outputs;
    for (const std::string& name : action.blocks)
    {
        const bool isWriter = name == "writer";
        const ConfigParameters* const block = isWriter || IsReaderBlock(name) ? command.block.FindBlock(name) : nullptr;
        if (block == nullptr)
            continue;
        const std::optional<ConfigValue> allowed = block->Find("allowMapCreation");
        const bool createsMaps = !isWriter && allowed && ParseBool(allowed->Text()).value_or(false);
        for (const ConfigValue& value : block->Values())
        {
            const std::string path = value.KeyPath();
            if (createsMaps && EqualsIgnoreCase(KeyOf(path), "labelMappingFile"))
                outputs.Add(command.name, {value.Text()});
            if (isWriter && EqualsIgnoreCase(KeyOf(path), "scpFile"))
                outputs.AddListed(command.name);
        }
    }
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
        const std::string_view key = KeyOf(path);
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

ListedFiles ListedFilesOf(const MinibatchSource& source)
{
    ListedFiles files;
    files.Add([&source](const ListedFileVisitor& visit) { source.VisitListedFiles(visit); });
    return files;
}

std::string WriterTypeOf(const ConfigParameters& writer)
{
    const std::optional<ConfigValue> type = writer.Find("writerType");
    return type ? type->Text() : "BinaryWriter";
}

ReaderContext WriterContextOf(const CommandContext& command, const ConfigParameters& writer, const ListedFiles& listed)
{
    return {.config = writer,
            .log = command.program.log,
            .traceLevel = TraceLevelOf(command),
            .forWriting = true,
            .listed = &listed};
}

void RequireWriterPlugin(const CommandContext& command, const ConfigParameters& writer)
{
    const PluginLibrary library =
        PluginLibrary::Open(WriterTypeOf(writer), PluginSearch::Default(), writer.WhereOf("writerType"));
    VisitType(command.program.dataType, [&](auto element) { library.RequireWriter<decltype(element)>(); });
}

// Creates the writer, which opens no output before it gets data, without its log lines.
void RequireWriter(const CommandContext& command, const ConfigParameters& writer)
{
    for (const ConfigValue& value : writer.Values())
        if (!value.Text().empty() && !command.program.outputs.WriterOf(value.Text()).empty())
            return;
    Log silent;
    silent.RedirectTo("/dev/null");
    const ListedFiles nothing;
    const ReaderContext context{
        .config = writer, .log = silent, .traceLevel = TraceLevelOf(command), .forWriting = true, .listed = &nothing};
    try
    {
        VisitType(command.program.dataType,
                  [&](auto element) { LoadWriter<decltype(element)>(WriterTypeOf(writer), context); });
    }
    catch (const Error& error)
    {
        if (error.Kind() == ErrorKind::Config)
            throw;
    }
}

std::vector<std::string> FilesOfWriter(const ConfigParameters& writer)
{
    std::vector<std::string> files;
    for (const ConfigValue& value : writer.Values())
        if (const std::string key = ToLower(value.KeyPath()); key.ends_with(":wfile") || key.ends_with(":file"))
            files.push_back(value.Text());
    return files;
}

ReaderSource FindReader(const CommandContext& command, const char* blockName)
{
    const ConfigParameters* block = command.block.FindBlock(blockName);
    if (block == nullptr && command.block.Find(blockName))
        block = &command.block.RequireBlock(blockName); // fails: the value is no block
    if (block != nullptr)
        for (const ConfigParameters* const part : PartsOfReader(*block))
            PluginLibrary::Open(ReaderTypeOf(*part), PluginSearch::Default(), part->WhereOf("readerType"));
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
