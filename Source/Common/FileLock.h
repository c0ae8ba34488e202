// File locks, by which a process detects another process that writes the same file. The system frees a lock when the
// process ends. On file systems without locks every lock succeeds.
#pragma once

#include "Common/Interruption.h"

#include <string>

namespace cntk
{

struct LockedFile
{
    int fd = -1;         // -1: errno has the reason
    bool isBusy = false; // another process holds it
};

// Opens a file for writing and locks it. Creates a missing file and keeps the content of an existing file. Locks only
// ordinary files.
LockedFile OpenLocked(const std::string& path);

// A lock that is held until destruction. Its file exists until then and names the process that holds it.
class FileLock
{
public:
    FileLock() = default;
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

    // Returns false if another process holds the lock. Returns true if the file cannot be created; later writes report
    // the reason.
    bool Take(const std::string& path);

    // Writes a second line into the file, which stays if the process is killed.
    void Note(const std::string& text) const;

    // Returns "process 1234 on host" for a lock of another process; "another process" if the file names none.
    static std::string HolderOf(const std::string& path);
    // Returns the note in the file; empty if there is none.
    static std::string NoteIn(const std::string& path);

private:
    std::string m_path;
    TemporaryFileMark m_mark;
    int m_fd = -1;
};

} // namespace cntk
