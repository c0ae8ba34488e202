// POSIX file access. Files are replaced as a whole, so that a crash or a full disk never destroys the previous file.
#include "Common/File.h"

#include "Common/Error.h"
#include "Common/FileLock.h"
#include "Common/Gzip.h"
#include "Common/Text.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cntk
{

namespace fs = std::filesystem;

namespace
{

std::string Reason(int error)
{
    return std::generic_category().message(error);
}

// A file descriptor that closes itself.
class Descriptor
{
public:
    explicit Descriptor(int fd) : m_fd(fd) {}
    ~Descriptor()
    {
        if (m_fd > STDERR_FILENO)
            ::close(m_fd);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    operator int() const { return m_fd; }

private:
    int m_fd;
};

// CNTK v1.1 wrote to "|command" and read from "command|" through pipes.
bool IsCommand(const std::string& path)
{
    return path.starts_with('|') || path.ends_with('|');
}

[[noreturn]] void FailForCommand(const std::string& path)
{
    Fail(ErrorKind::Config, "'", path,
         "' is a command, expected a file, '-', or a named pipe that the command uses, too");
}

// Refuses names with a zero byte. The system's functions would cut the name there. Such names come from lists of files
// that are UTF-16 or not text.
void RequireNoZeroByte(const std::string& path)
{
    if (path.find('\0') != std::string::npos)
        Fail(ErrorKind::Data, "the file name '", path,
             "' has a zero byte, expected UTF-8 or ASCII text; is what names it UTF-16, or a binary file?");
}

// A device never ends, or waits for somebody; only /dev/null is empty. The check comes first, because opening may wait.
void RequireNoDevice(const std::string& path)
{
    std::error_code error;
    const auto status = fs::status(path, error);
    if ((fs::is_character_file(status) || fs::is_block_file(status)) && fs::canonical(path, error) != "/dev/null")
        Fail(ErrorKind::Data, "'", path, "' is a device, expected a file");
}

int OpenForReading(const std::string& path)
{
    if (path == "-")
        return STDIN_FILENO;
    RequireNoZeroByte(path);
    const std::string resolved = ResolveInputPath(path);
    RequireNoDevice(resolved);
    const int fd = ::open(resolved.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
    {
        const int error = errno;
        if (error == ENOENT && path.ends_with('|'))
            FailForCommand(path);
        Fail(ErrorKind::Data, "cannot open file '", path, "': ", Reason(error),
             error == ENOENT ? NearFilesHint(path) : std::string());
    }
    struct stat status = {};
    if (::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
    {
        ::close(fd);
        Fail(ErrorKind::Data, "'", path, "' is a folder, expected a file");
    }
    return fd;
}

std::string ReadAll(int fd, const std::string& path)
{
    std::string text;
    struct stat status = {};
    size_t chunk = size_t{1} << 16;
    if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        chunk = static_cast<size_t>(status.st_size) + 1;
    size_t used = 0;
    for (;;)
    {
        if (text.size() - used < chunk / 2 + 1)
        {
            const size_t bytes = used + std::max(chunk, used);
            WithNote([&] { text.resize(bytes); },
                     [&] { return Concat("for file '", path, "', which needs ", bytes, " bytes"); });
        }
        const ssize_t got = ::read(fd, text.data() + used, text.size() - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            Fail(ErrorKind::Data, "cannot read file '", path, "': ", Reason(errno));
        if (got == 0)
            break;
        used += static_cast<size_t>(got);
    }
    text.resize(used);
    return text;
}

[[noreturn]] void FailToWrite(const std::string& path, bool isReplaced, bool isOutput)
{
    const std::string reason = Reason(errno);
    if (isOutput)
        Fail(ErrorKind::Device, "cannot write to standard output: ", reason);
    Fail(ErrorKind::Device, "cannot write file '", path, "': ", reason,
         isReplaced ? "; the previous file, if any, is intact" : "");
}

// Returns null with the reason in errno. The lock prevents two processes from writing one file.
std::FILE* OpenTemporary(const std::string& temporaryPath, const std::string& path)
{
    const LockedFile file = OpenLocked(temporaryPath);
    if (file.isBusy)
        Fail(ErrorKind::Device, "cannot write file '", path, "': another process is writing it ('", temporaryPath,
             "'); wait until it ends, or write to another path");
    if (file.fd < 0)
        return nullptr;
    struct stat status = {};
    const bool isOrdinary = ::fstat(file.fd, &status) == 0 && S_ISREG(status.st_mode);
    std::FILE* const stream = isOrdinary && ::ftruncate(file.fd, 0) != 0 ? nullptr : ::fdopen(file.fd, "wb");
    if (stream == nullptr)
    {
        const int reason = errno;
        if (isOrdinary)
            ::unlink(temporaryPath.c_str());
        ::close(file.fd);
        errno = reason;
    }
    return stream;
}

bool IsOrdinaryOrMissing(const std::string& path)
{
    struct stat status = {};
    return ::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

// "'~' is the home folder to shells only; write '/home/me/x.txt'" for "~/x.txt" where no folder has that name; else "".
std::string HomeHint(const std::string& path)
{
    std::error_code ignored;
    if (!path.starts_with("~/") || fs::exists("~", ignored))
        return {};
    const char* const home = std::getenv("HOME");
    return Concat("'~' is the home folder to shells only; write '", home != nullptr ? home : "/home/name",
                  path.substr(1), "'");
}

// Explains why "C:/exp/log" cannot be written. Empty for other paths and if a folder C: exists.
std::string DriveHint(const std::string& path)
{
    std::error_code ignored;
    const bool hasDrive = path.size() > 2 && IsLetter(path[0]) && path[1] == ':' && (path[2] == '/' || path[2] == '\\');
    if (!hasDrive || fs::exists(path.substr(0, 2), ignored))
        return {};
    return Concat("this system has no drives such as '", path.substr(0, 2),
                  "'; expected a path such as 'exp/log' or '/home/name/exp/log'");
}

// Returns the target of the links at the path, which may be missing. Returns other paths unchanged.
std::string TargetOfLinks(const std::string& path)
{
    constexpr int c_mostLinks = 40; // as Linux
    std::error_code error;
    if (fs::exists(path, error))
    {
        const fs::path there = fs::is_symlink(path, error) ? fs::canonical(path, error) : fs::path(path);
        return error ? path : there.string();
    }
    fs::path target(path);
    for (int i = 0; i < c_mostLinks && fs::is_symlink(target, error); ++i)
        target = target.parent_path() / fs::read_symlink(target, error);
    return target.string();
}

// "; 'exp' is a link to '/scratch/exp', which does not exist" if such a link is part of the folder's path. Else empty.
std::string LinkHint(const fs::path& folder)
{
    std::error_code ignored;
    for (fs::path part = folder; !part.empty() && part != part.root_path(); part = part.parent_path())
        if (fs::is_symlink(part, ignored) && !fs::exists(part, ignored))
            return Concat("; '", part.string(), "' is a link to '", fs::read_symlink(part, ignored).string(),
                          "', which does not exist");
    return {};
}

// Returns false if a file cannot be read.
bool HasSameBytes(const std::string& path, const std::string& other)
{
    std::error_code error;
    const uintmax_t bytes = fs::file_size(path, error);
    if (error || fs::file_size(other, error) != bytes || error)
        return false;
    std::ifstream first(path, std::ios::binary), second(other, std::ios::binary);
    std::vector<char> ours(1 << 20), theirs(1 << 20);
    for (uintmax_t done = 0; done < bytes; done += ours.size())
    {
        const auto count = std::streamsize(std::min<uintmax_t>(bytes - done, ours.size()));
        if (!first.read(ours.data(), count) || !second.read(theirs.data(), count) ||
            std::memcmp(ours.data(), theirs.data(), size_t(count)) != 0)
            return false;
    }
    return true;
}

} // namespace

std::string ResolveInputPath(const std::string& path)
{
    if (path.find('\\') == std::string::npos || FileExists(path))
        return path;
    const std::string slashed = ResolveOutputPath(path);
    std::error_code ignored;
    return fs::exists(slashed, ignored) ? slashed : path;
}

std::string ResolveOutputPath(const std::string& path)
{
    std::string slashed = path;
    std::replace(slashed.begin(), slashed.end(), '\\', '/');
    return slashed;
}

bool FileExists(const std::string& path)
{
    struct stat status = {};
    return path.find('\0') == std::string::npos && ::stat(path.c_str(), &status) == 0;
}

void MakeFoldersFor(const std::string& filePath)
{
    const fs::path folder = fs::path(ResolveOutputPath(filePath)).parent_path();
    if (folder.empty())
        return;
    if (const std::string hint = HomeHint(filePath); !hint.empty())
        Fail(ErrorKind::Config, "cannot write file '", filePath, "': ", hint, ", or './", filePath,
             "' for a folder of that name");
    if (const std::string hint = DriveHint(filePath); !hint.empty())
        Fail(ErrorKind::Config, "cannot write file '", filePath, "': ", hint);
    std::error_code error;
    fs::create_directories(folder, error);
    std::error_code ignored;
    if (error && !fs::is_directory(folder, ignored))
        Fail(ErrorKind::Device, "cannot create folder '", folder.string(), "' for file '", filePath,
             "': ", error.message(), LinkHint(folder));
}

void RequireWritable(const std::string& filePath)
{
    if (IsCommand(filePath))
        FailForCommand(filePath);
    const std::string path = ResolveOutputPath(filePath);
    std::error_code ignored;
    if (path.ends_with('/') || fs::is_directory(path, ignored))
        Fail(ErrorKind::Device, "cannot write file '", path, "': ", Reason(EISDIR));
    MakeFoldersFor(path);
    fs::path folder = fs::path(path).parent_path();
    if (folder.empty())
        folder = ".";
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
    {
        const int error = errno;
        Fail(ErrorKind::Device, "cannot write into folder '", folder.string(), "' for file '", path,
             "': ", Reason(error));
    }
}

void RemoveFile(const std::string& path)
{
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
        Fail(ErrorKind::Device, "cannot remove file '", path, "': ", Reason(errno));
}

std::string ReadTextFile(const std::string& path)
{
    const Descriptor fd(OpenForReading(path));
    std::string text = ReadAll(fd, path);
    if (IsGzip(text))
        text = Gunzip(text, Concat("file '", path, "'"));
    if (text.starts_with("\xEF\xBB\xBF"))
        text.erase(0, 3);
    return text;
}

void RequirePlainText(std::string_view firstBytes, const std::string& file)
{
    if (firstBytes.starts_with("\xFF\xFE") || firstBytes.starts_with("\xFE\xFF"))
        Fail(ErrorKind::Data, file, " is UTF-16 text, expected UTF-8 or ASCII");
    if (firstBytes.starts_with("\x1F\x8B"))
        Fail(ErrorKind::Data, file, " is compressed in a way that the program does not read; unpack it");
}

void RequireNoZeroBytes(std::string_view firstBytes, const std::string& file)
{
    if (const size_t zero = firstBytes.find('\0'); zero != std::string_view::npos)
        Fail(ErrorKind::Data, file, " has a zero byte in line ",
             std::count(firstBytes.begin(), firstBytes.begin() + ptrdiff_t(zero), '\n') + 1,
             ", expected UTF-8 or ASCII text; is it UTF-16, or a binary file?");
}

void RequireNewlines(std::string_view firstBytes, const std::string& file)
{
    const size_t carriageReturn = firstBytes.find('\r'), last = firstBytes.find_last_not_of(" \t\r");
    if (last != std::string_view::npos && carriageReturn < last && firstBytes.find('\n') == std::string_view::npos)
        Fail(ErrorKind::Data, file, " has carriage returns without newlines, the first as byte ", carriageReturn + 1,
             "; expected lines that end with LF or CR LF");
}

std::string NearFilesHint(const std::string& path)
{
    const fs::path wanted = ResolveOutputPath(path);
    fs::path folder = wanted.parent_path();
    if (folder.empty())
        folder = ".";
    if (const std::string odd = LookalikeIn(path); !odd.empty())
        return odd;
    if (path.find('$') != std::string::npos)
        return "; write a variable between two dollar signs, $name$";
    if (const std::string hint = HomeHint(path); !hint.empty())
        return "; " + hint;
    std::error_code error;
    if (!fs::is_directory(folder, error))
        return "; folder '" + folder.string() + "' does not exist";
    std::vector<std::string> names;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
        if (const fs::path name = it->path().filename(); name.extension() != ".lock" && name.extension() != ".tmp")
            names.push_back(name.string()); // not the temporary files of the program
    std::sort(names.begin(), names.end());
    std::string hint = DidYouMean(wanted.filename().string(), names);
    if (hint.empty())
        return {};
    hint.pop_back(); // the question mark, which is printed after the folder
    return hint + " in folder '" + folder.string() + "'?";
}

AtomicFile::AtomicFile(const std::string& path) : m_path(path)
{
    if (path == "-")
    {
        m_file = stdout;
        return;
    }
    if (IsCommand(path))
        FailForCommand(path);
    RequireNoZeroByte(path);
    m_path = ResolveOutputPath(path);
    m_path = TargetOfLinks(m_path); // keeps the link and replaces its target
    MakeFoldersFor(m_path);
    // A device or pipe (/dev/null) is written directly.
    const bool isReplaced = IsOrdinaryOrMissing(m_path);
    if (isReplaced)
    {
        m_temporaryPath = m_path + ".tmp";
        const HeldSignals held;
        m_file = OpenTemporary(m_temporaryPath, m_path);
        if (m_file)
            m_mark.Set(m_temporaryPath);
    }
    else
        m_file = std::fopen(m_path.c_str(), "wbe");
    if (!m_file)
    {
        const int reason = errno;
        Fail(ErrorKind::Device, "cannot write file '", m_path, "': ", Reason(reason));
    }
}

AtomicFile::~AtomicFile()
{
    if (m_file && m_file != stdout)
    {
        if (!m_temporaryPath.empty())
            ::unlink(m_temporaryPath.c_str()); // while locked, so that it cannot be the file of another process
        std::fclose(m_file);
    }
}

void AtomicFile::Write(const void* data, size_t bytes)
{
    CNTK_ASSERT(m_file && !m_isStaged);
    if (bytes > 0 && std::fwrite(data, 1, bytes, m_file) != bytes)
        FailToWrite(m_path, !m_temporaryPath.empty(), m_file == stdout);
}

void AtomicFile::Overwrite(size_t offset, const void* data, size_t bytes)
{
    CNTK_ASSERT(m_file && !m_isStaged);
    const auto fail = [&] { FailToWrite(m_path, !m_temporaryPath.empty(), m_file == stdout); };
    if (std::fflush(m_file) != 0)
        fail();
    for (size_t done = 0; done < bytes;)
    {
        const ssize_t put =
            ::pwrite(::fileno(m_file), static_cast<const char*>(data) + done, bytes - done, off_t(offset + done));
        if (put < 0)
            fail();
        done += size_t(put);
    }
}

void AtomicFile::Stage()
{
    CNTK_ASSERT(m_file);
    if (std::fflush(m_file) != 0 || (!m_temporaryPath.empty() && ::fsync(::fileno(m_file)) != 0))
        FailToWrite(m_path, !m_temporaryPath.empty(), m_file == stdout);
    m_isStaged = true;
}

void AtomicFile::Commit()
{
    if (!m_isStaged)
        Stage();
    if (m_file == stdout)
    {
        m_file = nullptr;
        return;
    }
    const auto fail = [&] { FailToWrite(m_path, !m_temporaryPath.empty(), false); };
    if (m_temporaryPath.empty())
    {
        if (std::fclose(std::exchange(m_file, nullptr)) != 0)
            fail();
        return;
    }
    {
        const HeldSignals held;
        // Renames the file while it is locked. All data are on the disk, so closing cannot fail any more.
        if (::rename(m_temporaryPath.c_str(), m_path.c_str()) != 0)
            fail();
        m_mark.Clear();
    }
    std::fclose(std::exchange(m_file, nullptr));
    // Flushes the rename itself. Errors are ignored, because some file systems do not support this.
    fs::path folder = fs::path(m_path).parent_path();
    const Descriptor fd(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd >= 0)
        ::fsync(fd);
}

bool AtomicFile::CommitIfChanged()
{
    Stage(); // reports a failed flush, which a later flush would not repeat
    if (!m_temporaryPath.empty() && HasSameBytes(m_temporaryPath, m_path))
        return false;
    Commit();
    return true;
}

PiecewiseFile::PiecewiseFile(const std::string& path) : m_path(path), m_fd(OpenForReading(path))
{
    struct stat status = {};
    if (::fstat(m_fd, &status) == 0 && S_ISREG(status.st_mode))
    {
        m_size = static_cast<size_t>(status.st_size);
        char first[3] = {};
        if (::pread(m_fd, first, sizeof first, 0) != ssize_t(sizeof first) || !IsGzip({first, sizeof first}))
            return;
    }
    const Descriptor whole(std::exchange(m_fd, -1));
    m_content = ReadAll(whole, path);
    if (IsGzip(m_content))
        m_content = Gunzip(m_content, Concat("file '", path, "'"));
    m_size = m_content.size();
}

PiecewiseFile::~PiecewiseFile()
{
    if (m_fd > STDERR_FILENO)
        ::close(m_fd);
}

void PiecewiseFile::Read(size_t offset, char* target, size_t bytes) const
{
    CNTK_ASSERT(offset <= m_size && bytes <= m_size - offset);
    if (m_fd < 0)
    {
        std::memcpy(target, m_content.data() + offset, bytes);
        return;
    }
    for (size_t done = 0; done < bytes;)
    {
        const ssize_t got = ::pread(m_fd, target + done, bytes - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            Fail(ErrorKind::Data, "cannot read file '", m_path, "': ", Reason(errno));
        if (got == 0)
            FailChanged();
        done += static_cast<size_t>(got);
    }
}

void PiecewiseFile::FailChanged() const
{
    struct stat status = {};
    const size_t size = m_fd >= 0 && ::fstat(m_fd, &status) == 0 ? static_cast<size_t>(status.st_size) : m_size;
    Fail(ErrorKind::Data, "data file '", m_path, "' changed while it was read (",
         size == m_size ? Concat("still ", size, " bytes)") : Concat("was ", m_size, " bytes, is ", size, ")"));
}

MappedFile::MappedFile(const std::string& path) : m_path(path)
{
    const Descriptor fd(OpenForReading(path));
    struct stat status = {};
    const bool isOrdinary = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    if (isOrdinary)
    {
        m_size = static_cast<size_t>(status.st_size);
        if (m_size == 0)
            return;
        void* const mapped = ::mmap(nullptr, m_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (mapped == MAP_FAILED)
            Fail(ErrorKind::Device, "cannot map file '", path, "' of ", m_size, " bytes: ", Reason(errno));
        m_data = static_cast<const char*>(mapped);
        return;
    }
    // A pipe cannot be mapped, so its content is copied into anonymous memory.
    const std::string text = ReadAll(fd, path);
    m_size = text.size();
    if (m_size == 0)
        return;
    void* const mapped = ::mmap(nullptr, m_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        Fail(ErrorKind::Device, "cannot hold the ", m_size, " bytes of '", path, "': ", Reason(errno));
    std::memcpy(mapped, text.data(), m_size);
    m_data = static_cast<const char*>(mapped);
}

MappedFile::~MappedFile()
{
    if (m_data)
        ::munmap(const_cast<char*>(m_data), m_size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : m_path(std::move(other.m_path)), m_data(std::exchange(other.m_data, nullptr)),
      m_size(std::exchange(other.m_size, 0))
{
}

} // namespace cntk
