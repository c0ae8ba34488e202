// Opens the GPU that deviceId asks for: the one of a number, or the least busy one for deviceId=auto.
#pragma once

#include "Math/Gpu/GpuLibrary.h"

#include <memory>
#include <string>

namespace cntk
{

struct GpuChoice
{
    std::shared_ptr<Device> device; // null if no GPU can be used
    std::string report;             // one line that names the GPU, or says why none can be used
};

// deviceId=auto: takes the least busy GPU that is usable, not excluded and not locked by another run.
GpuChoice ChooseGpu(const GpuOptions& options, const GpuSearch& search);

// Fails (kind Device) if the GPU cannot be used or does not pass its self-check.
std::shared_ptr<Device> OpenCheckedGpu(DeviceId id, const GpuOptions& options, const GpuSearch& search);

} // namespace cntk
