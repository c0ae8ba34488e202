// Help on the functions of network descriptions and the node types that they make: on the terminal, and as the page
// Nodes.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// What a function computes and takes, by any of its names; empty if there is no such function or node type.
std::string FunctionHelp(std::string_view name);
// One name of each function, sorted.
std::vector<std::string> FunctionNames();
// A row for each function that takes a parameter of this name; empty if none does.
std::string ParameterHelp(std::string_view parameter);
std::string NodesPage();

} // namespace cntk
