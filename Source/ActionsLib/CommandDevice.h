// The device that a command computes on, as deviceId= says: one for the whole run.
#pragma once

#include "ActionsLib/Action.h"

#include <memory>
#include <string>

namespace cntk
{

// While commands are prepared: makes the device of a deviceId= that names one, so that one that is not there is told
// before anything runs. "auto" has to wait, for a later command may name the device that the whole run then uses.
void AskForDevice(const CommandContext& command);

// The device of deviceId= as this command sees it; made when first asked for, one for the whole run: "auto" takes what
// another command has named.
std::shared_ptr<Device> DeviceOf(const CommandContext& command);

// "CPU" or "GPU 0", as the original's log lines have it.
std::string DeviceWords(const Device& device);

} // namespace cntk
