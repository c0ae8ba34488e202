// The regions of a plane that a classifier of two features gives to each class, with samples.
#pragma once

#include "Report/Svg.h"
#include "SGD/RunListener.h"

namespace cntk
{

// counts: names the classes.
Svg RegionsPicture(const ClassRegions& regions, const ConfusionCounts& counts);

} // namespace cntk
