// Lines of label mapping files (book 3.4.1). A line has one label, or several in the grammar of config arrays.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// Returns the labels of a line without blanks around it. '#' starts a comment, commas and colons separate, and quotes
// or braces enclose any label. `x*3` gives two labels, which a label map refuses, instead of a possibly huge number.
std::vector<std::string> LabelsOfLine(std::string_view line);

// Returns the line that LabelsOfLine reads as this one label, with quotes or braces if necessary. None if there is no
// such line.
std::optional<std::string> LineOfLabel(const std::string& label);

// Inverse of LineOfLabel for files without grammar: returns the label if LineOfLabel wrote this line with quotes or
// braces, else the line.
std::string LabelOfWrittenLine(std::string_view line);

} // namespace cntk
