// Which GPU is taken, and what is said where there is none.
#include "Common/Error.h"
#include "Math/Gpu/GpuContext.h"
#include "Math/Gpu/GpuDevice.h"
#include "Math/Gpu/GpuKernels.h"
#include "Math/Gpu/GpuRecorder.h"

#include <cstdlib>

namespace cntk
{

namespace
{

constexpr int c_leastCapability = 75; // 10 * major + minor
constexpr int c_driversFirstRelease = 580;

class GpuDevice final : public Device
{
public:
    GpuDevice(DeviceId id, std::unique_ptr<GpuRuntime> runtime, const GpuProperties& properties,
              std::unique_ptr<GpuBlas> blas, const DnnMaker& makeDnn, const GpuRequest& request)
        : m_id(id), m_runtime(std::move(runtime)), m_properties(properties), m_blas(std::move(blas)),
          m_context(*m_runtime, Concat("GPU ", id), properties.multiprocessors),
          m_dnn(makeDnn ? makeDnn(m_context) : std::make_unique<GpuDnn>("own kernels")),
          m_kernels(m_context, *m_blas, *m_dnn), m_recorder(m_context, request.trace), m_records(request.graphs)
    {
        size_t freeBytes = 0;
        m_runtime->MemoryInfo(freeBytes, m_totalBytes);
    }

    DeviceId Id() const override { return m_id; }
    std::string Describe() const override
    {
        return Concat("GPU ", m_id, " (", m_properties.name, ", ", m_totalBytes >> 20, " MiB, compute capability ",
                      m_properties.major, ".", m_properties.minor, "; products: ", m_blas->Describe(),
                      "; convolutions: ", m_dnn->Describe(), ")");
    }
    Kernels& GetKernels() override { return m_kernels; }

    void* Allocate(size_t bytes) override
    {
        m_context.NoteAllocation();
        return m_context.Memory().AllocateBesideScratch(bytes);
    }
    void Free(void* memory) noexcept override
    {
        m_context.NoteFree();
        m_context.Memory().Free(memory);
    }
    void CopyFromHost(void* destination, const void* host, size_t bytes) override
    {
        m_context.Upload(destination, host, bytes);
    }
    void CopyToHost(void* host, const void* source, size_t bytes) override
    {
        if (bytes > 0)
            m_context.Download(host, source, bytes);
    }
    void Copy(void* destination, const void* source, size_t bytes) override
    {
        if (bytes > 0)
            m_context.Copy(destination, source, bytes);
    }
    void Zero(void* destination, size_t bytes) override
    {
        if (bytes > 0)
            m_context.Zero(destination, bytes);
    }
    void Synchronize() override { m_context.Synchronize(); }
    bool IsHostMemory() const override { return false; }
    void ExpectMask(std::span<const uint8_t> mask) override { m_context.ExpectMask(mask); }
    WorkRecorder* Recorder() override { return m_records ? &m_recorder : nullptr; }

private:
    DeviceId m_id;
    std::unique_ptr<GpuRuntime> m_runtime;
    GpuProperties m_properties;
    std::unique_ptr<GpuBlas> m_blas;
    GpuContext m_context;
    std::unique_ptr<GpuDnn> m_dnn;
    GpuKernels m_kernels;
    GpuRecorder m_recorder;
    bool m_records;
    size_t m_totalBytes = 0;
};

std::string VersionText(int version)
{
    return Concat(version / 1000, ".", version % 1000 / 10);
}

int CapabilityOf(const GpuProperties& properties)
{
    return 10 * properties.major + properties.minor;
}

// "0 (NVIDIA T4), 1 (NVIDIA T4)"
std::string ListOf(GpuRuntime& runtime, int devices)
{
    std::string text;
    for (int device = 0; device < devices; ++device)
        text += Concat(device > 0 ? ", " : "", device, " (", runtime.Properties(device).name, ")");
    return text;
}

template <class... Parts>
[[noreturn]] void FailFor(const GpuRequest& request, const Parts&... parts)
{
    Fail(ErrorKind::Device, GpuProblem(request.id), parts...,
         request.id == c_bestGpu ? "" : "; deviceId=cpu runs on the CPU");
}

void CheckDriver(const GpuRequest& request, const GpuDriver& driver)
{
    if (driver.version == 0)
    {
        FailFor(request, "there is no NVIDIA driver; a driver of version ", c_driversFirstRelease,
                " or later is needed");
    }
    if (driver.version < driver.needed)
    {
        FailFor(request, "the NVIDIA driver is too old: it runs CUDA ", VersionText(driver.version),
                ", this program needs CUDA ", VersionText(driver.needed), ", a driver of version ",
                c_driversFirstRelease, " or later");
    }
    if (driver.devices == 0)
    {
        const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
        const std::string note = visible != nullptr ? Concat("; CUDA_VISIBLE_DEVICES is '", visible, "'") : "";
        FailFor(request, "the NVIDIA driver finds no GPU (", driver.problem.empty() ? "no error" : driver.problem, ")",
                note);
    }
}

// Of those that are new enough the one with most memory free.
int BestOf(const GpuRequest& request, GpuRuntime& runtime, int devices)
{
    int best = -1;
    size_t mostFree = 0;
    for (int device = 0; device < devices; ++device)
    {
        if (CapabilityOf(runtime.Properties(device)) < c_leastCapability)
            continue;
        size_t freeBytes = 0;
        size_t totalBytes = 0;
        if (devices > 1) // asking starts a device, which takes a while
        {
            runtime.Use(device);
            runtime.MemoryInfo(freeBytes, totalBytes);
        }
        if (best < 0 || freeBytes > mostFree)
        {
            best = device;
            mostFree = freeBytes;
        }
    }
    if (best < 0)
    {
        FailFor(request, "none of ", ListOf(runtime, devices), " has compute capability ", c_leastCapability / 10, ".",
                c_leastCapability % 10, " or later");
    }
    return best;
}

} // namespace

std::unique_ptr<Device> FindGpu(const GpuRequest& request, std::unique_ptr<GpuRuntime> runtime,
                                const BlasMaker& makeBlas, const DnnMaker& makeDnn)
{
    const GpuDriver driver = runtime->Driver();
    CheckDriver(request, driver);
    int device = request.id;
    if (device == c_bestGpu)
        device = BestOf(request, *runtime, driver.devices);
    if (device >= driver.devices)
    {
        FailFor(request, driver.devices == 1 ? "there is one: " : Concat("there are ", driver.devices, ": "),
                ListOf(*runtime, driver.devices));
    }
    const GpuProperties properties = runtime->Properties(device);
    if (CapabilityOf(properties) < c_leastCapability)
    {
        FailFor(request, properties.name, " has compute capability ", properties.major, ".", properties.minor, "; ",
                c_leastCapability / 10, ".", c_leastCapability % 10, " or later is needed");
    }
    runtime->Use(device);
    std::unique_ptr<GpuBlas> blas;
    try
    {
        blas = makeBlas();
    }
    catch (const Error& error)
    {
        FailFor(request, error.Message());
    }
    return std::make_unique<GpuDevice>(device, std::move(runtime), properties, std::move(blas), makeDnn, request);
}

} // namespace cntk
