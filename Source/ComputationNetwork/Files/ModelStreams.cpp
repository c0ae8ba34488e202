// Reads and writes the fields of nodes.
#include "ComputationNetwork/Files/ModelStreams.h"

#include "Common/Error.h"
#include "ComputationNetwork/Files/MatrixSection.h"

#include <span>

namespace cntk
{

// ---- reading ----

void ModelReader::Field(bool& value)
{
    value = m_in.ReadBool("a boolean field");
}

void ModelReader::Field(int32_t& value)
{
    value = m_in.Read<int32_t>("an integer field");
}

void ModelReader::Field(uint32_t& value)
{
    value = m_in.Read<uint32_t>("an unsigned integer field");
}

void ModelReader::Field(int64_t& value)
{
    value = m_in.Read<int64_t>("a 64-bit integer field");
}

void ModelReader::Field(uint64_t& value)
{
    value = m_in.Read<uint64_t>("a 64-bit unsigned integer field");
}

void ModelReader::Field(float& value)
{
    value = m_in.Read<float>("a float field");
}

void ModelReader::Field(double& value)
{
    value = m_in.Read<double>("a double field");
}

void ModelReader::ElementField(double& value)
{
    if (m_fileType == DataType::Float32)
        value = double(m_in.Read<float>("a number in the node's precision"));
    else
        value = m_in.Read<double>("a number in the node's precision");
}

void ModelReader::WideText(std::string& value)
{
    value = m_in.WideText("a text field");
}

void ModelReader::NarrowText(std::string& value)
{
    value = m_in.NarrowText("a text field");
}

void ModelReader::Shape(TensorShape& shape, bool legacyAllowed)
{
    const size_t position = m_in.Position();
    std::vector<size_t> dims;
    const auto rank = m_in.Read<uint32_t>("the rank of a shape");
    const auto first = m_in.Read<uint32_t>("the first dimension of a shape");
    if (legacyAllowed && first == 0)
    {
        // Rereads the shape as u64 width, height, channels. Rank and first dimension were the halves of the width.
        m_in.Seek(position);
        const auto width = m_in.Read<uint64_t>("the width of a shape");
        const auto height = m_in.Read<uint64_t>("the height of a shape");
        const auto channels = m_in.Read<uint64_t>("the channels of a shape");
        dims = {size_t(channels), size_t(width), size_t(height)};
    }
    else
    {
        if (rank < 1 || rank > TensorShape::c_maxRank)
            m_in.Damaged(position, Concat("the rank of a shape (1 to ", TensorShape::c_maxRank, ")"),
                         std::to_string(rank));
        dims.push_back(first);
        for (uint32_t axis = 1; axis < rank; axis++)
            dims.push_back(m_in.Read<uint32_t>("a dimension of a shape"));
    }
    constexpr size_t mostElements = size_t(1) << 48;
    size_t elements = 1;
    for (const size_t dim : dims)
    {
        if (dim > mostElements || (dim != 0 && elements > mostElements / dim))
            m_in.Damaged(position, "the dimensions of a shape", "dimensions whose product is too large");
        elements *= dim != 0 ? dim : 1;
    }
    shape = TensorShape(std::span<const size_t>(dims));
}

void ModelReader::MatrixField(Matrix& matrix)
{
    matrix = ReadMatrix(m_in, m_dataType, m_device);
}

void ModelReader::List(std::vector<bool>& values)
{
    const size_t count = m_in.Count("the length of a list", 1);
    values.clear();
    for (size_t i = 0; i < count; i++)
        values.push_back(m_in.ReadBool("an element of a list of booleans"));
}

bool ModelReader::Mark(std::string_view mark)
{
    return m_in.Mark(mark);
}

int32_t ModelReader::PeekInt32()
{
    const size_t position = m_in.Position();
    const auto value = m_in.Read<int32_t>("an integer field");
    m_in.Seek(position);
    return value;
}

// ---- writing ----

void ModelWriter::Field(bool& value)
{
    m_out.Write(uint8_t(value));
}

void ModelWriter::Field(int32_t& value)
{
    m_out.Write(value);
}

void ModelWriter::Field(uint32_t& value)
{
    m_out.Write(value);
}

void ModelWriter::Field(int64_t& value)
{
    m_out.Write(value);
}

void ModelWriter::Field(uint64_t& value)
{
    m_out.Write(value);
}

void ModelWriter::Field(float& value)
{
    m_out.Write(value);
}

void ModelWriter::Field(double& value)
{
    m_out.Write(value);
}

void ModelWriter::ElementField(double& value)
{
    if (m_type == DataType::Float32)
        m_out.Write(float(value));
    else
        m_out.Write(value);
}

void ModelWriter::WideText(std::string& value)
{
    m_out.WideText(value);
}

void ModelWriter::NarrowText(std::string& value)
{
    m_out.NarrowText(value);
}

void ModelWriter::Shape(TensorShape& shape, bool)
{
    // Writes at least one dimension, because readers always take a first one.
    const TensorShape written = shape.Rank() > 0 ? shape : TensorShape{1};
    m_out.Write(uint32_t(written.Rank()));
    for (const size_t dim : written.Dims())
        m_out.Write(uint32_t(dim));
}

void ModelWriter::MatrixField(Matrix& matrix)
{
    WriteMatrix(m_out, matrix, m_type);
}

void ModelWriter::List(std::vector<bool>& values)
{
    m_out.Write(uint64_t(values.size()));
    for (const bool value : values)
        m_out.Write(uint8_t(value));
}

bool ModelWriter::Mark(std::string_view mark)
{
    m_out.WideText(mark);
    return true;
}

} // namespace cntk
