// Workers that read the same data, each for itself, ask each other behind every minibatch whether one of them is to
// stop, and once more at the end. So they stay side by side, and it shows where their data are not the same.
#pragma once

#include "Common/Error.h"
#include "Common/Workers.h"

namespace cntk
{

enum class Pace
{
    GoesOn,
    Stops,    // is asked to
    HasEnded, // has come to the end of the data
    Fails     // cannot read or evaluate them
};

// Some workers have come to the end of their data, others have not. All of them know it.
class DifferentData final : public Error
{
public:
    DifferentData(size_t atEnd, size_t goesOn);
};

// Collective: whether one of them stops or fails. Throws DifferentData in all of them.
bool AnyStops(Workers& workers, Pace own);

} // namespace cntk
