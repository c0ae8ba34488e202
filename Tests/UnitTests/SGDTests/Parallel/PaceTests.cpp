// Workers that read for themselves: one that stops stops all, and different ends are told.
#include "CommonTests/ThrownErrors.h"
#include "SGD/Parallel/Pace.h"
#include "SGDTests/Parallel/ThreadWorkers.h"

#include <array>
#include <gtest/gtest.h>

namespace cntk
{

namespace
{

using Paces = std::array<Pace, 3>;

void ExpectStops(const Paces& paces, bool expected)
{
    ThreadWorkers::Run(3, [&](Workers& workers) { EXPECT_EQ(AnyStops(workers, paces[workers.Rank()]), expected); });
}

TEST(Pace, OneThatStopsOrFailsStopsAll)
{
    ExpectStops({Pace::GoesOn, Pace::GoesOn, Pace::GoesOn}, false);
    ExpectStops({Pace::GoesOn, Pace::Stops, Pace::GoesOn}, true);
    ExpectStops({Pace::GoesOn, Pace::Fails, Pace::Stops}, true);
    ExpectStops({Pace::HasEnded, Pace::HasEnded, Pace::HasEnded}, false);
    ExpectStops({Pace::HasEnded, Pace::Fails, Pace::GoesOn}, true);
}

TEST(Pace, AllKnowThatSomeHaveEnded)
{
    for (const Pace other : {Pace::GoesOn, Pace::Stops})
        ThreadWorkers::Run(3,
                           [&](Workers& workers)
                           {
                               const Pace own = workers.Rank() == 1 ? other : Pace::HasEnded;
                               EXPECT_EQ(MessageOf(ErrorKind::Data, [&] { AnyStops(workers, own); }),
                                         "worker 0 has come to the end of its data, worker 1 has not; all workers "
                                         "need the same data");
                           });
}

} // namespace

} // namespace cntk
