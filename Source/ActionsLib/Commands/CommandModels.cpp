#include "ActionsLib/Commands/CommandModels.h"

#include "ActionsLib/Commands/CommandDevice.h"
#include "ActionsLib/Commands/CommandKeys.h"
#include "ActionsLib/Commands/ErrorPlaces.h"
#include "Common/Log.h"
#include "ComputationNetwork/Files/ModelFile.h"

namespace cntk
{

std::unique_ptr<ComputationNetwork> LoadModelOf(const CommandContext& command, const std::string& path,
                                                std::shared_ptr<Device> device, std::string_view key)
{
    return AtPlace([&] { return LoadModel(path, command.program.dataType, std::move(device)); }, PlaceOf(command, key));
}

std::unique_ptr<ComputationNetwork> LoadModelToCheck(const CommandContext& command, const std::string& path,
                                                     std::shared_ptr<Device> device, std::string_view key)
{
    ProgramContext& program = command.program;
    const PlannedModel* const planned = program.planned.Find(path);
    if (planned == nullptr)
        return LoadModelOf(command, path, std::move(device), key);
    if (planned->IsKnown())
        return AtPlace([&] { return planned->Load(path, program.dataType, std::move(device)); }, PlaceOf(command, key));
    program.log.Print("Command '%s': %s; what it does with it is not checked.\n", command.name.c_str(),
                      planned->WhyUnknown(path).c_str());
    return nullptr;
}

void SaveMadeModel(const ComputationNetwork& network, const std::string& path, Log& log)
{
    if (!SaveModelIfChanged(network, path))
        log.Print("'%s' has this model already and stays as it is.\n", path.c_str());
}

std::unique_ptr<ComputationNetwork> LoadModelOf(const CommandContext& command, const std::string& path)
{
    return LoadModelOf(command, path, DeviceOf(command));
}

} // namespace cntk
