// Weights as text: one file for each parameter, which init=fromFile reads, and a table of them.
#pragma once

#include "Exchange/ModelValues.h"

#include <string>

namespace cntk
{

// Writes <folder>/<node>.txt, a matrix row a line, tensors as first dimension by the rest, and <folder>/parameters.tsv
// with name, type, dimensions and file of each. Numbers have the fewest digits that read back exactly. '/' and control
// characters of names become %xx. Either all files are replaced or none.
void WriteTextFolder(const ExportedValues& values, const std::string& folder);

// Returns the node's name with '/' and control characters as %xx.
std::string FileNameOf(const std::string& nodeName);

} // namespace cntk
