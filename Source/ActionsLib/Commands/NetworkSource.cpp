// Builder blocks are read when the commands are prepared; the networks are built when the commands run.
#include "ActionsLib/Commands/NetworkSource.h"

#include "ActionsLib/Commands/CommandKeys.h"
#include "ActionsLib/Commands/ErrorPlaces.h"
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "ActionsLib/Networks/SimpleNetworkBuilder.h"
#include "Common/Error.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

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

// The dump of a network would replace a file of its description, or data.
void RequireHarmlessDump(const CommandContext& command, const ConfigParameters& ndl)
{
    const auto dump = ndl.Find("dumpFileName");
    if (!dump || dump->Text().empty())
        return;
    std::vector<NamedFile> read = FilesOfReaders(command.block, ReaderBlocks::OfDataAndValidation);
    // Other keys of the block are variables, perhaps the one that names the dump.
    for (const char* key : {"networkDescription", "ndlMacros"})
        if (const auto files = ndl.Find(key))
            for (const std::string_view file : Split(files->Text(), '+'))
                read.push_back({files->KeyPath(), std::string(Trim(file))});
    RequireNotRead({"dumpFileName", dump->Text()}, read, dump->Where());
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
                                 simple->Where().Location() + "); " + c_simpleBlock + " is used");
    builder->m_blockName = simple != nullptr ? c_simpleBlock : c_ndlBlock;
    if (simple != nullptr)
        builder->TakeSimple(command, *simple);
    else
        builder->TakeNdl(command, *ndl);
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
    RequireHarmlessDump(command, ndl);
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
        for (const char* name : {c_simpleBlock, c_ndlBlock})
            if (command.block.Find(name))
                command.block.RequireBlock(name); // says what stands there instead
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

} // namespace cntk
