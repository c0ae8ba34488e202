// Whether workers are about to make the same training. One of other options would wait for messages that never come, or
// take those of others for what they are not.
#pragma once

#include "Common/Workers.h"
#include "SGD/Criteria.h"
#include "SGD/Trainer.h"

namespace cntk
{

// Both are collective, and fail (Config) in all workers where one of them has something that the first one has not.
// What only tells where files lie may be different.
void RequireSameOptions(Workers& workers, const TrainingRequest& request);
// Names and sizes, not values.
void RequireSameNetwork(Workers& workers, const ComputationNetwork& network, const TrainingNodes& nodes);

} // namespace cntk
