// action=write (book 3.5.5): writes values of nodes over a data set, as text or through a writer library.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/Actions/TextOutput.h"
#include "ActionsLib/JobParts/CommandSettings.h"
#include "ActionsLib/JobParts/NetworkSource.h"
#include "ActionsLib/JobParts/ReaderSource.h"
#include "Common/Error.h"
#include "Common/FileClashes.h"
#include "Common/PluginLoader.h"
#include "Common/ReaderInterface.h"
#include "Common/Text.h"
#include "ComputationNetwork/Evaluation/Evaluator.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"
#include "Math/Operations.h"

#include <algorithm>
#include <map>

namespace cntk
{

namespace
{

struct WriteOptions : NodesToTrace
{
    Schedule<size_t> minibatchSize = 2048;
    size_t epochSize = 0;
    std::vector<std::string> outputNodeNames;
    std::string outputPath;
    bool nodeUnitTest = false;

    static OptionTable<WriteOptions> Options()
    {
        using S = WriteOptions;
        return WithTraceOptions<S>({
            Opt("minibatchSize", &S::minibatchSize, "samples a minibatch; of a schedule the first value is used",
                Range{1}),
            Opt("epochSize", &S::epochSize, "samples to write; 0: all data"),
            Opt("outputNodeNames", &S::outputNodeNames, "nodes to write; empty: the model's output nodes"),
            Opt("outputPath", &S::outputPath,
                "text files <outputPath>.<node name>; after an error all files are as before; - is standard "
                "output"),
            Opt("nodeUnitTest", &S::nodeUnitTest,
                "gradients of the inputs are not written (gradientcheck of SGD checks them)")
                .WithoutEffect(),
        });
    }
};

// Text files and writers take dense values. Only inputs can be sparse; an input may also have just the sparse form in
// which its data were read.
void CopyDenseValue(const ComputationNode& node, Matrix& target)
{
    if (!node.HasSparseForm())
    {
        target.CopyFrom(node.Value());
        return;
    }
    const SparseView values = node.SparseValue(FrameRange::All());
    target.Resize(values.rows, values.columns);
    Ops::ToDense(values, target.View());
}

// A destination of the nodes' values, minibatch after minibatch.
class Output
{
public:
    virtual ~Output() = default;
    virtual void Write(const std::vector<ComputationNodePtr>& nodes, const std::vector<std::string>& keys) = 0;
    virtual void Finish() = 0;
    // Nodes that must be among the written nodes.
    virtual std::vector<std::string> Wanted() const { return {}; }
    // See IDataWriter.
    virtual void RequireFit(const std::vector<ComputationNodePtr>& /*nodes*/, size_t /*sequences*/) const {}
};

class TextFiles final : public Output
{
public:
    TextFiles(const std::vector<ComputationNodePtr>& nodes, const std::string& path, const OutputFormat& format,
              Log& log)
        : m_isConsole(path == "-")
    {
        for (const ComputationNodePtr& node : nodes)
            m_files.push_back(std::make_unique<TextOutput>(path == "-" ? path : path + "." + node->Name(), node->Name(),
                                                           format, log));
    }

    void Write(const std::vector<ComputationNodePtr>& nodes, const std::vector<std::string>&) override
    {
        for (size_t i = 0; i < nodes.size(); ++i)
        {
            CopyDenseValue(*nodes[i], m_staging);
            m_files[i]->Write(m_staging.ToHost(), nodes[i]->SampleLayout(), nodes[i]->GetMBLayout().get());
            if (m_isConsole) // node by node, with an empty line after each minibatch
                m_files[i]->PutThrough(i + 1 == nodes.size() ? "\n" : "");
        }
    }

    void Finish() override
    {
        for (const std::unique_ptr<TextOutput>& file : m_files)
            file->Stage();
        for (const std::unique_ptr<TextOutput>& file : m_files)
            file->Commit();
    }

    void Prepare(DataType type, Device& device) { m_staging = Matrix(0, 0, type, device); }

private:
    bool m_isConsole;
    std::vector<std::unique_ptr<TextOutput>> m_files;
    Matrix m_staging;
};

template <class ElemType>
class LibraryWriter final : public Output
{
public:
    LibraryWriter(std::unique_ptr<IDataWriter<ElemType>> writer, Device& device)
        : m_writer(std::move(writer)), m_staging(0, 0, DataTypeOf<ElemType>(), device)
    {
    }

