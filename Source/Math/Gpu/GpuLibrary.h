// The GPU backend as the program sees it: a library that is looked for and opened at run time, so that one program runs
// with and without a GPU, its driver and the CUDA libraries.
#pragma once

#include "Math/Device.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace cntk
{

constexpr DeviceId c_bestGpu = -2; // whichever is the least busy (GpuChoice.h)

struct GpuRequest
{
    DeviceId id = 0;
    GpuMatrixMath matrixMath = GpuMatrixMath::Float;
    bool graphs = true;
    std::function<void(const std::string& text)> trace = {}; // of GpuOptions
};

// A GPU that the driver finds.
struct GpuFound
{
    DeviceId id = 0;
    std::string name;
    std::string problem; // why it cannot be used; empty: nothing is known against it
    std::string busId;   // "00000000:3B:00.0"; empty: unknown
    std::string uuid;    // of the card, or of the part of it that this GPU is
};

// What the library exports, by these names. The first says from which sources it was built, the second fails (kind
// Device) with the reason where there is no such device; whoever calls it owns what it returns. The third fails where
// the driver cannot be used or finds none. The fourth starts the GPU to ask for its memory.
constexpr const char* c_gpuStampFunction = "CntkGpuStamp";
constexpr const char* c_gpuMakeFunction = "CntkMakeGpu";
constexpr const char* c_gpuListFunction = "CntkListGpus";
constexpr const char* c_gpuMemoryFunction = "CntkGpuMemory";
using GpuStampFunction = const char* (*)();
using GpuMakeFunction = Device* (*)(const GpuRequest& request);
using GpuListFunction = void (*)(std::vector<GpuFound>& found);
using GpuMemoryFunction = void (*)(DeviceId id, size_t& freeBytes, size_t& totalBytes);

// Changes with every header that program and library must have in common.
const char* GpuInterfaceStamp();

// Where library and driver are looked for.
struct GpuSearch
{
    std::vector<std::string> folders; // of the library, before the system's own search
    std::string driver = "libcuda.so.1";
    std::string library = "libcntkmath_gpu.so";
    std::string management = "libnvidia-ml.so.1"; // says how busy GPUs are; not needed
    std::string lockFolder = "/tmp";              // of files that say which GPUs are taken

    static GpuSearch Default(); // beside the program's plugins
};

// The library, open; it stays so until the program ends.
struct GpuLibrary
{
    GpuMakeFunction make = nullptr;
    GpuListFunction list = nullptr;
    GpuMemoryFunction memory = nullptr;

    // Fails (kind Device) with what was found and what to do; id: of the GPU that it is opened for.
    static GpuLibrary Open(DeviceId id, const GpuSearch& search);
};

// Fails (kind Device) with what was found and what to do.
std::shared_ptr<Device> OpenGpu(const GpuRequest& request, const GpuSearch& search);

// The front of every reason: "GPU 2 cannot be used: " or, of any, "no GPU can be used: ".
std::string GpuProblem(DeviceId id);
// What every reason of a GPU asked for by its number ends with.
constexpr const char* c_useTheCpu = "; deviceId=cpu runs on the CPU";

} // namespace cntk
