// Selection of criterion and evaluation nodes, and their running sums.
#include "SGD/Evaluation/Criteria.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/ComputationNode.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "Math/Operations.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_set>

namespace cntk
{

namespace
{

bool IsNumber(const ComputationNode& node)
{
    return !node.HasMBLayout() && node.SampleElements() == 1;
}

void RequireNumber(const ComputationNode& node, const char* role)
{
    if (!IsNumber(node))
        FailOf(node, ErrorKind::Config, role, " '", node.Name(), "' (", node.TypeName(), ") has dimension ",
               node.SampleLayout().ToString(), node.HasMBLayout() ? " x *" : "",
               "; criterion nodes to evaluate must have dimension 1x1");
}

// Lists 1x1 nodes that the network computes. A constant is 1x1 too, but nobody means it as a criterion.
std::string DescribeCandidates(const ComputationNetwork& network)
{
    std::vector<std::string> candidates;
    for (const ComputationNodePtr& node : network.Nodes())
    {
        if (node->InputCount() > 0 && IsNumber(*node))
            candidates.push_back(Concat("'", node->Name(), "' (", node->TypeName(), ")"));
    }
    return candidates.empty() ? "the network computes no 1x1 node" : "candidates: " + Join(candidates, ", ");
}

ComputationNodePtr RequireCriterion(const ComputationNetwork& network, const std::string& name, const char* option)
{
    if (ComputationNodePtr node = network.Find(name))
        return node;
    std::vector<std::string> names;
    for (const ComputationNodePtr& node : network.Nodes())
        names.push_back(node->Name());
    Fail(ErrorKind::Config, option, " names '", name, "', but there is no such node in the network",
         DidYouMean(name, names), "; ", DescribeCandidates(network));
}

[[noreturn]] void FailWithoutCriterion(const ComputationNetwork& network)
{
    std::vector<std::string> candidates;
    ComputationNodePtr first;
    for (const ComputationNodePtr& node : network.Nodes())
    {
        if (!node->Type().traits.isCriterion)
            continue;
        candidates.push_back(Concat("'", node->Name(), "' (", node->TypeName(), ")"));
        if (!first)
            first = node;
    }
    const std::string what = Concat(
        "the network has no criterion node to train; ",
        candidates.empty() ? "it holds no node of a criterion type, for example CrossEntropyWithSoftmax or SquareError"
                           : Concat("candidates: ", Join(candidates, ", ")),
        "; tag one with tag=\"criterion\" in the network description, list it in CriterionNodes, or set "
        "trainCriterionNodeName in the SGD block");
    if (first)
        FailOf(*first, ErrorKind::Config, what);
    Fail(ErrorKind::Config, what);
}

bool Contains(const std::vector<ComputationNodePtr>& nodes, const ComputationNodePtr& node)
{
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

} // namespace

std::vector<ComputationNodePtr> TrainingNodes::Roots() const
{
    auto roots = evaluations;
    roots.push_back(criterion);
    return roots;
}

TrainingNodes SelectTrainingNodes(const ComputationNetwork& network, const std::string& criterionName,
                                  const std::string& evaluationName)
{
    TrainingNodes nodes;
    std::vector<ComputationNodePtr> criteria = network.Group(NodeGroup::Criterion);
    if (!criterionName.empty())
        criteria = {RequireCriterion(network, criterionName, "trainCriterionNodeName")};
    if (criteria.empty())
        FailWithoutCriterion(network);
    nodes.criterion = criteria.front();

    std::vector<ComputationNodePtr> evaluations = network.Group(NodeGroup::Evaluation);
    if (!evaluationName.empty())
        evaluations = {RequireCriterion(network, evaluationName, "evalCriterionNodeName")};
    for (const ComputationNodePtr& node : evaluations)
    {
        if (!Contains(criteria, node) && !Contains(nodes.evaluations, node))
            nodes.evaluations.push_back(node);
    }
    RequireNumber(*nodes.criterion, "training criterion");
    for (const ComputationNodePtr& node : nodes.evaluations)
        RequireNumber(*node, "evaluation node");
    return nodes;
}

std::string DescribeUntrainedCriteria(const ComputationNetwork& network, const std::string& criterionName)
{
    const std::vector<ComputationNodePtr>& criteria = network.Group(NodeGroup::Criterion);
    std::vector<std::string> others;
    for (const ComputationNodePtr& node : criteria)
        if (node != criteria.front())
            others.push_back('\'' + node->Name() + '\'');
    if (!criterionName.empty() || others.empty())
        return {};
    return Concat("of the network's criterion nodes only '", criteria.front()->Name(), "' is trained, not ",
                  Join(others, ", "),
                  "; trainCriterionNodeName names another one, and a sum of several (Plus, with "
                  "Scale for their weights) is one criterion");
}

std::string DescribeSwappedLabels(const ComputationNetwork& network, const ComputationNode& criterion)
{
    // All other criteria are symmetric, or refuse an input without the shape of labels.
    constexpr std::string_view c_types[] = {"CrossEntropyWithSoftmax", "CrossEntropy", "Logistic"};
    if (std::find(std::begin(c_types), std::end(c_types), criterion.TypeName()) == std::end(c_types))
        return {};
    const std::vector<ComputationNodePtr>& inputs = criterion.Inputs();
    const std::vector<ComputationNodePtr>& labels = network.Group(NodeGroup::Label);
    if (inputs[0]->InputCount() == 0 || Contains(labels, inputs[0]) || !Contains(labels, inputs[1]))
        return {};
    return Concat("the criterion '", criterion.Name(), "' takes '", inputs[0]->Name(), "' for the labels and '",
                  inputs[1]->Name(), "' for what is trained; expected ", criterion.TypeName(), "(", inputs[1]->Name(),
                  ", ", inputs[0]->Name(), ")");
}

void WarnOfCriteria(const ComputationNetwork& network, const ComputationNode& criterion,
                    const std::string& criterionName, Log& log)
{
    for (const std::string& warning :
         {DescribeSwappedLabels(network, criterion), DescribeUntrainedCriteria(network, criterionName)})
        if (!warning.empty())
            log.Warn(warning);
}

std::vector<ComputationNodePtr> SelectEvaluationNodes(const ComputationNetwork& network,
                                                      const std::vector<std::string>& names)
{
    std::vector<ComputationNodePtr> nodes;
    for (const std::string& name : names)
        nodes.push_back(RequireCriterion(network, name, "evalNodeNames"));
    if (names.empty())
    {
        for (const NodeGroup group : {NodeGroup::Evaluation, NodeGroup::Criterion})
        {
            for (const ComputationNodePtr& node : network.Group(group))
            {
                if (!Contains(nodes, node))
                    nodes.push_back(node);
            }
        }
    }
    if (nodes.empty())
        Fail(ErrorKind::Config, "the network has no evaluation or criterion node to report; tag one with tag=\"eval\" "
                                "or tag=\"criterion\" in the network description, or set evalNodeNames");
    for (const ComputationNodePtr& node : nodes)
        RequireNumber(*node, "node");
    return nodes;
}

std::vector<ComputationNodePtr> NodesToRead(const ComputationNetwork& network, std::vector<ComputationNodePtr> roots)
{
    std::unordered_set<const ComputationNode*> seen;
    std::vector<const ComputationNode*> open;
    for (const ComputationNodePtr& root : roots)
        open.push_back(root.get());
    while (!open.empty())
    {
        const ComputationNode* const node = open.back();
        open.pop_back();
        if (As<InputValueNode>(node) != nullptr)
            return roots;
        if (seen.insert(node).second)
            for (const ComputationNodePtr& input : node->Inputs())
                open.push_back(input.get());
    }
    for (const NodeGroup group : {NodeGroup::Feature, NodeGroup::Label})
        for (const ComputationNodePtr& node : network.Group(group))
            roots.push_back(node);
    return roots;
}

class CriterionSums::Addition final : public RepeatedWork::Steps
{
public:
    Addition(CriterionSums& sums, bool isNewMinibatch) : m_sums(sums), m_isNewMinibatch(isNewMinibatch) {}

