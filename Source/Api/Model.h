// Whole graphs: saved as model files of the program, loaded from them, and copied with other leaves.
#pragma once

#include "Api/Operation.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace cntk::Api
{

// Writes the graph below the roots as a model file. Groups follow from tags; inputs on the target side of a criterion
// are labels, the others features; roots without a tag become outputs. Returns the names that the file could not keep,
// as "old -> new".
std::vector<std::string> Save(Context& context, const std::vector<NodePtr>& roots, const std::string& path);

// Adds the nodes to the groups of a network as Save does.
class LoweredNetwork;
void SetGroups(const LoweredNetwork& lowered, const std::vector<NodePtr>& roots);

// Loads a model file of the program. Returns its output nodes, or else its roots, and keeps names and tags.
std::vector<NodePtr> Load(Context& context, const std::string& path, DataType type);

enum class CopyMethod
{
    Share, // parameters are shared
    Clone, // new parameters with the same values
    Freeze // parameters become constants with their present values
};
// Copies the graph below a root with nodes replaced. Parts that do not change are shared.
NodePtr Copy(Context& context, const NodePtr& root, const std::unordered_map<const Node*, NodePtr>& substitutions,
             CopyMethod method);

// Replaces placeholders below the root in place and checks the graph. Fails (Model) for a node that is no placeholder.
void ReplacePlaceholders(Context& context, const NodePtr& root,
                         const std::vector<std::pair<NodePtr, NodePtr>>& replacements);

} // namespace cntk::Api
