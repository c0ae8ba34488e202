// One forward pass over the data.
#include "SGD/Precompute.h"

#include "Common/Error.h"
#include "Common/Interruption.h"
#include "Common/Log.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"

namespace cntk
{

bool Precompute(ComputationNetwork& network, MinibatchSource& source, size_t minibatchSize, size_t epochSize, Log& log,
                const std::function<bool()>& stopRequested)
{
    std::vector<ComputationNodePtr> roots;
    std::vector<std::shared_ptr<PrecomputeNode>> nodes;
    for (const ComputationNodePtr& candidate : network.Nodes())
    {
        auto node = std::dynamic_pointer_cast<PrecomputeNode>(candidate);
        if (!node || node->HasComputed())
            continue;
        roots.push_back(candidate);
        nodes.push_back(std::move(node));
    }
    if (nodes.empty())
    {
        log.Print("No PreCompute nodes found, skipping PreCompute step.\n");
        return false;
    }
    log.Print("\nPrecomputing --> %zu PreCompute nodes found.\n\n", nodes.size());
    for (const auto& node : nodes)
    {
        log.Print("\t%s = %s()\n", node->Name().c_str(), node->TypeName().c_str());
        node->BeginPrecompute();
    }

    Evaluator evaluator(network, roots);
    source.BindTo(roots);
    size_t minibatches = 0;
    WithNote(
        [&]
        {
            source.StartEpoch({.epoch = 0,
                               .minibatchSize = minibatchSize,
                               .epochSize = epochSize,
                               .rank = 0,
                               .workers = 1,
                               .eachOnce = true,
                               .wanted = {}});
            while (source.Next())
            {
                source.NameSequenceWhereFails([&] { evaluator.Forward(); });
                ++minibatches;
                if (stopRequested && stopRequested())
                    throw Interrupted("precomputing was stopped as asked; nothing of it is kept, and the same command "
                                      "begins it again");
            }
            for (const auto& node : nodes)
                node->MarkComputed();
        },
        [&] { return Concat("while precomputing, minibatch ", minibatches + 1); });
    log.Print("\nPrecomputing --> Completed.\n\n");
    return true;
}

} // namespace cntk
