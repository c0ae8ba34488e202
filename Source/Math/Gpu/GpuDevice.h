// A GPU as a device: finding it, its memory and its kernels.
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

// All GPUs of the driver. Fails (kind Device) where it finds none, or cannot be used.
std::vector<GpuFound> ListGpus(GpuRuntime& runtime);

// The GPU that a request asks for. Fails (kind Device) with what was found and what to do. makeBlas is called with the
// device chosen, and makeDnn, which never fails; without it there are our own convolutions alone.
std::unique_ptr<Device> FindGpu(const GpuRequest& request, std::unique_ptr<GpuRuntime> runtime,
                                const BlasMaker& makeBlas, const DnnMaker& makeDnn = {});

} // namespace cntk
