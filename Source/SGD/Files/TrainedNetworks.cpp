#include "SGD/Files/TrainedNetworks.h"

#include "ComputationNetwork/Files/ModelFile.h"

namespace cntk
{

void SaveModels(const TrainedNetworks& networks, const TrainingFiles& files, const std::string& path)
{
    for (size_t i = 0; i < networks.size() && files.AreWrittenHere(); ++i)
        SaveModel(*networks[i], files.OfNetwork(i, path));
    files.WaitForWorkers();
}

void ReloadModels(const TrainedNetworks& networks, const TrainingFiles& files, const std::string& path)
{
    for (size_t i = 0; i < networks.size(); ++i)
        ReloadParameters(*networks[i], files.OfNetwork(i, path));
}

} // namespace cntk
