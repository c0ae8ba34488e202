// A network in words: the text of the dumpnode action and the DOT graph of the plot action, both laid out as the
// original's, since people's scripts read them.
#pragma once

#include "ComputationNetwork/ComputationNetwork.h"

#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

struct DumpOptions
{
    bool printValues = true;   // numbers of parameters and computed statistics
    bool printMetadata = true; // names, operations, inputs, sizes; without: the numbers alone
};

// The nodes whose whole name the ECMAScript regular expression matches (case counts), in name order. Fails (Config) for
// an invalid expression.
void RequireNodeRegex(const std::string& expression);
std::vector<ComputationNodePtr> FindNodesByRegex(const ComputationNetwork& network, const std::string& expression);
// Of an expression that matches none: "; did you mean 'W0'?", names that it would match without regard to case, or
// within the name, or that look like it; or nothing.
std::string NearRegexHint(const ComputationNetwork& network, const std::string& expression);

// "-" is standard output.
void DumpNodes(const std::vector<ComputationNodePtr>& nodes, const DumpOptions& options, const std::string& path);
inline void DumpNetwork(const ComputationNetwork& network, const DumpOptions& options, const std::string& path)
{
    DumpNodes(network.Nodes(), options, path);
}

// The description of the network for Graphviz.
std::string DotGraph(const ComputationNetwork& network);
void WriteDotGraph(const ComputationNetwork& network, const std::string& path);

// "[10 x 1 x *]": the node's dimensions, a star for the samples of a minibatch.
std::string ShapeInWords(const ComputationNode& node);

} // namespace cntk
