// The device that a command computes on, as deviceId= says. Commands of one run may compute on the CPU and on one GPU.
#pragma once

#include "ActionsLib/Action.h"

#include <memory>
#include <string>

namespace cntk
{

// While commands are prepared: makes the device of a deviceId= that names one, so that one that is not there is told
// before anything runs. "auto" has to wait, for a later command may name the GPU that this one then takes.
void AskForDevice(const CommandContext& command);

// The device of deviceId= as this command sees it; made when first asked for, and shared by all commands that ask for
// it. "auto" takes the GPU that another command has named, else what MakeDevice chooses.
std::shared_ptr<Device> DeviceOf(const CommandContext& command);
// The same, by the command's block; null where it has not been made.
std::shared_ptr<Device> MadeDeviceOf(const ProgramContext& program, const ConfigParameters& command);

// "CPU" or "GPU 0", as the original's log lines have it.
std::string DeviceWords(const Device& device);

} // namespace cntk
