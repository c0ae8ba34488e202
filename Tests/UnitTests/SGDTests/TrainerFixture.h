// Small trainings over data in memory, and what their files and logs hold.
#pragma once

#include "Common/Error.h"
#include "Common/File.h"
#include "ComputationNetwork/Files/CheckpointFile.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "SGD/Trainer/Trainer.h"
#include "SGDTests/TrainingFixture.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

class TrainerTest : public TrainingTest
{
protected:
    // One weight, y = w x, on five points; minibatches of 2, 2, 1.
    TrainingRequest LineRequest() const
    {
        TrainingRequest request;
        request.options.maxEpochs = 2;
        request.options.minibatchSize = 2;
        request.options.learningRatesPerSample = 0.01f;
        request.options.momentumPerMB = 0.5f;
        request.modelPath = Path("line.dnn");
        request.dataType = DataType::Float64;
        request.device = m_device;
        request.buildNetwork = [this] { return Line(0.25); };
        request.openReader = [this]
        { return std::make_unique<MinibatchSource>(std::make_unique<SyntheticReader<double>>(m_points)); };
        return request;
    }
    // The same with a rate that makes the second epoch worse than the first.
    TrainingRequest RollingBackRequest() const
    {
        TrainingRequest request = LineRequest();
        request.options.maxEpochs = 3;
        request.options.momentumPerMB = 0.0f;
        request.options.learningRatesPerSample = 0.25f; // diverges on the last point
        request.options.autoAdjust.autoAdjustLR = LearningRateSearch::AdjustAfterEpoch;
        request.options.autoAdjust.learnRateDecreaseFactor = 0.1;
        return request;
    }
    std::unique_ptr<ComputationNetwork> Load(const std::string& name) const
    {
        return LoadModel(Path(name), DataType::Float64, m_device);
    }
    std::vector<std::string> FilesLike(const std::string& prefix) const
    {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(m_folder))
        {
            const std::string name = entry.path().filename().string();
            if (name.starts_with(prefix))
                names.push_back(name);
        }
        std::sort(names.begin(), names.end());
        return names;
    }
    std::string MessageOf(const TrainingRequest& request)
    {
        try
        {
            Run(request);
        }
        catch (const Error& error)
        {
            m_kind = error.Kind();
            return error.Message();
        }
        return "no error";
    }

    SyntheticData m_points{
        .featureDim = 1, .labelDim = 1, .features = {1, 2, -1, 0.5, 3}, .labels = {2, 3.5, -2, 1.5, 6.5}};
    ErrorKind m_kind = ErrorKind::Usage;
};

} // namespace cntk
