// From a lattice as a file has it to one whose nodes and arcs stand in the order in which they are computed.
#pragma once

#include "Common/Lattice.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cntk
{

// Puts nodes into the order of time, arcs behind one another and arcs into the order of their first nodes, as Lattice
// says; what lies on no path from the first node to the last is left out. Arcs may come in any order, but none ends
// earlier than it begins. first, last: where they are known; else they are the only nodes that no arc enters, and
// leaves. Returns what is wrong with the lattice, in words; empty: nothing.
std::string OrderLattice(Lattice& lattice, std::optional<uint32_t> first, std::optional<uint32_t> last);

} // namespace cntk
