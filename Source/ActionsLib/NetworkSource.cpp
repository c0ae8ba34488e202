// Builder blocks are read when the commands are prepared; the networks are built when the commands run.
#include "ActionsLib/NetworkSource.h"

#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "ActionsLib/ReaderSource.h"
#include "ActionsLib/SimpleNetworkBuilder.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ModelFile.h"
#include "ComputationNetwork/NetworkReport.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/RecurrentLoops.h"

#include <algorithm>

namespace cntk
{

namespace
{

constexpr const char* c_simpleBlock = "SimpleNetworkBuilder";
constexpr const char* c_ndlBlock = "NDLNetworkBuilder";

// Reads the block now, so that its mistakes are found before anything runs, and marks the sections and variables that
// it will use.
void MarkScript(const ConfigParameters& ndl)
{
    const NdlNetworkOptions options = ReadOptions<NdlNetworkOptions>(ndl);
    for (const std::string& section : options.load)
        ndl.Find(section);
    if (!options.run.empty())
        ndl.Find(options.run);
    LookUpVariablesOfScripts(ndl);
}

// A network in the language that came after the book.
void RefuseBrainScript(const CommandContext& command)
{
    for (const char* name : {"createNetwork", "BrainScriptNetworkBuilder", "ExperimentalNetworkBuilder"})
        if (const std::optional<ConfigValue> value = command.block.Find(name))
            FailAt(value->Where(), ErrorKind::Config, "the network of command '", command.name, "' is given by ", name,
                   ", in BrainScript, which is not there; write it in NDL, NDLNetworkBuilder=[networkDescription=...], "
                   "or take SimpleNetworkBuilder=[layerSizes=...]");
}

} // namespace

std::unique_ptr<NetworkBuilder> NetworkBuilder::Find(const CommandContext& command)
{
    const ConfigParameters* simple = command.block.FindBlock(c_simpleBlock);
    const ConfigParameters* ndl = command.block.FindBlock(c_ndlBlock);
    if (simple == nullptr && ndl == nullptr)
        return nullptr;

    auto builder = std::make_unique<NetworkBuilder>();
    if (ndl != nullptr && simple != nullptr)
        command.program.log.Warn("command '" + command.name + "' sees both " + c_ndlBlock + " (" +
                                 ndl->Where().Location() + ") and " + c_simpleBlock + " (" +
                                 simple->Where().Location() + "); " + c_ndlBlock + " is used");
    builder->m_blockName = ndl != nullptr ? c_ndlBlock : c_simpleBlock;
    if (ndl != nullptr)
        builder->TakeNdl(command, *ndl);
    else
        builder->TakeSimple(command, *simple);
    return builder;
}

std::unique_ptr<NetworkBuilder> NetworkBuilder::OfBlock(const CommandContext& command, const std::string& name)
{
    const ConfigParameters* block = command.block.FindBlock(name);
    if (block == nullptr)
        return nullptr;
    auto builder = std::make_unique<NetworkBuilder>();
    builder->m_blockName = name;
    if (block->ExistsHere("networkDescription") || block->ExistsHere("run"))
        builder->TakeNdl(command, *block);
    else
        builder->TakeSimple(command, *block);
    return builder;
}

void NetworkBuilder::TakeNdl(const CommandContext& command, const ConfigParameters& ndl)
{
    MarkScript(ndl);
    m_logName = "NDLBuilder";
    m_where = ndl.Where();
    for (const char* key : {"run", "networkDescription"})
        if (const std::optional<ConfigValue> value = ndl.Find(key))
            m_where = value->Where();
    m_build = [&ndl, dataType = command.program.dataType, seeds = StartValueSeedsOf(command),
               program = &command.program](const std::shared_ptr<Device>& device, const ComputationNode*)
    {
        program->ndl.startValueSeeds = seeds;
        std::unique_ptr<ComputationNetwork> network = BuildNetworkFromNdl(ndl, dataType, device, &program->ndl);
        for (const std::string& warning : program->ndl.warnings)
            program->log.Warn(warning);
        program->ndl.warnings.clear();
        return network;
    };
}

void NetworkBuilder::TakeSimple(const CommandContext& command, const ConfigParameters& simple)
{
    m_logName = c_simpleBlock;
    m_where = simple.Where();
    SimpleNetworkOptions options = ReadSimpleNetworkOptions(simple);
    options.startValueSeeds = StartValueSeedsOf(command);
    for (const std::string& warning : WarningsOf(options, simple))
        command.program.log.Warn(warning);
    m_build = [options, where = m_where, sizes = simple.WhereOf("layerSizes"), dataType = command.program.dataType,
               &ndl = command.program.ndl](const std::shared_ptr<Device>& device, const ComputationNode* encoderOutput)
    {
        auto network = AtPlace([&] { return BuildSimpleNetwork(options, dataType, device, encoderOutput); }, where);
        // What does not fit the data is told with the sizes.
        const auto noCallers = std::make_shared<const std::vector<std::string>>();
        for (const ComputationNodePtr& node : network->Nodes())
            if (std::dynamic_pointer_cast<InputValueNode>(node))
                ndl.places[node.get()] = {node, sizes, noCallers};
        return network;
    };
}

std::unique_ptr<NetworkBuilder> NetworkBuilder::Require(const CommandContext& command)
{
    std::unique_ptr<NetworkBuilder> builder = Find(command);
    if (builder == nullptr)
        RefuseBrainScript(command);
    if (builder == nullptr)
        FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name,
               "' has no network to train: give a block SimpleNetworkBuilder=[layerSizes=...] or "
               "NDLNetworkBuilder=[networkDescription=...]");
    return builder;
}

