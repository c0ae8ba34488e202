// Writes ONNX files with protozero. Parameters are written from the network's memory, one after the other.
#include "Common/Error.h"
#include "Common/File.h"
#include "Exchange/OnnxModel.h"

#ifdef CNTK_HAS_PROTOZERO
#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_writer.hpp>
#endif

namespace cntk
{

#ifdef CNTK_HAS_PROTOZERO

void RequireOnnx() {}

namespace
{

using protozero::pbf_wire_type;
using protozero::pbf_writer;

// Field numbers of onnx.proto.
namespace Field
{
enum Model : uint32_t
{
    IrVersion = 1,
    ProducerName = 2,
    ProducerVersion = 3,
    ModelGraph = 7,
    OpsetImport = 8,
    Metadata = 14
};
enum Graph : uint32_t
{
    GraphNode = 1,
    GraphName = 2,
    GraphInitializer = 5,
    GraphInput = 11,
    GraphOutput = 12
};
enum Node : uint32_t
{
    NodeInput = 1,
    NodeOutput = 2,
    NodeName = 3,
    NodeType = 4,
    NodeAttribute = 5
};
enum Attribute : uint32_t
{
    AttributeName = 1,
    AttributeFloat = 2,
    AttributeInt = 3,
    AttributeText = 4,
    AttributeGraph = 6,
    AttributeInts = 8,
    AttributeType = 20
};
enum Tensor : uint32_t
{
    TensorDims = 1,
    TensorType = 2,
    TensorName = 8,
    TensorData = 9
};
} // namespace Field

constexpr int64_t c_irVersion = 8;
constexpr int64_t c_opset = 17;

// Values of AttributeProto.AttributeType, in the order of OnnxAttribute's alternatives.
constexpr int32_t c_attributeTypes[] = {2, 1, 3, 7, 5};

void AddGraph(pbf_writer& out, const OnnxGraph& graph);

void AddAttribute(pbf_writer& out, const OnnxAttribute& attribute)
{
    out.add_string(Field::AttributeName, attribute.name);
    if (const auto* integer = std::get_if<int64_t>(&attribute.value))
        out.add_int64(Field::AttributeInt, *integer);
    else if (const auto* number = std::get_if<float>(&attribute.value))
        out.add_float(Field::AttributeFloat, *number);
    else if (const auto* text = std::get_if<std::string>(&attribute.value))
        out.add_bytes(Field::AttributeText, *text);
    else if (const auto* integers = std::get_if<std::vector<int64_t>>(&attribute.value))
        for (const int64_t value : *integers)
            out.add_int64(Field::AttributeInts, value);
    else
    {
        pbf_writer graph(out, Field::AttributeGraph);
        AddGraph(graph, *std::get<std::shared_ptr<OnnxGraph>>(attribute.value));
    }
    out.add_enum(Field::AttributeType, c_attributeTypes[attribute.value.index()]);
}

void AddOperator(pbf_writer& out, const OnnxOperator& op)
{
    for (const std::string& input : op.inputs)
        out.add_string(Field::NodeInput, input);
    for (const std::string& output : op.outputs)
        out.add_string(Field::NodeOutput, output);
    out.add_string(Field::NodeName, op.outputs.front()); // values have one producer, so these names are unique
    out.add_string(Field::NodeType, op.type);
    for (const OnnxAttribute& attribute : op.attributes)
    {
        pbf_writer inner(out, Field::NodeAttribute);
        AddAttribute(inner, attribute);
    }
}

void AddValueInfo(pbf_writer& out, const OnnxValueInfo& value)
{
    enum : uint32_t
    {
        Name = 1,
        Type = 2,
        TensorTypeField = 1,
        ElementType = 1,
        Shape = 2,
        Dim = 1,
        DimValue = 1,
        DimName = 2
    };
    out.add_string(Name, value.name);
    pbf_writer type(out, Type);
    pbf_writer tensor(type, TensorTypeField);
    tensor.add_enum(ElementType, int32_t(value.type));
    pbf_writer shape(tensor, Shape);
    for (const OnnxDim& dim : value.dims)
    {
        pbf_writer inner(shape, Dim);
        if (dim.name.empty())
            inner.add_int64(DimValue, dim.size);
        else
            inner.add_string(DimName, dim.name);
    }
}

// Everything of a tensor but its data.
void AddTensorHead(pbf_writer& out, const OnnxTensor& tensor)
{
    for (const int64_t dim : tensor.dims)
        out.add_int64(Field::TensorDims, dim);
    out.add_enum(Field::TensorType, int32_t(tensor.type));
    out.add_string(Field::TensorName, tensor.name);
}

void AddAllButInitializers(pbf_writer& out, const OnnxGraph& graph)
{
    for (const OnnxOperator& op : graph.operators)
    {
        pbf_writer inner(out, Field::GraphNode);
        AddOperator(inner, op);
    }
    out.add_string(Field::GraphName, graph.name);
    for (const OnnxValueInfo& input : graph.inputs)
    {
        pbf_writer inner(out, Field::GraphInput);
        AddValueInfo(inner, input);
    }
    for (const OnnxValueInfo& output : graph.outputs)
    {
        pbf_writer inner(out, Field::GraphOutput);
        AddValueInfo(inner, output);
    }
}

// Graphs of attributes have small initializers only.
void AddGraph(pbf_writer& out, const OnnxGraph& graph)
{
    AddAllButInitializers(out, graph);
    for (const OnnxTensor& tensor : graph.initializers)
    {
        pbf_writer inner(out, Field::GraphInitializer);
        AddTensorHead(inner, tensor);
        inner.add_bytes(Field::TensorData, reinterpret_cast<const char*>(tensor.data), tensor.bytes);
    }
}

// Tag and length of a field that holds bytes or a message.
std::string FieldHead(uint32_t field, uint64_t length)
{
    std::string head;
    protozero::add_varint_to_buffer(&head, (field << 3) | uint32_t(pbf_wire_type::length_delimited));
    protozero::add_varint_to_buffer(&head, length);
    return head;
}

// The bytes of a file in order: short texts, and each parameter's memory after its head.
class OnnxPieces
{
public:
    explicit OnnxPieces(const OnnxModel& model) : m_initializers(model.graph.initializers)
    {
        pbf_writer head(m_head);
        head.add_int64(Field::IrVersion, c_irVersion);
        head.add_string(Field::ProducerName, "CNTK Classic");
        head.add_string(Field::ProducerVersion, CNTK_VERSION);
        {
            pbf_writer opset(head, Field::OpsetImport);
            opset.add_string(1, "");
            opset.add_int64(2, c_opset);
        }
        for (const auto& [key, value] : model.metadata)
        {
            pbf_writer entry(head, Field::Metadata);
            entry.add_string(1, key);
            entry.add_string(2, value);
        }
        std::string graph;
        {
            pbf_writer out(graph);
            AddAllButInitializers(out, model.graph);
        }
        uint64_t graphBytes = graph.size();
        for (const OnnxTensor& tensor : m_initializers)
        {
            std::string inner;
            {
                pbf_writer out(inner);
                AddTensorHead(out, tensor);
            }
            inner += FieldHead(Field::TensorData, tensor.bytes);
            m_tensorHeads.push_back(FieldHead(Field::GraphInitializer, inner.size() + tensor.bytes) + inner);
            graphBytes += m_tensorHeads.back().size() + tensor.bytes;
        }
        m_head += FieldHead(Field::ModelGraph, graphBytes);
        m_bytes = m_head.size() + graphBytes;
        m_head += graph;
    }

