// The GPU backend as the program sees it: a library that is looked for and opened at run time, so that one program runs
// with and without a GPU, its driver and the CUDA libraries.
#pragma once

#include "Math/Device.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

constexpr DeviceId c_bestGpu = -2; // whichever GPU has most memory free

struct GpuRequest
{
    DeviceId id = c_bestGpu;
    GpuMatrixMath matrixMath = GpuMatrixMath::Float;
    bool graphs = true;
    std::function<void(const std::string& text)> trace = {}; // of GpuOptions
};

// What the library exports, by these names. The first says from which sources it was built, the second fails (kind
// Device) with the reason where there is no such device; whoever calls it owns what it returns.
constexpr const char* c_gpuStampFunction = "CntkGpuStamp";
constexpr const char* c_gpuMakeFunction = "CntkMakeGpu";
using GpuStampFunction = const char* (*)();
using GpuMakeFunction = Device* (*)(const GpuRequest& request);

// Changes with every header that program and library must have in common.
const char* GpuInterfaceStamp();

// Where library and driver are looked for.
struct GpuSearch
{
    std::vector<std::string> folders; // of the library, before the system's own search
    std::string driver = "libcuda.so.1";
    std::string library = "libcntkmath_gpu.so";

    static GpuSearch Default(); // beside the program's plugins
};

// Fails (kind Device) with what was found and what to do.
std::shared_ptr<Device> OpenGpu(const GpuRequest& request, const GpuSearch& search);

// The front of every reason: "GPU 2 cannot be used: " or, of any, "no GPU can be used: ".
std::string GpuProblem(DeviceId id);

} // namespace cntk
