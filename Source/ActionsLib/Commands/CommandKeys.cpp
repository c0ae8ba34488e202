#include "ActionsLib/Commands/CommandKeys.h"

#include "ActionsLib/Commands/ReaderSource.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"
#include "ComputationNetwork/NetworkReport.h"
#include "SGD/Minibatches/MinibatchSource.h"

#include <algorithm>

namespace cntk
{

namespace
{

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
    if (!found) // or the word default
    {
        OptionInfo option;
        option.name = "modelPath";
        FailMissing(block, option, false);
    }
    const ConfigValue& value = *found;
    std::string path = ResolveOutputPath(value.Text());
    if (path.empty())
        FailAt(value.Where(), ErrorKind::Config, "modelPath is empty; expected the name of a model file");
    if (path.ends_with('/'))
        FailAt(value.Where(), ErrorKind::Config, "modelPath '", value.Text(),
               "' is a folder; expected the name of a file in it, such as '", path, "model.dnn'");
    return path;
}

} // namespace

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
    for (const char* name : {"SGD", "optimizer"})
        if (command.block.Find(name))
            command.block.RequireBlock(name); // says what stands there instead
    FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name,
           "' has no SGD block; it needs SGD=[maxEpochs=...; minibatchSize=...; learningRatesPerSample=...]");
}

namespace
{

// The learner only counts in pieces of sequences; the reader cuts them.
void WarnOfWholeSequences(const CommandContext& command, const ConfigParameters& sgd)
{
    const ConfigParameters* const reader = command.block.FindBlock("reader");
    const auto description = reader == nullptr ? std::nullopt : DescriptionOfReader(*reader);
    if (!description)
        return;
    // What the block says, or the plugin has; nothing: the plugin has no such parameter.
    const auto valueOf = [&](std::string_view name) -> std::optional<bool>
    {
        for (const PluginOption& option : description->options)
            if (option.block.empty() && EqualsIgnoreCase(option.name, name))
                return reader->Exists(name) ? reader->Require(name).AsBool() : option.defaultText == "true";
        return std::nullopt;
    };
    const bool hasOnlySamples = valueOf("frameMode").value_or(false) || valueOf("skipSequenceIds").value_or(false);
    if (valueOf("truncated") == false && !hasOnlySamples) // not one that always cuts sequences, or has none
        command.program.log.Warn(Concat(sgd.WhereOf("truncated").Location(),
                                        ": truncated=true of the training, but the ", ReaderTypeOf(*reader), " at ",
                                        reader->Where().Location(),
                                        " reads whole sequences; expected truncated=true of the reader, too, or around "
                                        "both"));
}

} // namespace

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
    if (options.parallelTrain.parallelizationMethod != ParallelizationMethod::None && !command.program.parallelTrain)
        if (const ConfigParameters* const block = sgd.FindBlock("ParallelTrain"))
            log.Warn(
                block->Where().Location() +
                ": ParallelTrain has no effect without parallelTrain=true and several processes (mpiexec -n 4 cntk "
                "parallelTrain=true ...)");
    if (options.truncated)
        WarnOfWholeSequences(command, sgd);
    return options;
}

void RequireNoAdaptation(const SgdOptions& options, const ConfigParameters& sgd)
{
    if (AdaptsByKL(options))
        FailAt(sgd.WhereOf("adaptationRegType"), ErrorKind::Config,
               "adaptationRegType=KL needs an original model to stay near; expected action=adapt with "
               "originalModelFileName and refNodeName");
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
