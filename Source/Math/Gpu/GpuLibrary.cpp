// Finds and opens the GPU library. Without a driver the library is not loaded, so that the program starts as fast as
// without GPU support.
#include "Math/Gpu/GpuLibrary.h"

#include "Common/Error.h"
#include "Common/PluginLoader.h"
#include "Common/Text.h"

#include <dlfcn.h>
#include <optional>

namespace cntk
{

namespace
{

template <class... Parts>
[[noreturn]] void FailFor(DeviceId id, const Parts&... parts)
{
    Fail(ErrorKind::Device, GpuProblem(id), parts..., id == c_bestGpu ? "" : c_useTheCpu);
}

std::string Reason()
{
    const char* reason = dlerror();
    return reason != nullptr ? reason : "no reason given";
}

// The library stays open until the program ends.
void* OpenLibrary(DeviceId id, const GpuSearch& search, std::string& path)
{
    const std::optional<std::string> found = FindLibrary(search.folders, search.library);
    path = found.value_or(search.library); // without a folder, the system searches
    if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE))
        return library;
    if (found)
        FailFor(id, "the GPU library '", path, "' cannot be opened: ", Reason());
    FailFor(id, "the GPU library ", search.library, " is in none of ", Join(search.folders, ", "),
            ", the system's library folders; builds have it where CMake finds nvcc");
}

} // namespace

std::string GpuProblem(DeviceId id)
{
    return id == c_bestGpu ? std::string("no GPU can be used: ") : Concat("GPU ", id, " cannot be used: ");
}

const char* GpuInterfaceStamp()
{
    return CNTK_GPU_STAMP;
}

GpuSearch GpuSearch::Default()
{
    GpuSearch search;
    search.folders = PluginSearch::Default().Folders();
    return search;
}

GpuLibrary GpuLibrary::Open(DeviceId id, const GpuSearch& search)
{
    void* const driver = dlopen(search.driver.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (driver == nullptr)
    {
        FailFor(id, "there is no NVIDIA driver (", search.driver,
                " was not found); a driver of version 580 or later is needed");
    }
    dlclose(driver); // the library opens it itself

    std::string path;
    void* const library = OpenLibrary(id, search, path);
    const auto find = [&]<class Function>(Function& function, const char* name)
    {
        function = reinterpret_cast<Function>(dlsym(library, name));
        if (function == nullptr)
            FailFor(id, "'", path, "' is no GPU library of this program: it does not export '", name, "'");
    };
    GpuStampFunction stamp = nullptr;
    find(stamp, c_gpuStampFunction);
    if (std::string(stamp()) != GpuInterfaceStamp())
    {
        FailFor(id, "the GPU library '", path, "' was built from other sources (", stamp(), ") than this program (",
                GpuInterfaceStamp(), "); build both together");
    }
    GpuLibrary functions;
    find(functions.make, c_gpuMakeFunction);
    find(functions.list, c_gpuListFunction);
    return functions;
}

std::shared_ptr<Device> OpenGpu(const GpuRequest& request, const GpuSearch& search)
{
    return std::shared_ptr<Device>(GpuLibrary::Open(request.id, search).make(request));
}

} // namespace cntk
