// action=export writes weights and networks for other programs; action=import sets weights from an npz file.
#include "ActionsLib/ActionTable.h"
#include "ActionsLib/JobParts/CommandSettings.h"
#include "ActionsLib/JobParts/ErrorPlaces.h"
#include "ActionsLib/JobParts/NetworkSource.h"
#include "Common/Error.h"
#include "Common/File.h"
#include "Common/FileClashes.h"
#include "Common/Text.h"
#include "ComputationNetwork/Files/ModelFile.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "Exchange/NpzFile.h"
#include "Exchange/OnnxExport.h"
#include "Exchange/TextExport.h"
#include "Exchange/ZipArchive.h"

#include <algorithm>
#include <optional>

namespace cntk
{

namespace
{

enum class ExportFormat
{
    Npz,
    Text,
    Onnx
};

using ExportPrecision = std::optional<DataType>;

struct ExportOptions
{
    std::string outputPath;
    std::optional<ConfigValue> format; // read by FormatOf: a block of the write action may have this name, too
    std::vector<std::string> outputNodeNames;
    std::vector<std::string> nodeNames = {"*"};
    ExportPrecision precision;
    std::vector<std::string> wordInputs;
    bool stateInputs = false;
    size_t fixedBatch = 0;
    std::string labelMappingFile;

