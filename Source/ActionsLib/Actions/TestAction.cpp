// Actions test or eval (book 3.5.3) and cv (3.5.4): evaluate criteria of one model, or of the models of many epochs,
// over a data set.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Actions/TestOutputs.h"
#include "ActionsLib/JobParts/CommandSettings.h"
#include "ActionsLib/JobParts/NetworkSource.h"
#include "ActionsLib/JobParts/ReaderSource.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "SGD/Evaluation/Criteria.h"
#include "SGD/Evaluation/Evaluation.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

namespace cntk
{

namespace
{

struct TestOptions : NodesToTrace
{
    Schedule<size_t> minibatchSize = 40960;
    size_t epochSize = 0;
    size_t numMBsToShowResult = 100;
    std::vector<std::string> evalNodeNames;
    size_t maxSamplesInRAM = 0;
    size_t numSubminibatches = 1;

    static OptionTable<TestOptions> Options()
    {
        using S = TestOptions;
        return WithTraceOptions<S>({
            Opt("minibatchSize", &S::minibatchSize, "samples a minibatch; of a schedule the first value is used",
                Range{1}),
            Opt("epochSize", &S::epochSize, "samples to evaluate; 0: all data"),
            Opt("numMBsToShowResult", &S::numMBsToShowResult,
                "with traceLevel > 0, a line of intermediate results every so many minibatches"),
            Opt("evalNodeNames", &S::evalNodeNames,
                "nodes to report; empty: all evaluation nodes of the model, then all criteria"),
            Opt("maxSamplesInRAM", &S::maxSamplesInRAM, "without gradients a minibatch is not cut").WithoutEffect(),
            Opt("numSubminibatches", &S::numSubminibatches, "").WithoutEffect(),
        });
    }
};

struct CvOptions
{
    std::vector<size_t> crossValidationInterval;
    size_t sleepTimeBetweenRuns = 0;

    static OptionTable<CvOptions> Options()
    {
        using S = CvOptions;
        return {
            Opt("crossValidationInterval", &S::crossValidationInterval,
                "first:step:last, the epochs whose models modelPath.<epoch> are evaluated")
                .Required(),
            Opt("sleepTimeBetweenRuns", &S::sleepTimeBetweenRuns, "seconds to wait after each model"),
        };
    }
};

// The common part of test and cv: a reader and the settings of one evaluation.
class EvaluatingJob : public Job
{
public:
    explicit EvaluatingJob(const CommandContext& command)
        : m_command(command), m_reader(RequireReader(command, "reader")), m_modelPath(RequireModelPath(command))
    {
        RegisterDevice(command);
        const TestOptions options = ReadOptions<TestOptions>(command.block);
        m_nodeNames = options.evalNodeNames;
        m_nodesToTrace = options;
        m_settings.minibatchSize = options.minibatchSize[0];
        m_settings.epochSize = options.epochSize;
        m_settings.numMBsToShowResult = options.numMBsToShowResult;
        m_settings.traceLevel = TraceLevelOf(command);
    }

    void Check() override
    {
        Log& log = m_command.program.log;
        std::unique_ptr<ComputationNetwork> first;
        std::vector<ComputationNodePtr> traced;
        for (const std::string& path : ModelsToCheck())
        {
            std::unique_ptr<ComputationNetwork> network = LoadModelToCheck(m_command, path, DeviceOf(m_command));
            if (network == nullptr)
                continue;
            const std::vector<ComputationNodePtr> nodes = SelectNodes(*network);
            if (m_outputs.AreAsked())
                RequireClassifier(nodes);
            if (first != nullptr)
                continue;
            first = std::move(network);
            LogNetwork(log, *first, 1);
            traced = NodeTracer(*first, m_nodesToTrace, log).AddTo(nodes);
        }
        if (!m_reader.CanBeChecked())
            return;
        const std::unique_ptr<MinibatchSource> source = m_reader.Open(); // also if no model can be checked yet
        if (first == nullptr)
            return;
        TakeSingleWords(*first, source->Streams());
        CheckSource(log, *first, traced, *source, m_settings.minibatchSize, CheckFor::Evaluation);
    }

protected:
    virtual std::vector<std::string> ModelsToCheck() const { return {m_modelPath}; }

