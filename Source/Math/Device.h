// A place where numbers live and are computed: the CPU, a GPU, in tests the reference backend. Nothing above this
// interface may assume host memory.
#pragma once

#include "Math/DataType.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cntk
{

class Kernels;      // Math/Kernels.h: the backend interface
class WorkRecorder; // Math/WorkRecorder.h

// deviceId of the config: -1 = CPU, n >= 0 = GPU n.
using DeviceId = int;
constexpr DeviceId c_cpuDevice = -1;

// Made once and passed down (no globals); outlives every matrix on it.
class Device
{
public:
    virtual ~Device() = default;

    virtual DeviceId Id() const = 0;
    virtual std::string Describe() const = 0; // "CPU (4 threads, AVX2, OpenBLAS Haswell)"
    virtual Kernels& GetKernels() = 0;

    // Memory aligned to 64 bytes. Allocation failure is an Error of kind Device with the size.
    virtual void* Allocate(size_t bytes) = 0;
    virtual void Free(void* memory) noexcept = 0;
    virtual void CopyFromHost(void* destination, const void* host, size_t bytes) = 0;
    virtual void CopyToHost(void* host, const void* source, size_t bytes) = 0;
    virtual void Copy(void* destination, const void* source, size_t bytes) = 0; // within the device
    virtual void Zero(void* destination, size_t bytes) = 0;
    virtual void Synchronize() = 0;
    // True where the device's memory can be read by the host as it is.
    virtual bool IsHostMemory() const = 0;
    // Masks of columns that operations will be given, whole or in parts: a device that copies them does so once.
    virtual void ExpectMask(std::span<const uint8_t> /*mask*/) {}
    // Null: work is not recorded.
    virtual WorkRecorder* Recorder() { return nullptr; }
};

struct CpuOptions
{
    int threads = 0; // numCPUThreads: 0 = as many as cores allowed to this process
    // Is told once of each shape of product what it runs on (traceLevel=2); empty: nobody asks.
    std::function<void(const std::string& text)> trace = {};
};

// gpuMatrixMath: how a GPU multiplies matrices of float; the two fast kinds round the factors.
enum class GpuMatrixMath : uint8_t
{
    Float,
    Tf32,
    Bfloat16
};

struct GpuOptions
{
    GpuMatrixMath matrixMath = GpuMatrixMath::Float;
    bool graphs = true; // gpuGraphs: steps that repeat are recorded and launched as CUDA graphs
    // Is told in one line what cannot be recorded (traceLevel=1); empty: nobody asks.
    std::function<void(const std::string& text)> trace = {};
    bool isChecked = true; // gpuSelfCheck: a GPU must compute what the CPU computes before it is used
    // For auto alone: taken for this run alone among those that ask so, and GPUs that are not taken at all.
    bool isLocked = true;
    std::vector<DeviceId> excluded = {};
    // Is told in one line which device deviceId=auto takes, and why; empty: nobody asks.
    std::function<void(const std::string& text)> report = {};
};

std::shared_ptr<Device> MakeCpuDevice(const CpuOptions& options = {});
// Naive loops; for tests, where it proves that nothing above the backend interface cares which backend runs.
std::shared_ptr<Device> MakeReferenceDevice();
// Opens the GPU library at run time. Fails (kind Device) with the reason when it, a driver or the device is missing, or
// when what it computes is wrong (GpuSelfCheck.h).
std::shared_ptr<Device> MakeGpuDevice(DeviceId id, const GpuOptions& options = {});
// "auto", "cpu", "-1", "0".. as in the config. Fails for anything else. auto: the least busy GPU that computes
// what the CPU does, else the CPU.
std::shared_ptr<Device> MakeDevice(const std::string& deviceId, const CpuOptions& options = {},
                                   const GpuOptions& gpuOptions = {});

} // namespace cntk
