#include "SGD/Schedules/Schedules.h"

#include "Common/Error.h"
#include "Common/Log.h"
#include "Common/Workers.h"
#include "ComputationNetwork/Nodes/ConvolutionNode.h"
#include "SGD/CheckpointExtra.h"

#include <cmath>
#include <span>
#include <sstream>

namespace cntk
{

namespace
{

constexpr double c_defaultMomentumPerMB = double(0.9f);
constexpr const char* c_seedsKey = "dropoutSeeds"; // seeds of the first worker, and of workers that have the same

template <class Node>
std::vector<std::shared_ptr<Node>> NodesOfType(const EvaluationPlan& plan)
{
    std::vector<std::shared_ptr<Node>> nodes;
    for (const ComputationNodePtr& candidate : plan.NodesInOrder())
        if (auto node = std::dynamic_pointer_cast<Node>(candidate))
            nodes.push_back(std::move(node));
    return nodes;
}

} // namespace

size_t NominalMinibatchSize(const SgdOptions& options, size_t size, size_t parallelSequences)
{
    return options.truncated && size > 1 ? size * parallelSequences : size;
}

size_t LearningRateCount(const SgdOptions& options)
{
    return options.learningRatesPerMB.empty() ? options.learningRatesPerSample.size()
                                              : options.learningRatesPerMB.size();
}

double LearningRatePerSample(const SgdOptions& options, size_t epoch, size_t nominalSize)
{
    if (!options.learningRatesPerMB.empty())
        return double(options.learningRatesPerMB[epoch] / float(nominalSize)); // single precision: same as CNTK v1.1
    if (!options.learningRatesPerSample.empty())
        return double(options.learningRatesPerSample[epoch]);
    return DefaultLearningRate(nominalSize);
}

double MomentumPerSample(const SgdOptions& options, size_t epoch, size_t nominalSize)
{
    if (!options.momentumPerSample.empty())
        return double(options.momentumPerSample[epoch]);
    if (!options.momentumAsTimeConstant.empty())
    {
        const auto samples = double(options.momentumAsTimeConstant[epoch]);
        return samples == 0 ? 0 : double(float(std::exp(-1 / samples)));
    }
    const double perMinibatch =
        options.momentumPerMB.empty() ? c_defaultMomentumPerMB : double(options.momentumPerMB[epoch]);
    return std::pow(perMinibatch, 1 / double(nominalSize));
}

double MomentumOfMinibatch(double momentumPerSample, size_t columns)
{
    return std::pow(momentumPerSample, double(columns));
}

double MomentumTimeConstant(double momentumPerSample)
{
    return momentumPerSample > 0 ? -1 / std::log(momentumPerSample) : 0;
}

bool SearchesLearningRate(const SgdOptions& options, size_t epoch)
{
    return options.autoAdjust.autoAdjustLR == LearningRateSearch::SearchBeforeEpoch &&
           epoch >= LearningRateCount(options);
}

bool SearchesMinibatchSize(const SgdOptions& options, size_t epoch)
{
    return options.autoAdjust.autoAdjustMinibatch && epoch >= options.minibatchSize.size();
}

void LearningRateControl::Observe(RateState& state, size_t epoch, double controlValue) const
{
    const size_t sinceDecision = epoch % m_options.learnRateAdjustInterval;
    if (!state.isAverageKnown || sinceDecision == 0)
        state.epochsMissing = sinceDecision;
    state.isAverageKnown = true;
    const auto before = double(sinceDecision - state.epochsMissing);
    state.averageCriterion =
        before == 0 ? controlValue : (before * state.averageCriterion + controlValue) / (before + 1);
}

bool LearningRateControl::WantsRollBack(const RateState& state, size_t epoch) const
{
    if (!Adjusts(epoch) || !m_options.loadBestModel)
        return false;
    return !std::isfinite(state.averageCriterion) ||
           (std::isfinite(state.previousCriterion) && state.previousCriterion - state.averageCriterion < 0);
}

RateChange LearningRateControl::Adjust(RateState& state, size_t epoch) const
{
    if (!Adjusts(epoch))
        return RateChange::None;
    const double average = state.averageCriterion;
    const double previous = state.previousCriterion;
    const double improvement = previous - average;
    const double whole = m_isMaximised ? std::abs(previous) : previous;
    const bool hasPrevious = std::isfinite(previous);
    const bool insufficient =
        !std::isfinite(average) || (hasPrevious && improvement <= m_options.reduceLearnRateIfImproveLessThan * whole);
    if (m_options.continueReduce)
    {
        if (insufficient && state.reducing)
            return RateChange::Stop;
        state.reducing = state.reducing || insufficient;
        if (!state.reducing)
            return RateChange::None;
    }
    if (insufficient || m_options.continueReduce)
    {
        state.learningRatePerSample *= m_options.learnRateDecreaseFactor;
        return RateChange::Reduced;
    }
    if (hasPrevious && improvement > m_options.increaseLearnRateIfImproveMoreThan * whole)
    {
        state.learningRatePerSample *= m_options.learnRateIncreaseFactor;
        return RateChange::Increased;
    }
    return RateChange::None;
}

void LearningRateControl::EndDecision(RateState& state, size_t epoch, bool rolledBack) const
{
    if (!rolledBack && IsDecisionDue(epoch))
        state.previousCriterion = state.averageCriterion;
}

bool EarlyStopping::Observe(size_t epochsDone, double value)
{
    if (value < m_progress - m_minImprovement)
    {
        m_progress = value;
        m_lastImprovement = epochsDone;
    }
    if (!(value < m_best))
        return false;
    m_best = value;
    m_bestEpoch = epochsDone;
    return true;
}

void EarlyStopping::SaveExtra(std::map<std::string, std::string>& extra) const
{
    if (m_bestEpoch == 0)
        return;
    extra["bestCriterion"] = ExactText(m_best);
    extra["bestEpoch"] = std::to_string(m_bestEpoch);
    extra["progressCriterion"] = ExactText(m_progress);
    extra["progressEpoch"] = std::to_string(m_lastImprovement);
}

void EarlyStopping::RestoreExtra(const std::map<std::string, std::string>& extra)
{
    m_best = NumberOf(extra, "bestCriterion", m_best);
    m_bestEpoch = size_t(NumberOf(extra, "bestEpoch", double(m_bestEpoch)));
    m_progress = NumberOf(extra, "progressCriterion", m_progress);
    m_lastImprovement = size_t(NumberOf(extra, "progressEpoch", double(m_lastImprovement)));
}

DropoutSchedule::DropoutSchedule(const ComputationNodePtr& criterion, uint64_t trainingSeed)
{
    EvaluationPlan::Options options;
    options.fuse = false;
    m_nodes = NodesOfType<DropoutNode>(EvaluationPlan::Build({criterion}, options));
    for (const auto& node : m_nodes)
        node->SetSeeds(SeedStream(trainingSeed, "dropout"));
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

// A checkpoint of CNTK v1.1 has no seeds: the count of seeds then restarts, same as in CNTK v1.1.
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

BatchNormalizationSchedule::BatchNormalizationSchedule(const EvaluationPlan& plan)
    : m_nodes(NodesOfType<BatchNormalizationNode>(plan))
{
}

void BatchNormalizationSchedule::SetTimeConstants(double normalization, double blend, Log& log)
{
    if (normalization != m_normalization)
    {
        log.Print("Setting batch normalization time constant to %.8g.\n", normalization);
        for (const auto& node : m_nodes)
            node->SetNormalizationTimeConstant(normalization);
    }
    if (blend != m_blend)
    {
        log.Print("Setting batch normalization blend time constant to %.8g.\n", blend);
        for (const auto& node : m_nodes)
            node->SetBlendTimeConstant(blend);
    }
    if ((normalization != m_normalization || blend != m_blend) && m_nodes.empty())
        log.Print("WARNING: there is no batch normalization node.\n");
    m_normalization = normalization;
    m_blend = blend;
}

void BatchNormalizationSchedule::SaveExtra(std::map<std::string, std::string>& extra) const
{
    if (!m_nodes.empty())
        extra[c_timeConstantsKey] = ExactTexts({m_normalization, m_blend});
}

void BatchNormalizationSchedule::RestoreExtra(const std::map<std::string, std::string>& extra)
{
    const std::vector<double> constants = NumbersOf(extra, c_timeConstantsKey);
    if (constants.size() != 2)
        return;
    m_normalization = constants[0];
    m_blend = constants[1];
}

void BatchNormalizationSchedule::TakeCounts(Workers& workers, size_t rank)
{
    for (const auto& node : m_nodes)
    {
        uint64_t minibatches = node->Minibatches();
        workers.Take(rank, std::as_writable_bytes(std::span(&minibatches, 1)));
        node->SetMinibatches(minibatches);
    }
}

void LimitConvolutionMemory(const EvaluationPlan& plan, uint64_t samples, Log& log)
{
    if (samples == 0)
        return;
    const auto nodes = NodesOfType<ConvolutionNode>(plan);
    log.Print("Set Max Temp Mem Size For Convolution Nodes to %llu samples.\n",
              static_cast<unsigned long long>(samples));
    if (nodes.empty())
        log.Print("WARNING: there is no convolution node.\n");
    for (const auto& node : nodes)
        node->SetMaxTempMemSizeInSamples(samples);
}

} // namespace cntk
