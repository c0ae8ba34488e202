// A place where values are stored and computed: the CPU, a GPU or, in tests, the reference backend. Nothing above this
// interface may assume host memory.
#pragma once

#include "Common/Error.h"
#include "Math/DataType.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cntk
{

class Kernels;      // Math/Kernels.h: the backend interface
class WorkRecorder; // Math/RepeatedWork.h

// deviceId of the config: -1 = CPU, n >= 0 = GPU n.
using DeviceId = int;
constexpr DeviceId c_cpuDevice = -1;

// Created once and passed down (no globals); outlives every matrix on it.
class Device
{
public:
    virtual ~Device() = default;

    virtual DeviceId Id() const = 0;
    virtual std::string Describe() const = 0; // "CPU (4 threads, AVX2, OpenBLAS Haswell)"
    virtual Kernels& GetKernels() = 0;

    // Returns memory aligned to 64 bytes, or throws OutOfMemory.
    virtual void* Allocate(size_t bytes) = 0;
    virtual void Free(void* memory) noexcept = 0;
    virtual void CopyFromHost(void* destination, const void* host, size_t bytes) = 0;
    virtual void CopyToHost(void* host, const void* source, size_t bytes) = 0;
    virtual void Copy(void* destination, const void* source, size_t bytes) = 0; // within the device
    virtual void Zero(void* destination, size_t bytes) = 0;
    virtual void Synchronize() = 0;
    // True if the host can read the device's memory.
    virtual bool IsHostMemory() const = 0;
    // Announces a mask of columns that operations will get, whole or in parts, so that a device copies it once.
    virtual void ExpectMask(std::span<const uint8_t> /*mask*/) {}
    // Null: the device does not record work.
    virtual WorkRecorder* Recorder() { return nullptr; }
};

// matrixEngine: what computes dense matrix products on the CPU.
enum class MatrixEngine : uint8_t
{
    Auto, // our own kernels, or a library for the shapes that it computes faster on this processor
    Own,
    OneDnn,
    OpenBlas
};

struct CpuOptions
{
    int threads = 0; // numCPUThreads: 0 = all cores allowed to this process
    MatrixEngine matrixEngine = MatrixEngine::Auto;
    // Called once for each shape of product with the engine that computes it (traceLevel=2). May be empty.
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
    // Receives one line for each step that cannot be captured (traceLevel=1). May be empty.
    std::function<void(const std::string& text)> trace = {};
    bool isChecked = true; // gpuSelfCheck: a GPU must compute what the CPU computes before it is used
    // For auto only: locks the GPU against other runs that lock, and never takes the excluded GPUs.
    bool isLocked = true;
    std::vector<DeviceId> excluded = {};
    // Receives one line: the device that deviceId=auto takes, and the reason. May be empty.
    std::function<void(const std::string& text)> report = {};
};

std::shared_ptr<Device> MakeCpuDevice(const CpuOptions& options = {});
// Opens the GPU library at run time. Fails (kind Device) with the reason when it, a driver or the device is missing, or
// when what it computes is wrong (GpuSelfCheck.h).
std::shared_ptr<Device> MakeGpuDevice(DeviceId id, const GpuOptions& options = {});
// "auto", "cpu", "-1", "0".. as in the config. Fails for anything else. auto: the least busy GPU that computes
// what the CPU does, else the CPU.
std::shared_ptr<Device> MakeDevice(const std::string& deviceId, const CpuOptions& options = {},
                                   const GpuOptions& gpuOptions = {});

} // namespace cntk
