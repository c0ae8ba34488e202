// Builder blocks are read when the commands are prepared; the networks are built when the commands run.
#include "ActionsLib/JobParts/NetworkSource.h"

#include "ActionsLib/JobParts/CommandSettings.h"
#include "ActionsLib/JobParts/ErrorPlaces.h"
#include "ActionsLib/Ndl/NdlNetworkBuilder.h"
#include "ActionsLib/Networks/SimpleNetworkBuilder.h"
#include "Common/Error.h"
#include "Common/FileClashes.h"
#include "Common/Log.h"
#include "Common/Text.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Files/NetworkReport.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"
#include "ComputationNetwork/Plan/RecurrentLoops.h"
#include "SGD/Evaluation/Criteria.h"
#include "SGD/Evaluation/Evaluation.h"

#include <algorithm>
#include <new>

namespace cntk
{

namespace
{

constexpr const char* c_simpleBlock = "SimpleNetworkBuilder";
constexpr const char* c_ndlBlock = "NDLNetworkBuilder";

// Finds mistakes in the block before any command runs, and marks the sections and variables that the scripts use as
// read.
void ReadNdlBlock(const ConfigParameters& ndl)
{
    const NdlNetworkOptions options = ReadOptions<NdlNetworkOptions>(ndl);
    for (const std::string& section : options.load)
        ndl.Find(section);
    if (!options.run.empty())
        ndl.Find(options.run);
    LookUpVariablesOfScripts(ndl);
}

// Fails if the dump of the network would replace its description or data.
void RequireHarmlessDump(const CommandContext& command, const ConfigParameters& ndl)
{
    const auto dump = ndl.Find("dumpFileName");
    if (!dump || dump->Text().empty())
        return;
    std::vector<NamedFile> read = FilesOfReaders(command.block, ReaderBlocks::OfDataAndValidation);
    // Other keys of the block are variables; one of them may name the dump.
    for (const char* key : {"networkDescription", "ndlMacros"})
        if (const auto files = ndl.Find(key))
            for (const std::string_view file : Split(files->Text(), '+'))
                read.push_back({files->KeyPath(), std::string(Trim(file))});
    RequireNotRead({"dumpFileName", dump->Text()}, read, dump->Where());
}

void RefuseBrainScript(const CommandContext& command)
{
    for (const char* name : {"createNetwork", "BrainScriptNetworkBuilder", "ExperimentalNetworkBuilder"})
        if (const std::optional<ConfigValue> value = command.block.Find(name))
            FailAt(value->Where(), ErrorKind::Config, "the network of command '", command.name, "' is given by ", name,
                   ", in BrainScript, which is not supported; write it in NDL, "
                   "NDLNetworkBuilder=[networkDescription=...], "
                   "or use SimpleNetworkBuilder=[layerSizes=...]");
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
        builder->UseSimple(command, *simple);
    else
        builder->UseNdl(command, *ndl);
    return builder;
}

std::unique_ptr<NetworkBuilder> NetworkBuilder::FindNamed(const CommandContext& command, const std::string& name)
{
    const ConfigParameters* block = command.block.FindBlock(name);
    if (block == nullptr)
        return nullptr;
    auto builder = std::make_unique<NetworkBuilder>();
    builder->m_blockName = name;
    if (block->ExistsHere("networkDescription") || block->ExistsHere("run"))
        builder->UseNdl(command, *block);
    else
        builder->UseSimple(command, *block);
    return builder;
}

void NetworkBuilder::UseNdl(const CommandContext& command, const ConfigParameters& ndl)
{
    ReadNdlBlock(ndl);
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

void NetworkBuilder::UseSimple(const CommandContext& command, const ConfigParameters& simple)
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
        // Errors about inputs that do not fit the data get the place of layerSizes.
        const auto noCallers = std::make_shared<const std::vector<std::string>>();
        for (const ComputationNodePtr& node : network->Nodes())
            if (node->Type().traits.isLeaf && StoredValues(*node) == nullptr)
                ndl.places[node.get()] = {node, sizes, noCallers};
        return network;
    };
}

std::unique_ptr<NetworkBuilder> NetworkBuilder::Require(const CommandContext& command)
{
    if (std::unique_ptr<NetworkBuilder> builder = Find(command))
        return builder;
    RefuseBrainScript(command);
    for (const char* name : {c_simpleBlock, c_ndlBlock})
        if (command.block.Find(name))
            command.block.RequireBlock(name); // fails: the value is no block
    FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name,
           "' has no network to train: give a block SimpleNetworkBuilder=[layerSizes=...] or "
           "NDLNetworkBuilder=[networkDescription=...]");
}

std::unique_ptr<ComputationNetwork> NetworkBuilder::BuildForCheck(ProgramContext& program,
                                                                  const std::shared_ptr<Device>& device) const
{
    struct RestoreSeeds
    {
        ~RestoreSeeds() { counts = before; }
        NdlCounts& counts;
        const NdlCounts before;
    };
    const RestoreSeeds restore{program.ndl.counts, program.ndl.counts};
    return Build(device);
}