    void Write(const std::vector<ComputationNodePtr>& nodes, const std::vector<std::string>& keys) override
    {
        for (const ComputationNodePtr& node : nodes)
        {
            StreamBatch<ElemType>& batch = m_batches[node->Name()];
            CopyDenseValue(*node, m_staging);
            batch.rows = m_staging.Rows();
            batch.columns = m_staging.Columns();
            batch.values.resize(m_staging.Elements());
            m_staging.CopyToHost(batch.values.data());
            batch.layout = node->GetMBLayout();
        }
        m_writer->SaveMinibatch(m_batches, keys);
    }

    void Finish() override { m_writer->Finish(); }
    std::vector<std::string> Wanted() const override { return m_writer->OutputNames(); }
    void RequireFit(const std::vector<ComputationNodePtr>& nodes, size_t sequences) const override
    {
        std::map<std::string, size_t> rows;
        for (const ComputationNodePtr& node : nodes)
            if (node->HasMBLayout())
                rows[node->Name()] = node->SampleElements();
        m_writer->RequireFit(rows, sequences);
    }

private:
    std::unique_ptr<IDataWriter<ElemType>> m_writer;
    std::map<std::string, StreamBatch<ElemType>> m_batches;
    Matrix m_staging;
};

class WriteJob final : public Job
{
public:
    explicit WriteJob(const CommandContext& command)
        : m_command(command), m_reader(RequireReader(command, "reader")),
          m_options(ReadOptions<WriteOptions>(command.block)), m_writer(command.block.FindBlock("writer"))
    {
        m_reader.forWriting = true;
        RegisterDevice(command);
        if (command.block.Find("modelPath"))
            m_modelPath = RequireModelPath(command);
        else
            m_builder = NetworkBuilder::Find(command);
        if (m_modelPath.empty() && m_builder == nullptr)
            RequireModelPath(command);
        if (const ConfigParameters* format = command.block.FindBlock("format"))
            m_format = ReadOutputFormat(*format);
        else if (command.block.FindHere("format"))
            command.block.RequireBlock("format"); // fails: the value is no block
        if (m_writer == nullptr && m_options.outputPath.empty())
            FailAt(command.block.Where(), ErrorKind::Config, "command '", command.name,
                   "' has nowhere to write: give outputPath=<path> for text, or a block writer=[writerType=...]");
        m_options.outputPath = ResolveOutputPath(m_options.outputPath);
        if (m_writer == nullptr)
            return;
        if (const std::optional<ConfigValue> test = m_writer->FindHere("unittest"))
            m_writesInputs = test->AsBool();
        RequireWriterPlugin(command, *m_writer);
    }

    void Run() override
    {
        Log& log = m_command.program.log;
        const std::unique_ptr<ComputationNetwork> network = MakeNetwork();
        const std::vector<ComputationNodePtr> nodes = SelectNodes(*network);
        m_files = TextFilesOf(nodes);
        const std::unique_ptr<MinibatchSource> source = m_reader.Open();
        const std::unique_ptr<Output> output = OpenOutput(nodes, ListedFilesOf(*source));
        const std::vector<ComputationNodePtr> written = m_writesInputs ? InputsBelow(nodes) : nodes;
        RequireWanted(*output, written);
        output->RequireFit(written, SequencesToWrite(*source));

        NodeTracer tracer(*network, m_options, log);
        const std::vector<ComputationNodePtr> roots = tracer.AddTo(nodes);
        tracer.UseLabels(source->Streams());
        source->BindTo(roots);
        EpochRequest request;
        request.minibatchSize = m_options.minibatchSize[0];
        request.eachOnce = true;
        if (m_options.epochSize > 0)
            request.epochSize = m_options.epochSize;
        source->StartEpoch(request);
        Evaluator evaluator(*network, roots, {});
        size_t samples = 0;
        for (size_t minibatch = 0; source->Next(); ++minibatch)
        {
            const auto note = [&] { return "in minibatch " + std::to_string(minibatch + 1); };
            WithNote(
                [&]
                {
                    source->NameSequenceWhereFails([&] { evaluator.Forward(); });
                    if (!tracer.Nodes().empty())
                        tracer.Print(Concat("minibatch ", minibatch + 1));
                    output->Write(written, source->SequenceKeys());
                },
                note);
            log.Print("Minibatch[%lu]: ActualMBSize = %lu\n", static_cast<unsigned long>(minibatch),
                      static_cast<unsigned long>(source->Columns()));
            samples += source->Columns();
        }
        output->Finish();
        if (m_writer == nullptr)
            log.Print("Written to %s*\n", m_options.outputPath.c_str());
        log.Print("Total Samples Evaluated = %lu\n", static_cast<unsigned long>(samples));
    }

