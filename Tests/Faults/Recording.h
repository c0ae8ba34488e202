// System calls made past the filter of InjectFaults.cpp, and a record of all changes of files.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace Faults
{

constexpr uint32_t c_pass = 0x5AFE0175; // sixth argument of calls that the filter lets pass
constexpr int c_noFilter = 77;          // exit code: the kernel has no filters
constexpr size_t c_pathBytes = 1024;    // of a path with its final zero; longer paths are cut

// A system call of at most five arguments.
struct Call
{
    int number;
    long long arguments[5];
};

// Makes the call; returns its result, or -errno. Does not change errno.
int64_t System(const Call& call);
// Writes the path of the open file, as the kernel names it.
void PathOfDescriptor(int file, char* path);
// Writes folder/path; an absolute path replaces the folder.
void JoinPath(const char* folder, const char* path, char* joined);

// Makes calls and writes the successful ones into a file, in their order. A record is a RecordHead, the two paths and
// the bytes that were written.
class Recording
{
public:
    void Begin(const char* path);
    bool IsOn() const { return m_file >= 0; }
    // path: of the call's file; second: the new name, for rename.
    int64_t Perform(const Call& call, const char* path, const char* second);

private:
    struct RecordHead
    {
        uint32_t number; // of the system call
        uint32_t flags;  // of open
        uint64_t inode;  // of the file after the call; 0 for removed files
        int64_t offset;  // of written bytes; the new size, for ftruncate
        int64_t time;    // in nanoseconds
        uint32_t pathBytes;
        uint32_t secondBytes;
        uint64_t bytes; // written
    };

    void Write(RecordHead head, const char* path, const char* second, const void* data);

    int m_file = -1;
    std::atomic_flag m_isBusy = ATOMIC_FLAG_INIT;
};

} // namespace Faults
