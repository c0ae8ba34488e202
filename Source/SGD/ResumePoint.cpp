// Make mode's search for files that can be used.
#include "SGD/ResumePoint.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Log.h"
#include "ComputationNetwork/ModelFile.h"

namespace cntk
{

namespace
{

// Null and a warning when the file is damaged. Other errors (a file that cannot be opened, no memory) pass: taking an
// older model would hide them.
template <class Load>
auto LoadUnlessDamaged(Load&& load, const std::string& path, const char* consequence, Log& log) -> decltype(load())
{
    try
    {
        return load();
    }
    catch (const Error& error)
    {
        if (error.Kind() != ErrorKind::Model)
            throw;
        log.Warn(Concat("'", path, "' cannot be used: ", error.Message(), "; ", consequence));
        return {};
    }
}

} // namespace

ResumePoint LoadResumePoint(const TrainingFiles& files, size_t newest, DataType dataType,
                            const std::shared_ptr<Device>& device, const NodeRegistry& registry, Log& log)
{
    auto epochs = std::optional<size_t>(newest);
    while (epochs)
    {
        const std::string modelPath = files.Model(*epochs);
        log.Print("Starting from checkpoint. Loading network from '%s'.\n", modelPath.c_str());
        ResumePoint point;
        point.epochsDone = *epochs;
        point.network = LoadUnlessDamaged([&] { return LoadModel(modelPath, dataType, device, registry); }, modelPath,
                                          "going back to the model before it", log);
        if (!point.network)
        {
            epochs = *epochs == 0 ? std::nullopt : files.FindResumePoint(*epochs - 1);
            continue;
        }
        if (*epochs == 0)
            return point;

        const std::string checkpointPath = files.Checkpoint(*epochs);
        if (!FileExists(checkpointPath))
        {
            log.Print("Warning: Checkpoint file is missing. Learning parameters will be initialized from 0\n");
            return point;
        }
        const bool hasOlder = FileExists(files.Checkpoint(*epochs - 1)) && FileExists(files.Model(*epochs - 1));
        point.checkpoint = LoadUnlessDamaged(
            [&] { return std::optional<Checkpoint>(LoadCheckpoint(checkpointPath, dataType, *device)); },
            checkpointPath,
            hasOlder ? "going back to the checkpoint before it"
                     : "there is no older checkpoint: continuing from the model, with smoothed gradients of 0",
            log);
        if (point.checkpoint || !hasOlder)
            return point;
        epochs = *epochs - 1;
    }
    return {};
}

} // namespace cntk
