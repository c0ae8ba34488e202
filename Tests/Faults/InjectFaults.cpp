// A library for LD_PRELOAD that makes the n-th call of one kind fail or do half of its work, and that records writes.
//
// A filter of the kernel (seccomp) sends the calls open, read, write, fsync, rename and the like to a handler in this
// library. So calls from inside the C library count too, such as those of fwrite and of C++ streams. Allocations,
// threads, mmap and dlopen are replaced by functions of the same name.
//
// Settings are environment variables:
//   FAULT_FOLDER  Only files beneath this folder count, so the loader's files and the log on a terminal do not.
//   Absolute. FAULT_KIND    The kind of the calls that count: a name of c_kinds. FAULT_AT      The number of the call
//   that fails, from 1. 0 only counts. FAULT_ERROR   The value of errno; 0 means that a read or write handles half of
//   its bytes. FAULT_LASTS   1: all later calls of the kind fail, too. FAULT_BYTES   The smallest allocation that
//   counts (default: 1 MB). FAULT_REPORT  A file that receives the number of calls, the number of faults and the first
//   failed call. FAULT_RECORD  A file that receives all changes of files, for PowerCut.py.
#include "Recording.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>

namespace
{

using Faults::c_pathBytes;
using Faults::Call;
using Faults::System;

enum class Kind
{
    None,
    Open,
    Read,
    Write,
    Sync,
    Rename,
    Remove,
    Truncate,
    Folder,
    Lock,
    Map,
    Memory,
    Thread,
    Plugin,
};

constexpr std::pair<std::string_view, Kind> c_kinds[] = {
    {"open", Kind::Open},         {"read", Kind::Read},     {"write", Kind::Write}, {"sync", Kind::Sync},
    {"rename", Kind::Rename},     {"remove", Kind::Remove}, {"map", Kind::Map},     {"memory", Kind::Memory},
    {"truncate", Kind::Truncate}, {"folder", Kind::Folder}, {"lock", Kind::Lock},   {"thread", Kind::Thread},
    {"plugin", Kind::Plugin},
};

// Place of the arguments that name the file of a system call.
enum class Named
{
    ByDescriptor,      // first argument
    ByPath,            // first argument
    ByFolderAndPath,   // first and second argument
    ByTwoPaths,        // first and second argument
    ByFoldersAndPaths, // second and fourth argument; the folders are ignored
};

struct SystemCallRow
{
    int number;
    Kind kind;
    Named named;
    const char* name;
};

constexpr SystemCallRow c_systemCalls[] = {
    {SYS_open, Kind::Open, Named::ByPath, "open"},
    {SYS_openat, Kind::Open, Named::ByFolderAndPath, "open"},
    {SYS_creat, Kind::Open, Named::ByPath, "open"},
    {SYS_read, Kind::Read, Named::ByDescriptor, "read"},
    {SYS_pread64, Kind::Read, Named::ByDescriptor, "pread"},
    {SYS_readv, Kind::Read, Named::ByDescriptor, "readv"},
    {SYS_write, Kind::Write, Named::ByDescriptor, "write"},
    {SYS_pwrite64, Kind::Write, Named::ByDescriptor, "pwrite"},
    {SYS_writev, Kind::Write, Named::ByDescriptor, "writev"},
    {SYS_fsync, Kind::Sync, Named::ByDescriptor, "fsync"},
    {SYS_fdatasync, Kind::Sync, Named::ByDescriptor, "fdatasync"},
    {SYS_rename, Kind::Rename, Named::ByTwoPaths, "rename"},
    {SYS_renameat, Kind::Rename, Named::ByFoldersAndPaths, "rename"},
    {SYS_renameat2, Kind::Rename, Named::ByFoldersAndPaths, "rename"},
    {SYS_unlink, Kind::Remove, Named::ByPath, "unlink"},
    {SYS_unlinkat, Kind::Remove, Named::ByFolderAndPath, "unlink"},
    {SYS_ftruncate, Kind::Truncate, Named::ByDescriptor, "ftruncate"},
    {SYS_mkdir, Kind::Folder, Named::ByPath, "mkdir"},
    {SYS_mkdirat, Kind::Folder, Named::ByFolderAndPath, "mkdir"},
    {SYS_flock, Kind::Lock, Named::ByDescriptor, "flock"},
};

// The mapped report; the driver reads it even if the program was killed.
struct Report
{
    std::atomic<uint64_t> calls;
    std::atomic<uint64_t> faults;
    char what[240];
};

struct Settings
{
    Kind kind = Kind::None;
    uint64_t at = 0;
    int error = 0;
    bool lasts = false;
    size_t leastBytes = size_t{1} << 20;
    char folder[c_pathBytes] = {};
    char current[c_pathBytes] = {};
    Report own = {};
    Report* report = &own;
    Faults::Recording recording;
};

// A signal handler has no other way to its settings.
Settings g_settings; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

bool IsBeneath(const char* path, const char* folder)
{
    const size_t length = std::strlen(folder);
    return length > 0 && std::strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

// Writes the absolute path of the call's file, and the second path of a renaming.
void FindPaths(const SystemCallRow& row, const Call& call, char* path, char* second)
{
    const auto text = [&](int i) { return reinterpret_cast<const char*>(call.arguments[i]); };
    switch (row.named)
    {
    case Named::ByDescriptor:
        Faults::PathOfDescriptor(int(call.arguments[0]), path);
        return;
    case Named::ByPath:
        Faults::JoinPath(g_settings.current, text(0), path);
        return;
    case Named::ByFolderAndPath:
    {
        char folder[c_pathBytes] = {};
        if (int(call.arguments[0]) == AT_FDCWD)
            std::strcpy(folder, g_settings.current);
        else
            Faults::PathOfDescriptor(int(call.arguments[0]), folder);
        Faults::JoinPath(folder, text(1), path);
        return;
    }
    case Named::ByTwoPaths:
        Faults::JoinPath(g_settings.current, text(0), path);
        Faults::JoinPath(g_settings.current, text(1), second);
        return;
    case Named::ByFoldersAndPaths:
        Faults::JoinPath(g_settings.current, text(1), path);
        Faults::JoinPath(g_settings.current, text(3), second);
        return;
    }
}

// Counts a call; returns true if it is to fail. The report keeps the first such call.
bool MustFail(const char* name, const char* path)
{
    Report& report = *g_settings.report;
    const uint64_t number = report.calls.fetch_add(1) + 1;
    if (g_settings.at == 0 || number < g_settings.at || (number > g_settings.at && !g_settings.lasts))
        return false;
    if (report.faults.fetch_add(1) == 0)
    {
        char* end = stpncpy(report.what, name, 20);
        *end++ = ' ';
        // The end of a path says more than its beginning.
        const size_t length = std::strlen(path), room = sizeof report.what - 24;
        std::strcpy(end, path + (length > room ? length - room : 0));
    }
    return true;
}

// Does half of a read or write, at least one byte.
int64_t DoHalf(const Call& call)
{
    Call half = call;
    const bool hasBytes = call.number != SYS_readv && call.number != SYS_writev;
    if (hasBytes && half.arguments[2] > 1)
        half.arguments[2] /= 2;
    else if (!hasBytes)
        half.arguments[2] = 1; // one part
    return System(half);
}

int64_t Handle(const Call& call)
{
    for (const SystemCallRow& row : c_systemCalls)
    {
        if (row.number != call.number)
            continue;
        if (row.kind != g_settings.kind && !g_settings.recording.IsOn())
            break;
        char path[c_pathBytes] = {}, second[c_pathBytes] = {};
        FindPaths(row, call, path, second);
        if (!IsBeneath(path, g_settings.folder) && !IsBeneath(second, g_settings.folder))
            break;
        if (row.kind == g_settings.kind && MustFail(row.name, path))
            return g_settings.error != 0 ? -g_settings.error : DoHalf(call);
        if (g_settings.recording.IsOn())
            return g_settings.recording.Perform(call, path, second);
        break;
    }
    return System(call);
}

void OnSystemCall(int, siginfo_t* info, void* context)
{
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const Call call{
        info->si_syscall,
        {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX], registers[REG_R10], registers[REG_R8]}};
    registers[REG_RAX] = Handle(call);
}

// The last argument of the library's own calls lets them pass.
void InstallFilter()
{
    struct sigaction action = {};
    action.sa_sigaction = OnSystemCall;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSYS, &action, nullptr);

