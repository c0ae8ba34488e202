// Setting and keeping the dropout nodes' random streams.
#include "SGD/Schedules/DropoutSchedule.h"

#include "Common/Log.h"
#include "ComputationNetwork/Plan/EvaluationPlan.h"
#include "SGD/Files/CheckpointExtra.h"

#include <sstream>

namespace cntk
{

DropoutSchedule::DropoutSchedule(const ComputationNodePtr& criterion, uint64_t trainingSeed)
{
    EvaluationPlan::Options options;
    options.fuse = false;
    for (const ComputationNodePtr& candidate : EvaluationPlan::Build({criterion}, options).NodesInOrder())
    {
        if (auto node = std::dynamic_pointer_cast<DropoutNode>(candidate))
        {
            node->SetSeeds(SeedStream(trainingSeed, "dropout"));
            m_nodes.push_back(std::move(node));
        }
    }
}

void DropoutSchedule::SetRate(double rate, Log& log)
{
    if (rate == m_rate)
        return;
    log.Print("Setting dropout rate to %.8g.\n", rate);
    if (m_nodes.empty() && rate > 0)
        log.Print("WARNING: there is no dropout node.\n");
    for (const auto& node : m_nodes)
    {
        node->SetRate(rate);
        node->SetSeed(m_nextSeed++);
    }
    m_rate = rate;
}

void DropoutSchedule::SaveExtra(std::map<std::string, std::string>& extra) const
{
    extra["dropoutRate"] = ExactText(m_rate);
    extra["dropoutNextSeed"] = std::to_string(m_nextSeed);
    std::string seeds;
    for (const auto& node : m_nodes)
        seeds += std::to_string(node->Seed()) + " ";
    extra["dropoutSeeds"] = seeds;
}

// A checkpoint of the original has none of this: then the count begins anew, as the original does.
void DropoutSchedule::RestoreExtra(const std::map<std::string, std::string>& extra)
{
    const auto found = extra.find("dropoutSeeds");
    if (found == extra.end())
        return;
    m_rate = NumberOf(extra, "dropoutRate", 0);
    m_nextSeed = uint64_t(NumberOf(extra, "dropoutNextSeed", 1));
    std::istringstream seeds(found->second);
    for (const auto& node : m_nodes)
    {
        uint64_t seed = 1;
        if (!(seeds >> seed))
            break;
        node->SetRate(m_rate);
        node->SetSeed(seed);
    }
}

} // namespace cntk
