// Where a command's network comes from: a builder block (SimpleNetworkBuilder, NDLNetworkBuilder) or a model file.
#pragma once

#include "ActionsLib/Action.h"
#include "Common/Random.h"
#include "ComputationNetwork/ComputationNetwork.h"

#include <functional>
#include <memory>
#include <string>

namespace cntk
{

// A builder block that was read and checked; Build makes the network. Blocks are looked up outwards, so that one
// builder at the root serves several commands.
class NetworkBuilder
{
public:
    // Empty if there is no builder block. Both blocks at once: NDL is taken, with a warning, as the book's version did.
    static std::unique_ptr<NetworkBuilder> Find(const CommandContext& command);
    // Fails with "no network" and the forms accepted.
    static std::unique_ptr<NetworkBuilder> Require(const CommandContext& command);
    // Of a block of the name given, SimpleNetworkBuilder's or, where it has networkDescription or run, NDL's. Empty if
    // there is no such block.
    static std::unique_ptr<NetworkBuilder> OfBlock(const CommandContext& command, const std::string& name);

    const std::string& BlockName() const { return m_blockName; }
    // As the log calls it: "SimpleNetworkBuilder" or "NDLBuilder".
    const char* LogName() const { return m_logName; }
    // Of what describes the network: the value of networkDescription or run, else the block.
    const SourcePos& Where() const { return m_where; }
    // encoderOutput: the node of another network that a decoder is made for.
    std::unique_ptr<ComputationNetwork> Build(const std::shared_ptr<Device>& device,
                                              const ComputationNode* encoderOutput = nullptr) const
    {
        return m_build(device, encoderOutput);
    }

private:
    void TakeSimple(const CommandContext& command, const ConfigParameters& block);
    void TakeNdl(const CommandContext& command, const ConfigParameters& block);

    std::string m_blockName;
    const char* m_logName = "";
    SourcePos m_where;
    std::function<std::unique_ptr<ComputationNetwork>(const std::shared_ptr<Device>&, const ComputationNode*)> m_build;
};

// Of all parameters that the command gives random values.
SeedStream StartValueSeedsOf(const CommandContext& command);

// A network that is only looked at: the seeds that later commands go on with stay as they are.
std::unique_ptr<ComputationNetwork> BuildAside(const CommandContext& command, const NetworkBuilder& builder,
                                               const std::shared_ptr<Device>& device);

} // namespace cntk
