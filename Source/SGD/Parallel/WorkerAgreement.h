// Agreements among workers on counts, errors, the end of the data, options and networks. All functions are collective:
// each worker calls them equally often and in the same order.
#pragma once

#include "Common/Error.h"
#include "Common/Workers.h"
#include "SGD/Evaluation/Criteria.h"
#include "SGD/TrainingOptions.h"

#include <optional>
#include <span>
#include <string>

namespace cntk
{

// Replaces numbers by their sums over all workers, added in the order of ranks. If a worker passes an error, all throw
// it.
void SumCounts(Workers& workers, std::span<double> numbers, const std::optional<Error>& error = {});
// Returns this worker's error or else the first one of any worker.
std::optional<Error> AnyError(Workers& workers, const std::optional<Error>& own);

// State of a worker in an epoch that each worker runs alone on the same data.
enum class WorkerState
{
    Continues,
    Stops,    // on a signal
    HasEnded, // at the end of the data
    Fails     // cannot read or evaluate the data
};

// Thrown in all workers if only some are at the end of their data.
class DifferentData final : public Error
{
public:
    DifferentData(size_t ended, size_t continuing);
};

// Returns true if a worker stops or fails. Called after each minibatch and at the end, so that the workers remain in
// step. Throws DifferentData.
bool AnyWorkerStops(Workers& workers, WorkerState own);

// Fail (Config) in all workers if the options, further "name=value" lines, or the criteria, parameter names and shapes
// differ from those of worker 0. Paths may differ.
void RequireSameOptions(Workers& workers, const SgdOptions& options, std::string lines);
void RequireSameNetwork(Workers& workers, const ComputationNetwork& network, const TrainingNodes& nodes);

} // namespace cntk