    uint64_t Bytes() const { return m_bytes; }

    void Write(AtomicFile& file) const
    {
        file.Write(m_head);
        for (size_t i = 0; i < m_initializers.size(); ++i)
        {
            file.Write(m_tensorHeads[i]);
            file.Write(m_initializers[i].data, m_initializers[i].bytes);
        }
    }

private:
    const std::vector<OnnxTensor>& m_initializers;
    std::string m_head;
    std::vector<std::string> m_tensorHeads;
    uint64_t m_bytes = 0;
};

uint64_t RequireSizeOf(const OnnxPieces& pieces)
{
    constexpr uint64_t c_limit = (uint64_t(1) << 31) - 1;
    if (pieces.Bytes() > c_limit)
        Fail(ErrorKind::Model, "the ONNX file would have ", pieces.Bytes(), " bytes, more than the ", c_limit,
             " that the format allows; give precision=float, or make the model smaller with action=SVD");
    return pieces.Bytes();
}

} // namespace

uint64_t RequireOnnxSize(const OnnxModel& model)
{
    return RequireSizeOf(OnnxPieces(model));
}

void WriteOnnx(const OnnxModel& model, const std::string& path)
{
    const OnnxPieces pieces(model);
    RequireSizeOf(pieces);
    AtomicFile file(path);
    pieces.Write(file);
    file.Commit();
}

#else

void RequireOnnx()
{
    Fail(ErrorKind::Config, "this program was built without protozero, so it writes no ONNX files; build it with "
                            "libprotozero-dev");
}

uint64_t RequireOnnxSize(const OnnxModel&)
{
    RequireOnnx();
    return 0;
}

void WriteOnnx(const OnnxModel&, const std::string&)
{
    RequireOnnx();
}

#endif

} // namespace cntk
