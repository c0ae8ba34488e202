#include "Report/Html.h"

#include "Common/Text.h"
#include "Report/Markup.h"

namespace cntk
{

std::string HtmlTable(const HtmlRow& headings, const std::vector<HtmlRow>& rows)
{
    std::string html = "<div class=\"wide\"><table>\n<tr>";
    for (const std::string& heading : headings)
        html += "<th>" + EscapeMarkup(heading) + "</th>";
    html += "</tr>\n";
    for (const HtmlRow& row : rows)
    {
        html += "<tr>";
        for (const std::string& cell : row)
            html += (ParseDouble(cell) ? "<td class=\"number\">" : "<td>") + EscapeMarkup(cell) + "</td>";
        html += "</tr>\n";
    }
    return html + "</table></div>\n";
}

std::string HtmlHeading(int level, std::string_view text)
{
    return Concat("<h", level, ">", EscapeMarkup(text), "</h", level, ">\n");
}

std::string HtmlParagraph(std::string_view text)
{
    return Concat("<p>", EscapeMarkup(text), "</p>\n");
}

std::string HtmlDetails(std::string_view summary, const std::string& content)
{
    return Concat("<details><summary>", EscapeMarkup(summary), "</summary>\n", content, "</details>\n");
}

std::string HtmlPreformatted(std::string_view text)
{
    return Concat("<pre>", EscapeMarkup(text), "</pre>\n");
}

} // namespace cntk
