// Locks on files: of two processes that would write the same thing, one learns of the other. The system frees them when
// a process ends, however it ends. Where a file system knows no locks there are none.
#pragma once

#include "Common/Interruption.h"

#include <string>

namespace cntk
{

struct LockedFile
{
    int fd = -1;         // -1: errno says why
    bool isBusy = false; // another process holds it
};

// Opens a file for writing, making it where it is missing, and locks it; what it holds stays. Only ordinary files are
// locked.
LockedFile OpenLocked(const std::string& path);

// Held as long as it lives. The file is there meanwhile and says which process holds it.
class FileLock
{
public:
    FileLock() = default;
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

    // False where another process holds it. A file that cannot be made is no matter: what is written later says why.
    bool Take(const std::string& path);

    // Writes a second line into the file, which stays there if the process is killed.
    void Note(const std::string& text) const;

    // "process 1234 on host", of a lock that another process holds; "another process" where the file does not say.
    static std::string HolderOf(const std::string& path);
    // Returns the note in the file; empty if there is none.
    static std::string NoteIn(const std::string& path);

private:
    std::string m_path;
    TemporaryFileMark m_mark;
    int m_fd = -1;
};

} // namespace cntk
