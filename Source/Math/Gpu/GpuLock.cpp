// flock: files that somebody else has made are locked as well as one's own, and need only be readable.
#include "Math/Gpu/GpuLock.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cntk
{

std::optional<GpuLock> GpuLock::Take(const std::string& folder, const std::string& gpu)
{
    const std::string path = folder + "/cntk-gpu-" + gpu + ".lock";
    // Opened before it is made: in folders for all, systems refuse to make a file that somebody else has made.
    int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_CREAT, 0644);
    if (file < 0)
        return GpuLock(-1);
    if (flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return GpuLock(file);
    close(file);
    return std::nullopt;
}

GpuLock::~GpuLock()
{
    if (m_file >= 0)
        close(m_file);
}

GpuLock& GpuLock::operator=(GpuLock&& other) noexcept
{
    std::swap(m_file, other.m_file);
    return *this;
}

} // namespace cntk