    void Validate() const override
    {
        if (m_builder == nullptr)
            RequireModel(m_command, m_modelPath);
        else
            m_builder->Validate(m_command.program);
        if (m_writer != nullptr)
            RequireWriter(m_command, *m_writer);
    }

    std::vector<std::string> Outputs() const override
    {
        if (m_writer != nullptr)
            return FilesOfWriter(*m_writer);
        if (!m_files.empty())
            return m_files;
        std::vector<std::string> files;
        for (const std::string& name : m_options.outputNodeNames)
            files.push_back(m_options.outputPath + "." + name);
        return files.empty() ? std::vector<std::string>{m_options.outputPath} : files; // of nodes that the model names
    }

    void Check() override
    {
        Log& log = m_command.program.log;
        const std::unique_ptr<MinibatchSource> source = m_reader.CanBeChecked() ? m_reader.Open() : nullptr;
        const ListedFiles listed = source != nullptr ? ListedFilesOf(*source) : ListedFiles();
        const bool canOpen = m_writer != nullptr && CanBeChecked(*m_writer, m_command.program);
        if (const ConfigParameters* const format = m_command.block.FindBlock("format");
            m_writer == nullptr && format != nullptr && CanBeChecked(*format, m_command.program))
            ReadOutputLabels(m_format);
        const std::unique_ptr<Output> writer = canOpen ? OpenWriter(*DeviceOf(m_command), listed) : nullptr;
        const std::unique_ptr<ComputationNetwork> network =
            m_builder != nullptr ? MakeNetwork() : LoadModelToCheck(m_command, m_modelPath, DeviceOf(m_command));
        if (network == nullptr)
            return;
        LogNetwork(log, *network, 1);
        const std::vector<ComputationNodePtr> nodes = SelectNodes(*network);
        if (writer != nullptr)
        {
            const std::vector<ComputationNodePtr> written = m_writesInputs ? InputsBelow(nodes) : nodes;
            RequireWanted(*writer, written);
            writer->RequireFit(written, source != nullptr ? SequencesToWrite(*source) : 0);
        }
        else if (m_writer == nullptr)
            RequireTextNotRead(nodes, listed);
        const NodeTracer tracer(*network, m_options, log);
        const std::vector<ComputationNodePtr> traced = tracer.AddTo(nodes);
        if (source != nullptr)
            CheckSource(log, *network, traced, *source, m_options.minibatchSize[0], CheckFor::Evaluation);
    }

private:
    std::unique_ptr<ComputationNetwork> MakeNetwork()
    {
        return m_builder != nullptr ? m_builder->Build(DeviceOf(m_command))
                                    : LoadModelOf(m_command, m_modelPath, DeviceOf(m_command));
    }

    size_t SequencesToWrite(const MinibatchSource& source) const
    {
        return m_options.epochSize > 0 ? 0 : source.SequencesToWrite();
    }

    std::vector<ComputationNodePtr> SelectNodes(const ComputationNetwork& network) const
    {
        return OutputNodesOf(m_command, network, m_options.outputNodeNames, "write");
    }

    std::vector<std::string> TextFilesOf(const std::vector<ComputationNodePtr>& nodes) const
    {
        std::vector<std::string> files;
        for (const ComputationNodePtr& node : nodes)
            files.push_back(m_options.outputPath + "." + node->Name());
        return files;
    }

    // writer=[unittest=true] writes the inputs, which shows whether a reader and a writer agree.
    static std::vector<ComputationNodePtr> InputsBelow(const std::vector<ComputationNodePtr>& nodes)
    {
        std::vector<ComputationNodePtr> inputs;
        for (const ComputationNodePtr& node : ComputationNetwork::Below(nodes))
            if (node->Type().traits.isLeaf && StoredValues(*node) == nullptr)
                inputs.push_back(node);
        return inputs;
    }

