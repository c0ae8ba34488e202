// Names of nodes that were created without a name.
#pragma once

#include <string_view>

namespace cntk
{

// Returns true for "unnamed3" or "L1.unnamed3" of an NDL network and "AutoName7" of others. In two networks such a name
// need not mean the same node.
bool IsGeneratedName(std::string_view name);

} // namespace cntk
