// action=convertdbn (book 3.7) builds a network from a file of dbn.exe; action=exportdbn writes such a file.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Actions/DbnFile.h"
#include "ActionsLib/JobParts/CommandSettings.h"
#include "ActionsLib/JobParts/NetworkSource.h"
#include "ActionsLib/Networks/NetworkParts.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"

#include <algorithm>
#include <array>

namespace cntk
{
namespace
{

struct DbnOptions
{
    std::string dbnModelPath;

    static OptionTable<DbnOptions> Options()
    {
        return {Opt("dbnModelPath", &DbnOptions::dbnModelPath, "the file of dbn.exe; exportdbn writes it").Required()};
    }
};

// The options of SimpleNetworkBuilder that have an effect; old configs have others as well.
constexpr const char* c_usedOptions[] = {"layerTypes",      "trainingCriterion", "evalCriterion",
                                         "uniformInit",     "initValueScale",    "needPrior",
                                         "addDropoutNodes", "randomSeedOffset",  "outputLayerSize"};

// Builds the network with the names of the original, which scripts use.
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
        static_cast<LearnableParameterNode&>(*node).Values().FromHost(values);
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

    // Adds an output layer with random values to layers that were only pre-trained.
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
        { static_cast<PrecomputeNode&>(*node).SetComputed(values); };
        if (!m_model.prior.empty())
            set(m_prior, m_model.prior);
        // The statistics of one frame are repeated for all frames of a window.
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
        : m_command(command), m_dbnPath(ReadOptions<DbnOptions>(command.block).dbnModelPath),
          m_options(ReadConvertedNetworkOptions(command.block)), m_modelPath(RequireModelPath(command))
    {
        if (!command.program.outputs.WillExist(m_dbnPath))
            FailAt(command.block.WhereOf("dbnModelPath"), ErrorKind::Config, "dbnModelPath: file '",
                   ResolveInputPath(m_dbnPath), "' does not exist", NearFilesHint(m_dbnPath));
        RequireNotRead({"modelPath", m_modelPath}, {{"dbnModelPath", m_dbnPath}}, PlaceOf(command, "modelPath"));
    }

    std::vector<std::string> Outputs() const override { return {m_modelPath}; }

    void Run() override
    {
        RequireWritable(m_modelPath);
        SaveIfChanged(*Convert(), m_modelPath, m_command.program.log);
    }

    void Check() override
    {
        if (const std::string writer = m_command.program.outputs.WriterOf(m_dbnPath); !writer.empty())
            LogUncheckedModel(m_command, m_dbnPath, writer);
        else
            Convert();
    }

private:
    std::unique_ptr<ComputationNetwork> Convert() const
    {
        ProgramContext& program = m_command.program;
        const DbnModel model = ReadDbnFile(ResolveInputPath(m_dbnPath));
        auto network = std::make_unique<ComputationNetwork>(program.dataType, DeviceForModels());
        WithNote([&] { ConvertedNetwork(model, m_options, *network, program.log).Build(); },
                 [&] { return "while converting '" + m_dbnPath + "'"; });
        return network;
    }

    CommandContext m_command;
    std::string m_dbnPath;
    SimpleNetworkOptions m_options;
    std::string m_modelPath;
};

// Null for nodes without stored values and for statistics that are not computed yet.
const Matrix* KnownValues(const ComputationNode& node)
{
    return node.IsPrecomputed() && node.ReadsInputs() ? nullptr : StoredValues(node);
}

const Matrix* ParameterValues(const ComputationNode& node)
{
    return node.IsPrecomputed() ? nullptr : StoredValues(node);
}

// Follows the layers from the features on. A layer is a product, a sum with a bias, perhaps a Sigmoid and a Dropout.
class LayerFinder
{
public:
    explicit LayerFinder(const ComputationNetwork& network) : m_network(network) {}

