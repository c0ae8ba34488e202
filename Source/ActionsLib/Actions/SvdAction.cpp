// action=SVD (book 3.5.7): replaces parameters by products of two smaller matrices.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/JobParts/CommandSettings.h"
#include "ActionsLib/JobParts/NetworkSource.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"
#include "ComputationNetwork/NetworkReport.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "Math/Cpu/SingularValues.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

namespace cntk
{
namespace
{

struct SvdOptions
{
    std::string outputModelPath;
    std::string nodeNameRegex;
    double keepRatio = 0.4;
    std::string svdConfig;
    size_t alignedSize = 8;

    static OptionTable<SvdOptions> Options()
    {
        using S = SvdOptions;
        return {
            Opt("outputModelPath", &S::outputModelPath, "Required. File for the new model; if empty, nothing is saved"),
            Opt("nodeNameRegex", &S::nodeNameRegex,
                "regular expression for the names of the parameters to decompose; case counts"),
            Opt("keepRatio", &S::keepRatio, "share of the sum of the singular values to keep, with nodeNameRegex",
                Range{0}),
            Opt("svdConfig", &S::svdConfig,
                "file with lines \"regular expression, blank, share to keep\"; used when nodeNameRegex is empty"),
            Opt("alignedSize", &S::alignedSize, "the number of values kept is rounded up to a multiple of this",
                Range{1, 65536}),
        };
    }
};

// Ratio to keep by regular expression, sorted by the text of the expression as in the original.
using SvdGroups = std::map<std::string, double>;

SvdGroups ReadGroups(const std::string& path)
{
    const std::string resolved = ResolveInputPath(path);
    if (!FileExists(resolved))
        Fail(ErrorKind::Config, "svdConfig: file '", path, "' does not exist", NearFilesHint(resolved));
    const std::string text = ReadTextFile(resolved);
    RequireNoZeroBytes(text, "svdConfig: file '" + path + "'");
    SvdGroups groups;
    size_t number = 0;
    for (const std::string_view whole : Split(text, '\n'))
    {
        ++number;
        const std::string_view line = Trim(whole);
        if (line.empty() || line.front() == '#')
            continue;
        const size_t blank = line.find_first_of(" \t");
        const auto ratio = blank == std::string_view::npos ? std::nullopt : ParseDouble(Trim(line.substr(blank)));
        if (!ratio || !(*ratio >= 0))
            Fail(ErrorKind::Config, path, ":", number, ": '", line,
                 "', expected a regular expression, a blank and the share of the singular values to keep, as in "
                 "'L[12].*W 0.4'");
        const std::string expression(line.substr(0, blank));
        try
        {
            RequireNodeRegex(expression);
        }
        catch (const Error& error)
        {
            Fail(error.Kind(), path, ":", number, ": ", error.Message());
        }
        groups[expression] = *ratio;
    }
    if (groups.empty())
        Fail(ErrorKind::Config, "svdConfig: file '", path, "' names no parameters");
    return groups;
}

// Returns the smallest number of values whose sum exceeds the ratio, rounded up to alignedSize.
size_t RankToKeep(const std::vector<double>& singularValues, double ratio, size_t alignedSize)
{
    double total = 0;
    for (const double value : singularValues)
        total += value;
    size_t rank = 0;
    for (double sum = 0; rank < singularValues.size() && sum <= ratio * total;)
        sum += singularValues[rank++];
    rank = (std::max<size_t>(rank, 1) + alignedSize - 1) / alignedSize * alignedSize;
    return std::min(rank, singularValues.size());
}

class SvdJob final : public Job
{
public:
    explicit SvdJob(const CommandContext& command)
        : m_command(command), m_options(ReadOptions<SvdOptions>(command.block)), m_modelPath(RequireModelPath(command))
    {
        if (!command.block.Exists("outputModelPath"))
            command.block.Require("outputModelPath");
        if (m_options.nodeNameRegex.empty() && m_options.svdConfig.empty())
            FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name,
                   "' has neither nodeNameRegex=<regular expression> nor svdConfig=<file>");
        if (!m_options.nodeNameRegex.empty())
            RequireRegex(command, "nodeNameRegex", m_options.nodeNameRegex);
        m_groups = m_options.nodeNameRegex.empty() ? ReadGroups(m_options.svdConfig)
                                                   : SvdGroups{{m_options.nodeNameRegex, m_options.keepRatio}};
        WarnOfRatios();
        RequireNotRead({"outputModelPath", m_options.outputModelPath},
                       {{"modelPath", m_modelPath}, {"svdConfig", m_options.svdConfig}},
                       PlaceOf(command, "outputModelPath"));
        m_outputPath = m_options.outputModelPath.empty() ? "" : ResolveOutputPath(m_options.outputModelPath);
    }

    std::vector<std::string> Outputs() const override
    {
        return m_outputPath.empty() ? std::vector<std::string>{} : std::vector<std::string>{m_outputPath};
    }

    void Run() override
    {
        const std::unique_ptr<ComputationNetwork> network = LoadModelOf(m_command, m_modelPath, DeviceForModels());
        if (!m_outputPath.empty())
            RequireWritable(m_outputPath);
        size_t group = 0;
        for (const auto& [expression, ratio] : m_groups)
            DecomposeGroup(*network, group++, expression, ratio);
        network->Validate();
        if (!m_outputPath.empty())
            SaveIfChanged(*network, m_outputPath, m_command.program.log);
    }

    void Validate() const override { RequireModel(m_command, m_modelPath); }

