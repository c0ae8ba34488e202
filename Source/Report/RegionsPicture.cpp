#include "Report/RegionsPicture.h"

#include "Common/Text.h"
#include "Report/CurvePicture.h"
#include "Report/Markup.h"

#include <algorithm>
#include <array>

namespace cntk
{

namespace
{

constexpr size_t c_mostSamples = 2000;
constexpr double c_planeLeft = 80, c_planeTop = 44, c_planeSize = 440;

// Classes differ in lightness too, so that they can be told apart in grey.
constexpr std::array<std::string_view, 8> c_classColours{"#1a5fb4", "#f5c211", "#c64600", "#99c1f1",
                                                         "#613583", "#8ff0a4", "#26a269", "#f66151"};

std::string_view ColourOf(size_t index)
{
    return c_classColours[index % c_classColours.size()];
}

// Shapes of samples: a circle, a square, a triangle, a cross.
void DrawSample(Svg& picture, double x, double y, size_t label)
{
    const auto at = [](double a, double b) { return Coordinate(a) + "," + Coordinate(b); };
    constexpr double r = 3.2;
    std::string shape;
    switch (label % 4)
    {
    case 0:
        shape = Concat("<circle cx=\"", Coordinate(x), "\" cy=\"", Coordinate(y), "\" r=\"", r, "\"");
        break;
    case 1:
        shape = Concat("<rect x=\"", Coordinate(x - r), "\" y=\"", Coordinate(y - r), "\" width=\"", 2 * r,
                       "\" height=\"", 2 * r, "\"");
        break;
    case 2:
        shape =
            Concat("<polygon points=\"", at(x, y - r - 1), " ", at(x - r - 1, y + r), " ", at(x + r + 1, y + r), "\"");
        break;
    default:
        shape = Concat("<path d=\"M", at(x - r, y - r), " L", at(x + r, y + r), " M", at(x - r, y + r), " L",
                       at(x + r, y - r), "\"");
    }
    picture.Add(Concat(shape, " style=\"fill:", ColourOf(label), ";stroke:#000000;stroke-width:0.8\"/>\n"));
}

// Draws neighbours of one class in a line of the grid as one rectangle.
void DrawGrid(Svg& picture, const ClassRegions& regions)
{
    const double cell = c_planeSize / double(regions.size);
    for (size_t row = 0; row < regions.size; ++row)
        for (size_t first = 0; first < regions.size;)
        {
            const size_t index = regions.classes[row * regions.size + first];
            size_t end = first;
            while (end < regions.size && regions.classes[row * regions.size + end] == index)
                ++end;
            // A little larger, so that no seams show.
            picture.Rectangle(c_planeLeft + cell * double(first), c_planeTop + c_planeSize - cell * double(row + 1),
                              cell * double(end - first) + 0.3, cell + 0.3, ColourOf(index), 0.45);
            first = end;
        }
}

} // namespace

Svg RegionsPicture(const ClassRegions& regions, const ConfusionCounts& counts)
{
    const std::string title = Concat("Predicted class over the two features of ", regions.features);
    Svg picture(c_planeLeft + c_planeSize + 190, c_planeTop + c_planeSize + 62, title);
    picture.Text(12, 24, title, {.size = 15, .isBold = true});
    DrawGrid(picture, regions);
    const auto x = [&](double value)
    { return c_planeLeft + c_planeSize * (value - regions.firstX) / (regions.lastX - regions.firstX); };
    const auto y = [&](double value)
    { return c_planeTop + c_planeSize * (regions.lastY - value) / (regions.lastY - regions.firstY); };
    const size_t step = regions.samples.size() / c_mostSamples + 1;
    for (size_t i = 0; i < regions.samples.size(); i += step)
        DrawSample(picture, x(regions.samples[i].x), y(regions.samples[i].y), regions.samples[i].label);
    for (const double tick : Ticks(regions.firstX, regions.lastX))
        picture.Text(x(tick), c_planeTop + c_planeSize + 18, RoundedNumber(tick, 6),
                     {.anchor = Svg::Anchor::Middle, .size = 12});
    for (const double tick : Ticks(regions.firstY, regions.lastY))
        picture.Text(c_planeLeft - 6, y(tick) + 4, RoundedNumber(tick, 6), {.anchor = Svg::Anchor::End, .size = 12});
    picture.Text(c_planeLeft + c_planeSize / 2, c_planeTop + c_planeSize + 44, "feature 1",
                 {.anchor = Svg::Anchor::Middle});
    picture.Text(22, c_planeTop + c_planeSize / 2, "feature 2", {.anchor = Svg::Anchor::Middle, .turned = -90});
    for (size_t i = 0; i < std::min<size_t>(counts.Classes(), 20); ++i)
    {
        DrawSample(picture, c_planeLeft + c_planeSize + 20, c_planeTop + 14 + 22 * double(i), i);
        picture.Text(c_planeLeft + c_planeSize + 32, c_planeTop + 18 + 22 * double(i), counts.NameOf(i));
    }
    return picture;
}

} // namespace cntk