    DbnModel Find()
    {
        const std::vector<ComputationNodePtr>& features = m_network.Group(NodeGroup::Feature);
        if (features.size() != 1)
            Fail(ErrorKind::Model, "a DBN has one input, but the network has ", features.size(), " feature nodes");
        ComputationNodePtr current = TakeNormalization(features.front());
        while (const ComputationNodePtr product = ConsumerOf(current, "Times", 1))
            current = TakeLayer(product);
        if (m_model.layers.empty())
            Fail(ErrorKind::Model, "no layer follows '", current->Name(),
                 "': expected a product of a parameter with it");
        m_model.layers.back().type = "perceptron";
        TakePrior();
        return std::move(m_model);
    }

    bool HasPrior() const { return m_hasPrior; }

private:
    // The consumer of this type that has the node as its input of this number; null if there is none.
    ComputationNodePtr ConsumerOf(const ComputationNodePtr& node, std::string_view type, size_t input) const
    {
        ComputationNodePtr found;
        for (const ComputationNodePtr& consumer : m_network.Nodes())
        {
            if (consumer->TypeName() != type || input >= consumer->InputCount() || consumer->Input(input) != node)
                continue;
            if (found)
                Fail(ErrorKind::Model, "'", node->Name(), "' goes into '", found->Name(), "' and '", consumer->Name(),
                     "'; a DBN is a chain of layers");
            found = consumer;
        }
        return found;
    }

    ComputationNodePtr TakeNormalization(const ComputationNodePtr& features)
    {
        const ComputationNodePtr normalized = ConsumerOf(features, "PerDimMeanVarNormalization", 0);
        m_model.mean.assign(features->SampleElements(), 0);
        m_model.deviation.assign(features->SampleElements(), 1);
        if (!normalized)
            return features;
        const Matrix* const mean = KnownValues(*normalized->Input(1));
        const Matrix* const inverse = KnownValues(*normalized->Input(2));
        if (mean == nullptr || inverse == nullptr)
            Fail(ErrorKind::Model, "the mean and deviation of '", normalized->Name(), "' are no numbers of the model");
        m_model.mean = mean->ToHost();
        m_model.deviation = inverse->ToHost();
        for (double& value : m_model.deviation)
            value = 1 / value;
        TakeOneFrame();
        return normalized;
    }

    // Shortens repeated statistics of a window of frames to the statistics of one frame.
    void TakeOneFrame()
    {
        const size_t size = m_model.mean.size();
        const auto repeats = [](const std::vector<double>& values, size_t period)
        { return std::equal(values.begin() + std::ptrdiff_t(period), values.end(), values.begin()); };
        for (size_t frames = 51; frames >= 3; frames -= 2)
            if (size % frames == 0 && repeats(m_model.mean, size / frames) && repeats(m_model.deviation, size / frames))
            {
                m_model.mean.resize(size / frames);
                m_model.deviation.resize(size / frames);
                return;
            }
    }

    ComputationNodePtr TakeLayer(const ComputationNodePtr& product)
    {
        const ComputationNodePtr weights = product->Input(0);
        if (weights->TypeName() == "Times") // after an SVD: two layers
            AddLinear(*weights->Input(1));
        AddLinear(weights->TypeName() == "Times" ? *weights->Input(0) : *weights);
        DbnLayer& layer = m_model.layers.back();

        ComputationNodePtr current = product;
        for (const size_t side : {0, 1})
            if (const ComputationNodePtr sum = ConsumerOf(product, "Plus", side))
            {
                const Matrix* const bias = ParameterValues(*sum->Input(1 - side));
                if (bias == nullptr || bias->Elements() != layer.bias.size())
                    Fail(ErrorKind::Model, "'", sum->Name(), "' adds no bias of ", Counted(layer.bias.size(), "value"));
                layer.bias = bias->ToHost();
                current = sum;
            }
        constexpr std::array<const char*, 4> others = {"Tanh", "RectifiedLinear", "Exp", "Cosine"};
        for (const char* other : others)
            if (const ComputationNodePtr node = ConsumerOf(current, other, 0))
                Fail(ErrorKind::Model, "'", node->Name(), "' (", other,
                     ") cannot be written: the layers of a DBN are linear or end in a Sigmoid");
        if (const ComputationNodePtr sigmoid = ConsumerOf(current, "Sigmoid", 0))
        {
            layer.type = m_model.layers.size() == 1 ? "rbmgaussbernoulli" : "rbmbernoullibernoulli";
            current = sigmoid;
        }
        if (const ComputationNodePtr dropout = ConsumerOf(current, "Dropout", 0))
            current = dropout;
        return current;
    }