    // Evaluates the model of the path. countsFor: receives counts of classified samples; null: nobody.
    EvaluationSummary Evaluate(const std::string& path, RunListener* countsFor = nullptr)
    {
        Log& log = m_command.program.log;
        const std::unique_ptr<ComputationNetwork> network = LoadModelOf(m_command, path, DeviceOf(m_command));
        if (m_nodeNames.empty())
            log.Print(
                "evalNodeNames are not specified, using all the default evalnodes and training criterion nodes.\n");
        const std::vector<ComputationNodePtr> nodes = SelectNodes(*network);
        NodeTracer tracer(*network, m_nodesToTrace, log);
        EvaluationSettings settings = m_settings;
        if (!tracer.Nodes().empty())
            settings.tracer = &tracer;
        const std::unique_ptr<MinibatchSource> source = m_reader.Open();
        RequireOutputsNotRead(*source);
        TestOutputs outputs(m_outputs, *network, nodes, *source, countsFor);
        outputs.AddTo(settings);
        const EvaluationResult result = EvaluateCriteria(*network, nodes, *source, settings, log);
        outputs.Finish();
        return DescribeEvaluation(*network, nodes, result, path);
    }

    // Fails if an output would replace the model or a file that the reader reads.
    void RequireOutputsNotRead(const MinibatchSource& source) const
    {
        if (!m_outputs.AreAsked())
            return;
        std::vector<NamedFile> read = FilesNamedIn(*m_reader.block);
        read.push_back({"modelPath", m_modelPath});
        const ListedFiles listed = ListedFilesOf(source);
        for (const auto& [key, path] :
             {std::pair("confusion", m_outputs.confusionCsv), std::pair("confusion", m_outputs.confusionSvg),
              std::pair("predictions", m_outputs.predictions)})
        {
            if (path.empty())
                continue;
            RequireNotRead({key, path}, read, PlaceOf(m_command, key));
            listed.RequireNone({key, path}, PlaceOf(m_command, key));
        }
    }

    // Errors about nodes of evalNodeNames get its place.
    std::vector<ComputationNodePtr> SelectNodes(const ComputationNetwork& network) const
    {
        try
        {
            return SelectEvaluationNodes(network, m_nodeNames);
        }
        catch (const Error& error)
        {
            const std::optional<ConfigValue> names = m_command.block.Find("evalNodeNames");
            if (error.Where() || m_nodeNames.empty() || !names)
                throw;
            throw error.At(names->Where());
        }
    }

    CommandContext m_command;
    ReaderSource m_reader;
    std::string m_modelPath;
    TestOutputPaths m_outputs;
    std::vector<std::string> m_nodeNames;
    NodesToTrace m_nodesToTrace;
    EvaluationSettings m_settings;
};

class TestJob final : public EvaluatingJob
{
public:
    explicit TestJob(const CommandContext& command) : EvaluatingJob(command)
    {
        m_outputs = ReadTestOutputs(command.block);
        m_reader.forWriting = !m_outputs.predictions.empty(); // keeps the order of the data
    }

    void Run() override
    {
        RequireOutputsWritable();
        RunListener* const listener = m_command.program.listener;
        const EvaluationSummary result =
            Evaluate(m_modelPath, listener != nullptr && listener->WantsClassification() ? listener : nullptr);
        if (listener != nullptr)
            listener->EvaluationEnds(result);
    }

    void Validate() const override
    {
        RequireModel(m_command, m_modelPath);
        RequireOutputsWritable();
    }

    std::vector<std::string> Outputs() const override { return m_outputs.Files(); }

private:
    void RequireOutputsWritable() const
    {
        for (const std::string& path : m_outputs.Files())
            RequireWritable(path);
    }
};

class CvJob final : public EvaluatingJob
{
    static constexpr size_t c_mostModels = 100'000; // the log has a line for each missing model

public:
    explicit CvJob(const CommandContext& command) : EvaluatingJob(command)
    {
        const CvOptions options = ReadOptions<CvOptions>(command.block);
        const ConfigValue interval = command.block.Require("crossValidationInterval");
        if (options.crossValidationInterval.size() < 3)
            FailAt(interval.Where(), ErrorKind::Config,
                   "crossValidationInterval needs first:step:last, as in 1:1:10; found '", interval.Text(), "'");
        m_first = options.crossValidationInterval[0];
        m_step = options.crossValidationInterval[1];
        m_last = options.crossValidationInterval[2];
        if (m_last < m_first)
            FailAt(interval.Where(), ErrorKind::Config, "crossValidationInterval ends at epoch ", m_last,
                   ", before its first, ", m_first);
        if (m_step == 0)
            FailAt(interval.Where(), ErrorKind::Config,
                   "the step of crossValidationInterval is 0; it must be at least 1");
        if ((m_last - m_first) / m_step >= c_mostModels)
            FailAt(interval.Where(), ErrorKind::Config, "crossValidationInterval names more than ", c_mostModels,
                   " models; expected a smaller last epoch");
        m_pause = options.sleepTimeBetweenRuns;
    }

