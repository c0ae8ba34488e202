// Networks of commands: built by a builder block (SimpleNetworkBuilder, NDLNetworkBuilder) or loaded from a model file,
// printed to the log, checked with a minibatch.
#pragma once

#include "ActionsLib/Action.h"
#include "Common/Random.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "SGD/Minibatches/MinibatchSource.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// A builder block that was read and checked; Build creates the network. A builder at the root serves several commands.
class NetworkBuilder
{
public:
    // Null if the command sees no builder block. If it sees both, SimpleNetworkBuilder is used, with a warning.
    static std::unique_ptr<NetworkBuilder> Find(const CommandContext& command);
    // Fails (Config) with the accepted blocks if the command sees none.
    static std::unique_ptr<NetworkBuilder> Require(const CommandContext& command);
    // The builder in a block with another name: NDL if the block has networkDescription or run. Null without such a
    // block.
    static std::unique_ptr<NetworkBuilder> FindNamed(const CommandContext& command, const std::string& name);

    const std::string& BlockName() const { return m_blockName; }
    // "SimpleNetworkBuilder" or "NDLBuilder", for the original's log lines.
    const char* LogName() const { return m_logName; }
    // The place of networkDescription or run, else of the block.
    const SourcePos& Where() const { return m_where; }
    // encoderOutput: the node of another network from which a decoder takes values.
    std::unique_ptr<ComputationNetwork> Build(const std::shared_ptr<Device>& device,
                                              const ComputationNode* encoderOutput = nullptr) const
    {
        return m_build(device, encoderOutput);
    }
    // Builds the network on the CPU and runs `check` on it. Throws only errors of the config; errors that depend on
    // data, memory or a device are left to the run.
    void Validate(ProgramContext& program, const std::function<void(const ComputationNetwork&)>& check = nullptr) const;
    // Builds the network only to check or compare it: the seeds of later commands do not advance.
    std::unique_ptr<ComputationNetwork> BuildForCheck(ProgramContext& program,
                                                      const std::shared_ptr<Device>& device) const;

private:
    void UseSimple(const CommandContext& command, const ConfigParameters& block);
    void UseNdl(const CommandContext& command, const ConfigParameters& block);

    std::string m_blockName;
    const char* m_logName = "";
    SourcePos m_where;
    std::function<std::unique_ptr<ComputationNetwork>(const std::shared_ptr<Device>&, const ComputationNode*)> m_build;
};

// Seeds of the random start values of the command's parameters.
SeedStream StartValueSeedsOf(const CommandContext& command);

// A CPU device for commands that transform or print models, whatever deviceId says.
std::shared_ptr<Device> DeviceForModels();

// Loads the model; errors about the file get the key's place.
std::unique_ptr<ComputationNetwork> LoadModelOf(const CommandContext& command, const std::string& path,
                                                std::shared_ptr<Device> device, std::string_view key = "modelPath");
// The same for --check. Null, with a line in the log, if an earlier command writes the model.
std::unique_ptr<ComputationNetwork> LoadModelToCheck(const CommandContext& command, const std::string& path,
                                                     std::shared_ptr<Device> device,
                                                     std::string_view key = "modelPath");
// Reports that a model is checked when its command runs, because an earlier command (writer) writes it.
void LogUncheckedModel(const CommandContext& command, const std::string& path, const std::string& writer);
// Saves the model, except if the file has the same bytes already. An unchanged file keeps its time, so that a training
// which began with the model resumes when all commands run again.
void SaveIfChanged(const ComputationNetwork& network, const std::string& path, Log& log);

// The nodes of the command's outputNodeNames, each once; without names the model's output nodes. Fails (Config) with
// near names for an unknown node. purpose: "write", for messages.
std::vector<ComputationNodePtr> OutputNodesOf(const CommandContext& command, const ComputationNetwork& network,
                                              const std::vector<std::string>& names, const char* purpose);

// Prints the original's log lines about a network: roots, each node with its shapes ("Validating --> ...").
void LogNetwork(Log& log, const ComputationNetwork& network, int traceLevel);

enum class CheckFor
{
    Training,
    Evaluation
};
// For --check: reads one minibatch, computes the roots, reports samples and memory. ndl: places of nodes for warnings.
void CheckSource(Log& log, ComputationNetwork& network, const std::vector<ComputationNodePtr>& roots,
                 MinibatchSource& source, size_t minibatchSize, CheckFor purpose, const NdlContext* ndl = nullptr);

} // namespace cntk