SeedStream StartValueSeedsOf(const CommandContext& command)
{
    return SeedStream(TrainingSeedOf(command), "start values");
}

std::unique_ptr<ComputationNetwork> BuildAside(const CommandContext& command, const NetworkBuilder& builder,
                                               const std::shared_ptr<Device>& device)
{
    NdlCounts& counts = command.program.ndl.counts;
    const NdlCounts before = counts;
    try
    {
        std::unique_ptr<ComputationNetwork> network = builder.Build(device);
        counts = before;
        return network;
    }
    catch (...)
    {
        counts = before;
        throw;
    }
}

void ThrowWithPlace(const NdlContext& context, const NodeError& error)
{
    const NdlPlace* const place = context.FindPlace(error.Node());
    if (place == nullptr)
        throw NodeError(error);
    Error placed = error.At(place->where);
    for (const std::string& caller : *place->callers)
        placed.AddNote(caller);
    throw placed;
}

namespace
{

// "auto", "-1" or what else deviceId= says.
std::string DeviceIdOf(const CommandContext& command)
{
    const auto value = command.block.Find("deviceId");
    const std::string id = ToLower(value ? value->Text() : "auto");
    return id == "cpu" ? "-1" : id;
}

} // namespace

void AskForDevice(const CommandContext& command)
{
    if (DeviceIdOf(command) == "auto")
        command.program.takeAnyDevice.push_back(command.name);
    else
        DeviceOf(command);
}

std::shared_ptr<Device> DeviceOf(const CommandContext& command)
{
    ProgramContext& program = command.program;
    const std::string id = DeviceIdOf(command);
    if (program.device != nullptr)
    {
        if (id != program.deviceId && id != "auto")
            FailAt(command.block.WhereOf("deviceId"), ErrorKind::Config, "command '", command.name,
                   "' asks for deviceId=", id, ", but another command of this run has deviceId=", program.deviceId,
                   "; one run uses one device");
        return program.device;
    }
    CpuOptions options = program.cpu;
    if (TraceLevelOf(command) > 1)
        options.trace = [&log = program.log](const std::string& text) { log.Write(text + "\n"); };
    try
    {
        program.device = MakeDevice(id, options, program.gpu);
    }
    catch (const Error& error)
    {
        // The place in the config helps with a word that is none and with a GPU that is not there alike.
        const auto value = command.block.Find("deviceId");
        throw error.At(value ? value->Where() : SourcePos{});
    }
    program.deviceId = id;
    return program.device;
}

