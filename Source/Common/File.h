// Files: replaced as a whole (temporary name, fsync, rename), read mapped or piece by piece. Errors have the path and
// the system's reason.
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

// Convert the backslashes of the book's paths to '/'. ResolveInputPath does so only if no file exists as spelled and
// one exists with '/'.
std::string ResolveInputPath(const std::string& path);
std::string ResolveOutputPath(const std::string& path);

bool FileExists(const std::string& path);
void MakeFoldersFor(const std::string& filePath);
// Checks a path before long work. Creates its folder. Fails (Device) with the system's reason if the path is a folder
// or its folder is not writable.
void RequireWritable(const std::string& filePath);
void RemoveFile(const std::string& path);          // a missing file is no error
std::string ReadTextFile(const std::string& path); // "-" is standard input; drops a UTF-8 byte order mark
// Fails (Data) if the file begins like UTF-16 text or a compressed file. file: "data file 'x'".
void RequirePlainText(std::string_view firstBytes, const std::string& file);
// Fails (Data) if there are zero bytes, as in UTF-16 without a byte order mark. For texts with arbitrary words.
void RequireNoZeroBytes(std::string_view firstBytes, const std::string& file);
// Fails (Data) if lines end with carriage returns alone, because the file would be one line.
void RequireNewlines(std::string_view firstBytes, const std::string& file);
// "; did you mean 'exp.cntk' in folder '...'" for a missing file, by near names in its folder. Empty if there are none.
std::string NearFilesHint(const std::string& path);

// Writes <path>.tmp. Commit() renames it to <path> (flush, fsync, rename, fsync of the folder). Without Commit the
// temporary file is removed, also when a signal ends the program, and an old <path> stays unchanged. Creates missing
// folders. "-" is standard output. To replace several files together, stage all files before the first Commit: then a
// full disk leaves all old files unchanged.
class AtomicFile
{
public:
    explicit AtomicFile(const std::string& path);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    void Write(const void* data, size_t bytes);
    void Write(std::string_view text) { Write(text.data(), text.size()); }
    // Replaces bytes that were written before, such as a length that is known only at the end. Not for "-" and pipes.
    void Overwrite(size_t offset, const void* data, size_t bytes);
    // Flushes everything to the disk under the temporary name. No Write may follow.
    void Stage();
    // Stages the file if necessary, and renames it.
    void Commit();
    // Same as Commit, but keeps an old <path> with the same bytes and its time, and then returns false.
    bool CommitIfChanged();

private:
    std::string m_path;
    std::string m_temporaryPath;
    TemporaryFileMark m_mark;
    std::FILE* m_file = nullptr;
    bool m_isStaged = false;
};

// A file of any size that is read piece by piece. Unlike a mapped file it may shrink during reading: Read fails (Data)
// if bytes are missing. Bytes appended after opening are ignored.
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

    size_t Size() const { return m_size; } // at opening
    const std::string& Path() const { return m_path; }

private:
    std::string m_path;
    int m_fd = -1;
    size_t m_size = 0;
    std::string m_content; // of a pipe, which can be read only once
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
