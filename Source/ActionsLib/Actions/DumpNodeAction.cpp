// action=dumpnode (book 3.5.8): nodes of a model and their values as text.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Commands/CommandKeys.h"
#include "ActionsLib/Commands/CommandModels.h"
#include "ActionsLib/Commands/LookAhead.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Files/NetworkReport.h"

namespace cntk
{

namespace
{

constexpr const char* c_allNodes = "__AllNodes__";

struct DumpNodeOptions
{
    std::string nodeName = c_allNodes;
    std::string nodeNameRegex;
    std::string outputFile;
    bool printValues = true;
    bool printMetadata = true;

    static OptionTable<DumpNodeOptions> Options()
    {
        using S = DumpNodeOptions;
        return {
            Opt("nodeName", &S::nodeName, "the node to dump; __AllNodes__: all"),
            Opt("nodeNameRegex", &S::nodeNameRegex,
                "regular expression that must match the whole name, with case; wins over nodeName"),
            Opt("outputFile", &S::outputFile, "empty: <modelPath>.<nodeName>.txt; - is standard output"),
            Opt("printValues", &S::printValues, "print the values of parameters and precomputed nodes"),
            Opt("printMetadata", &S::printMetadata, "print names, types, inputs and shapes"),
        };
    }
};

class DumpNodeJob final : public Job
{
public:
    explicit DumpNodeJob(const CommandContext& command)
        : m_command(command), m_modelPath(RequireModelPath(command)),
          m_options(ReadOptions<DumpNodeOptions>(command.block))
    {
        if (!m_options.printValues && !m_options.printMetadata)
            FailAt(command.block.Where(), ErrorKind::Config,
                   "printValues and printMetadata are both false: there is nothing to dump");
        RequireRegex(command, "nodeNameRegex", m_options.nodeNameRegex);
        if (m_options.outputFile.empty())
            m_options.outputFile = m_modelPath + "." + m_options.nodeName + ".txt";
        m_options.outputFile = ResolveOutputPath(m_options.outputFile);
        RequireNotRead({"outputFile", m_options.outputFile}, {{"modelPath", m_modelPath}},
                       PlaceOf(command, "outputFile"));
    }

    std::vector<std::string> Produces() const override { return {m_options.outputFile}; }

    void Run() override
    {
        const std::unique_ptr<ComputationNetwork> network = Load();
        const std::vector<ComputationNodePtr> nodes = SelectNodes(*network);
        if (!m_options.nodeNameRegex.empty())
            m_command.program.log.Print("DumpNodeInfo: dumping node info (%s printing values) to %s\n",
                                        m_options.printValues ? "with" : "without", m_options.outputFile.c_str());
        DumpNodes(nodes, {m_options.printValues, m_options.printMetadata}, m_options.outputFile);
    }

    void LookAhead(const FilesToCome& files) const override { RequireModelToCome(m_command, m_modelPath, files); }

    void Check() override
    {
        if (const auto network = LoadModelToCheck(m_command, m_modelPath, MakeCpuDevice({.threads = 1})))
            SelectNodes(*network); // tells of names that are not there
        m_command.program.planned.SaveUnknown(m_options.outputFile);
    }

private:
    std::vector<ComputationNodePtr> SelectNodes(const ComputationNetwork& network) const
    {
        Log& log = m_command.program.log;
        if (!m_options.nodeNameRegex.empty())
        {
            const std::vector<ComputationNodePtr> nodes = FindNodesByRegex(network, m_options.nodeNameRegex);
            log.Print("DumpNodeInfo: %d nodes matching RegEx(%s): \n", int(nodes.size()),
                      m_options.nodeNameRegex.c_str());
            for (const ComputationNodePtr& node : nodes)
                log.Print("\t%s\n", node->Name().c_str());
            if (nodes.empty())
                log.Warn(Concat("dumpnode: no node of the model has a name that '", m_options.nodeNameRegex,
                                "' matches as a whole and with case; the file is empty",
                                NearRegexHint(network, m_options.nodeNameRegex)));
            return nodes;
        }
        if (m_options.nodeName == c_allNodes)
            return network.Nodes();
        if (const ComputationNodePtr node = network.Find(m_options.nodeName))
            return {node};
        log.Print("Warning: node name '%s' does not exist in the network. dumping all nodes instead.%s\n",
                  m_options.nodeName.c_str(), NearName(network).c_str());
        return network.Nodes();
    }

    // " Did you mean 'x'?", or nothing.
    std::string NearName(const ComputationNetwork& network) const
    {
        std::string hint = DidYouMean(m_options.nodeName, network.NearestNames(m_options.nodeName));
        return hint.empty() ? hint : " D" + hint.substr(hint.find("did you mean") + 1);
    }

    // On the CPU whatever deviceId says: nothing is computed.
    std::unique_ptr<ComputationNetwork> Load() const
    {
        return LoadModelOf(m_command, m_modelPath, MakeCpuDevice({.threads = 1}));
    }

    CommandContext m_command;
    std::string m_modelPath;
    DumpNodeOptions m_options;
};

} // namespace

Action MakeDumpNodeAction()
{
    return {"dumpnode",
            {},
            "Writes the nodes of a model and the values of its parameters as text.",
            "3.5.8",
            WithModelPath("the model", DescribeOptions<DumpNodeOptions>()),
            {},
            [](const CommandContext& command) -> std::unique_ptr<Job>
            { return std::make_unique<DumpNodeJob>(command); }};
}

} // namespace cntk
