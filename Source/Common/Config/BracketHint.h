// Where brackets do not match: which one it may be that is too much or missing.
#pragma once

#include "Common/Config/Tokenizer.h"

#include <string>
#include <string_view>

namespace cntk
{

// Most writers have indented what they meant: "; the ']' at a.cntk:7:1 closes the '[' at a.cntk:2:7, which is indented
// otherwise", of the first closing bracket that begins a line and closes one that ends a line. Empty if there is none.
std::string HintAtIndentation(std::string_view text, const PositionOf& positionOf);

} // namespace cntk
