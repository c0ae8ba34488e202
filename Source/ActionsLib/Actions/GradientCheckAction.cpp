// action=gradientCheck: compares back-propagated gradients of a network with differences of its criterion, on real
// data.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/JobParts/CommandSettings.h"
#include "ActionsLib/JobParts/NetworkSource.h"
#include "ActionsLib/JobParts/ReaderSource.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "ComputationNetwork/Evaluation/GradientCheck.h"
#include "SGD/Evaluation/Criteria.h"
#include "SGD/Evaluation/Evaluation.h"

#include <algorithm>
#include <vector>

namespace cntk
{

namespace
{

struct GradientCheckActionOptions
{
    Schedule<size_t> minibatchSize = 16;
    size_t numMinibatches = 1;
    size_t sigFigs = 6;
    size_t elementsPerParameter = 50;
    std::string trainCriterionNodeName;

    static OptionTable<GradientCheckActionOptions> Options()
    {
        using S = GradientCheckActionOptions;
        return {
            Opt("minibatchSize", &S::minibatchSize, "samples a minibatch; of a schedule the first value is used",
                Range{1}),
            Opt("numMinibatches", &S::numMinibatches, "number of minibatches; each checks other elements", Range{1}),
            Opt("sigFigs", &S::sigFigs, "digits that must agree", Range{1, 15}),
            Opt("elementsPerParameter", &S::elementsPerParameter, "elements of each parameter, chosen at random",
                Range{1}),
            Opt("trainCriterionNodeName", &S::trainCriterionNodeName,
                "the node whose derivatives are checked, instead of the network's criterion"),
        };
    }
};

class GradientCheckJob final : public Job
{
public:
    explicit GradientCheckJob(const CommandContext& command)
        : m_command(command), m_options(ReadOptions<GradientCheckActionOptions>(command.block)),
          m_reader(RequireReader(command, "reader"))
    {
        RegisterDevice(command);
        if (command.program.dataType != DataType::Float64)
            FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name,
                   "': gradientCheck needs precision=double, but precision is float");
        if (const auto path = command.block.Find("modelPath"))
            m_modelPath = ResolveOutputPath(path->Text());
        m_builder = NetworkBuilder::Find(command);
        if (!m_builder && m_modelPath.empty())
            NetworkBuilder::Require(command);
    }

    void Run() override
    {
        Log& log = m_command.program.log;
        const std::unique_ptr<ComputationNetwork> network =
            Open([&] { return LoadModelOf(m_command, m_modelPath, DeviceOf(m_command)); });
        const ComputationNodePtr criterion = CriterionOf(*network);
        const std::unique_ptr<MinibatchSource> source = m_reader.Open();
        Precompute(*network, *source, m_options.minibatchSize[0], c_wholeDataSet, log);
        EvaluatorOptions evaluation;
        evaluation.training = true;
        evaluation.backwardRoot = criterion;
        Evaluator evaluator(*network, {criterion}, evaluation);
        if (evaluator.Parameters().empty())
            Fail(ErrorKind::Config, "no parameter below criterion '", criterion->Name(),
                 "' is trained; there is no gradient to check");
        source->BindTo({criterion});
        source->StartEpoch({.epoch = 0,
                            .minibatchSize = m_options.minibatchSize[0],
                            .epochSize = c_wholeDataSet,
                            .rank = 0,
                            .workers = 1,
                            .wanted = {}});
        size_t minibatch = 0;
        for (; minibatch < m_options.numMinibatches && source->Next(); ++minibatch)
            WithNote([&] { CheckMinibatch(evaluator, criterion, minibatch + 1, source->Samples()); },
                     [&] { return Concat("in minibatch ", minibatch + 1); });
        if (minibatch == 0)
            Fail(ErrorKind::Data, "the reader delivered no data to check gradients with");
        log.Print("Gradient check: all elements agree to %zu digits.\n", m_options.sigFigs);
    }

