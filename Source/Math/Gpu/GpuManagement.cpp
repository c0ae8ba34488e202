// The few functions of the management library (NVML) that are needed, declared here: its header is no part of a build
// without CUDA.
#include "Math/Gpu/GpuManagement.h"

#include <dlfcn.h>

namespace cntk
{

namespace
{

struct Memory
{
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

struct Utilization
{
    unsigned gpu; // percent of the time in which a kernel ran
    unsigned memory;
};

constexpr int c_success = 0;

using Handle = void*;
using InitFunction = int (*)();
using HandleFunction = int (*)(const char* busId, Handle* device);
using MemoryFunction = int (*)(Handle device, Memory* memory);
using UtilizationFunction = int (*)(Handle device, Utilization* utilization);

template <class Function>
Function Find(void* library, const char* name)
{
    return reinterpret_cast<Function>(dlsym(library, name));
}

} // namespace

GpuManagement::GpuManagement(const std::string& library) : m_library(dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL))
{
    if (m_library == nullptr)
        return;
    const auto start = Find<InitFunction>(m_library, "nvmlInit_v2");
    m_isStarted = start != nullptr && start() == c_success;
}

GpuManagement::~GpuManagement()
{
    if (m_isStarted)
        if (const auto stop = Find<InitFunction>(m_library, "nvmlShutdown"))
            stop();
    if (m_library != nullptr)
        dlclose(m_library);
}

std::optional<GpuLoad> GpuManagement::LoadOf(const std::string& busId) const
{
    if (!m_isStarted || busId.empty())
        return std::nullopt;
    const auto find = Find<HandleFunction>(m_library, "nvmlDeviceGetHandleByPciBusId_v2");
    const auto memoryOf = Find<MemoryFunction>(m_library, "nvmlDeviceGetMemoryInfo");
    const auto utilizationOf = Find<UtilizationFunction>(m_library, "nvmlDeviceGetUtilizationRates");
    Handle device = nullptr;
    Memory memory{};
    Utilization utilization{};
    if (find == nullptr || memoryOf == nullptr || utilizationOf == nullptr || find(busId.c_str(), &device) != c_success)
        return std::nullopt;
    if (memoryOf(device, &memory) != c_success || utilizationOf(device, &utilization) != c_success)
        return std::nullopt;
    return GpuLoad{utilization.gpu, size_t(memory.free), size_t(memory.total)};
}

} // namespace cntk
