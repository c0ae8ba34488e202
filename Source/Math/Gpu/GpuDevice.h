// Finds GPUs and opens one as a device.
#pragma once

#include "Math/Device.h"
#include "Math/Gpu/GpuBlas.h"
#include "Math/Gpu/GpuDnn.h"
#include "Math/Gpu/GpuLibrary.h"
#include "Math/Gpu/GpuRuntime.h"

#include <functional>
#include <memory>
#include <vector>

namespace cntk
{

using BlasMaker = std::function<std::unique_ptr<GpuBlas>()>;

// Lists all GPUs of the driver. Fails (kind Device) if the driver cannot be used or finds none.
std::vector<GpuFound> ListGpus(GpuRuntime& runtime);

// Opens the requested GPU. Fails (kind Device) with what was found and what to do. makeBlas and makeDnn are called
// while the device is current; makeDnn never fails. Without makeDnn our own kernels compute all convolutions.
std::unique_ptr<Device> FindGpu(const GpuRequest& request, std::unique_ptr<GpuRuntime> runtime,
                                const BlasMaker& makeBlas, const DnnMaker& makeDnn = {});

} // namespace cntk