    void Validate() const override
    {
        if (m_builder == nullptr)
            RequireModel(m_command, m_modelPath);
        else if (m_modelPath.empty() || !m_command.program.outputs.WillExist(m_modelPath))
            m_builder->Validate(m_command.program);
    }

    void Check() override
    {
        const std::unique_ptr<ComputationNetwork> network =
            Open([&] { return LoadModelToCheck(m_command, m_modelPath, DeviceOf(m_command)); });
        const ComputationNodePtr criterion = network != nullptr ? CriterionOf(*network) : nullptr;
        if (network != nullptr)
            LogNetwork(m_command.program.log, *network, 1);
        if (!m_reader.CanBeChecked())
            return;
        const std::unique_ptr<MinibatchSource> source = m_reader.Open(); // also if no model can be checked yet
        if (network != nullptr)
            CheckSource(m_command.program.log, *network, {criterion}, *source, m_options.minibatchSize[0],
                        CheckFor::Training);
    }

private:
    // The model if it exists, else the network of the builder.
    std::unique_ptr<ComputationNetwork> Open(const std::function<std::unique_ptr<ComputationNetwork>()>& load) const
    {
        Log& log = m_command.program.log;
        if (!m_builder || (!m_modelPath.empty() && m_command.program.outputs.WillExist(m_modelPath)))
        {
            if (m_builder)
                log.Warn(Concat(m_command.block.Where().Location(), ": '", m_modelPath,
                                "' exists, so it is checked, not ", "the network of ", m_builder->BlockName(),
                                "; to check that network, give another modelPath"));
            log.Print("Checking gradients of model %s\n", m_modelPath.c_str());
            return load();
        }
        log.Print("Checking gradients of the network of %s\n", m_builder->BlockName().c_str());
        return m_builder->BuildForCheck(m_command.program, DeviceOf(m_command));
    }

    ComputationNodePtr CriterionOf(const ComputationNetwork& network) const
    {
        return SelectTrainingNodes(network, m_options.trainCriterionNodeName, "").criterion;
    }

    // Prints each parameter's worst element; fails if one of them disagrees.
    void CheckMinibatch(Evaluator& evaluator, const ComputationNodePtr& criterion, size_t minibatch,
                        size_t samples) const
    {
        Log& log = m_command.program.log;
        log.Print("Minibatch %zu, %zu samples, criterion '%s':\n", minibatch, samples, criterion->Name().c_str());
        const int digits = int(m_options.sigFigs);
        const auto comparisons = CompareGradients(
            evaluator, criterion, {.elementsPerParameter = m_options.elementsPerParameter, .seed = minibatch});
        const auto isBetter = [digits](const GradientComparison& a, const GradientComparison& b)
        { return a.Disagreement(digits) < b.Disagreement(digits); };
        for (auto first = comparisons.begin(); first != comparisons.end();)
        {
            const auto last =
                std::find_if(first, comparisons.end(), [&](const auto& c) { return c.parameter != first->parameter; });
            const GradientComparison& worst = *std::max_element(first, last, isBetter);
            log.Print("  %s: %zu elements, at worst [%zu, %zu] with %.10g by back-propagation and %.10g by central "
                      "differences\n",
                      worst.parameter->Name().c_str(), size_t(last - first), worst.row, worst.column,
                      worst.backpropagated, worst.numeric);
            first = last;
        }
        RequireAgreement(evaluator, criterion, comparisons, digits);
    }

    CommandContext m_command;
    GradientCheckActionOptions m_options;
    ReaderSource m_reader;
    std::string m_modelPath;
    std::unique_ptr<NetworkBuilder> m_builder;
};

} // namespace

Action MakeGradientCheckAction()
{
    return {"gradientCheck",
            {},
            "Compares the gradients of a network's parameters with differences of its criterion. Needs "
            "precision=double.",
            "3.3.1.6",
            WithModelPath("the model; without one, or if it does not exist yet, a network is built",
                          DescribeOptions<GradientCheckActionOptions>(), false),
            {"reader", "SimpleNetworkBuilder", "NDLNetworkBuilder"},
            PrepareJob<GradientCheckJob>};
}

} // namespace cntk
