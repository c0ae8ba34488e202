// Which inputs of a node type may be sparse, as the samples of its record show, and what to tell who makes another one
// sparse.
#pragma once

#include "ComputationNetwork/ComputationNode.h"
#include "ComputationNetwork/NodeType.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// "labels": as signatures show it.
std::string InputName(const NodeType& type, size_t input);

std::vector<size_t> SparseInputs(const NodeType& type);
// "a or b"; empty where none may be.
std::string SparseInputNames(const NodeType& type, std::string_view separator = " or ");

// An error that names node, input and what can be done. condition: when the input may be sparse, where it may: "only
// beside a dense A".
[[noreturn]] void FailSparseInput(const ComputationNode& node, size_t input, std::string_view condition = {});

} // namespace cntk
