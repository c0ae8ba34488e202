// How busy GPUs are, as NVIDIA's management library tells: without starting them. It comes with the driver; where it
// is missing nothing is known.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace cntk
{

struct GpuLoad
{
    unsigned busyPercent = 0; // of the last moments
    size_t freeBytes = 0;
    size_t totalBytes = 0;
};

class GpuManagement
{
public:
    explicit GpuManagement(const std::string& library);
    ~GpuManagement();
    GpuManagement(const GpuManagement&) = delete;
    GpuManagement& operator=(const GpuManagement&) = delete;

    std::optional<GpuLoad> LoadOf(const std::string& busId) const;

private:
    void* m_library = nullptr;
    bool m_isStarted = false;
};

} // namespace cntk
