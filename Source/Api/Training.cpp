// Steps of a training: forward, check, backward, update.
#include "Api/Training.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/CheckpointFile.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/DropoutNode.h"
#include "SGD/Evaluation/Criteria.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

namespace cntk::Api
{

// The session with its learners. Asking for other outputs makes new ones with the same state.
struct MinibatchTrainer::Running
{
    std::vector<uint64_t> outputs;
    std::unique_ptr<Session> session;
    std::vector<std::unique_ptr<Learner>> learners;
    size_t metricRoot = 0;
    size_t lossRoot = 0;

    std::vector<DropoutNode*> DropoutNodes() const
    {
        std::vector<DropoutNode*> nodes;
        for (const ComputationNodePtr& node : session->Network().Nodes())
            if (auto* dropout = dynamic_cast<DropoutNode*>(node.get()))
                nodes.push_back(dropout);
        return nodes;
    }

    // Users may change multipliers between steps. With the multiplier 0 a parameter takes a gradient that has no
    // effect.
    void SetMultipliers(const std::vector<NodePtr>& parameters) const
    {
        for (size_t i = 0; i < parameters.size(); i++)
            As<LearnableParameterNode>(session->WantedNode(i).get())
                ->SetLearningRateMultiplier(parameters[i]->parameter->LearningRateMultiplier());
    }
};

MinibatchTrainer::MinibatchTrainer(Context& context, NodePtr loss, NodePtr metric,
                                   std::vector<LearnerSettings> learners)
    : m_context(context), m_loss(std::move(loss)), m_metric(std::move(metric)), m_settings(std::move(learners))
{
    for (const LearnerSettings& learner : m_settings)
        m_parameters.insert(m_parameters.end(), learner.parameters.begin(), learner.parameters.end());
    CheckParameters();
}

MinibatchTrainer::~MinibatchTrainer() = default;

void MinibatchTrainer::CheckParameters() const
{
    std::unordered_set<const Node*> below, seen;
    for (const NodePtr& node : Below({m_loss}))
        below.insert(node.get());
    for (const NodePtr& parameter : m_parameters)
    {
        if (parameter->role != Node::Role::Parameter)
            Fail(ErrorKind::Usage, parameter->Describe(), " (", parameter->TypeName(),
                 ") is among the parameters of a learner, but it is no parameter; expected nodes that "
                 "parameter() made");
        if (!below.contains(parameter.get()))
            Fail(ErrorKind::Usage, "the loss ", m_loss->Describe(), " does not depend on parameter ",
                 parameter->Describe(), " of a learner; expected parameters below the loss");
        if (!seen.insert(parameter.get()).second)
            Fail(ErrorKind::Usage, "parameter ", parameter->Describe(), " is in two learners; expected one");
    }
    if (m_parameters.empty())
        Fail(ErrorKind::Usage, "the learners have no parameters; expected at least one");
}

MinibatchTrainer::Running& MinibatchTrainer::Prepare(const std::vector<NodePtr>& outputs)
{
    std::vector<uint64_t> uids;
    for (const NodePtr& output : outputs)
        uids.push_back(output->uid);
    if (m_running && m_running->outputs == uids)
        return *m_running;
    auto running = std::make_unique<Running>();
    running->outputs = std::move(uids);
    std::vector<NodePtr> roots = outputs;
    running->metricRoot = roots.size();
    if (m_metric)
        roots.push_back(m_metric);
    running->lossRoot = roots.size();
    roots.push_back(m_loss);
    SessionOptions options;
    options.isTraining = true;
    options.wanted = m_parameters;
    running->session = std::make_unique<Session>(m_context, roots, options);
    size_t next = 0;
    for (size_t i = 0; i < m_settings.size(); i++)
    {
        std::vector<std::shared_ptr<LearnableParameterNode>> nodes;
        for (size_t k = 0; k < m_settings[i].parameters.size(); k++)
            nodes.push_back(std::dynamic_pointer_cast<LearnableParameterNode>(running->session->WantedNode(next++)));
        ComputationNetwork& network = running->session->Network();
        auto learner =
            std::make_unique<Learner>(nodes, m_settings[i].options, network.GetDataType(), network.GetDevice());
        if (m_running)
        {
            std::vector<Matrix> states;
            for (const Matrix* state : m_running->learners[i]->States())
                states.push_back(state->Clone());
            learner->Restore(std::move(states), "");
            learner->SetCounters(m_running->learners[i]->Counters());
        }
        running->learners.push_back(std::move(learner));
    }
    if (m_running)
    {
        const auto before = m_running->DropoutNodes(), now = running->DropoutNodes();
        for (size_t i = 0; i < std::min(before.size(), now.size()); i++)
            now[i]->SetSeed(before[i]->Seed());
    }
    m_running = std::move(running);
    return *m_running;
}

Session& MinibatchTrainer::TrainingSession(const std::vector<NodePtr>& outputs)
{
    return *Prepare(outputs).session;
}

Session& MinibatchTrainer::TestingSession()
{
    if (!m_testing)
    {
        std::vector<NodePtr> roots = {m_metric ? m_metric : m_loss};
        m_testing = Session::Get(m_context, roots, {});
    }
    return *m_testing;
}

double MinibatchTrainer::RateOf(size_t learner) const
{
    const LearnerSettings& settings = m_settings[learner];
    const size_t index = settings.epochSize > 0 ? m_samplesSeen / settings.epochSize : m_epoch;
    return settings.rates[std::min(index, settings.rates.size() - 1)];
}

void MinibatchTrainer::SetRate(size_t learner, double rate)
{
    m_settings[learner].rates = {rate};
}

MinibatchTrainer::Result MinibatchTrainer::Train(const Session::Arguments& arguments)
{
    Running& running = *m_running;
    Session& session = *running.session;
    session.Feed(arguments);
    session.Forward();
    Result result;
    result.samples = session.Samples();
    result.loss = session.SumOfLoss();
    if (!std::isfinite(result.loss))
    {
        TrainingNodes nodes;
        nodes.criterion = session.Loss();
        const std::string first = FindNotFinite(session.Network(), nodes);
        Fail(ErrorKind::Model, "the loss is ", result.loss, " after ", m_samplesSeen, " samples",
             first.empty() ? "" : "; the first node that is not finite is the " + first,
             "; nothing was updated; expected finite data and a smaller learning rate");
    }
    result.metric = m_metric ? session.SumOfRoot(running.metricRoot) : result.loss;
    running.SetMultipliers(m_parameters);
    const double samples = double(result.samples);
    const auto update = [&](size_t i, auto&& body)
    {
        const LearnerSettings& settings = m_settings[i];
        const double rate = settings.isPerSample ? RateOf(i) : RateOf(i) / samples;
        const double momentum = settings.momentum > 0 ? std::pow(settings.momentum, 1 / samples) : 0;
        body(*running.learners[i], rate, momentum);
    };
    // A single learner may update parameters during the backward pass.
    GradientUpdates* updates = nullptr;
    if (running.learners.size() == 1)
    {
        updates = running.learners.front().get();
        update(0, [&](Learner& learner, double rate, double momentum)
               { learner.BeginUpdate(rate, momentum, result.samples); });
    }
    session.Backward(updates);
    for (size_t i = 0; i < running.learners.size(); i++)
        update(i,
               [&](Learner& learner, double rate, double momentum) { learner.Update(rate, momentum, result.samples); });
    m_samplesSeen += result.samples;
    return result;
}

MinibatchTrainer::Result MinibatchTrainer::Test(const Session::Arguments& arguments)
{
    Session& session = TestingSession();
    session.Feed(arguments);
    session.Forward();
    Result result;
    result.samples = session.Samples();
    result.metric = session.SumOfRoot(0);
    return result;
}

// ---- checkpoints ----

void MinibatchTrainer::SaveCheckpoint(const std::string& path)
{
    Running& running = m_running ? *m_running : Prepare({});
    std::vector<NodePtr> roots = {m_loss};
    if (m_metric)
        roots.push_back(m_metric);
    const LoweredNetwork lowered(m_context, roots, Naming::ForFiles);
    SaveModel(lowered.Network(), path);
    CheckpointInfo info;
    info.samplesSeen = m_samplesSeen;
    info.extra["epoch"] = std::to_string(m_epoch);
    std::vector<const Matrix*> states;
    for (size_t i = 0; i < running.learners.size(); i++)
    {
        std::map<std::string, std::string> extra;
        running.learners[i]->SaveExtra(extra);
        for (const auto& [name, value] : extra)
            info.extra[Concat("learner", i, ".", name)] = value;
        const std::vector<const Matrix*> own = running.learners[i]->States();
        states.insert(states.end(), own.begin(), own.end());
    }
    const std::vector<DropoutNode*> dropout = running.DropoutNodes();
    for (size_t i = 0; i < dropout.size(); i++)
        info.extra[Concat("dropout", i)] = std::to_string(dropout[i]->Seed());
    cntk::SaveCheckpoint(path + ".ckp", info, states);
}

void MinibatchTrainer::RestoreCheckpoint(const std::string& path)
{
    Running& running = m_running ? *m_running : Prepare({});
    const Device& device = *running.session->GetDevice();
    Checkpoint checkpoint =
        LoadCheckpoint(path + ".ckp", running.session->Network().GetDataType(), const_cast<Device&>(device));
    std::vector<NodePtr> roots = {m_loss};
    if (m_metric)
        roots.push_back(m_metric);
    const LoweredNetwork lowered(m_context, roots, Naming::ForFiles);
    if (checkpoint.smoothedGradients.size() != m_parameters.size())
        Fail(ErrorKind::Model, "checkpoint '", path, ".ckp' holds the state of ",
             Counted(checkpoint.smoothedGradients.size(), "parameter"), ", but the learners have ",
             m_parameters.size());
    ReloadParameters(lowered.Network(), path); // the networks share the values
    size_t next = 0;
    for (size_t i = 0; i < running.learners.size(); i++)
    {
        std::vector<Matrix> states;
        for (size_t k = 0; k < m_settings[i].parameters.size(); k++)
            states.push_back(std::move(checkpoint.smoothedGradients[next++]));
        running.learners[i]->Restore(std::move(states), path + ".ckp");
        std::map<std::string, std::string> extra;
        const std::string prefix = Concat("learner", i, ".");
        for (const auto& [name, value] : checkpoint.info.extra)
            if (name.starts_with(prefix))
                extra[name.substr(prefix.size())] = value;
        running.learners[i]->RestoreExtra(extra);
    }
    const std::vector<DropoutNode*> dropout = running.DropoutNodes();
    for (size_t i = 0; i < dropout.size(); i++)
        if (const auto found = checkpoint.info.extra.find(Concat("dropout", i)); found != checkpoint.info.extra.end())
            dropout[i]->SetSeed(ParseSize(found->second).value_or(dropout[i]->Seed()));
    m_samplesSeen = checkpoint.info.samplesSeen;
    if (const auto found = checkpoint.info.extra.find("epoch"); found != checkpoint.info.extra.end())
        m_epoch = ParseSize(found->second).value_or(0);
}

} // namespace cntk::Api
