// action=exportdbn: the layers of a feed-forward network as a file of dbn.exe.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Actions/DbnFile.h"
#include "ActionsLib/Commands/CommandKeys.h"
#include "ActionsLib/Commands/CommandModels.h"
#include "ActionsLib/Commands/LookAhead.h"
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

struct ExportDbnOptions
{
    std::string dbnModelPath;

    static OptionTable<ExportDbnOptions> Options()
    {
        return {Opt("dbnModelPath", &ExportDbnOptions::dbnModelPath, "the file to write, for dbn.exe").Required()};
    }
};

// Null also for a statistic that is still to be computed.
const Matrix* KnownValues(const ComputationNode& node)
{
    const auto* const statistic = dynamic_cast<const PrecomputeNode*>(&node);
    return statistic && !statistic->HasComputed() ? nullptr : StoredValues(node);
}

// Follows the layers from the features on: product, sum with a bias, sigmoid or nothing, dropout.
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
    // The node of the type that takes this one as the input of that number; null if there is none.
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

    // Of a window of frames with the same statistics, those of one frame are written.
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
        if (weights->TypeName() == "Times") // of an SVD: two layers
            AddLinear(*weights->Input(1));
        AddLinear(weights->TypeName() == "Times" ? *weights->Input(0) : *weights);
        DbnLayer& layer = m_model.layers.back();

        ComputationNodePtr current = product;
        for (const size_t side : {0, 1})
            if (const ComputationNodePtr sum = ConsumerOf(product, "Plus", side))
            {
                const auto* bias = dynamic_cast<const LearnableParameterNode*>(sum->Input(1 - side).get());
                if (bias == nullptr || bias->Values().Elements() != layer.bias.size())
                    Fail(ErrorKind::Model, "'", sum->Name(), "' adds no bias of ", Counted(layer.bias.size(), "value"));
                layer.bias = bias->Values().ToHost();
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
        const auto* parameter = dynamic_cast<const LearnableParameterNode*>(&node);
        if (parameter == nullptr)
            Fail(ErrorKind::Model, "'", node.Name(), "' (", node.TypeName(),
                 ") is no parameter; the weights of a DBN are");
        const Matrix& values = parameter->Values();
        m_model.layers.push_back({"rbmisalinearbernoulli",
                                  {values.Rows(), values.Columns(), values.ToHost()},
                                  std::vector<double>(values.Rows(), 0)});
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
          m_dbnPath(ResolveOutputPath(ReadOptions<ExportDbnOptions>(command.block).dbnModelPath))
    {
        RequireNotRead({"dbnModelPath", m_dbnPath}, {{"modelPath", m_modelPath}}, PlaceOf(command, "dbnModelPath"));
    }

    std::vector<std::string> Produces() const override { return {m_dbnPath}; }

    void Run() override
    {
        const DbnModel model = Convert(*LoadModelOf(m_command, m_modelPath, MakeCpuDevice({.threads = 1})));
        WriteDbnFile(model, m_dbnPath);
        m_command.program.log.Print("DBN: %d layers of %s written to %s\n", int(model.layers.size()),
                                    m_modelPath.c_str(), m_dbnPath.c_str());
    }

    void LookAhead(const FilesToCome& files) const override { RequireModelToCome(m_command, m_modelPath, files); }

    void Check() override
    {
        if (const auto network = LoadModelToCheck(m_command, m_modelPath, MakeCpuDevice({.threads = 1})))
            Convert(*network);
        m_command.program.planned.SaveUnknown(m_dbnPath);
    }

private:
    // On the CPU whatever deviceId says: nothing is computed.
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

Action MakeExportDbnAction()
{
    return {"exportdbn",
            {},
            "Writes the layers of a feed-forward network as a file of dbn.exe.",
            "3.7",
            WithModelPath("the model", DescribeOptions<ExportDbnOptions>()),
            {},
            [](const CommandContext& command) -> std::unique_ptr<Job>
            { return std::make_unique<ExportDbnJob>(command); }};
}

} // namespace cntk
