// Actions that describe a model: dumpnode (book 3.5.8) writes nodes and values as text; plot (book 3.6) writes the
// graph in DOT and starts a program that draws it.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/JobParts/CommandSettings.h"
#include "ActionsLib/JobParts/NetworkSource.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/NetworkReport.h"

#include <cerrno>
#include <cstring>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

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

    std::vector<std::string> Outputs() const override { return {m_options.outputFile}; }

    void Run() override
    {
        const std::unique_ptr<ComputationNetwork> network = LoadModelOf(m_command, m_modelPath, DeviceForModels());
        const std::vector<ComputationNodePtr> nodes = SelectNodes(*network);
        if (!m_options.nodeNameRegex.empty())
            m_command.program.log.Print("DumpNodeInfo: dumping node info (%s printing values) to %s\n",
                                        m_options.printValues ? "with" : "without", m_options.outputFile.c_str());
        DumpNodes(nodes, {m_options.printValues, m_options.printMetadata}, m_options.outputFile);
    }

    void Validate() const override { RequireModel(m_command, m_modelPath); }

    void Check() override
    {
        if (const auto network = LoadModelToCheck(m_command, m_modelPath, DeviceForModels()))
            SelectNodes(*network); // warns about unknown names
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

    CommandContext m_command;
    std::string m_modelPath;
    DumpNodeOptions m_options;
};

struct PlotOptions
{
    std::string outputDotFile;
    std::string outputFile;
    std::string renderCmd;

    static OptionTable<PlotOptions> Options()
    {
        using S = PlotOptions;
        return {
            Opt("outputDotFile", &S::outputDotFile, "the DOT file; empty: <modelPath>.dot"),
            Opt("outputFile", &S::outputFile, "the picture that renderCmd writes"),
            Opt("renderCmd", &S::renderCmd,
                "program and arguments, with <IN> for the DOT file and <OUT> for outputFile; started without a shell"),
        };
    }
};

// Splits at blanks; "..." and '...' keep blanks.
std::vector<std::string> SplitCommand(const std::string& command)
{
    std::vector<std::string> words;
    std::string word;
    bool inWord = false;
    char quote = '\0';
    for (const char c : command)
    {
        if (quote != '\0')
        {
            if (c == quote)
                quote = '\0';
            else
                word += c;
        }
        else if (c == '"' || c == '\'')
        {
            quote = c;
            inWord = true;
        }
        else if (c == ' ' || c == '\t')
        {
            if (inWord)
                words.push_back(word);
            word.clear();
            inWord = false;
        }
        else
        {
            word += c;
            inWord = true;
        }
    }
    if (inWord)
        words.push_back(word);
    return words;
}

std::string Replaced(std::string text, const std::string& mark, const std::string& with)
{
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + with.size()))
        text.replace(at, mark.size(), with);
    return text;
}

// Fails (Device) if the program cannot be started or does not succeed.
void RunProgramOf(std::vector<std::string> words)
{
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int problem = posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
    if (problem != 0)
        Fail(ErrorKind::Device, "renderCmd: cannot start '", words[0], "': ", std::strerror(problem));
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        Fail(ErrorKind::Device, "renderCmd: '", words[0], "' ended with ",
             WIFEXITED(status) ? "exit code " + std::to_string(WEXITSTATUS(status))
                               : "signal " + std::to_string(WTERMSIG(status)));
}

class PlotJob final : public Job
{
public:
    explicit PlotJob(const CommandContext& command)
        : m_command(command), m_modelPath(RequireModelPath(command)), m_options(ReadOptions<PlotOptions>(command.block))
    {
        if (!m_options.outputFile.empty() && m_options.renderCmd.empty())
            FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name,
                   "' has an outputFile but no renderCmd that writes it, as in renderCmd=\"dot -Tpng <IN> -o<OUT>\"");
        if (m_options.outputFile.empty() && m_options.renderCmd.find("<OUT>") != std::string::npos)
            FailAt(PlaceOf(command, "renderCmd"), ErrorKind::Config,
                   "renderCmd has <OUT>, but outputFile, which replaces <OUT>, is not given");
        if (m_options.outputDotFile.empty())
            m_options.outputDotFile = m_modelPath + ".dot";
        m_options.outputDotFile = ResolveOutputPath(m_options.outputDotFile);
        m_options.outputFile = ResolveOutputPath(m_options.outputFile);
        const NamedFile model{"modelPath", m_modelPath};
        const NamedFile graph{"outputDotFile", m_options.outputDotFile};
        RequireNotRead(graph, {model}, PlaceOf(command, "outputDotFile"));
        RequireNotRead({"outputFile", m_options.outputFile}, {model, graph}, PlaceOf(command, "outputFile"));
    }

    void Run() override
    {
        Log& log = m_command.program.log;
        WriteDotGraph(*LoadModelOf(m_command, m_modelPath, DeviceForModels()), m_options.outputDotFile);
        log.Print("Created network description in dot format: %s\n", m_options.outputDotFile.c_str());
        if (!m_options.renderCmd.empty())
        {
            std::vector<std::string> words = SplitCommand(m_options.renderCmd);
            for (std::string& word : words)
            {
                word = Replaced(word, "<IN>", m_options.outputDotFile);
                if (!m_options.outputFile.empty())
                    word = Replaced(word, "<OUT>", m_options.outputFile);
            }
            log.Print("Executing third-party tool for rendering dot:\n%s\n", Join(words, " ").c_str());
            if (!m_options.outputFile.empty() && m_options.outputFile != "-")
                MakeFoldersFor(m_options.outputFile);
            RunProgramOf(words);
            if (!m_options.outputFile.empty() && m_options.outputFile != "-" && !FileExists(m_options.outputFile))
                Fail(ErrorKind::Device, "renderCmd: '", words[0], "' ended well, but did not write the outputFile '",
                     m_options.outputFile, "'; expected a command that writes <OUT>");
        }
        log.Print("Done.\n");
    }

    void Validate() const override { RequireModel(m_command, m_modelPath); }

    std::vector<std::string> Outputs() const override
    {
        std::vector<std::string> files{m_options.outputDotFile};
        if (!m_options.outputFile.empty())
            files.push_back(m_options.outputFile);
        return files;
    }

    void Check() override { LoadModelToCheck(m_command, m_modelPath, DeviceForModels()); }

private:
    CommandContext m_command;
    std::string m_modelPath;
    PlotOptions m_options;
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
            PrepareJob<DumpNodeJob>};
}

Action MakePlotAction()
{
    return {"plot",
            {},
            "Writes the graph of a model as a DOT file, and starts a program that draws it.",
            "3.6",
            WithModelPath("the model", DescribeOptions<PlotOptions>()),
            {},
            PrepareJob<PlotJob>};
}

} // namespace cntk
