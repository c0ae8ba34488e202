// Which GPUs runs on this machine have taken for themselves: a locked file for each, whose lock ends with the process
// that holds it, however it ends.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace cntk
{

class GpuLock
{
public:
    // Nothing where another run holds it. Where locks are impossible (no such folder) everybody gets one that excludes
    // nobody.
    static std::optional<GpuLock> Take(const std::string& folder, const std::string& gpu);

    ~GpuLock();
    GpuLock(GpuLock&& other) noexcept : m_file(std::exchange(other.m_file, -1)) {}
    GpuLock& operator=(GpuLock&& other) noexcept;
    GpuLock(const GpuLock&) = delete;
    GpuLock& operator=(const GpuLock&) = delete;

private:
    explicit GpuLock(int file) : m_file(file) {}

    int m_file; // -1: none
};

} // namespace cntk
