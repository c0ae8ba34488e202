// A network as text: the output of the dumpnode action and the DOT graph of the plot action. Both have the layout of
// CNTK v1.1, because users' scripts parse them.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"

#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

struct DumpOptions
{
    bool printValues = true;   // values of parameters and computed statistics
    bool printMetadata = true; // names, operations, inputs, sizes; false: the values alone
};

// Select the nodes whose whole name matches the ECMAScript regular expression (case-sensitive), in name order. Fail
// (Config) for an invalid expression.
void RequireNodeRegex(const std::string& expression);
std::vector<ComputationNodePtr> FindNodesByRegex(const ComputationNetwork& network, const std::string& expression);
// Returns a hint for an expression without a match: "; did you mean 'W0'?". Suggests names that match without regard to
// case, names that contain a match, or similar names. Empty if there are none.
std::string NearRegexHint(const ComputationNetwork& network, const std::string& expression);

// "-" is standard output.
void DumpNodes(const std::vector<ComputationNodePtr>& nodes, const DumpOptions& options, const std::string& path);
inline void DumpNetwork(const ComputationNetwork& network, const DumpOptions& options, const std::string& path)
{
    DumpNodes(network.Nodes(), options, path);
}

// Returns the network as a Graphviz graph.
std::string DotGraph(const ComputationNetwork& network);
void WriteDotGraph(const ComputationNetwork& network, const std::string& path);

// Formats the node's dimensions: "[10 x 1 x *]". A star stands for the samples of a minibatch.
std::string ShapeInWords(const ComputationNode& node);

} // namespace cntk
