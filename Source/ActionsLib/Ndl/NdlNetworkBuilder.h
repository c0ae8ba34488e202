// The block NDLNetworkBuilder=[...]: finds the script in a file or in the config, and
// builds the network.
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

// The network, validated, with start values. Fails (Config) with the place in the script. With a context the counters
// of random seeds and unnamed nodes go on from one network to the next, and warnings arrive in it.
std::unique_ptr<ComputationNetwork> BuildNetworkFromNdl(const ConfigParameters& builderBlock, DataType dataType,
                                                        std::shared_ptr<Device> device, NdlContext* context = nullptr);

// Looks up the variables of the block's script files, so that none of them counts as unused before the network is
// built. What is wrong with a file is said when it is.
void LookUpVariablesOfScripts(const ConfigParameters& builderBlock);

// A script in a text of its own (tests; snippets).
std::unique_ptr<ComputationNetwork> BuildNetworkFromNdlText(std::string script, std::string sourceName,
                                                            DataType dataType, std::shared_ptr<Device> device,
                                                            NdlContext* context = nullptr);

} // namespace cntk
