// Sorts the GPUs by load, then takes the first one that can be locked and passes its self-check.
#include "Math/Gpu/GpuChoice.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "Math/Gpu/GpuSelfCheck.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace cntk
{

namespace
{

struct Candidate
{
    GpuFound gpu;
    double score = 0; // idle time plus free memory, each from 0 to 10
    std::string load; // "3 % busy, 15000 of 16384 MiB free"; empty if unknown
};

// ---- load -----------------------------------------------------------------------------------------------------------

// Structures of NVIDIA's management library (NVML), declared here because builds without CUDA have no nvml.h.
struct NvmlMemory
{
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

struct NvmlUtilization
{
    unsigned gpu; // percent of the last second in which a kernel ran
    unsigned memory;
};

// NVML comes with the driver and reports loads without starting a card. Where it is missing, loads stay unknown and
// the candidates keep CUDA's order, the fastest first.
void SortByLoad(std::vector<Candidate>& candidates, const std::string& libraryName)
{
    void* const library = dlopen(libraryName.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr)
        return;
    const auto find = [&]<class Function>(Function*& function, const char* name)
    { return (function = reinterpret_cast<Function*>(dlsym(library, name))) != nullptr; };
    int (*start)() = nullptr;
    int (*stop)() = nullptr;
    int (*deviceOf)(const char* busId, void** device) = nullptr;
    int (*memoryOf)(void* device, NvmlMemory* memory) = nullptr;
    int (*utilizationOf)(void* device, NvmlUtilization* utilization) = nullptr;
    if (find(start, "nvmlInit_v2") && find(stop, "nvmlShutdown") &&
        find(deviceOf, "nvmlDeviceGetHandleByPciBusId_v2") && find(memoryOf, "nvmlDeviceGetMemoryInfo") &&
        find(utilizationOf, "nvmlDeviceGetUtilizationRates") && start() == 0)
    {
        for (Candidate& candidate : candidates)
        {
            void* device = nullptr;
            NvmlMemory memory{};
            NvmlUtilization utilization{};
            if (deviceOf(candidate.gpu.busId.c_str(), &device) != 0 || memoryOf(device, &memory) != 0 ||
                utilizationOf(device, &utilization) != 0 || memory.total == 0)
                continue;
            // Whole tenths: smaller differences do not outweigh CUDA's order.
            candidate.score =
                std::round(10 - utilization.gpu / 10.0) + std::round(10 * double(memory.free) / double(memory.total));
            candidate.load =
                Concat(utilization.gpu, " % busy, ", memory.free >> 20, " of ", memory.total >> 20, " MiB free");
        }
        stop();
    }
    dlclose(library);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
}

// ---- locks ----------------------------------------------------------------------------------------------------------

// Locks the card's file until the last copy of the result is gone, or the process ends. Null if another process holds
// the lock. Where no such file can be opened, the lock excludes nobody.
std::shared_ptr<const int> LockCard(const GpuFound& gpu, const std::string& folder)
{
    const std::string path =
        Concat(folder, "/cntk-gpu-", gpu.uuid.empty() ? std::to_string(gpu.id) : gpu.uuid, ".lock");
    // Opens an existing file without O_CREAT, which systems refuse in /tmp for files of other users.
    int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_CREAT, 0644);
    if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    {
        close(file);
        return nullptr;
    }
    return {new int(file), [](const int* locked)
            {
                if (*locked >= 0)
                    close(*locked);
                delete locked;
            }};
}

// ---- opening --------------------------------------------------------------------------------------------------------

GpuRequest RequestOf(DeviceId id, const GpuOptions& options)
{
    return {id, options.matrixMath, options.graphs, options.trace};
}

// Empty if the device passes, or if options skip the check.
std::string SelfCheckProblem(Device& device, const GpuOptions& options)
{
    const std::string problem = options.isChecked ? CheckGpu(device, options.matrixMath) : "";
    return problem.empty() ? problem : Concat("its self-check failed: ", problem, "; ", device.Describe());
}

// Null, with the reason in candidate.gpu.problem, if the GPU cannot be used.
std::shared_ptr<Device> Try(Candidate& candidate, const GpuOptions& options, const GpuSearch& search,
                            const GpuLibrary& library)
{
    std::string& problem = candidate.gpu.problem;
    const std::shared_ptr<const int> lock = options.isLocked ? LockCard(candidate.gpu, search.lockFolder) : nullptr;
    if (options.isLocked && lock == nullptr)
    {
        problem = "another run has locked it";
        return nullptr;
    }
    try
    {
        // The deleter holds the lock as long as the device exists.
        const std::shared_ptr<Device> device(library.make(RequestOf(candidate.gpu.id, options)),
                                             [lock](Device* owned) { delete owned; });
        problem = SelfCheckProblem(*device, options);
        return problem.empty() ? device : nullptr;
    }
    catch (const Error& error)
    {
        problem = error.Message();
        return nullptr;
    }
}

// "GPU 0 (Tesla K80): compute capability ...; GPU 1 (A100): another run has locked it"
std::string ProblemsOf(const std::vector<Candidate>& candidates)
{
    std::vector<std::string> problems;
    for (const auto& [gpu, score, load] : candidates)
        if (!gpu.problem.empty())
            problems.push_back(Concat("GPU ", gpu.id, " (", gpu.name, "): ", gpu.problem));
    return Join(problems, "; ");
}

} // namespace

GpuChoice ChooseGpu(const GpuOptions& options, const GpuSearch& search)
{
    GpuLibrary library;
    std::vector<GpuFound> found;
    try
    {
        library = GpuLibrary::Open(c_bestGpu, search);
        library.list(found);
    }
    catch (const Error& error)
    {
        return {nullptr, error.Message()};
    }
    std::vector<Candidate> candidates;
    for (GpuFound& gpu : found)
    {
        if (std::find(options.excluded.begin(), options.excluded.end(), gpu.id) != options.excluded.end())
            gpu.problem = "excludedDevices names it";
        candidates.push_back({gpu, 0, {}});
    }
    SortByLoad(candidates, search.management);
    for (Candidate& candidate : candidates)
    {
        if (!candidate.gpu.problem.empty())
            continue;
        const std::shared_ptr<Device> device = Try(candidate, options, search, library);
        if (device == nullptr)
            continue;
        const std::string problems = ProblemsOf(candidates);
        return {device, Concat(device->Describe(), candidate.load.empty() ? "" : ": ", candidate.load,
                               problems.empty() ? "" : "; not ", problems)};
    }
    return {nullptr, GpuProblem(c_bestGpu) + ProblemsOf(candidates)};
}

std::shared_ptr<Device> OpenCheckedGpu(DeviceId id, const GpuOptions& options, const GpuSearch& search)
{
    const std::shared_ptr<Device> device = OpenGpu(RequestOf(id, options), search);
    const std::string problem = SelfCheckProblem(*device, options);
    if (!problem.empty())
        Fail(ErrorKind::Device, GpuProblem(id), problem, c_useTheCpu, ", gpuSelfCheck=false uses the GPU all the same");
    return device;
}

} // namespace cntk