    void Run() override
    {
        Log& log = m_command.program.log;
        ForEachModel(FileExists, [this](const std::string& path) { EvaluateOne(path); });
        ReportResults();
        log.Print("\nBest models:\n------------\n");
        for (size_t i = 0; i < m_best.size(); ++i)
            log.Tell("Based on Err[%d]: Best model = %s with min err %.8g\n", int(i), m_best[i].path.c_str(),
                     m_best[i].error);
    }

private:
    // The models that Run would evaluate now. If an earlier command writes models of the interval, the first of them,
    // which is not checked, stands for all.
    std::vector<std::string> ModelsToCheck() const override
    {
        const DeclaredOutputs& outputs = m_command.program.outputs;
        std::vector<std::string> models;
        bool isDeclared = false;
        ForEachModel([&](const std::string& path) { return outputs.WillExist(path); },
                     [&](const std::string& path)
                     {
                         const bool isFile = outputs.WriterOf(path).empty();
                         if (isFile || !isDeclared)
                             models.push_back(path);
                         isDeclared = isDeclared || !isFile;
                     });
        return models;
    }

    // Looks for each model only when it is evaluated: a training may run at the same time. Reports missing models;
    // fails (Model) if all are missing.
    void ForEachModel(const std::function<bool(const std::string&)>& exists,
                      const std::function<void(const std::string&)>& visit) const
    {
        bool isAny = false, isFinalDone = false;
        for (size_t i = 0; i <= (m_last - m_first) / m_step; ++i)
        {
            const size_t epoch = m_first + i * m_step;
            std::string path = m_modelPath + "." + std::to_string(epoch);
            if (!exists(path))
            {
                m_command.program.log.Print("Model %s does not exist.\n", path.c_str());
                // The models may end before the interval. The final model has no number; it replaces the first missing
                // one.
                if (isFinalDone || !exists(m_modelPath))
                    continue;
                isFinalDone = true;
                path = m_modelPath;
            }
            isAny = true;
            visit(path);
        }
        if (!isAny)
            Fail(ErrorKind::Model, "no model is evaluated: found neither ", m_modelPath, ".", m_first, " nor ",
                 m_modelPath, NearFilesHint(m_modelPath));
    }

    void EvaluateOne(const std::string& path)
    {
        m_command.program.log.Print("Model %s --> ", path.c_str());
        EvaluationSummary result = Evaluate(path);
        if (const auto epoch = ParseSize(path.substr(std::min(m_modelPath.size() + 1, path.size()))))
            result.epoch = *epoch;
        m_best.resize(result.nodes.size());
        for (size_t i = 0; i < result.nodes.size(); ++i)
            if (result.nodes[i].average < m_best[i].error)
                m_best[i] = {path, result.nodes[i].average};
        m_results.push_back(std::move(result));
        std::this_thread::sleep_for(std::chrono::seconds(m_pause));
    }

    // The best model is that of the lowest first node.
    void ReportResults()
    {
        RunListener* const listener = m_command.program.listener;
        if (listener == nullptr)
            return;
        for (EvaluationSummary& result : m_results)
        {
            result.isBest = result.modelPath == m_best.front().path;
            listener->EvaluationEnds(result);
        }
    }

    struct Best
    {
        std::string path;
        double error = std::numeric_limits<double>::infinity();
    };
    std::vector<Best> m_best;
    std::vector<EvaluationSummary> m_results;
    size_t m_first = 0;
    size_t m_step = 1;
    size_t m_last = 0;
    size_t m_pause = 0;
};

} // namespace

Action MakeTestAction()
{
    return {"test",
            {"eval"},
            "Evaluates criteria of a model over a data set.",
            "3.5.3",
            WithModelPath("the model", DescribeBoth<TestOptions, TestOutputOptions>()),
            {"reader"},
            PrepareJob<TestJob>};
}

Action MakeCvAction()
{
    return {"cv",
            {},
            "Evaluates the models of many epochs over a data set and names the best.",
            "3.5.4",
            WithModelPath("the models: modelPath.N of epoch N, and modelPath", DescribeBoth<TestOptions, CvOptions>()),
            {"reader"},
            PrepareJob<CvJob>};
}

} // namespace cntk
