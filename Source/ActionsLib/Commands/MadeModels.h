// Models that commands make which are no trainings: what a training begins with (book 7.1.5).
#pragma once

#include "ActionsLib/Action.h"

#include <string>
#include <vector>

namespace cntk
{

// The files that the blocks of edit, SVD and convertdbn commands name which are not run now: somebody who runs the
// commands of a config one by one has run them before. Blocks that cannot be read are passed over.
std::vector<std::string> MadeByCommandsNotRun(const ConfigParameters& root, const std::vector<std::string>& commands,
                                              const ProgramContext& program);

} // namespace cntk
