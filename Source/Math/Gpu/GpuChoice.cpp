// Asks for the load of all GPUs, then tries them one after another.
#include "Math/Gpu/GpuChoice.h"

#include "Common/Error.h"
#include "Common/Text.h"
#include "Math/Gpu/GpuLock.h"
#include "Math/Gpu/GpuSelfCheck.h"

#include <algorithm>
#include <cmath>

namespace cntk
{

namespace
{

// Differences below a part of so many of all memory, and of all time, do not count.
constexpr double c_steps = 20;

GpuRequest RequestOf(DeviceId id, const GpuOptions& options)
{
    return {id, options.matrixMath, options.graphs, options.trace};
}

std::string Named(const GpuFound& gpu)
{
    return Concat("GPU ", gpu.id, " (", gpu.name, ")");
}

// Starting a GPU takes time and memory: it is asked itself only where the management library does not know.
void AskForLoad(GpuCandidate& candidate, const GpuManagement& management, const GpuLibrary& library)
{
    if (const std::optional<GpuLoad> load = management.LoadOf(candidate.gpu.busId))
    {
        candidate.busyPercent = load->busyPercent;
        candidate.freeBytes = load->freeBytes;
        candidate.totalBytes = load->totalBytes;
        return;
    }
    try
    {
        library.memory(candidate.gpu.id, candidate.freeBytes, candidate.totalBytes);
    }
    catch (const Error& error)
    {
        candidate.gpu.problem = error.Message();
    }
}

// The device, and its lock as long as it lives.
std::shared_ptr<Device> WithLock(std::shared_ptr<Device> device, std::optional<GpuLock> lock)
{
    if (!lock)
        return device;
    struct Locked
    {
        std::optional<GpuLock> lock;
        std::shared_ptr<Device> device; // goes first
    };
    const auto both = std::make_shared<Locked>(Locked{std::move(lock), std::move(device)});
    return {both, both->device.get()};
}

// Null, and the reason in candidate.gpu.problem, where it cannot be had.
std::shared_ptr<Device> Try(GpuCandidate& candidate, const GpuOptions& options, const GpuSearch& search,
                            const GpuLibrary& library)
{
    std::optional<GpuLock> lock;
    if (options.isLocked)
    {
        lock = GpuLock::Take(search.lockFolder,
                             candidate.gpu.uuid.empty() ? std::to_string(candidate.gpu.id) : candidate.gpu.uuid);
        if (!lock)
        {
            candidate.gpu.problem = "another run has taken it";
            return nullptr;
        }
    }
    try
    {
        std::shared_ptr<Device> device(library.make(RequestOf(candidate.gpu.id, options)));
        if (!options.isChecked)
            return WithLock(std::move(device), std::move(lock));
        if (const auto wrong = CheckGpu(*device, options.matrixMath))
        {
            candidate.gpu.problem = Concat("its self-check failed: ", wrong->Describe(), "; ", device->Describe());
            return nullptr;
        }
        return WithLock(std::move(device), std::move(lock));
    }
    catch (const Error& error)
    {
        candidate.gpu.problem = error.Message();
        return nullptr;
    }
}

// "GPU 0 (Old) has ...; GPU 1 (Locked): another run has taken it"
std::string ProblemsOf(const std::vector<GpuCandidate>& candidates)
{
    std::vector<std::string> problems;
    for (const GpuCandidate& candidate : candidates)
        if (!candidate.gpu.problem.empty())
            problems.push_back(Named(candidate.gpu) + ": " + candidate.gpu.problem);
    return Join(problems, "; ");
}

} // namespace

std::string GpuCandidate::LoadText() const
{
    std::string text = busyPercent ? Concat(*busyPercent, " % busy") : std::string();
    if (totalBytes > 0)
        text += Concat(text.empty() ? "" : ", ", freeBytes >> 20, " of ", totalBytes >> 20, " MiB free");
    return text;
}

void SortByLoad(std::vector<GpuCandidate>& candidates)
{
    size_t largest = 1;
    for (const GpuCandidate& candidate : candidates)
        largest = std::max(largest, candidate.totalBytes);
    const auto score = [&](const GpuCandidate& candidate)
    {
        const double idle = candidate.busyPercent ? 1 - double(*candidate.busyPercent) / 100 : 0;
        return std::round(c_steps * (double(candidate.freeBytes) / double(largest) + idle));
    };
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](const GpuCandidate& a, const GpuCandidate& b) { return score(a) > score(b); });
}

GpuChoice ChooseGpu(const GpuOptions& options, const GpuSearch& search)
{
    GpuLibrary library;
    std::vector<GpuCandidate> candidates;
    try
    {
        library = GpuLibrary::Open(c_bestGpu, search);
        std::vector<GpuFound> found;
        library.list(found);
        for (GpuFound& gpu : found)
        {
            if (std::find(options.excluded.begin(), options.excluded.end(), gpu.id) != options.excluded.end())
                gpu.problem = "excludedDevices names it";
            candidates.push_back({std::move(gpu), {}});
        }
    }
    catch (const Error& error)
    {
        return {nullptr, error.Message()};
    }
    const auto isUsable = [](const GpuCandidate& candidate) { return candidate.gpu.problem.empty(); };
    if (std::count_if(candidates.begin(), candidates.end(), isUsable) > 1)
    {
        const GpuManagement management(search.management);
        for (GpuCandidate& candidate : candidates)
            if (isUsable(candidate))
                AskForLoad(candidate, management, library);
        SortByLoad(candidates);
    }
    for (GpuCandidate& candidate : candidates)
    {
        if (!isUsable(candidate))
            continue;
        if (const std::shared_ptr<Device> device = Try(candidate, options, search, library))
        {
            const std::string load = candidate.LoadText(), problems = ProblemsOf(candidates);
            return {device, Concat(device->Describe(), load.empty() ? "" : ": the least busy, " + load,
                                   problems.empty() ? "" : "; not " + problems)};
        }
    }
    return {nullptr, GpuProblem(c_bestGpu) + ProblemsOf(candidates)};
}

std::shared_ptr<Device> OpenCheckedGpu(DeviceId id, const GpuOptions& options, const GpuSearch& search)
{
    const std::shared_ptr<Device> device = OpenGpu(RequestOf(id, options), search);
    if (!options.isChecked)
        return device;
    if (const auto wrong = CheckGpu(*device, options.matrixMath))
    {
        Fail(ErrorKind::Device, GpuProblem(id), "its self-check failed: ", wrong->Describe(), "; ", device->Describe(),
             c_useTheCpu, ", gpuSelfCheck=false uses the GPU all the same");
    }
    return device;
}

} // namespace cntk
