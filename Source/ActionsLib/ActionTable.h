// The rows of the table of actions; each function is in the file of its action.
#pragma once

#include "ActionsLib/Action.h"

#include <iterator>
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
Action MakeDecodeAction();
Action MakeExportAction();
Action MakeImportAction();

// The parameters of an action, preceded by modelPath.
std::vector<OptionInfo> WithModelPath(std::string doc, std::vector<OptionInfo> options, bool isRequired = true);

// The parameters of two option records.
template <class First, class Second>
std::vector<OptionInfo> DescribeBoth()
{
    std::vector<OptionInfo> options = DescribeOptions<First>();
    std::vector<OptionInfo> more = DescribeOptions<Second>();
    options.insert(options.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    return options;
}

// The prepare function of an action with this job.
template <class JobType>
std::unique_ptr<Job> PrepareJob(const CommandContext& command)
{
    return std::make_unique<JobType>(command);
}

} // namespace cntk