    static OptionTable<ExportOptions> Options()
    {
        using S = ExportOptions;
        Option<S> format;
        format.info.name = "format";
        format.info.type = "one of npz|text|onnx";
        format.info.doc = "kind of the output; default: by the ending of outputPath. A folder needs format=text";
        format.read = [](S& options, const ConfigValue& value) { options.format = value; };
        // A '*' of a pattern repeats no element of a list, so the list is split here.
        Option<S> nodeNames;
        nodeNames.info.name = "nodeNames";
        nodeNames.info.type = OptionType<std::vector<std::string>>::Name();
        nodeNames.info.doc = "npz and text: names of the parameters to write, with * as in MEL (L1.*)";
        nodeNames.read = [](S& options, const ConfigValue& value)
        {
            options.nodeNames.clear();
            for (const std::string_view pattern : Split(value.Text(), ':'))
                options.nodeNames.emplace_back(Trim(pattern));
        };
        nodeNames.print = [](const S& options) { return Join(options.nodeNames, ":"); };
        return {
            Opt("outputPath", &S::outputPath,
                "the file (npz, onnx) or folder (text) to write; folders on the way are created; written whole or not "
                "at all")
                .Required(),
            format,
            Opt("outputNodeNames", &S::outputNodeNames,
                "onnx: nodes to export, with everything that they need; empty: the model's output nodes"),
            nodeNames,
            Choice("precision", &S::precision, {{"float", DataType::Float32}, {"double", DataType::Float64}},
                   "element type of the output; default: the model file's own, double for a mixed file", {"type"}),
            Opt("wordInputs", &S::wordInputs,
                "onnx: inputs that become word numbers (int64) instead of one-hot values"),
            Opt("stateInputs", &S::stateInputs,
                "onnx: true: recurrent state becomes inputs and outputs, so that sequences can be evaluated in pieces"),
            Opt("fixedBatch", &S::fixedBatch,
                "onnx: number of samples (or of parallel sequences) of each call; 0: any number"),
            Opt("labelMappingFile", &S::labelMappingFile,
                "onnx: file whose lines become the metadata entry 'labels'; empty: none"),
        };
    }
};

struct FormatWord
{
    const char* word;
    const char* ending;
    ExportFormat format;
};
constexpr FormatWord c_formatWords[] = {
    {"npz", ".npz", ExportFormat::Npz}, {"text", nullptr, ExportFormat::Text}, {"onnx", ".onnx", ExportFormat::Onnx}};

// ignoredBlock: the place of a block that is no value of the key; empty: none.
ExportFormat FormatOfEnding(const CommandContext& command, const std::string& path, const SourcePos& ignoredBlock)
{
    const std::string note = !ignoredBlock ? ""
                                           : Concat("the block format=[...] at ", ignoredBlock.Location(),
                                                    " belongs to the write action and is no value of this key");
    const std::string lower = ToLower(path);
    for (const FormatWord& word : c_formatWords)
        if (word.ending != nullptr && lower.ends_with(word.ending))
        {
            if (!note.empty())
                command.program.log.Print("Command '%s': %s; the ending of outputPath gives the format %s.\n",
                                          command.name.c_str(), note.c_str(), word.word);
            return word.format;
        }
    FailAt(PlaceOf(command, "outputPath"), ErrorKind::Config, "the ending of outputPath '", path,
           "' names no format; expected .npz or .onnx, or format=text for a folder", note.empty() ? "" : "; ", note);
}

ExportFormat FormatOf(const CommandContext& command, const ExportOptions& options)
{
    if (!options.format)
        return FormatOfEnding(command, options.outputPath, {});
    if (Trim(options.format->Text()).starts_with('[')) // a block
    {
        if (command.block.ExistsHere("format"))
            options.format->FailExpected("npz, text or onnx");
        return FormatOfEnding(command, options.outputPath, options.format->Where());
    }
    std::vector<std::string> words;
    for (const FormatWord& word : c_formatWords)
        words.emplace_back(word.word);
    return c_formatWords[ReadChoice(*options.format, words)].format;
}

// The lines of a text file, with a newline between two lines.
std::string LinesOf(const std::string& path)
{
    std::vector<std::string> lines;
    const std::string text = ReadTextFile(path);
    for (const std::string_view line : Split(text, '\n'))
        lines.emplace_back(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
    while (!lines.empty() && lines.back().empty())
        lines.pop_back();
    return Join(lines, "\n");
}

// Fails (Data) for a file that does not exist and that no earlier command writes.
void RequireInput(const CommandContext& command, const std::string& key, const std::string& path)
{
    if (!command.program.outputs.WillExist(path))
        FailAt(PlaceOf(command, key), ErrorKind::Data, key, ": '", path,
               "' does not exist, and no earlier command writes it", NearFilesHint(path));
}

// Loads the model in the precision that the config names, else in its own.
std::unique_ptr<ComputationNetwork> LoadModelFor(const CommandContext& command, const std::string& path,
                                                 const ExportPrecision& precision)
{
    return AtPlace(
        [&]
        {
            return precision ? LoadModel(path, *precision, DeviceForModels())
                             : LoadModelInItsPrecision(path, DeviceForModels());
        },
        PlaceOf(command, "modelPath"));
}

// The same for --check: null, with a line in the log, if an earlier command writes the model.
std::unique_ptr<ComputationNetwork> LoadModelToCheckFor(const CommandContext& command, const std::string& path,
                                                        const ExportPrecision& precision)
{
    const std::string writer = command.program.outputs.WriterOf(path);
    if (writer.empty())
        return LoadModelFor(command, path, precision);
    LogUncheckedModel(command, path, writer);
    return nullptr;
}

class ExportJob final : public Job
{
public:
    explicit ExportJob(const CommandContext& command)
        : m_command(command), m_modelPath(RequireModelPath(command)),
          m_options(ReadOptions<ExportOptions>(command.block)), m_format(FormatOf(command, m_options))
    {
        m_options.outputPath = ResolveOutputPath(m_options.outputPath);
        while (m_format == ExportFormat::Text && m_options.outputPath.size() > 1 && m_options.outputPath.ends_with('/'))
            m_options.outputPath.pop_back();
        RequireNotRead({"outputPath", m_options.outputPath},
                       {{"modelPath", m_modelPath}, {"labelMappingFile", m_options.labelMappingFile}},
                       PlaceOf(command, "outputPath"));
        if (m_format == ExportFormat::Npz)
            AtPlace([] { RequireZipArchives(); }, PlaceOf(command, "outputPath"));
        if (m_format == ExportFormat::Onnx)
            AtPlace([] { RequireOnnx(); }, PlaceOf(command, "outputPath"));
    }

    std::vector<std::string> Outputs() const override { return {m_options.outputPath}; }
    void Validate() const override
    {
        RequireModel(m_command, m_modelPath);
        if (!m_options.labelMappingFile.empty())
            RequireInput(m_command, "labelMappingFile", ResolveInputPath(m_options.labelMappingFile));
    }

    void Run() override { Export(*LoadModelFor(m_command, m_modelPath, m_options.precision), true); }

    void Check() override
    {
        if (const auto network = LoadModelToCheckFor(m_command, m_modelPath, m_options.precision))
            Export(*network, false);
    }

private:
    // Does everything but write where `writes` is false.
    void Export(ComputationNetwork& network, bool writes) const
    {
        if (m_format == ExportFormat::Onnx)
            return ExportOnnx(network, writes);
        const ExportedValues values =
            AtPlace([&] { return SelectValues(network, m_options.nodeNames, m_command.program.log); },
                    PlaceOf(m_command, "nodeNames"));
        if (writes && m_format == ExportFormat::Npz)
            WriteNpz(values, network.GetDataType(), m_options.outputPath);
        else if (writes)
            WriteTextFolder(values, m_options.outputPath);
        Report(network, DescribeCounts(values.nodes.size(), values.numbers), writes);
    }

    void ExportOnnx(ComputationNetwork& network, bool writes) const
    {
        OnnxExportOptions options;
        options.outputs = OutputNodesOf(m_command, network, m_options.outputNodeNames, "export");
        options.wordInputs = WordInputsOf(network);
        options.stateInputs = m_options.stateInputs;
        options.fixedBatch = m_options.fixedBatch;
        OnnxResult result = ConvertToOnnx(network, options);
        const std::string labels = ResolveInputPath(m_options.labelMappingFile);
        if (!labels.empty() && (writes || FileExists(labels))) // --check: an earlier command may write the file
            result.model.metadata.emplace_back("labels", LinesOf(labels));
        const OnnxGraph& graph = result.model.graph;
        RequireOnnxSize(result.model);
        if (writes)
            WriteOnnx(result.model, m_options.outputPath);
        for (const std::string& warning : result.warnings)
            m_command.program.log.Warn(warning);
        Report(network,
               Concat(Counted(graph.inputs.size(), "input"), ", ", Counted(graph.outputs.size(), "output"), ", ",
                      Counted(graph.operators.size(), "operator"), ", ",
                      DescribeCounts(result.parameters, result.numbers)),
               writes);
    }

    void Report(const ComputationNetwork& network, const std::string& counts, bool writes) const
    {
        m_command.program.log.Print("%s %s (%s) to '%s'.\n", writes ? "Exported" : "Would export", counts.c_str(),
                                    NameOf(network.GetDataType()), m_options.outputPath.c_str());
    }

    std::vector<ComputationNodePtr> WordInputsOf(const ComputationNetwork& network) const
    {
        std::vector<ComputationNodePtr> inputs;
        std::vector<std::string> names;
        for (const ComputationNodePtr& node : network.Nodes())
            if (As<InputValueNode>(node.get()) != nullptr)
                names.push_back(node->Name());
        for (const std::string& name : m_options.wordInputs)
        {
            inputs.push_back(network.Find(name));
            if (As<InputValueNode>(inputs.back().get()) == nullptr)
                FailAt(PlaceOf(m_command, "wordInputs"), ErrorKind::Config, "wordInputs: '", name,
                       "' is no input of the model; its inputs are ", Join(names, ", "), DidYouMean(name, names));
        }
        return inputs;
    }

    CommandContext m_command;
    std::string m_modelPath;
    ExportOptions m_options;
    ExportFormat m_format;
};

bool HasBuilderOfItsOwn(const CommandContext& command)
{
    return command.block.ExistsHere("SimpleNetworkBuilder") || command.block.ExistsHere("NDLNetworkBuilder");
}

struct ImportJobOptions : ImportOptions
{
    std::string inputPath;
    std::string outputModelPath;

    static OptionTable<ImportJobOptions> Options()
    {
        using S = ImportJobOptions;
        return {
            Opt("inputPath", &S::inputPath, "the npz file with an array <node name>.npy for each parameter to set")
                .Required(),
            Opt("outputModelPath", &S::outputModelPath, "file for the new model; may be modelPath").Required(),
            Opt("requireAll", static_cast<bool S::*>(&S::requireAll),
                "true: every parameter of the network must be in the file"),
            Opt("allowNonFinite", static_cast<bool S::*>(&S::allowNonFinite), "true: NaN and infinities are accepted"),
        };
    }
};

class ImportJob final : public Job
{
public:
    explicit ImportJob(const CommandContext& command)
        : m_command(command), m_options(ReadOptions<ImportJobOptions>(command.block))
    {
        // A builder of the command is nearer than a modelPath further out, which another command may need.
        if (!command.block.Find("modelPath") || (!command.block.ExistsHere("modelPath") && HasBuilderOfItsOwn(command)))
            m_builder = NetworkBuilder::Find(command);
        if (m_builder == nullptr)
            m_modelPath = RequireModelPath(command);
        m_options.inputPath = ResolveInputPath(m_options.inputPath);
        m_options.outputModelPath = ResolveOutputPath(m_options.outputModelPath);
        RequireNotRead({"outputModelPath", m_options.outputModelPath}, {{"inputPath", m_options.inputPath}},
                       PlaceOf(command, "outputModelPath"));
        AtPlace([] { RequireZipArchives(); }, PlaceOf(command, "inputPath"));
    }

    std::vector<std::string> Outputs() const override { return {m_options.outputModelPath}; }

    void Validate() const override
    {
        if (m_builder == nullptr)
            RequireModel(m_command, m_modelPath);
        else
            m_builder->Validate(m_command.program);
        RequireInput(m_command, "inputPath", m_options.inputPath);
    }

    void Run() override
    {
        const auto network = m_builder != nullptr ? m_builder->Build(DeviceForModels())
                                                  : LoadModelFor(m_command, m_modelPath, std::nullopt);
        Report("Imported", Import(*network), *network);
        SaveIfChanged(*network, m_options.outputModelPath, m_command.program.log);
    }

    void Check() override
    {
        const auto network = m_builder != nullptr ? m_builder->BuildForCheck(m_command.program, DeviceForModels())
                                                  : LoadModelToCheckFor(m_command, m_modelPath, std::nullopt);
        const std::string writer = m_command.program.outputs.WriterOf(m_options.inputPath);
        if (!writer.empty())
            m_command.program.log.Print("Command '%s': '%s' comes from command '%s' and is checked when '%s' runs.\n",
                                        m_command.name.c_str(), m_options.inputPath.c_str(), writer.c_str(),
                                        m_command.name.c_str());
        else if (network != nullptr)
            Report("Would import", Import(*network), *network);
    }

private:
    ImportCounts Import(ComputationNetwork& network) const
    {
        return AtPlace([&] { return ReadNpz(network, m_options.inputPath, m_options); },
                       PlaceOf(m_command, "inputPath"));
    }

    void Report(const char* verb, const ImportCounts& counts, const ComputationNetwork& network) const
    {
        Log& log = m_command.program.log;
        log.Print("%s %s (%s) from '%s'.\n", verb, DescribeCounts(counts.parameters, counts.numbers).c_str(),
                  NameOf(network.GetDataType()), m_options.inputPath.c_str());
        if (!counts.unchanged.empty())
            log.Write("Unchanged, because the file does not have them: " + Join(counts.unchanged, ", ") + "\n");
    }

    CommandContext m_command;
    ImportJobOptions m_options;
    std::string m_modelPath;
    std::unique_ptr<NetworkBuilder> m_builder;
};

} // namespace

Action MakeExportAction()
{
    return {"export",
            {},
            "Writes a model for other programs: its weights as numpy arrays (npz) or text, or the network as ONNX. "
            "Needs no device and no reader.",
            "",
            WithModelPath("the model to export", DescribeOptions<ExportOptions>()),
            {},
            PrepareJob<ExportJob>};
}

Action MakeImportAction()
{
    return {"import",
            {},
            "Sets parameters of a network to arrays of a numpy file (npz) and saves the model.",
            "",
            WithModelPath("the model that gets the values; without one, a network is built by SimpleNetworkBuilder or "
                          "NDLNetworkBuilder",
                          DescribeOptions<ImportJobOptions>(), false),
            {},
            PrepareJob<ImportJob>};
}

} // namespace cntk
