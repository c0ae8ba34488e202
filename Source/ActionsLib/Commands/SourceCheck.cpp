#include "ActionsLib/Commands/SourceCheck.h"

#include "ActionsLib/Commands/ErrorPlaces.h"
#include "Common/Error.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "SGD/Evaluation/Criteria.h"
#include "SGD/Evaluation/Evaluation.h"

namespace cntk
{

void CheckSource(Log& log, ComputationNetwork& network, const std::vector<ComputationNodePtr>& roots,
                 MinibatchSource& source, size_t minibatchSize, CheckFor purpose, const NdlContext* ndl)
{
    const bool training = purpose == CheckFor::Training;
    // Statistics over one minibatch will do for a network that is thrown away.
    if (training)
        Precompute(network, source, minibatchSize, minibatchSize, log);
    source.BindTo(training ? NodesToRead(network, roots) : roots);
    for (const NodeWarning& warning : source.Warnings())
        log.Warn((ndl ? PlacePrefix(*ndl, *warning.node) : "") + warning.text);
    EpochRequest request;
    request.minibatchSize = minibatchSize;
    source.StartEpoch(request);
    if (!source.Next())
        Fail(ErrorKind::Data, "the reader delivers no data");
    EvaluatorOptions options;
    options.training = training;
    Evaluator evaluator(network, roots, options);
    evaluator.Forward();
    log.Print("Read a minibatch of %d samples; values%s take %.1f MB.\n", int(source.Samples()),
              training ? " and gradients" : "", double(evaluator.BytesAllocated()) / 1e6);
}

} // namespace cntk
