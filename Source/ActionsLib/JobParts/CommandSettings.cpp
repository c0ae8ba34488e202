#include "ActionsLib/JobParts/CommandSettings.h"

#include "ActionsLib/JobParts/ReaderSource.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/NetworkReport.h"
#include "SGD/Minibatches/MinibatchSource.h"

#include <algorithm>
#include <optional>

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

// The block from which a key is looked up: the command's own, or SGD for a key that stands only there.
const ConfigParameters& BlockWith(const CommandContext& command, std::string_view key)
{
    const ConfigParameters* const sgd = FindSgdBlock(command);
    return sgd != nullptr && !command.block.Exists(key) && sgd->Exists(key) ? *sgd : command.block;
}

const ConfigParameters& BlockWithTrainedModel(const CommandContext& command)
{
    const ConfigParameters* const sgd = FindSgdBlock(command);
    return sgd != nullptr && sgd->ExistsHere("modelPath") ? *sgd : BlockWith(command, "modelPath");
}

std::string ModelPathOf(const ConfigParameters& block)
{
    const std::optional<ConfigValue> found = block.Find("modelPath");
    if (!found) // also for the word default
    {
        OptionInfo option;
        option.name = "modelPath";
        try
        {
            FailMissing(block, option, false);
        }
        catch (const Error& error)
        {
            throw error.Retold(error.Kind(), error.Message() + "; an example: modelPath=models/net.dnn", error.Where());
        }
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

void RequireModel(const CommandContext& command, const std::string& path, std::string_view key)
{
    if (!command.program.outputs.WillExist(path))
        FailAt(PlaceOf(command, key), ErrorKind::Model, "model file '", path,
               "' does not exist, and no earlier command writes it", NearFilesHint(path));
}

const ConfigParameters& RequireSgdBlock(const CommandContext& command)
{
    if (const ConfigParameters* const sgd = FindSgdBlock(command))
        return *sgd;
    for (const char* name : {"SGD", "optimizer"})
        if (command.block.Find(name))
            command.block.RequireBlock(name); // fails: the value is no block
    FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name,
           "' has no SGD block; it needs SGD=[maxEpochs=...; minibatchSize=...; learningRatesPerSample=...]");
}

namespace
{

// truncated=true makes the learner count pieces of sequences; the reader has to cut the sequences.
void WarnAboutWholeSequences(const CommandContext& command, const ConfigParameters& sgd)
{
    const ConfigParameters* const reader = command.block.FindBlock("reader");
    const auto description = reader == nullptr ? std::nullopt : DescriptionOfReader(*reader);
    if (!description)
        return;
    // The block's value, else the plugin's default; nothing if the plugin has no such parameter.
    const auto valueOf = [&](std::string_view name) -> std::optional<bool>
    {
        for (const PluginOption& option : description->options)
            if (option.block.empty() && EqualsIgnoreCase(option.name, name))
                return reader->Exists(name) ? reader->Require(name).AsBool() : option.defaultText == "true";
        return std::nullopt;
    };
    const bool hasOnlySamples = valueOf("frameMode").value_or(false) || valueOf("skipSequenceIds").value_or(false);
    if (valueOf("truncated") == false && !hasOnlySamples)
        command.program.log.Warn(Concat(sgd.WhereOf("truncated").Location(),
                                        ": truncated=true of the training, but the ", ReaderTypeOf(*reader), " at ",
                                        reader->Where().Location(),
                                        " reads whole sequences; expected truncated=true of the reader, too, or around "
                                        "both"));
}

} // namespace

namespace
{

// "; this block hides ...", if a block around it has another block of the same name: 'Train=[SGD=[maxEpochs=3]]' on
// the command line hides a block SGD at the root.
std::string HiddenBlockHint(const ConfigParameters& sgd)
{
    const ConfigParameters* const holder = sgd.Parent();
    for (const ConfigParameters* around = holder != nullptr ? holder->Parent() : nullptr; around != nullptr;
         around = around->Parent())
        for (const char* name : {"SGD", "optimizer"})
            if (const ConfigParameters* const hidden = around->FindBlockHere(name))
                return Concat("; this block '", sgd.Path(), "' at ", sgd.Where().Location(), " hides the block '", name,
                              "' at ", hidden->Where().Location(), "; to change a value of that one write ", name,
                              "=[...] instead");
    return {};
}

} // namespace

SgdOptions ReadSgdOptions(const CommandContext& command, const ConfigParameters& sgd)
{
    Log& log = command.program.log;
    SgdOptions options;
    try
    {
        options = ReadSgdOptions(sgd, command.program.dataType);
    }
    catch (const Error& error)
    {
        throw error.Retold(error.Kind(), error.Message() + HiddenBlockHint(sgd), error.Where());
    }
    const ConfigParameters* const autoAdjust = sgd.FindBlock("AutoAdjust");
    const ConfigParameters& given = autoAdjust != nullptr ? *autoAdjust : sgd;
    std::vector<OptionProblem> ignored = FindIgnored(options);
    // Keys directly in SGD follow the book (7.2), which has no mode.
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
        WarnAboutWholeSequences(command, sgd);
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

namespace
{

std::string DeviceIdOf(const ConfigParameters& command)
{
    const auto value = command.Find("deviceId");
    return ToLower(value ? value->Text() : "auto");
}

std::shared_ptr<Device> FindGpu(const ProgramContext& program)
{
    for (const std::shared_ptr<Device>& device : program.devices)
        if (device->Id() != c_cpuDevice)
            return device;
    return nullptr;
}

std::shared_ptr<Device> FindDevice(const ProgramContext& program, std::string_view id)
{
    if (id == "auto")
        return program.anyDevice ? program.anyDevice : FindGpu(program);
    const std::optional<long long> number = id == "cpu" ? c_cpuDevice : ParseInteger(id);
    for (const std::shared_ptr<Device>& device : program.devices)
        if (device->Id() == number)
            return device;
    return nullptr;
}

std::shared_ptr<Device> Make(const CommandContext& command, const std::string& id)
{
    ProgramContext& program = command.program;
    CpuOptions options = program.cpu;
    if (TraceLevelOf(command) > 1)
        options.trace = [&log = program.log](const std::string& text) { log.Write(text + "\n"); };
    try
    {
        return MakeDevice(id, options, program.gpu);
    }
    catch (const Error& error)
    {
        const auto value = command.block.Find("deviceId");
        throw error.At(value ? value->Where() : SourcePos{});
    }
}

} // namespace

void RegisterDevice(const CommandContext& command)
{
    if (DeviceIdOf(command.block) == "auto")
        command.program.takeAnyDevice.push_back(command.name);
    else
        DeviceOf(command);
}

std::shared_ptr<Device> FindDeviceOf(const ProgramContext& program, const ConfigParameters& command)
{
    return FindDevice(program, DeviceIdOf(command));
}

std::shared_ptr<Device> DeviceOf(const CommandContext& command)
{
    ProgramContext& program = command.program;
    const std::string id = DeviceIdOf(command.block);
    if (std::shared_ptr<Device> device = FindDevice(program, id))
        return device;
    const std::shared_ptr<Device> gpu = FindGpu(program);
    if (gpu != nullptr && ParseInteger(id) && *ParseInteger(id) >= 0)
        FailAt(command.block.WhereOf("deviceId"), ErrorKind::Config, "command '", command.name,
               "' asks for deviceId=", id, ", but another command of this run computes on GPU ", gpu->Id(),
               "; one run uses one GPU, besides the CPU");
    std::shared_ptr<Device> device = Make(command, id);
    // "auto" may end at the CPU, which another command may have named.
    const std::shared_ptr<Device> same = FindDevice(program, std::to_string(device->Id()));
    if (same == nullptr)
        program.devices.push_back(device);
    else
        device = same;
    if (id == "auto")
        program.anyDevice = device;
    return device;
}

std::string DeviceWords(const Device& device)
{
    return device.Id() == c_cpuDevice ? "CPU" : "GPU " + std::to_string(device.Id());
}

} // namespace cntk
