// Describes a training and its networks to the listener of a run.
#pragma once

#include "SGD/RunListener.h"
#include "SGD/Trainer/ResumePoint.h"
#include "SGD/Trainer/TrainingSetup.h"

namespace cntk
{

// The number of elements of trainable parameters.
size_t ParametersOf(const ComputationNetwork& network);

// start: where the training begins, with its checkpoint.
TrainingBegin DescribeTraining(const TrainingSetup& setup, const ResumePoint& start, bool isResumed);

} // namespace cntk
