// Recognises the names that NDL and ComputationNetwork::Add give to nodes without a name.
#include "ComputationNetwork/GeneratedName.h"

#include <algorithm>
#include <cstddef>

namespace cntk
{

bool IsGeneratedName(std::string_view name)
{
    name.remove_prefix(name.rfind('.') + 1);
    for (const std::string_view begin : {"unnamed", "AutoName"})
        if (name.starts_with(begin) && name.size() > begin.size() &&
            std::all_of(name.begin() + ptrdiff_t(begin.size()), name.end(),
                        [](char c) { return c >= '0' && c <= '9'; }))
            return true;
    return false;
}

} // namespace cntk
