// A picture in SVG. Its colours are CSS variables with defaults for a light page, so that a page can replace them:
// --paper, --ink (text), --faint (grid), --first, --second (data).
#pragma once

#include <string>
#include <string_view>

namespace cntk
{

class Svg
{
public:
    enum class Anchor
    {
        Start,
        Middle,
        End
    };
    struct TextStyle
    {
        Anchor anchor = Anchor::Start;
        double size = 13;  // of the font, in pixels
        double turned = 0; // degrees, clockwise about the position
        std::string fill = "var(--ink,#1a1a1a)";
        bool isBold = false;
    };

    // title: read by screen readers, and shown by browsers when the pointer rests on the picture.
    Svg(double width, double height, std::string_view title);

    void Line(double x1, double y1, double x2, double y2, std::string_view stroke, double width = 1);
    void Rectangle(double x, double y, double width, double height, std::string_view fill, double opacity = 1);
    // points: "1,2 3,4". dashes: as in stroke-dasharray; empty: a whole line.
    void Polyline(std::string_view points, std::string_view stroke, double width, std::string_view dashes = {});
    void Circle(double x, double y, double radius, std::string_view fill);
    // Escapes the text.
    void Text(double x, double y, std::string_view text, const TextStyle& style);
    void Text(double x, double y, std::string_view text) { Text(x, y, text, TextStyle{}); }
    // Adds elements that are written already.
    void Add(std::string_view elements) { m_body += elements; }

    // The element, for a page.
    std::string Element() const;
    // A file of its own; on dark desktops it is dark.
    std::string File() const;

private:
    std::string Begin(bool isFile) const;

    double m_width;
    double m_height;
    std::string m_title;
    std::string m_body;
};

// A coordinate with two decimals at most.
std::string Coordinate(double value);

constexpr std::string_view c_ink = "var(--ink,#1a1a1a)";
constexpr std::string_view c_paper = "var(--paper,#ffffff)";
constexpr std::string_view c_faint = "var(--faint,#c8c8c8)";
constexpr std::string_view c_first = "var(--first,#1a5fb4)";
constexpr std::string_view c_second = "var(--second,#c64600)";

// The values of the variables on dark pages.
constexpr std::string_view c_darkColours =
    "--paper:#1b1e23;--ink:#e6e6e6;--faint:#4a4f57;--first:#8fc1ff;--second:#ffb070";

} // namespace cntk
