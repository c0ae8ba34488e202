// Opens cuDNN at run time. It is optional.
#include "Common/Error.h"
#include "Math/Gpu/CuDnn.h"
#include "Math/Gpu/CudaLibrary.h"

namespace cntk
{

#ifdef CNTK_WITH_CUDNN

std::string CuDnnLibraryName()
{
    return "libcudnn.so." + std::to_string(c_cuDnnMajor);
}

std::optional<CuDnnFunctions> OpenCuDnn(const std::string& name, std::string& problem)
{
    void* const library = OpenCudaLibrary(name, problem);
    if (library == nullptr)
    {
        problem = name + " was not found";
        return std::nullopt;
    }
    CuDnnFunctions functions;
    problem.clear();
    const auto find = [&](auto& function, const char* functionName)
    {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, functionName));
        if (function == nullptr && problem.empty())
            problem = Concat(name, " has no function ", functionName);
    };
    // The version comes first, because it explains missing functions.
    find(functions.cudnnGetVersion, "cudnnGetVersion");
    if (functions.cudnnGetVersion != nullptr)
    {
        const size_t version = functions.cudnnGetVersion();
        const size_t major = version >= 10000 ? version / 10000 : version / 1000;
        if (major != size_t(c_cuDnnMajor))
        {
            problem = Concat(name, " is of version ", major, "; ", c_cuDnnMajor, " is needed");
            return std::nullopt;
        }
    }
#define CNTK_FIND(function) find(functions.function, #function);
    CNTK_CUDNN_FUNCTIONS(CNTK_FIND)
#undef CNTK_FIND
    if (!problem.empty())
        return std::nullopt;
    return functions;
}

std::unique_ptr<GpuDnn> MakeCuDnn(GpuContext& context, GpuMatrixMath math)
{
    std::string problem;
    const std::optional<CuDnnFunctions> functions = OpenCuDnn(CuDnnLibraryName(), problem);
    if (!functions)
        return std::make_unique<GpuDnn>("own kernels (" + problem + ")");
    return MakeDnn(*functions, context, math);
}

#else

std::unique_ptr<GpuDnn> MakeCuDnn(GpuContext&, GpuMatrixMath)
{
    return std::make_unique<GpuDnn>("own kernels (built without cuDNN)");
}

#endif

} // namespace cntk
