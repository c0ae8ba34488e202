// Checkpoint files (.ckp): the learner's state beside a model. Written so that the original can
// read them; what only we keep follows behind its end mark.
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
    uint64_t minibatchSize = 0; // 0: the file does not say
    // What bit-identical resuming needs beyond the original's fields: random streams, reader position, dropout seeds,
    // rule state, by a name that its owner chooses. Values are texts (which may hold any bytes).
    std::map<std::string, std::string> extra;
};

// The section of BlockMomentumSGD, as it is written.
struct BlockMomentumSection
{
    bool resetsMomentum = true;
    double timeConstantPerWorker = 0; // samples
    uint64_t periodPerWorker = 0;     // samples
    // By the parameter's name: its values when the next block begins, and its smoothed block gradient.
    std::map<std::string, const Matrix*> models, velocities;
};

struct Checkpoint
{
    CheckpointInfo info;
    // One for each updated parameter, in the order of the parameters' names compared by character ("W" before "b").
    std::vector<Matrix> smoothedGradients;
    // Smoothed block gradients of BlockMomentumSGD by the parameter's name; empty where there are none.
    std::map<std::string, Matrix> blockVelocities;
};

// Whole or not at all. The matrices are in the order above, all of one element type. blocks: null without
// BlockMomentumSGD.
void SaveCheckpoint(const std::string& path, const CheckpointInfo& info,
                    std::span<const Matrix* const> smoothedGradients, const BlockMomentumSection* blocks = nullptr);

// Reads the form of v1.1 and the older one without version. Matrices are made in dataType. Fails (Model) saying what
// the file is when it is no checkpoint, and where it is damaged.
Checkpoint LoadCheckpoint(const std::string& path, DataType dataType, Device& device);

} // namespace cntk
