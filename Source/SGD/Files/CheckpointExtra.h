// Numbers and texts in the extra part of checkpoints (CheckpointInfo::extra), which has what resuming to the bit needs
// beyond the original's fields.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cntk
{

// Bit for bit, in hexadecimal. A missing or unreadable number gives the default.
std::string ExactText(double value);
double NumberOf(const std::map<std::string, std::string>& extra, const std::string& name, double defaultValue);
// "" where it is missing.
std::string TextOf(const std::map<std::string, std::string>& extra, const std::string& name);

// Several, with blanks between them; up to the first that cannot be read.
std::string ExactTexts(const std::vector<double>& values);
std::vector<double> NumbersOf(const std::map<std::string, std::string>& extra, const std::string& name);

} // namespace cntk
