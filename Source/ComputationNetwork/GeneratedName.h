// Names of nodes that nobody named.
#pragma once

#include <string_view>

namespace cntk
{

// "unnamed3" of an NDL network, also "L1.unnamed3", "AutoName7" of others: the same name need not mean the same node.
bool IsGeneratedName(std::string_view name);

} // namespace cntk