    constexpr size_t c_count = std::size(c_systemCalls);
    sock_filter filter[c_count + 10];
    size_t size = 0;
    const auto load = [&](size_t offset) { filter[size++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, uint32_t(offset)); };
    const auto skip = [&](uint32_t value, size_t ifSame, size_t ifOther)
    { filter[size++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, uint8_t(ifSame), uint8_t(ifOther)); };
    load(offsetof(seccomp_data, arch));
    skip(AUDIT_ARCH_X86_64, 1, 0);
    filter[size++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    load(offsetof(seccomp_data, nr));
    for (size_t i = 0; i < c_count; ++i)
        skip(uint32_t(c_systemCalls[i].number), c_count - i, 0);
    filter[size++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    load(offsetof(seccomp_data, args[5]));
    skip(Faults::c_pass, 0, 1);
    filter[size++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[size++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    const sock_fprog program{uint16_t(size), filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    {
        constexpr std::string_view c_message = "InjectFaults: this kernel has no system call filters\n";
        if (write(STDERR_FILENO, c_message.data(), c_message.size()) < 0)
            std::abort();
        _exit(Faults::c_noFilter);
    }
}

uint64_t Number(const char* name, uint64_t otherwise)
{
    const char* const text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

__attribute__((constructor)) void ReadSettings()
{
    const char* const folder = std::getenv("FAULT_FOLDER");
    if (folder == nullptr || getcwd(g_settings.current, c_pathBytes) == nullptr)
        return;
    std::strncpy(g_settings.folder, folder, c_pathBytes - 1);
    g_settings.at = Number("FAULT_AT", 0);
    g_settings.error = int(Number("FAULT_ERROR", EIO));
    g_settings.lasts = Number("FAULT_LASTS", 0) != 0;
    g_settings.leastBytes = Number("FAULT_BYTES", g_settings.leastBytes);
    if (const char* const path = std::getenv("FAULT_REPORT"))
    {
        const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (file < 0 || ftruncate(file, sizeof(Report)) != 0)
            std::abort();
        void* const memory = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        if (memory == MAP_FAILED)
            std::abort();
        g_settings.report = static_cast<Report*>(memory);
    }
    if (const char* const path = std::getenv("FAULT_RECORD"))
        g_settings.recording.Begin(path);
    InstallFilter();
    const char* const kind = std::getenv("FAULT_KIND");
    for (const auto& [name, value] : c_kinds)
        if (kind != nullptr && name == kind)
            g_settings.kind = value;
}

// Returns the function that a function of this library replaces.
template <class Function>
Function* Next(const char* name)
{
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Depth of calls of dlopen. Libraries of the system end the program if their initialisers find no memory.
__attribute__((tls_model("initial-exec"))) thread_local int t_openings =
    0; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

bool MustFailToAllocate(size_t bytes)
{
    if (g_settings.kind != Kind::Memory || t_openings > 0 || bytes < g_settings.leastBytes ||
        !MustFail("allocation", ""))
        return false;
    errno = ENOMEM;
    return true;
}

// Set while the last dlopen of the thread failed here.
thread_local bool t_pluginFailed = false; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

} // namespace

// glibc exports its allocator under these names, which also work before this library can look up symbols.
extern "C" void* __libc_malloc(size_t);
extern "C" void* __libc_calloc(size_t, size_t);
extern "C" void* __libc_realloc(void*, size_t);
extern "C" void* __libc_memalign(size_t, size_t);

extern "C" void* malloc(size_t bytes)
{
    return MustFailToAllocate(bytes) ? nullptr : __libc_malloc(bytes);
}

extern "C" void* calloc(size_t count, size_t bytes)
{
    return MustFailToAllocate(count * bytes) ? nullptr : __libc_calloc(count, bytes);
}

extern "C" void* realloc(void* memory, size_t bytes)
{
    return MustFailToAllocate(bytes) ? nullptr : __libc_realloc(memory, bytes);
}

extern "C" void* aligned_alloc(size_t alignment, size_t bytes)
{
    return MustFailToAllocate(bytes) ? nullptr : __libc_memalign(alignment, bytes);
}

extern "C" void* memalign(size_t alignment, size_t bytes)
{
    return MustFailToAllocate(bytes) ? nullptr : __libc_memalign(alignment, bytes);
}

extern "C" int posix_memalign(void** memory, size_t alignment, size_t bytes)
{
    if (MustFailToAllocate(bytes))
        return ENOMEM;
    *memory = __libc_memalign(alignment, bytes);
    return *memory != nullptr ? 0 : ENOMEM;
}

extern "C" void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) noexcept
{
    char path[c_pathBytes] = {};
    if (g_settings.kind == Kind::Map && (flags & MAP_ANONYMOUS) == 0)
        Faults::PathOfDescriptor(file, path);
    if (IsBeneath(path, g_settings.folder) && MustFail("mmap", path))
    {
        errno = g_settings.error;
        return MAP_FAILED;
    }
    const int64_t result = syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
    return reinterpret_cast<void*>(result);
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) noexcept
{
    if (g_settings.kind == Kind::Thread && MustFail("pthread_create", ""))
        return g_settings.error;
    static const auto original = Next<decltype(pthread_create)>("pthread_create");
    return original(thread, attributes, start, argument);
}

extern "C" void* dlopen(const char* file, int mode) noexcept
{
    t_pluginFailed = g_settings.kind == Kind::Plugin && file != nullptr && MustFail("dlopen", file);
    if (t_pluginFailed)
        return nullptr;
    static const auto original = Next<decltype(dlopen)>("dlopen");
    ++t_openings;
    void* const library = original(file, mode);
    --t_openings;
    return library;
}

extern "C" char* dlerror() noexcept
{
    static char message[] = "cannot open shared object file: injected fault";
    static const auto original = Next<decltype(dlerror)>("dlerror");
    return std::exchange(t_pluginFailed, false) ? message : original();
}
