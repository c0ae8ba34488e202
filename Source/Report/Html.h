// Elements of an HTML page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// Cells are texts, which are escaped.
using HtmlRow = std::vector<std::string>;

// A table with a line of headings; numbers are aligned to the right.
std::string HtmlTable(const HtmlRow& headings, const std::vector<HtmlRow>& rows);
// <h2> or <h3> with a text.
std::string HtmlHeading(int level, std::string_view text);
std::string HtmlParagraph(std::string_view text);
// A part that opens on demand. content: HTML.
std::string HtmlDetails(std::string_view summary, const std::string& content);
// Text with its line ends.
std::string HtmlPreformatted(std::string_view text);

} // namespace cntk