    void RequireTextNotRead(const std::vector<ComputationNodePtr>& nodes, const ListedFiles& listed) const
    {
        if (m_options.outputPath == "-")
            return;
        std::vector<NamedFile> read = FilesNamedIn(*m_reader.block);
        read.push_back({"modelPath", m_modelPath});
        read.push_back({"format:labelMappingFile", m_format.labelMappingFile});
        for (const ComputationNodePtr& node : nodes)
        {
            const NamedFile output{"outputPath", m_options.outputPath + "." + node->Name()};
            RequireNotRead(output, read, PlaceOf(m_command, "outputPath"));
            listed.RequireNone(output, PlaceOf(m_command, "outputPath"));
        }
    }

    std::unique_ptr<Output> OpenOutput(const std::vector<ComputationNodePtr>& nodes, const ListedFiles& listed) const
    {
        ProgramContext& program = m_command.program;
        Device& device = *DeviceOf(m_command);
        if (m_writer == nullptr)
        {
            RequireTextNotRead(nodes, listed);
            auto files = std::make_unique<TextFiles>(nodes, m_options.outputPath, m_format, program.log);
            files->Prepare(program.dataType, device);
            return files;
        }
        return OpenWriter(device, listed);
    }

    // Fails if the command does not write a node that the writer requires; warns about listed nodes that it does not
    // take.
    void RequireWanted(const Output& output, const std::vector<ComputationNodePtr>& nodes) const
    {
        const std::vector<std::string> allWanted = output.Wanted();
        std::vector<std::string> names;
        for (const ComputationNodePtr& node : nodes)
            names.push_back(node->Name());
        for (const std::string& wanted : allWanted)
            if (std::none_of(names.begin(), names.end(),
                             [&](const std::string& name) { return EqualsIgnoreCase(name, wanted); }))
                FailAt(m_writer->Where(), ErrorKind::Config, "the ", WriterTypeOf(*m_writer), " needs node '", wanted,
                       "', which the command does not write; it writes ", Join(names, ", "),
                       "; list it in the outputNodeNames of the command", DidYouMean(wanted, names));
        if (allWanted.empty() || m_options.outputNodeNames.empty() || m_writesInputs)
            return;
        for (const std::string& name : names)
            if (std::none_of(allWanted.begin(), allWanted.end(),
                             [&](const std::string& wanted) { return EqualsIgnoreCase(name, wanted); }))
                m_command.program.log.Warn(Concat(m_command.block.WhereOf("outputNodeNames").Location(),
                                                  ": outputNodeNames lists '", name, "', but the ",
                                                  WriterTypeOf(*m_writer), " writes only ", Join(allWanted, ", "),
                                                  "; expected a block ", name, "=[...] in the writer, too"));
    }

    std::unique_ptr<Output> OpenWriter(Device& device, const ListedFiles& listed) const
    {
        const ReaderContext context = WriterContextOf(m_command, *m_writer, listed);
        if (m_command.program.dataType == DataType::Float32)
            return std::make_unique<LibraryWriter<float>>(LoadWriter<float>(WriterTypeOf(*m_writer), context), device);
        return std::make_unique<LibraryWriter<double>>(LoadWriter<double>(WriterTypeOf(*m_writer), context), device);
    }

    CommandContext m_command;
    ReaderSource m_reader;
    WriteOptions m_options;
    std::vector<std::string> m_files; // text files, once the nodes are known
    OutputFormat m_format;
    const ConfigParameters* m_writer;
    bool m_writesInputs = false; // to the writer, instead of the nodes
    std::string m_modelPath;
    std::unique_ptr<NetworkBuilder> m_builder;
};

} // namespace

Action MakeWriteAction()
{
    return {"write",
            {},
            "Writes the values of nodes over a data set, as text files or through a writer library. "
            "writer=[unittest=true] gives the library the inputs instead.",
            "3.5.5",
            WithModelPath("the model; without one, a network is built by SimpleNetworkBuilder or NDLNetworkBuilder",
                          DescribeOptions<WriteOptions>(), false),
            {"reader", "writer", "format"},
            PrepareJob<WriteJob>};
}

} // namespace cntk
