// action=plot (book 3.6): the graph of a model in DOT, and a picture of it by a program of the user's.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Commands/CommandKeys.h"
#include "ActionsLib/Commands/CommandModels.h"
#include "ActionsLib/Commands/LookAhead.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Files/NetworkReport.h"

#include <cerrno>
#include <cstring>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cntk
{

namespace
{

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
            Opt("outputFile", &S::outputFile, "the picture that renderCmd makes"),
            Opt("renderCmd", &S::renderCmd,
                "program and arguments, with <IN> for the DOT file and <OUT> for outputFile; started without a shell"),
        };
    }
};

// Words are separated by blanks; "..." and '...' keep blanks together.
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

// Fails (Device) when the program cannot be started or does not succeed.
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
                   "' has an outputFile but no renderCmd to make it, as in renderCmd=\"dot -Tpng <IN> -o<OUT>\"");
        if (m_options.outputFile.empty() && m_options.renderCmd.find("<OUT>") != std::string::npos)
            FailAt(PlaceOf(command, "renderCmd"), ErrorKind::Config,
                   "renderCmd has <OUT>, but outputFile, which belongs there, is not given");
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
        WriteDotGraph(*Load(), m_options.outputDotFile);
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
            std::string line;
            for (const std::string& word : words)
                line += (line.empty() ? "" : " ") + word;
            log.Print("Executing third-party tool for rendering dot:\n%s\n", line.c_str());
            if (!m_options.outputFile.empty() && m_options.outputFile != "-")
                MakeFoldersFor(m_options.outputFile);
            RunProgramOf(words);
            if (!m_options.outputFile.empty() && m_options.outputFile != "-" && !FileExists(m_options.outputFile))
                Fail(ErrorKind::Device, "renderCmd: '", words[0], "' ended well, but did not make the outputFile '",
                     m_options.outputFile, "'; expected a command that writes <OUT>");
        }
        log.Print("Done.\n");
    }

    void LookAhead(const FilesToCome& files) const override { RequireModelToCome(m_command, m_modelPath, files); }

    void Check() override { LoadModelToCheck(m_command, m_modelPath, MakeCpuDevice({.threads = 1})); }

private:
    std::unique_ptr<ComputationNetwork> Load() const
    {
        return LoadModelOf(m_command, m_modelPath, MakeCpuDevice({.threads = 1}));
    }

    CommandContext m_command;
    std::string m_modelPath;
    PlotOptions m_options;
};

} // namespace

Action MakePlotAction()
{
    return {"plot",
            {},
            "Writes the graph of a model as a DOT file, and starts a program that draws it.",
            "3.6",
            WithModelPath("the model", DescribeOptions<PlotOptions>()),
            {},
            [](const CommandContext& command) -> std::unique_ptr<Job> { return std::make_unique<PlotJob>(command); }};
}

} // namespace cntk
