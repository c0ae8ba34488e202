// Which keys may stand in which block of this config, for warnings about keys that nothing reads.
#pragma once

#include "ActionsLib/Action.h"
#include "Common/Config/UnusedKeys.h"

#include <string>
#include <utility>
#include <vector>

namespace cntk
{

// commands: the names of the commands to be run with their actions. Asks the plugins that the reader blocks name.
std::vector<KnownBlock> KnownBlocksOf(const ConfigParameters& root,
                                      const std::vector<std::pair<std::string, const Action*>>& commands);

} // namespace cntk
