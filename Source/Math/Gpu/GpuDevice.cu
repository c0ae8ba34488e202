// Opens a GPU, and explains why one cannot be used.
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
              std::unique_ptr<GpuBlas> blas, std::string driver, const DnnMaker& makeDnn, const GpuRequest& request)
        : m_id(id), m_runtime(std::move(runtime)), m_properties(properties), m_driver(std::move(driver)),
          m_context(*m_runtime, Concat("GPU ", id), properties.multiprocessors), m_blas(std::move(blas)),
          m_dnn(makeDnn ? makeDnn(m_context) : std::make_unique<GpuDnn>("own kernels")),
          m_kernels(m_context, *m_blas, *m_dnn), m_recorder(m_context, request.trace), m_usesGraphs(request.graphs)
    {
        size_t freeBytes = 0;
        m_runtime->MemoryInfo(freeBytes, m_totalBytes);
    }

    DeviceId Id() const override { return m_id; }
    std::string Describe() const override
    {
        return Concat("GPU ", m_id, " (", m_properties.name, ", ", m_totalBytes >> 20, " MiB, compute capability ",
                      m_properties.major, ".", m_properties.minor, "; driver for CUDA ", m_driver,
                      "; products: ", m_blas->Describe(), "; convolutions: ", m_dnn->Describe(), ")");
    }
    Kernels& GetKernels() override { return m_kernels; }

    void* Allocate(size_t bytes) override
    {
        m_context.NoteAllocation();
        return m_context.Memory().AllocateOutsideScratch(bytes);
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
    WorkRecorder* Recorder() override { return m_usesGraphs ? &m_recorder : nullptr; }

private:
    DeviceId m_id;
    std::unique_ptr<GpuRuntime> m_runtime;
    GpuProperties m_properties;
    std::string m_driver; // the newest CUDA version that it runs
    GpuContext m_context;
    std::unique_ptr<GpuBlas> m_blas; // this and cuDNN use the context's stream, so they are destroyed before it
    std::unique_ptr<GpuDnn> m_dnn;
    GpuKernels m_kernels;
    GpuRecorder m_recorder;
    bool m_usesGraphs;
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
std::string ListOf(const std::vector<GpuFound>& found)
{
    std::string text;
    for (const GpuFound& gpu : found)
        text += Concat(gpu.id > 0 ? ", " : "", gpu.id, " (", gpu.name, ")");
    return text;
}

template <class... Parts>
[[noreturn]] void FailFor(DeviceId id, const Parts&... parts)
{
    Fail(ErrorKind::Device, GpuProblem(id), parts..., id == c_bestGpu ? "" : c_useTheCpu);
}

void CheckDriver(DeviceId id, const GpuDriver& driver)
{
    if (driver.version == 0)
    {
        FailFor(id, "there is no NVIDIA driver; a driver of version ", c_driversFirstRelease, " or later is needed");
    }
    if (driver.version < driver.needed)
    {
        FailFor(id, "the NVIDIA driver is too old: it runs CUDA ", VersionText(driver.version),
                ", this program needs CUDA ", VersionText(driver.needed), ", a driver of version ",
                c_driversFirstRelease, " or later");
    }
    if (driver.devices == 0)
    {
        const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
        const std::string note = visible != nullptr ? Concat("; CUDA_VISIBLE_DEVICES is '", visible, "'") : "";
        FailFor(id, "the NVIDIA driver finds no GPU (", driver.problem.empty() ? "no error" : driver.problem, ")",
                note);
    }
}

// Empty if the card is new enough.
std::string WhyTooOld(const GpuProperties& properties)
{
    if (CapabilityOf(properties) >= c_leastCapability)
        return {};
    return Concat(properties.name, " has compute capability ", properties.major, ".", properties.minor, "; ",
                  c_leastCapability / 10, ".", c_leastCapability % 10, " or later is needed");
}

} // namespace

std::vector<GpuFound> ListGpus(GpuRuntime& runtime)
{
    const GpuDriver driver = runtime.Driver();
    CheckDriver(c_bestGpu, driver);
    std::vector<GpuFound> found;
    for (int device = 0; device < driver.devices; ++device)
    {
        GpuFound& gpu = found.emplace_back();
        gpu.id = device;
        try
        {
            const GpuProperties properties = runtime.Properties(device);
            gpu.name = properties.name;
            gpu.problem = WhyTooOld(properties);
            gpu.busId = properties.busId;
            gpu.uuid = properties.uuid;
        }
        catch (const Error& error) // a broken card does not affect the others
        {
            gpu.name = "unknown";
            gpu.problem = error.Message();
        }
    }
    return found;
}

std::unique_ptr<Device> FindGpu(const GpuRequest& request, std::unique_ptr<GpuRuntime> runtime,
                                const BlasMaker& makeBlas, const DnnMaker& makeDnn)
{
    const GpuDriver driver = runtime->Driver();
    CheckDriver(request.id, driver);
    const int device = request.id;
    if (device >= driver.devices)
    {
        FailFor(request.id, driver.devices == 1 ? "there is one: " : Concat("there are ", driver.devices, ": "),
                ListOf(ListGpus(*runtime)));
    }
    try
    {
        const GpuProperties properties = runtime->Properties(device);
        if (const std::string problem = WhyTooOld(properties); !problem.empty())
            Fail(ErrorKind::Device, problem);
        // Starts the card. Fails if another process holds it in exclusive mode, or if no memory is left.
        runtime->Use(device);
        std::unique_ptr<GpuBlas> blas = makeBlas();
        return std::make_unique<GpuDevice>(device, std::move(runtime), properties, std::move(blas),
                                           VersionText(driver.version), makeDnn, request);
    }
    catch (const Error& error)
    {
        FailFor(request.id, error.Message());
    }
}

} // namespace cntk