void NetworkBuilder::Validate(ProgramContext& program,
                              const std::function<void(const ComputationNetwork&)>& check) const
{
    try
    {
        const std::unique_ptr<ComputationNetwork> network = BuildForCheck(program, DeviceForModels());
        if (check)
            check(*network);
    }
    catch (const Error& error)
    {
        if (error.Kind() == ErrorKind::Config)
            throw;
    }
    catch (const std::bad_alloc&)
    {
    }
}

SeedStream StartValueSeedsOf(const CommandContext& command)
{
    return SeedStream(TrainingSeedOf(command), "start values");
}

std::shared_ptr<Device> DeviceForModels()
{
    return MakeCpuDevice({.threads = 1});
}

std::unique_ptr<ComputationNetwork> LoadModelOf(const CommandContext& command, const std::string& path,
                                                std::shared_ptr<Device> device, std::string_view key)
{
    return AtPlace([&] { return LoadModel(path, command.program.dataType, std::move(device)); }, PlaceOf(command, key));
}

std::unique_ptr<ComputationNetwork> LoadModelToCheck(const CommandContext& command, const std::string& path,
                                                     std::shared_ptr<Device> device, std::string_view key)
{
    const std::string writer = command.program.outputs.WriterOf(path);
    if (writer.empty())
        return LoadModelOf(command, path, std::move(device), key);
    LogUncheckedModel(command, path, writer);
    return nullptr;
}

void LogUncheckedModel(const CommandContext& command, const std::string& path, const std::string& writer)
{
    command.program.log.Print("Command '%s': model '%s' comes from command '%s' and is checked when '%s' runs.\n",
                              command.name.c_str(), path.c_str(), writer.c_str(), command.name.c_str());
}

void SaveIfChanged(const ComputationNetwork& network, const std::string& path, Log& log)
{
    if (!SaveModelIfChanged(network, path))
        log.Print("'%s' has this model already and stays as it is.\n", path.c_str());
}

namespace
{

// Names of all computed nodes except criteria.
std::vector<std::string> ComputedNodeNames(const ComputationNetwork& network)
{
    std::vector<std::string> names;
    for (const ComputationNodePtr& node : network.Nodes())
        if (!node->Type().traits.isLeaf && !node->Type().traits.isCriterion)
            names.push_back(node->Name());
    return names;
}

} // namespace

std::vector<ComputationNodePtr> OutputNodesOf(const CommandContext& command, const ComputationNetwork& network,
                                              const std::vector<std::string>& names, const char* purpose)
{
    std::vector<ComputationNodePtr> nodes;
    if (names.empty())
    {
        nodes = network.Group(NodeGroup::Output);
        const std::vector<std::string> candidates = ComputedNodeNames(network);
        if (nodes.empty() && candidates.empty())
            Fail(ErrorKind::Model, "the model has no node that is computed; there is nothing to ", purpose);
        if (nodes.empty())
            Fail(ErrorKind::Model, "the model names no output node; give outputNodeNames=<node>, one of ",
                 Join(candidates, ", "));
        return nodes;
    }
    for (const std::string& name : names)
    {
        const ComputationNodePtr node = network.Find(name);
        if (node == nullptr)
        {
            std::vector<std::string> all;
            for (const ComputationNodePtr& candidate : network.Nodes())
                all.push_back(candidate->Name());
            FailAt(command.block.WhereOf("outputNodeNames"), ErrorKind::Config,
                   "outputNodeNames: the model has no node '", name,
                   "'; candidates: ", Join(ComputedNodeNames(network), ", "), DidYouMean(name, all));
        }
        if (std::find(nodes.begin(), nodes.end(), node) == nodes.end())
            nodes.push_back(node);
    }
    return nodes;
}

namespace
{

// Prints each loop under the name of its last node, with its nodes, three in a line.
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
        const auto withoutLayout =
            std::count_if(nodes.begin(), nodes.end(), [](const auto& node) { return !node->HasMBLayout(); });
        log.Print("\n%d out of %d nodes do not share the minibatch layout with the input data.\n", int(withoutLayout),
                  int(nodes.size()));
    }
    log.Print("\nPost-processing network complete.\n");
}

void CheckSource(Log& log, ComputationNetwork& network, const std::vector<ComputationNodePtr>& roots,
                 MinibatchSource& source, size_t minibatchSize, CheckFor purpose, const NdlContext* ndl)
{
    const bool training = purpose == CheckFor::Training;
    // The network is discarded, so statistics of one minibatch suffice.
    if (training)
        Precompute(network, source, minibatchSize, minibatchSize, log);
    source.BindTo(training ? NodesToRead(network, roots) : roots);
    for (const NodeWarning& warning : source.Warnings())
        log.Warn((ndl ? PlacePrefix(*ndl, *warning.node) : "") + warning.text);
    EpochRequest request;
    request.minibatchSize = minibatchSize;
    source.StartEpoch(request);
    if (!source.Next())
        Fail(ErrorKind::Data, "the reader delivers no data");
    EvaluatorOptions options;
    options.training = training;
    Evaluator evaluator(network, roots, options);
    evaluator.Forward();
    log.Print("Read a minibatch of %d samples; values%s take %.1f MB.\n", int(source.Samples()),
              training ? " and gradients" : "", double(evaluator.BytesAllocated()) / 1e6);
}

} // namespace cntk
