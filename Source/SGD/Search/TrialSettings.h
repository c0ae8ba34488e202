// What the trials of a search are made under besides the rate and the size that they try. A search that goes on where
// it was stopped may take over trials of the same settings only.
#pragma once

#include "SGD/TrainingOptions.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

using TrialSettings = std::vector<std::pair<std::string, double>>; // names of the SGD block, with their values

// Before the epoch (0-based). gradUpdateType is not among them: what a rule remembers is of no use to another one.
TrialSettings TrialSettingsOf(const SgdOptions& options, size_t epoch);

// For checkpoints.
std::string TextOfSettings(const TrialSettings& settings);
// "L2RegWeight=0 (now 0.001), dropoutRate=0.5 (now 0)": where the text has others. Empty: nowhere, or there is no text.
std::string DifferenceFrom(const std::string& text, const TrialSettings& now);

} // namespace cntk
