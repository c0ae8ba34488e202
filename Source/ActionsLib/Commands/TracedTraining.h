// What every action that trains does when it runs: trains, and tells programs that watch how far the run has come.
#pragma once

#include "ActionsLib/Action.h"
#include "SGD/Trainer/Trainer.h"

namespace cntk
{

// Train of the request, whose epochDone is set here. With progressTracing=true there are lines on standard output after
// each epoch: the share of the epochs of all trainings of the run, those of trainings that are over included, and the
// first evaluation node's value, both in percent.
void TrainTraced(const CommandContext& command, TrainingRequest& request);

} // namespace cntk
