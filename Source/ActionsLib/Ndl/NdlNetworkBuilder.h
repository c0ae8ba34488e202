// Builds the network of a block NDLNetworkBuilder=[...], whose script is in a file or in the config.
#pragma once

#include "ActionsLib/Ndl/NdlBuilder.h"
#include "Common/Config/ConfigParameters.h"
#include "Common/Config/Options.h"
#include "ComputationNetwork/ComputationNetwork.h"

#include <memory>
#include <string>

namespace cntk
{

struct NdlNetworkOptions
{
    std::string networkDescription; // an NDL file
    std::string ndlMacros;          // files with macros, "a.ndl+b.ndl"
    std::string run;
    std::vector<std::string> load;
    std::string dumpFileName;
    size_t randomSeedOffset = 0;
    std::string deviceId = "auto"; // without effect here

    static const OptionTable<NdlNetworkOptions>& Options();
};

// Returns the validated network with initial values. Fails (Config) with the place in the script. A context carries the
// counters of random seeds and unnamed nodes from one network to the next, and receives warnings.
std::unique_ptr<ComputationNetwork> BuildNetworkFromNdl(const ConfigParameters& builderBlock, DataType dataType,
                                                        std::shared_ptr<Device> device, NdlContext* context = nullptr);

// Looks up the variables of the block's script files, so that no variable counts as unused before the network is built.
// Ignores errors of the files; building the network reports them.
void LookUpVariablesOfScripts(const ConfigParameters& builderBlock);

// Builds a network from a script given as text; for tests.
std::unique_ptr<ComputationNetwork> BuildNetworkFromNdlText(std::string script, std::string sourceName,
                                                            DataType dataType, std::shared_ptr<Device> device,
                                                            NdlContext* context = nullptr);

} // namespace cntk
