// Inputs of a node type that may be sparse, as the samples of its record show, and error messages for other sparse
// inputs.
#pragma once

#include "ComputationNetwork/ComputationNode.h"
#include "ComputationNetwork/NodeType.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// Returns the input's name in signatures: "labels".
std::string InputName(const NodeType& type, size_t input);

std::vector<size_t> SparseInputs(const NodeType& type);
// Lists the names as "a or b"; empty if no input may be sparse.
std::string SparseInputNames(const NodeType& type, std::string_view separator = " or ");

// Fails with node, input and possible corrections. condition: the restriction under which the input may be sparse:
// "only beside a dense A".
[[noreturn]] void FailSparseInput(const ComputationNode& node, size_t input, std::string_view condition = {});

} // namespace cntk
