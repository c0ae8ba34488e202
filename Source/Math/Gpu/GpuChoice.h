// What deviceId=auto takes: the least busy GPU that nobody has taken and that computes what the CPU does.
#pragma once

#include "Math/Gpu/GpuLibrary.h"
#include "Math/Gpu/GpuManagement.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cntk
{

struct GpuCandidate
{
    GpuFound gpu;
    std::optional<unsigned> busyPercent; // where it is known
    size_t freeBytes = 0;                // both 0: nobody asked
    size_t totalBytes = 0;

    std::string LoadText() const; // "3 % busy, 15000 of 16384 MiB free"
};

// The least busy first; free memory and idle time count alike, and small differences do not: among equals the order
// stays.
void SortByLoad(std::vector<GpuCandidate>& candidates);

struct GpuChoice
{
    std::shared_ptr<Device> device; // null: none
    std::string report;             // which, or why none; one line
};

GpuChoice ChooseGpu(const GpuOptions& options, const GpuSearch& search);

// The GPU of a number. Fails (kind Device) where it cannot be used, or computes something wrong.
std::shared_ptr<Device> OpenCheckedGpu(DeviceId id, const GpuOptions& options, const GpuSearch& search);

} // namespace cntk
