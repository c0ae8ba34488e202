// Setting and keeping the dropout nodes' random streams.
#include "SGD/Schedules/DropoutSchedule.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "Common/Workers.h"
#include "ComputationNetwork/Plan/EvaluationPlan.h"
#include "SGD/Files/CheckpointExtra.h"

#include <sstream>

namespace cntk
{

namespace
{

constexpr const char* c_seedsKey = "dropoutSeeds"; // the first worker's, and those of others that have the same

} // namespace

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

void DropoutSchedule::DrawAsWorker(size_t rank)
{
    for (const auto& node : m_nodes)
        node->SetWorker(rank);
}

void DropoutSchedule::SaveExtra(std::map<std::string, std::string>& extra, Workers* workers) const
{
    extra["dropoutRate"] = ExactText(m_rate);
    extra["dropoutNextSeed"] = std::to_string(m_nextSeed);
    std::string seeds;
    for (const auto& node : m_nodes)
        seeds += std::to_string(node->Seed()) + " ";
    const std::vector<std::string> all = workers != nullptr ? workers->Gather(seeds) : std::vector{seeds};
    extra[c_seedsKey] = all.front();
    for (size_t rank = 1; rank < all.size(); ++rank)
        if (all[rank] != all.front())
            extra[Concat(c_seedsKey, rank)] = all[rank];
}

// A checkpoint of the original has none of this: then the count begins anew, as the original does.
void DropoutSchedule::RestoreExtra(const std::map<std::string, std::string>& extra, size_t rank)
{
    auto found = extra.find(c_seedsKey);
    if (found == extra.end())
        return;
    if (const auto own = extra.find(Concat(c_seedsKey, rank)); own != extra.end())
        found = own;
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
