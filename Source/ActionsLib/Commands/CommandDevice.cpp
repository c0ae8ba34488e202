#include "ActionsLib/Commands/CommandDevice.h"

#include "ActionsLib/Commands/CommandKeys.h"
#include "Common/Error.h"
#include "Common/Text.h"

#include <optional>
#include <string_view>

namespace cntk
{

namespace
{

// "auto", "cpu", "-1" or what else deviceId= says.
std::string DeviceIdOf(const ConfigParameters& command)
{
    const auto value = command.Find("deviceId");
    return ToLower(value ? value->Text() : "auto");
}

std::shared_ptr<Device> FindGpu(const ProgramContext& program)
{
    for (const std::shared_ptr<Device>& device : program.devices)
        if (device->Id() != c_cpuDevice)
            return device;
    return nullptr;
}

std::shared_ptr<Device> FindDevice(const ProgramContext& program, std::string_view id)
{
    if (id == "auto")
        return program.anyDevice ? program.anyDevice : FindGpu(program);
    const std::optional<long long> number = id == "cpu" ? c_cpuDevice : ParseInteger(id);
    for (const std::shared_ptr<Device>& device : program.devices)
        if (device->Id() == number)
            return device;
    return nullptr;
}

std::shared_ptr<Device> Make(const CommandContext& command, const std::string& id)
{
    ProgramContext& program = command.program;
    CpuOptions options = program.cpu;
    if (TraceLevelOf(command) > 1)
        options.trace = [&log = program.log](const std::string& text) { log.Write(text + "\n"); };
    try
    {
        return MakeDevice(id, options, program.gpu);
    }
    catch (const Error& error)
    {
        // The place in the config helps with a word that is none and with a GPU that is not there alike.
        const auto value = command.block.Find("deviceId");
        throw error.At(value ? value->Where() : SourcePos{});
    }
}

} // namespace

void AskForDevice(const CommandContext& command)
{
    if (DeviceIdOf(command.block) == "auto")
        command.program.takeAnyDevice.push_back(command.name);
    else
        DeviceOf(command);
}

std::shared_ptr<Device> MadeDeviceOf(const ProgramContext& program, const ConfigParameters& command)
{
    return FindDevice(program, DeviceIdOf(command));
}

std::shared_ptr<Device> DeviceOf(const CommandContext& command)
{
    ProgramContext& program = command.program;
    const std::string id = DeviceIdOf(command.block);
    if (std::shared_ptr<Device> device = FindDevice(program, id))
        return device;
    const std::shared_ptr<Device> gpu = FindGpu(program);
    if (gpu != nullptr && ParseInteger(id) && *ParseInteger(id) >= 0)
        FailAt(command.block.WhereOf("deviceId"), ErrorKind::Config, "command '", command.name,
               "' asks for deviceId=", id, ", but another command of this run computes on GPU ", gpu->Id(),
               "; one run uses one GPU, beside the CPU");
    std::shared_ptr<Device> device = Make(command, id);
    // "auto" may find no GPU, where another command has asked for the CPU.
    const std::shared_ptr<Device> same = FindDevice(program, std::to_string(device->Id()));
    if (same == nullptr)
        program.devices.push_back(device);
    else
        device = same;
    if (id == "auto")
        program.anyDevice = device;
    return device;
}

std::string DeviceWords(const Device& device)
{
    return device.Id() == c_cpuDevice ? "CPU" : "GPU " + std::to_string(device.Id());
}

} // namespace cntk
