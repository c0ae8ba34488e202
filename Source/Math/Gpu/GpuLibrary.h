// The GPU backend as the program sees it: a library that is opened at run time, so that one program runs with and
// without a GPU, its driver and the CUDA libraries.
#pragma once

#include "Math/Device.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

constexpr DeviceId c_bestGpu = -2; // the least busy GPU (GpuChoice.h)

struct GpuRequest
{
    DeviceId id = 0;
    GpuMatrixMath matrixMath = GpuMatrixMath::Float;
    bool graphs = true;
    std::function<void(const std::string& text)> trace = {}; // as in GpuOptions
};

// A GPU that the driver reports.
struct GpuFound
{
    DeviceId id = 0;
    std::string name;
    std::string problem; // why it cannot be used; empty if no reason is known
    std::string busId;   // "00000000:3B:00.0"; empty if unknown
    std::string uuid;    // of the card, or of its MIG instance
};

// The functions that the library exports. The stamp identifies the sources it was built from. The make function returns
// a device that the caller owns, or fails (kind Device). The list function fails if the driver cannot be used or finds
// no GPU.
constexpr const char* c_gpuStampFunction = "CntkGpuStamp";
constexpr const char* c_gpuMakeFunction = "CntkMakeGpu";
constexpr const char* c_gpuListFunction = "CntkListGpus";
using GpuStampFunction = const char* (*)();
using GpuMakeFunction = Device* (*)(const GpuRequest& request);
using GpuListFunction = void (*)(std::vector<GpuFound>& found);

// A hash of the headers that the program and the library share.
const char* GpuInterfaceStamp();

// Names and folders of the libraries that are searched.
struct GpuSearch
{
    std::vector<std::string> folders; // searched before the system's folders
    std::string driver = "libcuda.so.1";
    std::string library = "libcntkmath_gpu.so";
    std::string management = "libnvidia-ml.so.1"; // reports the load of GPUs; optional
    std::string lockFolder = "/tmp";

    static GpuSearch Default(); // the folders of the program's plugins
};

// The opened library. It stays open until the program ends.
struct GpuLibrary
{
    GpuMakeFunction make = nullptr;
    GpuListFunction list = nullptr;

    // Fails (kind Device) with what was found and what to do. The message names GPU `id`.
    static GpuLibrary Open(DeviceId id, const GpuSearch& search);
};

// Fails (kind Device) with what was found and what to do.
std::shared_ptr<Device> OpenGpu(const GpuRequest& request, const GpuSearch& search);

// The beginning of every message: "GPU 2 cannot be used: ", or "no GPU can be used: " for c_bestGpu.
std::string GpuProblem(DeviceId id);
// The end of every message about a GPU that was named by its number.
constexpr const char* c_useTheCpu = "; deviceId=cpu runs on the CPU";

} // namespace cntk
