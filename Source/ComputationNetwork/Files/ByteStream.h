// Little-endian binary files of CNTK v1.1: a bounds-checked reader over mapped bytes and a writer that replaces the
// file whole. Marks are 16-bit texts such as "BCN".
#pragma once

#include "Common/File.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace cntk
{

// Every read names the expected item. Reading past the end, or finding another item, is an Error (Model) with the byte
// position. Counts are checked against the remaining bytes before the caller allocates anything.
class ByteReader
{
public:
    // kind: "model file" or "checkpoint file", which begins the messages. The data must outlive the reader.
    ByteReader(std::string_view data, std::string path, std::string kind)
        : m_data(data), m_path(std::move(path)), m_kind(std::move(kind))
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
    std::string WideText(std::string_view what); // UTF-16 units to UTF-8
    std::string NarrowText(std::string_view what);
    // Reads a u64 count of items that take at least bytesEach.
    size_t Count(std::string_view what, size_t bytesEach);

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
    size_t m_position = 0;
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

} // namespace cntk
