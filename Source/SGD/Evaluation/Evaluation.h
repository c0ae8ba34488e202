// Evaluates criteria of a network over a data set: the cross-validation set of a training, and the actions test, eval
// and cv.
#pragma once

#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "SGD/Evaluation/Criteria.h"
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
    int traceLevel = 0;                              // > 0: intermediate lines
    std::function<bool()> stopRequested = {};        // true: Interrupted is thrown after the minibatch
    std::function<void()> afterMinibatch = {};       // called when the values of a minibatch are available
    std::vector<ComputationNodePtr> keepValues = {}; // their values are then available, too
    NodeTracer* tracer = nullptr;                    // prints values after each forward pass; null: nothing is traced
    std::string tracedAs = "minibatch";              // name of a minibatch in the tracer's output
};

struct EvaluationResult
{
    std::vector<EvaluatedNode> nodes; // averages per sample
    size_t samples = 0;
    size_t minibatches = 0;
};

// Runs the evaluator over the data and prints the lines of CNTK v1.1, which scripts read. The evaluator's roots must
// include the nodes, and the source must be bound to these roots.
EvaluationResult EvaluateCriteria(Evaluator& evaluator, const std::vector<ComputationNodePtr>& nodes,
                                  MinibatchSource& source, const EvaluationSettings& settings, Log& log);

// Does the same with an evaluator of its own. Binds the source, and gives its labels to the tracer.
EvaluationResult EvaluateCriteria(ComputationNetwork& network, const std::vector<ComputationNodePtr>& nodes,
                                  MinibatchSource& source, const EvaluationSettings& settings, Log& log);

// Describes a result to the listener of a run. modelPath: the file of the evaluated model.
EvaluationSummary DescribeEvaluation(const ComputationNetwork& network, const std::vector<ComputationNodePtr>& nodes,
                                     const EvaluationResult& result, const std::string& modelPath);

// Computes the network's precomputed nodes that have no value yet (Mean, InvStdDev), in one pass over the data, and
// marks them. Returns false if there are none. Binds the source to their inputs. If stopRequested returns true after a
// minibatch, throws Interrupted and marks no node.
bool Precompute(ComputationNetwork& network, MinibatchSource& source, size_t minibatchSize, size_t epochSize, Log& log,
                const std::function<bool()>& stopRequested = {});

} // namespace cntk
