// action=convertdbn (book 3.7): a network out of a file of dbn.exe.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Actions/DbnFile.h"
#include "ActionsLib/Commands/CommandKeys.h"
#include "ActionsLib/Commands/CommandModels.h"
#include "ActionsLib/Networks/NetworkParts.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"

#include <algorithm>

namespace cntk
{
namespace
{

struct ConvertDbnOptions
{
    std::string dbnModelPath;

    static OptionTable<ConvertDbnOptions> Options()
    {
        return {Opt("dbnModelPath", &ConvertDbnOptions::dbnModelPath, "the file of dbn.exe").Required()};
    }
};

// Of SimpleNetworkBuilder's; old configs have others as well.
constexpr const char* c_usedOptions[] = {"layerTypes",      "trainingCriterion", "evalCriterion",
                                         "uniformInit",     "initValueScale",    "needPrior",
                                         "addDropoutNodes", "randomSeedOffset",  "outputLayerSize"};

// The names of the original: scripts edit converted networks.
class ConvertedNetwork
{
public:
    ConvertedNetwork(const DbnModel& model, const SimpleNetworkOptions& options, ComputationNetwork& network, Log& log)
        : m_model(model), m_network(network), m_parts(options, network), m_options(options), m_log(log)
    {
    }

    void Build()
    {
        const std::vector<DbnLayer>& layers = m_model.layers;
        ComputationNodePtr current = m_parts.AddFeatures("features", m_model.InputSize(), InputForm::Dense);
        current = AddNormalization(current);
        const bool needsOutputLayer = !m_model.EndsInPerceptron();
        for (size_t i = 0; i < layers.size(); ++i)
            current = AddLayer(i, current, i + 1 == layers.size() && !needsOutputLayer);
        if (needsOutputLayer)
            current = AddOutputLayer(current);

        const ComputationNodePtr labels = m_parts.AddLabels(OutputSize());
        NetworkParts::Output output{.hidden = current, .weights = nullptr, .extra = nullptr, .product = nullptr};
        m_parts.AddCriteria(labels, output);
        // Without a prior in the file, training counts the labels.
        if (!m_model.prior.empty() || m_options.needPrior)
        {
            m_prior = m_parts.Add("Mean", "Prior", {labels});
            const ComputationNodePtr logOfPrior = m_parts.Add("Log", "LogOfPrior", {m_prior});
            current = m_parts.Add("Minus", "ScaledLogLikelihood", {current, logOfPrior});
        }
        m_network.AddToGroup(NodeGroup::Output, current);
        m_network.Validate();
        SetStatistics();
    }

private:
    size_t OutputSize() const
    {
        return m_model.EndsInPerceptron() ? m_model.layers.back().weights.rows : size_t(m_options.outputLayerSize);
    }

    ComputationNodePtr AddNormalization(const ComputationNodePtr& features)
    {
        if (m_model.mean.empty() || m_model.InputSize() % m_model.mean.size() != 0)
            Fail(ErrorKind::Model, "the network has ", Counted(m_model.InputSize(), "input"),
                 ", but the mean of the file has ", m_model.mean.size(),
                 " values; expected the size of one of its frames");
        m_mean = m_parts.Add("Mean", "MeanOfFeatures", {features});
        m_deviation = m_parts.Add("InvStdDev", "InvStdOfFeatures", {features});
        return m_parts.Add("PerDimMeanVarNormalization", "MVNormalizedFeatures", {features, m_mean, m_deviation});
    }

    ComputationNodePtr AddParameter(const std::string& name, size_t rows, size_t columns,
                                    const std::vector<double>& values)
    {
        const ComputationNodePtr node = m_network.AddParameter(name, TensorShape{rows, columns});
        std::dynamic_pointer_cast<LearnableParameterNode>(node)->Values().FromHost(values);
        return node;
    }

    ComputationNodePtr AddSum(size_t index, const ComputationNodePtr& weights, const ComputationNodePtr& bias,
                              const ComputationNodePtr& input, bool isLast)
    {
        const std::string number = std::to_string(index);
        const std::string product = "W" + number + "*H" + number;
        return m_parts.Add("Plus", isLast ? "HLast" : product + "+B" + number,
                           {m_parts.Add("Times", product, {weights, input}), bias});
    }

    ComputationNodePtr AddLayer(size_t index, const ComputationNodePtr& input, bool isLast)
    {
        const DbnLayer& layer = m_model.layers[index];
        const DbnMatrix& matrix = layer.weights;
        m_log.Print("DBN: Reading (%lu x %lu) %s\n", static_cast<unsigned long>(matrix.rows),
                    static_cast<unsigned long>(matrix.columns),
                    layer.type == "perceptron" ? "perceptron"
                    : layer.IsLinear()         ? "linear layer"
                                               : "non-linear layer");
        const std::string number = std::to_string(index);
        const ComputationNodePtr weights = AddParameter("W" + number, matrix.rows, matrix.columns, matrix.values);
        const ComputationNodePtr bias = AddParameter("B" + number, matrix.rows, 1, layer.bias);
        const ComputationNodePtr sum = AddSum(index, weights, bias, input, isLast);
        if (isLast || layer.IsLinear())
            return sum;
        const std::string name = "H" + std::to_string(index + 1);
        return m_parts.AddDropout(m_parts.AddNonlinearity(index, sum, name), "Drop" + name);
    }

