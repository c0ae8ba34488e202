// Numbers of things in messages: "1 row", "2 rows".
#pragma once

#include <cstddef>
#include <string>

namespace cntk
{

// noun: of one thing.
std::string Counted(size_t number, const char* noun);

} // namespace cntk
