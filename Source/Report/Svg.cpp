#include "Report/Svg.h"

#include "Common/Text.h"
#include "Report/Markup.h"

#include <cmath>

namespace cntk
{

std::string Coordinate(double value)
{
    return ShortestNumber(std::round(value * 100) / 100 + 0.0); // + 0.0: no "-0"
}

Svg::Svg(double width, double height, std::string_view title) : m_width(width), m_height(height), m_title(title)
{
    Rectangle(0, 0, width, height, c_paper);
}

void Svg::Line(double x1, double y1, double x2, double y2, std::string_view stroke, double width)
{
    m_body += Concat("<line x1=\"", Coordinate(x1), "\" y1=\"", Coordinate(y1), "\" x2=\"", Coordinate(x2), "\" y2=\"",
                     Coordinate(y2), "\" style=\"stroke:", stroke, ";stroke-width:", Coordinate(width), "\"/>\n");
}

void Svg::Rectangle(double x, double y, double width, double height, std::string_view fill, double opacity)
{
    m_body += Concat("<rect x=\"", Coordinate(x), "\" y=\"", Coordinate(y), "\" width=\"", Coordinate(width),
                     "\" height=\"", Coordinate(height), "\" style=\"fill:", fill,
                     opacity < 1 ? ";fill-opacity:" + Coordinate(opacity) : "", "\"/>\n");
}

void Svg::Polyline(std::string_view points, std::string_view stroke, double width, std::string_view dashes)
{
    m_body += Concat("<polyline points=\"", points, "\" style=\"fill:none;stroke:", stroke,
                     ";stroke-width:", Coordinate(width), ";stroke-linejoin:round",
                     dashes.empty() ? "" : Concat(";stroke-dasharray:", dashes), "\"/>\n");
}

void Svg::Circle(double x, double y, double radius, std::string_view fill)
{
    m_body += Concat("<circle cx=\"", Coordinate(x), "\" cy=\"", Coordinate(y), "\" r=\"", Coordinate(radius),
                     "\" style=\"fill:", fill, "\"/>\n");
}

void Svg::Text(double x, double y, std::string_view text, const TextStyle& style)
{
    const char* const anchor = style.anchor == Anchor::Start ? "start" : style.anchor == Anchor::End ? "end" : "middle";
    m_body += Concat("<text x=\"", Coordinate(x), "\" y=\"", Coordinate(y), "\" text-anchor=\"", anchor,
                     "\" font-size=\"", Coordinate(style.size), '"');
    if (style.turned != 0)
        m_body +=
            Concat(" transform=\"rotate(", Coordinate(style.turned), " ", Coordinate(x), " ", Coordinate(y), ")\"");
    if (style.isBold)
        m_body += " font-weight=\"bold\"";
    m_body += Concat(" style=\"fill:", style.fill, "\">", EscapeMarkup(text), "</text>\n");
}

std::string Svg::Begin(bool isFile) const
{
    return Concat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", Coordinate(m_width), "\" height=\"",
                  Coordinate(m_height), "\" viewBox=\"0 0 ", Coordinate(m_width), " ", Coordinate(m_height),
                  "\" role=\"img\" font-family=\"sans-serif\">\n<title>", EscapeMarkup(m_title), "</title>\n",
                  isFile ? Concat("<style>@media (prefers-color-scheme:dark){svg{", c_darkColours, "}}</style>\n")
                         : std::string());
}

std::string Svg::Element() const
{
    return Begin(false) + m_body + "</svg>\n";
}

std::string Svg::File() const
{
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + Begin(true) + m_body + "</svg>\n";
}

} // namespace cntk
