// The model file's fields in one function for both directions (spec model-format.md): archive.Field(x) reads or writes.
#pragma once

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
    // The version-2 dialect of August 2015 (rows != 0, "BCriteriaNodes").
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
    virtual void MatrixField(Matrix& matrix) = 0; // loading: takes size from the file; element size must match
    // True (and consumed) if the mark comes next; when writing, writes it.
    virtual bool Mark(std::string_view mark) = 0;
};

} // namespace cntk
