// Files: replaced whole (temporary name, fsync, rename), read mapped, errors with path and the system's reason.
#pragma once

#include "Common/Interruption.h"

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cntk
{

// The book's backslashes: a path that does not exist as spelled but does with '/' gives the latter; for files to be
// written backslashes always become '/'.
std::string ResolveInputPath(const std::string& path);
std::string ResolveOutputPath(const std::string& path);

bool FileExists(const std::string& path);
void MakeFoldersFor(const std::string& filePath);
// Before long work: fails (Device) with the system's reason when the path is a folder, or when its folder (which is
// made) cannot be written.
void RequireWritable(const std::string& filePath);
void RemoveFile(const std::string& path);          // no error when it is not there
std::string ReadTextFile(const std::string& path); // "-" is standard input; drops a UTF-8 byte order mark
// Fails (Data) where the first bytes of a file are plainly no ASCII or UTF-8: UTF-16, a compressed file. file: "data
// file 'x'".
void RequirePlainText(std::string_view firstBytes, const std::string& file);
// The same where zero bytes are among them, as in UTF-16 without a mark: for texts whose words may be any.
void RequireNoZeroBytes(std::string_view firstBytes, const std::string& file);
// The same where they are lines with carriage returns alone, which would be one.
void RequireNewlines(std::string_view firstBytes, const std::string& file);
// "; did you mean 'exp.cntk' in folder '...'" for a missing file: near names in its folder; "" if none.
std::string NearFilesHint(const std::string& path);

// Writes <path>.tmp, and Commit() makes it <path> (flush, fsync, rename, fsync of the folder). Without Commit the
// temporary file is removed (also when a signal ends the program) and an old <path> stays as it is. Makes missing
// folders. "-" is standard output. Files that belong together are all staged before the first one is committed: then
// what can fail, a disk that is full, leaves all of them as they were.
class AtomicFile
{
public:
    explicit AtomicFile(const std::string& path);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    void Write(const void* data, size_t bytes);
    void Write(std::string_view text) { Write(text.data(), text.size()); }
    // Everything is written and on the disk, under the temporary name; nothing is written behind it.
    void Stage();
    // Stages what is not staged yet.
    void Commit();
    // The same, but an old <path> of the same bytes stays as it is, with its time; then false.
    bool CommitIfChanged();

private:
    std::string m_path;
    std::string m_temporaryPath;
    TemporaryFileMark m_mark;
    std::FILE* m_file = nullptr;
    bool m_isStaged = false;
};

// A file of any size that is read piece by piece. Unlike a mapped one it may shrink meanwhile: the read that misses
// bytes fails (Data). What is appended meanwhile is not seen.
class PiecewiseFile
{
public:
    explicit PiecewiseFile(const std::string& path);
    ~PiecewiseFile();
    PiecewiseFile(const PiecewiseFile&) = delete;
    PiecewiseFile& operator=(const PiecewiseFile&) = delete;

    // Bytes [offset, offset + bytes), which must lie within Size().
    void Read(size_t offset, char* target, size_t bytes) const;
    // "data file 'x' changed while it was read (was 8 bytes, is 4)", or "(still 8 bytes)"
    [[noreturn]] void FailChanged() const;

    size_t Size() const { return m_size; } // when it was opened
    const std::string& Path() const { return m_path; }

private:
    std::string m_path;
    int m_fd = -1;
    size_t m_size = 0;
    std::string m_content; // of a pipe, which cannot be read twice
};

// A whole file, mapped read-only.
class MappedFile
{
public:
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&&) = delete;
    MappedFile(const MappedFile&) = delete;

    std::string_view Text() const { return {m_data, m_size}; }
    size_t Size() const { return m_size; }
    const std::string& Path() const { return m_path; }

private:
    std::string m_path;
    const char* m_data = nullptr;
    size_t m_size = 0;
};

} // namespace cntk
