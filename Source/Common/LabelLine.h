// Lines of label mapping files (book 3.4.1): a label each, unless the grammar of config arrays makes several of one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// The labels of a line. '#' starts a comment, commas and colons separate, quotes and braces make a label of anything.
// Of x*3 two come: a map refuses them, and that many could need gigabytes. Blanks around the line do not count.
std::vector<std::string> LabelsOfLine(std::string_view line);

// The line that LabelsOfLine reads as just that label: with quotes or braces where it needs them. None if no line does.
std::optional<std::string> LineOfLabel(const std::string& label);

// For files whose lines are labels as they stand: the label that LineOfLabel writes as this line where it needs quotes
// or braces, else the line.
std::string LabelOfWrittenLine(std::string_view line);

} // namespace cntk
