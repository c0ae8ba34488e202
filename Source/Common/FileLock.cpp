// Uses flock on the file itself. Another process may remove or rename the file between opening and locking.
#include "Common/FileLock.h"

#include "Common/Error.h"
#include "Common/Text.h"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cntk
{

namespace
{

bool IsStill(const std::string& path, const struct stat& opened)
{
    struct stat named = {};
    return ::stat(path.c_str(), &named) == 0 && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

// Empty if the file is missing or has fewer lines.
std::string LineOf(const std::string& path, size_t index)
{
    std::ifstream file(path);
    std::string line;
    for (size_t i = 0; i <= index; ++i)
        if (!std::getline(file, line))
            return "";
    return std::string(Trim(line));
}

} // namespace

LockedFile OpenLocked(const std::string& path)
{
    constexpr int c_attempts = 100;
    for (int attempt = 0; attempt < c_attempts; ++attempt)
    {
        const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        struct stat opened = {};
        if (fd < 0 || ::fstat(fd, &opened) != 0 || !S_ISREG(opened.st_mode))
            return {fd, false};
        if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        {
            ::close(fd);
            return {-1, true};
        }
        if (IsStill(path, opened))
            return {fd, false};
        ::close(fd);
    }
    return {-1, true};
}

bool FileLock::Take(const std::string& path)
{
    {
        const HeldSignals held;
        const LockedFile file = OpenLocked(path);
        if (file.isBusy)
            return false;
        if (file.fd < 0)
            return true;
        m_path = path;
        m_fd = file.fd;
        m_mark.Set(path);
    }
    char host[256] = {};
    if (::gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    const std::string holder = Concat("process ", ::getpid(), " on ", host, "\n");
    if (::ftruncate(m_fd, 0) != 0 || ::write(m_fd, holder.data(), holder.size()) < 0)
        return true; // the lock is held without the name
    return true;
}

FileLock::~FileLock()
{
    if (m_fd < 0)
        return;
    ::unlink(m_path.c_str()); // while locked, so that it cannot be the file of another process
    ::close(m_fd);
}

void FileLock::Note(const std::string& text) const
{
    const std::string line = text + "\n";
    if (m_fd >= 0 && ::write(m_fd, line.data(), line.size()) < 0)
        return; // the lock is held without the note
}

std::string FileLock::HolderOf(const std::string& path)
{
    const std::string holder = LineOf(path, 0);
    return holder.starts_with("process ") && holder.size() < 400 ? holder : "another process";
}

std::string FileLock::NoteIn(const std::string& path)
{
    return LineOf(path, 1);
}

} // namespace cntk
