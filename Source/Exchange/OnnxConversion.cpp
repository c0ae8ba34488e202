#include "Exchange/OnnxConversion.h"

#include "Common/Error.h"
#include "ComputationNetwork/Nodes/LeafNodes.h"
#include "ComputationNetwork/Nodes/PrecomputeNodes.h"

#include <algorithm>

namespace cntk
{

OnnxConversion::OnnxConversion(const OnnxExportOptions& options, DataType dataType, bool isSequential,
                               const std::vector<std::string>& names)
    : m_options(options), m_dataType(dataType), m_isSequential(isSequential),
      m_builder(dataType, isSequential ? 2 : 1, names)
{
}

// ---- values ----

void OnnxConversion::SetStatic(const ComputationNode& node, std::vector<double> values)
{
    m_static[&node] = std::move(values);
}

void OnnxConversion::SetStatic(const ComputationNode& leaf)
{
    m_static[&leaf];
}

std::vector<double> OnnxConversion::StaticValues(const ComputationNode& node) const
{
    const auto& computed = m_static.at(&node);
    return computed ? *computed : StoredValues(node)->ToHost();
}

OnnxValue OnnxConversion::StaticValueOf(const ComputationNode& node)
{
    const auto known = m_values.find(&node);
    if (known != m_values.end())
        return known->second;
    OnnxDims dims = OnnxDimsOf(node.SampleLayout());
    OnnxValue value;
    if (const Matrix* const stored = StoredValues(node))
        value = m_builder.Initializer(node.Name(), std::move(dims), stored->View());
    else
        value = m_builder.NamedArray(node.Name(), std::move(dims), StaticValues(node));
    m_values[&node] = value;
    return value;
}

OnnxValue OnnxConversion::ValueOf(const ComputationNode& node)
{
    if (m_body != nullptr)
        if (const auto inBody = m_body->values.find(&node); inBody != m_body->values.end())
            return inBody->second;
    if (IsStatic(node))
        return StaticValueOf(node);
    const auto known = m_values.find(&node);
    OnnxValue value;
    if (known != m_values.end())
        value = known->second;
    else if (const auto words = m_words.find(&node); words != m_words.end())
        value = InMainGraph([&] { return OneHot(node, words->second); });
    else
        Fail(ErrorKind::Internal, "the export to ONNX uses '", node.Name(), "' before it is converted");
    return m_body != nullptr ? m_body->scan(value) : value;
}

void OnnxConversion::NameLayout(const MBLayoutPtr& layout, const std::string& dynamicAxis)
{
    m_layoutEndings.try_emplace(layout, m_layoutEndings.empty() ? "" : "." + dynamicAxis);
}

// ---- words ----

void OnnxConversion::SetWords(const ComputationNode& input, size_t count, size_t vocabulary)
{
    m_words[&input] = {input.Name(), count, vocabulary};
}

std::optional<OnnxWords> OnnxConversion::WordsOf(const ComputationNode& node) const
{
    // In a body the words are scanned as dense values.
    const auto words = m_words.find(&node);
    return words == m_words.end() || m_body != nullptr ? std::nullopt : std::optional(words->second);
}

OnnxValue OnnxConversion::OneHot(const ComputationNode& input, const OnnxWords& words)
{
    const bool isFloat = m_dataType == DataType::Float32;
    OnnxDims dims = {int64_t(words.vocabulary)};
    if (words.count > 1)
        dims.insert(dims.begin(), int64_t(words.count));
    std::string hot = m_builder.Append(
        "OneHot", {words.name, m_builder.Integer(int64_t(words.vocabulary)), m_builder.FloatPair(0, 1)},
        {{"axis", int64_t(-1)}});
    if (!isFloat)
        hot = m_builder.Append("Cast", {hot}, {{"to", int64_t(OnnxType::Double)}});
    OnnxValue value = m_builder.Reshaped({hot, dims, true}, OnnxDimsOf(input.SampleLayout()));
    m_values[&input] = value;
    return value;
}

// ---- sequences ----

std::string OnnxConversion::Sequences(const OnnxValue& like)
{
    if (m_sequences.empty())
        m_sequences = m_builder.Append("Shape", {like.name}, {{"start", int64_t(1)}, {"end", int64_t(2)}});
    return m_sequences;
}

void OnnxConversion::DeriveLayout(const MBLayoutPtr& layout, const MBLayoutPtr& source, size_t multiply, size_t divide)
{
    m_derived.try_emplace(layout, Derived{source, multiply, divide});
}

std::string OnnxConversion::Lengths(const MBLayoutPtr& layout)
{
    std::string& name = m_lengths[layout];
    if (!name.empty())
        return name;
    if (const auto derived = m_derived.find(layout); derived != m_derived.end())
    {
        const auto [source, multiply, divide] = derived->second;
        std::string lengths = Lengths(source);
        if (multiply != 1)
            lengths = m_builder.Append("Mul", {lengths, m_builder.Integer(int64_t(multiply))}, {});
        if (divide != 1)
            lengths = m_builder.Append("Div", {lengths, m_builder.Integer(int64_t(divide))}, {});
        return m_lengths[layout] = lengths;
    }
    name = m_builder.Reserve("sequenceLengths" + m_layoutEndings[layout]);
    AddInput(name, OnnxType::Int64, {BatchDim()});
    return name;
}

OnnxValue OnnxConversion::Mask(const MBLayoutPtr& layout, const OnnxValue& like)
{
    const auto known = m_masks.find(layout);
    if (known != m_masks.end())
        return known->second;
    const std::string lengths = Lengths(layout);
    const std::string steps = m_builder.Append(
        "Squeeze",
        {m_builder.Append("Shape", {like.name}, {{"start", int64_t(0)}, {"end", int64_t(1)}}), m_builder.Integers({0})},
        {});
    const std::string times = m_builder.Append("Range", {m_builder.Integer(0), steps, m_builder.Integer(1)}, {});
    const std::string column = m_builder.Append("Unsqueeze", {times, m_builder.Integers({1})}, {});
    const OnnxValue mask{m_builder.Append("Less", {column, lengths}, {}), {}, true};
    m_masks[layout] = mask;
    return mask;
}

// ---- inputs and outputs ----

void OnnxConversion::AddInput(const std::string& name, OnnxType type, std::vector<OnnxDim> dims)
{
    m_builder.Main().inputs.push_back({name, type, std::move(dims)});
}

void OnnxConversion::AddOutput(const std::string& name, OnnxType type, std::vector<OnnxDim> dims)
{
    m_builder.Main().outputs.push_back({name, type, std::move(dims)});
}

OnnxDim OnnxConversion::BatchDim() const
{
    if (m_options.fixedBatch > 0)
        return {int64_t(m_options.fixedBatch)};
    return {0, m_isSequential ? "S" : "N"};
}

std::vector<OnnxDim> OnnxConversion::DimsOf(const OnnxValue& value, const MBLayoutPtr& layout) const
{
    std::vector<OnnxDim> dims;
    if (value.isDynamic && m_isSequential)
    {
        const auto ending = m_layoutEndings.find(layout);
        dims.push_back({0, ending == m_layoutEndings.end() ? value.name + ".T" : "T" + ending->second});
    }
    if (value.isDynamic)
        dims.push_back(BatchDim());
    for (const int64_t dim : value.dims)
        dims.push_back({dim});
    return dims;
}

// ---- nodes ----

std::string RefusalText(const ComputationNode& node, std::string_view why, std::string_view advice)
{
    return Concat("'", node.Name(), "' is a ", node.TypeName(), ", which ", why, "; ", advice);
}

void RefuseOnnx(const ComputationNode& node, std::string_view why, std::string_view advice)
{
    Fail(ErrorKind::Model, RefusalText(node, why, advice));
}

void ReadFields(const ComputationNode& node, const std::function<void(ModelArchive&)>& read)
{
    constexpr uint64_t c_version = 8; // that a ModelArchive writes
    std::string bytes;
    ByteWriter writer(&bytes);
    ModelArchive out(writer);
    out.SetElementType(node.GetDataType());
    const_cast<ComputationNode&>(node).SerializeFields(
        out); // one function for both directions; writing changes nothing
    ByteReader reader(bytes, node.Name(), "record");
    ModelArchive in(reader, c_version, false, node.GetDataType(), node.GetDevice());
    read(in);
}

const OnnxRow* FindOnnxRow(std::string_view type)
{
    for (const auto rows : {OnnxElementwiseRows(), OnnxProductRows(), OnnxShapeRows(), OnnxImageRows(), OnnxTimeRows(),
                            OnnxRefusedRows()})
        for (const OnnxRow& row : rows)
            if (row.type == type)
                return &row;
    return nullptr;
}

std::string RefusalOf(const ComputationNode& node)
{
    const OnnxRow* const row = FindOnnxRow(node.TypeName());
    if (row == nullptr || !row->isRefused)
        return RefusalText(node, "has no counterpart in ONNX", "export nodes that do not need it (outputNodeNames)");
    if (row->exportInstead < 0)
        return RefusalText(node, row->form, "export nodes that do not need it (outputNodeNames)");
    return RefusalText(
        node, row->form,
        Concat("export what it reads: outputNodeNames=", node.Input(size_t(row->exportInstead))->Name()));
}

OnnxValue ConvertNode(OnnxConversion& conversion, const ComputationNode& node)
{
    OnnxBuilder& builder = conversion.Builder();
    const OnnxRow* const row = FindOnnxRow(node.TypeName());
    if (node.IsPrecomputed())
        RefuseOnnx(node, "is not computed yet", "train the model, which computes it, or import its values");
    if (row == nullptr || row->convert == nullptr)
        Fail(ErrorKind::Model, RefusalOf(node));
    builder.SetNode(node.Name());
    const size_t first = builder.Mark();
    OnnxValue value = builder.Reshaped(row->convert(conversion, node, *row), OnnxDimsOf(node.SampleLayout()));
    if (!builder.IsInBody())
        builder.Rename(first, value, node.Name());
    return value;
}

} // namespace cntk
