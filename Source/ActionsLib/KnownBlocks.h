// The keys that may stand in each block of a config, for warnings about unused keys.
#pragma once

#include "ActionsLib/Action.h"
#include "Common/Config/UnusedKeys.h"

#include <string>
#include <utility>
#include <vector>

namespace cntk
{

// commands: names and actions of the commands to run. Asks the plugins of the reader blocks for their keys.
std::vector<KnownBlock> KnownBlocksOf(const ConfigParameters& root,
                                      const std::vector<std::pair<std::string, const Action*>>& commands);

} // namespace cntk
