// Which plugin serves a reader block, and what every command needs to find in its block.
#include "ActionsLib/ReaderSource.h"

#include "ActionsLib/ScriptFiles.h"
#include "Common/AllowedCores.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"
#include "ComputationNetwork/NetworkReport.h"

namespace cntk
{

namespace
{

std::optional<PluginDescription> DescriptionOf(const std::string& type)
{
    try
    {
        const PluginLibrary library = PluginLibrary::Open(type, PluginSearch::Default());
        const auto describe = reinterpret_cast<DescribePluginFunction>(library.FindSymbol("DescribePlugin"));
        if (describe == nullptr)
            return std::nullopt;
        PluginDescription description;
        describe(description);
        return description;
    }
    catch (const Error&)
    {
        return std::nullopt;
    }
}

// No device: none has been asked for yet, and nothing computes.
bool HasFreeCores(const ProgramContext& program)
{
    const bool isOnHost = program.device && program.device->IsHostMemory();
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

namespace
{

void LogUnchecked(Log& log, const std::string& where, const std::string& path, const std::string& command)
{
    log.Print("%s: '%s' is not there before command '%s' has run; what is read with it is not checked.\n",
              where.c_str(), path.c_str(), command.c_str());
}

} // namespace

bool CanBeChecked(const ConfigParameters& block, const ProgramContext& program)
{
    for (const ConfigValue& value : block.Values())
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

bool ReaderSource::CanBeChecked() const
{
    if (!cntk::CanBeChecked(*block, *program))
        return false;
    if (!program->planned.HasListed())
        return true;
    bool isThere = true;
    VisitScripts(*block,
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
    const ReaderContext context{*block,  program->log,          traceLevel, forWriting, createLabelMaps,
                                nullptr, HasFreeCores(*program)};
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

void RequireWriterPlugin(const ConfigParameters& writer, const std::string& type, DataType dataType)
{
    const PluginLibrary library = PluginLibrary::Open(type, PluginSearch::Default(), writer.WhereOf("writerType"));
    VisitType(dataType, [&](auto element) { library.RequireWriter<decltype(element)>(); });
}

namespace
{

void RequireReaderPlugin(const ConfigParameters& reader)
{
    PluginLibrary::Open(ReaderTypeOf(reader), PluginSearch::Default(), reader.WhereOf("readerType"));
}

// Before anything runs, so that a misspelt type does not wait for the end of a training.
void RequirePlugins(const ConfigParameters& reader)
{
    const auto parts = reader.ExistsHere("readers") ? reader.FindHere("readers") : std::nullopt;
    if (!parts)
        return RequireReaderPlugin(reader);
    for (const ConfigValue& part : parts->AsArray())
        if (reader.ExistsHere(part.Text()))
            if (const ConfigParameters* const block = reader.FindBlock(part.Text()))
                RequireReaderPlugin(*block);
}

const ConfigParameters* FindSgdBlock(const CommandContext& command)
{
    for (const char* name : {"SGD", "optimizer"})
        if (const ConfigParameters* const sgd = command.block.FindBlock(name))
            return sgd;
    return nullptr;
}

// The block from which a key of the command is looked up: its own, or that of SGD for what only stands there.
const ConfigParameters& BlockWith(const CommandContext& command, std::string_view key)
{
    const ConfigParameters* const sgd = FindSgdBlock(command);
    return sgd != nullptr && !command.block.Exists(key) && sgd->Exists(key) ? *sgd : command.block;
}

// It is SGD that saves the model: what its own block says is nearest.
const ConfigParameters& BlockWithTrainedModel(const CommandContext& command)
{
    const ConfigParameters* const sgd = FindSgdBlock(command);
    return sgd != nullptr && sgd->ExistsHere("modelPath") ? *sgd : BlockWith(command, "modelPath");
}

std::string ModelPathOf(const ConfigParameters& block)
{
    const std::optional<ConfigValue> found = block.Find("modelPath");
    const ConfigValue value = found ? *found : block.Require("modelPath");
    std::string path = ResolveOutputPath(value.Text());
    if (path.empty())
        FailAt(value.Where(), ErrorKind::Config, "modelPath is empty; expected the name of a model file");
    if (path.ends_with('/'))
        FailAt(value.Where(), ErrorKind::Config, "modelPath '", value.Text(),
               "' is a folder; expected the name of a file in it, such as '", path, "model.dnn'");
    return path;
}

} // namespace

ReaderSource FindReader(const CommandContext& command, const char* blockName, bool forWriting)
{
    const ConfigParameters* block = command.block.FindBlock(blockName);
    if (block == nullptr && command.block.Exists(blockName))
        block = &command.block.RequireBlock(blockName); // a scalar of that name: says what stands there
    if (block != nullptr)
        RequirePlugins(*block);
    return {block, &command.program, TraceLevelOf(command), forWriting, false, TrainingSeedOf(command), blockName};
}

ReaderSource RequireReader(const CommandContext& command, const char* blockName, bool forWriting)
{
    ReaderSource source = FindReader(command, blockName, forWriting);
    if (!source)
        FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name, "' has no ", blockName,
               " block; it needs ", blockName, "=[readerType=...; file=...; features=[...] labels=[...]]");
    return source;
}

std::string RequireModelPath(const CommandContext& command)
{
    return ModelPathOf(BlockWith(command, "modelPath"));
}

std::string RequireTrainedModelPath(const CommandContext& command)
{
    std::string path = ModelPathOf(BlockWithTrainedModel(command));
    if (const auto other = command.block.FindHere("modelPath"); other && ResolveOutputPath(other->Text()) != path)
        command.program.log.Warn(Concat(other->Where().Location(), ": '", other->Text(), "' is not what command '",
                                        command.name, "' trains: modelPath of its SGD block, at ",
                                        PlaceOfTrainedModel(command).Location(), ", is nearer"));
    return path;
}

const ConfigParameters& RequireSgdBlock(const CommandContext& command)
{
    if (const ConfigParameters* const sgd = FindSgdBlock(command))
        return *sgd;
    FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name,
           "' has no SGD block; it needs SGD=[maxEpochs=...; minibatchSize=...; learningRatesPerSample=...]");
}

SgdOptions ReadSgdOptions(const CommandContext& command, const ConfigParameters& sgd)
{
    Log& log = command.program.log;
    SgdOptions options = ReadSgdOptions(sgd, command.program.dataType);
    const ConfigParameters* const autoAdjust = sgd.FindBlock("AutoAdjust");
    const ConfigParameters& given = autoAdjust != nullptr ? *autoAdjust : sgd;
    std::vector<OptionProblem> ignored = FindIgnored(options);
    // Directly in SGD they are the book's (7.2), without a mode.
    if (autoAdjust != nullptr)
        for (OptionProblem& unread : FindUnread(options, *autoAdjust))
            ignored.push_back(std::move(unread));
    for (const OptionProblem& problem : ignored)
        log.Warn(given.WhereOf(problem.parameter).Location() + ": " + problem.message);
    if (options.parallelTrain.parallelizationMethod != ParallelizationMethod::None)
        if (const ConfigParameters* const block = sgd.FindBlock("ParallelTrain"))
            log.Warn(block->Where().Location() +
                     ": ParallelTrain has no effect: this program trains in one process; it goes on alone");
    return options;
}

SourcePos PlaceOf(const CommandContext& command, std::string_view key)
{
    return BlockWith(command, key).WhereOf(key);
}

SourcePos PlaceOfTrainedModel(const CommandContext& command)
{
    return BlockWithTrainedModel(command).WhereOf("modelPath");
}

void RequireRegex(const CommandContext& command, const char* key, const std::string& expression)
{
    try
    {
        RequireNodeRegex(expression);
    }
    catch (const Error& error)
    {
        FailAt(PlaceOf(command, key), error.Kind(), key, ": ", error.Message());
    }
}

int TraceLevelOf(const CommandContext& command)
{
    const auto value = command.block.Find("traceLevel");
    return value ? value->AsInt() : 0;
}

uint64_t TrainingSeedOf(const CommandContext& command)
{
    const auto value = command.block.Find("trainingSeed");
    return value ? value->AsSize() : 0;
}

} // namespace cntk
