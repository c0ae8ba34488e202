// Zip archives through minizip: entries are stored without compression when written; stored and deflated entries are
// read. Sizes are checked against the file before memory is taken.
#pragma once

#include "Common/File.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// Fails (Config) if the program was built without minizip.
void RequireZipArchives();

// Writes an archive whose bytes depend only on the entries: all times are 1980-01-01. Without Commit no file is left.
class ZipWriter
{
public:
    explicit ZipWriter(const std::string& path);
    ~ZipWriter();
    ZipWriter(const ZipWriter&) = delete;
    ZipWriter& operator=(const ZipWriter&) = delete;

    // bytes: size of the entry; exactly as many must follow by Write.
    void BeginEntry(const std::string& name, uint64_t bytes);
    void Write(const void* data, size_t bytes);
    void EndEntry();
    void Commit();

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

struct ZipEntry
{
    std::string name;
    uint64_t bytes = 0;           // uncompressed
    uint64_t compressedBytes = 0; // in the file
};

// Reads an archive. All functions fail (Data) with file and entry if the archive is damaged or encrypted, or uses a
// compression other than deflate.
class ZipReader
{
public:
    explicit ZipReader(const std::string& path);
    ~ZipReader();
    ZipReader(const ZipReader&) = delete;
    ZipReader& operator=(const ZipReader&) = delete;

    const std::vector<ZipEntry>& Entries() const;
    void OpenEntry(size_t index);
    // Reads the next bytes of the open entry, fewer at its end.
    size_t Read(void* target, size_t bytes);
    // Fails if the entry has more bytes than it promised, or another checksum.
    void CloseEntry();

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace cntk
