// The rows of the table of actions, one function in each action's own file, and what actions share.
#pragma once

#include "ActionsLib/Action.h"
#include "ComputationNetwork/ComputationNetwork.h"
#include "SGD/MinibatchSource.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

Action MakeTrainAction();
Action MakeTrainSequenceAction();
Action MakeTestAction();
Action MakeCvAction();
Action MakeWriteAction();
Action MakeDumpNodeAction();
Action MakePlotAction();
Action MakeCreateLabelMapAction();
Action MakeEditAction();
Action MakeSvdAction();
Action MakeAdaptAction();
Action MakeWordClassAction();
Action MakeConvertDbnAction();
Action MakeExportDbnAction();
Action MakeTrainEncoderDecoderAction();
Action MakeTrainBidirectionEncoderDecoderAction();
Action MakeTestEncoderDecoderAction();
Action MakeGradientCheckAction();

// The parameters of an action with modelPath in front, which is looked for outside of the command as well.
std::vector<OptionInfo> WithModelPath(std::string doc, std::vector<OptionInfo> options, bool isRequired = true);

// --check: reads one minibatch, computes the roots, reports samples and memory.
void CheckSource(Log& log, ComputationNetwork& network, const std::vector<ComputationNodePtr>& roots,
                 MinibatchSource& source, size_t minibatchSize, bool training);

// Loads a model for a command. What is wrong with the file is told with the place of the key that names it.
std::unique_ptr<ComputationNetwork> LoadModelOf(const CommandContext& command, const std::string& path,
                                                std::shared_ptr<Device> device, std::string_view key = "modelPath");
// For checks: the model as it will be when the command's turn comes. Null, with a line in the log, where an earlier
// command writes it and only its run will show what is in it.
std::unique_ptr<ComputationNetwork> LoadModelToCheck(const CommandContext& command, const std::string& path,
                                                     std::shared_ptr<Device> device,
                                                     std::string_view key = "modelPath");
// The same as LoadModelOf on the command's device.
std::unique_ptr<ComputationNetwork> LoadModelOf(const CommandContext& command, const std::string& path);

} // namespace cntk
