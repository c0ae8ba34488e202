// Gathering by exchanges, and the run-time search for the MPI library.
#include "Common/Workers.h"

#include "Common/Error.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>
#include <optional>

namespace cntk
{

namespace
{

template <class T>
std::span<const std::byte> BytesOf(const std::vector<T>& values)
{
    return std::as_bytes(std::span(values));
}

// Returns the number in the first of these environment variables that is set.
size_t NumberIn(std::initializer_list<const char*> variables, size_t otherwise)
{
    for (const char* name : variables)
        if (const char* const number = std::getenv(name))
            return std::strtoul(number, nullptr, 10);
    return otherwise;
}

// RTLD_GLOBAL: OpenMPI opens plugins that need its symbols. The code stays in memory until the program ends.
void* OpenWorkersLibrary(const std::string& path)
{
    return dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
}

} // namespace

void Workers::Gather(std::span<const std::byte> own, std::span<std::byte> all)
{
    const size_t size = own.size();
    CNTK_ASSERT(all.size() == size * Count());
    std::vector<std::span<const std::byte>> sent(Count(), own);
    std::vector<std::span<std::byte>> received;
    for (size_t i = 0; i < Count(); ++i)
        received.push_back(all.subspan(i * size, size));
    Exchange(sent, received);
    std::copy(own.begin(), own.end(), received[Rank()].begin());
}

std::vector<double> Workers::Gather(double own)
{
    const std::vector<double> one{own};
    std::vector<double> all(Count());
    Gather(BytesOf(one), std::as_writable_bytes(std::span(all)));
    return all;
}

std::vector<std::string> Workers::Gather(const std::string& own)
{
    std::vector<std::string> texts;
    for (const double size : Gather(double(own.size())))
        texts.emplace_back(size_t(size), '\0');
    std::vector<std::span<const std::byte>> sent(Count(), std::as_bytes(std::span(own)));
    std::vector<std::span<std::byte>> received;
    for (std::string& text : texts)
        received.push_back(std::as_writable_bytes(std::span(text)));
    Exchange(sent, received);
    texts[Rank()] = own;
    return texts;
}

bool Workers::Any(bool own)
{
    const std::vector<double> all = Gather(own ? 1.0 : 0.0);
    return std::any_of(all.begin(), all.end(), [](double value) { return value != 0; });
}

void Workers::Take(size_t rank, std::span<std::byte> bytes)
{
    std::vector<std::span<const std::byte>> sent(Count());
    std::vector<std::span<std::byte>> received(Count());
    if (Rank() == rank)
        std::fill(sent.begin(), sent.end(), bytes);
    else
        received[rank] = bytes;
    Exchange(sent, received);
}

bool IsStartedAsWorker()
{
    // Set by OpenMPI's mpiexec, and by srun and other launchers that support PMIx or PMI.
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})
        if (std::getenv(name) != nullptr)
            return true;
    return false;
}

size_t RankByLauncher()
{
    return NumberIn({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}, 0);
}

size_t CountByLauncher()
{
    return NumberIn({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 1);
}

std::string DescribeWorkersLibrary()
{
    const std::optional<std::string> path = FindLibrary(PluginSearch::Default().Folders(), c_workersLibrary);
    if (!path)
        return "not built in";
    if (OpenWorkersLibrary(*path) == nullptr)
        return Concat("built in, but '", *path, "' cannot be opened: ", dlerror());
    return Concat("built in ('", *path, "')");
}

std::unique_ptr<Workers> MeetWorkers()
{
    if (!IsStartedAsWorker())
        return nullptr;
    const std::vector<std::string> folders = PluginSearch::Default().Folders();
    const std::optional<std::string> path = FindLibrary(folders, c_workersLibrary);
    if (!path)
        Fail(ErrorKind::Device, "parallelTrain=true: the library ", c_workersLibrary, " is in none of ",
             Join(folders, ", "),
             "; builds have it where CMake finds MPI (Debian: libopenmpi-dev). Without it only one process can train, "
             "started without mpiexec");
    void* const library = OpenWorkersLibrary(*path);
    if (library == nullptr)
        Fail(ErrorKind::Device, "parallelTrain=true: '", *path, "' cannot be opened: ", dlerror());
    auto* const meet = reinterpret_cast<MeetWorkersFunction*>(dlsym(library, c_workersFunction));
    std::string problem = "it does not export CntkMeetWorkers";
    std::unique_ptr<Workers> workers(meet == nullptr ? nullptr : meet(c_workersInterface, &problem));
    if (!workers)
        Fail(ErrorKind::Device, "parallelTrain=true: '", *path, "' cannot be used: ", problem);
    if (workers->Count() == 1)
        return nullptr;
    return workers;
}

} // namespace cntk
