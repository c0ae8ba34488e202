#include "SGD/Parallel/Pace.h"

#include "Common/Text.h"

#include <algorithm>
#include <vector>

namespace cntk
{

DifferentData::DifferentData(size_t atEnd, size_t goesOn)
    : Error(ErrorKind::Data, Concat("worker ", atEnd, " has come to the end of its data, worker ", goesOn,
                                    " has not; all workers need the same data"))
{
}

bool AnyStops(Workers& workers, Pace own)
{
    const std::vector<double> all = workers.Gather(double(own));
    const auto is = [](Pace pace) { return [pace](double value) { return value == double(pace); }; };
    if (std::any_of(all.begin(), all.end(), is(Pace::Fails)))
        return true;
    const auto atEnd = std::find_if(all.begin(), all.end(), is(Pace::HasEnded));
    const auto goesOn = std::find_if_not(all.begin(), all.end(), is(Pace::HasEnded));
    if (atEnd != all.end() && goesOn != all.end())
        throw DifferentData(size_t(atEnd - all.begin()), size_t(goesOn - all.begin()));
    return std::any_of(all.begin(), all.end(), is(Pace::Stops));
}

} // namespace cntk
