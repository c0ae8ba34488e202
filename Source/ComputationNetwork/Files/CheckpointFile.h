// Checkpoint files (.ckp): the learner's state, stored next to a model. CNTK v1.1 can read them; our additional state
// follows after its end mark.
#pragma once

#include "Math/Matrix.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

struct CheckpointInfo
{
    uint64_t samplesSeen = 0;         // total, all epochs
    double learningRatePerSample = 0; // for the next epoch
    double previousCriterion = 0;
    uint64_t minibatchSize = 0; // 0: not stored in the file
    // State for bit-identical resuming beyond the fields of CNTK v1.1: random streams, reader position, dropout seeds,
    // rule state. The owner of a state chooses its name. Values are texts that may hold any bytes.
    std::map<std::string, std::string> extra;
};

// The section of BlockMomentumSGD, as written to the file.
struct BlockMomentumSection
{
    bool resetsMomentum = true;
    double timeConstantPerWorker = 0; // samples
    uint64_t periodPerWorker = 0;     // samples
    // By parameter name: the values at the beginning of the next block, and the smoothed block gradient.
    std::map<std::string, const Matrix*> models, velocities;
};

struct Checkpoint
{
    CheckpointInfo info;
    // One for each updated parameter, in the order of the parameters' names compared by character ("W" before "b").
    std::vector<Matrix> smoothedGradients;
    // Smoothed block gradients of BlockMomentumSGD by parameter name; empty without BlockMomentumSGD.
    std::map<std::string, Matrix> blockVelocities;
};

// Writes the file completely or not at all. The matrices are in the order above, all of one element type. blocks: null
// without BlockMomentumSGD.
void SaveCheckpoint(const std::string& path, const CheckpointInfo& info,
                    std::span<const Matrix* const> smoothedGradients, const BlockMomentumSection* blocks = nullptr);

// Reads the v1.1 format and the older one without a version. Matrices are created in dataType. Fails (Model) if the
// file is no checkpoint, naming the kind of file, or if it is damaged, naming the place.
Checkpoint LoadCheckpoint(const std::string& path, DataType dataType, Device& device);

} // namespace cntk
