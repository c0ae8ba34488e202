// How help is laid out: lines and rows on the terminal, cells of tables in Markdown.
#pragma once

#include <string>
#include <string_view>

namespace cntk
{

// Breaks a text into lines; every line but the first is indented.
std::string Wrapped(std::string_view text, size_t indent, size_t firstColumn);
// A name and, beside or below it, its text.
std::string TerminalRow(const std::string& left, std::string_view doc);

std::string Cell(std::string text);
std::string Code(const std::string& text);
// The note at the head of generated pages.
extern const char* const c_generatedNote;

} // namespace cntk