    void Check() override
    {
        const std::unique_ptr<ComputationNetwork> network = LoadModelToCheck(m_command, m_modelPath, DeviceForModels());
        if (network == nullptr)
            return;
        for (const auto& [expression, ratio] : m_groups)
            if (ParametersOf(*network, expression).empty())
                WarnOfNoMatch(*network, expression);
    }

private:
    // Warns about ratios above 1, such as 40 for 40 %. The original then keeps all values.
    void WarnOfRatios() const
    {
        for (const auto& [expression, ratio] : m_groups)
            if (ratio > 1)
                m_command.program.log.Warn(Concat("SVD: the share to keep of '", expression, "' is ", ratio,
                                                  ", so all singular values are kept and the model gets larger; "
                                                  "0.4 keeps 40 % of their sum"));
    }

    void DecomposeGroup(ComputationNetwork& network, size_t group, const std::string& expression, double ratio) const
    {
        Log& log = m_command.program.log;
        const std::string line(92, '-');
        log.Print("%s\nParameterSVD: start to process group %d with KeepRatio=%.2f\n%s\n", line.c_str(), int(group),
                  ratio, line.c_str());
        const auto parameters = ParametersOf(network, expression);
        if (parameters.empty())
            WarnOfNoMatch(network, expression);
        for (const auto& parameter : parameters)
            WithNote([&] { Decompose(network, parameter, ratio); },
                     [&] { return "while decomposing parameter '" + parameter->Name() + "'"; });
    }

    static std::vector<std::shared_ptr<LearnableParameterNode>> ParametersOf(const ComputationNetwork& network,
                                                                             const std::string& expression)
    {
        std::vector<std::shared_ptr<LearnableParameterNode>> parameters;
        for (const ComputationNodePtr& node : FindNodesByRegex(network, expression))
            if (auto parameter = std::dynamic_pointer_cast<LearnableParameterNode>(node);
                parameter && parameter->SampleLayout().Rank() <= 2 && parameter->Values().Rows() > 1 &&
                parameter->Values().Columns() > 1)
                parameters.push_back(std::move(parameter));
        return parameters;
    }

    void WarnOfNoMatch(const ComputationNetwork& network, const std::string& expression) const
    {
        const bool isMatched = !FindNodesByRegex(network, expression).empty(); // by vectors, or nodes of other types
        m_command.program.log.Warn("SVD: no matrix of the model has a name that matches '" + expression + "'" +
                                   (isMatched ? "" : NearRegexHint(network, expression)));
    }

    void Decompose(ComputationNetwork& network, const std::shared_ptr<LearnableParameterNode>& parameter,
                   double ratio) const
    {
        const size_t rows = parameter->Values().Rows();
        const size_t columns = parameter->Values().Columns();
        const auto start = std::chrono::steady_clock::now();
        const SingularValues values = DecomposeMatrix(parameter->Values().ToHost(), rows, columns);
        const size_t rank = RankToKeep(values.s, ratio, m_options.alignedSize);
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

        const size_t all = values.s.size();
        std::vector<double> left(rows * rank);
        std::vector<double> right(rank * columns);
        for (size_t k = 0; k < rank; ++k)
        {
            const double root = std::sqrt(values.s[k]);
            for (size_t i = 0; i < rows; ++i)
                left[i + k * rows] = values.u[i + k * rows] * root;
            for (size_t j = 0; j < columns; ++j)
                right[k + j * rank] = values.vt[k + j * all] * root;
        }
        const std::string name = parameter->Name();
        ReplaceByProduct(network, parameter, rank, left, right);
        m_command.program.log.Print("Performing SVD for a %5d-by-%-5d matrix (node name: %-20s) ---  computation time "
                                    "%5.2f secs ;  keep %4.1f%% "
                                    "energy ===> keep %5d svd values (reduce to %4.1f%% parameters) \n",
                                    int(rows), int(columns), name.c_str(), seconds, 100 * ratio, int(rank),
                                    100.0 * double(rank * (rows + columns)) / double(rows * columns));
    }

    static void ReplaceByProduct(ComputationNetwork& network, const std::shared_ptr<LearnableParameterNode>& parameter,
                                 size_t rank, const std::vector<double>& left, const std::vector<double>& right)
    {
        const std::string name = parameter->Name();
        const auto add = [&](const char* ending, const TensorShape& shape, const std::vector<double>& content)
        {
            const ComputationNodePtr node = network.AddParameter(name + ending, shape);
            auto& learnable = static_cast<LearnableParameterNode&>(*node);
            learnable.Values().FromHost(content);
            learnable.SetLearningRateMultiplier(parameter->LearningRateMultiplier());
            return node;
        };
        const ComputationNodePtr u = add("-U", TensorShape{parameter->Values().Rows(), rank}, left);
        const ComputationNodePtr v = add("-V", TensorShape{rank, parameter->Values().Columns()}, right);
        network.Replace(parameter, network.Add("Times", name + "-SVD", {u, v}));
        network.Delete(parameter);
    }

    CommandContext m_command;
    SvdOptions m_options;
    std::string m_modelPath;
    std::string m_outputPath;
    SvdGroups m_groups;
};

} // namespace

Action MakeSvdAction()
{
    return {"SVD",
            {},
            "Makes a model smaller: replaces parameters by products of two smaller matrices (singular value "
            "decomposition).",
            "3.5.7",
            WithModelPath("the model to make smaller", DescribeOptions<SvdOptions>()),
            {},
            PrepareJob<SvdJob>};
}

} // namespace cntk
