// Workers that read the same data agree on stopping and detect different ends of their data.
#include "CommonTests/ThrownErrors.h"
#include "SGD/Parallel/WorkerAgreement.h"
#include "SGDTests/Parallel/ThreadWorkers.h"

#include <array>
#include <gtest/gtest.h>

namespace cntk
{

namespace
{

using States = std::array<WorkerState, 3>;

void ExpectStops(const States& states, bool expected)
{
    ThreadWorkers::Run(3,
                       [&](Workers& workers) { EXPECT_EQ(AnyWorkerStops(workers, states[workers.Rank()]), expected); });
}

TEST(WorkerAgreement, OneWorkerThatStopsOrFailsStopsAll)
{
    ExpectStops({WorkerState::Continues, WorkerState::Continues, WorkerState::Continues}, false);
    ExpectStops({WorkerState::Continues, WorkerState::Stops, WorkerState::Continues}, true);
    ExpectStops({WorkerState::Continues, WorkerState::Fails, WorkerState::Stops}, true);
    ExpectStops({WorkerState::HasEnded, WorkerState::HasEnded, WorkerState::HasEnded}, false);
    ExpectStops({WorkerState::HasEnded, WorkerState::Fails, WorkerState::Continues}, true);
}

TEST(WorkerAgreement, AllFailIfSomeHaveEnded)
{
    for (const WorkerState other : {WorkerState::Continues, WorkerState::Stops})
        ThreadWorkers::Run(3,
                           [&](Workers& workers)
                           {
                               const WorkerState own = workers.Rank() == 1 ? other : WorkerState::HasEnded;
                               EXPECT_EQ(MessageOf(ErrorKind::Data, [&] { AnyWorkerStops(workers, own); }),
                                         "worker 0 has come to the end of its data, worker 1 has not; all workers "
                                         "need the same data");
                           });
}

} // namespace

} // namespace cntk
