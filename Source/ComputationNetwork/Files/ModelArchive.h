// Reads and writes the model file's fields with one function for both directions: archive.Field(x).
#pragma once

#include "Math/Matrix.h"
#include "Math/TensorView.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// Little-endian, no padding. Reading checks every size against the remaining bytes before anything is allocated, and
// fails (ErrorKind::Model) with file and byte position.
class ModelArchive
{
public:
    virtual ~ModelArchive() = default;

    virtual bool IsLoading() const = 0;
    // Version of the file being read (1..14); 8 when writing.
    virtual uint64_t Version() const = 0;
    // True for files of version 1 and for the version-2 dialect of August 2015 (root mark "BCriteriaNodes").
    virtual bool IsOldDialect() const = 0;
    // Precision of the node's values in the file.
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
    // Takes the size from the file when loading. The matrix is created in the network's precision, on its device.
    virtual void MatrixField(Matrix& matrix) = 0;
    virtual void List(std::vector<bool>& values) = 0; // never empty: CNTK v1.1 cannot read an empty list back
    virtual void NarrowText(std::string& value) = 0;  // str
    // Returns true, and consumes the mark, if it comes next. When writing, writes the mark.
    virtual bool Mark(std::string_view mark) = 0;
    // Loading: returns the next i32 without consuming it (for fields that very old files lack). Writing: returns 0.
    virtual int32_t PeekInt32() = 0;

    // True for an outline (ModelFile.h), which lacks the values of trained parameters.
    bool IsOutline() const { return m_isOutline; }
    void SetOutline(bool isOutline) { m_isOutline = isOutline; }

private:
    bool m_isOutline = false;
};

} // namespace cntk
