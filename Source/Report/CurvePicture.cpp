#include "Report/CurvePicture.h"

#include "Common/Text.h"
#include "Report/Markup.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cntk
{

namespace
{

using Points = std::vector<std::pair<double, double>>;

constexpr size_t c_mostPoints = 2000;
constexpr double c_width = 720, c_height = 360;
constexpr double c_left = 86, c_right = 700, c_top = 62, c_bottom = 304;

struct Extent
{
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();

    void Add(double value)
    {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    bool IsEmpty() const { return low > high; }
};

// Maps numbers to coordinates.
class Plane
{
public:
    Plane(const CurveAxes& axes, const std::vector<Curve>& curves) : m_isLogarithmic(axes.isLogarithmic)
    {
        for (const Curve& curve : curves)
            for (const auto& [x, y] : curve.points)
                if (IsDrawn(y))
                {
                    m_x.Add(x);
                    m_y.Add(y);
                }
        if (m_x.IsEmpty())
            m_x = {0, 1}, m_y = m_isLogarithmic ? Extent{1, 10} : Extent{0, 1};
        Widen(m_x, 0.5);
        if (m_isLogarithmic && m_y.low == m_y.high)
            m_y = {m_y.low / 2, m_y.high * 2};
        else if (!m_isLogarithmic)
        {
            Widen(m_y, m_y.low == 0 ? 1 : std::abs(m_y.low) / 2);
            const double margin = 0.04 * (m_y.high - m_y.low);
            m_y = {m_y.low >= 0 ? std::max(0.0, m_y.low - margin) : m_y.low - margin, m_y.high + margin};
        }
    }

    bool IsDrawn(double y) const { return std::isfinite(y) && (!m_isLogarithmic || y > 0); }
    double X(double x) const { return c_left + (c_right - c_left) * (x - m_x.low) / (m_x.high - m_x.low); }
    double Y(double y) const
    {
        const double share = m_isLogarithmic ? std::log(y / m_y.low) / std::log(m_y.high / m_y.low)
                                             : (y - m_y.low) / (m_y.high - m_y.low);
        return c_bottom - (c_bottom - c_top) * share;
    }
    std::vector<double> XTicks() const
    {
        std::vector<double> ticks = Ticks(m_x.low, m_x.high);
        std::erase_if(ticks, [](double tick) { return std::floor(tick) != tick; }); // epochs are whole
        return ticks;
    }
    std::vector<double> YTicks() const
    {
        return m_isLogarithmic ? LogarithmicTicks(m_y.low, m_y.high) : Ticks(m_y.low, m_y.high);
    }

private:
    static void Widen(Extent& range, double by)
    {
        if (range.low == range.high)
            range = {range.low - by, range.high + by};
    }

    bool m_isLogarithmic;
    Extent m_x, m_y;
};

void DrawAxes(Svg& picture, const CurveAxes& axes, const Plane& plane)
{
    for (const double tick : plane.YTicks())
    {
        const double y = plane.Y(tick);
        picture.Line(c_left, y, c_right, y, c_faint);
        picture.Text(c_left - 8, y + 4, RoundedNumber(tick, 6), {.anchor = Svg::Anchor::End, .size = 12});
    }
    for (const double tick : plane.XTicks())
    {
        const double x = plane.X(tick);
        picture.Line(x, c_bottom, x, c_bottom + 5, c_ink);
        picture.Text(x, c_bottom + 20, RoundedNumber(tick, 9), {.anchor = Svg::Anchor::Middle, .size = 12});
    }
    picture.Line(c_left, c_bottom, c_right, c_bottom, c_ink);
    picture.Line(c_left, c_top, c_left, c_bottom, c_ink);
    picture.Text((c_left + c_right) / 2, c_height - 12, axes.x, {.anchor = Svg::Anchor::Middle});
    picture.Text(18, (c_top + c_bottom) / 2, axes.y, {.anchor = Svg::Anchor::Middle, .turned = -90});
    picture.Text(12, 22, axes.title, {.size = 15, .isBold = true});
}

// Draws the finite stretches of a curve; a single point becomes a dot.
void DrawCurve(Svg& picture, const Curve& curve, const Plane& plane)
{
    const std::string_view colour = curve.isSecond ? c_second : c_first;
    std::string stretch;
    size_t inStretch = 0;
    const auto end = [&]
    {
        if (inStretch > 1)
            picture.Polyline(stretch, colour, 2, curve.isSecond ? "6 3" : "");
        stretch.clear();
        inStretch = 0;
    };
    const Points points = Thinned(curve.points, c_mostPoints);
    for (const auto& [x, y] : points)
    {
        if (!plane.IsDrawn(y))
        {
            end();
            continue;
        }
        stretch += Concat(inStretch == 0 ? "" : " ", Coordinate(plane.X(x)), ",", Coordinate(plane.Y(y)));
        ++inStretch;
        if (points.size() <= 25)
            picture.Circle(plane.X(x), plane.Y(y), 3, colour);
    }
    end();
}

void DrawLegend(Svg& picture, const std::vector<Curve>& curves)
{
    double x = c_left;
    for (const Curve& curve : curves)
    {
        const std::string_view colour = curve.isSecond ? c_second : c_first;
        picture.Polyline(Concat(Coordinate(x), ",44 ", Coordinate(x + 30), ",44"), colour, 2,
                         curve.isSecond ? "6 3" : "");
        picture.Text(x + 36, 48, curve.name);
        x += 66 + 8 * double(CellsOf(curve.name));
    }
}

} // namespace

std::vector<std::pair<double, double>> Thinned(const Points& points, size_t most)
{
    if (points.size() <= most)
        return points;
    const size_t stretches = std::max<size_t>(most / 2, 1);
    Points thinned;
    for (size_t i = 0; i < stretches; ++i)
    {
        const auto first = points.begin() + ptrdiff_t(i * points.size() / stretches);
        const auto last = points.begin() + ptrdiff_t((i + 1) * points.size() / stretches);
        const auto byValue = [](const auto& a, const auto& b) { return a.second < b.second; };
        auto [low, high] = std::minmax_element(first, last, byValue);
        if (low > high)
            std::swap(low, high);
        thinned.push_back(*low);
        if (low != high)
            thinned.push_back(*high);
    }
    return thinned;
}

std::vector<double> Ticks(double low, double high)
{
    const double raw = (high - low) / 5;
    const double power = std::pow(10, std::floor(std::log10(raw)));
    const double step = raw / power > 5   ? 10 * power
                        : raw / power > 2 ? 5 * power
                        : raw / power > 1 ? 2 * power
                                          : power;
    std::vector<double> ticks;
    for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i)
        ticks.push_back(i * step + 0.0);
    return ticks;
}

std::vector<double> LogarithmicTicks(double low, double high)
{
    const int first = int(std::floor(std::log10(low))), last = int(std::ceil(std::log10(high)));
    const std::vector<double> factors = last - first <= 3 ? std::vector<double>{1, 2, 5} : std::vector<double>{1};
    std::vector<double> ticks;
    for (int exponent = first; exponent <= last; ++exponent)
        for (const double factor : factors)
            if (const double tick = factor * std::pow(10, exponent);
                tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9))
                ticks.push_back(tick);
    return ticks;
}

Svg CurvePicture(const CurveAxes& axes, const std::vector<Curve>& curves)
{
    Svg picture(c_width, c_height, axes.title);
    const Plane plane(axes, curves);
    DrawAxes(picture, axes, plane);
    for (const Curve& curve : curves)
        DrawCurve(picture, curve, plane);
    DrawLegend(picture, curves);
    return picture;
}

} // namespace cntk