    void Run() override { Ops::AddNumbers(m_sums.m_numbers, m_isNewMinibatch, m_sums.m_totals); }
    void Repeat() override {}

private:
    CriterionSums& m_sums;
    bool m_isNewMinibatch;
};

CriterionSums::CriterionSums(std::vector<ComputationNodePtr> nodes, Device& device)
    : m_nodes(std::move(nodes)), m_onHost(device.IsHostMemory()), m_sums(m_nodes.size()), m_lastValues(m_nodes.size())
{
    if (m_onHost || m_nodes.empty())
        return;
    m_totals = Matrix(m_nodes.size() + Ops::c_rowsAfterTotals, 1, DataType::Float64, device);
    m_fetched.assign(m_totals.Rows(), 0.0);
    m_numbers.resize(m_nodes.size());
    m_work.emplace(device, "the sum of criteria");
}

void CriterionSums::Add(size_t samples, bool isNewMinibatch)
{
    m_samples += samples;
    if (m_onHost)
    {
        for (size_t i = 0; i < m_nodes.size(); ++i)
        {
            m_lastValues[i] = Ops::ScalarOf(m_nodes[i]->Value());
            m_sums[i] += m_lastValues[i];
        }
        return;
    }
    if (m_nodes.empty())
        return;
    m_key.assign({isNewMinibatch});
    for (size_t i = 0; i < m_nodes.size(); ++i)
    {
        m_numbers[i] = m_nodes[i]->Value();
        m_key.push_back(reinterpret_cast<uintptr_t>(m_numbers[i].data));
    }
    Addition addition(*this, isNewMinibatch);
    m_work->Run(m_key, addition);
    m_isFetched = false;
}

void CriterionSums::Fetch()
{
    if (!m_isFetched)
        m_totals.CopyToHost(m_fetched.data());
    m_isFetched = true;
}

double CriterionSums::Sum(size_t i)
{
    Fetch();
    return m_onHost ? m_sums[i] : m_sums[i] + m_fetched[i];
}

size_t CriterionSums::FirstNotFinite()
{
    Fetch();
    return m_fetched.empty() ? 0 : size_t(m_fetched.back());
}

MatrixView CriterionSums::NotFiniteFlag() const
{
    return m_totals.IsAllocated() ? m_totals.View().Rows(m_totals.Rows() - 1, 1) : MatrixView{};
}

void CriterionSums::Reset()
{
    if (m_totals.IsAllocated())
        m_totals.SetZero();
    std::fill(m_fetched.begin(), m_fetched.end(), 0.0);
    m_isFetched = true;
    std::fill(m_sums.begin(), m_sums.end(), 0.0);
    m_samples = 0;
}

void CriterionSums::AddSums(std::span<const double> sums, size_t samples)
{
    for (size_t i = 0; i < sums.size(); ++i)
        m_sums[i] += sums[i];
    m_samples += samples;
}

void CriterionSums::Restore(const std::vector<double>& sums, size_t samples)
{
    Reset();
    std::copy_n(sums.begin(), std::min(sums.size(), m_sums.size()), m_sums.begin());
    m_samples = samples;
}

namespace
{

std::string PlaceOfData(const ComputationNode& node, const std::vector<StreamInfo>& streams)
{
    for (const StreamInfo& stream : streams)
        if (!stream.source.empty() && EqualsIgnoreCase(stream.name, node.Name()))
            return Concat(", read from ", stream.source);
    return {};
}

// Searches in the order of evaluation: a recurrent loop step by step, since its delay nodes come before the cause.
ComputationNodePtr FirstNotFiniteValue(const EvaluationPlan& plan)
{
    const auto firstOf = [](const PlanStep& step, const FrameRange& range)
    {
        const auto isBad = [&](const ComputationNodePtr& node)
        { return !node->IsSparse() && node->Value().data && Ops::HasNotFinite(node->Value(range)); };
        const auto found = std::find_if(step.nodes.begin(), step.nodes.end(), isBad);
        return found == step.nodes.end() ? nullptr : *found;
    };
    for (const PlanStep& step : plan.Steps())
    {
        const ComputationNodePtr found = firstOf(step, FrameRange::All());
        const size_t times = found && step.kind == PlanStep::Kind::Loop ? found->GetMBLayout()->TimeSteps() : 0;
        for (size_t t = 0; t < times; ++t)
            if (ComputationNodePtr first = firstOf(step, FrameRange::Step(step.direction > 0 ? t : times - 1 - t)))
                return first;
        if (found)
            return found;
    }
    return nullptr;
}

} // namespace

std::string FindNotFinite(ComputationNetwork& network, const TrainingNodes& nodes,
                          const std::vector<StreamInfo>& streams)
{
    // Shares no memory, so that every value and gradient can be checked afterwards.
    EvaluatorOptions options;
    options.training = true;
    options.shareMemory = false;
    options.fuse = false;
    options.backwardRoot = nodes.criterion;
    options.keepValues = ComputationNetwork::Below(nodes.Roots());
    Evaluator evaluator(network, nodes.Roots(), options);
    const auto describe = [](const char* what, const ComputationNode& node)
    { return Concat(what, " of '", node.Name(), "' (", node.TypeName(), ")"); };

    evaluator.Forward();
    if (const ComputationNodePtr node = FirstNotFiniteValue(evaluator.Plan()))
        return describe("value", *node) + PlaceOfData(*node, streams);
    evaluator.Backward(nodes.criterion);
    for (const ComputationNodePtr& node : evaluator.Plan().NodesInOrder())
    {
        if (node->NeedsGradient() && node->Gradient().data && Ops::HasNotFinite(node->Gradient()))
            return describe("gradient", *node);
    }
    return {};
}

} // namespace cntk
