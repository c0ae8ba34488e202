// BlockMomentumSGD (engine sheet, section 16): each worker trains a block of data alone, then all workers add up how
// far they have come, smooth this sum with the sums of earlier blocks (the block momentum), and start the next block
// from the same model. With 1 - 1/N as momentum N workers make the steps that one worker makes, where ModelAveragingSGD
// makes their mean.
#pragma once

#include "SGD/Parallel/ModelAverage.h"
#include "SGD/TrainingOptions.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

struct BlockMomentumSettings
{
    size_t periodPerWorker = 1; // columns of a block
    double momentum = 0;        // of the previous block gradients
    double learningRate = 1;    // of the block gradient
    bool isNesterov = true;     // blocks start where the momentum alone would carry the model
    bool resetsMomentum = true; // workers forget their smoothed gradients after each block

    // Samples until a block gradient counts 1/e; 0 without momentum.
    double TimeConstantPerWorker() const;
};

// The options as this number of workers takes them: defaults filled in.
BlockMomentumSettings SettingsOfBlocks(const BlockMomentumOptions& options, size_t workers);

class BlockMomentum final : public ModelAverage
{
public:
    BlockMomentum(Workers& workers, std::vector<std::shared_ptr<LearnableParameterNode>> parameters, Learner& learner,
                  const BlockMomentumSettings& settings);

    // The model is the same in all workers here: the first block starts from it.
    void BeginEpoch() override;

    std::optional<BlockMomentumSection> Section() const override;
    std::map<std::string, Matrix> Velocities() const override;
    void SetVelocities(const std::map<std::string, Matrix>& velocities) override;

private:
    struct Block
    {
        Matrix start;    // the parameter's values when the block began
        Matrix velocity; // smoothed block gradient
    };
    void Combine(double weight) override;
    template <class ElemType>
    void CombineTyped();

    BlockMomentumSettings m_settings;
    std::vector<Block> m_blocks; // of the parameters
};

} // namespace cntk
