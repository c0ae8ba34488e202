// action=decode and cntk argon (book, chapter 6): compiles a decoding graph, or decodes utterances.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Decoding/NetworkScores.h"
#include "ActionsLib/Decoding/UtteranceFiles.h"
#include "ActionsLib/JobParts/CommandSettings.h"
#include "ActionsLib/JobParts/NetworkSource.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Decoder/DecodeOptions.h"
#include "Decoder/Decoder.h"
#include "Decoder/GraphCompiler.h"

#include <memory>
#include <utility>

namespace cntk
{

namespace
{

std::unique_ptr<ScoreSource> MakeScoreSource(const CommandContext& command, const DecodeOptions& options)
{
    if (options.am.empty())
        return std::make_unique<ScoreFileSource>(options);
    return MakeNetworkScores(options, LoadModelOf(command, options.am, DeviceOf(command), "am"));
}

class DecodeJob final : public Job
{
public:
    explicit DecodeJob(const CommandContext& command) : m_command(command), m_options(ReadDecodeOptions(command.block))
    {
        if (!m_options.am.empty())
            RegisterDevice(command);
        std::vector<NamedFile> named;
        for (const auto& [key, path] : std::initializer_list<std::pair<const char*, std::string>>{
                 {"infsm", m_options.infsm},
                 {"transition-file", m_options.transitionFile},
                 {"lookahead-file", m_options.lookaheadFile},
                 {"model-map", m_options.modelMap},
                 {"graph", m_options.precompile ? std::string() : m_options.graph},
                 {"infiles", m_options.infiles},
                 {"lm", m_options.lm},
                 {"lm-collection", m_options.lmCollection},
                 {"am", m_options.am},
                 {"cntkmap", m_options.cntkmap},
                 {"alignmlf", m_options.alignMlf}})
            if (!path.empty())
                named.push_back({key, path});
        for (const auto& [key, path] : Written())
        {
            RequireNotRead({key, path}, named, PlaceOf(command, key));
            named.push_back({key, path});
        }
    }

    std::vector<std::string> Outputs() const override
    {
        std::vector<std::string> files;
        for (const auto& [key, path] : Written())
            files.push_back(path);
        return files;
    }

    void Check() override
    {
        if (m_options.precompile)
        {
            const GraphTables tables = ReadGraphTables(m_options);
            BuildGraph(ReadAcceptor(m_options.infsm), tables, m_command.program.log);
            return;
        }
        if (!FileExists(m_options.graph) && !m_command.program.outputs.WriterOf(m_options.graph).empty())
            return; // an earlier command compiles it
        const Decoder decoder(m_options, m_command.program.log);
        if (const std::string writer = m_command.program.outputs.WriterOf(m_options.am);
            !m_options.am.empty() && !writer.empty())
            LogUncheckedModel(m_command, m_options.am, writer);
        else
            MakeScoreSource(m_command, m_options);
    }

    void Validate() const override
    {
        if (!m_options.am.empty() && !m_options.precompile)
            RequireModel(m_command, m_options.am, "am");
    }

    void Run() override
    {
        for (const auto& [key, path] : Written())
            RequireWritable(path);
        if (m_options.precompile)
            return CompileGraph(m_options, m_command.program.log);
        Decoder decoder(m_options, m_command.program.log);
        const std::unique_ptr<ScoreSource> source = MakeScoreSource(m_command, m_options);
        const DecodeSummary summary = decoder.Decode(*source);
        if (summary.failed > 0)
            Fail(ErrorKind::Data, summary.failed, " of ", Counted(summary.utterances, "utterance"),
                 " failed, the results of the others are written; ", summary.firstFailure);
    }

private:
    // Options and files.
    std::vector<NamedFile> Written() const
    {
        std::vector<NamedFile> files;
        const auto add = [&](const char* key, const std::string& path)
        {
            if (!path.empty())
                files.push_back({key, path});
        };
        if (m_options.precompile)
        {
            add("graph", m_options.graph);
            return files;
        }
        add("outmlf", m_options.outmlf);
        add("outscores", m_options.outscores);
        add("outnbest", m_options.outnbest);
        add("outctm", m_options.outctm);
        if (!m_options.latticePrefix.empty())
            add("lattice-prefix", m_options.latticePrefix + "toc");
        return files;
    }

    CommandContext m_command;
    DecodeOptions m_options;
};

} // namespace

Action MakeDecodeAction()
{
    return {
        "decode",
        {"argon"},
        "Decodes speech: finds words, states and lattices for utterances with a decoding graph, a language model and "
        "a network, or compiles the graph. cntk argon and the program argon take the same names with a '-' in front.",
        "6.1.3",
        DescribeOptions<DecodeOptions>(),
        {},
        PrepareJob<DecodeJob>};
}

} // namespace cntk
