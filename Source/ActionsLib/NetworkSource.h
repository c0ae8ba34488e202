// Where a command's network comes from: a builder block (SimpleNetworkBuilder, NDLNetworkBuilder) or a model file.
#pragma once

#include "ActionsLib/Action.h"
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

    const std::string& BlockName() const { return m_blockName; }
    // Of what describes the network: the value of networkDescription or run, else the block.
    const SourcePos& Where() const { return m_where; }
    std::unique_ptr<ComputationNetwork> Build(const std::shared_ptr<Device>& device) const { return m_build(device); }

private:
    std::string m_blockName;
    SourcePos m_where;
    std::function<std::unique_ptr<ComputationNetwork>(const std::shared_ptr<Device>&)> m_build;
};

// The device of deviceId= as this command sees it; made when first asked for, one for the whole run.
std::shared_ptr<Device> DeviceOf(const CommandContext& command);

// "CPU" or "GPU 0", as the original's log lines have it.
std::string DeviceWords(const Device& device);

// The original's log lines about a network: roots, each node with its shapes ("Validating --> ..."), criteria.
void LogNetwork(Log& log, const ComputationNetwork& network, int traceLevel);

} // namespace cntk
