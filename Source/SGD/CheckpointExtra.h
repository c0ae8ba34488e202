// Reads and writes numbers and texts in the extra part of checkpoints (CheckpointInfo::extra). This part holds what an
// exact resume needs beyond the fields of CNTK v1.1.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cntk
{

// Convert bit for bit, in hexadecimal. A missing or unreadable number gives the default.
std::string ExactText(double value);
double NumberOf(const std::map<std::string, std::string>& extra, const std::string& name, double defaultValue);
// Returns "" if the text is missing.
std::string TextOf(const std::map<std::string, std::string>& extra, const std::string& name);

// Convert several numbers, separated by blanks; reading stops at the first unreadable one.
std::string ExactTexts(const std::vector<double>& values);
std::vector<double> NumbersOf(const std::map<std::string, std::string>& extra, const std::string& name);

} // namespace cntk
