// The two directions of the model archive: reading from a file's bytes, and writing them.
#pragma once

#include "ComputationNetwork/Files/ByteStream.h"
#include "ComputationNetwork/Files/ModelArchive.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

class ModelReader final : public ModelArchive
{
public:
    // dataType: precision of the created matrices, independent of the file's.
    ModelReader(ByteReader& in, uint64_t version, bool isOldDialect, DataType dataType, Device& device)
        : m_in(in), m_version(version), m_isOldDialect(isOldDialect), m_fileType(dataType), m_dataType(dataType),
          m_device(device)
    {
    }
    void SetElementType(DataType fileType) { m_fileType = fileType; }

    bool IsLoading() const override { return true; }
    uint64_t Version() const override { return m_version; }
    bool IsOldDialect() const override { return m_isOldDialect; }
    DataType ElementType() const override { return m_fileType; }

    void Field(bool& value) override;
    void Field(int32_t& value) override;
    void Field(uint32_t& value) override;
    void Field(int64_t& value) override;
    void Field(uint64_t& value) override;
    void Field(float& value) override;
    void Field(double& value) override;
    void ElementField(double& value) override;
    void WideText(std::string& value) override;
    void Shape(TensorShape& shape, bool legacyAllowed) override;
    void MatrixField(Matrix& matrix) override;
    void List(std::vector<bool>& values) override;
    void NarrowText(std::string& value) override;
    bool Mark(std::string_view mark) override;
    int32_t PeekInt32() override;

private:
    ByteReader& m_in;
    uint64_t m_version;
    bool m_isOldDialect;
    DataType m_fileType;
    DataType m_dataType;
    Device& m_device;
};

class ModelWriter final : public ModelArchive
{
public:
    explicit ModelWriter(ByteWriter& out) : m_out(out) {}
    void SetElementType(DataType type) { m_type = type; }

    bool IsLoading() const override { return false; }
    uint64_t Version() const override { return 8; }
    bool IsOldDialect() const override { return false; }
    DataType ElementType() const override { return m_type; }

    void Field(bool& value) override;
    void Field(int32_t& value) override;
    void Field(uint32_t& value) override;
    void Field(int64_t& value) override;
    void Field(uint64_t& value) override;
    void Field(float& value) override;
    void Field(double& value) override;
    void ElementField(double& value) override;
    void WideText(std::string& value) override;
    void Shape(TensorShape& shape, bool legacyAllowed) override;
    void MatrixField(Matrix& matrix) override;
    void List(std::vector<bool>& values) override;
    void NarrowText(std::string& value) override;
    bool Mark(std::string_view mark) override;
    int32_t PeekInt32() override { return 0; }

private:
    ByteWriter& m_out;
    DataType m_type = DataType::Float32;
};

} // namespace cntk
