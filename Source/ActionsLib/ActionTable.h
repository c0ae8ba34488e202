// The rows of the table of actions, one function in each action's own file.
#pragma once

#include "ActionsLib/Action.h"

#include <string>
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

} // namespace cntk
