// Loads models and answers questions about their nodes.
#include "EvalLibrary/EvaluationModel.h"

#include "Common/Config/Options.h"
#include "Common/Error.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"
#include "EvalLibrary/NetworkCopy.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cntk
{

namespace
{

// The keys of cntk_model_open.
struct OpenOptions
{
    std::string modelPath;
    std::optional<std::string> precision;
    std::string deviceId = "cpu";
    int numCPUThreads = 1;
    std::vector<std::string> outputNodeNames;

    static OptionTable<OpenOptions> Options()
    {
        using S = OpenOptions;
        return {
            Opt("modelPath", &S::modelPath, "the model file").Required().InputFile(),
            Opt("precision", &S::precision, "float or double; without it the precision of the model file", {"type"}),
            Opt("deviceId", &S::deviceId, "cpu or -1: the CPU; auto; 0, 1, ...: a GPU"),
            Opt("numCPUThreads", &S::numCPUThreads, "threads of one evaluation; 0: all cores", Range{0}),
            Opt("outputNodeNames", &S::outputNodeNames, "nodes to evaluate instead of the model's output nodes"),
        };
    }
};

// Products are computed by our own kernels: opening a library of products would change the caller's environment.
CpuOptions CpuOptionsFor(int threads)
{
    CpuOptions options;
    options.threads = threads;
    options.matrixEngine = MatrixEngine::Own;
    return options;
}

std::vector<std::string> NamesOfComputedNodes(const ComputationNetwork& network)
{
    std::vector<std::string> names;
    for (const ComputationNodePtr& node : network.Nodes())
        if (!node->Type().traits.isLeaf && !node->Type().traits.isCriterion)
            names.push_back(node->Name());
    return names;
}

} // namespace

void DescribeNode(const ComputationNode& node, cntk_node_info* info)
{
    if (info == nullptr)
        Fail(ErrorKind::Usage, "info is NULL; expected a cntk_node_info");
    if (info->struct_size < sizeof(size_t) + 2 * sizeof(const char*))
        Fail(ErrorKind::Usage, "struct_size of cntk_node_info is ", info->struct_size,
             "; set it to sizeof(cntk_node_info) before the call");
    const std::span<const size_t> dims = node.SampleLayout().Dims();
    const auto* const input = As<InputValueNode>(&node);
    cntk_node_info full = {};
    full.struct_size = info->struct_size;
    full.name = node.Name().c_str();
    full.type = node.TypeName().c_str();
    full.dims = dims.data();
    full.rank = dims.size();
    full.elements = node.SampleElements();
    full.is_sparse = input != nullptr && input->IsSparseInput();
    full.has_samples = node.HasMBLayout();
    std::memcpy(info, &full, std::min(info->struct_size, sizeof full));
}

void ForgetNode(cntk_node_info* info)
{
    if (info == nullptr || info->struct_size < sizeof(size_t))
        return;
    cntk_node_info empty = {};
    empty.struct_size = info->struct_size;
    std::memcpy(info, &empty, std::min(info->struct_size, sizeof empty));
}

EvaluationModel::EvaluationModel(std::shared_ptr<Device> device, std::unique_ptr<ComputationNetwork> network,
                                 const Settings& settings)
    : m_settings(settings), m_device(std::move(device)), m_network(std::move(network))
{
    m_groups.resize(CNTK_ALL + 1);
    m_groups[CNTK_CRITERIA] = m_network->Group(NodeGroup::Criterion);
    m_groups[CNTK_EVALUATIONS] = m_network->Group(NodeGroup::Evaluation);
    m_groups[CNTK_ALL] = m_network->Nodes();
    for (const ComputationNodePtr& node : m_groups[CNTK_ALL])
    {
        m_nodes[ToLower(node->Name())] = node;
        if (As<InputValueNode>(node.get()) != nullptr)
            m_groups[CNTK_INPUTS].push_back(node);
        if (StoredValues(*node) != nullptr)
            m_groups[CNTK_PARAMETERS].push_back(node);
    }
    m_groups[CNTK_OUTPUTS] = m_network->Group(NodeGroup::Output);
    if (settings.outputs.empty())
        return;
    m_groups[CNTK_OUTPUTS].clear();
    for (const std::string& name : settings.outputs)
        m_groups[CNTK_OUTPUTS].push_back(Require(name));
}

std::shared_ptr<const EvaluationModel> EvaluationModel::Load(const std::string& path, const Settings& settings)
{
    const std::shared_ptr<Device> device = MakeDevice(settings.deviceId, CpuOptionsFor(settings.threads));
    std::unique_ptr<ComputationNetwork> network =
        settings.dataType ? LoadModel(path, *settings.dataType, device) : LoadModelInItsPrecision(path, device);
    return std::shared_ptr<const EvaluationModel>(new EvaluationModel(device, std::move(network), settings));
}

std::shared_ptr<const EvaluationModel> EvaluationModel::LoadMemory(std::string_view bytes, const Settings& settings)
{
    const std::shared_ptr<Device> device = MakeDevice(settings.deviceId, CpuOptionsFor(settings.threads));
    std::unique_ptr<ComputationNetwork> network = LoadModelFromMemory(bytes, "memory", settings.dataType, device);
    return std::shared_ptr<const EvaluationModel>(new EvaluationModel(device, std::move(network), settings));
}

std::shared_ptr<const EvaluationModel> EvaluationModel::Open(const std::string& config)
{
    const std::unique_ptr<ConfigParameters> block = ConfigParameters::Parse(config, "config");
    const OpenOptions options = ReadOptions<OpenOptions>(*block);
    Settings settings;
    settings.deviceId = options.deviceId;
    settings.threads = options.numCPUThreads;
    settings.outputs = options.outputNodeNames;
    if (options.precision)
    {
        if (!EqualsIgnoreCase(*options.precision, "float") && !EqualsIgnoreCase(*options.precision, "double"))
            block->Require(block->Exists("precision") ? "precision" : "type").FailExpected("float or double");
        settings.dataType = EqualsIgnoreCase(*options.precision, "float") ? DataType::Float32 : DataType::Float64;
    }
    return Load(options.modelPath, settings);
}

std::span<const ComputationNodePtr> EvaluationModel::Group(cntk_group group) const
{
    if (size_t(group) >= m_groups.size())
        Fail(ErrorKind::Usage, "there is no group ", int(group), "; expected CNTK_INPUTS to CNTK_ALL");
    return m_groups[size_t(group)];
}

const ComputationNodePtr& EvaluationModel::Require(std::string_view name) const
{
    const auto found = m_nodes.find(ToLower(name));
    if (found != m_nodes.end())
        return found->second;
    std::vector<std::string> names;
    for (const ComputationNodePtr& node : m_groups[CNTK_ALL])
        names.push_back(node->Name());
    Fail(ErrorKind::Model, "the model has no node '", name, "'", DidYouMean(name, names));
}

const Matrix& EvaluationModel::RequireStored(std::string_view name) const
{
    const ComputationNode& node = *Require(name);
    const Matrix* const values = StoredValues(node);
    if (values == nullptr)
        Fail(ErrorKind::Model, "node '", node.Name(), "' has the type ", node.TypeName(),
             ", whose values the model does not store; expected a parameter");
    return *values;
}

size_t EvaluationModel::ParameterElements(std::string_view name) const
{
    return RequireStored(name).Elements();
}

void EvaluationModel::CopyParameter(std::string_view name, DataType type, void* values) const
{
    const Matrix& stored = RequireStored(name);
    const std::unique_lock lock(m_deviceLock);
    if (stored.Type() == type)
        return stored.CopyToHost(values);
    const std::vector<double> doubles = stored.ToHost();
    VisitType(type,
              [&](auto tag)
              {
                  using T = decltype(tag);
                  std::transform(doubles.begin(), doubles.end(), static_cast<T*>(values),
                                 [](double value) { return T(value); });
              });
}

std::vector<std::string> EvaluationModel::OutputNames(std::span<const char* const> names) const
{
    std::vector<std::string> outputs;
    for (const char* const name : names)
    {
        if (name == nullptr)
            Fail(ErrorKind::Usage, "the name of output ", outputs.size(), " is NULL");
        outputs.push_back(Require(name)->Name());
    }
    if (names.empty())
        for (const ComputationNodePtr& node : m_groups[CNTK_OUTPUTS])
            outputs.push_back(node->Name());
    if (!outputs.empty())
        return outputs;
    const std::vector<std::string> candidates = NamesOfComputedNodes(*m_network);
    if (candidates.empty())
        Fail(ErrorKind::Model, "the model has no node that is computed; there is nothing to evaluate");
    Fail(ErrorKind::Model, "the model names no output node; give the names of outputs, of ", Join(candidates, ", "));
}

std::unique_ptr<ComputationNetwork> EvaluationModel::MakeNetwork(const std::vector<std::string>& outputs) const
{
    const std::lock_guard lock(m_copyLock); // saving the fields of a node may write to the node
    const bool isOnCpu = m_device->IsHostMemory();
    return CopyNetwork(*m_network, outputs, isOnCpu ? MakeCpuDevice(CpuOptionsFor(m_settings.threads)) : m_device);
}

} // namespace cntk
