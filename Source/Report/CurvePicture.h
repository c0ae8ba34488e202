// A picture of curves over epochs, with named axes.
#pragma once

#include "Report/Svg.h"

#include <string>
#include <utility>
#include <vector>

namespace cntk
{

struct Curve
{
    std::string name;                              // in the legend
    std::vector<std::pair<double, double>> points; // x ascending; a y that is not finite leaves a gap
    bool isSecond = false;                         // drawn in the second colour, with dashes
};

struct CurveAxes
{
    std::string title;
    std::string x;
    std::string y;
    bool isLogarithmic = false; // the y axis
};

Svg CurvePicture(const CurveAxes& axes, const std::vector<Curve>& curves);

// Returns at most about so many points: of each stretch its lowest and its highest, in their order.
std::vector<std::pair<double, double>> Thinned(const std::vector<std::pair<double, double>>& points, size_t most);

// Round numbers on an axis from low to high, about five.
std::vector<double> Ticks(double low, double high);
// Powers of ten from low to high; between near ones also 2 and 5 times a power.
std::vector<double> LogarithmicTicks(double low, double high);

} // namespace cntk
