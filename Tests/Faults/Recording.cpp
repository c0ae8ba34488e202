#include "Recording.h"

#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace Faults
{

namespace
{

long long Address(const void* memory)
{
    return reinterpret_cast<long long>(memory);
}

uint64_t InodeOf(int file)
{
    struct stat status = {};
    return System({SYS_fstat, {file, Address(&status)}}) == 0 ? status.st_ino : 0;
}

void WriteWhole(int file, const void* data, size_t bytes)
{
    const char* next = static_cast<const char*>(data);
    while (bytes > 0)
    {
        const int64_t done = System({SYS_write, {file, Address(next), static_cast<long long>(bytes)}});
        if (done <= 0)
            __builtin_trap(); // an incomplete record would prove nothing
        next += done;
        bytes -= size_t(done);
    }
}

} // namespace

int64_t System(const Call& call)
{
    register long long fourth asm("r10") = call.arguments[3];
    register long long fifth asm("r8") = call.arguments[4];
    register long long sixth asm("r9") = c_pass;
    int64_t result = 0;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(int64_t{call.number}), "D"(call.arguments[0]), "S"(call.arguments[1]), "d"(call.arguments[2]),
                   "r"(fourth), "r"(fifth), "r"(sixth)
                 : "rcx", "r11", "memory");
    return result;
}

void PathOfDescriptor(int file, char* path)
{
    // A signal handler cannot use snprintf.
    char link[40] = "/proc/self/fd/", digits[12] = {};
    size_t count = 0;
    for (unsigned rest = unsigned(file); count == 0 || rest > 0; rest /= 10)
        digits[count++] = char('0' + rest % 10);
    char* end = link + std::strlen(link);
    while (count > 0)
        *end++ = digits[--count];
    const int64_t length = System({SYS_readlink, {Address(link), Address(path), c_pathBytes - 1}});
    path[length > 0 ? length : 0] = '\0';
}

void JoinPath(const char* folder, const char* path, char* joined)
{
    while (std::strncmp(path, "./", 2) == 0)
        path += 2;
    size_t used = 0;
    if (path[0] != '/')
    {
        used = strnlen(folder, c_pathBytes - 2);
        std::memcpy(joined, folder, used);
        joined[used++] = '/';
    }
    const size_t rest = strnlen(path, c_pathBytes - 1 - used);
    std::memcpy(joined + used, path, rest);
    joined[used + rest] = '\0';
}

void Recording::Begin(const char* path)
{
    // A high number, so that the files of the program keep their numbers.
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    m_file = fcntl(file, F_DUPFD_CLOEXEC, 900);
    close(file);
}

int64_t Recording::Perform(const Call& call, const char* path, const char* second)
{
    // One call at a time, so that the order of the records is the order of the changes.
    while (m_isBusy.test_and_set(std::memory_order_acquire))
        System({SYS_sched_yield, {}});
    const int file = int(call.arguments[0]);
    const int64_t result = System(call);
    RecordHead head = {};
    head.number = uint32_t(call.number);
    const void* data = nullptr;
    bool isChange = result >= 0;
    switch (call.number)
    {
    case SYS_open:
    case SYS_openat:
        head.flags = uint32_t(call.number == SYS_open ? call.arguments[1] : call.arguments[2]);
        head.inode = result >= 0 ? InodeOf(int(result)) : 0;
        isChange = result >= 0 && (head.flags & (O_CREAT | O_TRUNC)) != 0;
        break;
    case SYS_write:
    case SYS_pwrite64:
        head.inode = InodeOf(file);
        head.bytes = result > 0 ? uint64_t(result) : 0;
        data = reinterpret_cast<const void*>(call.arguments[1]);
        head.offset =
            call.number == SYS_pwrite64 ? call.arguments[3] : System({SYS_lseek, {file, 0, SEEK_CUR}}) - result;
        break;
    case SYS_writev: // the C library writes a buffer and more data at once
    {
        const auto* part = reinterpret_cast<const iovec*>(call.arguments[1]);
        head.inode = InodeOf(file);
        head.offset = System({SYS_lseek, {file, 0, SEEK_CUR}}) - result;
        head.number = SYS_write;
        for (int64_t left = result; left > 0; ++part)
        {
            head.bytes = uint64_t(left) < part->iov_len ? uint64_t(left) : part->iov_len;
            Write(head, path, second, part->iov_base);
            head.offset += int64_t(head.bytes);
            left -= int64_t(head.bytes);
        }
        isChange = false;
        break;
    }
    case SYS_ftruncate:
        head.offset = call.arguments[1];
        head.inode = InodeOf(file);
        break;
    case SYS_fsync:
    case SYS_fdatasync:
        head.inode = InodeOf(file);
        break;
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_unlink:
    case SYS_unlinkat:
    case SYS_mkdir:
    case SYS_mkdirat:
        break;
    default:
        isChange = false;
    }
    if (isChange)
        Write(head, path, second, data);
    m_isBusy.clear(std::memory_order_release);
    return result;
}

void Recording::Write(RecordHead head, const char* path, const char* second, const void* data)
{
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    head.time = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    head.pathBytes = uint32_t(std::strlen(path));
    head.secondBytes = uint32_t(std::strlen(second));
    WriteWhole(m_file, &head, sizeof head);
    WriteWhole(m_file, path, head.pathBytes);
    WriteWhole(m_file, second, head.secondBytes);
    WriteWhole(m_file, data, head.bytes);
}

} // namespace Faults