std::unique_ptr<ComputationNetwork> LoadModelOf(const CommandContext& command, const std::string& path,
                                                std::shared_ptr<Device> device, std::string_view key)
{
    return AtPlace([&] { return LoadModel(path, command.program.dataType, std::move(device)); }, PlaceOf(command, key));
}

std::unique_ptr<ComputationNetwork> LoadModelToCheck(const CommandContext& command, const std::string& path,
                                                     std::shared_ptr<Device> device, std::string_view key)
{
    ProgramContext& program = command.program;
    const PlannedModel* const planned = program.planned.Find(path);
    if (planned == nullptr)
        return LoadModelOf(command, path, std::move(device), key);
    if (planned->IsKnown())
        return AtPlace([&] { return planned->Load(path, program.dataType, std::move(device)); }, PlaceOf(command, key));
    program.log.Print("Command '%s': %s; what it does with it is not checked.\n", command.name.c_str(),
                      planned->WhyUnknown(path).c_str());
    return nullptr;
}

std::unique_ptr<ComputationNetwork> LoadModelOf(const CommandContext& command, const std::string& path)
{
    return LoadModelOf(command, path, DeviceOf(command));
}

std::string DeviceWords(const Device& device)
{
    return device.Id() == c_cpuDevice ? "CPU" : "GPU " + std::to_string(device.Id());
}

namespace
{

// Each loop by the name of its last node, with its nodes, three in a line.
void LogLoops(Log& log, const std::vector<ComputationNodePtr>& roots)
{
    int number = 0;
    for (const std::vector<ComputationNodePtr>& component : ComponentsBelow(roots))
    {
        if (!IsLoop(component))
            continue;
        const std::vector<ComputationNodePtr> loop = OrderOfOneStep(component);
        std::string text =
            Concat("\nLoop[", number++, "] --> Loop_", loop.back()->Name(), " -> ", loop.size(), " nodes\n");
        for (size_t i = 0; i < loop.size(); i++)
            text += (i % 3 == 0 ? "\n\t" : "\t") + loop[i]->Name();
        log.Write(text + "\n");
    }
}

} // namespace

void LogNetwork(Log& log, const ComputationNetwork& network, int traceLevel)
{
    const std::vector<ComputationNodePtr> roots = network.Roots();
    log.Print("\nPost-processing network...\n\n%d roots:\n", int(roots.size()));
    for (const ComputationNodePtr& root : roots)
        log.Print("\t%s = %s()\n", root->Name().c_str(), root->TypeName().c_str());
    if (traceLevel > 0)
    {
        LogLoops(log, roots);
        const std::vector<ComputationNodePtr> nodes = ComputationNetwork::Below(roots);
        log.Print("\nValidating network. %d nodes to process in pass 1.\n\n", int(nodes.size()));
        for (const ComputationNodePtr& node : nodes)
        {
            std::string names;
            std::string shapes;
            for (const ComputationNodePtr& input : node->Inputs())
            {
                names += (names.empty() ? " (" : ", ") + input->Name();
                shapes += (shapes.empty() ? "" : ", ") + ShapeInWords(*input);
            }
            names += names.empty() ? "()" : ")";
            log.Print("Validating --> %s = %s%s : %s -> %s\n", node->Name().c_str(), node->TypeName().c_str(),
                      names.c_str(), shapes.c_str(), ShapeInWords(*node).c_str());
        }
        log.Print("\nValidating network, final pass.\n");
        const auto apart =
            std::count_if(nodes.begin(), nodes.end(), [](const auto& node) { return !node->HasMBLayout(); });
        log.Print("\n%d out of %d nodes do not share the minibatch layout with the input data.\n", int(apart),
                  int(nodes.size()));
    }
    log.Print("\nPost-processing network complete.\n");
}

} // namespace cntk
