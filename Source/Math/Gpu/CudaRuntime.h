// The runtime, the products and the convolutions of real GPUs.
#pragma once

#include "Math/Device.h"
#include "Math/Gpu/GpuBlas.h"
#include "Math/Gpu/GpuDnn.h"
#include "Math/Gpu/GpuRuntime.h"

#include <memory>

namespace cntk
{

std::unique_ptr<GpuRuntime> MakeCudaRuntime();
// Of a GPU that has to be started for it, and is left as it was: a process that once started it would take some hundred
// MiB of it till its end.
void AskForMemory(DeviceId id, size_t& freeBytes, size_t& totalBytes);
// Opens cuBLAS at run time, for the current device. Fails (kind Device) where it is missing.
std::unique_ptr<GpuBlas> MakeCuBlas(GpuMatrixMath math);
// cuDNN, where it is found at run time (and was when this was built).
std::unique_ptr<GpuDnn> MakeCuDnn(GpuContext& context, GpuMatrixMath math);

} // namespace cntk
