// The report of a run: one HTML page without scripts and without parts from elsewhere.
#pragma once

#include "Report/RunRecord.h"

#include <string>

namespace cntk
{

std::string ReportPage(const RunRecord& record);

} // namespace cntk
