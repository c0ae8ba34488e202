// Where numbers that are not finite come from, for the message that ends a training.
#pragma once

#include "Common/ReaderInterface.h"
#include "SGD/Criteria.h"

#include <string>
#include <vector>

namespace cntk
{

// "value of 'H1' (Sigmoid)": the first node in order of evaluation whose value, else whose gradient, is not finite for
// the minibatch that the network holds; of an input with what it is read from. "" if all are finite. Evaluates the
// network once more, with nothing shared.
std::string FindNotFinite(ComputationNetwork& network, const TrainingNodes& nodes,
                          const std::vector<StreamInfo>& streams = {});

} // namespace cntk
