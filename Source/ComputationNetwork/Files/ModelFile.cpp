// Model files: the marks, groups and relations around the fields that nodes read and write themselves; and messages for
// files of other kinds.
#include "ComputationNetwork/Files/ModelFile.h"

#include "Common/Error.h"
#include "Common/File.h"
#include "Common/Text.h"
#include "ComputationNetwork/ModelArchive.h"
#include "ComputationNetwork/Nodes/BatchNormalizationNode.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <system_error>
#include <unordered_set>

namespace cntk
{

namespace
{

// Suggests "; give the model file 'out/m.dnn' beside it" for "out/m.dnn.ckp" and "out/m.dnn.2.ckp".
std::string ModelBeside(const std::string& path)
{
    constexpr std::string_view ending = ".ckp";
    if (path.size() <= ending.size() || !EqualsIgnoreCase(std::string_view(path).substr(path.size() - 4), ending))
        return "; give the model file it was written with";
    const std::string model = path.substr(0, path.size() - ending.size());
    return Concat("; give the model file '", model, "'", FileExists(model) ? "" : " (which does not exist here)");
}

// Returns the version of a checkpoint, or 0 for other files.
uint64_t CheckpointVersion(std::string_view content, const std::string& path)
{
    ByteReader in(content, path, "checkpoint file");
    if (in.Mark("BCKP"))
        return 1;
    if (!in.Mark("BVersion") || in.Left() < sizeof(uint64_t))
        return 0;
    const auto version = in.Read<uint64_t>("version");
    return in.Mark("EVersion") && in.Mark("BCKP") ? version : 0;
}

// Recognises a protobuf message whose first dictionary entry is "version".
bool IsLaterFormat(std::string_view content)
{
    return content.size() > 16 && content[0] == 0x08 && content.substr(0, 64).find("version") != std::string_view::npos;
}

bool IsText(std::string_view content)
{
    return std::none_of(content.begin(), content.end(),
                        [](char c) { return uint8_t(c) < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f'; });
}

std::string FirstLine(std::string_view content)
{
    constexpr size_t longest = 40;
    while (!content.empty())
    {
        const size_t end = std::min(content.find('\n'), content.size());
        const std::string_view line = Trim(content.substr(0, end));
        if (!line.empty())
            return line.size() > longest ? Concat(line.substr(0, longest), "...") : std::string(line);
        content.remove_prefix(std::min(end + 1, content.size()));
    }
    return {};
}

} // namespace

void FailNotAModel(std::string_view content, const std::string& path)
{
    if (content.empty())
        Fail(ErrorKind::Model, "'", path, "' is empty; expected a model file");
    if (const uint64_t version = CheckpointVersion(content, path); version != 0)
        Fail(ErrorKind::Model, "'", path, "' is a training checkpoint (version ", version,
             "), which holds the learner's state and no network", ModelBeside(path));
    if (content.starts_with(std::string_view("DBN\n", 4)) || content.starts_with(std::string_view("DBN\0", 4)))
        Fail(ErrorKind::Model, "'", path,
             "' is a DBN file, not a model; convert it with action=convertdbn and give the model made from it");
    if (IsLaterFormat(content))
        Fail(ErrorKind::Model, "'", path,
             "' is a CNTK 2 model (protobuf); expected a model of format version 1 to 14, as CNTK 1 saved them");
    if (content.size() >= 2 && uint8_t(content[0]) == 0x1F && uint8_t(content[1]) == 0x8B)
        Fail(ErrorKind::Model, "'", path, "' is a gzip-compressed file; unpack it and give the model inside");
    if (IsText(content.substr(0, 4096)))
        Fail(ErrorKind::Model, "'", path, "' is a text file that begins with '", FirstLine(content),
             "'; expected a model file, as the actions train and edit write them");
    ByteReader in(content, path, "model file");
    if (std::string_view("B\0C\0N\0\0\0", 8).starts_with(content.substr(0, 8)))
        Fail(ErrorKind::Model, "model file '", path, "' ends at byte ", content.size(),
             ": expected the mark 'BCN' at byte 0");
    Fail(ErrorKind::Model, "'", path, "' is no model file: expected the mark 'BCN' at byte 0, found ", in.Describe(0));
}

namespace
{

constexpr uint64_t c_newestRead = 14;
constexpr uint64_t c_written = 8;
constexpr size_t c_smallestRecord = 4; // two texts: a lower bound for a count of node records

struct GroupMark
{
    NodeGroup group;
    std::array<std::string_view, 2> begin; // the newer spelling first; the older one is also accepted
    std::array<std::string_view, 2> end;
};
constexpr std::array<GroupMark, c_nodeGroups> c_groupMarks = {{
    {NodeGroup::Feature, {"BFeatureNodes", ""}, {"EFeatureNodes", ""}},
    {NodeGroup::Label, {"BLabelNodes", ""}, {"ELabelNodes", ""}},
    {NodeGroup::Criterion, {"BCriterionNodes", "BCriteriaNodes"}, {"ECriterionNodes", "ECriteriaNodes"}},
    {NodeGroup::Evaluation, {"BEvalNodes", ""}, {"EEvalNodes", ""}},
    {NodeGroup::Output, {"BOutputNodes", ""}, {"EOutputNodes", ""}},
}};

// Type names of old files, in addition to the aliases that scripts may use.
constexpr std::array<std::array<std::string_view, 2>, 9> c_oldTypeNames = {{
    {"ColumnElementTimes", "ElementTimes"},
    {"RowElementTimes", "ElementTimes"},
    {"Scale", "ElementTimes"},
    {"Delay", "PastValue"},
    {"RowSlice", "Slice"},
    {"Transpose", "TransposeDimensions"},
    {"ReconcileMBLayout", "ReconcileDynamicAxis"},
    {"PerDimMeanVarNormalizationNode", "PerDimMeanVarNormalization"},
    {"PerDimMeanVarDeNormalizationNode", "PerDimMeanVarDeNormalization"},
}};

const NodeType& RequireType(const NodeRegistry& registry, const std::string& typeName)
{
    if (const NodeType* type = registry.Find(typeName))
        return *type;
    for (const auto& [oldName, newName] : c_oldTypeNames)
        if (EqualsIgnoreCase(oldName, typeName))
            if (const NodeType* type = registry.Find(newName))
                return *type;
    std::vector<std::string> names;
    for (const NodeType& type : registry.Types())
        names.push_back(type.name);
    Fail(ErrorKind::Model, "unknown node type '", typeName, "'", DidYouMean(typeName, names));
}

// Returns a mark as in the file: 16-bit text with its terminating zero.
std::string BytesOfMark(std::string_view mark)
{
    const std::u16string wide = ToWide(mark);
    return std::string(reinterpret_cast<const char*>(wide.c_str()), 2 * (wide.size() + 1));
}

// Reads the path of a model. A missing file is a Model error. A device, which may never end, is rejected.
std::string RequireModelFile(const std::string& path)
{
    std::string resolved = ResolveInputPath(path);
    if (path == "-")
        return resolved;
    std::error_code error;
    const auto status = std::filesystem::status(resolved, error);
    if (!std::filesystem::exists(status))
    {
        if (status.type() == std::filesystem::file_type::not_found)
            Fail(ErrorKind::Model, "model file '", path, "' does not exist", NearFilesHint(path));
        Fail(ErrorKind::Model, "cannot open model file '", path, "': ", error.message());
    }
    if (!std::filesystem::is_regular_file(status))
        Fail(ErrorKind::Model, "model file '", path, "' is no regular file",
             std::filesystem::is_directory(status) ? " but a folder" : "");
    return resolved;
}

class ModelFileReader
{
public:
    explicit ModelFileReader(const std::string& path)
        : m_file(RequireModelFile(path)), m_text(m_file->Text()), m_path(path),
          m_in(m_text, path, "model file", path != "-")
    {
        ReadBeginning();
    }
    // The bytes must outlive the reader. name: for messages.
    ModelFileReader(std::string_view bytes, const std::string& name)
        : m_text(bytes), m_path(name), m_in(m_text, name, "model file")
    {
        ReadBeginning();
    }

    ByteReader& In() { return m_in; }
    uint64_t Version() const { return m_version; }
    bool IsOldDialect() const { return m_isOldDialect; }
    size_t NodeCount() const { return m_nodeCount; }
    const std::string& Path() const { return m_path; }

    // Reads the precision word of a record. Before version 7, the first matrix of the file determines the precision.
    DataType ReadPrecision(DataType fallback)
    {
        if (m_version < 7)
        {
            if (!m_guessedType)
                m_guessedType = GuessPrecision(fallback);
            return *m_guessedType;
        }
        const size_t position = m_in.Position();
        const std::string word = m_in.WideText("the precision of a node");
        if (word != "float" && word != "double")
            m_in.Damaged(position, "the precision of a node ('float' or 'double')", m_in.Describe(position));
        const DataType type = word == "float" ? DataType::Float32 : DataType::Float64;
        m_hasDouble = m_hasDouble || type == DataType::Float64;
        return type;
    }

    // The precision of the first values, without moving the position. Call before ReadNodes.
    DataType FirstPrecision(DataType fallback)
    {
        if (m_nodeCount == 0)
            return fallback;
        const size_t position = m_in.Position();
        const DataType type = ReadPrecision(fallback);
        m_in.Seek(position);
        return type;
    }
    bool HasDouble() const { return m_hasDouble; } // one of the nodes read has double precision

    // Calls create(type name, node name) and lets the returned node read its fields.
    void ReadNodes(DataType dataType, Device& device,
                   const std::function<ComputationNodePtr(const std::string& type, const std::string& name)>& create)
    {
        ModelArchive archive(m_in, m_version, m_isOldDialect, dataType, device);
        for (size_t i = 0; i < m_nodeCount; i++)
        {
            const DataType precision = ReadPrecision(dataType);
            archive.SetElementType(precision);
            std::string typeName = m_in.WideText("the type of a node");
            // Later versions gave this name to another type.
            if (m_isOldDialect && EqualsIgnoreCase(typeName, "Reshape"))
                typeName = "LegacyReshape";
            const std::string name = m_in.WideText("the name of a node");
            WithNote(
                [&] { create(typeName, name)->SerializeFields(archive); }, [&]
                { return Concat("in the record of node '", name, "' (", typeName, ") of model file '", m_path, "'"); });
        }
        m_in.Expect("ENodeList");
    }

private:
    void ReadBeginning()
    {
        if (!m_in.Mark("BCN"))
            FailNotAModel(m_text, m_path);
        if (m_in.Mark("BVersion"))
        {
            const size_t position = m_in.Position();
            m_version = m_in.Read<uint64_t>("the version of the model");
            m_in.Expect("EVersion");
            if (m_version == 0)
                m_in.Damaged(position, Concat("a version (1 to ", c_newestRead, ")"), "0");
            if (m_version > c_newestRead)
                Fail(ErrorKind::Model, "'", m_path, "' is a model of version ", m_version,
                     ", written by a later program; expected version 1 to ", c_newestRead,
                     "; give a model saved by an earlier program");
        }
        m_isOldDialect = m_version == 1 || (m_version == 2 && (Contains("BCriteriaNodes") || StoresRows()));
        m_nodeCount = m_in.Count("the number of nodes", c_smallestRecord);
        m_in.Expect("BNodeList");
    }

    bool Contains(std::string_view mark) const { return m_text.find(BytesOfMark(mark)) != std::string::npos; }

    // Returns true for files of version 2 whose parameters and inputs store their rows. Later files store 0 before a
    // shape. The marks alone do not show this, because they changed to the present spelling earlier.
    bool StoresRows() const
    {
        for (const std::string_view type : {"LearnableParameter", "InputValue"})
        {
            const std::string mark = BytesOfMark(type);
            const size_t position = m_text.find(mark);
            if (position == std::string::npos)
                continue;
            ByteReader in(m_text, m_path, "model file");
            in.Seek(position + mark.size());
            in.WideText("the name of a node");
            if (type == "LearnableParameter")
                in.ReadBool("whether a parameter is trained");
            return in.Read<uint64_t>("the rows of a node") != 0;
        }
        return false;
    }

    DataType GuessPrecision(DataType fallback) const
    {
        const std::string mark = BytesOfMark("BMAT");
        const size_t position = m_text.find(mark);
        if (position == std::string::npos || position + mark.size() >= m_text.size())
            return fallback;
        const char elementSize = m_text[position + mark.size()];
        return elementSize == 4 ? DataType::Float32 : elementSize == 8 ? DataType::Float64 : fallback;
    }

    std::optional<MappedFile> m_file;
    std::string_view m_text;
    std::string m_path;
    ByteReader m_in;
    uint64_t m_version = 1;
    bool m_isOldDialect = false;
    bool m_hasDouble = false;
    size_t m_nodeCount = 0;
    std::optional<DataType> m_guessedType;
};

void ReadRelations(ModelFileReader& file, ComputationNetwork& network)
{
    ByteReader& in = file.In();
    const auto requireNode = [&](size_t position, const std::string& name)
    {
        if (ComputationNodePtr node = network.Find(name))
            return node;
        in.Damaged(position, "the name of a node of this file", Concat("'", name, "'"));
    };
    in.Expect("BRelation");
    for (size_t i = 0; i < file.NodeCount(); i++)
    {
        size_t position = in.Position();
        const ComputationNodePtr node = requireNode(position, in.WideText("the name of a node"));
        const size_t count = in.Count("the number of inputs of a node", 2);
        std::vector<ComputationNodePtr> inputs;
        for (size_t input = 0; input < count; input++)
        {
            position = in.Position();
            inputs.push_back(requireNode(position, in.WideText("the name of an input")));
        }
        network.SetInputs(node, std::move(inputs));
    }
    in.Expect("ERelation");
}

std::vector<std::pair<size_t, std::string>> ReadNames(ByteReader& in)
{
    std::vector<std::pair<size_t, std::string>> names;
    const size_t count = in.Count("the number of nodes in a group", 2);
    for (size_t i = 0; i < count; i++)
    {
        const size_t position = in.Position();
        names.emplace_back(position, in.WideText("the name of a node"));
    }
    return names;
}

bool MarkEither(ByteReader& in, const std::array<std::string_view, 2>& marks)
{
    return in.Mark(marks[0]) || (!marks[1].empty() && in.Mark(marks[1]));
}

void ReadGroups(ByteReader& in, ComputationNetwork& network)
{
    in.Expect("BRootNodes");
    const auto skipOldGroup = [&]
    {
        // Ignored: the user no longer declares which nodes need care with several sequences.
        if (!in.Mark("BNodesReqMultiSeqHandling"))
            return;
        ReadNames(in);
        in.Expect("ENodesReqMultiSeqHandling");
    };
    for (const GroupMark& mark : c_groupMarks)
    {
        if (mark.group == NodeGroup::Evaluation)
            skipOldGroup();
        if (!MarkEither(in, mark.begin))
        {
            // A group may be absent, but CNTK v1.1 requires the end mark of the label group.
            if (mark.group == NodeGroup::Label)
                MarkEither(in, mark.end);
            continue;
        }
        for (const auto& [position, name] : ReadNames(in))
        {
            const ComputationNodePtr node = network.Find(name);
            if (!node)
                in.Damaged(position, "the name of a node of this file", Concat("'", name, "'"));
            network.AddToGroup(mark.group, node);
        }
        if (!MarkEither(in, mark.end))
            in.Expect(mark.end[0]);
    }
    if (in.Mark("BPairNodes"))
    {
        // Ignored: networks are paired by the code that loads both of them.
        for (const auto& [position, name] : ReadNames(in))
            if (!network.Find(name))
                in.Damaged(position, "the name of a node of this file", Concat("'", name, "'"));
        in.Expect("EPairNodes");
    }
    in.Expect("ERootNodes");
    in.Expect("ECN");
}

// Returns the inputs whose dimensions a convolution or pooling reads, searching upwards from its inputs to nodes that
// produce vectors.
std::unordered_set<const ComputationNode*> InputsOfWindows(const ComputationNetwork& network)
{
    const auto isOneOf = [](const ComputationNode& node, std::initializer_list<std::string_view> types)
    { return std::find(types.begin(), types.end(), node.TypeName()) != types.end(); };
    std::unordered_set<const ComputationNode*> seen;
    std::vector<const ComputationNode*> open;
    for (const ComputationNodePtr& node : network.Nodes())
        if (isOneOf(*node, {"Convolution", "MaxPooling", "AveragePooling"}))
            open.push_back(node.get());
    while (!open.empty())
    {
        const ComputationNode* const node = open.back();
        open.pop_back();
        if (seen.insert(node).second && !isOneOf(*node, {"Times", "TransposeTimes", "LookupTable", "LegacyReshape"}))
            for (const ComputationNodePtr& input : node->Inputs())
                open.push_back(input.get());
    }
    return seen;
}

// Turns inputs of August 2015 into vectors. At that time only windows knew the dimensions of an image; all other nodes
// saw a column. An input of n rows was stored as an image of width 1, height n and one channel. As [1 x 1 x n], its sum
// with a vector would have n x n values.
void MakeVectorsOfOldInputs(const ComputationNetwork& network)
{
    const std::unordered_set<const ComputationNode*> images = InputsOfWindows(network);
    for (const ComputationNodePtr& node : network.Nodes())
        if (auto* const input = As<InputValueNode>(node.get()); input && images.count(input) == 0)
            input->SetSampleShape(TensorShape{input->SampleLayout().Elements()});
}

std::unique_ptr<ComputationNetwork> ReadModel(ModelFileReader& file, DataType dataType, std::shared_ptr<Device> device,
                                              const NodeRegistry& registry)
{
    auto network = std::make_unique<ComputationNetwork>(dataType, device, registry);
    file.ReadNodes(dataType, *device,
                   [&](const std::string& typeName, const std::string& name)
                   { return network->AddUnconnected(RequireType(registry, typeName).name, name); });
    ReadRelations(file, *network);
    if (file.IsOldDialect())
        MakeVectorsOfOldInputs(*network);
    ReadGroups(file.In(), *network);
    WithNote([&] { network->Validate(); }, [&] { return Concat("in the model file '", file.Path(), "'"); });
    return network;
}

// path: for messages.
void WriteModel(const ComputationNetwork& network, ByteWriter& out, const std::string& path)
{
    ModelArchive archive(out);
    const std::vector<ComputationNodePtr> nodes = network.Nodes();

    out.WideText("BCN");
    out.WideText("BVersion");
    out.Write(uint64_t(c_written));
    out.WideText("EVersion");
    out.Write(uint64_t(nodes.size()));

    out.WideText("BNodeList");
    for (const ComputationNodePtr& node : nodes)
    {
        archive.SetElementType(node->GetDataType());
        out.WideText(NameOf(node->GetDataType()));
        out.WideText(node->TypeName());
        out.WideText(node->Name());
        node->SerializeFields(archive);
    }
    out.WideText("ENodeList");

    out.WideText("BRelation");
    for (const ComputationNodePtr& node : nodes)
    {
        out.WideText(node->Name());
        out.Write(uint64_t(node->InputCount()));
        for (const ComputationNodePtr& input : node->Inputs())
        {
            if (!input)
                Fail(ErrorKind::Model, "cannot save the network to '", path, "': node '", node->Name(), "' (",
                     node->TypeName(), ") lacks an input, and such a file could not be read");
            out.WideText((node->InputWhenAlone() ? node->InputWhenAlone() : input)->Name());
        }
    }
    out.WideText("ERelation");

    out.WideText("BRootNodes");
    for (const GroupMark& mark : c_groupMarks)
    {
        out.WideText(mark.begin[0]);
        const auto& group = network.Group(mark.group);
        out.Write(uint64_t(group.size()));
        for (const ComputationNodePtr& node : group)
            out.WideText(node->Name());
        out.WideText(mark.end[0]);
    }
    out.WideText("ERootNodes");
    out.WideText("ECN");
}

} // namespace

std::unique_ptr<ComputationNetwork> LoadModel(const std::string& path, DataType dataType,
                                              std::shared_ptr<Device> device, const NodeRegistry& registry)
{
    ModelFileReader file(path);
    return ReadModel(file, dataType, std::move(device), registry);
}

namespace
{

// open: makes a reader of the file. It is called again for the rare file with mixed precisions that begins with float.
template <class Open>
std::unique_ptr<ComputationNetwork> ReadInItsPrecision(const Open& open, const std::shared_ptr<Device>& device,
                                                       const NodeRegistry& registry)
{
    ModelFileReader file = open();
    const DataType type = file.FirstPrecision(DataType::Float32);
    std::unique_ptr<ComputationNetwork> network = ReadModel(file, type, device, registry);
    if (type == DataType::Float64 || !file.HasDouble())
        return network;
    network.reset();
    ModelFileReader again = open();
    return ReadModel(again, DataType::Float64, device, registry);
}

} // namespace

std::unique_ptr<ComputationNetwork>
LoadModelInItsPrecision(const std::string& path, const std::shared_ptr<Device>& device, const NodeRegistry& registry)
{
    return ReadInItsPrecision([&] { return ModelFileReader(path); }, device, registry);
}

std::unique_ptr<ComputationNetwork> LoadModelFromMemory(std::string_view bytes, const std::string& name,
                                                        std::optional<DataType> dataType,
                                                        const std::shared_ptr<Device>& device,
                                                        const NodeRegistry& registry)
{
    const auto open = [&] { return ModelFileReader(bytes, name); };
    if (!dataType)
        return ReadInItsPrecision(open, device, registry);
    ModelFileReader file = open();
    return ReadModel(file, *dataType, device, registry);
}

void SaveModel(const ComputationNetwork& network, const std::string& path)
{
    ByteWriter out(path);
    WriteModel(network, out, path);
    out.Commit();
}

bool SaveModelIfChanged(const ComputationNetwork& network, const std::string& path)
{
    ByteWriter out(path);
    WriteModel(network, out, path);
    return out.CommitIfChanged();
}

void ReloadParameters(ComputationNetwork& network, const std::string& path)
{
    ModelFileReader file(path);
    const NodeRegistry& registry = network.Registry();
    // The file is read into separate nodes first. A damaged file must not replace only half of the parameters, and the
    // evaluator's views of the memory must stay valid.
    std::vector<std::pair<std::shared_ptr<LearnableParameterNode>, ComputationNodePtr>> parameters;
    std::vector<std::pair<std::shared_ptr<BatchNormalizationNode>, ComputationNodePtr>> normalizations;
    file.ReadNodes(network.GetDataType(), network.GetDevice(),
                   [&](const std::string& typeName, const std::string& name)
                   {
                       const NodeType& type = RequireType(registry, typeName);
                       ComputationNodePtr read =
                           registry.Create(type, name, network.GetDataType(), network.GetDevice());
                       const ComputationNodePtr node = network.Find(name);
                       if (auto target = std::dynamic_pointer_cast<LearnableParameterNode>(node))
                       {
                           if (&node->Type() != &type)
                               Fail(ErrorKind::Model, "model file '", path, "' has a ", type.name, " named '", name,
                                    "', but it is a ", node->TypeName(), " in the network");
                           parameters.emplace_back(std::move(target), read);
                       }
                       else if (auto normalization = std::dynamic_pointer_cast<BatchNormalizationNode>(node);
                                normalization && &node->Type() == &type)
                           normalizations.emplace_back(std::move(normalization), read);
                       else if (node && node->IsPrecomputed() && &node->Type() == &type)
                           return node; // a statistic: read in place
                       return read;
                   });
    for (const auto& [target, source] : parameters)
    {
        const Matrix& values = std::static_pointer_cast<LearnableParameterNode>(source)->Values();
        if (values.Rows() != target->Values().Rows() || values.Columns() != target->Values().Columns())
            Fail(ErrorKind::Model, "parameter '", target->Name(), "' is ", values.Rows(), " x ", values.Columns(),
                 " in the model file '", path, "', but ", target->Values().Rows(), " x ", target->Values().Columns(),
                 " in the network");
    }
    for (const auto& [target, source] : parameters)
        target->Values().CopyFrom(std::static_pointer_cast<LearnableParameterNode>(source)->Values());
    for (const auto& [target, source] : normalizations)
        target->SetMinibatches(std::static_pointer_cast<BatchNormalizationNode>(source)->Minibatches());
}

} // namespace cntk
