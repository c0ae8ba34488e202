// Criteria of a network over a data set: the cross-validation set of a training, and the actions test, eval and cv.
#pragma once

#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "SGD/Criteria.h"
#include "SGD/Minibatches/MinibatchSource.h"
#include "SGD/NodeTracing.h"
#include "SGD/Progress.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace cntk
{

struct EvaluationSettings
{
    size_t minibatchSize = 40960;
    size_t epochSize = 0; // 0: all data
    size_t numMBsToShowResult = 100;
    int traceLevel = 0;                        // > 0: intermediate lines
    std::function<bool()> stopRequested = {};  // true: Interrupted is thrown after the minibatch
    std::function<void()> afterMinibatch = {}; // when the values of a minibatch are there
    NodeTracer* tracer = nullptr;              // prints values after each forward pass; null: nothing is traced
    std::string tracedAs = "minibatch";        // what the tracer calls them
};

struct EvaluationResult
{
    std::vector<EvaluatedNode> nodes; // averages per sample
    size_t samples = 0;
    size_t minibatches = 0;
};

// Runs the evaluator (whose roots include the nodes, and to whose roots the source is bound) over the data and prints
// the lines of the original, which scripts read.
EvaluationResult EvaluateCriteria(Evaluator& evaluator, const std::vector<ComputationNodePtr>& nodes,
                                  MinibatchSource& source, const EvaluationSettings& settings, Log& log);

// The same with an evaluator of its own; binds the source, and tells the tracer of its labels.
EvaluationResult EvaluateCriteria(ComputationNetwork& network, const std::vector<ComputationNodePtr>& nodes,
                                  MinibatchSource& source, const EvaluationSettings& settings, Log& log);

} // namespace cntk
