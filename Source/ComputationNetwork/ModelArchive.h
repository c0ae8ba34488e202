// The model file's fields in one function for both directions: archive.Field(x) reads or writes.
#pragma once

#include "ComputationNetwork/ByteStream.h"
#include "Math/Matrix.h"
#include "Math/TensorShape.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// Little-endian, no padding. Reading checks every size against the bytes left before anything is allocated, and fails
// (ErrorKind::Model) with file and byte position.
class ModelArchive
{
public:
    virtual ~ModelArchive() = default;

    virtual bool IsLoading() const = 0;
    // Version of the file being read (1..14); 8 when writing.
    virtual uint64_t Version() const = 0;
    // True for files of version 1 and for the version-2 dialect of August 2015 (root mark "BCriteriaNodes").
    virtual bool IsOldDialect() const = 0;
    // The precision in which the node's numbers stand in the file.
    virtual DataType ElementType() const = 0;

    virtual void Field(bool& value) = 0;
    virtual void Field(int32_t& value) = 0;
    virtual void Field(uint32_t& value) = 0;
    virtual void Field(int64_t& value) = 0;
    virtual void Field(uint64_t& value) = 0;
    virtual void Field(float& value) = 0;
    virtual void Field(double& value) = 0;
    virtual void ElementField(double& value) = 0;  // stored in the node's precision
    virtual void WideText(std::string& value) = 0; // wstr
    virtual void Shape(TensorShape& shape, bool legacyAllowed = false) = 0;
    // Loading: takes the size from the file; made in the network's precision, on its device.
    virtual void MatrixField(Matrix& matrix) = 0;
    virtual void List(std::vector<bool>& values) = 0; // never empty: the original cannot read that back
    virtual void NarrowText(std::string& value) = 0;  // str
    // True (and consumed) if the mark comes next; when writing, writes it.
    virtual bool Mark(std::string_view mark) = 0;
    // Loading: the next i32, left in place (fields that very old files lack). Writing: 0.
    virtual int32_t PeekInt32() = 0;

    // Not a file but an outline (ModelFile.h): it lacks the values of parameters that are trained.
    bool IsOutline() const { return m_isOutline; }
    void SetOutline(bool isOutline) { m_isOutline = isOutline; }

private:
    bool m_isOutline = false;
};

class ModelReader final : public ModelArchive
{
public:
    // dataType: of the matrices made, whatever the file's.
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

// The matrix section of models and checkpoints: 'd', "BMAT", element size, name, format, sizes, values, "EMAT".
Matrix ReadMatrix(ByteReader& in, DataType dataType, Device& device);
void WriteMatrix(ByteWriter& out, const Matrix& matrix, DataType dataType);

} // namespace cntk