    void AddLinear(const ComputationNode& node)
    {
        const Matrix* const values = ParameterValues(node);
        if (values == nullptr)
            Fail(ErrorKind::Model, "'", node.Name(), "' (", node.TypeName(),
                 ") is no parameter; the weights of a DBN are");
        m_model.layers.push_back({"rbmisalinearbernoulli",
                                  {values->Rows(), values->Columns(), values->ToHost()},
                                  std::vector<double>(values->Rows(), 0)});
    }

    void TakePrior()
    {
        const size_t classes = m_model.layers.back().weights.rows;
        m_model.prior.assign(classes, 1.0 / double(classes));
        for (const ComputationNodePtr& node : m_network.Nodes())
        {
            const Matrix* const values = KnownValues(*node);
            if (values == nullptr || values->Elements() != classes ||
                ToLower(node->Name()).find("prior") == std::string::npos)
                continue;
            m_model.prior = values->ToHost();
            m_hasPrior = true;
        }
    }

    const ComputationNetwork& m_network;
    DbnModel m_model;
    bool m_hasPrior = false;
};

class ExportDbnJob final : public Job
{
public:
    explicit ExportDbnJob(const CommandContext& command)
        : m_command(command), m_modelPath(RequireModelPath(command)),
          m_dbnPath(ResolveOutputPath(ReadOptions<DbnOptions>(command.block).dbnModelPath))
    {
        RequireNotRead({"dbnModelPath", m_dbnPath}, {{"modelPath", m_modelPath}}, PlaceOf(command, "dbnModelPath"));
    }

    std::vector<std::string> Outputs() const override { return {m_dbnPath}; }

    void Run() override
    {
        const DbnModel model = Convert(*LoadModelOf(m_command, m_modelPath, DeviceForModels()));
        WriteDbnFile(model, m_dbnPath);
        m_command.program.log.Print("DBN: %d layers of %s written to %s\n", int(model.layers.size()),
                                    m_modelPath.c_str(), m_dbnPath.c_str());
    }

    void Validate() const override { RequireModel(m_command, m_modelPath); }

    void Check() override
    {
        if (const auto network = LoadModelToCheck(m_command, m_modelPath, DeviceForModels()))
            Convert(*network);
    }

private:
    DbnModel Convert(const ComputationNetwork& network) const
    {
        LayerFinder finder(network);
        DbnModel model =
            WithNote([&] { return finder.Find(); }, [&] { return "while exporting '" + m_modelPath + "'"; });
        if (!finder.HasPrior())
            m_command.program.log.Warn("exportdbn: the model has no prior of its classes; equal ones are written");
        return model;
    }

    CommandContext m_command;
    std::string m_modelPath;
    std::string m_dbnPath;
};

} // namespace

Action MakeConvertDbnAction()
{
    std::vector<OptionInfo> options = DescribeOptions<DbnOptions>();
    for (OptionInfo& option : DescribeOptions<SimpleNetworkOptions>())
    {
        if (!option.hasNoEffect &&
            std::find(std::begin(c_usedOptions), std::end(c_usedOptions), option.name) == std::end(c_usedOptions))
        {
            option.hasNoEffect = true;
            option.doc = "accepted, without effect: the file describes the network";
        }
        options.push_back(std::move(option));
    }
    return {"convertdbn",
            {},
            "Makes a model of a file of dbn.exe, which pre-trains deep networks layer by layer.",
            "3.7",
            WithModelPath("the model to write", std::move(options)),
            {},
            PrepareJob<ConvertDbnJob>};
}

Action MakeExportDbnAction()
{
    return {"exportdbn",
            {},
            "Writes the layers of a feed-forward network as a file of dbn.exe.",
            "3.7",
            WithModelPath("the model", DescribeOptions<DbnOptions>()),
            {},
            PrepareJob<ExportDbnJob>};
}

} // namespace cntk
