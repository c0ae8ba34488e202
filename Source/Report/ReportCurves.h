// The part of a report about one training: its curves, and their numbers.
#pragma once

#include "Report/RunRecord.h"

#include <string>

namespace cntk
{

// Empty for a command without rows.
std::string ReportOfTraining(const CommandRecord& command);

} // namespace cntk
