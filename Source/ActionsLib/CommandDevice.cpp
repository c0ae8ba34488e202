#include "ActionsLib/CommandDevice.h"

#include "ActionsLib/CommandKeys.h"
#include "Common/Error.h"
#include "Common/Text.h"

namespace cntk
{

namespace
{

// "auto", "-1" or what else deviceId= says.
std::string DeviceIdOf(const CommandContext& command)
{
    const auto value = command.block.Find("deviceId");
    const std::string id = ToLower(value ? value->Text() : "auto");
    return id == "cpu" ? "-1" : id;
}

} // namespace

void AskForDevice(const CommandContext& command)
{
    if (DeviceIdOf(command) == "auto")
        command.program.takeAnyDevice.push_back(command.name);
    else
        DeviceOf(command);
}

std::shared_ptr<Device> DeviceOf(const CommandContext& command)
{
    ProgramContext& program = command.program;
    const std::string id = DeviceIdOf(command);
    if (program.device != nullptr)
    {
        if (id != program.deviceId && id != "auto")
            FailAt(command.block.WhereOf("deviceId"), ErrorKind::Config, "command '", command.name,
                   "' asks for deviceId=", id, ", but another command of this run has deviceId=", program.deviceId,
                   "; one run uses one device");
        return program.device;
    }
    CpuOptions options = program.cpu;
    if (TraceLevelOf(command) > 1)
        options.trace = [&log = program.log](const std::string& text) { log.Write(text + "\n"); };
    try
    {
        program.device = MakeDevice(id, options, program.gpu);
    }
    catch (const Error& error)
    {
        // The place in the config helps with a word that is none and with a GPU that is not there alike.
        const auto value = command.block.Find("deviceId");
        throw error.At(value ? value->Where() : SourcePos{});
    }
    program.deviceId = id;
    return program.device;
}

std::string DeviceWords(const Device& device)
{
    return device.Id() == c_cpuDevice ? "CPU" : "GPU " + std::to_string(device.Id());
}

} // namespace cntk
