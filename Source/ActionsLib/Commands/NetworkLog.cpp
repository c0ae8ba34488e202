#include "ActionsLib/Commands/NetworkLog.h"

#include "Common/Message.h"
#include "ComputationNetwork/Files/NetworkReport.h"
#include "ComputationNetwork/Loops/RecurrentLoops.h"

#include <algorithm>

namespace cntk
{

namespace
{

// Each loop by the name of its last node, with its nodes, three in a line.
void LogLoops(Log& log, const std::vector<ComputationNodePtr>& roots)
{
    int number = 0;
    for (const std::vector<ComputationNodePtr>& component : ComponentsBelow(roots))
    {
        if (!IsLoop(component))
            continue;
        const std::vector<ComputationNodePtr> loop = OrderOfOneStep(component);
        std::string text =
            Concat("\nLoop[", number++, "] --> Loop_", loop.back()->Name(), " -> ", loop.size(), " nodes\n");
        for (size_t i = 0; i < loop.size(); i++)
            text += (i % 3 == 0 ? "\n\t" : "\t") + loop[i]->Name();
        log.Write(text + "\n");
    }
}

} // namespace

void LogNetwork(Log& log, const ComputationNetwork& network, int traceLevel)
{
    const std::vector<ComputationNodePtr> roots = network.Roots();
    log.Print("\nPost-processing network...\n\n%d roots:\n", int(roots.size()));
    for (const ComputationNodePtr& root : roots)
        log.Print("\t%s = %s()\n", root->Name().c_str(), root->TypeName().c_str());
    if (traceLevel > 0)
    {
        LogLoops(log, roots);
        const std::vector<ComputationNodePtr> nodes = ComputationNetwork::Below(roots);
        log.Print("\nValidating network. %d nodes to process in pass 1.\n\n", int(nodes.size()));
        for (const ComputationNodePtr& node : nodes)
        {
            std::string names;
            std::string shapes;
            for (const ComputationNodePtr& input : node->Inputs())
            {
                names += (names.empty() ? " (" : ", ") + input->Name();
                shapes += (shapes.empty() ? "" : ", ") + ShapeInWords(*input);
            }
            names += names.empty() ? "()" : ")";
            log.Print("Validating --> %s = %s%s : %s -> %s\n", node->Name().c_str(), node->TypeName().c_str(),
                      names.c_str(), shapes.c_str(), ShapeInWords(*node).c_str());
        }
        log.Print("\nValidating network, final pass.\n");
        const auto apart =
            std::count_if(nodes.begin(), nodes.end(), [](const auto& node) { return !node->HasMBLayout(); });
        log.Print("\n%d out of %d nodes do not share the minibatch layout with the input data.\n", int(apart),
                  int(nodes.size()));
    }
    log.Print("\nPost-processing network complete.\n");
}

} // namespace cntk
