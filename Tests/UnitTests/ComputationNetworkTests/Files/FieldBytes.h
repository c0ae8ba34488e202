// The fields of a node as the bytes of a model file, and a node that reads them.
#pragma once

#include "ComputationNetwork/ComputationNode.h"
#include "ComputationNetwork/ModelArchive.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

namespace cntk::Testing
{

class FieldBytes
{
public:
    template <class T>
    FieldBytes& Add(T value)
    {
        m_bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
        return *this;
    }
    FieldBytes& Text(std::string_view text)
    {
        for (const char c : text)
            Add(char16_t(c));
        return Add(char16_t(0));
    }
    FieldBytes& Shape(const std::vector<uint32_t>& dims)
    {
        Add(uint32_t(dims.size()));
        for (const uint32_t dim : dims)
            Add(dim);
        return *this;
    }
    FieldBytes& List(const std::vector<bool>& values)
    {
        Add(uint64_t(values.size()));
        for (const bool value : values)
            Add(value);
        return *this;
    }
    // Appends a matrix of doubles with the values 0, 1, 2, ...
    FieldBytes& DenseMatrix(uint64_t rows, uint64_t columns)
    {
        Add('d').Text("BMAT").Add(uint64_t(8)).Text("unnamed").Add(int32_t(0)).Add(rows).Add(columns);
        for (uint64_t i = 0; i < rows * columns; i++)
            Add(double(i));
        return Text("EMAT");
    }
    // The node reads all of them as those of a file of this version.
    void Load(ComputationNode& node, uint64_t version) const
    {
        ByteReader in(m_bytes, "test.dnn", "model file");
        ModelArchive archive(in, version, false, DataType::Float64, node.GetDevice());
        node.SerializeFields(archive);
        EXPECT_EQ(in.Left(), 0u);
    }

private:
    std::string m_bytes;
};

} // namespace cntk::Testing
