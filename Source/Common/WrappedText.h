// Breaks texts into lines for terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cntk
{

constexpr size_t c_usualColumns = 80;

// Breaks a text at blanks into lines of at most `columns`, where words are short enough. All lines except the first are
// indented. firstColumn: where the first line begins.
std::string Wrapped(std::string_view text, size_t indent, size_t firstColumn, size_t columns = c_usualColumns);

} // namespace cntk
