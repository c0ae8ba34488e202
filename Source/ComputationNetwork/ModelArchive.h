// The bytes of models and checkpoints (ByteReader, ByteWriter), their matrix sections, and the archive through which
// nodes read and write their fields.
#pragma once

#include "Common/File.h"
#include "Math/Matrix.h"
#include "Math/TensorView.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cntk
{

// Every read names the expected item. Reading past the end, or finding another item, is an Error (Model) with the byte
// position. Counts are checked against the remaining bytes before the caller allocates anything.
class ByteReader
{
public:
    // kind: "model file" or "checkpoint file", which begins the messages. The data must outlive the reader.
    // isMappedFile: the data is a regular file mapped into memory.
    ByteReader(std::string_view data, std::string path, std::string kind, bool isMappedFile = false)
        : m_data(data), m_path(std::move(path)), m_kind(std::move(kind)), m_isMappedFile(isMappedFile)
    {
    }

    const std::string& Path() const { return m_path; }
    size_t Position() const { return m_position; }
    void Seek(size_t position) { m_position = position; } // at most the size
    size_t Left() const { return m_data.size() - m_position; }

    template <class T>
    T Read(std::string_view what)
    {
        static_assert(std::is_arithmetic_v<T>);
        const std::string_view bytes = Bytes(sizeof(T), what);
        T value;
        std::memcpy(&value, bytes.data(), sizeof(T));
        return value;
    }
    bool ReadBool(std::string_view what);
    std::string_view Bytes(uint64_t count, std::string_view what);
    // Takes bytes of a mapped file out of memory after their use. They may still be read, from the file.
    void ReleaseBytes(std::string_view bytes) const;
    std::string WideText(std::string_view what); // UTF-16 units to UTF-8
    std::string NarrowText(std::string_view what);
    // Reads a u64 count of items that take at least bytesEach.
    size_t Count(std::string_view what, size_t bytesEach);
    // Reserves memory that the bytes of the file do not bound: all reservations of a reader together are at most
    // 64 bytes for each byte of the file and 64 MiB. Returns false if there is not as much left.
    bool Reserve(uint64_t bytes);

    bool Peek(std::string_view mark) const;
    bool Mark(std::string_view mark); // consumed if it comes next
    void Expect(std::string_view mark);

    // "model file 'x.dnn' is damaged at byte 12: expected ..., found ..."
    [[noreturn]] void Damaged(size_t position, std::string_view expected, std::string_view found) const;
    // Describes the bytes at a position for messages: a 16-bit text, bytes in hex, or the end of the file.
    std::string Describe(size_t position) const;

private:
    std::string_view m_data;
    std::string m_path;
    std::string m_kind;
    bool m_isMappedFile;
    size_t m_position = 0;
    uint64_t m_reserved = 0; // bytes
};

class ByteWriter
{
public:
    explicit ByteWriter(const std::string& path) : m_file(path) {}
    // Writes to memory without touching a file.
    explicit ByteWriter(std::string* memory) : m_memory(memory) {}

    template <class T>
    void Write(T value)
    {
        static_assert(std::is_arithmetic_v<T>);
        Bytes(&value, sizeof(T));
    }
    void Bytes(const void* data, size_t bytes)
    {
        if (m_file)
            m_file->Write(data, bytes);
        else
            m_memory->append(static_cast<const char*>(data), bytes);
    }
    void WideText(std::string_view text);
    void NarrowText(std::string_view text);
    void Commit()
    {
        if (m_file)
            m_file->Commit();
    }
    // Returns false if the file already had these bytes and stays unchanged. For files only.
    bool CommitIfChanged() { return m_file->CommitIfChanged(); }

private:
    std::optional<AtomicFile> m_file;
    std::string* m_memory = nullptr;
};

// Convert UTF-8 to UTF-16 units and back. Invalid text becomes U+FFFD.
std::u16string ToWide(std::string_view text);
std::string FromWide(std::u16string_view text);

// The fields of a model file, read or written by one function for both directions: archive.Field(x). The format is
// little-endian without padding. Reading fails like ByteReader.
class ModelArchive
{
public:
    // Reads. dataType: precision of the created matrices, and of the file until SetElementType.
    ModelArchive(ByteReader& in, uint64_t version, bool isOldDialect, DataType dataType, Device& device)
        : m_in(&in), m_version(version), m_isOldDialect(isOldDialect), m_elementType(dataType), m_dataType(dataType),
          m_device(&device)
    {
    }
    // Writes version 8.
    explicit ModelArchive(ByteWriter& out) : m_out(&out) {}

    bool IsLoading() const { return m_in != nullptr; }
    // Version of the file being read (1..14); 8 when writing.
    uint64_t Version() const { return m_version; }
    // True for files of version 1 and for the version-2 dialect of August 2015 (root mark "BCriteriaNodes").
    bool IsOldDialect() const { return m_isOldDialect; }
    // Precision of the node's values in the file.
    void SetElementType(DataType type) { m_elementType = type; }

    void Field(bool& value);
    void Field(int32_t& value) { Number(value, "an integer field"); }
    void Field(uint32_t& value) { Number(value, "an unsigned integer field"); }
    void Field(int64_t& value) { Number(value, "a 64-bit integer field"); }
    void Field(uint64_t& value) { Number(value, "a 64-bit unsigned integer field"); }
    void Field(float& value) { Number(value, "a float field"); }
    void Field(double& value) { Number(value, "a double field"); }
    void ElementField(double& value);    // stored in the node's precision
    void WideText(std::string& value);   // 16-bit characters
    void NarrowText(std::string& value); // bytes
    // legacyAllowed: the field may have the form of August 2015: width, height, channels.
    void Shape(TensorShape& shape, bool legacyAllowed = false);
    // Takes the size from the file when loading. The matrix is created in the network's precision, on its device.
    void MatrixField(Matrix& matrix);
    void List(std::vector<bool>& values); // never empty: CNTK v1.1 cannot read an empty list back
    // Returns true, and consumes the mark, if it comes next. When writing, writes the mark.
    bool Mark(std::string_view mark);
    // Loading: returns the next i32 without consuming it (for fields that very old files lack). Writing: returns 0.
    int32_t PeekInt32();

private:
    template <class T>
    void Number(T& value, std::string_view what)
    {
        if (m_in != nullptr)
            value = m_in->Read<T>(what);
        else
            m_out->Write(value);
    }
    void ReadShape(TensorShape& shape, bool legacyAllowed);
    void WriteShape(const TensorShape& shape);

    ByteReader* m_in = nullptr;
    ByteWriter* m_out = nullptr;
    uint64_t m_version = 8;
    bool m_isOldDialect = false;
    DataType m_elementType = DataType::Float32;
    DataType m_dataType = DataType::Float32;
    Device* m_device = nullptr;
};

// Reads a matrix into the given precision, independent of the file's. Sparse matrices ('s') become dense. Sizes that
// exceed the remaining bytes are reported as damage (Model).
Matrix ReadMatrix(ByteReader& in, DataType dataType, Device& device);
void WriteMatrix(ByteWriter& out, const Matrix& matrix, DataType dataType);

} // namespace cntk