    // Layers that were only pre-trained: the classes are still to be learnt.
    ComputationNodePtr AddOutputLayer(const ComputationNodePtr& input)
    {
        if (m_options.outputLayerSize <= 0)
            Fail(ErrorKind::Config, "the last layer of the DBN file is of type '", m_model.layers.back().type,
                 "', not 'perceptron': the size of the output layer to be added must be given, as in "
                 "outputLayerSize=183");
        const size_t index = m_model.layers.size();
        const std::string number = std::to_string(index);
        const ComputationNodePtr weights =
            m_parts.AddRandom("W" + number, OutputSize(), m_model.layers.back().weights.rows);
        return AddSum(index, weights, m_parts.AddFixed("B" + number, OutputSize(), 1, 0), input, true);
    }

    void SetStatistics()
    {
        const auto set = [](const ComputationNodePtr& node, const std::vector<double>& values)
        { std::dynamic_pointer_cast<PrecomputeNode>(node)->SetComputed(values); };
        if (!m_model.prior.empty())
            set(m_prior, m_model.prior);
        // The statistics of one frame hold for all frames of a window.
        std::vector<double> mean(m_model.InputSize());
        std::vector<double> inverse(m_model.InputSize());
        for (size_t i = 0; i < mean.size(); ++i)
        {
            const size_t row = i % m_model.mean.size();
            if (!(m_model.deviation[row] > 0))
                Fail(ErrorKind::Model, "the deviation of feature ", row + 1, " in the DBN file is ",
                     m_model.deviation[row], "; expected a number above 0");
            mean[i] = m_model.mean[row];
            inverse[i] = 1 / m_model.deviation[row];
        }
        set(m_mean, mean);
        set(m_deviation, inverse);
    }

    const DbnModel& m_model;
    ComputationNetwork& m_network;
    NetworkParts m_parts;
    const SimpleNetworkOptions& m_options;
    Log& m_log;
    ComputationNodePtr m_mean;
    ComputationNodePtr m_deviation;
    ComputationNodePtr m_prior;
};

class ConvertDbnJob final : public Job
{
public:
    explicit ConvertDbnJob(const CommandContext& command)
        : m_command(command), m_dbnPath(ResolveInputPath(ReadOptions<ConvertDbnOptions>(command.block).dbnModelPath)),
          m_options(ReadConvertedNetworkOptions(command.block)), m_modelPath(RequireModelPath(command))
    {
        if (!FileExists(m_dbnPath) && !IsExported())
            FailAt(command.block.WhereOf("dbnModelPath"), ErrorKind::Config, "dbnModelPath: file '", m_dbnPath,
                   "' does not exist", NearFilesHint(m_dbnPath));
        RequireNotRead({"modelPath", m_modelPath}, {{"dbnModelPath", m_dbnPath}}, PlaceOf(command, "modelPath"));
    }

    std::vector<std::string> Produces() const override { return {m_modelPath}; }

    void Run() override
    {
        m_dbnPath = ResolveInputPath(m_dbnPath); // it may have been made meanwhile
        RequireWritable(m_modelPath);
        SaveMadeModel(*Convert(), m_modelPath, m_command.program.log);
    }

    void Check() override
    {
        ProgramContext& program = m_command.program;
        if (const PlannedModel* const exported = program.planned.Find(m_dbnPath))
        {
            program.log.Print("Command '%s': %s; what it does with it is not checked.\n", m_command.name.c_str(),
                              exported->WhyUnknown(m_dbnPath).c_str());
            program.planned.SaveUnknown(m_modelPath);
            return;
        }
        program.planned.Save(m_modelPath, *Convert());
    }

private:
    // Whether a command before makes the file.
    bool IsExported() const
    {
        const std::vector<std::string>& made = m_command.program.made;
        return std::find(made.begin(), made.end(), CanonicalPath(m_dbnPath)) != made.end();
    }

    // On the CPU whatever deviceId says: nothing is computed.
    std::unique_ptr<ComputationNetwork> Convert() const
    {
        ProgramContext& program = m_command.program;
        const DbnModel model = ReadDbnFile(m_dbnPath);
        auto network = std::make_unique<ComputationNetwork>(program.dataType, MakeCpuDevice({.threads = 1}));
        WithNote([&] { ConvertedNetwork(model, m_options, *network, program.log).Build(); },
                 [&] { return "while converting '" + m_dbnPath + "'"; });
        return network;
    }

    CommandContext m_command;
    std::string m_dbnPath;
    SimpleNetworkOptions m_options;
    std::string m_modelPath;
};

} // namespace

Action MakeConvertDbnAction()
{
    std::vector<OptionInfo> options = DescribeOptions<ConvertDbnOptions>();
    for (OptionInfo& option : DescribeOptions<SimpleNetworkOptions>())
    {
        if (!option.hasNoEffect &&
            std::find(std::begin(c_usedOptions), std::end(c_usedOptions), option.name) == std::end(c_usedOptions))
        {
            option.hasNoEffect = true;
            option.doc = "accepted, without effect: the file says what the network is";
        }
        options.push_back(std::move(option));
    }
    return {"convertdbn",
            {},
            "Makes a model of a file of dbn.exe, which pre-trains deep networks layer by layer.",
            "3.7",
            WithModelPath("the model to write", std::move(options)),
            {},
            [](const CommandContext& command) -> std::unique_ptr<Job>
            { return std::make_unique<ConvertDbnJob>(command); }};
}

} // namespace cntk
